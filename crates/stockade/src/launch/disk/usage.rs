//! Whose the missing room is: all files in the writable folders that were made or changed during the
//! run, and those that have no name any more and are held open. In a thread of its own, because a
//! disk may be slow and the deadline has to hold.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Statx, StatxFlags, StatxTimestamp};
use rustix::io::Errno;

use super::volume::Growth;
use super::{Writable, unlinked};

/// What takes longer to look through counts as not seen.
const PATIENCE: Duration = Duration::from_secs(10);
/// Folders within folders, each of which is open meanwhile.
const DEPTH_MAX: usize = 64;
const BLOCK_BYTES: u64 = 512;

/// What was found of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RunUsage {
    /// Files that were not there before it, with what they take.
    pub(super) made: Growth,
    /// What those take that were there before it and have changed. How much of it is the run's,
    /// nobody has noted down.
    pub(super) changed_bytes: u64,
    /// Something that the run made cannot be seen.
    pub(super) doubt: bool,
}

impl RunUsage {
    /// The most that can be the run's.
    pub(super) fn bytes(self) -> u64 {
        self.made.bytes.saturating_add(self.changed_bytes)
    }
}

/// A survey that is under way. Dropping it stops it soon.
#[derive(Debug)]
pub(super) struct UsageScan {
    pub(super) began: Instant,
    /// By how much the disk had grown when it began.
    pub(super) growth: Growth,
    thread: Option<JoinHandle<RunUsage>>,
    stop: Arc<AtomicBool>,
}

impl UsageScan {
    pub(super) fn begin(
        folders: Arc<[Writable]>,
        since: SystemTime,
        first: u32,
        growth: Growth,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let mut work = Work::new(since, Arc::clone(&stop));
        let thread = std::thread::Builder::new().name("stockade-disk".to_owned());
        let thread = thread.spawn(move || {
            for folder in folders.iter() {
                work.top(folder.handle.as_fd());
            }
            unlinked::add(&mut work, &folders, first);
            work.found
        });
        Self { began: Instant::now(), growth, thread: thread.ok(), stop }
    }

    /// The answer, once it is there. One that does not come is a doubt.
    pub(super) fn found(&mut self) -> Option<RunUsage> {
        let unknown = RunUsage { doubt: true, ..RunUsage::default() };
        match self.thread.take_if(|thread| thread.is_finished()) {
            Some(thread) => Some(thread.join().unwrap_or(unknown)),
            None if self.thread.is_none() => Some(unknown),
            None => (self.began.elapsed() > PATIENCE.saturating_mul(2)).then_some(unknown),
        }
    }
}

impl Drop for UsageScan {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// What a survey goes by, and what it has found.
pub(super) struct Work {
    since: (i64, u32),
    until: Option<Instant>,
    stop: Arc<AtomicBool>,
    /// Files with several names, or none.
    seen: HashSet<(u64, u64)>,
    pub(super) devices: HashSet<u64>,
    pub(super) found: RunUsage,
}

impl Work {
    fn new(since: SystemTime, stop: Arc<AtomicBool>) -> Self {
        let since = since.duration_since(UNIX_EPOCH).unwrap_or_default();
        let since = (i64::try_from(since.as_secs()).unwrap_or(i64::MAX), since.subsec_nanos());
        let until = Instant::now().checked_add(PATIENCE);
        let (seen, devices) = (HashSet::new(), HashSet::new());
        Self { since, until, stop, seen, devices, found: RunUsage::default() }
    }

    /// Whether there is still time; without it, what was not seen is in doubt.
    pub(super) fn goes_on(&mut self) -> bool {
        let in_time = self.until.is_some_and(|until| Instant::now() < until);
        let goes_on = in_time && !self.stop.load(Ordering::Relaxed);
        self.found.doubt |= !goes_on;
        goes_on
    }

    /// Counts a file without a name, once. It may be older than the run, which has unlinked it.
    pub(super) fn count_unlinked(&mut self, identity: (u64, u64), blocks: u64) {
        if self.seen.insert(identity) {
            let bytes = blocks.saturating_mul(BLOCK_BYTES);
            self.found.changed_bytes = self.found.changed_bytes.saturating_add(bytes);
        }
    }

    fn top(&mut self, handle: BorrowedFd<'_>) {
        let flags = AtFlags::EMPTY_PATH | AtFlags::NO_AUTOMOUNT;
        match rustix::fs::statx(handle, c"", flags, WANTED) {
            Ok(stat) => {
                self.count(&stat);
                if kind(&stat) == FileType::Directory {
                    self.enter(handle, OsStr::new("."), &stat, 0);
                }
            }
            Err(_unseen) => self.found.doubt = true,
        }
    }

    fn entry(&mut self, folder: BorrowedFd<'_>, name: &OsStr, depth: usize) {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        match rustix::fs::statx(folder, name, flags, WANTED) {
            Ok(stat) => {
                self.count(&stat);
                if kind(&stat) == FileType::Directory {
                    self.enter(folder, name, &stat, depth);
                }
            }
            Err(Errno::NOENT) => {}
            Err(_unseen) => self.found.doubt = true,
        }
    }

    fn enter(&mut self, folder: BorrowedFd<'_>, name: &OsStr, stat: &Statx, depth: usize) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened: rustix::io::Result<OwnedFd> = if depth < DEPTH_MAX {
            rustix::fs::openat(folder, name, flags, Mode::empty())
        } else {
            Err(Errno::ACCESS)
        };
        match opened {
            Ok(inner) => self.folder(&inner, depth.saturating_add(1)),
            Err(Errno::NOENT) => {}
            // Nobody has entered it during the run without a change to it.
            Err(Errno::ACCESS) => self.found.doubt |= self.is_later(&stat.stx_ctime),
            Err(_unseen) => self.found.doubt = true,
        }
    }

    fn folder(&mut self, folder: &OwnedFd, depth: usize) {
        let Ok(entries) = Dir::read_from(folder) else {
            self.found.doubt = true;
            return;
        };
        for entry in entries {
            let Ok(entry) = entry else {
                self.found.doubt = true;
                return;
            };
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == OsStr::new(".") || name == OsStr::new("..") {
                continue;
            }
            if !self.goes_on() {
                return;
            }
            self.entry(folder.as_fd(), name, depth);
        }
    }

    fn count(&mut self, stat: &Statx) {
        let device = rustix::fs::makedev(stat.stx_dev_major, stat.stx_dev_minor);
        self.devices.insert(device);
        if !self.is_later(&stat.stx_ctime) {
            return;
        }
        let has_names = stat.stx_nlink > 1 && kind(stat) != FileType::Directory;
        if has_names && !self.seen.insert((device, stat.stx_ino)) {
            return;
        }
        let bytes = stat.stx_blocks.saturating_mul(BLOCK_BYTES);
        let knows_birth = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
        if knows_birth && !self.is_later(&stat.stx_btime) {
            self.found.changed_bytes = self.found.changed_bytes.saturating_add(bytes);
        } else {
            let made = &mut self.found.made;
            made.bytes = made.bytes.saturating_add(bytes);
            made.files = made.files.saturating_add(1);
        }
    }

    fn is_later(&self, time: &StatxTimestamp) -> bool {
        (time.tv_sec, time.tv_nsec) >= self.since
    }
}

const WANTED: StatxFlags = StatxFlags::BASIC_STATS.union(StatxFlags::BTIME);

fn kind(stat: &Statx) -> FileType {
    FileType::from_raw_mode(stat.stx_mode.into())
}
