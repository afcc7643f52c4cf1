//! A sandbox in which everything is in place and no program runs yet.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::io::Errno;
use rustix::process::Pid;

use crate::attest::{self, Attestation, Expectations, ProgramNamespaces, ProgramView};
use crate::channel::{Channel, Incoming, Timeout};
use crate::creations::Creations;
use crate::handoff::{Program, send_program};
use crate::handshake::{
    HostRoot, failed, failure_of_init, wait_for_detach, wait_for_exec, wait_for_init,
    wait_for_locks,
};
use crate::jail::encode::{EncodedPlan, PerBoxFds};
use crate::jail::{Attest, Jail};
use crate::mechanisms::cgroup::Cgroup;
use crate::mechanisms::seccomp::Names;
use crate::pidfd::kill;
use crate::pool::Cleanup;
use crate::protocol::Failure;
use crate::protocol::mechanism::Mechanism;
use crate::protocol::plan::exec_channel;
use crate::protocol::step::Step;
use crate::running::Running;
use crate::sockets::SandboxNetwork;
use crate::spawn::StartingShim;
use crate::start::{At, OurStreams, StartError, Stdin};
use crate::teardown::Teardown;

/// A sandbox that waits for its program. Dropping it ends it.
#[derive(Debug)]
#[must_use = "dropping it ends the box"]
pub struct PreparedSandbox {
    // Closed first when dropped, so that the sandbox ends before it is waited for.
    exec_channel: Channel,
    channel: Channel,
    pid: Pid,
    pidfd: OwnedFd,
    owner: Option<(u32, u32)>,
    expected: Expectations,
    attested: Option<Attestation>,
    origin: Origin,
    teardown: Teardown,
    creations: Option<Creations>,
    cleanup: Option<Cleanup>,
    /// The state of the host's mounts as reported; they were seen to be gone.
    host_root: HostRoot,
    /// The description that it was made of, until its program runs.
    described: Option<Box<Jail>>,
}

/// How a sandbox came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It was made from nothing.
    Made,
    /// It was copied from a template when it was asked for.
    Copied,
    /// It was copied before, and waited.
    Waiting,
}

/// The facts about a sandbox that the host keeps while it is made.
#[derive(Debug, Clone)]
pub(crate) struct SandboxParams {
    /// The requested mechanisms.
    pub(crate) expected: Expectations,
    /// The user and group that own its streams.
    pub(crate) owner: Option<(u32, u32)>,
    /// The attestation that is wanted.
    pub(crate) attest: Attest,
    /// Paths whose creation is refused.
    pub(crate) refused: Arc<[CString]>,
}

impl SandboxParams {
    /// Takes them from a description.
    pub(crate) fn of(jail: &Jail) -> Self {
        let told = jail.names() == Names::Told;
        Self {
            expected: Expectations::of(jail),
            owner: jail.user_to_take_on(),
            attest: jail.attest,
            refused: jail.refused.iter().filter(|_| told).cloned().collect(),
        }
    }
}

/// A sandbox that is being made. Dropping it ends it.
#[derive(Debug)]
#[must_use = "dropping it ends the box"]
pub(crate) struct PendingSandbox {
    // Closed first when dropped, so that the sandbox ends before it is waited for.
    pub(crate) exec_channel: Channel,
    pub(crate) channel: Channel,
    pub(crate) outlook: SandboxParams,
    pub(crate) teardown: Teardown,
    /// Where its init writes down which names its program creates.
    pub(crate) creations: Option<Creations>,
}

