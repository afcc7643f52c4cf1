//! A copy of a program that a test executes right after it made it.
//!
//! Linux refuses to execute a file that anybody has open for writing (`ETXTBSY`). Tests run in threads
//! of one process, so a child that another test forks meanwhile holds such a descriptor until its own
//! exec. Here a process of its own writes the file, and nobody inherits from it.

use std::path::Path;
use std::process::Command;

/// Copies a program to where everybody may execute it.
#[expect(clippy::disallowed_methods, reason = "a test makes its own file")]
pub(crate) fn copy_program(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let (from, to) = (from.as_ref(), to.as_ref());
    let status = Command::new("install").args(["-m", "755"]).arg(from).arg(to).status().unwrap();
    assert!(status.success(), "{} is not copied to {}", from.display(), to.display());
}
