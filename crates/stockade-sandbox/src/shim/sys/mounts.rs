//! System calls for mounts, and for making names where they are mounted.

use core::ffi::CStr;

use super::files::{AT_EMPTY_PATH, O_CLOEXEC};
use super::{Fd, Result, call, nr};

/// Attributes of a mount, from `linux/mount.h`.
pub(crate) mod attr {
    /// Nothing can be written.
    pub(crate) const RDONLY: u64 = 1;
    /// Set-user-ID bits do not count.
    pub(crate) const NOSUID: u64 = 2;
    /// Device files cannot be opened.
    pub(crate) const NODEV: u64 = 4;
    /// Nothing can be executed.
    pub(crate) const NOEXEC: u64 = 8;
}

/// Flags of mount(2), from `linux/mount.h`.
pub(crate) mod ms {
    /// Set-user-ID bits do not count.
    pub(crate) const NOSUID: usize = 2;
    /// Device files cannot be opened.
    pub(crate) const NODEV: usize = 4;
    /// Nothing can be executed.
    pub(crate) const NOEXEC: usize = 8;
}

const AT_RECURSIVE: usize = 0x8000;
/// `O_PATH` of `asm/fcntl.h`.
pub(crate) const O_PATH: usize = 0o10_000_000;
/// `O_NOFOLLOW` of `asm/fcntl.h`.
#[cfg(target_arch = "x86_64")]
pub(crate) const O_NOFOLLOW: usize = 0o400_000;
/// `O_NOFOLLOW` of `asm/fcntl.h`.
#[cfg(target_arch = "aarch64")]
pub(crate) const O_NOFOLLOW: usize = 0o100_000;
const O_DIRECTORY_PATH: usize = O_PATH | O_DIRECTORY;
/// `O_DIRECTORY` of `asm/fcntl.h`.
#[cfg(target_arch = "x86_64")]
pub(crate) const O_DIRECTORY: usize = 0o200_000;
/// `O_DIRECTORY` of `asm/fcntl.h`.
#[cfg(target_arch = "aarch64")]
pub(crate) const O_DIRECTORY: usize = 0o40_000;

/// The depth of a cloned mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// This mount alone.
    One,
    /// All beneath it too.
    All,
}

impl Depth {
    const fn flag(self) -> usize {
        match self {
            Self::One => 0,
            Self::All => AT_RECURSIVE,
        }
    }
}

/// A copy of the mount at a descriptor, attached nowhere yet.
pub(crate) fn clone_mount(source: Fd, depth: Depth) -> Result<Fd> {
    const OPEN_TREE_CLONE: usize = 1;
    let flags = OPEN_TREE_CLONE | O_CLOEXEC | AT_EMPTY_PATH | depth.flag();
    let empty = c"".as_ptr().expose_provenance();
    // SAFETY: the kernel reads the path up to its NUL.
    unsafe { call(nr::OPEN_TREE, [source as usize, empty, flags, 0, 0, 0]) }.map(|fd| fd as Fd)
}

/// Sets attributes of a mount, and makes it private: nothing that the host mounts later appears.
pub(crate) fn set_attributes(mount: Fd, set: u64, depth: Depth) -> Result<()> {
    const MS_PRIVATE: u64 = 1 << 18;
    change(mount, [set, 0, MS_PRIVATE, 0], AT_EMPTY_PATH | depth.flag())
}

/// Sets what `struct mount_attr` has: `attr_set`, `attr_clr`, propagation, `userns_fd`.
fn change(mount: Fd, attributes: [u64; 4], flags: usize) -> Result<()> {
    let at = attributes.as_ptr().expose_provenance();
    let empty = c"".as_ptr().expose_provenance();
    // SAFETY: the kernel reads the path up to its NUL and the four words of mount_attr.
    unsafe { call(nr::MOUNT_SETATTR, [mount as usize, empty, flags, at, 32, 0]) }.map(drop)
}

/// Shows the files of a mount that is attached nowhere as the maps of a user namespace say.
pub(crate) fn map_owners(mount: Fd, namespace: Fd) -> Result<()> {
    const MOUNT_ATTR_IDMAP: u64 = 0x0010_0000;
    let attributes = [MOUNT_ATTR_IDMAP, 0, 0, namespace as u64];
    change(mount, attributes, AT_EMPTY_PATH | AT_RECURSIVE)
}