impl PendingSandbox {
    /// Lets a shim make a sandbox.
    pub(crate) fn with(
        shim: StartingShim,
        plan: &EncodedPlan<'_>,
        outlook: SandboxParams,
        cgroup: Option<Cgroup>,
    ) -> Result<Self, StartError> {
        let (channel, channel_far) = Channel::pair().at(Step::OpenControl)?;
        let (exec_channel, exec_far) = Channel::pair().at(Step::OpenControl)?;
        let creations = Creations::begin(&outlook.refused).at(Step::PrepareBox)?;
        let fds = PerBoxFds {
            channel: Some(channel_far.as_fd()),
            exec_channel: Some(exec_far.as_fd()),
            cgroup: cgroup.as_ref(),
            supervisor: None,
            creation_log: creations.as_ref().map(Creations::file),
        };
        let mut teardown = shim.make_sandbox(plan, &fds)?;
        drop((channel_far, exec_far));
        teardown.limits = cgroup;
        Ok(Self { exec_channel, channel, outlook, teardown, creations })
    }

    /// Waits until the program's process waits.
    pub(crate) fn wait(self) -> Result<PreparedSandbox, StartError> {
        // Bindings drop in reverse order, so the channels close before we wait for the sandbox to
        // end.
        let Self { mut teardown, exec_channel, channel, outlook, creations } = self;
        let owner = outlook.owner;
        let Inspection { pid, pidfd, expected, attested, host_root } =
            see(&exec_channel, &channel, outlook, &mut teardown)?;
        Ok(PreparedSandbox {
            exec_channel,
            channel,
            pid,
            pidfd,
            owner,
            expected,
            attested,
            origin: Origin::Made,
            teardown,
            creations,
            cleanup: None,
            host_root,
            described: None,
        })
    }
}

/// The host's observations of a sandbox before anything runs in it.
struct Inspection {
    pid: Pid,
    pidfd: OwnedFd,
    expected: Expectations,
    attested: Option<Attestation>,
    host_root: HostRoot,
}

/// Looks at a sandbox while it is made, and when the program's process waits.
fn see(
    exec_channel: &Channel,
    channel: &Channel,
    SandboxParams { expected, attest, .. }: SandboxParams,
    teardown: &mut Teardown,
) -> Result<Inspection, StartError> {
    // The sandbox is being made meanwhile.
    let host = attest::look_at_host(&expected);
    if !channel.is_readable() {
        // Later this thread would compete with the program for its CPU.
        teardown.cgroup().into_iter().for_each(Cgroup::sweep);
    }
    let (pid, pidfd, host_root) = wait_for_init(channel, teardown)?;
    teardown.has_init(pidfd.try_clone().at(Step::AwaitShim)?);
    let expected = expected.with_cgroup(teardown.cgroup());
    // The namespaces are there, and then the mounts; the program's process puts its locks on
    // meanwhile.
    let spaces = match attest {
        Attest::BeforeExecution => {
            pid.map(|pid| host.and_then(|host| attest::look_at_spaces(&expected, pid, &host)))
        }
        Attest::No => None,
    };
    let (around, host_root) = match spaces {
        Some(spaces) => {
            look_around(channel, host_root, spaces).map(|(it, host_root)| (Some(it), host_root))?
        }
        None => wait_for_detach(channel, host_root).map(|()| (None, HostRoot::Own))?,
    };
    let tests = wait_for_locks(exec_channel, channel)?;
    let pid = pid.ok_or(StartError { step: Step::AwaitInit, errno: Errno::SRCH })?;
    let look = |around: ProgramView| attest::look(&expected, around, tests);
    let attested = around.map(|around| around.and_then(look)).transpose().at(Step::Attest);
    let attested = attested.map_err(|unseen| failure_of_init(channel).unwrap_or(unseen))?;
    Ok(Inspection { pid, pidfd, expected, attested, host_root })
}

