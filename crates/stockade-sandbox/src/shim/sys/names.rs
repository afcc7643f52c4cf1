//! System calls that look up and create names, each with an open folder and one name.

use core::ffi::CStr;

use super::files::O_CLOEXEC;
use super::mounts::{O_DIRECTORY, O_NOFOLLOW, O_PATH};
use super::{Errno, Fd, Result, call, nr, plain_call};

/// A handle on what has this name, a link included.
pub(crate) fn look(folder: Fd, name: &CStr) -> Result<Fd> {
    super::open_as(folder, name, O_PATH | O_NOFOLLOW)
}

/// A handle on what this name leads to.
pub(crate) fn follow(folder: Fd, name: &CStr) -> Result<Fd> {
    super::open_as(folder, name, O_PATH)
}

/// A handle on the folder that a path leads to if there is no link on the way, `ELOOP` otherwise.
pub(crate) fn find_folder(from: Fd, path: &CStr) -> Result<Fd> {
    const RESOLVE_NO_LINKS: u64 = 0x02 | 0x04;
    // struct open_how: flags, mode, resolve.
    let how = [(O_PATH | O_DIRECTORY | O_CLOEXEC) as u64, 0, RESOLVE_NO_LINKS];
    let (path, how) = (path.as_ptr().expose_provenance(), how.as_ptr().expose_provenance());
    // SAFETY: the kernel reads the path up to its NUL and the three words of open_how.
    unsafe { call(nr::OPENAT2, [from as usize, path, how, 24, 0, 0]) }.map(|fd| fd as Fd)
}

/// Opens with flags and permissions as given, close-on-exec.
pub(crate) fn open(folder: Fd, name: &CStr, flags: usize, mode: usize) -> Result<Fd> {
    let name = name.as_ptr().expose_provenance();
    // SAFETY: the kernel reads the name up to its NUL.
    unsafe { call(nr::OPENAT, [folder as usize, name, flags | O_CLOEXEC, mode, 0, 0]) }
        .map(|fd| fd as Fd)
}

/// Makes a file that is not a folder.
pub(crate) fn make_node(folder: Fd, name: &CStr, mode: usize, device: usize) -> Result<()> {
    let name = name.as_ptr().expose_provenance();
    // SAFETY: the kernel reads the name up to its NUL.
    unsafe { call(nr::MKNODAT, [folder as usize, name, mode, device, 0, 0]) }.map(drop)
}

/// Gives a file another name; with [`FOLLOW`] that to which the old name leads.
pub(crate) fn link(from: (Fd, &CStr), to: (Fd, &CStr), flags: usize) -> Result<()> {
    let (old, new) = (from.1.as_ptr().expose_provenance(), to.1.as_ptr().expose_provenance());
    // SAFETY: the kernel reads both names up to their NUL.
    unsafe { call(nr::LINKAT, [from.0 as usize, old, to.0 as usize, new, flags, 0]) }.map(drop)
}

/// `AT_SYMLINK_FOLLOW` of `linux/fcntl.h`.
pub(crate) const FOLLOW: usize = 0x400;

/// Renames.
pub(crate) fn rename(from: (Fd, &CStr), to: (Fd, &CStr), flags: usize) -> Result<()> {
    let (old, new) = (from.1.as_ptr().expose_provenance(), to.1.as_ptr().expose_provenance());
    // SAFETY: the kernel reads both names up to their NUL.
    unsafe { call(nr::RENAMEAT2, [from.0 as usize, old, to.0 as usize, new, flags, 0]) }.map(drop)
}

/// Where the link behind a handle leads.
pub(crate) fn read_link(link: Fd, into: &mut [u8]) -> Result<usize> {
    let empty = c"".as_ptr().expose_provenance();
    let to = into.as_mut_ptr().expose_provenance();
    // SAFETY: the kernel reads the empty path and writes at most into.len() bytes.
    unsafe { call(nr::READLINKAT, [link as usize, empty, to, into.len(), 0, 0]) }
}

