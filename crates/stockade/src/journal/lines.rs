//! Reads a stretch of a file line by line, in constant memory and at given offsets, so that the
//! descriptor's own position plays no part.

use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::{pread, retry_on_intr};

use super::chain::LINE_BYTES_MAX;

/// The lines of a file between two offsets.
#[derive(Debug)]
pub(super) struct Lines {
    reader: BufReader<Stretch>,
    line: Vec<u8>,
}

/// One line, or what stands in its place.
#[derive(Debug)]
pub(super) enum Line<'a> {
    /// A line that ended in a newline, without it.
    Whole(&'a [u8]),
    /// Bytes after the last newline.
    Torn(&'a [u8]),
    /// More bytes than a line may have; the rest of it was skipped.
    TooLong,
}

impl Lines {
    pub(super) fn new(file: Arc<OwnedFd>, start: u64, end: u64) -> Self {
        let stretch = Stretch { file, at: start, end };
        Self { reader: BufReader::with_capacity(64 * 1024, stretch), line: Vec::new() }
    }

    pub(super) fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        self.line.clear();
        let cap = u64::try_from(LINE_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
        let read = (&mut self.reader).take(cap).read_until(b'\n', &mut self.line)?;
        if read == 0 {
            return Ok(None);
        }
        if let Some(line) = self.line.strip_suffix(b"\n") {
            return Ok(Some(Line::Whole(line)));
        }
        if self.line.len() > LINE_BYTES_MAX {
            self.reader.skip_until(b'\n')?;
            return Ok(Some(Line::TooLong));
        }
        Ok(Some(Line::Torn(&self.line)))
    }
}

/// The bytes of a file between two offsets.
#[derive(Debug)]
struct Stretch {
    file: Arc<OwnedFd>,
    at: u64,
    end: u64,
}

impl Read for Stretch {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let wanted = left.min(buffer.len());
        let Some(buffer) = buffer.get_mut(..wanted).filter(|buffer| !buffer.is_empty()) else {
            return Ok(0);
        };
        let read = retry_on_intr(|| pread(&self.file, &mut *buffer, self.at))?;
        self.at = self.at.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
        Ok(read)
    }
}
