//! The one way in which the host opens and reads a file that a call may have made.
//!
//! Such a file can be anything: a pipe that nobody writes to, a device, a link to either, a file that
//! is leased, or one that grows while it is read. So the kind is looked at before the file is opened,
//! opening never waits, and no more is read than the caller has room for. A test (`tests/it/tidy.rs`)
//! keeps other ways out of the code.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat};

/// A policy, settings or a schema are text for a person; a larger file is a mistake.
pub const TEXT_BYTES_MAX: u64 = 1 << 20;

/// What to do with a path whose last name is a symbolic link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Open the file that it leads to.
    Followed,
    /// Refuse: a call may have laid it.
    Refused,
}

/// Opens a regular file.
pub fn open(path: &Path, links: Links) -> Result<(File, Stat)> {
    open_at(CWD, path, links)
}

/// Opens a regular file by its path from a folder.
pub fn open_at(folder: impl AsFd, path: &Path, links: Links) -> Result<(File, Stat)> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let flags = if links == Links::Refused { flags | OFlags::NOFOLLOW } else { flags };
    open_again(rustix::fs::openat(folder, path, flags, Mode::empty())?.as_fd())
}

/// Opens the regular file that a handle (`O_PATH`) stands for.
pub fn open_again(handle: BorrowedFd<'_>) -> Result<(File, Stat)> {
    let stat = rustix::fs::statat(handle, "", AtFlags::EMPTY_PATH)?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind == FileType::Symlink {
        return Err(Error::other("it is a link, which a call may have laid"));
    }
    if kind != FileType::RegularFile {
        return Err(Error::other("it is not a regular file"));
    }
    // A lease on the file makes others wait who open it without NONBLOCK.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let link = format!("/proc/self/fd/{}", handle.as_raw_fd());
    Ok((File::from(rustix::fs::openat(CWD, link, flags, Mode::empty())?), stat))
}

/// Everything in a regular file, which is an error if that is more than so many bytes.
pub fn read(path: &Path, links: Links, bytes_max: u64) -> Result<Vec<u8>> {
    read_at(CWD, path, links, bytes_max)
}

/// The same by its path from a folder.
pub fn read_at(folder: impl AsFd, path: &Path, links: Links, bytes_max: u64) -> Result<Vec<u8>> {
    let (file, stat) = open_at(folder, path, links)?;
    if u64::try_from(stat.st_size).is_ok_and(|size| size > bytes_max) {
        return Err(too_large(bytes_max));
    }
    read_open(&file, bytes_max)
}

/// Everything in a regular file, as text.
pub fn read_text(path: &Path, links: Links, bytes_max: u64) -> Result<String> {
    text_of(read(path, links, bytes_max)?)
}

/// The rest of an open file, which is an error if that is more than so many bytes.
pub fn read_open(file: &File, bytes_max: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    let is_whole = u64::try_from(bytes.len()).is_ok_and(|read| read <= bytes_max);
    if is_whole { Ok(bytes) } else { Err(too_large(bytes_max)) }
}

/// The beginning of the regular file that a handle stands for.
pub fn read_head(handle: BorrowedFd<'_>, bytes_max: u64) -> Result<Vec<u8>> {
    let (file, _) = open_again(handle)?;
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// These bytes as text, if they are UTF-8.
pub fn text_of(bytes: Vec<u8>) -> Result<String> {
    let not_text = |_| Error::new(ErrorKind::InvalidData, "stream did not contain valid UTF-8");
    String::from_utf8(bytes).map_err(not_text)
}

/// The names in a folder and their kinds, which is an error if there are more than so many. The last
/// name of the path may not be a link.
pub fn names(folder: &Path, names_max: usize) -> Result<Vec<(OsString, FileType)>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    names_in(rustix::fs::openat(CWD, folder, flags, Mode::empty())?, names_max)
}

/// The names in an open folder and their kinds, which is an error if there are more than so many.
pub fn names_in(folder: impl AsFd, names_max: usize) -> Result<Vec<(OsString, FileType)>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        if found.len() == names_max {
            let message = format!("it holds more than {names_max} names");
            return Err(Error::new(ErrorKind::FileTooLarge, message));
        }
        let mut kind = entry.file_type();
        if kind == FileType::Unknown {
            let stat = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW);
            kind = stat.map_or(kind, |stat| FileType::from_raw_mode(stat.st_mode));
        }
        found.push((name.to_owned(), kind));
    }
    Ok(found)
}

fn too_large(bytes_max: u64) -> Error {
    const MIB: u64 = 1 << 20;
    let message = if bytes_max.is_multiple_of(MIB) {
        format!("it is larger than {} MiB", bytes_max.checked_div(MIB).unwrap_or_default())
    } else {
        format!("it is larger than {bytes_max} bytes")
    };
    Error::new(ErrorKind::FileTooLarge, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails(path: &Path, links: Links) -> String {
        read(path, links, 8).unwrap_err().to_string()
    }

    /// Each of these makes `std::fs::read` wait for ever, or read without end.
    #[test]
    fn only_a_regular_file_is_opened_and_none_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "12345678").unwrap();
        rustix::fs::mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        for (link, to) in [("to-file", "file"), ("to-pipe", "pipe"), ("to-zero", "/dev/zero")] {
            std::os::unix::fs::symlink(to, at(link)).unwrap();
        }
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        for name in ["pipe", "to-pipe", "to-zero", "socket", "."] {
            assert_eq!(
                fails(&at(name), Links::Followed),
                message!("bounded.not-regular-file"),
                "{name}"
            );
        }
        assert_eq!(read(&at("to-file"), Links::Followed, 8).unwrap(), b"12345678");
        assert!(
            fails(&at("to-file"), Links::Refused)
                .starts_with(message!("bounded.link-call-may-laid"))
        );
        assert_eq!(read(&at("absent"), Links::Refused, 8).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn no_more_is_read_than_there_is_room_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "123456789").unwrap();
        assert_eq!(fails(&path, Links::Refused), message!("bounded.larger-than-bytes", "8"));
        // As one that grows after its size was looked at.
        let file = File::open(&path).unwrap();
        assert_eq!(read_open(&file, 8).unwrap_err().kind(), ErrorKind::FileTooLarge);
        let file = File::open(&path).unwrap();
        assert_eq!(read_head(file.as_fd(), 3).unwrap(), b"123");
        std::fs::write(folder.path().join("other"), "").unwrap();
        assert_eq!(names(folder.path(), 2).unwrap().len(), 2);
        assert_eq!(
            names(folder.path(), 1).unwrap_err().to_string(),
            message!("bounded.holds-more-than-names", "1")
        );
    }
}
