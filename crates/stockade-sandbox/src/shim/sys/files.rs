//! System calls for descriptors, files and memory.

use core::ffi::CStr;
use core::ptr;

use super::{Errno, Fd, Result, call, nr, plain_call};

/// `CLOSE_RANGE_CLOEXEC` of `linux/close_range.h`: mark instead of closing.
pub(crate) const CLOSE_RANGE_CLOEXEC: usize = 4;

/// Closes, or marks close-on-exec, every descriptor from `first` on.
pub(crate) fn close_from(first: Fd, flags: usize) -> Result<()> {
    plain_call(nr::CLOSE_RANGE, [first as usize, u32::MAX as usize, flags, 0]).map(drop)
}

/// Closes a descriptor.
pub(crate) fn close(fd: Fd) {
    // Linux frees the number whatever close(2) returns.
    let _freed = plain_call(nr::CLOSE, [fd as usize, 0, 0, 0]);
}

/// Sets the mask of permissions that new files do not get, and gives the one before.
pub(crate) fn umask(mask: usize) -> usize {
    plain_call(nr::UMASK, [mask, 0, 0, 0]).unwrap_or(0)
}

/// Makes the directory the working directory.
pub(crate) fn fchdir(dir: Fd) -> Result<()> {
    plain_call(nr::FCHDIR, [dir as usize, 0, 0, 0]).map(drop)
}

/// Makes `to` a copy of `from` that survives execution.
pub(crate) fn dup3(from: Fd, to: Fd) -> Result<()> {
    plain_call(nr::DUP3, [from as usize, to as usize, 0, 0]).map(drop)
}

/// Moves a descriptor to another number, of which it takes the place.
pub(crate) fn move_to(from: Fd, to: Fd) -> Result<()> {
    if from != to {
        dup3(from, to)?;
        close(from);
    }
    Ok(())
}

/// Reads into a buffer.
pub(crate) fn read(fd: Fd, into: &mut [u8]) -> Result<usize> {
    let to = into.as_mut_ptr().expose_provenance();
    // SAFETY: the kernel writes at most into.len() bytes to the buffer.
    unsafe { call(nr::READ, [fd as usize, to, into.len(), 0, 0, 0]) }
}

/// Reads into a buffer from a position.
pub(crate) fn pread(fd: Fd, into: &mut [u8], position: usize) -> Result<usize> {
    let to = into.as_mut_ptr().expose_provenance();
    // SAFETY: the kernel writes at most into.len() bytes to the buffer.
    unsafe { call(nr::PREAD64, [fd as usize, to, into.len(), position, 0, 0]) }
}

/// Writes a buffer.
pub(crate) fn write(fd: Fd, from: &[u8]) -> Result<usize> {
    // SAFETY: the kernel reads at most from.len() bytes of the buffer.
    unsafe {
        call(nr::WRITE, [fd as usize, from.as_ptr().expose_provenance(), from.len(), 0, 0, 0])
    }
}

/// Reads directory entries.
pub(crate) fn getdents(dir: Fd, into: &mut [u8]) -> Result<usize> {
    let to = into.as_mut_ptr().expose_provenance();
    // SAFETY: the kernel writes at most into.len() bytes to the buffer.
    unsafe { call(nr::GETDENTS64, [dir as usize, to, into.len(), 0, 0, 0]) }
}

/// The working directory, as a descriptor argument.
pub(crate) const AT_FDCWD: Fd = -100;

pub(super) const O_CLOEXEC: usize = 0o2_000_000;

/// Opens a file for reading, close-on-exec.
pub(crate) fn open(dir: Fd, path: &CStr) -> Result<Fd> {
    open_as(dir, path, 0)
}

/// Opens a file for writing, close-on-exec.
pub(crate) fn open_for_writing(dir: Fd, path: &CStr) -> Result<Fd> {
    const O_WRONLY: usize = 1;
    open_as(dir, path, O_WRONLY)
}

/// Opens a file with these flags, close-on-exec; none is made.
pub(crate) fn open_as(dir: Fd, path: &CStr, flags: usize) -> Result<Fd> {
    let name = path.as_ptr().expose_provenance();
    // SAFETY: the kernel reads the path up to its NUL.
    unsafe { call(nr::OPENAT, [dir as usize, name, O_CLOEXEC | flags, 0, 0, 0]) }.map(|fd| fd as Fd)
}

