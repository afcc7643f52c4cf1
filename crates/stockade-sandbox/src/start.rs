//! Starts one program, held by a shim.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Gid, Mode, OFlags, Uid, fchown, fcntl_setfl, open};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open};

use crate::attest::{self, Attestation, Expectations, SelfTests};
use crate::channel::{Channel, Incoming, Timeout};
use crate::handoff::{self, Program};
use crate::handshake::failed;
use crate::jail::encode::{self, PerBoxFds};
use crate::jail::{Attest, Form, Jail};
use crate::mechanisms::rlimits::Rlimits;
use crate::memory_file;
use crate::prepared::{PendingSandbox, SandboxParams};
use crate::protocol::plan::exec_channel;
use crate::protocol::step::Step;
use crate::protocol::{Failure, Report, form, kind, slot};
use crate::running::Running;
use crate::spawn::StartingShim;
use crate::teardown::Teardown;

/// Everything about one run, decided and opened.
#[derive(Debug)]
pub struct Spec {
    /// The program, opened (`O_PATH` is enough): what runs is this file, whatever its name says.
    pub program: OwnedFd,
    /// For a script with `#!`: its path, relative to `cwd` or absolute. An interpreter opens its
    /// script by name, so it must still name the same file as `program`.
    pub script: Option<CString>,
    /// The arguments, the program's own name included.
    pub argv: Vec<CString>,
    /// The whole environment, as `NAME=value`.
    pub env: Vec<CString>,
    /// The working directory, opened (`O_PATH` is enough).
    pub cwd: OwnedFd,
    /// Where standard input comes from.
    pub stdin: Stdin,
    /// Whether standard output and standard error are one pipe, [`Running::stdout`]; then
    /// [`Running::stderr`] ends at once.
    pub merges_output: bool,
    /// Limits of each process.
    pub rlimits: Rlimits,
    /// How many processes of the tree may live at once, the program included. They are counted
    /// every few milliseconds, so set [`Rlimits::processes`] too, which the kernel holds at each
    /// fork, though not for root; for root the shim runs before all ordinary processes.
    pub processes_max: Option<u32>,
    /// The scope that signals cannot leave, from [`signal_scope`](crate::signal_scope). With it
    /// the tree is also killed in one stroke, which no fork can outrun, and a program of root
    /// runs without `CAP_SYS_ADMIN` and `CAP_PERFMON`, which would see through the scope.
    pub signal_scope: Option<OwnedFd>,
}

/// Where a program's standard input comes from.
#[derive(Debug)]
pub enum Stdin {
    /// From `/dev/null`.
    Empty,
    /// From [`Running::take_stdin`].
    Piped,
    /// From this, as it is.
    Given(OwnedFd),
    /// From a terminal of the sandbox's own, to which standard output and standard error lead as well.
    /// [`Running::take_stdin`] and [`Running::stdout`] are its other end. Only for a sandbox with
    /// namespaces and [`Mount::Terminals`](crate::Mount::Terminals).
    Terminal(TerminalSize),
}

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TerminalSize {
    /// Lines.
    pub rows: u16,
    /// Characters in a line.
    pub columns: u16,
}

/// A program that was not started: nothing of it has run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{step}")]
pub struct StartError {
    /// The step that failed.
    pub step: Step,
    /// Why.
    #[source]
    pub errno: Errno,
}

/// Adds the step to the error of an operation.
pub(crate) trait At<T> {
    fn at(self, step: Step) -> Result<T, StartError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, step: Step) -> Result<T, StartError> {
        self.map_err(|error| StartError {
            step,
            errno: Errno::from_io_error(&error).unwrap_or(Errno::IO),
        })
    }
}

impl<T> At<T> for rustix::io::Result<T> {
    fn at(self, step: Step) -> Result<T, StartError> {
        self.map_err(|errno| StartError { step, errno })
    }
}

/// Starts the program; when this returns it has been executed.
pub fn start(spec: Spec) -> Result<Running, StartError> {
    launch(spec, None, |_| true)
}