impl PreparedSandbox {
    /// The same sandbox, that came to be in this way.
    pub(crate) fn by(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    /// The id of the sandbox's init, for reading `/proc`.
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// The user and group that must own its program's streams, if they differ from the caller's.
    pub fn owner(&self) -> Option<(u32, u32)> {
        self.owner
    }

    /// How it came to be.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The same sandbox, whose pool removes what it leaves.
    pub(crate) fn with_cleanup(mut self, cleanup: Cleanup) -> Self {
        self.cleanup = Some(cleanup);
        self
    }

    /// The same sandbox with the description that it was made of, whose descriptors are closed once the
    /// program runs, off the critical path.
    pub(crate) fn keeping(mut self, jail: Jail) -> Self {
        self.described = Some(Box::new(jail));
        self
    }

    /// The attestation of the sandbox, if it was attested.
    pub fn attested(&self) -> Option<&Attestation> {
        self.attested.as_ref()
    }

    /// Returns whether it was attested and has every requested mechanism.
    pub(crate) fn is_whole(&self) -> bool {
        self.attested.as_ref().is_some_and(|seen| seen.missing.is_empty())
    }

    /// The limits of the whole sandbox.
    pub fn cgroup(&self) -> Option<&Cgroup> {
        self.teardown.cgroup()
    }

    /// Its network, if that is one of its own or of its session.
    pub fn network(&self) -> io::Result<SandboxNetwork> {
        SandboxNetwork::of(self.pid, &self.pidfd, self.owner)
    }

    /// The mechanisms made of mounts that it has lost while it waited.
    pub(crate) fn lost(&self) -> rustix::io::Result<Vec<Mechanism>> {
        attest::lost(&self.expected, self.pid)
    }

    /// Executes a program in the sandbox. When this returns it has been executed.
    pub fn run(self, program: Program) -> Result<Running, StartError> {
        let mut ours = send_program(&self.exec_channel, self.owner, &program)?;
        if matches!(program.spec.stdin, Stdin::Terminal(_)) {
            let terminal = self.receive_terminal().inspect_err(|_failed| kill(&self.pidfd))?;
            ours = ours.on(&terminal).at(Step::OpenTerminal)?;
        }
        drop(program);
        self.executed(ours)
    }

    /// Takes the host's end of the program's terminal.
    fn receive_terminal(&self) -> Result<OwnedFd, StartError> {
        let wrong = StartError { step: Step::OpenTerminal, errno: Errno::PROTO };
        let heard = self.exec_channel.receive_as(Failure::default(), Timeout::Handshake);
        match heard.at(Step::OpenTerminal)? {
            Incoming::Message(word, Some(terminal)) if word.step == exec_channel::TERMINAL => {
                Ok(terminal)
            }
            Incoming::Message(word, _) => Err(failed(word.step, word.errno)),
            Incoming::Nothing | Incoming::Closed => Err(wrong),
        }
    }

    /// Waits until its program has been executed.
    fn executed(self, ours: OurStreams) -> Result<Running, StartError> {
        // The next message is the end.
        let heard = wait_for_exec(&self.exec_channel)
            .and_then(|()| wait_for_detach(&self.channel, self.host_root));
        // It may have been executed all the same, and nothing would limit it.
        heard.inspect_err(|_failed| kill(&self.pidfd))?;
        self.teardown.cgroup().into_iter().for_each(Cgroup::sweep);
        let Self {
            channel, pid, pidfd, expected, attested, teardown, mut cleanup, described, ..
        } = self;
        let creations = self.creations;
        drop(described);
        cleanup.iter_mut().for_each(Cleanup::program_started);
        Ok(Running::new(channel, ours, (pid, pidfd), teardown)
            .with_box(expected, attested, cleanup, creations))
    }
}

/// Reads the mounts of a sandbox while init may be unmounting the host's. The kernel detaches them
/// at once and returns late, so if they are no longer seen that counts; if they are, we wait for
/// init's report and read again.
fn look_around(
    channel: &Channel,
    host_root: HostRoot,
    spaces: rustix::io::Result<ProgramNamespaces>,
) -> Result<(rustix::io::Result<ProgramView>, HostRoot), StartError> {
    let around = spaces.and_then(attest::look_around);
    match around {
        Ok(around) if host_root == HostRoot::Leaving && !around.has_one_root() => {
            wait_for_detach(channel, host_root)?;
            Ok((around.again(), HostRoot::Own))
        }
        other => Ok((other, host_root)),
    }
}

#[cfg(test)]
mod tests;
