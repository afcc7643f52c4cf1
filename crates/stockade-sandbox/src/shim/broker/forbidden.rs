//! The names that must not be made: each a folder that can be written, and a path beneath it.
//!
//! Nothing is remembered about the folders on the way, which may come and go. Whenever a name is
//! created that is part of such a path, the present folders on the way are looked up. So honest
//! folders can be created, and only the last name is refused, or a folder that already contains it.

use core::ffi::CStr;

use super::super::sys::{self, Errno, Fd, names};
use super::fds::{OwnedFd, kind};
use super::self_test;

const FOLDERS_MAX: usize = 64;
const ENTRIES_MAX: usize = 512;
/// Stands for a folder in which nothing can be created.
const NOWHERE: usize = usize::MAX;

/// All names that must not be made.
pub(super) struct ForbiddenPaths {
    /// Folders that can be written, each once, and open so that they can be locked.
    folders: [Option<OwnedFd>; FOLDERS_MAX],
    entries: [Option<ForbiddenPath>; ENTRIES_MAX],
    /// The path of the folder that was opened last, with a slash behind it.
    above: &'static [u8],
}

/// A path that must not come to be beneath a folder.
#[derive(Clone, Copy)]
struct ForbiddenPath {
    /// Which of the folders.
    folder: usize,
    path: &'static [u8],
}

/// The thing that is about to get a name.
pub(super) enum NamedThing<'a> {
    /// A new and empty folder.
    NewFolder,
    /// A folder with what is in it.
    Folder(&'a OwnedFd),
    /// Something that is no folder.
    Other,
}

impl<'a> NamedThing<'a> {
    /// Classifies what a handle names.
    pub(super) fn of(handle: &'a OwnedFd) -> sys::Result<Self> {
        Ok(if handle.stat()?.is_folder { Self::Folder(handle) } else { Self::Other })
    }
}

impl ForbiddenPaths {
    pub(super) const fn new() -> Self {
        Self { folders: [const { None }; FOLDERS_MAX], entries: [None; ENTRIES_MAX], above: &[] }
    }

    /// Forbids the name with which a sandbox tests itself.
    pub(super) fn forbid_canary(&mut self) -> sys::Result<()> {
        let root = OwnedFd::new(sys::mounts::handle(c"/")?);
        self.add(root, self_test::NAME)
    }

    /// Forbids an absolute path, which must not be there. Read-only folders get no names anyway.
    pub(super) fn forbid(&mut self, path: &'static CStr) -> sys::Result<()> {
        let mut folder = OwnedFd::new(sys::mounts::handle(c"/")?);
        let mut path = trimmed_start(path.to_bytes());
        while names::file_system(folder.number())?.is_read_only {
            match next_beneath(&folder, path)? {
                Some((inner, rest)) => (folder, path) = (inner, rest),
                None => return Ok(()),
            }
        }
        is_free_of(&folder, path)?;
        self.add(OwnedFd::new(names::open_folder(folder.number())?), path)
    }

    /// Adds an absolute path whose creation is refused, there or not. Entries keep the order in which
    /// they are added; a path in a read-only folder is an entry without a folder.
    pub(super) fn refuse(&mut self, path: &'static CStr) -> sys::Result<()> {
        let path = path.to_bytes();
        if let Some((number, rest)) = self.known_above(path) {
            return self.push(ForbiddenPath { folder: number, path: rest });
        }
        let mut folder = OwnedFd::new(sys::mounts::handle(c"/")?);
        let mut rest = trimmed_start(path);
        while names::file_system(folder.number())?.is_read_only {
            match next_beneath(&folder, rest) {
                Ok(Some((inner, below))) => (folder, rest) = (inner, below),
                Ok(None) | Err(_) => {
                    return self.push(ForbiddenPath { folder: NOWHERE, path: rest });
                }
            }
        }
        self.above = path.get(..path.len().wrapping_sub(rest.len())).unwrap_or(&[]);
        let number = self.folders.iter().flatten().count();
        *self.folders.get_mut(number).ok_or(Errno::NOSPC)? = Some(folder);
        self.push(ForbiddenPath { folder: number, path: rest })
    }

