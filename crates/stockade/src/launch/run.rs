//! One running call, whatever its tier: watched to its end, and accounted for.

use std::path::Path;
use std::time::{Duration, Instant};

use stockade_sandbox::{Cause, CgroupUsage, EndFolder, Ended};

use super::absent::{Absent, Maker};
use super::caller::CallerLink;
use super::disk::Disk;
use super::explain;
use super::jail::{CreatedPaths, MaskedPath, lose_mechanisms, lose_replaced};
use super::ports::OpenPorts;
use super::sampler::{is_out_of_memory, is_out_of_tasks};
use super::scratch::Scratch;
use super::session::{GuardedFolder, JoinedCall, LeftRun};
use super::tree::{Loss, Tree};
use super::watch::{Breach, End, Input, Observation, WatchLoop};
use crate::files::changes::Snapshot;
use crate::guarantee::{Enforced, Guarantee, Kept};
use crate::limits::{LimitHit, Limits};
use crate::outcome::{Denial, Exit, Failure, Outcome, Usage};
use crate::plan::describe::cpu_seconds;
use crate::tier::Tier;

/// A call that runs, and what belongs to it. Dropping it ends the whole tree.
#[derive(Debug)]
pub(super) struct SupervisedRun {
    // Dropped in this order: the scratch directory is removed once nothing uses it.
    pub(super) tree: Box<dyn Tree>,
    /// The directory to remove afterwards; a box has its own, which goes with it.
    pub(super) scratch: Option<Scratch>,
    pub(super) started: Instant,
    pub(super) input: Input,
    pub(super) limits: Limits,
    /// What is said if the program fails.
    pub(super) hints: Vec<String>,
    pub(super) tier: Tier,
    pub(super) enforcement: Vec<Enforced>,
    pub(super) guards: Guards,
    /// The folders as they were before, to tell what changed.
    pub(super) before: Option<Snapshot>,
    /// The session that it is part of.
    pub(super) joined: Option<JoinedCall>,
    /// The ports that lead into its sandbox and out of it.
    pub(super) ports: Option<OpenPorts>,
}

/// A run that has ended.
#[derive(Debug)]
pub(crate) struct FinishedRun {
    pub(crate) outcome: Outcome,
    /// What its session gets of it.
    pub(crate) session: Option<SessionResult>,
}

/// What a session gets of a call that has ended.
#[derive(Debug)]
pub(crate) struct SessionResult {
    pub(crate) joined: JoinedCall,
    /// The working directory in which its program has ended.
    pub(crate) folder: Option<EndFolder>,
    /// What it has left running.
    pub(crate) left: Option<LeftRun>,
}

/// What must not change outside of the tree while it runs.
#[derive(Debug, Default)]
pub(super) struct Guards {
    /// Hidden and protected paths that must stay the same files.
    pub(super) covered: Vec<MaskedPath>,
    /// Protected paths that must not appear.
    pub(super) absent: Vec<Absent>,
    /// What must not appear anywhere in the project, by patterns.
    pub(super) since: Option<CreatedPaths>,
    /// The disk that the run can fill.
    pub(super) disk: Option<Disk>,
    /// Folders in which no repository may appear while something is left running.
    pub(super) repositories: Vec<GuardedFolder>,
}

impl SupervisedRun {
    /// The same with so much less time.
    pub(super) fn with_spent(mut self, spent: Duration) -> Self {
        let wall = &mut self.limits.wall;
        *wall = wall.saturating_sub(spent);
        self
    }

