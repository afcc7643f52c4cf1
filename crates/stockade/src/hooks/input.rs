//! A call as the JSON that hooks read, and back again after one of them has rewritten it.

use std::borrow::Cow;
use std::time::Duration;

use data_encoding::BASE64;
use serde_json::{Map, Value, json};

use crate::call::{Foreign, Tool, ToolCall};

/// One form in which hooks may see a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The tool's name in this form.
    pub tool: Cow<'static, str>,
    /// The arguments in this form.
    pub input: Map<String, Value>,
}

/// The forms of a call, its own first. A call of one program is also a command line: a hook for
/// `Bash` sees it as that, so that no guard of command lines is passed by without a shell.
pub fn forms(call: &ToolCall) -> Result<Vec<Seen>, Unseen> {
    match &call.tool {
        Tool::Exec(exec) => {
            let words: Vec<&str> = exec
                .argv
                .iter()
                .map(|word| word.to_str())
                .collect::<Option<_>>()
                .ok_or(Unseen::NotText)?;
            let line = shlex::try_join(words.iter().copied()).map_err(|_nul| Unseen::NotText)?;
            let mut own = object([("argv", json!(words)), ("command", json!(line))]);
            let mut shell = object([("command", json!(line))]);
            for input in [&mut own, &mut shell] {
                input.extend(timeout(call.wall));
            }
            own.extend(stdin(&exec.stdin));
            Ok(vec![
                Seen { tool: "Exec".into(), input: own },
                Seen { tool: "Bash".into(), input: shell },
            ])
        }
        Tool::Line(line) => {
            let text = line.text.to_str().ok_or(Unseen::NotText)?;
            let mut input = object([("command", json!(text))]);
            input.extend(timeout(call.wall));
            Ok(vec![Seen { tool: "Bash".into(), input }])
        }
        Tool::Code(code) => {
            let source = std::str::from_utf8(&code.source).map_err(|_bytes| Unseen::NotText)?;
            let mut input =
                object([("language", json!(code.language.name())), ("source", json!(source))]);
            input.extend(timeout(call.wall));
            let session = code.session.as_ref();
            input.extend(session.map(|name| ("session".to_owned(), json!(name.as_str()))));
            let own = Seen { tool: "Code".into(), input };
            let script = object([("command", json!(source))]);
            let script =
                code.language.is_shell().then_some(Seen { tool: "Bash".into(), input: script });
            Ok(std::iter::once(own).chain(script).collect())
        }
        Tool::File(file) => {
            let is_text = file.path().is_none_or(|path| path.to_str().is_some());
            let seen = Seen { tool: file.name().into(), input: file.input() };
            is_text.then(|| vec![seen]).ok_or(Unseen::NotText)
        }
        Tool::Unknown(foreign) => {
            let (tool, input) = (foreign.name.clone().into(), foreign.input.clone());
            Ok(vec![Seen { tool, input }])
        }
        Tool::Malformed(_) => Err(Unseen::NoTool),
    }
}

/// The same call with an input that a hook has written. What does not fit the tool is no call.
pub fn rewritten(call: &ToolCall, input: &Map<String, Value>) -> Result<ToolCall, Misfit> {
    let name = call.tool.name();
    let mut input = input.clone();
    match &call.tool {
        Tool::Exec(_) => take_shown_line(call, &mut input)?,
        Tool::Unknown(_) => {
            let tool = Tool::Unknown(Foreign { name: name.to_owned(), input });
            return Ok(ToolCall { tool, ..call.clone() });
        }
        Tool::Malformed(_) => return Err(Misfit::new(name, "there was no call")),
        Tool::Line(_) | Tool::Code(_) | Tool::File(_) => {}
    }
    let parsed = Tool::parse(name, input);
    let (tool, wall) = parsed.map_err(|error| Misfit::new(name, &error.to_string()))?;
    // A file tool is asked for no deadline, so that it keeps the one it has.
    let wall = if matches!(tool, Tool::File(_)) { call.wall } else { wall };
    Ok(ToolCall { tool, wall, ..call.clone() })
}

/// Takes out the line that is shown beside the words of a program, for those who read lines. Alone
/// it changes nothing.
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
pub enum Unseen {
    /// JSON is text, and a hook must not judge something else than what would run.
    #[error("its words are not text (UTF-8), and a hook would be shown something else")]
    NotText,
    /// There is no such tool.
    #[error("it is no call of a tool of ours")]
    NoTool,
}

/// Why a rewritten input makes no call.
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