/// Returns whether a path leads to a symbolic link.
pub(crate) fn is_link(folder: Fd, path: &CStr) -> bool {
    let mut text = [0_u8; 1];
    let (path, to) = (path.as_ptr().expose_provenance(), text.as_mut_ptr().expose_provenance());
    // SAFETY: the kernel reads the path up to its NUL and writes at most one byte.
    unsafe { call(nr::READLINKAT, [folder as usize, path, to, 1, 0, 0]) }.is_ok()
}

/// Gives a socket an address.
pub(crate) fn bind(socket: Fd, address: &[u8]) -> Result<()> {
    let at = address.as_ptr().expose_provenance();
    // SAFETY: the kernel reads as many bytes as the address has.
    unsafe { call(nr::BIND, [socket as usize, at, address.len(), 0, 0, 0]) }.map(drop)
}

/// Lets reads and writes on a descriptor wait, whatever it was opened with.
pub(crate) fn let_wait(fd: Fd, flags: usize) -> Result<()> {
    const F_SETFL: usize = 4;
    plain_call(nr::FCNTL, [fd as usize, F_SETFL, flags, 0]).map(drop)
}

/// Opens a folder that is known by a handle, so that it can be locked.
pub(crate) fn open_folder(handle: Fd) -> Result<Fd> {
    super::open_as(handle, c".", O_DIRECTORY)
}

/// Locks an open folder for this process alone, `EAGAIN` if somebody else has it.
pub(crate) fn lock(folder: Fd) -> Result<()> {
    const LOCK_EX_NB: usize = 2 | 4;
    plain_call(nr::FLOCK, [folder as usize, LOCK_EX_NB, 0, 0]).map(drop)
}

/// Unlocks a folder.
pub(crate) fn unlock(folder: Fd) {
    const LOCK_UN: usize = 8;
    // It may not have been locked.
    let _unlocked = plain_call(nr::FLOCK, [folder as usize, LOCK_UN, 0, 0]);
}

/// The properties of a file system.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileSystem {
    /// Its kind, from `linux/magic.h`.
    pub(crate) kind: u32,
    /// True if the mount that was asked about is read-only.
    pub(crate) is_read_only: bool,
}

/// The file system of a handle.
pub(crate) fn file_system(fd: Fd) -> Result<FileSystem> {
    const ST_RDONLY: u64 = 1;
    // struct statfs of the 64-bit architectures: type, bsize, blocks, bfree, bavail, files, ffree,
    // fsid, namelen, frsize, flags, four spare.
    let mut words = [0_u64; 15];
    let at = words.as_mut_ptr().expose_provenance();
    // SAFETY: the kernel writes one struct statfs, 120 bytes.
    unsafe { call(nr::FSTATFS, [fd as usize, at, 0, 0, 0, 0]) }?;
    let [kind, _, _, _, _, _, _, _, _, _, flags, ..] = words;
    Ok(FileSystem { kind: kind as u32, is_read_only: flags & ST_RDONLY != 0 })
}

/// Returns whether the folder behind a handle takes names that differ in case for the same.
pub(crate) fn folds_case(folder: Fd) -> Result<bool> {
    const FS_IOC_GETFLAGS: usize = 0x8008_6601;
    const FS_CASEFOLD_FL: u32 = 0x4000_0000;
    let open = super::open_as(folder, c".", O_DIRECTORY)?;
    let mut flags = 0_u64;
    let at = core::ptr::from_mut(&mut flags).expose_provenance();
    // SAFETY: the kernel writes an int, or a long on some file systems; there is room for a long.
    let asked = unsafe { call(nr::IOCTL, [open as usize, FS_IOC_GETFLAGS, at, 0, 0, 0]) };
    super::close(open);
    match asked {
        Ok(_) => Ok(flags as u32 & FS_CASEFOLD_FL != 0),
        // EINVAL, ENOTTY, ENOSYS, EOPNOTSUPP: a file system without such flags.
        Err(Errno(22 | 25 | 38 | 95)) => Ok(false),
        Err(errno) => Err(errno),
    }
}
