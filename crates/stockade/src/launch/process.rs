//! The `process` tier, applied.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::time::Instant;

use stockade_linux::{Rlimits, Spec, StartError, Stdin};

use super::scratch::Scratch;
use super::watch::{End, Watch};
use crate::confine::Confinement;
use crate::gate::Prepared;
use crate::guarantee::{Enforced, Guarantee, Kept};
use crate::limits::{ByteCount, LimitHit};
use crate::outcome::{Exit, Failure, Outcome, Usage, chain};
use crate::plan::Plan;
use crate::tier::{Description, Step, Tier, process::cpu_seconds};

/// A run of this tier.
#[derive(Debug)]
pub(super) struct Process {
    running: stockade_linux::Running,
    scratch: Scratch,
    started: Instant,
    stdin: Vec<u8>,
    confinement: Confinement,
    tier: Tier,
    enforcement: Vec<Enforced>,
    /// The kernel kills the tree in one stroke, the program before its children.
    is_scoped: bool,
}

/// Does the steps of the plan, in their order.
pub(super) fn start(plan: Plan) -> Result<Process, Failure> {
    let (prepared, description) = plan.into_parts();
    let Description { steps, enforcement } = description;
    let Prepared { cleared, confinement, tier, .. } = prepared;
    let scratch = Scratch::make().map_err(|error| {
        Failure::new("make the scratch folder", error.to_string())
            .remedy("make room in the folder for temporary files, or name another with TMPDIR")
    })?;
    let signal_scope = if steps.contains(&Step::SignalScope) {
        stockade_linux::signal_scope().map_err(|error| no_signal_scope(&error))?
    } else {
        None
    };
    let spec = Spec {
        program: cleared.program,
        script: cleared.script,
        argv: cleared.argv.to_c_strings(),
        env: environment(&confinement, scratch.path().as_os_str())?,
        cwd: cleared.cwd,
        stdin: if cleared.stdin.is_empty() { Stdin::Empty } else { Stdin::Piped },
        rlimits: rlimits(&confinement),
        processes_max: confinement.limits.processes,
        signal_scope,
    };
    let is_scoped = spec.signal_scope.is_some();
    let started = Instant::now();
    let running = stockade_linux::start(spec).map_err(not_started)?;
    let stdin = cleared.stdin;
    Ok(Process { running, scratch, started, stdin, confinement, tier, enforcement, is_scoped })
}

impl Process {
    /// Watches the run to its end.
    pub(super) fn wait(self) -> Outcome {
        let Self { running, scratch, started, stdin, confinement, tier, enforcement, is_scoped } =
            self;
        let mut enforcement = enforcement;
        let watched = Watch::new(running, &stdin, started, &confinement.limits).run();
        let notes = match scratch.remove() {
            Ok(()) => Vec::new(),
            Err(error) => vec![format!("the scratch folder could not be removed: {error}")],
        };
        let (exit, usage) = match &watched.end {
            End::Ended(ended) => {
                if ended.survivors > 0 {
                    lose(&mut enforcement, "some processes could not be killed");
                }
                let usage = Usage {
                    wall: watched.wall,
                    cpu: ended.cpu,
                    peak_memory_bytes: Some(ended.peak_rss_bytes),
                    processes: None,
                };
                (exit_of(ended.status), usage)
            }
            End::Lost => {
                lose(&mut enforcement, "the keeper of the tree was killed");
                (Exit::Unknown, Usage { wall: watched.wall, ..Usage::default() })
            }
        };
        // A program that ended by itself while the order to kill was under way beat its limit. A
        // tree that is killed one by one is another matter: a shell may see its children die first.
        let beaten = |limit: &LimitHit| {
            is_scoped && *limit != LimitHit::Processes && matches!(exit, Exit::Code(_))
        };
        let limit = watched.limit.filter(|limit| !beaten(limit));
        let limit = limit.or_else(|| limit_by_signal(exit, &usage, &confinement));
        Outcome {
            exit,
            limit,
            stdout: watched.stdout,
            stderr: watched.stderr,
            usage,
            tier,
            enforcement,
            notes,
        }
    }
}

fn lose(enforcement: &mut [Enforced], note: &str) {
    for one in enforcement.iter_mut().filter(|one| one.guarantee == Guarantee::Processes) {
        one.kept = Kept::Lost;
        one.note = Some(note.to_owned());
    }
}

fn exit_of(status: stockade_linux::Status) -> Exit {
    match status {
        stockade_linux::Status::Code(code) => Exit::Code(code),
        stockade_linux::Status::Signal(signal) => Exit::Signal(signal),
    }
}

/// A limit that the kernel enforced by signal: believed only with the figures to match.
fn limit_by_signal(exit: Exit, usage: &Usage, confinement: &Confinement) -> Option<LimitHit> {
    const SIGKILL: i32 = 9;
    const SIGXCPU: i32 = 24;
    const SIGXFSZ: i32 = 25;
    let limits = &confinement.limits;
    let cpu = limits.cpu.map(|cpu| std::time::Duration::from_secs(cpu_seconds(cpu)));
    // The kernel's clock for this limit ticks coarsely: the figures agree to a tenth.
    let spent = |cpu: std::time::Duration| usage.cpu.as_secs_f64() >= cpu.as_secs_f64() * 0.9;
    match exit {
        Exit::Signal(SIGXCPU | SIGKILL) if cpu.is_some_and(spent) => Some(LimitHit::Cpu),
        Exit::Signal(SIGXFSZ) if limits.file_size.is_some() => Some(LimitHit::FileSize),
        Exit::Signal(_) | Exit::Code(_) | Exit::Unknown => None,
    }
}

fn environment(confinement: &Confinement, scratch: &OsStr) -> Result<Vec<CString>, Failure> {
    let own = [(OsStr::new("HOME"), scratch), (OsStr::new("TMPDIR"), scratch)];
    let listed =
        confinement.environment.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let is_listed = |name: &OsStr| confinement.environment.iter().any(|(known, _)| known == name);
    own.into_iter()
        .filter(|(name, _)| !is_listed(name))
        .chain(listed)
        .map(|(name, value)| {
            let bytes = [name.as_bytes(), b"=", value.as_bytes()].concat();
            CString::new(bytes).map_err(|_nul| {
                Failure::new(
                    "build the environment",
                    format!("the variable {name:?} holds a NUL byte"),
                )
            })
        })
        .collect()
}

fn rlimits(confinement: &Confinement) -> Rlimits {
    let limits = &confinement.limits;
    // This limit counts all processes of the user on the machine, so it can only be a ceiling:
    // what is there now and the whole allowance on top. The keeper's count is the exact one.
    let ceiling = |most: u32| {
        stockade_linux::tasks_on_machine().map(|now| now.saturating_add(u64::from(most)))
    };
    Rlimits {
        cpu_seconds: limits.cpu.map(cpu_seconds),
        address_space_bytes: limits.memory.map(ByteCount::get),
        file_size_bytes: limits.file_size.map(ByteCount::get),
        processes: limits.processes.and_then(|most| ceiling(most).ok()),
        open_files: Some(limits.open_files),
        core_bytes: Some(0),
        stack_bytes: None,
    }
}

fn no_signal_scope(error: &std::io::Error) -> Failure {
    let mut failure = Failure::new("keep signals within the tree", error.to_string());
    failure.guarantee = Some(Guarantee::Processes.to_string());
    failure
}

fn not_started(error: StartError) -> Failure {
    Failure::new("start the program", format!("could not {}", chain(&error)))
        .remedy("check that the file is a program for this machine, and that its arguments are not too long")
}
