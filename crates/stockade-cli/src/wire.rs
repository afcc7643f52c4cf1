//! Calls as they are sent: one JSON object each, unknown fields refused.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value};
use stockade::ToolCall;
use stockade::call::{BadInput, CallId, Tool};

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
    let wire: WireCall = serde_json::from_str(text).map_err(WireError::NotACall)?;
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
    #[error("the id is not 1 to 64 letters, digits, or -_.:")]
    BadId,
}
