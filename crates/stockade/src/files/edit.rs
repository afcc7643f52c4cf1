//! `Edit`: one text in a file replaced by another.

use std::borrow::Cow;
use std::path::Path;

use memchr::memmem::Finder;

use super::error::FileError;
use super::{Job, ToolOutput, lines, open, suggest, write};
use crate::call::file::{Edit, Occurrence};

/// The largest file that is edited.
const BYTES_MAX: u64 = 64 << 20;
/// Lines that are named where a text is there too often.
const LINES_NAMED: usize = 10;

/// Replaces the text if it is there exactly once, or wherever it is.
pub(super) fn edit(job: &Job<'_>, edit: &Edit) -> Result<ToolOutput, FileError> {
    let path = &job.place.real;
    if edit.old == edit.new {
        return Err(FileError::NoEdit("old_string and new_string are the same"));
    }
    if edit.old.is_empty() && job.place.file.is_none() {
        return write::write_bytes(job, None, None, edit.new.as_bytes());
    }
    let (file, stat) = open::judged(job.place)?;
    let bytes = open::whole(&file, &stat, path, BYTES_MAX)?;
    if edit.old.is_empty() && !bytes.is_empty() {
        let why = "old_string is empty, and the file is not; Write replaces all of it";
        return Err(FileError::NoEdit(why));
    }
    let (old, new) = fitting(&bytes, edit);
    let finder = Finder::new(&old);
    // An empty text is looked for in an empty file alone, and is there once.
    let count = finder.find_iter(&bytes).count();
    let twice = if count == 1 { overlapping(&bytes, &finder) } else { None };
    match (count, edit.occurrence) {
        (0, _) => {
            let nearest = suggest::suggest(&bytes, &edit.old, job.until);
            return Err(FileError::NotFound { path: path.clone(), nearest });
        }
        (1, Occurrence::Once) if twice.is_none() => {}
        (_, Occurrence::All) => {}
        (_, Occurrence::Once) => {
            let places = twice.unwrap_or_else(|| {
                finder.find_iter(&bytes).take(LINES_NAMED.saturating_add(1)).collect()
            });
            return Err(several(path, &bytes, &places, count));
        }
    }
    let made = replaced(&bytes, &finder, count, &new).map_err(|size| FileError::TooLarge {
        path: path.clone(),
        bytes: size,
        most: BYTES_MAX,
    })?;
    let old_file = (file, stat);
    let mut told = write::write_bytes(job, Some(&old_file), Some(&bytes), &made)?;
    if count > 1 {
        told.remarks.push(format!("{count} places were replaced"));
    }
    Ok(told)
}

/// The first two places of a text if they have bytes in common: it is not there exactly once.
fn overlapping(bytes: &[u8], finder: &Finder<'_>) -> Option<Vec<usize>> {
    let first = finder.find(bytes)?;
    let next = first.checked_add(1)?;
    let second = finder.find(bytes.get(next..).filter(|rest| !rest.is_empty())?)?;
    Some(vec![first, next.saturating_add(second)])
}

fn several(path: &Path, bytes: &[u8], places: &[usize], count: usize) -> FileError {
    let numbers: Vec<String> =
        places.iter().take(LINES_NAMED).map(|at| lines::number(bytes, *at).to_string()).collect();
    let more = if places.len() > LINES_NAMED { ", …" } else { "" };
    let lines = format!("{}{more}", numbers.join(", "));
    FileError::Several { path: path.to_owned(), count: count.max(places.len()), lines }
}

/// The two texts with the line ends that the file has where the old one is to be found.
fn fitting<'e>(bytes: &[u8], edit: &'e Edit) -> (Cow<'e, [u8]>, Cow<'e, [u8]>) {
    let (old, new) = (edit.old.as_bytes(), edit.new.as_bytes());
    let with_ends = || (lines::to_windows(old).into(), lines::to_windows(new).into());
    if lines::are_windows(bytes) {
        return with_ends();
    }
    let is_there = |text: &[u8]| Finder::new(text).find(bytes).is_some();
    if !is_there(old) && is_there(&lines::to_windows(old)) {
        with_ends()
    } else {
        (old.into(), new.into())
    }
}

/// The text with all places replaced, or how long it would be if that is too much.
fn replaced(bytes: &[u8], finder: &Finder<'_>, count: usize, new: &[u8]) -> Result<Vec<u8>, u64> {
    let long = finder.needle().len();
    let kept = bytes.len().saturating_sub(count.saturating_mul(long));
    let size = kept.saturating_add(count.saturating_mul(new.len()));
    let told = u64::try_from(size).unwrap_or(u64::MAX);
    if told > BYTES_MAX {
        return Err(told);
    }
    let mut made = Vec::with_capacity(size);
    let mut from = 0_usize;
    for at in finder.find_iter(bytes) {
        made.extend_from_slice(bytes.get(from..at).unwrap_or_default());
        made.extend_from_slice(new);
        from = at.saturating_add(long);
    }
    made.extend_from_slice(bytes.get(from..).unwrap_or_default());
    Ok(made)
}
