//! The names in folders. A folder is read once for each state of it: creating, removing or renaming a
//! name changes the ctime of its folder, which no program can set.

use std::collections::HashMap;
use std::ffi::CStr;
use std::ops::ControlFlow;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, FileType, OFlags, RawDir, Statx, StatxFlags, statx};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use crate::files::open::beneath;

/// One system call reads up to this much of a folder.
const BUFFER_BYTES: usize = 64 << 10;
/// How many names are remembered in this process.
const REMEMBERED_MAX: usize = 50_000;

static REMEMBERED: Mutex<Option<RememberedFolders>> = Mutex::new(None);

#[derive(Debug, Default)]
struct RememberedFolders {
    folders: HashMap<Stamp, Arc<Names>>,
    names: usize,
}

/// Which folder it is, and when it was last changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Stamp(pub(crate) [u64; 7]);

impl Stamp {
    const MASK: StatxFlags = StatxFlags::INO.union(StatxFlags::CTIME).union(StatxFlags::MTIME);

    /// The folder at a path, which is not a link.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        let stat = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, Self::MASK).ok()?;
        Some(Self::of(&stat))
    }

    /// The folder that a handle refers to.
    pub(crate) fn of_handle(handle: BorrowedFd<'_>) -> Result<Self, Errno> {
        Ok(Self::of(&statx(handle, c"", AtFlags::EMPTY_PATH, Self::MASK)?))
    }

    fn of(stat: &Statx) -> Self {
        Self([
            u64::from(stat.stx_dev_major) << 32 | u64::from(stat.stx_dev_minor),
            stat.stx_ino,
            stat.stx_ctime.tv_sec.cast_unsigned(),
            stat.stx_ctime.tv_nsec.into(),
            stat.stx_mtime.tv_sec.cast_unsigned(),
            stat.stx_mtime.tv_nsec.into(),
            stat.stx_mask.into(),
        ])
    }

    pub(crate) fn inode(&self) -> u64 {
        let [_, inode, ..] = self.0;
        inode
    }

    /// Whether every later change gets another time. The clock for files is coarse; a time without a
    /// fraction may come from a file system that counts in seconds.
    pub(crate) fn is_over(&self) -> bool {
        const TICK: Duration = Duration::from_millis(20);
        const COARSE: Duration = Duration::from_secs(2);
        let [_, _, seconds, fraction, ..] = self.0;
        let room = if fraction == 0 { COARSE } else { TICK };
        let fraction = u32::try_from(fraction).unwrap_or_default();
        let changed =
            Duration::from_secs(seconds).checked_add(Duration::from_nanos(fraction.into()));
        let over = changed.and_then(|changed| changed.checked_add(room));
        let now = clock_gettime(ClockId::RealtimeCoarse);
        let now = Duration::try_from(now).unwrap_or_default();
        over.is_some_and(|over| over < now)
    }
}

/// What a name refers to, as far as the folder says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameKind {
    File,
    Folder,
    Link,
    /// The folder does not say, and the file could not be looked at.
    Unknown,
}

/// A name in a folder.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Name<'n> {
    pub(crate) text: &'n CStr,
    pub(crate) inode: u64,
    pub(crate) kind: NameKind,
}

/// All names in a folder, in one piece of memory: the inode, the kind, and the text with its NUL.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    packed: Vec<u8>,
    count: usize,
}

impl Names {
    pub(crate) fn push(&mut self, name: Name<'_>) {
        self.packed.extend_from_slice(&name.inode.to_ne_bytes());
        self.packed.push(match name.kind {
            NameKind::File => 0,
            NameKind::Folder => 1,
            NameKind::Link => 2,
            NameKind::Unknown => 3,
        });
        self.packed.extend_from_slice(name.text.to_bytes_with_nul());
        self.count = self.count.saturating_add(1);
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Name<'_>> {
        let mut rest = self.packed.as_slice();
        std::iter::from_fn(move || {
            let (inode, after) = rest.split_first_chunk()?;
            let (kind, after) = after.split_first()?;
            let text = CStr::from_bytes_until_nul(after).ok()?;
            rest = after.get(text.count_bytes().saturating_add(1)..)?;
            let kind = match kind {
                0 => NameKind::File,
                1 => NameKind::Folder,
                2 => NameKind::Link,
                _ => NameKind::Unknown,
            };
            Some(Name { text, inode: u64::from_ne_bytes(*inode), kind })
        })
    }
}

