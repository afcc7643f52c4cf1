//! Patches of Codex (`apply_patch`): the files that a patch would write and delete.
//!
//! A patch is parsed completely or is an error. Lines that could be read in two ways count both
//! ways, so that every file is found.

use std::path::PathBuf;

/// The names of the program and of the tool.
pub(crate) const NAMES: [&str; 2] = ["apply_patch", "applypatch"];

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const END_OF_FILE: &str = "*** End of File";
const ADD: &str = "*** Add File: ";
const UPDATE: &str = "*** Update File: ";
const DELETE: &str = "*** Delete File: ";
const MOVE: &str = "*** Move to: ";
/// Names the machine of the patch. Codex accepts it once, before the first file.
const ENVIRONMENT: &str = "*** Environment ID:";

/// A file that a patch changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchedFile {
    /// The change.
    pub change: Change,
    /// The path as written.
    pub path: PathBuf,
    /// Whether the patch depends on the content of the file, because it updates or moves it.
    pub reads: bool,
}

/// The change of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It is created or updated.
    Write,
    /// It is deleted, or moved to another name.
    Delete,
}

/// Why a text is not a valid patch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// It has no beginning.
    #[error("the patch does not begin with `*** Begin Patch`")]
    NoBegin,
    /// It has no end.
    #[error("the patch does not end with `*** End Patch`")]
    NoEnd,
    /// It changes nothing.
    #[error("the patch names no file")]
    NoFile,
    /// A header without a path.
    #[error("line {0} of the patch names no file")]
    NoPath(usize),
    /// A line that is not valid where it stands.
    #[error("line {0} of the patch is neither a header nor part of a change")]
    Stray(usize),
}

/// The files that a patch writes and deletes, in their order.
pub fn patched_files(text: &str) -> Result<Vec<PatchedFile>, PatchError> {
    let text = without_heredoc(text.trim());
    let mut lines: Vec<&str> = text.trim().lines().collect();
    if lines.first().is_none_or(|line| line.trim() != BEGIN) {
        return Err(PatchError::NoBegin);
    }
    if lines.len() < 2 || lines.pop().is_none_or(|line| line.trim() != END) {
        return Err(PatchError::NoEnd);
    }
    let mut files: Vec<PatchedFile> = Vec::new();
    let mut section = Section::None;
    let mut has_environment = false;
    for (at, line) in lines.into_iter().enumerate().skip(1) {
        let number = at.saturating_add(1);
        if section == Section::None && !has_environment && names_environment(line) {
            has_environment = true;
            continue;
        }
        if let Some((header, paths)) = header(line) {
            if paths.iter().any(|path| path.as_os_str().is_empty()) {
                return Err(PatchError::NoPath(number));
            }
            section = header.section(section, &mut files).ok_or(PatchError::Stray(number))?;
            let (change, reads) = (header.change(), header == Header::Update);
            files.extend(paths.into_iter().map(|path| PatchedFile { change, path, reads }));
            continue;
        }
        if !section.takes(line) {
            return Err(PatchError::Stray(number));
        }
        if section == Section::Head {
            section = Section::Update;
        }
    }
    if files.is_empty() { Err(PatchError::NoFile) } else { Ok(files) }
}

/// The section that a header starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    None,
    Add,
    Delete,
    /// Directly after the header of an update, where a new name may follow.
    Head,
    Update,
}

impl Section {
    /// Whether a line that is not a header may stand here.
    fn takes(self, line: &str) -> bool {
        let is_blank = line.trim().is_empty();
        match self {
            Self::None | Self::Delete => is_blank,
            Self::Add => line.starts_with('+') || is_blank,
            Self::Head | Self::Update => {
                let is_marker = line.trim() == END_OF_FILE;
                // Unknown markers would be skipped otherwise.
                let is_other_marker = line.trim_start().starts_with("***") && !is_marker;
                let is_part = line.starts_with(['+', '-', ' ']) || line.starts_with("@@");
                is_blank || is_marker || (is_part && !is_other_marker)
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Header {
    Add,
    Update,
    Delete,
    Move,
}

impl Header {
    fn change(self) -> Change {
        if self == Self::Delete { Change::Delete } else { Change::Write }
    }

    /// The section that a header starts, if it may follow the one before. A move deletes the old
    /// name.
    fn section(self, before: Section, files: &mut [PatchedFile]) -> Option<Section> {
        match (self, before) {
            (Self::Add, _) => Some(Section::Add),
            (Self::Delete, _) => Some(Section::Delete),
            (Self::Update, _) => Some(Section::Head),
            (Self::Move, Section::Head) => {
                files.last_mut()?.change = Change::Delete;
                Some(Section::Update)
            }
            (Self::Move, _) => None,
        }
    }
}

/// Whether a line names the machine of the patch. The files are judged as files of this machine.
fn names_environment(line: &str) -> bool {
    line.trim().strip_prefix(ENVIRONMENT).is_some_and(|name| !name.trim().is_empty())
}

/// A header and its path, with and without trailing spaces.
fn header(line: &str) -> Option<(Header, Vec<PathBuf>)> {
    // Codex trims some of these lines and not others.
    let start = line.trim_start();
    let all = [
        (ADD, Header::Add),
        (UPDATE, Header::Update),
        (DELETE, Header::Delete),
        (MOVE, Header::Move),
    ];
    all.into_iter().find_map(|(prefix, header)| {
        // A header without a path loses its last space.
        let bare = start.trim_end() == prefix.trim_end();
        let rest = if bare { Some("") } else { start.strip_prefix(prefix) }?;
        let mut paths = vec![PathBuf::from(rest.trim())];
        if rest.trim() != rest && !rest.trim().is_empty() {
            paths.push(PathBuf::from(rest));
        }
        Some((header, paths))
    })
}

/// The text inside `<<EOF … EOF`, which models add.
fn without_heredoc(text: &str) -> &str {
    let Some((first, rest)) = text.split_once('\n') else { return text };
    let Some(word) = first.trim().strip_prefix("<<") else { return text };
    let word = word.trim_matches(['\'', '"']);
    match rest.trim_end().strip_suffix(word) {
        Some(inside) if !word.is_empty() => inside,
        _ => text,
    }
}

#[cfg(test)]
mod tests;
