//! One interpreter in its box: made, looked at, and given a call.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::fs::{Gid, OFlags, Uid, fchown, fcntl_setfl};
use rustix::pipe::{PipeFlags, pipe_with};
use stockade_sandbox::{MountWatch, Running, SandboxPool, Stdin};

use super::leased::LeasedInterpreter;
use super::protocol::{Channel, Message};
use super::recipe::{InterpreterKey, Recipe};
use super::{Owner, driver};
use crate::call::{Code, Language};
use crate::guarantee::{Enforced, Guarantee};
use crate::launch::jail::{self, InterpreterRequest, JailSetup};
use crate::launch::ports::OpenPorts;
use crate::launch::session::{JoinedCall, LeftCall};
use crate::launch::spec::sealed;
use crate::launch::tree::{ProgramTree, Tree};
use crate::launch::watch::Input;
use crate::limits::Limits;
use crate::outcome::{Failure, FailureKind};
use crate::plan::describe::cpu_seconds;
use crate::plan::ops::Rlimit;

/// How long an interpreter may take to get on its feet.
const START_MAX: Duration = Duration::from_secs(10);
/// How long a call waits for one that tidies up; then it starts its own.
const TIDY_MAX: Duration = Duration::from_millis(50);

/// How an interpreter waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InterpreterKind {
    /// In a driver, which forks for every call.
    Forking,
    /// Before the source, for one call.
    Once(Language),
    /// In a driver that keeps what calls leave.
    Session(Language),
}

impl InterpreterKind {
    /// How one waits for any call in a language, if it can.
    pub(super) fn waiting(language: Language) -> Option<Self> {
        match language {
            Language::Python => Some(Self::Forking),
            Language::Node => Some(Self::Once(language)),
            Language::Bash | Language::Sh | Language::Perl | Language::Ruby => None,
        }
    }

    /// How one waits in a session, if there are sessions in the language.
    pub(super) fn session(language: Language) -> Option<Self> {
        matches!(language, Language::Python | Language::Node).then_some(Self::Session(language))
    }

    pub(super) fn language(self) -> Language {
        match self {
            Self::Forking => Language::Python,
            Self::Once(language) | Self::Session(language) => language,
        }
    }

    /// What is started.
    pub(super) fn words(self) -> Vec<&'static str> {
        let (program, arguments) = self.language().interpreter();
        let mut words: Vec<&'static str> =
            std::iter::once(program).chain(arguments.iter().copied()).collect();
        match self {
            Self::Once(_) => {}
            // What the cold interpreter runs is what the driver's children run.
            Self::Forking => {
                words.insert(words.len().saturating_sub(1), driver::PYTHON);
            }
            Self::Session(language) => {
                words.pop();
                let is_node = language == Language::Node;
                words.push(if is_node { driver::NODE_SESSION } else { driver::PYTHON_SESSION });
            }
        }
        words
    }

    /// What holds for the interpreter's own sandbox.
    fn own(self, mut setup: JailSetup) -> JailSetup {
        let common = &mut setup.common;
        if self == Self::Forking {
            // The driver is a process beside those of its call.
            common.limits.processes = common.limits.processes.map(|most| most.saturating_add(1));
            let tasks = &mut common.cgroup.tasks_max;
            *tasks = tasks.map(|most| most.saturating_add(2));
            for limit in &mut common.rlimits {
                if let Rlimit::Tasks { most, .. } = limit {
                    *most = most.saturating_add(2);
                }
            }
        }
        if !matches!(self, Self::Once(_)) {
            // It lives on; calls are limited each by itself.
            common.limits.cpu = None;
            common.rlimits.retain(|limit| !matches!(limit, Rlimit::Cpu(_)));
        }
        setup
    }
}

