//! Names that say whose a folder is, and the removal of what dead supervisors left.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

const PREFIX: &str = "stockade";

/// The name of a folder of this process: its id, when it started, and a number.
pub(super) fn name(number: u64) -> String {
    let own = std::process::id();
    let started = start_of(own).unwrap_or(0);
    format!("{PREFIX}-{own}-{started}-{number}")
}

/// Removes the folders of supervisors that are gone; once for each parent in a process.
pub(super) fn remove_once(parent: &Path) {
    static DONE: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);
    let mut done = DONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if done.get_or_insert_default().insert(parent.to_owned()) {
        remove_all(parent);
    }
}

fn remove_all(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(owner);
        if owner.is_some_and(|(pid, started)| start_of(pid) != Some(started)) {
            // One that still has processes is refused, and left to whoever holds them.
            let _busy = fs::remove_dir(entry.path());
        }
    }
}

/// Whose a folder is, if it is one of ours.
fn owner(name: &str) -> Option<(u32, u64)> {
    let mut parts = name.strip_prefix(PREFIX)?.strip_prefix('-')?.split('-');
    let (pid, started) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let _number: u64 = parts.next()?.parse().ok()?;
    parts.next().is_none().then_some((pid, started))
}

/// When a process started, in ticks since the machine did: the 22nd field of its `stat`.
fn start_of(pid: u32) -> Option<u64> {
    const START_AFTER_NAME: usize = 20;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split(' ').nth(START_AFTER_NAME)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_whose_it_is() {
        let own = std::process::id();
        let (pid, started) = owner(&name(7)).unwrap();
        assert_eq!((pid, Some(started)), (own, start_of(own)));
        for other in ["stockade", "stockade-1", "stockade-1-2", "stockade-1-2-3-4", "x-1-2-3"] {
            assert_eq!(owner(other), None, "{other}");
        }
    }

    #[test]
    fn only_folders_of_the_dead_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let own = name(1);
        for folder in [own.as_str(), "stockade-4194399-1-0", "other"] {
            fs::create_dir(parent.path().join(folder)).unwrap();
        }
        remove_all(parent.path());
        let left = |folder: &str| parent.path().join(folder).exists();
        assert!(left(&own) && left("other") && !left("stockade-4194399-1-0"));
    }
}
