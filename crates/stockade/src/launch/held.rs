//! A program that runs, whatever its tier: watched to its end, and accounted for.

use std::path::Path;
use std::time::{Duration, Instant};

use stockade_linux::{CgroupUsage, Ended};

use super::absent::{Absent, Maker};
use super::container::Eye;
use super::disk::Disk;
use super::git;
use super::jail::{Covered, MadeSince, lose_mechanisms, lose_replaced};
use super::scratch::Scratch;
use super::subject::Subject;
use super::tree::{is_out_of_memory, is_out_of_tasks};
use super::watch::{Breach, End, Watch, Watched};
use crate::confine::Confinement;
use crate::guarantee::{Enforced, Guarantee, Kept};
use crate::limits::{LimitHit, Limits};
use crate::outcome::{Denial, Exit, Outcome, Usage};
use crate::tier::Tier;
use crate::tier::process::cpu_seconds;

/// A program and what belongs to its run.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) subject: Subject,
    /// The folder to remove afterwards; a box has its own, which goes with it.
    pub(super) scratch: Option<Scratch>,
    pub(super) started: Instant,
    pub(super) stdin: Vec<u8>,
    pub(super) confinement: Confinement,
    pub(super) tier: Tier,
    pub(super) enforcement: Vec<Enforced>,
    /// Hidden and protected paths that must stay the same files.
    pub(super) covered: Vec<Covered>,
    /// Protected paths that must not appear.
    pub(super) absent: Vec<Absent>,
    /// What must not appear anywhere in the project, by patterns.
    pub(super) since: Option<MadeSince>,
    /// The disk that the run can fill.
    pub(super) disk: Option<Disk>,
    /// The kernel kills the tree in one stroke, the program before its children.
    pub(super) dies_at_once: bool,
    /// Eyes on a container, which is no part of the tree.
    pub(super) eye: Option<Eye>,
}

impl Held {
    /// Takes so much off the time that the run has.
    pub(super) fn spend(&mut self, spent: Duration) {
        let wall = &mut self.confinement.limits.wall;
        *wall = wall.saturating_sub(spent);
    }

    /// Watches the run to its end, and does this meanwhile if it takes so long that there is time.
    pub(super) fn wait(self) -> Outcome {
        self.wait_told().0
    }

    /// The same, and whether it was us who ended it.
    pub(super) fn wait_told(self) -> (Outcome, bool) {
        let Self { subject, scratch, started, stdin, confinement, .. } = self;
        let mut enforcement = self.enforcement;
        let watched = Watch::new(subject, &stdin, started, &confinement.limits)
            .with_disk(self.disk)
            .with_eye(self.eye)
            .run(&self.absent);
        let replaced = lose_replaced(&mut enforcement, &self.covered);
        lose_mechanisms(&mut enforcement, &watched.lost);
        for (guarantee, why) in watched.eye.iter().flat_map(Eye::lost) {
            lose(&mut enforcement, *guarantee, why);
        }
        let counted = watched.tree.or_else(|| watched.eye.as_ref().and_then(Eye::usage));
        let denials: Vec<Denial> =
            watched.refused.iter().map(|path| Denial::of_creation(path)).collect();
        let said = |denial: &Denial| format!("{:?}: {}", denial.path, denial.reason);
        let mut notes: Vec<String> = denials.iter().map(said).collect();
        notes.extend(why_ended(&watched, &replaced));
        notes.extend(settle(&self.absent, self.since.as_ref(), &watched, &mut enforcement));
        if let Err(error) = scratch.map(Scratch::remove).transpose() {
            notes.push(format!("the scratch folder could not be removed: {error}"));
        }
        let (exit, usage, program_cpu) = match &watched.end {
            End::Ended(ended) => {
                if ended.survivors > 0 {
                    lose(
                        &mut enforcement,
                        Guarantee::Processes,
                        "some processes could not be killed",
                    );
                }
                let usage = usage(ended, counted.unwrap_or_default(), &watched);
                (exit_of(ended.status), usage, ended.program_cpu)
            }
            End::Lost => {
                let why = "the keeper of the tree was killed";
                lose(&mut enforcement, Guarantee::Processes, why);
                notes
                    .push(format!("{why}, or does not answer: how the program ended is not known"));
                (Exit::Unknown, Usage { wall: watched.wall, ..Usage::default() }, Duration::ZERO)
            }
        };
        // A program that ended by itself while the order to kill was under way beat its limit. A
        // tree that is killed one by one is another matter: a shell may see its children die first.
        let beaten = |limit: &LimitHit| {
            self.dies_at_once && *limit != LimitHit::Processes && matches!(exit, Exit::Code(_))
        };
        let limit = watched.limit.filter(|limit| !beaten(limit));
        let limit = limit
            .or_else(|| limit_by_signal(exit, program_cpu, &confinement.limits))
            .or_else(|| limit_by_cgroup(exit, watched.tree))
            .or_else(|| limit_of_kernel(self.tier, watched.tree));
        notes.extend(git::note(exit, &self.covered));
        if exit != Exit::Code(0) {
            notes.extend(confinement.hints);
        }
        notes.extend(killed_in_part(limit, watched.tree));
        notes.extend(watched.parting.notes);
        let was_killed = matches!(&watched.end, End::Ended(ended) if ended.cause == stockade_linux::Cause::Killed);
        let outcome = Outcome {
            exit,
            limit,
            stdout: watched.stdout,
            stderr: watched.stderr,
            usage,
            tier: self.tier,
            enforcement,
            denials,
            changes: None,
            notes,
            session: watched.parting.session,
        };
        (outcome, was_killed)
    }
}

