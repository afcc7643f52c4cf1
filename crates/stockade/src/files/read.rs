//! `Read`: lines of a file, byte for byte.

use std::io::{BufRead, BufReader};

use super::error::FileError;
use super::open::{is_binary, judged};
use super::{Job, ToolOutput};
use crate::call::file::Read;
use crate::limits::LimitHit;
use crate::output::CapturedOutput;

/// Lines that are read unless told.
const LINES: u64 = 2000;
const BUFFER_BYTES: usize = 64 << 10;

/// Reads the lines that were asked for, as far as the answer has room.
pub(super) fn read(job: &Job<'_>, read: &Read) -> Result<ToolOutput, FileError> {
    let path = &job.place.real;
    let (file, stat) = judged(job.place)?;
    let size = u64::try_from(stat.st_size).unwrap_or_default();
    let first = read.offset.unwrap_or(1).max(1);
    let mut taken = TakenLines::new(first, read.limit.unwrap_or(LINES), job.output_max);
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
    let mut is_first = true;
    let limit = loop {
        if job.is_late() {
            break Some(LimitHit::Wall);
        }
        let buffer = reader.fill_buf().map_err(|source| FileError::System {
            doing: "read",
            path: path.clone(),
            source,
        })?;
        if buffer.is_empty() || taken.is_full(buffer) {
            break None;
        }
        if is_first && is_binary(buffer) {
            return Err(FileError::Binary { path: path.clone(), bytes: size });
        }
        is_first = false;
        let used = taken.take(buffer);
        reader.consume(used);
    };
    Ok(taken.told(size, limit))
}

/// The lines that were taken so far.
struct TakenLines {
    first: u64,
    /// The line that comes next, from 1.
    line: u64,
    most: u64,
    bytes: Vec<u8>,
    bytes_max: usize,
    /// Bytes gone through.
    seen: u64,
    stop: Option<Stop>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// All lines that were asked for are there, and more follow.
    Lines,
    /// The answer has no more room.
    Room,
}

impl TakenLines {
    fn new(first: u64, most: u64, bytes_max: usize) -> Self {
        Self { first, line: 1, most, bytes: Vec::new(), bytes_max, seen: 0, stop: None }
    }

    /// Whether nothing of what follows is wanted.
    fn is_full(&mut self, following: &[u8]) -> bool {
        let end = self.first.saturating_add(self.most);
        if self.stop.is_none() && self.line >= end && !following.is_empty() {
            self.stop = Some(Stop::Lines);
        }
        self.stop.is_some()
    }

    /// Takes the next piece up to the end of a line; tells how much of the buffer that was.
    fn take(&mut self, buffer: &[u8]) -> usize {
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let long = end.map_or(buffer.len(), |at| at.saturating_add(1));
        let piece = buffer.get(..long).unwrap_or_default();
        if self.line >= self.first {
            let room = self.bytes_max.saturating_sub(self.bytes.len());
            if piece.len() > room {
                self.bytes.extend_from_slice(piece.get(..room).unwrap_or_default());
                self.cut();
                return long;
            }
            self.bytes.extend_from_slice(piece);
        }
        self.seen = self.seen.saturating_add(u64::try_from(long).unwrap_or(u64::MAX));
        if end.is_some() {
            self.line = self.line.saturating_add(1);
        }
        long
    }

    /// Ends with a whole line, unless the only one is too long.
    fn cut(&mut self) {
        self.stop = Some(Stop::Room);
        if let Some(at) = self.bytes.iter().rposition(|byte| *byte == b'\n') {
            self.bytes.truncate(at.saturating_add(1));
        }
    }

    fn told(self, size: u64, limit: Option<LimitHit>) -> ToolOutput {
        let kept = u64::try_from(self.bytes.len()).unwrap_or(u64::MAX);
        let dropped = match self.stop {
            Some(Stop::Room) => size.saturating_sub(self.seen).max(1),
            Some(Stop::Lines) | None => 0,
        };
        let (first, line) = (self.first, self.line);
        let is_line_cut = !self.bytes.ends_with(b"\n");
        let remark = match self.stop {
            Some(Stop::Room) if is_line_cut => Some(format!(
                "line {line} is longer than there is room for; {kept} bytes of it are here"
            )),
            Some(_) => Some(format!(
                "lines {first} to {}; more follow, from offset {line}",
                line.saturating_sub(1)
            )),
            None if size == 0 => Some("the file is empty".to_owned()),
            None if self.bytes.is_empty() && limit.is_none() => Some(format!(
                "there is no line {first}: the file has {} lines",
                line.saturating_sub(1)
            )),
            None => None,
        };
        let text =
            CapturedOutput { bytes: self.bytes, seen: kept.saturating_add(dropped), dropped };
        let late = limit.map(|_| "the time was up before the end".to_owned());
        let remarks = remark.into_iter().chain(late).collect();
        ToolOutput { text, remarks, limit, ..ToolOutput::default() }
    }
}
