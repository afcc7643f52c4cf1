//! The event that a hook receives: one call, before or after, as the JSON of coding agents.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::call::CallId;
use crate::policy::hooks;

/// One call, for a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Before or after.
    pub event: hooks::Event,
    /// The session of the call.
    pub session: Arc<Session>,
    /// The working directory.
    pub cwd: PathBuf,
    /// The mode, by the name that coding agents use.
    pub permission_mode: &'static str,
    /// The tool.
    pub tool_name: String,
    /// Its arguments.
    pub tool_input: Map<String, Value>,
    /// The call.
    pub tool_use_id: CallId,
    /// The result, after the call.
    pub done: Option<CallResult>,
}

/// A session, as the host knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The session's name.
    pub id: String,
    /// The path of its transcript; empty if there is none.
    pub transcript_path: String,
    /// More fields of the coding agent that are passed on: `prompt_id`, `effort`, `agent_id`,
    /// `agent_type`, `model`, `turn_id`. They do not replace our own fields.
    pub more: Map<String, Value>,
}

impl Default for Session {
    fn default() -> Self {
        Self { id: CallId::new().to_string(), transcript_path: String::new(), more: Map::new() }
    }
}

/// The result of a call that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallResult {
    /// The output in the form that coding agents use for shell commands, and the exit.
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
