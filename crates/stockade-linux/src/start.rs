//! Starts one program, held by a keeper.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Gid, Mode, OFlags, Uid, fchown, fcntl_setfl, open};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open};

use crate::attest::{self, Attested, Expected, Tested};
use crate::booting::Booting;
use crate::control::{Heard, Line, Patience};
use crate::handing::Program;
use crate::jail::pack::{self, Fittings};
use crate::jail::{Attest, Form, Jail};
use crate::keeper::boxed::gate;
use crate::keeper::step::Step;
use crate::keeper::wire::{Failure, Report, form, kind, slot};
use crate::ready::{Ordered, Outlook};
use crate::remains::Remains;
use crate::request;
use crate::rlimits::Rlimits;
use crate::running::Running;

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
    /// Limits of each process.
    pub rlimits: Rlimits,
    /// How many processes of the tree may live at once, the program included. They are counted
    /// every few milliseconds, so set [`Rlimits::processes`] too, which the kernel holds at each
    /// fork, though not for root; for root the keeper runs before all ordinary processes.
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
}

/// A program that was not started: nothing of it has run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{step}")]
pub struct StartError {
    /// What could not be done.
    pub step: Step,
    /// Why.
    #[source]
    pub errno: Errno,
}

/// Says at which step an operation failed.
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

/// Starts the program in a box; when this returns it has been executed there.
///
/// Where there are namespaces, [`Spec::cwd`] and [`Spec::signal_scope`] are not used: the box has
/// its own.
pub fn start_jailed(spec: Spec, jail: Jail) -> Result<Running, StartError> {
    match jail.form {
        Form::LocksOnly | Form::Unlocked => launch(spec, Some(jail), |_| true),
        Form::Namespaces => launch_boxed(spec, jail, |_| true),
    }
}

/// Starts the program in a box, but only if the box as seen from outside is good enough.
///
/// Nothing of the program has run when the judge is asked, and nothing runs if it says no.
pub fn start_jailed_if(
    spec: Spec,
    mut jail: Jail,
    judge: impl FnOnce(&Attested) -> bool,
) -> Result<Running, StartError> {
    jail.attest = Attest::BeforeExecution;
    match jail.form {
        // Nothing of it is kept, so that there is nothing to be seen.
        Form::Unlocked => Err(StartError { step: Step::Attest, errno: Errno::INVAL }),
        Form::LocksOnly => launch(spec, Some(jail), judge),
        Form::Namespaces => launch_boxed(spec, jail, judge),
    }
}

/// Starts the program in a box of its own.
fn launch_boxed(
    spec: Spec,
    mut jail: Jail,
    judge: impl FnOnce(&Attested) -> bool,
) -> Result<Running, StartError> {
    jail.processes_max = spec.processes_max;
    let cgroup = jail.cgroup.take();
    let sheet = pack::pack(&jail).at(Step::PrepareBox)?;
    let ready = Ordered::with(Booting::begin()?, &sheet, Outlook::of(&jail), cgroup)?.meet()?;
    if ready.attested().is_some_and(|seen| !judge(seen)) {
        return Err(StartError { step: Step::Attest, errno: Errno::CANCELED });
    }
    ready.run(Program::new(spec, &jail.program, &jail.cwd))
}

