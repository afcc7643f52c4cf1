//! Calls as they are sent: one JSON object each, unknown fields refused.

use std::borrow::Cow;
use std::path::PathBuf;

use data_encoding::BASE64;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use stockade::call::{BadInput, BadSessionName, CallId, Tool};
use stockade::{OutputEvent, ToolCall, json};

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
    /// The session of the call.
    session: Option<String>,
    /// Whether output is sent while the call runs.
    #[serde(default)]
    stream: bool,
    /// Whether standard output and standard error are one pipe.
    #[serde(default)]
    merge: bool,
}

/// A call as it was sent.
pub(crate) struct SentCall {
    pub(crate) call: ToolCall,
    /// Whether its output is sent while it runs.
    pub(crate) is_streamed: bool,
}

/// Reads one call.
pub(crate) fn parse(text: &str) -> Result<SentCall, WireError> {
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
    call.streams.merged = wire.merge;
    if let Some(name) = wire.session {
        call = call.in_session(name.parse().map_err(WireError::BadSession)?);
    }
    Ok(SentCall { call, is_streamed: wire.stream })
}

/// A piece of a call's output, as it is sent.
#[derive(Debug, Serialize)]
pub(crate) struct StreamEvent<'e> {
    call: &'e str,
    /// `stdout` or `stderr`.
    event: &'static str,
    text: Cow<'e, str>,
    /// The bytes, where they are not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

impl<'e> StreamEvent<'e> {
    pub(crate) fn of(call: &'e str, event: &'e OutputEvent) -> Self {
        let bytes = event.bytes();
        let text = String::from_utf8_lossy(bytes);
        let base64 = matches!(text, Cow::Owned(_)).then(|| BASE64.encode(bytes));
        let event = if matches!(event, OutputEvent::Stderr(_)) { "stderr" } else { "stdout" };
        Self { call, event, text, base64 }
    }
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
    #[error("session: {0}")]
    BadSession(BadSessionName),
    #[error("the id is not 1 to 64 letters, digits, or -_.:")]
    BadId,
}
