//! Why a file tool could not do what it was asked to.

use std::io;
use std::path::PathBuf;

use rustix::fs::FileType;

/// What a file tool says where a program would write to standard error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// There is no such file.
    #[error("there is no {0:?}")]
    Missing(PathBuf),
    /// It is something else than a file.
    #[error("{path:?} is {what}, and no regular file{}", hint(.what))]
    NoFile {
        /// Where.
        path: PathBuf,
        /// What it is instead.
        what: &'static str,
    },
    /// It is no text.
    #[error("{path:?} is binary ({bytes} bytes); look at it with a program (Bash)")]
    Binary {
        /// Where.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// It is too large for this.
    #[error("{path:?} would have {bytes} bytes, and the most is {most}")]
    TooLarge {
        /// Where.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// What can be.
        most: u64,
    },
    /// The system refused.
    #[error("could not {doing} {path:?}: {source}")]
    System {
        /// What was being done.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// What it said.
        #[source]
        source: io::Error,
    },
    /// Another has changed it in the meantime.
    #[error("{0:?} was changed by somebody else in the meantime; read it again")]
    Changed(PathBuf),
    /// What is to be replaced is not there.
    #[error("old_string is not in {path:?}; {nearest}")]
    NotFound {
        /// Where.
        path: PathBuf,
        /// What comes near it.
        nearest: String,
    },
    /// What is to be replaced is there more than once.
    #[error(
        "old_string is {count} times in {path:?}, at lines {lines}; \
         give more of what is around it, or set replace_all"
    )]
    Several {
        /// Where.
        path: PathBuf,
        /// How often.
        count: usize,
        /// The first of them.
        lines: String,
    },
    /// The edit makes no sense.
    #[error("{0}")]
    NoEdit(&'static str),
    /// The pattern cannot be read.
    #[error("the pattern cannot be used: {0}")]
    Pattern(String),
    /// The time is up.
    #[error("the time is up; nothing was changed")]
    Late,
}

impl FileError {
    /// The system's refusal to do something with a path.
    pub(crate) fn system(
        doing: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(rustix::io::Errno) -> Self {
        let path = path.into();
        move |errno| Self::System { doing, path, source: errno.into() }
    }
}

/// What a file that is none is called.
pub(crate) fn what(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "a folder",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Symlink => "a link",
        FileType::RegularFile | FileType::Unknown => "something unknown",
    }
}

fn hint(what: &str) -> &'static str {
    if what == "a folder" { "; use Glob to see what is in it" } else { "" }
}
