//! Notes about writes that are under way, so that a crash leaves nothing that is not swept.
//!
//! A file that replaces another has a name of ours for a moment. Before it gets that, the name is
//! noted in a private folder; the note is locked for as long as its writer lives and goes when the
//! name is gone. A note without a lock is about a name that may go.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::open::beneath;
use crate::call::CallId;

const NOTE: &str = "write-";
const BEFORE: &str = ".stockade-";
const AFTER: &str = ".tmp";
/// How often a sweep may take a note between its making and its locking.
const TRIES: usize = 100;
/// A note is a name and a path.
const NOTE_BYTES_MAX: u64 = 16 << 10;

/// A note that goes when it is dropped.
#[derive(Debug)]
pub(super) struct Note {
    folder: OwnedFd,
    name: OsString,
    /// The name that may be used in the meantime.
    pub(super) temporary: OsString,
    /// Held open for its lock.
    _lock: File,
}

impl Note {
    /// Notes that a file of this folder has a name of ours for a moment.
    pub(super) fn write(notes: BorrowedFd<'_>, about: &Path) -> std::io::Result<Self> {
        let folder = rustix::io::fcntl_dupfd_cloexec(notes, 3)?;
        for _ in 0..TRIES {
            let id = CallId::new();
            let name = OsString::from(format!("{NOTE}{id}"));
            let temporary = OsString::from(format!("{BEFORE}{id}{AFTER}"));
            let flags =
                OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let opened = rustix::fs::openat(&folder, &name, flags, Mode::RUSR | Mode::WUSR)?;
            let mut lock = File::from(opened);
            if !is_claimed(&lock)? {
                continue;
            }
            let text = [temporary.as_bytes(), &[0], about.as_os_str().as_bytes()].concat();
            lock.write_all(&text)?;
            return Ok(Self { folder, name, temporary, _lock: lock });
        }
        Err(std::io::Error::other("every new note was swept before it could be locked"))
    }
}

/// Locks a note that was just made; false if the sweep of another start was faster.
fn is_claimed(note: &File) -> Result<bool, Errno> {
    match rustix::fs::flock(note, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => return Ok(false),
        other => other?,
    }
    Ok(rustix::fs::fstat(note)?.st_nlink > 0)
}

impl Drop for Note {
    fn drop(&mut self) {
        // What cannot be removed now is swept later, its lock gone with us.
        rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty()).ok();
    }
}

/// Whether this is the name of a note.
pub fn is_note(name: &OsStr) -> bool {
    name.as_bytes().starts_with(NOTE.as_bytes())
}

/// Removes the file that a note is about, if its writer was killed; whether one went.
pub fn sweep(notes: BorrowedFd<'_>, name: &OsStr) -> std::io::Result<bool> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(opened) = rustix::fs::openat(notes, name, flags, Mode::empty()) else {
        return Ok(false);
    };
    if rustix::fs::flock(&opened, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(false);
    }
    // Locked until it is gone: who is just making it would take it for its own otherwise.
    let note = File::from(opened);
    let mut text = Vec::new();
    (&note).take(NOTE_BYTES_MAX).read_to_end(&mut text)?;
    // A note about a disk that is not there now is kept for a later start.
    let Ok(removed) = remove(&text) else { return Ok(false) };
    match rustix::fs::unlinkat(notes, name, AtFlags::empty()) {
        // Another start swept it after we had opened it.
        Ok(()) | Err(Errno::NOENT) => Ok(removed),
        Err(errno) => Err(errno.into()),
    }
}

/// Removes the file that a note is about, if it is there and has such a name.
fn remove(note: &[u8]) -> Result<bool, Errno> {
    let Some(at) = note.iter().position(|byte| *byte == 0) else { return Ok(false) };
    let (name, rest) = note.split_at(at);
    let is_ours = name.starts_with(BEFORE.as_bytes()) && name.ends_with(AFTER.as_bytes());
    if !is_ours || name.contains(&b'/') {
        return Ok(false);
    }
    let folder = PathBuf::from(OsString::from_vec(rest.get(1..).unwrap_or_default().to_vec()));
    let Ok(below) = folder.strip_prefix("/") else { return Ok(false) };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let slash = rustix::fs::openat(CWD, "/", flags, Mode::empty())?;
    let gone = |errno: &Errno| matches!(*errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP);
    let folder = match beneath(slash.as_fd(), below, flags) {
        Err(errno) if gone(&errno) => return Ok(false),
        other => other?,
    };
    let name = OsStr::from_bytes(name);
    match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {
            rustix::fs::unlinkat(&folder, name, AtFlags::empty())?;
            Ok(true)
        }
        Ok(_) => Ok(false),
        Err(errno) if gone(&errno) => Ok(false),
        Err(errno) => Err(errno),
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::{Note, is_note, sweep};

    #[test]
    fn a_file_whose_writer_was_killed_is_swept_and_no_other() {
        let (notes, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = std::fs::File::open(notes.path()).unwrap();
        let left = Note::write(folder.as_fd(), project.path()).unwrap();
        let (of_dead, dead) = (left.name.clone(), left.temporary.clone());
        let text = std::fs::read(notes.path().join(&of_dead)).unwrap();
        drop(left);
        // As after a kill: the note is there, and nobody holds it.
        std::fs::write(notes.path().join(&of_dead), text).unwrap();
        let alive = Note::write(folder.as_fd(), project.path()).unwrap();
        for name in [&dead, &alive.temporary, &"mine.tmp".into()] {
            std::fs::write(project.path().join(name), "x").unwrap();
        }
        let forged = [b"mine.tmp\0".as_slice(), project.path().as_os_str().as_encoded_bytes()];
        std::fs::write(notes.path().join("write-forged"), forged.concat()).unwrap();
        let notes_there = std::fs::read_dir(notes.path()).unwrap();
        let names: Vec<_> = notes_there.map(|entry| entry.unwrap().file_name()).collect();
        assert!(names.iter().all(|name| is_note(name)));
        let is_swept = |name: &&std::ffi::OsString| sweep(folder.as_fd(), name).unwrap();
        assert_eq!(names.iter().filter(is_swept).collect::<Vec<_>>(), [&of_dead]);
        let is_there = |name: &std::ffi::OsStr| project.path().join(name).exists();
        assert_eq!((is_there(&dead), is_there(&alive.temporary)), (false, true));
        assert!(is_there("mine.tmp".as_ref()));
        drop(alive);
        assert_eq!(std::fs::read_dir(notes.path()).unwrap().count(), 0);
    }

    /// Starts sweep while writers make their notes: neither may disturb the other.
    #[test]
    fn a_sweep_never_takes_a_note_that_is_being_made() {
        let (notes, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = std::fs::File::open(notes.path()).unwrap();
        let done = AtomicBool::new(false);
        let lost = std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        for entry in std::fs::read_dir(notes.path()).unwrap() {
                            sweep(folder.as_fd(), &entry.unwrap().file_name()).unwrap();
                        }
                    }
                });
            }
            let is_lost = |_: &i32| {
                let note = Note::write(folder.as_fd(), project.path()).unwrap();
                !notes.path().join(&note.name).exists()
            };
            let lost = (0..3_000).filter(is_lost).count();
            done.store(true, Ordering::Relaxed);
            lost
        });
        assert_eq!(lost, 0, "of 3,000");
    }
}