/// Attaches a mount on the file or folder behind a descriptor.
pub(crate) fn attach(mount: Fd, target: Fd) -> Result<()> {
    const F_EMPTY_PATH: usize = 0x04;
    const T_EMPTY_PATH: usize = 0x40;
    let empty = c"".as_ptr().expose_provenance();
    let flags = F_EMPTY_PATH | T_EMPTY_PATH;
    // SAFETY: the kernel reads both paths up to their NUL.
    unsafe { call(nr::MOVE_MOUNT, [mount as usize, empty, target as usize, empty, flags, 0]) }
        .map(drop)
}

/// Mounts a new file system of this kind on the working directory.
pub(crate) fn mount_here(kind: &CStr, flags: usize, options: &CStr) -> Result<()> {
    let (kind, options) = (kind.as_ptr().expose_provenance(), options.as_ptr().expose_provenance());
    let here = c".".as_ptr().expose_provenance();
    // SAFETY: the kernel reads four strings up to their NUL.
    unsafe { call(nr::MOUNT, [kind, here, kind, flags, options, 0]) }.map(drop)
}

/// The processes of this process's namespace, mounted nowhere.
pub(crate) fn own_processes() -> Result<Fd> {
    const FSOPEN_CLOEXEC: usize = 1;
    const FSCONFIG_CMD_CREATE: usize = 6;
    const FSMOUNT_CLOEXEC: usize = 1;
    let kind = c"proc".as_ptr().expose_provenance();
    // SAFETY: the kernel reads the name up to its NUL.
    let context = unsafe { call(nr::FSOPEN, [kind, FSOPEN_CLOEXEC, 0, 0, 0, 0]) }?;
    // SAFETY: this command takes neither key nor value.
    let made = unsafe { call(nr::FSCONFIG, [context, FSCONFIG_CMD_CREATE, 0, 0, 0, 0]) };
    let attributes = (attr::NOSUID | attr::NODEV | attr::NOEXEC) as usize;
    let flags = [context, FSMOUNT_CLOEXEC, attributes, 0, 0, 0];
    // SAFETY: integers only.
    let mounted = made.and_then(|_| unsafe { call(nr::FSMOUNT, flags) });
    super::close(context as Fd);
    mounted.map(|fd| fd as Fd)
}

/// Makes the working directory the root, with the old root mounted over it.
pub(crate) fn pivot_root_here() -> Result<()> {
    let here = c".".as_ptr().expose_provenance();
    // SAFETY: the kernel reads both paths up to their NUL.
    unsafe { call(nr::PIVOT_ROOT, [here, here, 0, 0, 0, 0]) }.map(drop)
}

/// Takes away what is mounted over the working directory, with all beneath it.
pub(crate) fn detach_here() -> Result<()> {
    const MNT_DETACH: usize = 2;
    let here = c".".as_ptr().expose_provenance();
    // SAFETY: the kernel reads the path up to its NUL.
    unsafe { call(nr::UMOUNT2, [here, MNT_DETACH, 0, 0, 0, 0]) }.map(drop)
}

/// The path of the working directory.
pub(crate) fn getcwd(room: &mut [u8]) -> Result<&[u8]> {
    let at = room.as_mut_ptr().expose_provenance();
    // SAFETY: the kernel writes at most room.len() bytes.
    let len = unsafe { call(nr::GETCWD, [at, room.len(), 0, 0, 0, 0]) }?;
    // Its length counts the NUL.
    Ok(room.get(..len.saturating_sub(1)).unwrap_or(&[]))
}

/// Changes the working directory.
pub(crate) fn chdir(path: &CStr) -> Result<()> {
    // SAFETY: the kernel reads the path up to its NUL.
    unsafe { call(nr::CHDIR, [path.as_ptr().expose_provenance(), 0, 0, 0, 0, 0]) }.map(drop)
}

const RESOLVE_NO_LINKS: u64 = 0x02 | 0x04;
const RESOLVE_IN_ROOT: u64 = 0x10;

/// A handle on what a path names beneath a folder. No link is followed, and nothing leads out.
pub(crate) fn find(root: Fd, path: &CStr) -> Result<Fd> {
    find_as(root, path, RESOLVE_NO_LINKS | RESOLVE_IN_ROOT)
}

/// A handle on what an absolute path names. No link is followed.
pub(crate) fn find_by_path(path: &CStr) -> Result<Fd> {
    find_as(super::AT_FDCWD, path, RESOLVE_NO_LINKS)
}

