//! The six kinds of calls that are judged, one file each, and what several of them share.

pub(super) mod code;
pub(super) mod exec;
pub(super) mod external;
pub(super) mod file;
pub(super) mod line;
pub(super) mod tool;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::call::{ARGUMENT_BYTES_MAX, Tool};

/// The words of a call of which nothing else is known.
pub(super) fn raw_words(tool: &Tool) -> Vec<OsString> {
    match tool {
        Tool::Exec(exec) => exec.argv.clone(),
        // The words of a line that no shell takes would need several times its memory.
        Tool::Line(line) if line.text.len() >= ARGUMENT_BYTES_MAX => Vec::new(),
        Tool::Line(line) => split(&line.text).unwrap_or_default(),
        Tool::File(file) => file::words(file),
        Tool::Code(_) | Tool::Unknown(_) | Tool::Malformed(_) => Vec::new(),
    }
}

/// Splits a line once, by the rules of quoting that a shell has, and by none of its others.
fn split(line: &OsStr) -> Option<Vec<OsString>> {
    let words = shlex::bytes::split(line.as_bytes())?;
    Some(words.into_iter().map(OsString::from_vec).collect())
}