    /// Watches the run to its end, serving a caller meanwhile if there is one. It is a failure if
    /// what was to start the program has failed.
    pub(super) fn wait(self, caller: Option<&CallerLink>) -> Result<FinishedRun, Failure> {
        let Self { mut tree, scratch, started, input, limits, hints, tier, mut guards, .. } = self;
        let (mut enforcement, ports) = (self.enforcement, self.ports);
        let seen = WatchLoop::new(&mut *tree, input, started, &limits)
            .with_disk(guards.disk.as_mut())
            .with_caller(caller)
            .run(&guards.absent);
        let replaced = lose_replaced(&mut enforcement, &guards.covered);
        let mut lost = Vec::new();
        for loss in &seen.losses {
            match loss {
                Loss::Mechanism(mechanism) => lost.push(*mechanism),
                Loss::Guarantee(guarantee, why) => lose(&mut enforcement, *guarantee, why),
            }
        }
        lose_mechanisms(&mut enforcement, &lost);
        let mut denials: Vec<Denial> =
            seen.refused.iter().map(|path| Denial::of_creation(path)).collect();
        let said = |denial: &Denial| format!("{:?}: {}", denial.path, denial.reason);
        let mut notes: Vec<String> = denials.iter().map(said).collect();
        notes.extend(why_ended(&seen, &replaced));
        notes.extend(settle(&guards.absent, guards.since.as_ref(), &seen, &mut enforcement));
        let (exit, usage, program_cpu) = end_of(&seen, &mut enforcement, &mut notes);
        let limit = limit_hit(&seen, exit, program_cpu, &*tree, &limits, tier);
        let printed = [&*seen.stderr.bytes, &*seen.stdout.bytes];
        for (denial, note) in explain::failures(exit, printed, &guards.covered) {
            denials.push(denial);
            notes.push(note);
        }
        if exit != Exit::Code(0) {
            notes.extend(hints);
        }
        notes.extend(killed_in_part(limit, seen.usage));
        notes.extend(ports.iter().flat_map(OpenPorts::notes).cloned());
        let was_killed = matches!(&seen.end, End::Ended(ended) if ended.cause == Cause::Killed);
        let leaves_running = self.joined.is_some() && leaves_running(&seen);
        let is_unsealed = is_unsealed(&seen);
        let (stdout, stderr) = (seen.stdout, seen.stderr);
        let outcome = Outcome {
            exit,
            limit,
            stdout,
            stderr,
            usage,
            tier,
            enforcement,
            denials,
            changes: None,
            notes,
            session: None,
            left_running: Vec::new(),
            is_unsealed,
        };
        let folder = tree.running_mut().take_end_folder();
        let (mut outcome, left) = if leaves_running {
            (outcome, Some(LeftRun { tree, guards, limits, started, ports }))
        } else {
            drop(ports);
            (tree.release(outcome, was_killed)?, None)
        };
        if let Err(error) = scratch.map(Scratch::remove).transpose() {
            let note = format!("the scratch folder could not be removed: {error}");
            outcome.notes.push(note);
        }
        outcome.changes = self.before.map(Snapshot::compare);
        let session = self.joined.map(|joined| SessionResult { joined, folder, left });
        Ok(FinishedRun { outcome, session })
    }
}

impl From<Outcome> for FinishedRun {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, session: None }
    }
}

/// Whether protected folders did not become read-only when it ended.
fn is_unsealed(seen: &Observation) -> bool {
    match &seen.end {
        End::Ended(ended) => ended.is_unsealed,
        End::Lost => true,
    }
}

/// Whether processes go on that the program has started, and may.
fn leaves_running(seen: &Observation) -> bool {
    let has_left = |ended: &Ended| ended.left_running > 0 && ended.cause == Cause::Exited;
    !seen.was_told_to_end && matches!(&seen.end, End::Ended(ended) if has_left(ended))
}

/// How the program ended, what the tree used, and the program's own processor time.
fn end_of(
    seen: &Observation,
    enforcement: &mut [Enforced],
    notes: &mut Vec<String>,
) -> (Exit, Usage, Duration) {
    match &seen.end {
        End::Ended(ended) => {
            if ended.survivors > 0 {
                lose(enforcement, Guarantee::Processes, "some processes could not be killed");
            }
            (exit_of(ended.status), usage(ended, seen), ended.program_cpu)
        }
        End::Lost => {
            let why = "the shim of the tree was killed";
            lose(enforcement, Guarantee::Processes, why);
            notes.push(format!("{why}, or does not answer: how the program ended is not known"));
            (Exit::Unknown, Usage { wall: seen.wall, ..Usage::default() }, Duration::ZERO)
        }
    }
}

