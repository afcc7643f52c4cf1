//! A closer look at what seems to be changed: hashes, within bounds.

use std::os::fd::AsFd;

use rustix::fs::{FileType, OFlags};

use super::after::Found;
use super::bounds::{Bounds, Deadline};
use super::candidate::{Candidate, What};
use super::listing::{Listing, Start};
use super::unseen::{Unseen, Why};
use crate::files::digest::{BYTES_MAX, of_file};
use crate::files::open::{beneath, regular};
use crate::files::{Change, FileError};

/// What is read of changed files to hash them.
pub(super) const HASHED_BYTES_MAX: u64 = 64 << 20;

/// Hashes one file after the other; what finds no room is named.
pub(super) struct Hashing<'h> {
    starts: &'h [Start],
    before: &'h Listing,
    bytes_left: u64,
    until: Deadline,
    unseen: &'h mut Unseen,
}

impl<'h> Hashing<'h> {
    pub(super) fn new(
        (starts, before): (&'h [Start], &'h Listing),
        bounds: Bounds,
        unseen: &'h mut Unseen,
    ) -> Self {
        Self { starts, before, bytes_left: HASHED_BYTES_MAX, until: bounds.end(), unseen }
    }

    /// The change with its hashes; none if nothing that matters is other than before.
    pub(super) fn change(&mut self, candidate: Candidate) -> Option<Change> {
        let Candidate { path, path_base64, runs_code, what } = candidate;
        let found = match what {
            What::Placed(change) => return Some(*change),
            What::Found(found) => found,
        };
        let after = self.hash(&found, &path);
        let known = found.entry.and_then(|entry| self.before.known(entry));
        if let (Some(known), Some(described)) = (known, found.described)
            && known.hash.is_some()
            && (&known.hash, known.mode) == (&after, described.mode)
        {
            return None;
        }
        let size = found.described.map(|described| described.size);
        let before = known.and_then(|known| known.hash.clone());
        let kind = found.kind;
        Some(Change { path, path_base64, kind, size, before, after, runs_code })
    }

    fn hash(&mut self, found: &Found, told: &str) -> Option<String> {
        let described = found.described?;
        if described.kind != FileType::RegularFile || described.size > BYTES_MAX {
            return None;
        }
        if !self.has_room(described.size) {
            self.unseen.add(Why::Unhashed, || told.to_owned());
            return None;
        }
        match self.read(found) {
            Ok(hash) => hash,
            Err(_) => {
                self.unseen.add(Why::Unread, || told.to_owned());
                None
            }
        }
    }

    /// Takes so many bytes, if there are so many left and there is time.
    fn has_room(&mut self, bytes: u64) -> bool {
        let Some(left) = self.bytes_left.checked_sub(bytes) else { return false };
        self.bytes_left = left;
        !self.until.is_over()
    }

    fn read(&self, found: &Found) -> Result<Option<String>, FileError> {
        let Some(folder) = self.starts.get(found.start) else { return Ok(None) };
        let path = &found.below;
        let handle = beneath(folder.handle.as_fd(), path, OFlags::PATH)
            .map_err(FileError::system("open", path))?;
        // Read, and not remembered: a page that is mapped can be written again within one ctime.
        let (file, stat) = regular(handle.as_fd(), path)?;
        of_file(&file, &stat).map_err(|source| FileError::System {
            doing: "read",
            path: path.clone(),
            source,
        })
    }
}
