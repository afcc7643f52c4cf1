//! A call as the JSON that hooks read, and back again after one of them has rewritten it.

use std::borrow::Cow;
use std::ffi::OsString;
use std::time::Duration;

use data_encoding::BASE64;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::call::{BadSessionName, Code, Exec, FileCall, Foreign, Language, Line, Tool, ToolCall};

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
    let (tool, timeout) = match &call.tool {
        Tool::Exec(exec) => {
            let wire: WireExec = fit(input, "Exec")?;
            let stdin = match (wire.stdin, wire.stdin_base64) {
                (Some(_), Some(_)) => return Err(Misfit::new("Exec", "two kinds of stdin")),
                (Some(text), None) => text.into_bytes(),
                (None, Some(code)) => BASE64
                    .decode(code.as_bytes())
                    .map_err(|error| Misfit::new("Exec", &format!("stdin_base64: {error}")))?,
                (None, None) => Vec::new(),
            };
            // Shown beside the words for those who read lines; alone it changes nothing.
            let shown = forms(call).ok().and_then(|all| all.into_iter().next());
            let line = shown.and_then(|seen| seen.input.get("command").cloned());
            let argv: Vec<OsString> = wire.argv.into_iter().map(Into::into).collect();
            let is_told = wire.command.map(Value::String);
            if is_told.is_some() && is_told != line && argv == exec.argv {
                return Err(Misfit::new("Exec", "`command` only shows `argv`; change that"));
            }
            (Tool::Exec(Exec { argv, stdin }), wire.timeout)
        }
        Tool::Line(_) => {
            let wire: WireLine = fit(input, "Bash")?;
            (Tool::Line(Line { text: wire.command.into() }), wire.timeout)
        }
        Tool::Code(_) => {
            let wire: WireCode = fit(input, "Code")?;
            let language = wire.language.parse::<Language>();
            let language = language.map_err(|error| Misfit::new("Code", &error.to_string()))?;
            let session = wire.session.map(|name| name.parse()).transpose();
            let session =
                session.map_err(|error: BadSessionName| Misfit::new("Code", &error.to_string()))?;
            let source = wire.source.into_bytes();
            (Tool::Code(Code { language, source, session }), wire.timeout)
        }
        Tool::File(file) => {
            let parsed = FileCall::parse(file.name(), input).transpose();
            let parsed = parsed.map_err(|error| Misfit::new(file.name(), &error.to_string()))?;
            let file = parsed.ok_or_else(|| Misfit::new(file.name(), "it is no file tool"))?;
            return Ok(ToolCall { tool: Tool::File(file), ..call.clone() });
        }
        Tool::Unknown(foreign) => {
            let foreign = Foreign { name: foreign.name.clone(), input: input.clone() };
            return Ok(ToolCall { tool: Tool::Unknown(foreign), ..call.clone() });
        }
        Tool::Malformed(_) => return Err(Misfit::new("malformed", "there was no call")),
    };
    Ok(ToolCall { tool, wall: timeout.map(Duration::from_millis), ..call.clone() })
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireExec {
    argv: Vec<String>,
    command: Option<String>,
    stdin: Option<String>,
    stdin_base64: Option<String>,
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

fn fit<T: DeserializeOwned>(input: &Map<String, Value>, tool: &str) -> Result<T, Misfit> {
    serde_json::from_value(Value::Object(input.clone()))
        .map_err(|error| Misfit::new(tool, &error.to_string()))
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