/// A close-on-exec pipe: the end to read, the end to write.
pub(crate) fn pipe() -> Result<[Fd; 2]> {
    let mut ends = [0; 2];
    // SAFETY: the kernel writes two ints.
    unsafe { call(nr::PIPE2, [ends.as_mut_ptr().expose_provenance(), O_CLOEXEC, 0, 0, 0, 0]) }?;
    Ok(ends)
}

const MAP_PRIVATE: usize = 0x2;
const MAP_ANONYMOUS_NORESERVE: usize = 0x4020;

/// Maps `len` bytes, page-aligned, readable and writable, private to this process: of a file, or zeroes.
pub(crate) fn map(file: Option<Fd>, len: usize) -> Result<*mut u64> {
    match file {
        Some(fd) => map_as(MAP_PRIVATE, fd, len),
        None => map_as(MAP_PRIVATE | MAP_ANONYMOUS_NORESERVE, -1, len),
    }
}

/// Maps a file that has at least this length: what is beyond its end cannot be read.
pub(crate) fn map_whole(file: Fd, len: usize) -> Result<*mut u64> {
    if stat(file, c"".as_ptr().cast())?.size < len as u64 {
        return Err(Errno::BADMSG);
    }
    map(Some(file), len)
}

/// Maps a file so that what is written there is seen by others who have it.
pub(crate) fn map_shared(fd: Fd, len: usize) -> Result<*mut u64> {
    const MAP_SHARED: usize = 1;
    map_as(MAP_SHARED, fd, len)
}

/// Unmaps what was mapped. Nothing may use it any more.
pub(crate) fn unmap(data: &'static [u8]) {
    let at = data.as_ptr().expose_provenance();
    // SAFETY: the caller gives up the only reference to a whole mapping.
    let _unmapped = unsafe { call(nr::MUNMAP, [at, data.len(), 0, 0, 0, 0]) };
}

fn map_as(flags: usize, fd: Fd, len: usize) -> Result<*mut u64> {
    const PROT_READ_WRITE: usize = 3;
    // SAFETY: without MAP_FIXED the kernel chooses an address where nothing is mapped.
    unsafe { call(nr::MMAP, [0, len, PROT_READ_WRITE, flags, fd as usize, 0]) }
        .map(ptr::with_exposed_provenance_mut)
}

/// The metadata of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    /// Its device and inode: two files are the same if these are.
    pub(crate) identity: ((u32, u32), u64),
    /// How many names it has.
    pub(crate) names: u32,
    /// True if it is a folder.
    pub(crate) is_folder: bool,
    /// The kind of file, one of `S_IFMT` of `linux/stat.h`.
    pub(crate) kind: u16,
    /// The permissions.
    pub(crate) mode: u16,
    /// How many bytes it holds.
    pub(crate) size: u64,
    /// When it was last written: seconds and nanoseconds.
    pub(crate) written: [i64; 2],
}

pub(super) const AT_EMPTY_PATH: usize = 0x1000;

/// The metadata of the file at a path, or of the descriptor if the path is empty.
pub(crate) fn stat(dir: Fd, path: *const u8) -> Result<Stat> {
    // Type, mode, number of links, mtime, inode, size.
    const STATX_FIELDS: usize = 0x347;
    const S_IFMT: u16 = 0o170_000;
    const S_IFDIR: u16 = 0o040_000;
    #[repr(C)]
    struct Statx {
        head: [u32; 4],
        names: u32,
        owners: [u32; 2],
        mode: [u16; 2],
        inode: u64,
        size: u64,
        middle: [u64; 8],
        written: (i64, u32),
        special: (u32, u32),
        device: (u32, u32),
        tail: [u64; 14],
    }
    const _: () = assert!(size_of::<Statx>() == 256);
    const _: () = assert!(core::mem::offset_of!(Statx, written) == 112);
    const _: () = assert!(core::mem::offset_of!(Statx, device) == 136);
    // SAFETY: integers only, for which zero is a value.
    let mut stat: Statx = unsafe { core::mem::zeroed() };
    let out = ptr::from_mut(&mut stat).expose_provenance();
    let path = path.expose_provenance();
    // SAFETY: the callers' paths are strings with a NUL, and the kernel writes one struct statx.
    unsafe { call(nr::STATX, [dir as usize, path, AT_EMPTY_PATH, STATX_FIELDS, out, 0]) }?;
    Ok(Stat {
        identity: (stat.device, stat.inode),
        names: stat.names,
        is_folder: stat.mode[0] & S_IFMT == S_IFDIR,
        kind: stat.mode[0] & S_IFMT,
        mode: stat.mode[0] & !S_IFMT,
        size: stat.size,
        written: [stat.written.0, i64::from(stat.written.1)],
    })
}
