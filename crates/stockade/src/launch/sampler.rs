//! The limits of the whole tree that the supervisor enforces itself, by sampling: memory
//! where no cgroup bounds it, processor time, and what the kernel had to refuse.

use std::time::{Duration, Instant};

use stockade_sandbox::CgroupUsage;

use super::tree::Tree;
use crate::limits::{ByteCount, LimitHit, Limits};
use crate::plan::describe::cpu_seconds;

/// After the warning at its limit a process has this long, which `RLIMIT_CPU` gives it too.
const GRACE: Duration = Duration::from_secs(1);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(90);

/// What a tree may use, as far as nothing else enforces it, and what was seen.
#[derive(Debug)]
pub(super) struct Sampler {
    memory_bytes_max: Option<u64>,
    cpu_max: Option<Duration>,
    peak_bytes: u64,
    looked: Instant,
}

impl Sampler {
    pub(super) fn new(tree: &dyn Tree, limits: &Limits) -> Self {
        let is_bounded = tree.is_memory_bounded();
        let cpu = limits.cpu.map(|cpu| Duration::from_secs(cpu_seconds(cpu)));
        Self {
            memory_bytes_max: limits.memory.map(ByteCount::get).filter(|_| !is_bounded),
            cpu_max: cpu.map(|cpu| cpu.saturating_add(GRACE)),
            peak_bytes: 0,
            looked: Instant::now(),
        }
    }

    /// Whether there is anything to look for.
    pub(super) fn is_watched(&self) -> bool {
        self.memory_bytes_max.is_some() || self.cpu_max.is_some()
    }

    /// The most memory that was seen, where it was counted exactly.
    pub(super) fn peak_bytes(&self) -> u64 {
        self.peak_bytes
    }

    /// The limit that the tree is above. Asked more often than it is worth, it says nothing.
    pub(super) fn exceeded(&mut self, tree: &dyn Tree) -> Option<LimitHit> {
        if self.looked.elapsed() < PAUSE {
            return None;
        }
        self.looked = Instant::now();
        let usage = tree.usage();
        // With version 1 the kernel kills one process, and the others would go on without it.
        if usage.is_some_and(is_out_of_memory) {
            return Some(LimitHit::Memory);
        }
        // Who forks faster than it is counted meets the kernel's ceiling.
        if usage.is_some_and(is_out_of_tasks) {
            return Some(LimitHit::Processes);
        }
        let counted = tree.counted_cpu();
        let cpu_is_sampled = self.cpu_max.is_some() && counted.is_none();
        let sample = (self.memory_bytes_max.is_some() || cpu_is_sampled).then(|| tree.sample());
        let memory = sample.map_or(0, |sample| sample.resident_bytes);
        // The quick figure counts shared pages for each that shares them: it can only acquit.
        if self.memory_bytes_max.is_some_and(|most| memory > most) {
            let memory = tree.running().memory_bytes();
            self.peak_bytes = self.peak_bytes.max(memory);
            if self.memory_bytes_max.is_some_and(|most| memory > most) {
                return Some(LimitHit::Memory);
            }
        }
        let cpu = counted.or_else(|| sample.map(|sample| sample.cpu));
        (self.cpu_max.zip(cpu).is_some_and(|(most, cpu)| cpu >= most)).then_some(LimitHit::Cpu)
    }
}

/// Whether the kernel killed for want of the box's own memory, not of the machine's.
pub(super) fn is_out_of_memory(usage: CgroupUsage) -> bool {
    usage.oom_kills.is_some_and(|kills| kills > 0) && usage.memory_used_up != Some(false)
}

/// Whether the kernel refused a process or a thread at the box's own ceiling.
pub(super) fn is_out_of_tasks(usage: CgroupUsage) -> bool {
    usage.forks_refused.is_some_and(|times| times > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_for_the_machines_want_of_memory_is_no_limit_of_ours() {
        let used = |oom_kills, memory_used_up| CgroupUsage {
            oom_kills: Some(oom_kills),
            memory_used_up: Some(memory_used_up),
            ..CgroupUsage::default()
        };
        assert!(is_out_of_memory(used(1, true)));
        assert!(!is_out_of_memory(used(1, false)));
        assert!(!is_out_of_memory(used(0, true)));
        assert!(!is_out_of_memory(CgroupUsage::default()));
    }
}
