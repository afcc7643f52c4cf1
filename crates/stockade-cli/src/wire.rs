//! Calls as they are sent: one JSON object each, unknown fields refused.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use stockade::ToolCall;
use stockade::call::file::BadInput;
use stockade::call::{
    BadSessionName, CallId, Code, Exec, FileCall, Foreign, Line, Tool, UnknownLanguage,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireCall {
    tool: String,
    #[serde(default)]
    input: Value,
    id: Option<String>,
    cwd: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireExec {
    argv: Vec<String>,
    stdin: Option<String>,
    /// Milliseconds.
    timeout: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireLine {
    command: String,
    /// Milliseconds.
    timeout: Option<u64>,
    #[serde(rename = "description")]
    _description: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireCode {
    language: String,
    source: String,
    session: Option<String>,
    /// Milliseconds.
    timeout: Option<u64>,
}

/// Reads one call. A tool that is not ours is kept with its input, for rules to judge.
pub(crate) fn parse(text: &str) -> Result<ToolCall, WireError> {
    let wire: WireCall = serde_json::from_str(text).map_err(WireError::NotACall)?;
    let (tool, timeout) = match wire.tool.as_str() {
        "Exec" | "exec" | "run" => {
            let input: WireExec = input(wire.input)?;
            let argv = input.argv.into_iter().map(OsString::from).collect();
            let stdin = input.stdin.unwrap_or_default().into_bytes();
            (Tool::Exec(Exec { argv, stdin }), input.timeout)
        }
        "Bash" | "bash" | "shell" => {
            let input: WireLine = input(wire.input)?;
            (Tool::Line(Line { text: input.command.into() }), input.timeout)
        }
        "Code" | "code" | "run_code" => {
            let input: WireCode = input(wire.input)?;
            let language = input.language.parse().map_err(WireError::BadLanguage)?;
            let session = input.session.map(|name| name.parse()).transpose();
            let session = session.map_err(WireError::BadSession)?;
            let source = input.source.into_bytes();
            (Tool::Code(Code { language, source, session }), input.timeout)
        }
        _ => {
            let input =
                if wire.input.is_null() { serde_json::Map::new() } else { input(wire.input)? };
            match FileCall::parse(&wire.tool, &input) {
                Some(file) => (Tool::File(file.map_err(WireError::BadFileInput)?), None),
                None => (Tool::Unknown(Foreign { name: wire.tool, input }), None),
            }
        }
    };
    let mut call = ToolCall::of(tool);
    call.cwd = wire.cwd;
    call.wall = timeout.map(Duration::from_millis);
    if let Some(id) = wire.id {
        call.id = CallId::parse(&id).ok_or(WireError::BadId)?;
    }
    Ok(call)
}

fn input<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, WireError> {
    serde_json::from_value(value).map_err(WireError::BadInput)
}

/// Why a line is no call.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WireError {
    #[error("this is no call: {0}")]
    NotACall(serde_json::Error),
    #[error("the input does not fit the tool: {0}")]
    BadInput(serde_json::Error),
    #[error("the input does not fit the tool: {0}")]
    BadLanguage(UnknownLanguage),
    #[error("the input does not fit the tool: {0}")]
    BadFileInput(BadInput),
    #[error("the input does not fit the tool: {0}")]
    BadSession(BadSessionName),
    #[error("the id is not 1 to 64 letters, digits, or -_.:")]
    BadId,
}
