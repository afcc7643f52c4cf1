//! The names in a folder as the system lists them, and one file of it: no link is followed.

use std::ffi::CStr;
use std::ops::ControlFlow;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, OFlags, RawDir, StatxFlags, statx};
use rustix::io::Errno;

use crate::files::open::beneath;

/// Most folders are read at once with so much.
const BUFFER_BYTES: usize = 64 << 10;

/// A name in a folder.
#[derive(Debug, Clone, Copy)]
pub(super) struct Name<'n> {
    pub(super) text: &'n CStr,
    pub(super) inode: u64,
    pub(super) is_folder: bool,
    pub(super) is_link: bool,
}

/// Memory for the names of one folder after the other.
#[derive(Debug)]
pub(super) struct Buffer(Vec<u8>);

impl Buffer {
    pub(super) fn new() -> Self {
        Self(Vec::with_capacity(BUFFER_BYTES))
    }

    /// Every name in a folder but its own and that of the one above, until there is a break.
    pub(super) fn read<B>(
        &mut self,
        folder: BorrowedFd<'_>,
        mut meet: impl FnMut(Name<'_>) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Errno> {
        let mut names = RawDir::new(folder, self.0.spare_capacity_mut());
        while let Some(name) = names.next() {
            let name = name?;
            let text = name.file_name();
            if matches!(text.to_bytes(), b"." | b"..") {
                continue;
            }
            let kind = name.file_type();
            let is_folder = kind == FileType::Directory
                || (kind == FileType::Unknown && is_folder(folder, text));
            let is_link = kind == FileType::Symlink || (kind == FileType::Unknown && !is_folder);
            let name = Name { text, inode: name.ino(), is_folder, is_link };
            if let ControlFlow::Break(why) = meet(name) {
                return Ok(ControlFlow::Break(why));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Opens a folder once more, to read its names.
pub(super) fn again(folder: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    beneath(folder, Path::new("."), OFlags::RDONLY | OFlags::DIRECTORY)
}

/// A file as the system describes it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Described {
    pub(super) inode: u64,
    pub(super) kind: FileType,
    pub(super) mode: u32,
    pub(super) size: u64,
    /// The ctime, which nobody can set.
    pub(super) changed: (i64, i64),
    /// Where the file system remembers it.
    pub(super) born: Option<(i64, i64)>,
}

impl Described {
    /// A file in a folder.
    pub(super) fn of(folder: BorrowedFd<'_>, name: &CStr) -> Result<Self, Errno> {
        Self::by(folder, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// What a handle is of.
    pub(super) fn of_handle(handle: BorrowedFd<'_>) -> Result<Self, Errno> {
        Self::by(handle, c"", AtFlags::EMPTY_PATH)
    }

    fn by(folder: BorrowedFd<'_>, name: &CStr, flags: AtFlags) -> Result<Self, Errno> {
        // The program ran on this kernel, so that what it knows of a remote file is enough.
        let flags = flags | AtFlags::STATX_DONT_SYNC;
        let mask = StatxFlags::TYPE
            | StatxFlags::INO
            | StatxFlags::MODE
            | StatxFlags::SIZE
            | StatxFlags::CTIME
            | StatxFlags::BTIME;
        let stat = statx(folder, name, flags, mask)?;
        let mode = u32::from(stat.stx_mode);
        let has_birth = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
        Ok(Self {
            inode: stat.stx_ino,
            kind: FileType::from_raw_mode(mode),
            mode,
            size: stat.stx_size,
            changed: (stat.stx_ctime.tv_sec, i64::from(stat.stx_ctime.tv_nsec)),
            born: has_birth.then(|| (stat.stx_btime.tv_sec, i64::from(stat.stx_btime.tv_nsec))),
        })
    }
}

fn is_folder(folder: BorrowedFd<'_>, name: &CStr) -> bool {
    Described::of(folder, name).is_ok_and(|described| described.kind == FileType::Directory)
}