    /// The folder that was found last, if this path is in it too: most are.
    fn known_above(&self, path: &'static [u8]) -> Option<(usize, &'static [u8])> {
        let rest = path.strip_prefix(self.above).filter(|_| !self.above.is_empty())?;
        let number = self.folders.iter().flatten().count().checked_sub(1)?;
        Some((number, rest))
    }

    fn push(&mut self, entry: ForbiddenPath) -> sys::Result<()> {
        let place = self.entries.iter_mut().find(|place| place.is_none()).ok_or(Errno::NOSPC)?;
        *place = Some(entry);
        Ok(())
    }

    /// How many paths there are.
    pub(super) fn len(&self) -> usize {
        self.entries.iter().flatten().count()
    }

    /// Which of the paths would come to be if something got this name in this folder.
    pub(super) fn refused(
        &self,
        folder: &OwnedFd,
        name: &[u8],
        thing: &NamedThing<'_>,
    ) -> sys::Result<Option<usize>> {
        let asked = NewName { identity: folder.stat()?.identity, name, is_unclear: false, thing };
        let is_refused = |entry: &ForbiddenPath| {
            let folder = self.folders.get(entry.folder).and_then(Option::as_ref);
            entry.is_about(name) && folder.is_some_and(|folder| entry.is_made_by(folder, &asked))
        };
        Ok(self.entries.iter().flatten().position(is_refused))
    }

    /// Returns whether a path is there now, or a symbolic link on the way to it, or that cannot be seen.
    pub(super) fn is_there(&self, number: usize) -> bool {
        let Some(entry) = self.entries.get(number).copied().flatten() else { return false };
        let folder = self.folders.get(entry.folder).and_then(Option::as_ref);
        folder.is_some_and(|folder| is_free_of(folder, entry.path).is_err())
    }

    fn add(&mut self, folder: OwnedFd, path: &'static [u8]) -> sys::Result<()> {
        let identity = folder.stat()?.identity;
        let is_it = |known: &OwnedFd| known.stat().is_ok_and(|stat| stat.identity == identity);
        let known = self.folders.iter().flatten().position(is_it);
        let number = known.unwrap_or(self.folders.iter().flatten().count());
        let place = self.folders.get_mut(number).ok_or(Errno::NOSPC)?;
        place.get_or_insert(folder);
        self.push(ForbiddenPath { folder: number, path })
    }

    /// Returns whether there is a path of which this name is part, or could be.
    pub(super) fn is_about(&self, name: &[u8]) -> bool {
        !name.is_ascii() || self.entries.iter().flatten().any(|entry| entry.is_about(name))
    }

    /// Fails if nothing may get this name in this folder. The answer holds as long as the locks.
    pub(super) fn may_get(
        &self,
        folder: &OwnedFd,
        name: &[u8],
        thing: &NamedThing<'_>,
    ) -> sys::Result<FolderLocks<'_>> {
        if !self.is_about(name) {
            return Ok(FolderLocks(&[]));
        }
        let hold = FolderLocks::on(&self.folders)?;
        let is_unclear = !name.is_ascii() && may_fold(folder.number());
        let asked = NewName { identity: folder.stat()?.identity, name, is_unclear, thing };
        let entries = self.entries.iter().flatten();
        for entry in entries.filter(|entry| is_unclear || entry.is_about(name)) {
            let folder = self.folders.get(entry.folder).and_then(Option::as_ref);
            entry.judge(folder.ok_or(Errno::ACCES)?, &asked)?;
        }
        Ok(hold)
    }
}

/// Keeps the brokers of other sandboxes over the same folders from moving a folder into a path
/// while this one makes a name in it. The program can hold it too, and then makes no such name.
pub(super) struct FolderLocks<'a>(&'a [Option<OwnedFd>]);

