//! A file that is read until the time is up.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::time::Instant;

/// Keeps what went wrong, which a searcher passes on without saying whose fault it was.
#[derive(Debug)]
pub(super) struct BoundedReader<'f> {
    file: &'f File,
    until: Instant,
    error: Option<Error>,
}

impl<'f> BoundedReader<'f> {
    pub(super) fn new(file: &'f File, until: Instant) -> Self {
        Self { file, until, error: None }
    }

    /// Why reading ended before the file did, if it did.
    pub(super) fn into_error(self) -> Option<Error> {
        self.error
    }
}

impl Read for BoundedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let read = if Instant::now() >= self.until {
            Err(Error::from(ErrorKind::TimedOut))
        } else {
            self.file.read(buffer)
        };
        read.inspect_err(|error| {
            if error.kind() != ErrorKind::Interrupted {
                self.error = Some(Error::from(error.kind()));
            }
        })
    }
}
