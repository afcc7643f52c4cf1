//! The data files as they are known when the crate is compiled: where blocks begin, and a table
//! of the names in them.
//!
//! All of this is computed by the compiler, so that a first question touches little memory.

/// A file of data and where its blocks begin.
#[derive(Debug, Clone, Copy)]
pub(super) struct File {
    pub(super) name: &'static str,
    pub(super) text: &'static str,
    pub(super) starts: &'static [usize],
}

/// How a block begins: its names are on the line after the mark.
const BEGINNING: &[u8] = b"[[program]]\nnames = [";

/// Where the next block begins, from a place on; the end of the text if there is none.
pub(super) const fn block_after(text: &str, from: usize) -> usize {
    let mut rest = match text.as_bytes().split_at_checked(from) {
        Some((_, rest)) => rest,
        None => &[],
    };
    while let [byte, after @ ..] = rest {
        if *byte == b'[' && begins(rest) {
            break;
        }
        rest = after;
    }
    text.len().saturating_sub(rest.len())
}

/// How many blocks a text has.
pub(super) const fn blocks(text: &str) -> usize {
    let (mut count, mut at) = (0_usize, block_after(text, 0));
    while at < text.len() {
        count = count.saturating_add(1);
        at = block_after(text, at.saturating_add(1));
    }
    count
}

const fn begins(text: &[u8]) -> bool {
    let (mut text, mut wanted) = (text, BEGINNING);
    while let [byte, after_wanted @ ..] = wanted {
        match text {
            [found, after @ ..] if *found == *byte => text = after,
            _ => return false,
        }
        wanted = after_wanted;
    }
    true
}

/// A place in the table of names.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    hash: u32,
    /// The block, counted over all files.
    block: u32,
}

impl Slot {
    const FREE: Self = Self { hash: 0, block: u32::MAX };

    /// The block, if its name may be the one of this hash.
    pub(super) fn block_of(self, hash: u32) -> Option<usize> {
        (self.hash == hash).then(|| usize::try_from(self.block).ok()).flatten()
    }

    pub(super) fn is_free(self) -> bool {
        self.block == u32::MAX
    }
}

/// Where a search for a hash begins in a table of so many places.
#[expect(clippy::as_conversions, reason = "a conversion that widens, in a constant")]
pub(super) const fn home(hash: u32, slots: usize) -> usize {
    match (hash as usize).checked_rem(slots) {
        Some(at) => at,
        None => 0,
    }
}

/// A hash for names that are in the data, so nobody can choose them to collide.
pub(super) const fn hash(name: &[u8]) -> u32 {
    let (mut hash, mut rest) = (0x811c_9dc5_u32, name);
    while let [byte, after @ ..] = rest {
        hash = step(hash, *byte);
        rest = after;
    }
    hash
}

#[expect(clippy::as_conversions, reason = "a conversion that widens, in a constant")]
const fn step(hash: u32, byte: u8) -> u32 {
    (hash ^ byte as u32).wrapping_mul(0x0100_0193)
}

/// The table of all names; it must have more places than there are names.
#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "evaluated at compile time, where a fault is an error of the compiler"
)]
pub(super) const fn table<const SLOTS: usize>(files: &[File]) -> [Slot; SLOTS] {
    let mut slots = [Slot::FREE; SLOTS];
    let (mut file, mut block) = (0, 0);
    while file < files.len() {
        let text = files[file].text.as_bytes();
        let mut start = 0;
        while start < files[file].starts.len() {
            let mut at = files[file].starts[start] + BEGINNING.len();
            let (mut inside, mut hash) = (false, 0);
            while text[at] != b'\n' {
                if text[at] != b'"' {
                    hash = step(hash, text[at]);
                } else if inside {
                    let mut slot = home(hash, SLOTS);
                    while slots[slot].block != u32::MAX {
                        slot = (slot + 1) % SLOTS;
                    }
                    slots[slot] = Slot { hash, block };
                    inside = false;
                } else {
                    inside = true;
                    hash = 0x811c_9dc5;
                }
                at += 1;
            }
            start += 1;
            block += 1;
        }
        file += 1;
    }
    slots
}
