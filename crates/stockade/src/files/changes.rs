//! What a call changed, as the report lists it.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use data_encoding::BASE64;
use serde::Serialize;

/// One file that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Beneath the root, or absolute if it is elsewhere; what is no text in it is replaced.
    pub path: String,
    /// The same exactly, as Base64, if it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_base64: Option<String>,
    /// What became of it.
    pub kind: Kind,
    /// Its size now; none if it is gone.
    pub size: Option<u64>,
    /// The SHA-256 of what was in it before, where that is known.
    pub before: Option<String>,
    /// The SHA-256 of what is in it now.
    pub after: Option<String>,
    /// How code runs from it later, outside of any box, if it does.
    pub runs_code: Option<&'static str>,
}

/// The exact bytes of a path, as they are told where it is no text.
pub(super) fn exact(path: &Path) -> Option<String> {
    path.to_str().is_none().then(|| BASE64.encode(path.as_os_str().as_bytes()))
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It was made.
    Created,
    /// What is in it, or its mode, was changed.
    Modified,
    /// It is gone.
    Deleted,
}

/// The files that a run changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// In the order of their paths.
    pub files: Vec<Change>,
    /// What was not looked at, a line for each reason.
    pub unseen: Vec<String>,
}