impl<'a> FolderLocks<'a> {
    fn on(folders: &'a [Option<OwnedFd>]) -> sys::Result<Self> {
        const PATIENCE: u32 = 100;
        const PAUSE_NS: u64 = 1_000_000;
        for _ in 0..PATIENCE {
            let hold = Self(folders);
            // The root of the sandbox is only an O_PATH handle, which cannot be locked, and no
            // other sandbox has it.
            let is_held =
                |folder: &OwnedFd| !matches!(names::lock(folder.number()), Err(Errno::AGAIN));
            if folders.iter().flatten().all(is_held) {
                return Ok(hold);
            }
            drop(hold);
            sys::poll(&mut [], Some(PAUSE_NS))?;
        }
        Err(Errno::BUSY)
    }
}

impl Drop for FolderLocks<'_> {
    fn drop(&mut self) {
        for folder in self.0.iter().flatten() {
            names::unlock(folder.number());
        }
    }
}

/// A name that something is about to get.
struct NewName<'a> {
    identity: ((u32, u32), u64),
    name: &'a [u8],
    /// It may be the same as others in that folder.
    is_unclear: bool,
    thing: &'a NamedThing<'a>,
}

impl ForbiddenPath {
    fn is_about(&self, name: &[u8]) -> bool {
        self.path.split(|byte| *byte == b'/').any(|part| is_same(part, name))
    }

    /// Returns whether this path, or one on the way to it that would lead elsewhere, comes to be by it.
    fn is_made_by(&self, start: &OwnedFd, asked: &NewName<'_>) -> bool {
        let mut inner: Option<OwnedFd> = None;
        let mut path = self.path;
        loop {
            let folder = inner.as_ref().unwrap_or(start);
            let (part, rest) = first(path);
            let is_here = folder.stat().is_ok_and(|stat| stat.identity == asked.identity);
            if is_here && is_same(part, asked.name) {
                return match (rest, asked.thing) {
                    (None, _) | (Some(_), NamedThing::Other) => true,
                    (Some(rest), NamedThing::Folder(moved)) => is_free_of(moved, rest).is_err(),
                    (Some(_), NamedThing::NewFolder) => false,
                };
            }
            match next_beneath(folder, path) {
                Ok(Some((next, rest))) => (inner, path) = (Some(next), rest),
                Ok(None) | Err(_) => return false,
            }
        }
    }

    /// Looks at each folder on the way that is there now.
    fn judge(&self, start: &OwnedFd, asked: &NewName<'_>) -> sys::Result<()> {
        let mut inner: Option<OwnedFd> = None;
        let mut path = self.path;
        loop {
            let folder = inner.as_ref().unwrap_or(start);
            let (part, rest) = first(path);
            if folder.stat()?.identity == asked.identity {
                let is_it = is_same(part, asked.name);
                match (rest, asked.thing) {
                    _ if asked.is_unclear => return Err(Errno::ACCES),
                    _ if !is_it => {}
                    // In the place of a folder, a link could lead to one in which the rest of the path
                    // is, and so could a file, as `.git` does.
                    (None, _) | (Some(_), NamedThing::Other) => return Err(Errno::ACCES),
                    (Some(rest), NamedThing::Folder(moved)) => {
                        is_free_of(moved, rest).map_err(|_seen| Errno::ACCES)?;
                    }
                    (Some(_), NamedThing::NewFolder) => {}
                }
            }
            // The last name is not looked for: whatever it is, it is not a folder on the way.
            if rest.is_none() {
                return Ok(());
            }
            match next_beneath(folder, path).map_err(|_unclear| Errno::ACCES)? {
                Some((next, rest)) => (inner, path) = (Some(next), rest),
                None => return Ok(()),
            }
        }
    }
}