/// The same, and a link at its end is refused as one on the way is: `Errno::LOOP`.
pub(crate) fn find_without_links(path: &CStr) -> Result<Fd> {
    open_how(super::AT_FDCWD, path, O_PATH | O_CLOEXEC, RESOLVE_NO_LINKS)
}

fn find_as(root: Fd, path: &CStr, resolve: u64) -> Result<Fd> {
    open_how(root, path, O_PATH | O_CLOEXEC | O_NOFOLLOW, resolve)
}

fn open_how(root: Fd, path: &CStr, flags: usize, resolve: u64) -> Result<Fd> {
    // struct open_how: flags, mode, resolve.
    let how = [flags as u64, 0, resolve];
    let (path, how) = (path.as_ptr().expose_provenance(), how.as_ptr().expose_provenance());
    // SAFETY: the kernel reads the path up to its NUL and the three words of open_how.
    unsafe { call(nr::OPENAT2, [root as usize, path, how, 24, 0, 0]) }.map(|fd| fd as Fd)
}

/// A handle on what a path names for this process, links followed.
pub(crate) fn handle(path: &CStr) -> Result<Fd> {
    super::open_as(super::AT_FDCWD, path, O_PATH)
}

/// Sets the permissions of a folder; what is none is an error.
pub(crate) fn set_mode(folder: Fd, mode: u32) -> Result<()> {
    let name = c".".as_ptr().expose_provenance();
    // SAFETY: the kernel reads the name up to its NUL.
    unsafe { call(nr::FCHMODAT, [folder as usize, name, mode as usize, 0, 0, 0]) }.map(drop)
}

/// A handle on the working directory.
pub(crate) fn here() -> Result<Fd> {
    super::open_as(super::AT_FDCWD, c".", O_DIRECTORY_PATH)
}

/// Makes a folder.
pub(crate) fn make_folder(dir: Fd, name: &CStr, mode: u32) -> Result<()> {
    let name = name.as_ptr().expose_provenance();
    // SAFETY: the kernel reads the name up to its NUL.
    unsafe { call(nr::MKDIRAT, [dir as usize, name, mode as usize, 0, 0, 0]) }.map(drop)
}

/// Makes a file that did not exist, open for writing.
pub(crate) fn make_file(dir: Fd, name: &CStr, mode: u32) -> Result<Fd> {
    const O_WRONLY_CREAT_EXCL: usize = 0o301;
    let flags = O_WRONLY_CREAT_EXCL | O_CLOEXEC | O_NOFOLLOW;
    let name = name.as_ptr().expose_provenance();
    // SAFETY: the kernel reads the name up to its NUL.
    unsafe { call(nr::OPENAT, [dir as usize, name, flags, mode as usize, 0, 0]) }.map(|fd| fd as Fd)
}

/// Gives an open file this size, without using room for it. A size above the limit of this process has no
/// effect, because the kernel would kill the process.
pub(crate) fn resize(file: Fd, size: u64) -> Result<()> {
    const RLIMIT_FSIZE: usize = 1;
    let mut limit = [0_u64; 2];
    let out = limit.as_mut_ptr().expose_provenance();
    // SAFETY: the kernel writes one rlimit64, two words; the new limit is null.
    unsafe { call(nr::PRLIMIT64, [0, RLIMIT_FSIZE, 0, out, 0, 0]) }?;
    if size > limit[0] {
        return Ok(());
    }
    // SAFETY: integers only.
    unsafe { call(nr::FTRUNCATE, [file as usize, size as usize, 0, 0, 0, 0]) }.map(drop)
}

/// Sets when an open file was last written; seconds and nanoseconds.
pub(crate) fn set_written(file: Fd, written: [i64; 2]) -> Result<()> {
    const UTIME_OMIT: i64 = (1 << 30) - 2;
    // Two timespecs: last access, last change of the content.
    let times = [0, UTIME_OMIT, written[0], written[1]];
    let times = times.as_ptr().expose_provenance();
    // SAFETY: the path is null, so that the descriptor is meant; the kernel reads two timespecs.
    unsafe { call(nr::UTIMENSAT, [file as usize, 0, times, 0, 0, 0]) }.map(drop)
}

/// Makes a symbolic link.
pub(crate) fn make_link(dir: Fd, name: &CStr, target: &CStr) -> Result<()> {
    let (name, target) = (name.as_ptr().expose_provenance(), target.as_ptr().expose_provenance());
    // SAFETY: the kernel reads both strings up to their NUL.
    unsafe { call(nr::SYMLINKAT, [target, dir as usize, name, 0, 0, 0]) }.map(drop)
}
