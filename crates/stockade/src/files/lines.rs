//! How lines end in a file, so that a change keeps it.

/// Whether every line of a text ends as on Windows, and there is one.
pub(super) fn are_windows(bytes: &[u8]) -> bool {
    let mut before = 0_u8;
    let mut any = false;
    for byte in bytes {
        if *byte == b'\n' {
            if before != b'\r' {
                return false;
            }
            any = true;
        }
        before = *byte;
    }
    any
}

/// The same text with such line ends, whichever each of its lines has.
pub(super) fn to_windows(text: &[u8]) -> Vec<u8> {
    let mut made = Vec::with_capacity(text.len());
    let mut before = 0_u8;
    for byte in text {
        if *byte == b'\n' && before != b'\r' {
            made.push(b'\r');
        }
        made.push(*byte);
        before = *byte;
    }
    made
}

/// The number of the line in which a byte stands, from 1.
pub(super) fn number(bytes: &[u8], at: usize) -> usize {
    let before = bytes.get(..at).unwrap_or(bytes);
    memchr::memchr_iter(b'\n', before).count().saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::{are_windows, number, to_windows};

    #[test]
    fn line_ends_are_known_and_made() {
        for (text, windows) in
            [("a\r\nb", true), ("a\r\nb\n", false), ("a", false), ("\n", false), ("a\n\r\n", false)]
        {
            assert_eq!(are_windows(text.as_bytes()), windows, "{text:?}");
        }
        assert_eq!(to_windows(b"a\nb\r\n\n"), b"a\r\nb\r\n\r\n");
        assert_eq!((number(b"a\nb\n", 0), number(b"a\nb\n", 2), number(b"", 9)), (1, 2, 1));
    }
}
