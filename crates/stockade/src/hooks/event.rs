//! What a hook is told: one call, before or after, as the JSON that coding agents send to theirs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::call::CallId;
use crate::policy::hook;

/// One call as a hook is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Before or after.
    pub event: hook::Event,
    /// Whose call it is.
    pub session: Arc<Session>,
    /// Where the call runs.
    pub cwd: PathBuf,
    /// How much is done without a question, by the name that coding agents use.
    pub permission_mode: &'static str,
    /// The tool.
    pub tool_name: String,
    /// Its arguments.
    pub tool_input: Map<String, Value>,
    /// The call.
    pub tool_use_id: CallId,
    /// What became of it, afterwards.
    pub done: Option<Done>,
}

/// Whose calls they are, as the host knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The session's name.
    pub id: String,
    /// Where its transcript is; empty if there is none.
    pub transcript_path: String,
    /// What the coding agent says besides and is passed on: `prompt_id`, `effort`, `agent_id`,
    /// `agent_type`, `model`, `turn_id`. None of it replaces a field of ours.
    pub more: Map<String, Value>,
}

impl Default for Session {
    fn default() -> Self {
        Self { id: CallId::new().to_string(), transcript_path: String::new(), more: Map::new() }
    }
}

/// What became of a call that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// The output, in the form that coding agents have for shell commands, and how it ended.
    pub response: Value,
    /// The whole report.
    pub report: Value,
    /// From the call's arrival to its end.
    pub duration: Duration,
}

impl Event {
    /// The object that a command hook reads on standard input.
    pub fn to_json(&self) -> Value {
        let mut all = self.session.more.clone();
        let mut set = |name: &str, value: Value| {
            all.insert(name.to_owned(), value);
        };
        set("session_id", json!(self.session.id));
        set("transcript_path", json!(self.session.transcript_path));
        set("cwd", json!(self.cwd.to_string_lossy()));
        set("permission_mode", json!(self.permission_mode));
        set("hook_event_name", json!(self.event.wire_name()));
        set("tool_name", json!(self.tool_name));
        set("tool_input", Value::Object(self.tool_input.clone()));
        set("tool_use_id", json!(self.tool_use_id.as_str()));
        if let Some(done) = &self.done {
            set("tool_response", done.response.clone());
            set("duration_ms", json!(whole_millis(done.duration)));
            set("report", done.report.clone());
        }
        Value::Object(all)
    }
}

fn whole_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