fn trimmed_start(mut path: &'static [u8]) -> &'static [u8] {
    while let Some(after) = path.strip_prefix(b"/") {
        path = after;
    }
    path
}

/// A path's first name and the rest, if there is one.
fn first(path: &'static [u8]) -> (&'static [u8], Option<&'static [u8]>) {
    let name = path.split(|byte| *byte == b'/').next().unwrap_or(path);
    let mut rest = path.get(name.len()..).unwrap_or(&[]);
    while let Some(after) = rest.strip_prefix(b"/") {
        rest = after;
    }
    (name, Some(rest).filter(|rest| !rest.is_empty()))
}

/// Upper and lower case are the same on some file systems, dots and spaces at the end are nothing.
pub(super) fn is_same(one: &[u8], other: &[u8]) -> bool {
    trimmed(one).eq_ignore_ascii_case(trimmed(other))
}

fn trimmed(name: &[u8]) -> &[u8] {
    let end = name.iter().rposition(|byte| !matches!(byte, b'.' | b' '));
    end.and_then(|end| name.get(..=end)).unwrap_or(name)
}

/// Fails if a path is there beneath a folder, or a link on the way to it, or it cannot be seen.
fn is_free_of(folder: &OwnedFd, path: &'static [u8]) -> sys::Result<()> {
    let mut next = next_beneath(folder, path)?;
    while let Some((inner, rest)) = next {
        next = next_beneath(&inner, rest)?;
    }
    Ok(())
}

/// The folder that has the first name of a path, with the rest; none if the path ends before it.
/// Fails if the whole path is there, or a link is on the way.
fn next_beneath(
    folder: &OwnedFd,
    path: &'static [u8],
) -> sys::Result<Option<(OwnedFd, &'static [u8])>> {
    let (name, rest) = first(path);
    let mut text = [0; 256];
    if name.is_empty() || name.len() >= text.len() || matches!(name, b"." | b"..") {
        return Err(Errno::INVAL);
    }
    for (place, byte) in text.iter_mut().zip(name) {
        *place = *byte;
    }
    let text = CStr::from_bytes_until_nul(&text).map_err(|_no_nul| Errno::INVAL)?;
    let found = match names::look(folder.number(), text) {
        Err(Errno::NOENT) => return Ok(None),
        found => OwnedFd::new(found?),
    };
    let Some(rest) = rest else { return Err(Errno::EXIST) };
    match found.stat()? {
        stat if stat.is_folder => Ok(Some((found, rest))),
        stat if stat.kind == kind::LINK => Err(Errno::LOOP),
        _ => Ok(None),
    }
}

/// Returns whether names that are not ASCII might be the same as others in a folder: where it says so,
/// where its file system is known for it or leaves it to somebody else, and where it cannot be seen.
fn may_fold(folder: Fd) -> bool {
    // From linux/magic.h and the file systems: FAT, exFAT, NTFS (two), SMB (three), HFS+, HFS, JFS,
    // ZFS, 9P, FUSE.
    const FOLDING: [u32; 13] = [
        0x4d44,
        0x2011_bab0,
        0x5346_544e,
        0x7366_746e,
        0x517b,
        0xff53_4d42,
        0xfe53_4d42,
        0x482b,
        0x4244,
        0x3153_464a,
        0x2fc1_2fc1,
        0x0102_1997,
        0x6573_5546,
    ];
    names::file_system(folder).map_or(true, |system| FOLDING.contains(&system.kind))
        || names::folds_case(folder).unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_whatever_their_case_and_the_dots_behind() {
        for name in [".mcp.json", ".MCP.Json", ".mcp.json.", ".mcp.json . "] {
            assert!(is_same(b".mcp.json", name.as_bytes()), "{name}");
        }
        for name in ["mcp.json", ".mcp.jso", ".mcp.jsonl", "..mcp.json", ""] {
            assert!(!is_same(b".mcp.json", name.as_bytes()), "{name}");
        }
        assert!(is_same(b"...", b"...") && !is_same(b"a", b"..."));
    }

    #[test]
    fn a_path_is_taken_apart_name_by_name() {
        assert_eq!(first(b"a/b/c"), (&b"a"[..], Some(&b"b/c"[..])));
        assert_eq!(first(b"a//b"), (&b"a"[..], Some(&b"b"[..])));
        assert_eq!(first(b"a/"), (&b"a"[..], None));
        assert_eq!(first(b"a"), (&b"a"[..], None));
    }
}
