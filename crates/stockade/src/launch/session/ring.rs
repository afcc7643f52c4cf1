//! The last output of processes that a call has left running.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::sync::{Mutex, PoisonError};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};

/// How much output it has.
const BYTES: u64 = 64 << 10;
/// Where the output begins in the file; before it is how much was written since the beginning.
const HEADER: u64 = 8;

/// A file in memory that holds the last 64 KiB that were written to it. Other processes may read it while
/// this one writes.
#[derive(Debug)]
pub struct LogRing {
    file: File,
    written: Mutex<u64>,
}

impl LogRing {
    /// An empty one.
    pub fn create() -> io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd = memfd_create(c"stockade-log", flags)?;
        ftruncate(&fd, HEADER.saturating_add(BYTES))?;
        fcntl_add_seals(&fd, SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
        Ok(Self { file: File::from(fd), written: Mutex::new(0) })
    }

    /// The ring that another process writes. Fails if the file is not one.
    pub fn from_descriptor(fd: OwnedFd) -> io::Result<Self> {
        let file = File::from(fd);
        if file.metadata()?.len() != HEADER.saturating_add(BYTES) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Self { file, written: Mutex::new(0) })
    }

    /// Appends output. What does not fit takes the place of the oldest.
    pub(crate) fn push(&self, bytes: &[u8]) -> io::Result<()> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        for piece in bytes.chunks(usize::try_from(BYTES).unwrap_or(usize::MAX)) {
            let at = *written % BYTES;
            let room = usize::try_from(BYTES.saturating_sub(at)).unwrap_or(usize::MAX);
            let (first, rest) = piece.split_at(room.min(piece.len()));
            self.file.write_all_at(first, HEADER.saturating_add(at))?;
            self.file.write_all_at(rest, HEADER)?;
            *written = written.saturating_add(u64::try_from(piece.len()).unwrap_or(BYTES));
            self.file.write_all_at(&written.to_ne_bytes(), 0)?;
        }
        Ok(())
    }

    /// The last output, oldest first.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let mut header = [0; 8];
        self.file.read_exact_at(&mut header, 0)?;
        let written = u64::from_ne_bytes(header);
        let mut bytes = vec![0; usize::try_from(written.min(BYTES)).unwrap_or_default()];
        self.file.read_exact_at(&mut bytes, HEADER)?;
        if written > BYTES {
            bytes.rotate_left(usize::try_from(written % BYTES).unwrap_or_default());
        }
        Ok(bytes)
    }
}

impl AsFd for LogRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_the_last_bytes_in_their_order_for_its_writer_and_for_another_reader() {
        let ring = LogRing::create().unwrap();
        let reader = LogRing::from_descriptor(ring.as_fd().try_clone_to_owned().unwrap()).unwrap();
        assert_eq!(ring.read().unwrap(), b"");
        ring.push(b"first\n").unwrap();
        assert_eq!(reader.read().unwrap(), b"first\n");
        let many: Vec<u8> = (0..100_000_u32).flat_map(|n| format!("{n}\n").into_bytes()).collect();
        ring.push(&many).unwrap();
        let end = &many[many.len() - (64 << 10)..];
        assert_eq!(ring.read().unwrap(), end);
        assert_eq!(reader.read().unwrap(), end);
        ring.push(b"last\n").unwrap();
        assert!(reader.read().unwrap().ends_with(b"99999\nlast\n"));
        assert_eq!(reader.read().unwrap().len(), 64 << 10);
    }

    #[test]
    fn another_file_is_none() {
        let file = tempfile::tempfile().unwrap();
        assert!(LogRing::from_descriptor(file.into()).is_err());
    }
}
