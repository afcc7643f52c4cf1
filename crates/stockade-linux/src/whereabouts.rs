//! On which processors boxes are made: beside the host, if it has something to do meanwhile.

use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

use crate::keeper::wire::PROCESSOR_WORDS;
use crate::pidfd::has_ended;
use crate::proc;

/// Where a process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Where {
    /// Wherever the kernel puts it.
    Anywhere,
    /// On another processor than this thread, if there is one: some schedulers put what is new or is
    /// woken beside who does it, though another is idle. A program uses all of them again.
    Elsewhere,
}

/// The processor of this thread, and those that are left without it; none if it has no other.
pub(crate) fn other_processors() -> Option<(usize, CpuSet)> {
    let (here, mut others) = (sched_getcpu(), sched_getaffinity(None).ok()?);
    let may_return = others.is_set(here);
    others.unset(here);
    (may_return && others.count() > 0).then_some((here, others))
}

/// Brings a process of ours that sleeps to this thread's processor, on which it goes on when it is woken; from
/// there it goes wherever it is sent. Not if this thread goes before others: one like it could keep it
/// from running there.
pub(crate) fn bring_here(process: Pid, pidfd: &OwnedFd) {
    // SAFETY: this takes numbers only.
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) };
    if policy == libc::c_long::from(libc::SCHED_OTHER) {
        let mut here = CpuSet::new();
        here.set(sched_getcpu());
        send_to(process, pidfd, &here);
    }
}

/// Sends a process of ours that sleeps to another processor than this thread's, if there is one.
pub(crate) fn send_away(process: Pid, pidfd: &OwnedFd) {
    if let Some((_, others)) = other_processors() {
        send_to(process, pidfd, &others);
    }
}

fn send_to(process: Pid, pidfd: &OwnedFd, processors: &CpuSet) {
    // The number of one that has ended may be another's by now.
    if !has_ended(pidfd) {
        // It only takes longer otherwise.
        let _stays = sched_setaffinity(Some(process), processors);
    }
}

/// Whether no more seem to run than there are processors for this thread: those of ours, and one of the
/// kernel's own as often as not.
pub(crate) fn is_quiet() -> bool {
    let running = || -> Option<u32> {
        let load = proc::read("/proc/loadavg").ok()?;
        load.split(' ').nth(3)?.split('/').next()?.parse().ok()
    };
    let processors = sched_getaffinity(None).map_or(0, |own| own.count());
    running().is_some_and(|running| running <= processors.saturating_add(1))
}

/// All that this thread may use, a bit for each; none if they are not known.
pub(crate) fn own_processors() -> [u64; PROCESSOR_WORDS] {
    sched_getaffinity(None).map_or([0; PROCESSOR_WORDS], |own| words_of(&own))
}

/// A set as the kernel has it, a bit for each.
pub(crate) fn words_of(set: &CpuSet) -> [u64; PROCESSOR_WORDS] {
    let mut words = [0_u64; PROCESSOR_WORDS];
    for (word, first) in words.iter_mut().zip((0..CpuSet::MAX_CPU).step_by(BITS)) {
        for bit in (0..BITS).filter(|bit| set.is_set(first.saturating_add(*bit))) {
            *word |= 1 << bit;
        }
    }
    words
}

/// How many processors a word has.
const BITS: usize = 64;

/// Where a template's process may run.
#[derive(Debug)]
pub(crate) struct Whereabouts {
    /// The process, and all processors that it could use when it was made.
    process: Option<(Pid, CpuSet)>,
    now: Mutex<Where>,
}

impl Whereabouts {
    /// Those of a process that was not moved yet.
    pub(crate) fn of(process: Option<Pid>) -> Self {
        let all = |process| Some((process, sched_getaffinity(Some(process)).ok()?));
        Self { process: process.and_then(all), now: Mutex::new(Where::Anywhere) }
    }

    /// Moves it, before it is told to make a copy. What cannot be done only takes longer.
    pub(crate) fn be(&self, place: Where) {
        let Some((process, all)) = &self.process else { return };
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = match (place, *now) {
            // This thread may have moved itself, so that it is said each time.
            (Where::Elsewhere, _) => other_processors().map(|(_, others)| others),
            (Where::Anywhere, Where::Elsewhere) => Some(*all),
            (Where::Anywhere, Where::Anywhere) => None,
        };
        if wanted.is_some_and(|wanted| sched_setaffinity(Some(*process), &wanted).is_ok()) {
            *now = place;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rustix::process::{PidfdFlags, pidfd_open};

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "any process will do")]
    fn who_has_ended_is_sent_nowhere() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = Pid::from_child(&child);
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).unwrap();
        assert!(!has_ended(&pidfd));
        bring_here(pid, &pidfd);
        assert_eq!(sched_getaffinity(Some(pid)).unwrap().count(), 1);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(has_ended(&pidfd));
        // This process has that number now, as far as the call can tell.
        let before = sched_getaffinity(None).unwrap();
        send_to(rustix::process::getpid(), &pidfd, &CpuSet::new());
        bring_here(rustix::process::getpid(), &pidfd);
        assert_eq!(sched_getaffinity(None).unwrap(), before);
    }
}
