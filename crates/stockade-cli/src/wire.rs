//! Calls as they are sent: one JSON object each, unknown fields refused.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value};
use stockade::call::{BadInput, CallId, Tool};
use stockade::{ToolCall, json};

/// The most bytes of a path. Linux accepts no more (`PATH_MAX`), and messages quote the path.
const PATH_BYTES_MAX: usize = 4096;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireCall {
    tool: String,
    #[serde(default)]
    input: Option<Map<String, Value>>,
    id: Option<String>,
    cwd: Option<PathBuf>,
}

/// Reads one call.
pub(crate) fn parse(text: &str) -> Result<ToolCall, WireError> {
    let wire: WireCall = json::from_str(text).map_err(WireError::NotACall)?;
    let cwd_bytes = wire.cwd.as_ref().map_or(0, |cwd| cwd.as_os_str().len());
    if cwd_bytes > PATH_BYTES_MAX {
        return Err(WireError::LongCwd(cwd_bytes));
    }
    let parsed = Tool::parse(&wire.tool, wire.input.unwrap_or_default());
    let (tool, wall) = parsed.map_err(WireError::BadInput)?;
    let mut call = ToolCall { cwd: wire.cwd, wall, ..ToolCall::of(tool) };
    if let Some(id) = wire.id {
        call.id = CallId::parse(&id).ok_or(WireError::BadId)?;
    }
    Ok(call)
}

/// Why a line is no call.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WireError {
    #[error("this is no call: {0}")]
    NotACall(serde_json::Error),
    #[error("the input does not fit the tool: {0}")]
    BadInput(BadInput),
    #[error("cwd has {0} bytes; at most {PATH_BYTES_MAX} are accepted")]
    LongCwd(usize),
    #[error("the id is not 1 to 64 letters, digits, or -_.:")]
    BadId,
}