/// The limit that ended the run, by what the supervisor did and what the kernel shows.
fn limit_hit(
    seen: &Observation,
    exit: Exit,
    program_cpu: Duration,
    tree: &dyn Tree,
    limits: &Limits,
    tier: Tier,
) -> Option<LimitHit> {
    // A program that ended by itself while the order to kill was under way beat its limit. A
    // tree that is killed one by one is another matter: a shell may see its children die first.
    let is_beaten = |limit: &LimitHit| {
        tree.dies_at_once() && *limit != LimitHit::Processes && matches!(exit, Exit::Code(_))
    };
    seen.limit
        .filter(|limit| !is_beaten(limit))
        .or_else(|| limit_by_signal(exit, program_cpu, limits))
        .or_else(|| limit_by_cgroup(exit, seen.usage))
        .or_else(|| limit_of_kernel(tier, seen.usage))
}

/// Deals with protected paths that have appeared: what happened, in words.
pub(super) fn settle(
    absent: &[Absent],
    since: Option<&CreatedPaths>,
    seen: &Observation,
    enforcement: &mut [Enforced],
) -> Vec<String> {
    let makers = absent.iter().zip(&seen.makers).enumerate();
    let settled = makers.filter_map(|(at, (one, maker))| {
        let appeared = one.settle((*maker)?)?;
        let is_changed = appeared.maker == Maker::Other && seen.changed.contains(&at);
        Some(if is_changed { appeared.changed() } else { appeared })
    });
    let mut made: Vec<_> = settled.collect();
    let maker = seen.maker_of_any;
    made.extend(since.into_iter().flat_map(|since| since.settle(enforcement, maker)));
    if !made.is_empty() {
        only_detect(enforcement);
    }
    if let Some(there) =
        made.iter().find(|one| one.is_there && (one.maker != Maker::Other || one.is_changed))
    {
        lose(enforcement, Guarantee::Protected, &there.note);
    }
    let mut notes: Vec<String> = made.into_iter().map(|made| made.note).collect();
    // All paths in a folder that was closed have the same note.
    notes.dedup();
    notes
}

/// Why the tree was ended, if that was not for a limit, and what to do about it.
pub(super) fn why_ended(seen: &Observation, replaced: &[&Path]) -> Option<String> {
    let reason = match (seen.breach?, replaced) {
        (Breach::Created, _) => {
            "a protected path was created while it was creating files; create that \
                                 file yourself, outside of the sandbox"
                .to_owned()
        }
        (Breach::Unconfined, [path, ..]) => format!(
            "{path:?}, which it hides or protects, was replaced from outside during the run, so that \
             nothing kept the program from the new file; run the call again"
        ),
        (Breach::Unconfined, []) => {
            let gone: Vec<String> = seen.losses.iter().map(ToString::to_string).collect();
            format!(
                "what confined it was undone from outside ({}); run the call again, and `stockade \
                 doctor` if that repeats",
                gone.join("; ")
            )
        }
    };
    Some(format!("the sandbox was ended: {reason}"))
}

/// What the tree used, counted by its cgroup where there is one. Zero means that nothing counted it.
fn usage(ended: &Ended, seen: &Observation) -> Usage {
    let counted = seen.usage.unwrap_or_default();
    let of_tree = ended.peak_rss_bytes.max(seen.sampled_bytes);
    Usage {
        wall: seen.wall,
        cpu: counted.cpu.unwrap_or(ended.cpu).max(ended.cpu),
        peak_memory_bytes: counted.memory_peak_bytes.or((of_tree > 0).then_some(of_tree)),
        processes: counted.tasks_peak.and_then(|peak| u32::try_from(peak).ok()),
    }
}

fn lose(enforcement: &mut [Enforced], guarantee: Guarantee, note: &str) {
    for one in enforcement.iter_mut().filter(|one| one.guarantee == guarantee) {
        one.kept = Kept::Lost;
        one.note = Some(note.to_owned());
    }
}

