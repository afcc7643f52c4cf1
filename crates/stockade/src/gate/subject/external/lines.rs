//! The command lines in the input of an MCP server's tool. Servers choose field names freely, so
//! every text that could be a line is judged as one.

use serde_json::{Map, Value};

use crate::policy::rules::words;
use crate::shell::quoted;

/// Fields with one command line, or its words.
const LINES: [&str; 4] = ["argv", "cmd", "command", "commandline"];
/// Fields with one or more lines.
const SCRIPTS: [&str; 12] = [
    "bash", "chars", "commands", "input", "keys", "line", "lines", "run", "script", "scripts",
    "sh", "stdin",
];
/// Fields with code in the language that another field names.
const CODE: [&str; 4] = ["code", "program", "snippet", "source"];
/// Fields that name a language.
const LANGUAGES: [&str; 5] = ["interpreter", "lang", "language", "runtime", "shell"];
const SHELLS: [&str; 7] = ["bash", "dash", "ksh", "posix", "sh", "shell", "zsh"];
/// Endings of field names whose texts describe the call and are not part of a line.
const OTHERS: [&str; 22] = [
    "comment",
    "cwd",
    "description",
    "dir",
    "directory",
    "encoding",
    "env",
    "environment",
    "explanation",
    "folder",
    "host",
    "hostname",
    "id",
    "interpreter",
    "lang",
    "language",
    "purpose",
    "reason",
    "runtime",
    "session",
    "title",
    "workdir",
];
/// Words in the names of tools that certainly run a line.
const CERTAIN: [&str; 7] = ["bash", "cmd", "command", "commands", "sh", "shell", "zsh"];
/// Words in the names of tools that manage a running shell.
const HANDLING: [&str; 19] = [
    "attach",
    "cancel",
    "clear",
    "close",
    "detach",
    "history",
    "interrupt",
    "kill",
    "new",
    "open",
    "output",
    "resize",
    "restart",
    "resume",
    "session",
    "status",
    "stop",
    "terminate",
    "wait",
];
/// The most lines of one call, and how deep in the input they are searched for.
const LINES_MAX: usize = 100;
const DEPTH_MAX: usize = 4;

/// A text that may be a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerLine {
    pub(super) text: String,
    /// Whether the field says so. Another text may be anything, so failing to parse it is not a
    /// finding.
    pub(super) is_certain: bool,
}

/// Why the lines of a call cannot be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoLines {
    /// The tool runs lines, and the input has none.
    Missing,
    /// Too many, or nested too deep.
    TooMany,
}

impl NoLines {
    pub(super) fn text(self) -> String {
        match self {
            Self::Missing => "tool_input has no command that is a text".to_owned(),
            Self::TooMany => {
                format!("tool_input has more than {LINES_MAX} texts that may be commands")
            }
        }
    }
}

/// The lines in the input of a tool.
pub(super) fn lines(tool: &str, input: &Map<String, Value>) -> Result<Vec<ServerLine>, NoLines> {
    let words = words(tool);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let mut collector = LineCollector { lines: Vec::new() };
    collector.object(input, 0)?;
    let is_run = has(&CERTAIN) && !has(&HANDLING);
    if collector.lines.is_empty() && is_run {
        return Err(NoLines::Missing);
    }
    if is_run && !collector.lines.iter().any(|line| line.is_certain) {
        // One of them is the line.
        collector.lines.iter_mut().for_each(|line| line.is_certain = true);
    }
    Ok(collector.lines)
}

struct LineCollector {
    lines: Vec<ServerLine>,
}

impl LineCollector {
    fn object(&mut self, fields: &Map<String, Value>, depth: usize) -> Result<(), NoLines> {
        let language = fields.iter().find_map(|(name, value)| {
            let value = value.as_str().filter(|_| LANGUAGES.contains(&plain(name).as_str()))?;
            Some(value.rsplit('/').next().unwrap_or(value).to_lowercase())
        });
        let is_shell = language.is_some_and(|name| SHELLS.contains(&name.as_str()));
        for (name, value) in fields {
            let name = plain(name);
            let is_shell_name = |text: &str| name == "shell" && !text.trim().contains(' ');
            if OTHERS.iter().any(|ending| name.ends_with(ending))
                || value.as_str().is_some_and(is_shell_name)
            {
                continue;
            }
            let kind = if LINES.contains(&name.as_str()) {
                FieldKind::Line
            } else if SCRIPTS.contains(&name.as_str())
                || (is_shell && CODE.contains(&name.as_str()))
            {
                FieldKind::Script
            } else {
                FieldKind::Other
            };
            self.value(value, kind, depth)?;
        }
        Ok(())
    }

    fn value(&mut self, value: &Value, kind: FieldKind, depth: usize) -> Result<(), NoLines> {
        match value {
            Value::String(text) => self.add(text.clone(), kind != FieldKind::Other),
            Value::Array(values) => {
                let texts: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
                // A list may hold the words of one line.
                if let [first, _, ..] = texts.as_slice() {
                    let is_line = kind == FieldKind::Line && !first.contains(char::is_whitespace);
                    let joined: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
                    self.add(joined.join(" "), is_line)?;
                    if is_line && texts.len() == values.len() {
                        return Ok(());
                    }
                }
                let below = deeper(depth)?;
                values.iter().try_for_each(|value| self.value(value, kind, below))
            }
            Value::Object(fields) => self.object(fields, deeper(depth)?),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }

    fn add(&mut self, text: String, is_certain: bool) -> Result<(), NoLines> {
        if text.trim().is_empty() {
            return Ok(());
        }
        if self.lines.len() >= LINES_MAX {
            return Err(NoLines::TooMany);
        }
        self.lines.push(ServerLine { text, is_certain });
        Ok(())
    }
}

/// What the name of a field says about its texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldKind {
    Line,
    Script,
    Other,
}

fn deeper(depth: usize) -> Result<usize, NoLines> {
    depth.checked_add(1).filter(|depth| *depth <= DEPTH_MAX).ok_or(NoLines::TooMany)
}

fn plain(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).collect::<String>().to_lowercase()
}
