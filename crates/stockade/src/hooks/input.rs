//! Converts a call to the JSON that hooks read, and back after a hook has rewritten it.

use std::borrow::Cow;
use std::time::Duration;

use data_encoding::BASE64;
use serde_json::{Map, Value, json};

use crate::call::{ExternalCall, Tool, ToolCall};
use crate::shell::quoted_line;

/// One form of a call for hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolForm {
    /// The tool's name in this form.
    pub tool: Cow<'static, str>,
    /// The arguments in this form.
    pub input: Map<String, Value>,
}

/// The forms of a call, its own first. A call of one program is also shown as a command line, so
/// that hooks for `Bash` see it.
pub fn forms(call: &ToolCall) -> Result<Vec<ToolForm>, UnseenReason> {
    match &call.tool {
        Tool::Exec(exec) => {
            let words: Vec<&str> = exec
                .argv
                .iter()
                .map(|word| word.to_str())
                .collect::<Option<_>>()
                .ok_or(UnseenReason::NotText)?;
            if words.iter().any(|word| word.contains('\0')) {
                return Err(UnseenReason::NotText);
            }
            let line = quoted_line(&words);
            let mut own = object([("argv", json!(words)), ("command", json!(line))]);
            let mut shell = object([("command", json!(line))]);
            for input in [&mut own, &mut shell] {
                input.extend(timeout(call.wall));
            }
            own.extend(stdin(&exec.stdin));
            Ok(vec![
                ToolForm { tool: "Exec".into(), input: own },
                ToolForm { tool: "Bash".into(), input: shell },
            ])
        }
        Tool::Line(line) => {
            let text = line.text.to_str().ok_or(UnseenReason::NotText)?;
            let mut input = object([("command", json!(text))]);
            input.extend(timeout(call.wall));
            Ok(vec![ToolForm { tool: "Bash".into(), input }])
        }
        Tool::Code(code) => {
            let source =
                std::str::from_utf8(&code.source).map_err(|_bytes| UnseenReason::NotText)?;
            let mut input =
                object([("language", json!(code.language.name())), ("source", json!(source))]);
            input.extend(timeout(call.wall));
            let own = ToolForm { tool: "Code".into(), input };
            let script = object([("command", json!(source))]);
            let script =
                code.language.is_shell().then_some(ToolForm { tool: "Bash".into(), input: script });
            Ok(std::iter::once(own).chain(script).collect())
        }
        Tool::File(file) => {
            let is_text = file.path().is_none_or(|path| path.to_str().is_some());
            let seen = ToolForm { tool: file.name().into(), input: file.input() };
            is_text.then(|| vec![seen]).ok_or(UnseenReason::NotText)
        }
        Tool::Unknown(foreign) => {
            let (tool, input) = (foreign.name.clone().into(), foreign.input.clone());
            Ok(vec![ToolForm { tool, input }])
        }
        Tool::Malformed(_) => Err(UnseenReason::NoTool),
    }
}

/// The call with input from a hook. Input that does not fit the tool is an error.
pub fn rewritten(call: &ToolCall, input: &Map<String, Value>) -> Result<ToolCall, Misfit> {
    let name = call.tool.name();
    let mut input = input.clone();
    match &call.tool {
        Tool::Exec(_) => take_shown_line(call, &mut input)?,
        Tool::Unknown(_) => {
            let tool = Tool::Unknown(ExternalCall { name: name.to_owned(), input });
            return Ok(ToolCall { tool, ..call.clone() });
        }
        Tool::Malformed(_) => return Err(Misfit::new(name, "there was no call")),
        Tool::Line(_) | Tool::Code(_) | Tool::File(_) => {}
    }
    let parsed = Tool::parse(name, input);
    let (tool, wall) = parsed.map_err(|error| Misfit::new(name, &error.to_string()))?;
    // File tools take no deadline, so the call keeps its own.
    let wall = if matches!(tool, Tool::File(_)) { call.wall } else { wall };
    Ok(ToolCall { tool, wall, ..call.clone() })
}

/// Removes the command line that is shown beside the words of a program. Changing only the line is
/// an error.
fn take_shown_line(call: &ToolCall, input: &mut Map<String, Value>) -> Result<(), Misfit> {
    let Some(line) = input.remove("command") else { return Ok(()) };
    let shown = forms(call).ok().and_then(|all| all.into_iter().next());
    let shown = shown.map(|seen| seen.input).unwrap_or_default();
    if shown.get("command") != Some(&line) && shown.get("argv") == input.get("argv") {
        return Err(Misfit::new("Exec", "`command` only shows `argv`; change that"));
    }
    Ok(())
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn timeout(wall: Option<Duration>) -> Option<(String, Value)> {
    let millis = u64::try_from(wall?.as_millis()).unwrap_or(u64::MAX);
    Some(("timeout".to_owned(), json!(millis)))
}

fn stdin(bytes: &[u8]) -> Option<(String, Value)> {
    if bytes.is_empty() {
        return None;
    }
    Some(match std::str::from_utf8(bytes) {
        Ok(text) => ("stdin".to_owned(), json!(text)),
        Err(_) => ("stdin_base64".to_owned(), json!(BASE64.encode(bytes))),
    })
}

/// Why a call cannot be shown to hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnseenReason {
    /// JSON is text, and a hook must judge exactly what would run.
    #[error("its words are not text (UTF-8), and a hook would be shown something else")]
    NotText,
    /// The tool is unknown.
    #[error("its tool is unknown")]
    NoTool,
}

/// Why a rewritten input is not a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the new input does not fit {tool}: {why}")]
pub struct Misfit {
    tool: String,
    why: String,
}

impl Misfit {
    fn new(tool: &str, why: &str) -> Self {
        Self { tool: tool.to_owned(), why: why.to_owned() }
    }
}
