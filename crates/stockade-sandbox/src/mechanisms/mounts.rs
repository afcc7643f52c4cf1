//! The root of a sandbox, described: what is mounted where, in which order.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;

use rustix::fs::{FileType, Mode, OFlags, fstat, open, readlink};
use rustix::io::Errno;

use crate::blob::Blob;
use crate::mechanisms::identity::Identity;
use crate::mechanisms::idmap;
use crate::protocol::plan::{ASIDE_MAX, Op, op};

/// One thing in the root of a sandbox. They are made in the order of the list, from an empty root
/// that is read-only in the end. No path may go through a symbolic link.
#[derive(Debug)]
#[non_exhaustive]
pub enum Mount {
    /// A file or folder of the host, with all that is mounted beneath it.
    Bind {
        /// The file or folder, opened (`O_PATH` is enough).
        source: OwnedFd,
        /// Its path in the sandbox.
        target: CString,
        /// The allowed access.
        access: Access,
    },
    /// An empty folder in memory.
    Memory {
        /// Its path in the sandbox.
        target: CString,
        /// How much it can hold.
        bytes_max: u64,
        /// How many files and folders it can hold.
        files_max: u64,
        /// Its permissions.
        mode: u32,
    },
    /// The folder of the session. What is bound before it and lies in it is moved there with all its covers;
    /// what comes after it is found by paths that other calls of the session can change.
    Session {
        /// Its path in the sandbox.
        target: CString,
    },
    /// The pseudo-terminals of the sandbox.
    Terminals {
        /// Its path in the sandbox.
        target: CString,
    },
    /// The processes of the sandbox.
    Proc {
        /// Its path in the sandbox.
        target: CString,
        /// How much of it is shown.
        view: ProcView,
    },
    /// A folder.
    Folder {
        /// Its path in the sandbox.
        target: CString,
        /// Its permissions.
        mode: u32,
    },
    /// A file with this content, which cannot be written.
    File {
        /// Its path in the sandbox.
        target: CString,
        /// Its content.
        content: Vec<u8>,
    },
    /// A symbolic link.
    Link {
        /// Its path in the sandbox.
        target: CString,
        /// Its target.
        to: CString,
    },
    /// A file or folder over one that is there, which cannot be opened: `EACCES`. The size, the
    /// modification time and the executable bit of a file stay visible.
    Hide {
        /// The path in the sandbox.
        target: CString,
    },
    /// A file or folder that is there and cannot be written, renamed or removed.
    ///
    /// Its parents can still be renamed, which takes it away: [`Mount::Pin`] each of them, from the
    /// writable folder down.
    Protect {
        /// The path in the sandbox.
        target: CString,
    },
    /// A folder that is there and cannot be renamed or removed, but is else as it was.
    Pin {
        /// The path in the sandbox.
        target: CString,
    },
}

/// The access of a program to a file or folder of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read and execute what everybody may. For a sandbox of root that is less than root may: the
    /// keys and shadow files of a system folder stay closed.
    ReadOnly,
    /// Read and execute what the folder's owner may, as with [`Access::Writable`].
    ReadOnlyAsOwner,
    /// Write too. The sandbox of root runs as another user; the folder's owner is mapped to that
    /// user, in both directions, so that files keep their owner.
    Writable,
    /// Open a device, to read and write, without changing its owner, rights and times.
    Device,
}

/// How much of `/proc` a sandbox shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcView {
    /// Everything, but only the processes that the program may trace.
    Whole,
    /// Only these processes: no `/proc/sys`, no `/proc/meminfo`, no `/proc/cpuinfo`.
    ProcessesOnly,
}

/// Attributes of mounts, from `linux/mount.h`.
const RDONLY: u64 = 1;
const NOSUID: u64 = 2;
const NODEV: u64 = 4;
const NOEXEC: u64 = 8;

impl Mount {
    /// A file or folder of the host, to be read, at the same path. Where the path itself is a
    /// symbolic link, as `/bin` often is, the same link.
    pub fn read_only(path: &CStr) -> io::Result<Self> {
        match readlink(path, Vec::new()) {
            Ok(to) => Ok(Self::Link { target: path.to_owned(), to }),
            Err(Errno::INVAL) => Self::bind(path, Access::ReadOnly),
            Err(errno) => Err(errno.into()),
        }
    }

    /// A file or folder of the host at the same path.
    pub fn bind(path: &CStr, access: Access) -> io::Result<Self> {
        Self::bind_at(path, path, access)
    }

