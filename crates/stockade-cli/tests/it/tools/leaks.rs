//! What a process holds at one moment: what must not grow with the calls that it has run.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// What one process has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    /// None where the supervisor's cannot be seen, which is so for ordinary users.
    descriptors: Option<usize>,
    mounts: Option<usize>,
    cgroups: usize,
    children: usize,
    threads: usize,
}

impl Look {
    /// Looks once what goes on in the background has come to rest.
    pub(super) fn at_rest(pid: u32) -> Self {
        const LONGEST: Duration = Duration::from_secs(20);
        let begun = Instant::now();
        let mut last = Self::now(pid);
        let mut same = 0;
        while same < 3 && begun.elapsed() < LONGEST {
            std::thread::sleep(Duration::from_millis(200));
            let now = Self::now(pid);
            same = if now == last { same + 1 } else { 0 };
            last = now;
        }
        last
    }

    fn now(pid: u32) -> Self {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let mounts = fs::read_to_string(format!("/proc/{pid}/mountinfo")).ok();
        Self {
            descriptors: fs::read_dir(format!("/proc/{pid}/fd")).ok().map(Iterator::count),
            mounts: mounts.map(|text| text.lines().count()),
            cgroups: Self::cgroups(pid),
            children: children(pid),
            threads: number(&status, "Threads:").unwrap(),
        }
    }

    /// The folders of its boxes, wherever in the trees they are.
    pub(super) fn cgroups(pid: u32) -> usize {
        folders(Path::new("/sys/fs/cgroup"), &format!("stockade-{pid}-"))
    }
}

fn folders(folder: &Path, own: &str) -> usize {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let inner = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let one = |entry: fs::DirEntry| {
        usize::from(entry.file_name().to_string_lossy().starts_with(own))
            + folders(&entry.path(), own)
    };
    inner.map(one).sum()
}

fn children(pid: u32) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |of: &u32| {
        let status = fs::read_to_string(format!("/proc/{of}/status")).unwrap_or_default();
        number(&status, "PPid:") == usize::try_from(pid).ok()
    };
    pids.filter(is_child).count()
}

fn number(text: &str, name: &str) -> Option<usize> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}