/// Deals with protected paths that have appeared: what happened, in words.
fn settle(
    absent: &[Absent],
    since: Option<&MadeSince>,
    watched: &Watched,
    enforcement: &mut [Enforced],
) -> Vec<String> {
    let makers = absent.iter().zip(&watched.makers).enumerate();
    let settled = makers.filter_map(|(at, (one, maker))| {
        let appeared = one.settle((*maker)?)?;
        let is_changed = appeared.maker == Maker::Other && watched.changed.contains(&at);
        Some(if is_changed { appeared.changed() } else { appeared })
    });
    let mut made: Vec<_> = settled.collect();
    let maker = watched.maker_of_any;
    made.extend(since.into_iter().flat_map(|since| since.settle(enforcement, maker)));
    if !made.is_empty() {
        only_detect(enforcement);
    }
    if let Some(there) =
        made.iter().find(|one| one.is_there && (one.maker != Maker::Other || one.is_changed))
    {
        lose(enforcement, Guarantee::Protected, &there.note);
    }
    made.into_iter().map(|made| made.note).collect()
}

/// Why the tree was ended, if that was not for a limit, and what to do about it.
fn why_ended(watched: &Watched, replaced: &[&Path]) -> Option<String> {
    let reason = match (watched.breach?, replaced) {
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
            let mechanisms = watched.lost.iter().map(ToString::to_string);
            let seen = watched.eye.iter().flat_map(Eye::lost).map(|(_, why)| why.clone());
            let gone: Vec<String> = mechanisms.chain(seen).collect();
            format!(
                "what confined it was undone from outside ({}); run the call again, and `stockade \
                 doctor` if that repeats",
                gone.join("; ")
            )
        }
    };
    Some(format!("the sandbox was ended: {reason}"))
}

/// What the tree used. What the client of an engine uses says nothing of its container.
fn usage(ended: &Ended, counted: CgroupUsage, watched: &Watched) -> Usage {
    let is_client = watched.eye.is_some();
    let of_tree = ended.peak_rss_bytes.max(watched.sampled_bytes);
    let cpu_of_tree = if is_client { Duration::ZERO } else { ended.cpu };
    Usage {
        wall: watched.wall,
        cpu: counted.cpu.unwrap_or(cpu_of_tree).max(cpu_of_tree),
        peak_memory_bytes: counted.memory_peak_bytes.or((!is_client).then_some(of_tree)),
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

fn exit_of(status: stockade_linux::Status) -> Exit {
    match status {
        stockade_linux::Status::Code(code) => Exit::Code(code),
        stockade_linux::Status::Signal(signal) => Exit::Signal(signal),
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
