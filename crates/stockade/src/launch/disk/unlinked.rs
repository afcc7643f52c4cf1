//! Files of the run that have no name any more, and take room as long as a process holds them.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::Writable;
use super::usage::Work;

/// Adds what the tree beneath a process holds to what was found.
pub(super) fn add(work: &mut Work, folders: &[Writable], first: u32) {
    let Ok(tree) = tree(first) else {
        work.found.doubt = true;
        return;
    };
    for process in tree {
        if maps_unlinked(process, folders) {
            work.found.doubt = true;
        }
        for task in numbers_in(&format!("/proc/{process}/task")).unwrap_or_default() {
            if !work.goes_on() {
                return;
            }
            descriptors(work, &format!("/proc/{process}/task/{task}"));
        }
    }
}

/// Threads can have descriptors of their own, so that each is asked.
fn descriptors(work: &mut Work, task: &str) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder: OwnedFd = match rustix::fs::openat(CWD, format!("{task}/fd"), flags, Mode::empty())
    {
        Ok(folder) => folder,
        // It has ended, or is one of ours, which holds nothing of the run.
        Err(_) => return,
    };
    let Ok(entries) = Dir::read_from(&folder) else { return };
    for entry in entries.map_while(Result::ok) {
        let name = entry.file_name();
        let Ok(stat) = rustix::fs::statat(&folder, name, AtFlags::empty()) else { continue };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile if stat.st_nlink == 0 && work.devices.contains(&stat.st_dev) => {
                let blocks = u64::try_from(stat.st_blocks).unwrap_or_default();
                work.count_unlinked((stat.st_dev, stat.st_ino), blocks);
            }
            FileType::Socket => {
                let name = name.to_string_lossy();
                work.found.doubt |= carries_descriptors(&format!("{task}/fdinfo/{name}"));
            }
            FileType::RegularFile
            | FileType::Directory
            | FileType::Symlink
            | FileType::Fifo
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => {}
        }
    }
}

/// A socket can hold files that are in no table of descriptors, and nobody can say which.
fn carries_descriptors(information: &str) -> bool {
    let text = fs::read_to_string(information).unwrap_or_default();
    let count = text.lines().find_map(|line| line.strip_prefix("scm_fds:"));
    count.is_some_and(|count| count.trim() != "0")
}

/// A map can be all that holds a file, and only root may ask for its size.
fn maps_unlinked(process: u32, folders: &[Writable]) -> bool {
    let text = fs::read(format!("/proc/{process}/maps")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let is_unlinked = |line: &str| {
        let path = line
            .strip_suffix(" (deleted)")
            .and_then(|line| line.find('/').map(|at| line.split_at(at).1));
        path.is_some_and(|path| {
            folders.iter().any(|folder| Path::new(path).starts_with(&folder.path))
        })
    };
    text.lines().any(is_unlinked)
}

/// The processes beneath one.
fn tree(first: u32) -> rustix::io::Result<HashSet<u32>> {
    let mut parents: HashMap<u32, u32> = HashMap::new();
    for process in numbers_in("/proc")? {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        // The name in brackets may hold anything, brackets too.
        let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
        if let Some(parent) = after.split_whitespace().nth(1).and_then(|word| word.parse().ok()) {
            parents.insert(process, parent);
        }
    }
    let is_of_tree = |process: &u32| {
        let mut at = *process;
        // No chain is longer than the list, unless numbers were used again meanwhile.
        for _ in 0..parents.len() {
            match parents.get(&at) {
                Some(parent) if *parent == first => return true,
                Some(0) => return false,
                Some(parent) => at = *parent,
                None => return false,
            }
        }
        true
    };
    Ok(parents.keys().copied().filter(|process| is_of_tree(process)).collect())
}

fn numbers_in(folder: &str) -> rustix::io::Result<Vec<u32>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(CWD, folder, flags, Mode::empty())?;
    let entries = Dir::read_from(&folder)?;
    let number = |entry: Result<rustix::fs::DirEntry, Errno>| {
        entry.ok()?.file_name().to_str().ok()?.parse().ok()
    };
    Ok(entries.filter_map(number).collect())
}