/// Starts the program in a sandbox; when this returns it has been executed there.
///
/// Where there are namespaces, [`Spec::cwd`] and [`Spec::signal_scope`] are not used: the sandbox
/// has its own.
pub fn start_jailed(spec: Spec, jail: Jail) -> Result<Running, StartError> {
    match jail.form {
        Form::LocksOnly | Form::Unlocked => launch(spec, Some(jail), |_| true),
        Form::Namespaces => launch_boxed(spec, jail, |_| true),
    }
}

/// Starts the program in a sandbox, but only if the sandbox as seen from outside is good enough.
///
/// Nothing of the program has run when the judge is asked, and nothing runs if it says no.
pub fn start_jailed_if(
    spec: Spec,
    mut jail: Jail,
    judge: impl FnOnce(&Attestation) -> bool,
) -> Result<Running, StartError> {
    jail.attest = Attest::BeforeExecution;
    match jail.form {
        // Nothing of it is kept, so that there is nothing to be seen.
        Form::Unlocked => Err(StartError { step: Step::Attest, errno: Errno::INVAL }),
        Form::LocksOnly => launch(spec, Some(jail), judge),
        Form::Namespaces => launch_boxed(spec, jail, judge),
    }
}

/// Starts the program in a sandbox of its own.
fn launch_boxed(
    spec: Spec,
    mut jail: Jail,
    judge: impl FnOnce(&Attestation) -> bool,
) -> Result<Running, StartError> {
    jail.processes_max = spec.processes_max;
    let cgroup = jail.cgroup.take();
    let plan = encode::encode(&jail).at(Step::PrepareBox)?;
    let ready =
        PendingSandbox::with(StartingShim::begin()?, &plan, SandboxParams::of(&jail), cgroup)?
            .wait()?;
    if ready.attested().is_some_and(|seen| !judge(seen)) {
        return Err(StartError { step: Step::Attest, errno: Errno::CANCELED });
    }
    ready.run(Program::new(spec, &jail.program, &jail.cwd))
}

/// Starts the program without a sandbox, with locks or without.
fn launch(
    spec: Spec,
    mut jail: Option<Jail>,
    judge: impl FnOnce(&Attestation) -> bool,
) -> Result<Running, StartError> {
    if matches!(spec.stdin, Stdin::Terminal(_)) {
        return Err(StartError { step: Step::OpenTerminal, errno: Errno::NOTTY });
    }
    let cgroup = jail.as_mut().and_then(|jail| jail.cgroup.take());
    let plan = jail.as_ref().map(encode::encode).transpose().at(Step::PrepareBox)?;
    let (ours, theirs) = open_streams(&spec).at(Step::OpenStreams)?;
    let paths = jail.as_ref().map(|jail| (jail.program.as_c_str(), jail.cwd.as_c_str()));
    let mut packed = handoff::encode(&spec, paths).at(Step::PackRequest)?;
    let strings = memory_file::sealed(&packed.strings).at(Step::PackRequest)?;
    let with_scope = usize::from(spec.signal_scope.is_some());
    packed.request.descriptors = u32::try_from(slot::SCOPE.saturating_add(with_scope)).unwrap_or(0);
    packed.request.form = if plan.is_some() { form::LOCKED } else { form::PLAIN };
    let supervisor = supervisor()?;
    let shim = StartingShim::unasked()?;
    let mut descriptors = vec![strings.as_fd(); slot::SCOPE];
    for (slot, fd) in [
        (slot::STRINGS, strings.as_fd()),
        (slot::SUPERVISOR, supervisor.as_fd()),
        (slot::STDIN, theirs.stdin.as_fd()),
        (slot::STDOUT, theirs.stdout.as_fd()),
        (slot::STDERR, theirs.stderr.as_fd()),
        (slot::PROGRAM, spec.program.as_fd()),
        (slot::CWD, spec.cwd.as_fd()),
    ] {
        descriptors.splice(slot..=slot, [fd]);
    }
    descriptors.extend(spec.signal_scope.iter().map(AsFd::as_fd));
    shim.ask(&packed.request, &descriptors)?;
    let waits = jail.as_ref().is_some_and(|jail| jail.attest == Attest::BeforeExecution);
    let (exec_channel, far) = Channel::pair().at(Step::OpenControl)?;
    if let Some(plan) = &plan {
        let fds = PerBoxFds {
            channel: None,
            exec_channel: waits.then(|| far.as_fd()),
            cgroup: cgroup.as_ref(),
            supervisor: None,
            creation_log: None,
        };
        let packed = plan.with_fds(&fds).at(Step::PrepareBox)?;
        shim.channel().send(&packed.plan, &packed.descriptors()).at(Step::SendRequest)?;
    }
    // The shim has them all now. Only the program may hold its ends of the streams, or the host
    // would never see them close.
    let locked = jail.as_ref().filter(|jail| jail.form != Form::Unlocked);
    let expected = locked.map(|jail| Expectations::of(jail).with_cgroup(cgroup.as_ref()));
    drop((theirs, spec, far, plan));
    let (channel, shim) = shim.into_parts();
    let process = wait_for_process(&channel)?;
    let attested = match &expected {
        Some(expected) if waits => attest(&exec_channel, expected, process.0, judge)?,
        Some(_) | None => None,
    };
    wait_for_exec(&channel)?;
    let teardown = Teardown { shim: Some(shim), limits: cgroup, ..Teardown::default() };
    let running = Running::new(channel, ours, process, teardown);
    Ok(match expected {
        Some(expected) => running.with_box(expected, attested, None, None),
        None => running,
    })
}

