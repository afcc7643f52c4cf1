//! The file tools, carried out on handles that the gate judged. Decides nothing: what may be seen
//! and written was settled before, and is asked of the caller for each file that a search meets.

pub mod changes;
mod digest;
mod edit;
mod error;
pub(crate) mod folders;
mod glob;
mod grep;
mod ignore_lists;
pub mod leftover;
mod lines;
mod suggest;
mod open;
mod write;
mod read;
pub mod risky;
mod tool_output;
mod tree;

use std::fmt;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::Instant;

use rustix::fs::Stat;

pub use changes::{Change, ChangeKind, Changes};
pub use error::FileError;
pub use tool_output::ToolOutput;

use crate::call::FileCall;
use crate::inspect::ResolvedPath;

/// Which files a search may look at and name.
pub trait Visibility: fmt::Debug + Send {
    /// Whether this real path may be shown.
    fn sees(&self, path: &Path) -> bool;

    /// Whether a file may have another name that must not be shown.
    fn hides_link(&self, stat: &Stat) -> bool;
}

/// One call with all that it needs.
#[derive(Debug)]
pub struct Job<'j> {
    /// What is to be done.
    pub call: &'j FileCall,
    /// With which file or folder.
    pub place: &'j ResolvedPath,
    /// What a search may look at.
    pub sight: &'j dyn Visibility,
    /// The project root: the handle, and its real path.
    pub root: (BorrowedFd<'j>, &'j Path),
    /// Paths are told relative to this folder.
    pub told_from: &'j Path,
    /// A private folder in which writes are noted until they are done.
    pub notes: BorrowedFd<'j>,
    /// Bytes of each stream of the answer.
    pub output_max: usize,
    /// The largest file that may be written.
    pub file_bytes_max: u64,
    /// When to stop.
    pub until: Instant,
}

impl Job<'_> {
    /// Carries it out. What goes wrong is told, as a program would on standard error.
    pub fn perform(&self) -> Result<ToolOutput, FileError> {
        match self.call {
            FileCall::Read(read) => read::read(self, read),
            FileCall::Write(write) => write::write(self, write),
            FileCall::Edit(edit) => edit::edit(self, edit),
            FileCall::Glob(glob) => glob::glob(self, glob),
            FileCall::Grep(grep) => grep::grep(self, grep),
        }
    }

    /// Whether the time is up.
    pub(crate) fn is_late(&self) -> bool {
        Instant::now() >= self.until
    }
}