/// Starts the program without a box, with locks or without.
fn launch(
    spec: Spec,
    mut jail: Option<Jail>,
    judge: impl FnOnce(&Attested) -> bool,
) -> Result<Running, StartError> {
    let cgroup = jail.as_mut().and_then(|jail| jail.cgroup.take());
    let sheet = jail.as_ref().map(pack::pack).transpose().at(Step::PrepareBox)?;
    let (ours, theirs) = open_streams(&spec.stdin).at(Step::OpenStreams)?;
    let paths = jail.as_ref().map(|jail| (jail.program.as_c_str(), jail.cwd.as_c_str()));
    let mut packed = request::pack(&spec, paths).at(Step::PackRequest)?;
    let strings = request::sealed(&packed.strings).at(Step::PackRequest)?;
    let with_scope = usize::from(spec.signal_scope.is_some());
    packed.request.descriptors = u32::try_from(slot::SCOPE.saturating_add(with_scope)).unwrap_or(0);
    packed.request.form = if sheet.is_some() { form::LOCKED } else { form::PLAIN };
    let supervisor = supervisor()?;
    let booting = Booting::unasked()?;
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
    booting.ask(&packed.request, &descriptors)?;
    let waits = jail.as_ref().is_some_and(|jail| jail.attest == Attest::BeforeExecution);
    let (gate, far) = Line::pair().at(Step::OpenControl)?;
    if let Some(sheet) = &sheet {
        let fittings = Fittings {
            line: None,
            gate: waits.then(|| far.as_fd()),
            cgroup: cgroup.as_ref(),
            supervisor: None,
            creation_log: None,
        };
        let packed = sheet.fit(&fittings).at(Step::PrepareBox)?;
        booting.line().send(&packed.plan, &packed.descriptors()).at(Step::SendRequest)?;
    }
    // The keeper has them all now. Only the program may hold its ends of the streams, or their
    // closing would never be seen.
    let locked = jail.as_ref().filter(|jail| jail.form != Form::Unlocked);
    let expected = locked.map(|jail| Expected::of(jail).with_cgroup(cgroup.as_ref()));
    drop((theirs, spec, far, sheet));
    let (line, keeper) = booting.into_parts();
    let process = hear_forked(&line)?;
    let attested = match &expected {
        Some(expected) if waits => attest(&gate, expected, process.0, judge)?,
        Some(_) | None => None,
    };
    hear_executed(&line)?;
    let remains = Remains { keeper: Some(keeper), limits: cgroup, ..Remains::default() };
    let running = Running::new(line, ours, process, remains);
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

/// The program's ends of its streams.
pub(crate) struct TheirStreams {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

impl TheirStreams {
    /// Makes the pipes the box's own where that is another user: a pipe has an owner, and who
    /// opens `/dev/stdout` opens it again.
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

pub(crate) fn open_streams(stdin: &Stdin) -> rustix::io::Result<(OurStreams, TheirStreams)> {
    let (their_stdin, our_stdin) = match stdin {
        Stdin::Empty => (open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?, None),
        Stdin::Piped => {
            let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
            (read, Some(write))
        }
        Stdin::Given(given) => (fcntl_dupfd_cloexec(given, FIRST_AFTER_STREAMS)?, None),
    };
    let (our_stdout, their_stdout) = pipe_with(PipeFlags::CLOEXEC)?;
    let (our_stderr, their_stderr) = pipe_with(PipeFlags::CLOEXEC)?;
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
/// which the keeper explains.
fn attest(
    gate: &Line,
    expected: &Expected,
    program: Pid,
    judge: impl FnOnce(&Attested) -> bool,
) -> Result<Option<Attested>, StartError> {
    let said = match gate.hear_as(Failure::default(), Patience::Generous).at(Step::Attest)? {
        Heard::Message(said, _) => said,
        Heard::Nothing => return Err(SILENT),
        Heard::Closed => return Ok(None),
    };
    let tested = Tested { landlock: said.step == gate::READY_LANDLOCKED, broker: false };
    let host = attest::look_at_host(expected).at(Step::Attest)?;
    let spaces = attest::look_at_spaces(expected, program, &host).at(Step::Attest)?;
    let around = attest::look_around(spaces).at(Step::Attest)?;
    let attested = attest::look(expected, around, tested).at(Step::Attest)?;
    if !judge(&attested) {
        return Err(StartError { step: Step::Attest, errno: Errno::CANCELED });
    }
    gate.send(&Failure { step: gate::GO, errno: 0 }, &[]).at(Step::Attest)?;
    Ok(Some(attested))
}

/// No copy takes the place of a stream that the host has closed.
const FIRST_AFTER_STREAMS: i32 = 3;

const UNCLEAR: StartError = StartError { step: Step::HearKeeper, errno: Errno::PROTO };
/// Who says nothing for so long was stopped.
const SILENT: StartError = StartError { step: Step::HearKeeper, errno: Errno::TIMEDOUT };

/// Waits until there is a process: its id and pidfd, or the step that failed.
fn hear_forked(line: &Line) -> Result<(Pid, OwnedFd), StartError> {
    match line.hear(Patience::Generous).at(Step::HearKeeper)? {
        Heard::Message(report, Some(pidfd)) if report.kind == kind::FORKED => {
            Ok((Pid::from_raw(report.pid).ok_or(UNCLEAR)?, pidfd))
        }
        Heard::Message(report, _) => Err(failure(&report).unwrap_or(UNCLEAR)),
        Heard::Nothing => Err(SILENT),
        Heard::Closed => Err(StartError { step: Step::HearKeeper, errno: Errno::PIPE }),
    }
}

/// Waits until the program is executed, or for the step that failed.
fn hear_executed(line: &Line) -> Result<(), StartError> {
    match line.hear(Patience::Generous).at(Step::HearKeeper)? {
        Heard::Message(report, _) if report.kind != kind::STARTED => {
            Err(failure(&report).unwrap_or(UNCLEAR))
        }
        // A keeper that is lost already may have been killed by the program, so that it counts as
        // started; the next word on the line tells.
        Heard::Message(..) | Heard::Closed => Ok(()),
        Heard::Nothing => Err(SILENT),
    }
}

/// The failed step that a report tells of.
fn failure(report: &Report) -> Option<StartError> {
    let step = Step::from_number(report.step).filter(|_| report.kind == kind::FAILED)?;
    Some(StartError { step, errno: Errno::from_raw_os_error(report.errno) })
}