    /// A file or folder of the host at another path.
    pub fn bind_at(path: &CStr, target: &CStr, access: Access) -> io::Result<Self> {
        let source = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self::Bind { source, target: target.to_owned(), access })
    }

    /// A `/dev` with no more than programs expect: six devices, the usual links, and shared memory
    /// and pseudo-terminals of its own.
    pub fn devices(shm_bytes_max: u64) -> io::Result<Vec<Self>> {
        let mut all = vec![Self::Folder { target: c"/dev".to_owned(), mode: 0o755 }];
        for (path, number) in [
            (c"/dev/null", (MEM_MAJOR, 3)),
            (c"/dev/zero", (MEM_MAJOR, 5)),
            (c"/dev/full", (MEM_MAJOR, 7)),
            (c"/dev/random", (MEM_MAJOR, 8)),
            (c"/dev/urandom", (MEM_MAJOR, 9)),
            // The terminal of whoever opens it.
            (c"/dev/tty", (TTY_MAJOR, 0)),
        ] {
            let device = Self::bind(path, Access::Device)?;
            if let Self::Bind { source, .. } = &device {
                verify_device(source.as_fd(), number)?;
            }
            all.push(device);
        }
        for (target, to) in [
            (c"/dev/fd", c"/proc/self/fd"),
            (c"/dev/stdin", c"/proc/self/fd/0"),
            (c"/dev/stdout", c"/proc/self/fd/1"),
            (c"/dev/stderr", c"/proc/self/fd/2"),
            (c"/dev/ptmx", c"pts/ptmx"),
        ] {
            all.push(Self::Link { target: target.to_owned(), to: to.to_owned() });
        }
        all.push(Self::Memory {
            target: c"/dev/shm".to_owned(),
            bytes_max: shm_bytes_max,
            files_max: 4096,
            mode: 0o1777,
        });
        all.push(Self::Terminals { target: c"/dev/pts".to_owned() });
        Ok(all)
    }

    /// Its path in the sandbox.
    pub fn target(&self) -> &CStr {
        match self {
            Self::Bind { target, .. }
            | Self::Memory { target, .. }
            | Self::Session { target }
            | Self::Terminals { target }
            | Self::Proc { target, .. }
            | Self::Folder { target, .. }
            | Self::File { target, .. }
            | Self::Link { target, .. }
            | Self::Hide { target }
            | Self::Protect { target }
            | Self::Pin { target } => target,
        }
    }
}

/// The numbers of device drivers, from Documentation/admin-guide/devices.txt of the kernel.
const MEM_MAJOR: u32 = 1;
const TTY_MAJOR: u32 = 5;

/// The device must be the kernel's with this number, whatever its name says.
fn verify_device(source: BorrowedFd<'_>, (major, minor): (u32, u32)) -> io::Result<()> {
    let stat = fstat(source)?;
    let is_device = FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice;
    if is_device && stat.st_rdev == rustix::fs::makedev(major, minor) {
        Ok(())
    } else {
        Err(Errno::NODEV.into())
    }
}

/// The encoded root, except for its strings.
pub(crate) struct PackedRoot<'a> {
    pub(crate) ops: Vec<Op>,
    pub(crate) sources: Vec<BorrowedFd<'a>>,
}

/// Writes the list down; the sources' descriptors are numbered from `first`. A hidden folder that is the
/// working directory can be entered.
pub(crate) fn pack<'a>(
    (mounts, cwd): (&'a [Mount], &CStr),
    identity: Identity,
    first: usize,
    blob: &mut Blob,
) -> io::Result<PackedRoot<'a>> {
    let mut packed = PackedRoot { ops: Vec::with_capacity(mounts.len()), sources: Vec::new() };
    for (at, mount) in mounts.iter().enumerate() {
        let before = mounts.get(..at).unwrap_or_default();
        let number = first.saturating_add(packed.sources.len());
        let one = operation(mount, identity, number, blob)?;
        let may_make = if may_make(before, mount.target()) { op::MAY_MAKE } else { 0 };
        let in_proc = matches!(nearest(before, mount.target()), Some(Mount::Proc { .. }));
        let in_proc = if in_proc { op::IN_PROC } else { 0 };
        let is_entered = matches!(mount, Mount::Hide { target } if **target == *cwd);
        let is_entered = if is_entered { op::ENTERED } else { 0 };
        let is_shared =
            matches!(mount, Mount::Folder { .. }) && is_in_session(before, mount.target());
        let is_shared = if is_shared { op::SHARED } else { 0 };
        let one = Op { flags: one.flags | may_make | in_proc | is_entered | is_shared, ..one };
        let moved = if matches!(mount, Mount::Session { .. }) {
            moved_into(mount.target(), before, blob)?
        } else {
            Vec::new()
        };
        let asides = moved.iter().map(|back| Op { kind: op::ASIDE, flags: op::MOVED, ..*back });
        packed.ops.extend(asides);
        packed.ops.push(one);
        packed.ops.extend(moved);
        if let Mount::Bind { source, .. } = mount {
            packed.sources.push(source.as_fd());
        }
    }
    Ok(packed)
}

