//! `stockade code`: source in, the output of its interpreter out.

use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use stockade::ToolCall;
use stockade::call::Language;

use crate::args::{Code, SourceText};
use crate::run::perform;
use crate::{Answer, session, setup};

/// What source may hold: it is kept in memory, and so is the box's copy.
pub(crate) const SOURCE_BYTES_MAX: u64 = 64 << 20;

/// Runs source.
pub(crate) fn code(code: &Code) -> Answer {
    if let Some(name) = &code.session {
        return session::code(code, name);
    }
    let call = call(&code.source)?;
    perform(&setup::stockade(&code.common, &[])?, call, &code.common, None)
}

/// The call that was typed.
pub(crate) fn call(typed: &SourceText) -> Result<ToolCall, Box<dyn std::error::Error>> {
    Ok(ToolCall::code(language(typed)?, source(typed)?))
}

/// The language that was typed.
pub(crate) fn language(typed: &SourceText) -> Result<Language, Box<dyn std::error::Error>> {
    typed.lang.ok_or_else(|| "run source: name its language with --lang".into())
}

/// The source that was typed or named.
pub(crate) fn source(typed: &SourceText) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    Ok(match &typed.eval {
        Some(source) => source.as_bytes().to_vec(),
        None if typed.file == Path::new("-") => read(std::io::stdin().lock(), "standard input")?,
        None => {
            let name = typed.file.display().to_string();
            let file = File::open(&typed.file).map_err(|error| format!("open {name}: {error}"))?;
            read(file, &name)?
        }
    })
}

fn read(source: impl Read, name: &str) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut bytes = Vec::new();
    let read = source.take(SOURCE_BYTES_MAX.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| format!("read the source from {name}: {error}"))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > SOURCE_BYTES_MAX) {
        return Err(format!("read the source from {name}: it is larger than 64 MiB").into());
    }
    Ok(bytes)
}
