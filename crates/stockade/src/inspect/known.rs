//! The well-known programs of this machine, gathered once.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, Stat};

use super::resolver::Identity;
use crate::inspect::Settings;

/// Multi-call programs, whose file says nothing about the program.
const MULTI_CALL: [&str; 7] =
    ["busybox", "toybox", "coreutils", "systemctl", "pgrep", "sbase-box", "uutils"];
/// Up to this many names are looked up one by one; for more, the folder is listed.
const ASKED_ONE_BY_ONE_MAX: usize = 128;
/// A folder of at most this size is listed even for a few names.
const SMALL_BYTES_MAX: i64 = 4096;
/// How much of a directory listing is read at once.
const LISTED_AT_ONCE_BYTES: usize = 16 << 10;
/// In a folder with more names, each name is looked up instead.
const LISTED_MAX: usize = 100_000;
/// The most links that are followed for their names.
const HOPS_MAX: usize = 40;

/// The well-known programs of this machine, by identity and by size.
#[derive(Debug, Default)]
pub(super) struct KnownPrograms {
    pub(super) by_identity: HashMap<Identity, Vec<String>>,
    pub(super) by_size: HashMap<u64, Vec<(PathBuf, String)>>,
}

impl KnownPrograms {
    pub(super) fn gather<'n>(settings: &Settings, names: impl Iterator<Item = &'n str>) -> Self {
        let listed = settings.deny.iter().chain(&settings.interpreters);
        let names: BTreeSet<&str> =
            names.map(|name: &str| name).chain(listed.map(String::as_str)).collect();
        let mut known = Self::default();
        each_system_file(settings, names.into_iter(), |path, name, stat| {
            if is_one_of_many(&path) {
                return;
            }
            if let Ok(size) = u64::try_from(stat.st_size) {
                known.by_size.entry(size).or_default().push((path, name.to_owned()));
            }
            known.by_identity.entry(Identity::of(stat)).or_default().push(name.to_owned());
        });
        known
    }
}

/// System files by some of their names.
#[derive(Debug)]
pub(super) struct SystemFiles(HashMap<Identity, Vec<(PathBuf, String)>>);

impl SystemFiles {
    /// The files with these names.
    pub(super) fn named<'n>(settings: &Settings, names: impl Iterator<Item = &'n String>) -> Self {
        let mut files: HashMap<Identity, Vec<(PathBuf, String)>> = HashMap::new();
        each_system_file(settings, names.map(String::as_str), |path, name, stat| {
            files.entry(Identity::of(stat)).or_default().push((path, name.to_owned()));
        });
        Self(files)
    }

    /// The names of a file, except for those of multi-call programs.
    pub(super) fn names_of(&self, file: &Identity) -> Vec<String> {
        let named = self.0.get(file).into_iter().flatten();
        named.filter(|(path, _)| !is_one_of_many(path)).map(|(_, name)| name.clone()).collect()
    }
}

/// Calls back for each name that is a file in a system folder.
fn each_system_file<'n>(
    settings: &Settings,
    names: impl Iterator<Item = &'n str>,
    mut found: impl FnMut(PathBuf, &str, &Stat),
) {
    let names: Vec<&str> = names.collect();
    let mut seen = Vec::new();
    for folder in settings.search_path.iter().filter(|folder| folder.is_absolute()) {
        // Opened once: each lookup is then a single step.
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(opened) = rustix::fs::open(folder, flags, Mode::empty()) else { continue };
        let Ok(stat) = rustix::fs::fstat(&opened) else { continue };
        if seen.contains(&Identity::of(&stat)) {
            continue;
        }
        seen.push(Identity::of(&stat));
        let is_small = stat.st_size <= SMALL_BYTES_MAX;
        let is_listed = is_small || names.len() > ASKED_ONE_BY_ONE_MAX;
        let present = if is_listed { present_in(&opened, &names) } else { None };
        for name in present.as_ref().unwrap_or(&names) {
            let Ok(stat) = rustix::fs::statat(&opened, *name, AtFlags::empty()) else { continue };
            if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                continue;
            }
            found(folder.join(name), name, &stat);
        }
    }
}

/// Whether a name is just one of many of a multi-call program.
fn is_one_of_many(path: &Path) -> bool {
    let mut target = path.to_owned();
    for _ in 0..HOPS_MAX {
        let Ok(next) = std::fs::read_link(&target) else { break };
        target = target.parent().unwrap_or(Path::new("/")).join(next);
    }
    let name = target.file_name().and_then(OsStr::to_str);
    name.is_some_and(|name| MULTI_CALL.contains(&name)) && target.file_name() != path.file_name()
}

/// Those of the names that one listing of the folder contains; `None` if it cannot be listed.
fn present_in<'n>(folder: &OwnedFd, names: &[&'n str]) -> Option<Vec<&'n str>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let listed = rustix::fs::openat(folder, ".", flags, Mode::empty()).ok()?;
    let mut room = Vec::with_capacity(LISTED_AT_ONCE_BYTES);
    let mut entries = RawDir::new(listed, room.spare_capacity_mut());
    let mut present = HashSet::new();
    while let Some(Ok(entry)) = entries.next() {
        if present.len() == LISTED_MAX {
            return None;
        }
        present.insert(entry.file_name().to_bytes().to_vec());
    }
    // A directory listing contains no paths.
    let may_be_there = |name: &&&str| name.contains('/') || present.contains(name.as_bytes());
    Some(names.iter().filter(may_be_there).copied().collect())
}

#[cfg(test)]
mod tests {
    use rustix::fs::stat;

    use super::*;

    #[test]
    fn a_denied_path_is_found_in_a_folder_that_is_listed_as_a_name_is() {
        let folder = tempfile::tempdir().unwrap();
        let tool = folder.path().join("inner/tool");
        std::fs::create_dir(folder.path().join("inner")).unwrap();
        std::fs::write(&tool, "x").unwrap();
        std::fs::hard_link(&tool, folder.path().join("alias")).unwrap();
        let file = Identity::of(&stat(&tool).unwrap());
        for denied in ["inner/tool", "alias", tool.to_str().unwrap()] {
            let settings = Settings {
                deny: [denied.to_owned()].into(),
                search_path: vec![folder.path().to_owned()],
                ..Settings::default()
            };
            let few = SystemFiles::named(&settings, settings.deny.iter());
            assert_eq!(few.names_of(&file), [denied]);
            let many: Vec<String> = (0..=ASKED_ONE_BY_ONE_MAX).map(|at| at.to_string()).collect();
            let known = KnownPrograms::gather(&settings, many.iter().map(String::as_str));
            assert_eq!(known.by_identity.get(&file), Some(&vec![denied.to_owned()]));
        }
    }
}
