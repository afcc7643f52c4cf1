//! The current usage of a tree, added up from `/proc` where no cgroup counts it.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// The usage of all living processes of a tree together. Processes that start and exit between two
/// samples are not seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sample {
    /// Memory that is resident: pages that several processes share are counted for each.
    pub resident_bytes: u64,
    /// Processor time, that of the dead whom somebody waited for included.
    pub cpu: Duration,
    /// How many processes there are.
    pub processes: u32,
}

/// Adds up what these processes use.
pub(crate) fn add_up(processes: &HashSet<u32>) -> Sample {
    let mut sample = Sample::default();
    for process in processes {
        // One that has just ended uses nothing.
        let Some(one) = one(*process) else { continue };
        sample.resident_bytes = sample.resident_bytes.saturating_add(one.resident_bytes);
        sample.cpu = sample.cpu.saturating_add(one.cpu);
        sample.processes = sample.processes.saturating_add(1);
    }
    sample
}

/// The memory of these processes with shared pages divided among those that share them, which takes
/// the kernel far longer to say.
pub(crate) fn proportional_bytes(processes: &HashSet<u32>) -> u64 {
    let all = processes.iter().map(|process| {
        let divided = proportional_of(*process);
        // Where it may not be read, the larger figure is the safer one.
        divided.or_else(|| Some(one(*process)?.resident_bytes)).unwrap_or(0)
    });
    all.fold(0, u64::saturating_add)
}

/// The processes beneath one.
pub(crate) fn descendants(ancestor: u32) -> HashSet<u32> {
    let mut found = HashSet::new();
    let mut open = vec![ancestor];
    while let Some(process) = open.pop() {
        let new = children(process).into_iter().filter(|child| found.insert(*child));
        open.extend(new);
    }
    found
}

/// The children of all threads of a process.
fn children(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let numbers = |list: String| -> Vec<u32> {
        list.split_whitespace().filter_map(|number| number.parse().ok()).collect()
    };
    lists.flat_map(numbers).collect()
}

/// One process, by the fields of `proc_pid_stat(5)` after its name.
fn one(process: u32) -> Option<Sample> {
    // From linux/param.h: the unit in which the kernel reports times.
    const TICKS_PER_SECOND: u64 = 100;
    const TIMES: std::ops::Range<usize> = 11..15;
    const RESIDENT_PAGES: usize = 21;
    let stat = fs::read(Path::new("/proc").join(process.to_string()).join("stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let number = |field: &&str| field.parse::<u64>().ok();
    let ticks = fields.get(TIMES)?.iter().filter_map(number).fold(0, u64::saturating_add);
    let pages = fields.get(RESIDENT_PAGES).and_then(number)?;
    Some(Sample {
        resident_bytes: pages.saturating_mul(page_bytes()?),
        cpu: Duration::from_millis(ticks.saturating_mul(1000 / TICKS_PER_SECOND)),
        processes: 1,
    })
}

/// The size of a page. rustix would read it from `/proc/self/auxv` before Linux 6.4, and panic in a
/// process that is not dumpable, which may not.
fn page_bytes() -> Option<u64> {
    // SAFETY: the call takes no memory, and the name is one that it knows.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(bytes).ok()
}

fn proportional_of(process: u32) -> Option<u64> {
    let rollup = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).ok()?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_of_ones_own_is_read() {
        let own = std::process::id();
        let sample = one(own).unwrap();
        assert_eq!(sample.processes, 1);
        let (shared, all) = (proportional_of(own).unwrap(), sample.resident_bytes);
        assert!(shared > 0 && all > 0, "{shared} {all}");
        assert_eq!(one(u32::MAX), None);
    }
}