/// A pidfd of this process, by which others see its end.
pub(crate) fn supervisor() -> Result<OwnedFd, StartError> {
    pidfd_open(getpid(), PidfdFlags::empty()).at(Step::PackRequest)
}

/// The host's ends of the program's streams: non-blocking, close-on-exec.
#[derive(Debug)]
pub(crate) struct OurStreams {
    pub(crate) stdin: Option<OwnedFd>,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

impl OurStreams {
    /// The same streams, of which the program has a terminal in place of the pipes.
    pub(crate) fn on(self, terminal: &OwnedFd) -> rustix::io::Result<Self> {
        let again = || {
            let end = fcntl_dupfd_cloexec(terminal, FIRST_AFTER_STREAMS)?;
            fcntl_setfl(&end, OFlags::NONBLOCK)?;
            Ok::<_, Errno>(end)
        };
        Ok(Self { stdin: Some(again()?), stdout: again()?, stderr: self.stderr })
    }
}

/// The program's ends of its streams.
pub(crate) struct TheirStreams {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

impl TheirStreams {
    /// Changes the owner of the pipes to the user of the sandbox: to open `/dev/stdout` is to open
    /// the pipe again, which needs permission.
    pub(crate) fn give_to(
        &self,
        user: Option<(u32, u32)>,
        stdin: &Stdin,
    ) -> rustix::io::Result<()> {
        let Some((uid, gid)) = user else { return Ok(()) };
        let stdin = matches!(stdin, Stdin::Piped).then_some(&self.stdin);
        for pipe in stdin.into_iter().chain([&self.stdout, &self.stderr]) {
            fchown(pipe, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?;
        }
        Ok(())
    }
}

pub(crate) fn open_streams(spec: &Spec) -> rustix::io::Result<(OurStreams, TheirStreams)> {
    let (their_stdin, our_stdin) = match &spec.stdin {
        // Until the terminal is there.
        Stdin::Empty | Stdin::Terminal(_) => {
            (open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?, None)
        }
        Stdin::Piped => {
            let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
            (read, Some(write))
        }
        Stdin::Given(given) => (fcntl_dupfd_cloexec(given, FIRST_AFTER_STREAMS)?, None),
    };
    let (our_stdout, their_stdout) = pipe_with(PipeFlags::CLOEXEC)?;
    let (our_stderr, mut their_stderr) = pipe_with(PipeFlags::CLOEXEC)?;
    if spec.merges_output {
        // Nobody holds the other end of the second pipe then.
        their_stderr = fcntl_dupfd_cloexec(&their_stdout, FIRST_AFTER_STREAMS)?;
    }
    for end in our_stdin.iter().chain([&our_stdout, &our_stderr]) {
        // A pipe's two ends have flags of their own: the program's stay blocking. Nothing else that
        // can be set is set on a new one.
        fcntl_setfl(end, OFlags::NONBLOCK)?;
    }
    let ours = OurStreams { stdin: our_stdin, stdout: our_stdout, stderr: our_stderr };
    let theirs = TheirStreams { stdin: their_stdin, stdout: their_stdout, stderr: their_stderr };
    Ok((ours, theirs))
}

/// Looks at the locks and lets the program go if they are good enough. `None` if it did not come,
/// which the shim explains.
fn attest(
    exec_channel: &Channel,
    expected: &Expectations,
    program: Pid,
    judge: impl FnOnce(&Attestation) -> bool,
) -> Result<Option<Attestation>, StartError> {
    let message =
        match exec_channel.receive_as(Failure::default(), Timeout::Handshake).at(Step::Attest)? {
            Incoming::Message(message, _) => message,
            Incoming::Nothing => return Err(SILENT),
            Incoming::Closed => return Ok(None),
        };
    let tests =
        SelfTests { landlock: message.step == exec_channel::READY_LANDLOCKED, broker: false };
    let host = attest::look_at_host(expected).at(Step::Attest)?;
    let spaces = attest::look_at_spaces(expected, program, &host).at(Step::Attest)?;
    let around = attest::look_around(spaces).at(Step::Attest)?;
    let attested = attest::look(expected, around, tests).at(Step::Attest)?;
    if !judge(&attested) {
        return Err(StartError { step: Step::Attest, errno: Errno::CANCELED });
    }
    exec_channel.send(&Failure { step: exec_channel::GO, errno: 0 }, &[]).at(Step::Attest)?;
    Ok(Some(attested))
}

/// No copy takes the place of a stream that the host has closed.
const FIRST_AFTER_STREAMS: i32 = 3;

const UNCLEAR: StartError = StartError { step: Step::AwaitShim, errno: Errno::PROTO };
/// A peer that stays silent this long has been stopped.
const SILENT: StartError = StartError { step: Step::AwaitShim, errno: Errno::TIMEDOUT };

/// Waits until there is a process: its id and pidfd, or the step that failed.
fn wait_for_process(channel: &Channel) -> Result<(Pid, OwnedFd), StartError> {
    match channel.receive(Timeout::Handshake).at(Step::AwaitShim)? {
        Incoming::Message(report, Some(pidfd)) if report.kind == kind::FORKED => {
            Ok((Pid::from_raw(report.pid).ok_or(UNCLEAR)?, pidfd))
        }
        Incoming::Message(report, _) => Err(failure(&report).unwrap_or(UNCLEAR)),
        Incoming::Nothing => Err(SILENT),
        Incoming::Closed => Err(StartError { step: Step::AwaitShim, errno: Errno::PIPE }),
    }
}

/// Waits until the program is executed, or for the step that failed.
fn wait_for_exec(channel: &Channel) -> Result<(), StartError> {
    match channel.receive(Timeout::Handshake).at(Step::AwaitShim)? {
        Incoming::Message(report, _) if report.kind != kind::STARTED => {
            Err(failure(&report).unwrap_or(UNCLEAR))
        }
        // A lost shim may have been killed by the program, so the program counts as started; the
        // next message on the channel decides.
        Incoming::Message(..) | Incoming::Closed => Ok(()),
        Incoming::Nothing => Err(SILENT),
    }
}

/// The failed step that a report names.
fn failure(report: &Report) -> Option<StartError> {
    (report.kind == kind::FAILED).then(|| failed(report.step, report.errno))
}
