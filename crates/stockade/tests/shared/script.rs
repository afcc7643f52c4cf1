//! A script that a test executes right after it wrote it: by a process of its own, as in `program.rs`.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a script that everybody may execute, in place of what was there.
#[expect(clippy::disallowed_methods, reason = "a test makes its own file")]
pub(crate) fn write_script(to: impl AsRef<Path>, text: &str) {
    let mut install = Command::new("install");
    install.args(["-m", "755", "/dev/stdin"]).arg(to.as_ref()).stdin(Stdio::piped());
    let mut child = install.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{} is not written", to.as_ref().display());
}