/// One interpreter. Dropping it ends its box.
#[derive(Debug)]
pub(super) struct Interpreter {
    pub(super) channel: Option<Channel>,
    pub(super) running: Running,
    pub(super) key: InterpreterKey,
    pub(super) calls: u64,
    /// What the next call has to be told.
    pub(super) remark: Option<String>,
    /// What its box keeps.
    pub(super) enforcement: Vec<Enforced>,
    owner: Option<(u32, u32)>,
    mounts: MountWatch,
    is_ready: bool,
    #[expect(dead_code, reason = "they are open as long as its box is there")]
    ports: Option<OpenPorts>,
}

impl Interpreter {
    /// Makes one. Nothing of any call is in it.
    pub(super) fn make(
        recipe: &Recipe,
        pool: &SandboxPool,
        joined: Option<&JoinedCall>,
    ) -> Result<Self, Failure> {
        let fail = |error: std::io::Error| {
            Failure::new(FailureKind::PrepareInterpreter, error.to_string())
        };
        // Watched from before the box is made, so that no change is missed.
        let mounts = MountWatch::begin().map_err(fail)?;
        let mut key = recipe.key.clone();
        let asked = JailSetup::of(&recipe.description.ops)?;
        let counts_cpu = asked.common.limits.cpu.is_some();
        let (channel, stdin) = match key.kind {
            InterpreterKind::Once(_) => (None, Stdin::Piped),
            InterpreterKind::Forking | InterpreterKind::Session(_) => {
                let (channel, theirs) = Channel::pair().map_err(|errno| fail(errno.into()))?;
                (Some(channel), Stdin::Given(theirs))
            }
        };
        let request = InterpreterRequest {
            cleared: recipe.cleared()?,
            stdin,
            setup: key.kind.own(asked),
            enforcement: recipe.description.enforcement.clone(),
            require: &recipe.terms.require,
            counts_cpu,
            joined,
        };
        let started = jail::start_interpreter(request, pool)?;
        let mut enforcement = started.enforcement;
        admit_sharing(&mut enforcement, key.kind);
        key.stamp = started.stamp;
        let is_ready = channel.is_none();
        let (running, owner) = (started.running, started.owner);
        let mut made = Self {
            channel,
            running,
            key,
            calls: 0,
            remark: None,
            owner,
            enforcement,
            mounts,
            is_ready,
            ports: started.ports,
        };
        if made.is_ready_within(START_MAX) {
            return Ok(made);
        }
        let message = format!("the interpreter does not come to wait: {}", made.complaint());
        Err(Failure::new(FailureKind::PrepareInterpreter, message))
    }

    /// The last line that it has written.
    fn complaint(&self) -> String {
        let mut buffer = [0; 4 << 10];
        let count = rustix::io::read(self.running.stderr(), &mut buffer).unwrap_or(0);
        let text = String::from_utf8_lossy(buffer.get(..count).unwrap_or_default()).into_owned();
        text.lines().last().unwrap_or("it said nothing").to_owned()
    }

    /// Whether its box is as another would be now, and nobody has ended it.
    pub(super) fn is_fit(&mut self) -> bool {
        !self.mounts.saw_change() && self.is_whole()
    }

    /// Whether its box is as it was, and nobody has ended it.
    pub(super) fn is_whole(&mut self) -> bool {
        matches!(self.running.try_ended(), Ok(None))
            && self.running.lost().is_ok_and(|lost| lost.is_empty())
    }

    /// Whether something that confines it was undone from outside.
    pub(super) fn has_lost_locks(&self) -> bool {
        self.running.lost().is_ok_and(|lost| !lost.is_empty())
    }

    /// Whether it can take a call, now or in a moment.
    pub(super) fn is_ready_soon(&mut self) -> bool {
        self.is_ready_within(TIDY_MAX)
    }

    fn is_ready_within(&mut self, patience: Duration) -> bool {
        if let (Some(channel), false) = (&mut self.channel, self.is_ready) {
            self.is_ready = channel.receive_within(patience) == Message::Ready;
        }
        // One that was ended since has said that it is ready before.
        self.is_ready && self.channel.as_ref().is_none_or(Channel::is_open)
    }

