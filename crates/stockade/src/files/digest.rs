//! What a file holds, as a hash, remembered for as long as the file is not touched.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use data_encoding::HEXLOWER;
use rustix::fs::Stat;
use rustix::time::{ClockId, clock_gettime};
use sha2::{Digest as _, Sha256};

use super::error::FileError;
use super::open::regular;
use crate::inspect::Identity;

/// Files beyond this are told by their size alone.
pub(super) const BYTES_MAX: u64 = 64 << 20;
/// The longest tick of a clock for files, doubled.
const TICK_NANOS: i64 = 20_000_000;
const NANOS: i64 = 1_000_000_000;
/// Hashes that are remembered.
const REMEMBERED_MAX: usize = 4096;

/// A file as it was at one moment: a change of any kind changes this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Moment {
    identity: Identity,
    /// The ctime, which nobody can set.
    changed: (i64, i64),
    size: i64,
}

impl Moment {
    /// Whether a change that follows now is sure to be told from it: the clock for files is coarse.
    pub(super) fn is_over(&self) -> bool {
        let now = clock_gettime(ClockId::RealtimeCoarse);
        let (seconds, nanos) = self.changed;
        let end = nanos.saturating_add(TICK_NANOS);
        let carried = end >= NANOS;
        let end = if carried { end.saturating_sub(NANOS) } else { end };
        (seconds.saturating_add(i64::from(carried)), end) < (now.tv_sec, now.tv_nsec)
    }

    pub(super) fn of(stat: &Stat) -> Self {
        let nanos = i64::try_from(stat.st_ctime_nsec).unwrap_or_default();
        Self { identity: Identity::of(stat), changed: (stat.st_ctime, nanos), size: stat.st_size }
    }
}

/// The hash of these bytes, as it is told.
pub(super) fn of_bytes(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

/// The hash of what a file holds; none if it is too large.
pub(super) fn of_file(mut file: &File, stat: &Stat) -> std::io::Result<Option<String>> {
    if u64::try_from(stat.st_size).unwrap_or_default() > BYTES_MAX {
        return Ok(None);
    }
    let mut hash = Sha256::new();
    let one_read = u64::try_from(stat.st_size).unwrap_or_default().saturating_add(1);
    let mut buffer = vec![0; usize::try_from(one_read).unwrap_or(usize::MAX).min(64 << 10)];
    let mut left = BYTES_MAX;
    loop {
        let read = file.read(&mut buffer)?;
        let Some(left_now) = left.checked_sub(u64::try_from(read).unwrap_or(u64::MAX)) else {
            return Ok(None);
        };
        left = left_now;
        match buffer.get(..read) {
            None | Some([]) => return Ok(Some(HEXLOWER.encode(&hash.finalize()))),
            Some(bytes) => hash.update(bytes),
        }
    }
}

static REMEMBERED: Mutex<Option<HashMap<Moment, String>>> = Mutex::new(None);

/// The hash of a regular file, read once for each moment of it.
pub(super) fn remembered(
    handle: BorrowedFd<'_>,
    stat: &Stat,
    path: &Path,
) -> Result<Option<String>, FileError> {
    let moment = Moment::of(stat);
    let known = |all: &Option<HashMap<Moment, String>>| all.as_ref()?.get(&moment).cloned();
    if let Some(hash) = known(&REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner)) {
        return Ok(Some(hash));
    }
    let (file, stat) = regular(handle, path)?;
    let hash = of_file(&file, &stat).map_err(|source| FileError::System {
        doing: "read",
        path: path.to_owned(),
        source,
    })?;
    if let Some(hash) = hash.as_ref().filter(|_| Moment::of(&stat).is_over()) {
        let mut all = REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner);
        let all = all.get_or_insert_with(HashMap::new);
        if all.len() >= REMEMBERED_MAX {
            all.clear();
        }
        all.insert(Moment::of(&stat), hash.clone());
    }
    Ok(hash)
}