/// The operations that put the outermost of these mounts into the folder of a session, in which they lie.
///
/// Other calls can rename what is on the way to them at any time, so they are made with all their covers
/// before that folder is there, and are put into it as a whole.
fn moved_into(session: &CStr, before: &[Mount], blob: &mut Blob) -> io::Result<Vec<Op>> {
    let is_tree = |mount: &&Mount| matches!(mount, Mount::Bind { .. } | Mount::Memory { .. });
    let within = |mount: &&Mount| is_beneath(mount.target(), session);
    let trees: Vec<&Mount> = before.iter().filter(is_tree).filter(within).collect();
    let is_outermost =
        |one: &&&Mount| !trees.iter().any(|other| is_beneath(one.target(), other.target()));
    let mut ops = Vec::new();
    for (number, mount) in (0..).zip(trees.iter().filter(is_outermost)) {
        let is_file = if let Mount::Bind { source, .. } = mount
            && !is_folder(source.as_fd())?
        {
            op::IS_FILE
        } else {
            0
        };
        let (target, flags) = (blob.text(mount.target()), op::MAY_MAKE | is_file);
        ops.push(Op { kind: op::BACK, source: number, target, flags, ..Op::default() });
    }
    if ops.len() > ASIDE_MAX { Err(Errno::TOOBIG.into()) } else { Ok(ops) }
}

/// Writes down what a copy of a template with these mounts must make anew: what lies in memory, and
/// `/proc`. `None` if it cannot be done for this list.
pub(crate) fn pack_copy(mounts: &[Mount], blob: &mut Blob) -> io::Result<Option<Vec<Op>>> {
    let mut ops = Vec::new();
    let mut asides = 0;
    for (at, mount) in mounts.iter().enumerate() {
        let holder = nearest(mounts.get(..at).unwrap_or_default(), mount.target());
        let in_memory = matches!(holder, Some(Mount::Memory { .. }));
        let in_proc = matches!(holder, Some(Mount::Proc { .. }));
        let may_make = if in_memory { op::MAY_MAKE } else { 0 };
        match mount {
            Mount::Bind { source, target, .. } if in_memory => {
                let is_file = if is_folder(source.as_fd())? { 0 } else { op::IS_FILE };
                let target = blob.text(target);
                let one = Op { source: asides, target, ..Op::default() };
                ops.insert(0, Op { kind: op::ASIDE, ..one });
                ops.push(Op { kind: op::BACK, flags: is_file | may_make, ..one });
                asides = asides.saturating_add(1);
            }
            Mount::Hide { .. } | Mount::Protect { .. } | Mount::Pin { .. } if in_memory => {
                return Ok(None);
            }
            // The closed file that covers it is there from the template.
            Mount::Hide { .. } if in_proc => {
                let one = operation(mount, Identity::of_caller(), 0, blob)?;
                ops.push(Op { flags: op::IN_PROC, ..one });
            }
            Mount::Memory { .. }
            | Mount::Terminals { .. }
            | Mount::Proc { view: ProcView::Whole, .. } => {
                ops.push(operation(mount, Identity::of_caller(), 0, blob)?);
            }
            Mount::Proc { view: ProcView::ProcessesOnly, .. } => return Ok(None),
            Mount::Folder { .. } | Mount::File { .. } | Mount::Link { .. } if in_memory => {
                let one = operation(mount, Identity::of_caller(), 0, blob)?;
                ops.push(Op { flags: one.flags | may_make, ..one });
            }
            Mount::Bind { .. }
            | Mount::Session { .. }
            | Mount::Folder { .. }
            | Mount::File { .. }
            | Mount::Link { .. }
            | Mount::Hide { .. }
            | Mount::Protect { .. }
            | Mount::Pin { .. } => {}
        }
    }
    let has_proc = ops.iter().any(|one| one.kind == op::PROC);
    let fits = usize::try_from(asides).is_ok_and(|asides| asides <= ASIDE_MAX);
    Ok((has_proc && fits).then_some(ops))
}

