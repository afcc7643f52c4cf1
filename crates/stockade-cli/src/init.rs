//! `stockade init`: writes a commented starter policy.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};

use crate::args::Init;
use crate::exit_code::Status;
use crate::{Answer, render};

const STARTER: &str = include_str!("../../../policies/starter.toml");

/// Writes the file, and replaces none unless told to.
pub(crate) fn init(init: &Init) -> Answer {
    let mut options = OpenOptions::new();
    options.write(true);
    if init.force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let path = init.file.display();
    let mut file = options.open(&init.file).map_err(|error| {
        let remedy =
            if error.kind() == ErrorKind::AlreadyExists { "; --force replaces it" } else { "" };
        format!("write {path}: {error}{remedy}")
    })?;
    file.write_all(STARTER.as_bytes())?;
    render::say(&format!("wrote {path}; try: stockade check run -- rm -rf ."))?;
    Ok(Status::Ok)
}
