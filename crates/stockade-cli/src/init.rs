//! `stockade init`: writes a commented starter policy.

use std::fs::File;
use std::io::{Error, ErrorKind, Result, Write};
use std::path::Path;

use stockade::policy::replace;

use crate::args::Init;
use crate::exit_code::Status;
use crate::{Answer, print};

const STARTER: &str = include_str!("../../../policies/starter.toml");
const PERMISSIONS: u32 = 0o644;

/// Writes the file, and replaces none unless told to.
pub(crate) fn init(init: &Init) -> Answer {
    let path = init.file.display();
    let written = if init.force { put_in_place(&init.file) } else { make(&init.file) };
    written.map_err(|error| {
        let remedy =
            if error.kind() == ErrorKind::AlreadyExists { "; --force replaces it" } else { "" };
        format!("write {path}: {error}{remedy}")
    })?;
    print::line(&format!("wrote {path}; try: stockade check run -- rm -rf ."))?;
    Ok(Status::Ok)
}

/// Makes a file that is not there. A link in its place is not followed.
fn make(path: &Path) -> Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(STARTER.as_bytes())
}

/// Replaces what is there, if it is a file. A call may have laid a link, and nobody asked for the file
/// that it leads to.
fn put_in_place(path: &Path) -> Result<()> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
        Ok(found) if found.is_symlink() => {
            return Err(Error::other("it is a link, which a call may have laid; remove it first"));
        }
        Ok(found) if !found.is_file() => return Err(Error::other("it is not a regular file")),
        Ok(_) => {}
    }
    replace(path, STARTER, PERMISSIONS)
}