fn operation(mount: &Mount, identity: Identity, number: usize, blob: &mut Blob) -> io::Result<Op> {
    let one = Op { target: blob.text(checked(mount.target())?), ..Op::default() };
    let protected = RDONLY | NOSUID | NODEV;
    Ok(match mount {
        Mount::Bind { source, access, .. } => {
            let source_number = u32::try_from(number).map_err(|_many| Errno::TOOBIG)?;
            bind(Op { source: source_number, ..one }, source.as_fd(), *access, identity, blob)?
        }
        Mount::Memory { bytes_max, files_max, mode, .. } => {
            let options = format!("mode={mode:o},size={bytes_max},nr_inodes={files_max}");
            Op { kind: op::MEMORY, text: blob.text(&CString::new(options)?), ..one }
        }
        Mount::Session { .. } => Op { kind: op::SESSION, ..one },
        // Of group 5, tty, nothing is known in a user namespace.
        Mount::Terminals { .. } => Op {
            kind: op::TERMINALS,
            text: blob.text(c"newinstance,ptmxmode=0666,mode=620"),
            attributes: NOEXEC,
            ..one
        },
        Mount::Proc { view, .. } => {
            let options = match view {
                // 2 is "invisible", a word that kernels know since 5.8.
                ProcView::Whole => c"hidepid=2",
                ProcView::ProcessesOnly => c"hidepid=2,subset=pid",
            };
            Op { kind: op::PROC, text: blob.text(options), attributes: NOEXEC, ..one }
        }
        Mount::Folder { mode, .. } => Op { kind: op::FOLDER, mode: *mode, ..one },
        Mount::File { content, .. } => Op {
            kind: op::FILE,
            mode: 0o444,
            text: blob.bytes(content),
            len: u64::try_from(content.len()).unwrap_or(u64::MAX),
            ..one
        },
        Mount::Link { to, .. } => Op { kind: op::LINK, text: blob.text(to), ..one },
        Mount::Hide { .. } => Op { kind: op::HIDE, ..one },
        Mount::Protect { .. } => Op { kind: op::COVER, attributes: protected, ..one },
        Mount::Pin { .. } => Op { kind: op::COVER, attributes: NOSUID | NODEV, ..one },
    })
}

fn bind(
    one: Op,
    source: BorrowedFd<'_>,
    access: Access,
    identity: Identity,
    blob: &mut Blob,
) -> io::Result<Op> {
    let stat = fstat(source)?;
    let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    let kind = if is_folder { 0 } else { op::IS_FILE };
    let attributes = NOSUID
        | match access {
            Access::ReadOnly | Access::ReadOnlyAsOwner => RDONLY | NODEV,
            Access::Writable => NODEV,
            Access::Device => RDONLY | NOEXEC,
        };
    // With privileges the shim clones the mount of the open descriptor. Without them init finds it
    // again by its path, and a test may want the same.
    let path = match identity.to_take_on() {
        Some(_) if !cfg!(feature = "fault-injection") => 0,
        Some(_) | None => blob.text(&CString::new(path_of(source)?)?),
    };
    let (uid_map, gid_map) = match access {
        Access::Writable | Access::ReadOnlyAsOwner => {
            idmap::pack(identity, stat.st_uid, stat.st_gid, blob)?
        }
        Access::ReadOnly | Access::Device => (0, 0),
    };
    Ok(Op {
        kind: op::BIND,
        attributes,
        text: path,
        uid_map,
        gid_map,
        flags: kind | op::DEEP,
        ..one
    })
}

/// An absolute path without `.` and `..`.
fn checked(path: &CStr) -> io::Result<&CStr> {
    let bytes = path.to_bytes();
    let plain = bytes.split(|byte| *byte == b'/').all(|name| name != b"." && name != b"..");
    if bytes.first() == Some(&b'/') && bytes.len() > 1 && plain {
        Ok(path)
    } else {
        Err(Errno::INVAL.into())
    }
}

/// The path of an open file, as the host sees it.
fn path_of(file: BorrowedFd<'_>) -> io::Result<Vec<u8>> {
    use std::os::fd::AsRawFd;
    let link = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    Ok(link.into_os_string().into_vec())
}

fn is_folder(file: BorrowedFd<'_>) -> io::Result<bool> {
    Ok(FileType::from_raw_mode(fstat(file)?.st_mode) == FileType::Directory)
}

/// Returns whether a missing path may be made: not inside a folder of the host.
fn may_make(before: &[Mount], target: &CStr) -> bool {
    !matches!(nearest(before, target), Some(Mount::Bind { .. } | Mount::Proc { .. }))
}

/// Whether a path lies in the folder of a session, and nothing of the host is mounted there.
fn is_in_session(before: &[Mount], target: &CStr) -> bool {
    let is_covered = before.iter().any(|mount| mount.target() == target);
    matches!(nearest(before, target), Some(Mount::Session { .. })) && !is_covered
}

/// The mount that a path lies in; none for the root itself.
fn nearest<'a>(before: &'a [Mount], target: &CStr) -> Option<&'a Mount> {
    let enclosing = before.iter().filter(|mount| {
        matches!(
            mount,
            Mount::Bind { .. } | Mount::Memory { .. } | Mount::Session { .. } | Mount::Proc { .. }
        ) && is_beneath(target, mount.target())
    });
    enclosing.max_by_key(|mount| mount.target().count_bytes())
}

fn is_beneath(path: &CStr, folder: &CStr) -> bool {
    let rest = path.to_bytes().strip_prefix(folder.to_bytes());
    rest.is_some_and(|rest| rest.first() == Some(&b'/'))
}

#[cfg(test)]
mod tests;
