//! The hash chain: every line names the hash of the line before it. Pure.

use std::time::SystemTime;

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::record::{Event, Hash, Record, VERSION};
use crate::json;

/// The most bytes a line may have, its newline not counted.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// `,"hash":"` and 64 digits and `"}`: what follows the hashed bytes of every line.
const SEAL_BYTES: usize = 9 + 64 + 2;

/// The end of a chain so far: what the next line must continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The sequence number of the last line.
    pub seq: u64,
    /// The hash of the last line.
    pub hash: Hash,
}

impl Link {
    /// The link before the first line.
    pub const START: Self = Self { seq: 0, hash: Hash::ZERO };
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// It is not a JSON object with the fields of a record.
    #[error("it is not a journal entry in JSON")]
    NotJson(#[source] serde_json::Error),
    /// It was written in another version of the format.
    #[error("it has version {0} of the format, and this program reads version {VERSION}")]
    UnknownVersion(u32),
    /// Its bytes are not those that were hashed.
    #[error("its content does not match its hash, so that it was changed")]
    HashMismatch,
    /// It is not the line that follows the one before.
    #[error("its number is {found} where {expected} follows, so that lines are missing or moved")]
    SequenceGap {
        /// The number that follows the line before.
        expected: u64,
        /// The number it has.
        found: u64,
    },
    /// It has the right number, and was written after another line than the one before it.
    #[error("it does not follow from the line before, which was replaced")]
    PrevMismatch,
    /// It is the last line and has no newline.
    #[error("it was torn while being written; the next entry repairs it")]
    Torn,
    /// It is longer than any line that is ever written.
    #[error("it is longer than {LINE_BYTES_MAX} bytes")]
    TooLong,
}

/// The SHA-256 of these bytes.
pub fn hash_of(bytes: &[u8]) -> Hash {
    Hash::from_bytes(Sha256::digest(bytes).into())
}

/// The line that records `event` after `last`, without its newline, and the new end of the chain.
pub fn line_after(
    last: &Link,
    time: SystemTime,
    event: &Event,
) -> Result<(Vec<u8>, Link), serde_json::Error> {
    let seq = last.seq.saturating_add(1);
    let unsealed =
        Record { v: VERSION, seq, time, event: event.clone(), prev: last.hash, hash: Hash::ZERO };
    let mut line = serde_json::to_vec(&unsealed)?;
    line.truncate(line.len().saturating_sub(SEAL_BYTES));
    let hash = hash_of(&line);
    line.extend_from_slice(format!(",\"hash\":\"{hash}\"}}").as_bytes());
    Ok((line, Link { seq, hash }))
}

/// The record in a line, if the line is whole in itself: it parses and matches its own hash.
pub fn record_in(line: &[u8]) -> Result<Record, Fault> {
    let record: Record = match json::from_slice(line) {
        Ok(record) => record,
        Err(error) => return Err(another_version(line).unwrap_or(Fault::NotJson(error))),
    };
    if record.v != VERSION {
        return Err(Fault::UnknownVersion(record.v));
    }
    let sealed = line.len().checked_sub(SEAL_BYTES).and_then(|end| line.split_at_checked(end));
    match sealed {
        Some((body, seal))
            if hash_of(body) == record.hash
                && seal == format!(",\"hash\":\"{}\"}}", record.hash).as_bytes() =>
        {
            Ok(record)
        }
        _ => Err(Fault::HashMismatch),
    }
}

/// The record in a line and the new end of the chain, if the line continues the chain at `last`.
pub fn record_after(last: &Link, line: &[u8]) -> Result<(Record, Link), Fault> {
    let record = record_in(line)?;
    follows(last, &record)?;
    let end = Link { seq: record.seq, hash: record.hash };
    Ok((record, end))
}

/// Whether this record, whole in itself, continues the chain at `last`.
pub fn follows(last: &Link, record: &Record) -> Result<(), Fault> {
    let expected = last.seq.saturating_add(1);
    if record.seq != expected {
        return Err(Fault::SequenceGap { expected, found: record.seq });
    }
    if record.prev != last.hash {
        return Err(Fault::PrevMismatch);
    }
    Ok(())
}

fn another_version(line: &[u8]) -> Option<Fault> {
    #[derive(Deserialize)]
    struct VersionedEntry {
        v: u32,
    }
    json::from_slice::<VersionedEntry>(line)
        .ok()
        .filter(|versioned| versioned.v != VERSION)
        .map(|versioned| Fault::UnknownVersion(versioned.v))
}