    /// Whether it has ended its channel, as one does that could not tidy up.
    pub(super) fn has_retired(&mut self) -> bool {
        match (&mut self.channel, self.is_ready) {
            (Some(channel), false) => match channel.receive() {
                Message::Nothing => false,
                Message::Ready => {
                    self.is_ready = true;
                    false
                }
                Message::Ended(_) | Message::Gone => true,
            },
            _ => false,
        }
    }

    /// Gives it a call. When this fails it has nothing of it, or is dropped. The input is to be written
    /// to the tree.
    pub(super) fn lend(
        mut self,
        owner: Owner,
        code: &Code,
        limits: &Limits,
    ) -> Result<(Box<dyn Tree>, Input), Failure> {
        self.is_ready = false;
        self.calls = self.calls.saturating_add(1);
        let (tree, bytes): (Box<dyn Tree>, Vec<u8>) = match self.key.kind {
            InterpreterKind::Once(_) => {
                (ProgramTree::of_sandbox(self.running), code.source.clone())
            }
            InterpreterKind::Forking => {
                let streams = self.send_call(code, limits)?;
                (Box::new(LeasedInterpreter::new(self, owner, Some(streams))), Vec::new())
            }
            InterpreterKind::Session(_) => {
                let wall = limits.wall.as_millis();
                let mut text = format!("C {wall} {}\n", code.source.len()).into_bytes();
                text.extend_from_slice(&code.source);
                (Box::new(LeasedInterpreter::new(self, owner, None)), text)
            }
        };
        Ok((tree, Input { bytes, is_open: false }))
    }

    /// Sends the source and the ends of new streams; gives ours.
    fn send_call(&self, code: &Code, limits: &Limits) -> Result<(OwnedFd, OwnedFd), Failure> {
        let fail =
            |errno: rustix::io::Errno| Failure::new(FailureKind::SendSource, errno.to_string());
        let source = sealed(&code.source)?;
        let stream = || -> rustix::io::Result<_> {
            let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
            fcntl_setfl(&ours, OFlags::NONBLOCK)?;
            if let Some((uid, gid)) = self.owner {
                fchown(&theirs, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?;
            }
            Ok((ours, theirs))
        };
        let (stdout, their_stdout) = stream().map_err(fail)?;
        let (stderr, their_stderr) = stream().map_err(fail)?;
        let cpu = limits.cpu.map_or(0, cpu_seconds);
        let rights = [source.as_fd(), their_stdout.as_fd(), their_stderr.as_fd()];
        let channel = self.channel.as_ref().ok_or(rustix::io::Errno::NOTCONN).map_err(fail)?;
        channel.send(format!("{cpu}\n").as_bytes(), &rights).map_err(fail)?;
        Ok((stdout, stderr))
    }

    /// Takes what it wrote while it had no call, for the log if there is one.
    pub(super) fn log_output(&self, left: Option<&LeftCall>) {
        const BUFFERS_MAX: usize = 64;
        let mut buffer = [0; 16 << 10];
        for stream in [self.running.stdout(), self.running.stderr()] {
            for _ in 0..BUFFERS_MAX {
                let Ok(count @ 1..) = rustix::io::read(stream, &mut buffer) else { break };
                if let (Some(left), Some(bytes)) = (left, buffer.get(..count)) {
                    // Memory that cannot be had loses output that nobody waits for.
                    let _lost = left.log().push(bytes).is_err();
                }
            }
        }
    }
}

/// Says what a box that others have used before does not keep apart.
fn admit_sharing(enforcement: &mut [Enforced], kind: InterpreterKind) {
    let note = match kind {
        InterpreterKind::Once(_) => return,
        InterpreterKind::Forking => {
            "a warm interpreter: its box had earlier calls of this policy, one at a time, whose \
             processes and files were removed"
        }
        InterpreterKind::Session(_) => {
            "a session: the box keeps what earlier calls of it left, and what they left running \
             goes on between calls"
        }
    };
    for line in enforcement.iter_mut().filter(|line| line.guarantee == Guarantee::Processes) {
        let before = line.note.take().map(|note| format!("{note}; ")).unwrap_or_default();
        line.note = Some(format!("{before}{note}"));
    }
}
