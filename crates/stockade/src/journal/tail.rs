//! Finds the end of the chain in a file: the last whole line, and a torn one after it.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::{Errno, pread, retry_on_intr};

use super::chain::{self, Fault, LINE_BYTES_MAX, Link};
use super::lines::{Line, Lines};
use super::record::Repair;

/// How every line begins; a torn first line must, or the file was never a journal.
const OPENING: &[u8] = br#"{"v":1,"seq":"#;

/// The end of a chain and where it lies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tail {
    /// The size of the file up to the end of its last whole line.
    pub(super) size: u64,
    /// The last whole line.
    pub(super) link: Link,
}

impl Tail {
    pub(super) const EMPTY: Self = Self { size: 0, link: Link::START };
}

/// What was found at the end of a file.
#[derive(Debug)]
pub(super) struct TailSearch {
    pub(super) tail: Tail,
    /// The torn line after it.
    pub(super) torn: Option<Repair>,
}

/// Why the end of the chain is not known.
#[derive(Debug)]
pub(super) enum TailError {
    Unreadable(Errno),
    Tampered(Fault),
}

impl From<Fault> for TailError {
    fn from(fault: Fault) -> Self {
        Self::Tampered(fault)
    }
}

/// Follows what others appended since `known` up to `size`, verifying each line.
pub(super) fn follow(file: &Arc<OwnedFd>, known: Tail, size: u64) -> Result<TailSearch, TailError> {
    let mut tail = known;
    let mut lines = Lines::new(Arc::clone(file), known.size, size);
    loop {
        let line = lines.next_line().map_err(|error| {
            TailError::Unreadable(Errno::from_io_error(&error).unwrap_or(Errno::IO))
        })?;
        match line {
            None => return Ok(TailSearch { tail, torn: None }),
            Some(Line::Whole(line)) => {
                tail.link = chain::record_after(&tail.link, line)?.1;
                tail.size = tail.size.saturating_add(length(line)).saturating_add(1);
            }
            Some(Line::Torn(fragment)) => {
                return Ok(TailSearch { tail, torn: Some(repaired(fragment)) });
            }
            Some(Line::TooLong) => return Err(Fault::TooLong.into()),
        }
    }
}

/// Finds the end of a file of `size` bytes that was not seen before, reading no more than needed.
pub(super) fn find(file: &OwnedFd, size: u64) -> Result<TailSearch, TailError> {
    let mut window: usize = 4096;
    loop {
        let start = size.saturating_sub(u64::try_from(window).unwrap_or(u64::MAX));
        let bytes = read_exactly(file, start, size)?;
        match last_line(&bytes, start == 0) {
            Some(Last::Fragment) => return whole_file_torn(&bytes),
            Some(Last::Line { line, fragment }) => {
                let record = if start == 0 && line.len().saturating_add(1) == bytes.len() {
                    chain::record_after(&Link::START, line)?.0
                } else {
                    chain::record_in(line)?
                };
                let link = Link { seq: record.seq, hash: record.hash };
                let size = size.saturating_sub(length(fragment));
                let torn = (!fragment.is_empty()).then(|| repaired(fragment));
                return Ok(TailSearch { tail: Tail { size, link }, torn });
            }
            None if bytes.len() > LINE_BYTES_MAX.saturating_mul(2) => {
                return Err(Fault::TooLong.into());
            }
            None => window = window.saturating_mul(4),
        }
    }
}

enum Last<'a> {
    Line { line: &'a [u8], fragment: &'a [u8] },
    Fragment,
}

/// The last whole line in a window at the end of a file, if the window holds all of it.
fn last_line(window: &[u8], from_start: bool) -> Option<Last<'_>> {
    let Some(newline) = window.iter().rposition(|byte| *byte == b'\n') else {
        return from_start.then_some(Last::Fragment);
    };
    let (before, after) = window.split_at_checked(newline)?;
    let fragment = after.split_first()?.1;
    match before.iter().rposition(|byte| *byte == b'\n') {
        Some(newline) => {
            let line = before.split_at_checked(newline)?.1.split_first()?.1;
            Some(Last::Line { line, fragment })
        }
        None => from_start.then_some(Last::Line { line: before, fragment }),
    }
}

/// A file without any whole line. It is cut only if it can be the beginning of a journal, so that
/// a journal path that names somebody's notes costs no notes. Zeros are what a crash of the
/// machine leaves of blocks that were never written.
fn whole_file_torn(bytes: &[u8]) -> Result<TailSearch, TailError> {
    let begins = bytes.iter().zip(OPENING).all(|(byte, expected)| byte == expected);
    match (bytes.is_empty(), begins || bytes.iter().all(|byte| *byte == 0)) {
        (true, _) => Ok(TailSearch { tail: Tail::EMPTY, torn: None }),
        (false, true) => Ok(TailSearch { tail: Tail::EMPTY, torn: Some(repaired(bytes)) }),
        (false, false) => Err(match chain::record_in(bytes) {
            Err(fault) => fault.into(),
            Ok(_) => Fault::HashMismatch.into(),
        }),
    }
}

fn repaired(fragment: &[u8]) -> Repair {
    Repair { dropped_bytes: length(fragment), dropped_sha256: chain::hash_of(fragment) }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

pub(super) fn read_exactly(file: &OwnedFd, start: u64, end: u64) -> Result<Vec<u8>, TailError> {
    let wanted = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
    let mut bytes = vec![0; wanted];
    let mut done: usize = 0;
    while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
        let at = start.saturating_add(u64::try_from(done).unwrap_or(u64::MAX));
        match retry_on_intr(|| pread(file, &mut *rest, at)) {
            Ok(0) => return Err(TailError::Unreadable(Errno::IO)),
            Ok(read) => done = done.saturating_add(read),
            Err(errno) => return Err(TailError::Unreadable(errno)),
        }
    }
    Ok(bytes)
}
