//! Snapshots of files, to detect changes since a person declared them.

use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use sha2::{Digest, Sha256};

use crate::bounded::{self, Links};

/// Larger files are compared by metadata only.
const HASHED_BYTES_MAX: u64 = 1 << 20;
/// The most files of one folder in a snapshot.
const FILES_MAX: usize = 1000;
/// The most names that are read for one, including folders and caches.
const NAMES_MAX: usize = 10_000;
/// The folder in which Python caches compiled files.
const CACHE: &str = "__pycache__";

/// The state of files and folders at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileSnapshot {
    all: Vec<(PathBuf, PathState)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PathState {
    NoFile,
    File(FileVersion),
    /// All files in a folder, by name; empty if there is no folder.
    Folder(Vec<(PathBuf, FileVersion)>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct FileVersion {
    /// Device, inode, size, modification and change time. Only the kernel sets the change time.
    stamp: [i128; 7],
    content: Option<[u8; 32]>,
}

impl FileSnapshot {
    /// A snapshot of these files. A missing file is recorded as missing.
    pub fn of(mut files: Vec<PathBuf>) -> Self {
        files.sort();
        files.dedup();
        Self {
            all: files.into_iter().map(|file| (file.clone(), PathState::of_file(&file))).collect(),
        }
    }

    /// Adds everything in a folder, even if it does not exist yet.
    #[must_use]
    pub fn and_folder(mut self, folder: PathBuf) -> Self {
        let state = PathState::of_folder(&folder);
        self.all.push((folder, state));
        self
    }

    /// The paths in the snapshot.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.all.iter().map(|(path, _)| path.as_path())
    }

    /// The first of the selected paths that has changed.
    pub fn changed(&self, is_meant: impl Fn(&Path) -> bool) -> Option<&Path> {
        let mut meant = self.all.iter().filter(|(path, _)| is_meant(path));
        meant.find(|(path, then)| !then.is_now(path)).map(|(path, _)| path.as_path())
    }
}

impl PathState {
    fn of_file(path: &Path) -> Self {
        open(path).map_or(Self::NoFile, |(file, stamp)| Self::File(FileVersion::of(&file, stamp)))
    }

    fn of_folder(path: &Path) -> Self {
        let known = files_in(path).into_iter().filter_map(|file| {
            let (opened, stamp) = open(&file)?;
            Some((file, FileVersion::of(&opened, stamp)))
        });
        Self::Folder(known.collect())
    }

    fn is_now(&self, path: &Path) -> bool {
        let same = |file: &Path, then: &FileVersion| {
            open(file).is_some_and(|(opened, stamp)| then.is_now(&opened, stamp))
        };
        match self {
            Self::NoFile => open(path).is_none(),
            Self::File(then) => same(path, then),
            Self::Folder(then) => {
                files_in(path).iter().eq(then.iter().map(|(file, _)| file))
                    && then.iter().all(|(file, version)| same(file, version))
            }
        }
    }
}

impl FileVersion {
    /// A file with its content, unless it is too large.
    fn of(file: &std::fs::File, stamp: [i128; 7]) -> Self {
        let bytes = bounded::read_open(file, HASHED_BYTES_MAX).ok();
        Self { stamp, content: bytes.map(|bytes| Sha256::digest(&bytes).into()) }
    }

    fn is_now(&self, file: &std::fs::File, stamp: [i128; 7]) -> bool {
        stamp == self.stamp
            || (self.content.is_some() && Self::of(file, stamp).content == self.content)
    }
}

/// Opens a regular file for reading, with its metadata.
fn open(path: &Path) -> Option<(std::fs::File, [i128; 7])> {
    let (file, stat) = bounded::open(path, Links::Followed).ok()?;
    let stamp = [
        stat.st_dev.into(),
        stat.st_ino.into(),
        stat.st_size.into(),
        stat.st_mtime.into(),
        stat.st_mtime_nsec.into(),
        stat.st_ctime.into(),
        stat.st_ctime_nsec.into(),
    ];
    Some((file, stamp))
}

/// The files beneath a folder, sorted. A link counts as a file, and its target is compared.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    let mut left = NAMES_MAX;
    while let Some(folder) = folders.pop() {
        let Ok(names) = bounded::names(&folder, left) else { continue };
        left = left.saturating_sub(names.len().max(1));
        for (name, kind) in names.into_iter().filter(|(name, _)| name != CACHE) {
            let into = if kind == FileType::Directory { &mut folders } else { &mut found };
            into.push(folder.join(name));
        }
    }
    found.retain(|file| file.is_file());
    found.sort();
    found.truncate(FILES_MAX);
    found
}

#[cfg(test)]
mod tests {
    use super::FileSnapshot;

    #[test]
    fn what_changes_appears_or_goes_is_noticed_and_what_is_written_alike_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("package")).unwrap();
        std::fs::write(at("package/a.py"), "1").unwrap();
        std::fs::write(at("script"), "1").unwrap();
        let seen = || FileSnapshot::of(vec![at("script"), at("absent")]).and_folder(at("package"));
        let known = seen();
        let changed = || known.changed(|_| true).map(|path| path.strip_prefix(&folder).unwrap());
        assert_eq!(changed(), None);
        std::fs::write(at("script"), "1").unwrap();
        std::fs::create_dir(at("package/__pycache__")).unwrap();
        std::fs::write(at("package/__pycache__/a.pyc"), "1").unwrap();
        assert_eq!(changed(), None, "the same content");
        std::fs::write(at("absent"), "1").unwrap();
        assert_eq!(changed().unwrap().to_str(), Some("absent"));
        assert_eq!(known.changed(|path| !path.ends_with("absent")), None);
        std::fs::write(at("package/b.py"), "1").unwrap();
        assert_eq!(changed().unwrap().to_str(), Some("absent"));
        std::fs::remove_file(at("absent")).unwrap();
        assert_eq!(changed().unwrap().to_str(), Some("package"));
        std::fs::remove_file(at("package/b.py")).unwrap();
        assert_eq!(changed(), None);
        std::fs::write(at("script"), "2").unwrap();
        assert_eq!(changed().unwrap().to_str(), Some("script"));
        std::fs::remove_file(at("script")).unwrap();
        std::fs::create_dir(at("script")).unwrap();
        assert_eq!(changed().unwrap().to_str(), Some("script"));
    }
}