/// Says of a protected path that has come to be that it was not prevented, whoever made it.
fn only_detect(enforcement: &mut [Enforced]) {
    for one in enforcement.iter_mut().filter(|one| one.guarantee == Guarantee::Protected) {
        if one.kept == Kept::Full {
            one.note = Some("a protected path was made, though not by the box".to_owned());
        }
        one.kept = one.kept.min(Kept::Detected);
    }
}

fn exit_of(status: stockade_sandbox::Status) -> Exit {
    match status {
        stockade_sandbox::Status::Code(code) => Exit::Code(code),
        stockade_sandbox::Status::Signal(signal) => Exit::Signal(signal),
    }
}

/// A limit that the kernel enforced by signal. For processor time the figures have to match: what
/// the program itself has used, for that is what the kernel counts. A file that grew too large
/// leaves nothing but the signal.
fn limit_by_signal(exit: Exit, program_cpu: Duration, limits: &Limits) -> Option<LimitHit> {
    const SIGKILL: i32 = 9;
    const SIGXCPU: i32 = 24;
    const SIGXFSZ: i32 = 25;
    let allowed = limits.cpu.map(|cpu| Duration::from_secs(cpu_seconds(cpu)));
    // The kernel counts this limit by whole clock ticks, each charged to whoever runs when it comes,
    // also while a hypervisor runs another machine: the exact figure was seen a seventh below it.
    let is_spent = |allowed: Duration| program_cpu >= allowed.mul_f64(0.5);
    // A program that ignores the warning is killed a second later. Others kill by that signal too.
    let killed_at = |allowed: Duration| allowed.saturating_add(Duration::from_secs(1));
    let is_overspent = |allowed: Duration| program_cpu >= killed_at(allowed).mul_f64(0.75);
    match exit {
        Exit::Signal(SIGXCPU) if allowed.is_some_and(is_spent) => Some(LimitHit::Cpu),
        Exit::Signal(SIGKILL) if allowed.is_some_and(is_overspent) => Some(LimitHit::Cpu),
        Exit::Signal(SIGXFSZ) if limits.file_size.is_some() => Some(LimitHit::FileSize),
        Exit::Signal(_) | Exit::Code(_) | Exit::Unknown => None,
    }
}

/// The kernel killed for want of memory, and the program is what it killed.
fn limit_by_cgroup(exit: Exit, tree: Option<CgroupUsage>) -> Option<LimitHit> {
    const SIGKILL: i32 = 9;
    (tree.is_some_and(is_out_of_memory) && exit == Exit::Signal(SIGKILL))
        .then_some(LimitHit::Memory)
}

/// A kernel of its own falls with what it lacks, whatever status is left of it.
fn limit_of_kernel(tier: Tier, tree: Option<CgroupUsage>) -> Option<LimitHit> {
    let tree = tree.filter(|_| tier == Tier::Gvisor)?;
    if is_out_of_memory(tree) {
        return Some(LimitHit::Memory);
    }
    is_out_of_tasks(tree).then_some(LimitHit::Processes)
}

/// What the kernel killed for want of memory without ending the run.
fn killed_in_part(limit: Option<LimitHit>, tree: Option<CgroupUsage>) -> Option<String> {
    let kills = tree?.oom_kills.filter(|kills| *kills > 0 && limit != Some(LimitHit::Memory))?;
    Some(format!("the kernel killed {kills} of its processes for want of memory"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_limit_is_believed_by_figures_that_come_near_it() {
        let limits = Limits { cpu: Some(Duration::from_secs(1)), ..Limits::EXEC };
        let hit = |signal, millis| {
            limit_by_signal(Exit::Signal(signal), Duration::from_millis(millis), &limits)
        };
        // As seen on a busy machine, and by a program that sends itself the signal.
        assert_eq!((hit(24, 860), hit(24, 10)), (Some(LimitHit::Cpu), None));
        assert_eq!((hit(9, 1720), hit(9, 900)), (Some(LimitHit::Cpu), None));
        assert_eq!((hit(15, 2000), hit(11, 2000)), (None, None));
    }
}
