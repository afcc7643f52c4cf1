//! The first line of a script, as the kernel reads it.

use std::ffi::{OsStr, OsString};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;

use crate::bounded;

/// What the kernel reads of a script to find its interpreter (`BINPRM_BUF_SIZE`).
const SHEBANG_BYTES: u64 = 256;

/// The words of a `#!` line as the kernel takes them: all after the first is one argument.
pub(super) fn shebang(file: BorrowedFd<'_>) -> Option<Vec<OsString>> {
    let head = bounded::read_head(file, SHEBANG_BYTES).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|byte| matches!(byte, b'\n' | 0)).next()?;
    let line = without_blanks(line);
    let end = line.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(line.len());
    let (program, rest) = line.split_at_checked(end)?;
    let words = [program, without_blanks(rest)].into_iter().filter(|word| !word.is_empty());
    Some(words.map(|word| OsStr::from_bytes(word).to_owned()).collect())
}

/// Without spaces and tabs around it. To the kernel a carriage return is a part of the name.
fn without_blanks(mut line: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = line {
        line = rest;
    }
    line
}
