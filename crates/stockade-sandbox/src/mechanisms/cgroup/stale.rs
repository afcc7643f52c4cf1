//! Names that say whose a folder is, and the removal of what dead supervisors left.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use rustix::fs::{CWD, Dir, Mode, OFlags, openat};

use super::kill::kill_all;
use crate::proc;

const OF_BOXES: &str = "stockade-";
const OF_HOSTS: &str = "stockade_host-";

/// The name of a sandbox's folder: who made it, and a number.
pub(super) fn name(number: u64) -> String {
    format!("{OF_BOXES}{}-{number}", Owner::this().text())
}

/// The name of a folder that this process itself is in.
pub(super) fn name_of_host() -> String {
    format!("{OF_HOSTS}{}", Owner::this().text())
}

/// Removes the folders of supervisors that are gone; once for each parent in a process, which has a
/// folder there itself.
pub(super) fn remove_once(parent: &Path) {
    static DONE: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);
    let mut done = DONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if done.get_or_insert_default().insert(parent.to_owned()) {
        remove_all(parent);
    }
}

fn remove_all(parent: &Path) {
    /// A name, a dot, and our folder: the kernel counts the folders in a folder of cgroups.
    const LINKS_WITH_OURS: u64 = 3;
    if fs::metadata(parent).is_ok_and(|parent| parent.nlink() == LINKS_WITH_OURS) {
        return;
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = openat(CWD, parent, flags, Mode::empty()).and_then(Dir::new);
    // One owner has many folders.
    let mut known: HashMap<Owner, bool> = HashMap::new();
    for entry in opened.into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().to_str() else { continue };
        let Some((kind, owner)) = read(name) else { continue };
        if *known.entry(owner).or_insert_with(|| owner.is_gone()) {
            let path = parent.join(name);
            // A sandbox that outlived its supervisor and its shim is ended. A process of the host
            // is not ours to end: its folder is removed if it is empty.
            if kind == OF_BOXES && fs::remove_dir(&path).is_err() && kill_all(&path).is_err() {
                continue;
            }
            super::folder::remove(&path);
        }
    }
}

/// A process that makes folders: its id, when it started, and the namespace where that is its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Owner {
    pid: u32,
    started: u64,
    namespace: u64,
}

impl Owner {
    fn this() -> Self {
        static KNOWN: OnceLock<Owner> = OnceLock::new();
        let pid = std::process::id();
        let look = || Self {
            pid,
            started: start_of(pid).unwrap_or(0),
            namespace: namespace().unwrap_or(0),
        };
        // A process that was forked off this one is another.
        Some(*KNOWN.get_or_init(look)).filter(|known| known.pid == pid).unwrap_or_else(look)
    }

    fn text(self) -> String {
        format!("{}-{}-{}", self.pid, self.started, self.namespace)
    }

    /// Returns whether it has ended, as far as that can be known here: a container has numbers of its own.
    fn is_gone(self) -> bool {
        self != Self::this()
            && namespace() == Some(self.namespace)
            && start_of(self.pid) != Some(self.started)
    }
}

/// The kind of a folder by its name, and its owner, if it is one of ours.
fn read(name: &str) -> Option<(&'static str, Owner)> {
    let mut kinds = [(OF_BOXES, 4), (OF_HOSTS, 3)].into_iter();
    kinds.find_map(|(kind, count)| {
        let numbers: Option<Vec<u64>> =
            name.strip_prefix(kind)?.split('-').map(|part| part.parse().ok()).collect();
        let numbers = numbers.filter(|numbers| numbers.len() == count)?;
        let (pid, started, namespace) = (numbers.first()?, numbers.get(1)?, numbers.get(2)?);
        let pid = u32::try_from(*pid).ok()?;
        Some((kind, Owner { pid, started: *started, namespace: *namespace }))
    })
}

/// When a process started, in ticks since the machine did: the 22nd field of its `stat`.
fn start_of(pid: u32) -> Option<u64> {
    const START_AFTER_NAME: usize = 20;
    let stat = proc::read(&format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split(' ').nth(START_AFTER_NAME)?.parse().ok()
}

/// The number of this process's namespace of processes, `namespaces(7)`.
fn namespace() -> Option<u64> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_whose_it_is() {
        let own = Owner::this();
        assert_eq!((own.pid, Some(own.started)), (std::process::id(), start_of(own.pid)));
        assert_eq!(read(&name(7)), Some((OF_BOXES, own)));
        assert_eq!(read(&name_of_host()), Some((OF_HOSTS, own)));
        for other in ["stockade", "stockade-1", "stockade-1-2-3", "stockade-1-2-3-4-5", "x-1-2-3-4"]
        {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn only_folders_of_the_dead_of_this_namespace_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let own = name(1);
        let here = namespace().unwrap();
        let dead = format!("stockade-4194399-1-{here}-0");
        let dead_host = format!("stockade_host-4194399-1-{here}");
        let elsewhere = "stockade-4194399-1-1-0".to_owned();
        for folder in [&own, &dead, &dead_host, &elsewhere] {
            fs::create_dir(parent.path().join(folder)).unwrap();
        }
        remove_all(parent.path());
        let left = |folder: &String| parent.path().join(folder).exists();
        assert_eq!([&own, &elsewhere].map(left), [true, true]);
        assert_eq!([&dead, &dead_host].map(left), [false, false]);
    }
}
