//! The memory file of a plan: bytes that are found again by their offsets.

use std::ffi::{CStr, CString};

use crate::protocol::Plain;

/// Bytes that grow, and offsets into them. Offset zero stands for "none".
#[derive(Debug)]
pub(crate) struct Blob {
    bytes: Vec<u8>,
    once: Vec<(CString, u64)>,
}

impl Blob {
    const WORD: usize = size_of::<u64>();

    /// Nothing yet, but for a word that no offset points to.
    pub(crate) fn new() -> Self {
        Self { bytes: vec![0; Self::WORD], once: Vec::new() }
    }

    /// Adds a string.
    pub(crate) fn text(&mut self, text: &CStr) -> u64 {
        self.bytes(text.to_bytes_with_nul())
    }

    /// Adds a string, or finds it where it was added before in this way.
    pub(crate) fn text_once(&mut self, text: &CStr) -> u64 {
        if let Some((_, offset)) = self.once.iter().find(|(known, _)| known.as_c_str() == text) {
            return *offset;
        }
        let offset = self.text(text);
        self.once.push((text.to_owned(), offset));
        offset
    }

    /// Adds plain bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> u64 {
        let offset = self.end();
        self.bytes.extend_from_slice(bytes);
        offset
    }

    /// Adds an array, at the start of a word.
    pub(crate) fn array<T: Plain>(&mut self, items: &[T]) -> u64 {
        self.bytes.resize(self.bytes.len().next_multiple_of(Self::WORD), 0);
        let offset = self.end();
        for item in items {
            self.bytes.extend_from_slice(item.bytes());
        }
        offset
    }

    /// All bytes, closed by a zero.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }

    fn end(&self) -> u64 {
        u64::try_from(self.bytes.len()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_arrays_are_found_at_their_offsets() {
        let mut blob = Blob::new();
        let text = blob.text(c"abc");
        let array = blob.array(&[7_u64, 9]);
        assert_eq!((text, array), (8, 16));
        let bytes = blob.finish();
        assert_eq!(&bytes[8..12], b"abc\0");
        assert_eq!((bytes.len(), bytes[16], bytes[24], bytes[32]), (33, 7, 9, 0));
    }
}
