//! What an agent sends: one event, with the fields that matter here. Others are the agent's own.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value};
use stockade::call::SessionName;
use stockade::json;
use stockade::policy::Mode;

/// Events that are known to run no tool and to permit none.
const HARMLESS: [&str; 29] = [
    "SessionStart",
    "Setup",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "PermissionDenied",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "Notification",
    "MessageDisplay",
    "SubagentStart",
    "SubagentStop",
    "TaskCreated",
    "TaskCompleted",
    "Stop",
    "StopFailure",
    "TeammateIdle",
    "InstructionsLoaded",
    "ConfigChange",
    "CwdChanged",
    "DirectoryAdded",
    "FileChanged",
    "WorktreeCreate",
    "WorktreeRemove",
    "PreCompact",
    "PostCompact",
    "Elicitation",
    "ElicitationResult",
    "SessionEnd",
];

/// The most bytes of a tool's name.
const NAME_BYTES_MAX: usize = 256;
/// The fields of an input that may name files.
const PATHS: [&str; 4] = ["file_path", "path", "notebook_path", "pattern"];
/// The most bytes of such a field. Linux accepts 4096; a tool may mean something else by it.
const PATH_BYTES_MAX: usize = 64 << 10;

/// An event, as it was sent.
#[derive(Debug, Deserialize)]
struct EventInput {
    hook_event_name: Option<String>,
    tool_name: Option<String>,
    tool_input: Option<Value>,
    tool_use_id: Option<String>,
    cwd: Option<PathBuf>,
    permission_mode: Option<String>,
    session_id: Option<Value>,
}

/// An event, understood.
#[derive(Debug, PartialEq)]
pub(super) enum Event {
    /// A tool is about to be used.
    Tool(ToolEvent),
    /// Nothing is run or permitted by it.
    Harmless,
}

/// An event that decides about the use of a tool.
#[derive(Debug, PartialEq)]
pub(super) struct ToolEvent {
    pub(super) kind: Kind,
    pub(super) tool: String,
    pub(super) input: Map<String, Value>,
    pub(super) id: Option<String>,
    pub(super) cwd: Option<PathBuf>,
    pub(super) mode: Option<AgentMode>,
    /// The session of the agent.
    pub(super) session: Option<SessionName>,
}

/// Which decision is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    PreToolUse,
    PermissionRequest,
}

/// The mode of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AgentMode {
    Known(Mode),
    /// One that is newer than this program.
    Unknown,
}

impl Event {
    /// Reads an event. What may permit something is understood as a whole, or it is an error.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, EventError> {
        match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
            None => return Err(EventError::Empty),
            // A list would be taken for the fields in their order.
            Some(b'[') => return Err(EventError::List),
            Some(_) => {}
        }
        let wire: EventInput = json::from_slice(bytes).map_err(EventError::NotAnEvent)?;
        let name = wire.hook_event_name.ok_or(EventError::Missing("hook_event_name"))?;
        let kind = match name.as_str() {
            "PreToolUse" => Kind::PreToolUse,
            "PermissionRequest" => Kind::PermissionRequest,
            name if HARMLESS.contains(&name) => return Ok(Self::Harmless),
            _ if wire.tool_name.is_none() && wire.tool_input.is_none() => {
                return Ok(Self::Harmless);
            }
            // It is about a tool, and may be what permits its use.
            _ => return Err(EventError::UnknownToolEvent(name)),
        };
        let tool = wire.tool_name.filter(|name| !name.is_empty());
        let tool = tool.ok_or(EventError::Missing("tool_name"))?;
        let input = match wire.tool_input {
            None => return Err(EventError::Missing("tool_input")),
            Some(Value::Object(input)) => input,
            Some(_) => return Err(EventError::NotAnObject),
        };
        if tool.len() > NAME_BYTES_MAX {
            return Err(EventError::TooLong("tool_name", tool.len(), NAME_BYTES_MAX));
        }
        for field in PATHS {
            let bytes = input.get(field).and_then(Value::as_str).map_or(0, str::len);
            if bytes > PATH_BYTES_MAX {
                return Err(EventError::TooLong(field, bytes, PATH_BYTES_MAX));
            }
        }
        let mode = wire
            .permission_mode
            .map(|mode| mode.parse().map_or(AgentMode::Unknown, AgentMode::Known));
        let session = wire.session_id.as_ref().and_then(Value::as_str);
        let session = session.filter(|id| !id.is_empty()).map(SessionName::of_agent);
        let (id, cwd) = (wire.tool_use_id, wire.cwd);
        Ok(Self::Tool(ToolEvent { kind, tool, input, id, cwd, mode, session }))
    }

    /// The kind of an event that may be broken otherwise.
    pub(super) fn kind_in(bytes: &[u8]) -> Option<Kind> {
        #[derive(Deserialize)]
        struct Name {
            hook_event_name: String,
        }
        let name: Name = serde_json::from_slice(bytes).ok()?;
        match name.hook_event_name.as_str() {
            "PreToolUse" => Some(Kind::PreToolUse),
            "PermissionRequest" => Some(Kind::PermissionRequest),
            _ => None,
        }
    }
}

/// Why something is no event.
#[derive(Debug, thiserror::Error)]
pub(super) enum EventError {
    #[error("there is nothing on standard input")]
    Empty,
    #[error("what was sent is no event: it is a list")]
    List,
    #[error("what was sent is no event: {0}")]
    NotAnEvent(serde_json::Error),
    #[error("the event has no {0}")]
    Missing(&'static str),
    #[error("{0} has {1} bytes; at most {2} are accepted")]
    TooLong(&'static str, usize, usize),
    #[error("tool_input is no object")]
    NotAnObject,
    #[error("the event {0:?} is about a tool and is not known here")]
    UnknownToolEvent(String),
}

#[cfg(test)]
mod tests;
