//! `Edit`: one text in a file replaced by another.

use memchr::memmem::Finder;

use super::error::FileError;
use super::{Job, Told, lines, nearest, open, put};
use crate::call::file::{Edit, Occurrence};

/// The largest file that is edited.
const BYTES_MAX: u64 = 64 << 20;
/// Lines that are named where a text is there too often.
const LINES_NAMED: usize = 10;

/// Replaces the text if it is there exactly once, or wherever it is.
pub(super) fn edit(job: &Job<'_>, edit: &Edit) -> Result<Told, FileError> {
    let path = &job.place.real;
    if edit.old == edit.new {
        return Err(FileError::NoEdit("old_string and new_string are the same"));
    }
    if edit.old.is_empty() && job.place.file.is_none() {
        return put::put(job, None, None, edit.new.as_bytes());
    }
    let (file, stat) = open::judged(job.place)?;
    let bytes = open::whole(&file, &stat, path, BYTES_MAX)?;
    if edit.old.is_empty() && !bytes.is_empty() {
        let why = "old_string is empty, and the file is not; Write replaces all of it";
        return Err(FileError::NoEdit(why));
    }
    let (old, new) = fitting(&bytes, edit);
    let found: Vec<usize> =
        if edit.old.is_empty() { vec![0] } else { Finder::new(&old).find_iter(&bytes).collect() };
    match (found.as_slice(), edit.occurrence) {
        ([], _) => {
            let nearest = nearest::nearest(&bytes, &edit.old);
            return Err(FileError::NotFound { path: path.clone(), nearest });
        }
        ([_], _) | (_, Occurrence::All) => {}
        (several, Occurrence::Once) => {
            let numbers: Vec<String> = several
                .iter()
                .take(LINES_NAMED)
                .map(|at| lines::number(&bytes, *at).to_string())
                .collect();
            let more = if several.len() > LINES_NAMED { ", …" } else { "" };
            let (count, lines) = (several.len(), format!("{}{more}", numbers.join(", ")));
            return Err(FileError::Several { path: path.clone(), count, lines });
        }
    }
    let made = replaced(&bytes, &found, old.len(), &new);
    let old_file = (file, stat);
    let mut told = put::put(job, Some(&old_file), Some(&bytes), &made)?;
    if found.len() > 1 {
        told.remarks.push(format!("{} places were replaced", found.len()));
    }
    Ok(told)
}

/// The two texts with the line ends that the file has where the old one is to be found.
fn fitting(bytes: &[u8], edit: &Edit) -> (Vec<u8>, Vec<u8>) {
    let (old, new) = (edit.old.as_bytes(), edit.new.as_bytes());
    let with_ends = || (lines::to_windows(old), lines::to_windows(new));
    if lines::are_windows(bytes) {
        return with_ends();
    }
    let is_there = |text: &[u8]| Finder::new(text).find(bytes).is_some();
    if !is_there(old) && is_there(&with_ends().0) {
        with_ends()
    } else {
        (old.to_vec(), new.to_vec())
    }
}

fn replaced(bytes: &[u8], found: &[usize], long: usize, new: &[u8]) -> Vec<u8> {
    let mut made = Vec::with_capacity(bytes.len());
    let mut from = 0_usize;
    for at in found {
        made.extend_from_slice(bytes.get(from..*at).unwrap_or_default());
        made.extend_from_slice(new);
        from = at.saturating_add(long);
    }
    made.extend_from_slice(bytes.get(from..).unwrap_or_default());
    made
}