/// The names of the folder in this state, if it was read in this process.
pub(crate) fn remembered(stamp: &Stamp) -> Option<Arc<Names>> {
    let remembered = REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner);
    remembered.as_ref()?.folders.get(stamp).cloned()
}

/// Remembers all names of a folder. `stamp` must have been [over](Stamp::is_over) before it was read.
pub(crate) fn remember(stamp: Stamp, names: &Arc<Names>) {
    let mut remembered = REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner);
    let remembered = remembered.get_or_insert_default();
    if remembered.names > REMEMBERED_MAX {
        *remembered = RememberedFolders::default();
    }
    remembered.names = remembered.names.saturating_add(names.len()).saturating_add(1);
    remembered.folders.insert(stamp, Arc::clone(names));
}

/// Memory for reading one folder after the other.
#[derive(Debug, Default)]
pub(crate) struct FolderReader(Vec<u8>);

impl FolderReader {
    /// Reads every name in a folder but `.` and `..`, until there is a break.
    pub(crate) fn read<B>(
        &mut self,
        folder: BorrowedFd<'_>,
        mut meet: impl FnMut(Name<'_>) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Errno> {
        self.0.reserve(BUFFER_BYTES);
        let mut entries = RawDir::new(folder, self.0.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let text = entry.file_name();
            if matches!(text.to_bytes(), b"." | b"..") {
                continue;
            }
            let listed = entry.file_type();
            let kind = if listed == FileType::Unknown {
                FileStat::of(folder, text).ok().map(|stat| stat.kind)
            } else {
                Some(listed)
            };
            let kind = match kind {
                Some(FileType::Directory) => NameKind::Folder,
                Some(FileType::Symlink) => NameKind::Link,
                Some(_) => NameKind::File,
                None => NameKind::Unknown,
            };
            if let ControlFlow::Break(why) = meet(Name { text, inode: entry.ino(), kind }) {
                return Ok(ControlFlow::Break(why));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Opens a folder once more, to read its names.
pub(crate) fn reopen(folder: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    beneath(folder, Path::new("."), OFlags::RDONLY | OFlags::DIRECTORY)
}

/// A file as `statx` describes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileStat {
    pub(crate) inode: u64,
    pub(crate) kind: FileType,
    pub(crate) mode: u32,
    pub(crate) size: u64,
    pub(crate) links: u32,
    /// The ctime, which no program can set.
    pub(crate) changed: (i64, i64),
    /// Where the file system remembers it.
    pub(crate) born: Option<(i64, i64)>,
}

impl FileStat {
    /// A file in a folder. Follows no link.
    pub(crate) fn of(folder: BorrowedFd<'_>, name: &CStr) -> Result<Self, Errno> {
        Self::by(folder, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// What a handle refers to.
    pub(crate) fn of_handle(handle: BorrowedFd<'_>) -> Result<Self, Errno> {
        Self::by(handle, c"", AtFlags::EMPTY_PATH)
    }

    fn by(folder: BorrowedFd<'_>, name: &CStr, flags: AtFlags) -> Result<Self, Errno> {
        // The program ran on this kernel, so what it knows of a remote file is enough.
        let flags = flags | AtFlags::STATX_DONT_SYNC;
        let mask = StatxFlags::TYPE
            | StatxFlags::INO
            | StatxFlags::MODE
            | StatxFlags::NLINK
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
            links: stat.stx_nlink,
            changed: (stat.stx_ctime.tv_sec, i64::from(stat.stx_ctime.tv_nsec)),
            born: has_birth.then(|| (stat.stx_btime.tv_sec, i64::from(stat.stx_btime.tv_nsec))),
        })
    }
}
