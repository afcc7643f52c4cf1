//! Splits the string of `env -S` into words.

/// The words, or none where `env` and a plain reading could differ: escapes, variables, comments
/// and unusual white space are not read.
pub(super) fn words(text: &[u8]) -> Option<Vec<Vec<u8>>> {
    if text.iter().any(|byte| b"\\$#\x0b\x0c\r\0".contains(byte)) {
        return None;
    }
    shlex::bytes::split(text)
}
