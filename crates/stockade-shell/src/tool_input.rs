//! The command line in the input of an agent's shell tool, in whichever field and form it stands.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::quoted;

/// Fields that hold a command line, or its words.
const FIELDS: [&str; 5] = ["argv", "cmd", "command", "commands", "script"];
/// Fields that hold one where none of the others is there.
const LESSER_FIELDS: [&str; 2] = ["chars", "input"];
/// Fields that name the folder in which the line runs.
const FOLDERS: [&str; 7] =
    ["cwd", "dir", "dir_path", "directory", "workdir", "working_dir", "working_directory"];
/// Parts of the names of fields that choose the program which runs the line, or its environment.
const LAUNCHING: [&str; 10] =
    ["shell", "env", "exec", "interp", "binary", "program", "runner", "preload", "user", "profile"];
/// Shells whose files no call can write, and the names by which agents find them.
const SYSTEM_SHELLS: [&str; 5] = ["bash", "sh", "zsh", "dash", "ksh"];
/// The shell that runs a line which replaces a list of words.
const SHELL: [&str; 2] = ["/bin/sh", "-c"];

/// Where a command line stands in an input, and in which form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellInput {
    /// The names of the fields down to it.
    place: Vec<String>,
    form: InputForm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InputForm {
    Text,
    Words,
}

/// Why an input has no command line that can be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoShellInput {
    /// No field holds one.
    #[error("tool_input has no command")]
    Missing,
    /// It is not known which of them runs.
    #[error("tool_input has more than one command")]
    Several,
    /// It is neither a text nor a list of texts.
    #[error("tool_input has no command that is a text or a list of texts")]
    NotText,
}

impl ShellInput {
    /// Looks for the command line of an input.
    pub fn find(input: &Map<String, Value>) -> Result<Self, NoShellInput> {
        Self::find_in(input, &FIELDS).or_else(|error| match error {
            NoShellInput::Missing => Self::find_in(input, &LESSER_FIELDS),
            NoShellInput::Several | NoShellInput::NotText => Err(error),
        })
    }

    /// Looks for the command line of an input in these fields.
    pub fn find_in(input: &Map<String, Value>, fields: &[&str]) -> Result<Self, NoShellInput> {
        let mut places = places(input, fields).into_iter();
        let (place, value) = places.next().ok_or(NoShellInput::Missing)?;
        if places.next().is_some() {
            return Err(NoShellInput::Several);
        }
        let form = match value {
            Value::String(_) => InputForm::Text,
            Value::Array(words) if !words.is_empty() && words.iter().all(Value::is_string) => {
                InputForm::Words
            }
            Value::Array(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Object(_) => return Err(NoShellInput::NotText),
        };
        Ok(Self { place, form })
    }

    /// Looks for the command line of Claude Code's `Bash`, which is one text in one field.
    pub fn find_text(input: &Map<String, Value>) -> Result<Self, NoShellInput> {
        let found = Self::find_in(input, &["command"])?;
        if found.form == InputForm::Text { Ok(found) } else { Err(NoShellInput::NotText) }
    }

    /// The line. Words of a list are quoted.
    pub fn line<'i>(&self, input: &'i Map<String, Value>) -> Cow<'i, str> {
        let value = match self.place.as_slice() {
            [field] => input.get(field),
            [outer, field] => input.get(outer).and_then(|outer| outer.get(field)),
            _ => None,
        };
        match value {
            Some(Value::String(line)) => Cow::Borrowed(line),
            Some(Value::Array(words)) => {
                let words: Vec<String> =
                    words.iter().filter_map(Value::as_str).map(quoted).collect();
                Cow::Owned(words.join(" "))
            }
            _ => Cow::Borrowed(""),
        }
    }

    /// The line, which is moved out of the input and leaves an empty one.
    pub fn take(&self, input: &mut Map<String, Value>) -> String {
        let line = match self.place_in(input) {
            Some(Value::String(line)) => Some(std::mem::take(line)),
            _ => None,
        };
        line.unwrap_or_else(|| self.line(input).into_owned())
    }

    /// Puts another line into its place, in the form that the tool takes.
    pub fn replace(&self, input: &mut Map<String, Value>, line: String) {
        let value = match self.form {
            InputForm::Text => Value::String(line),
            InputForm::Words => {
                let words = SHELL.map(str::to_owned).into_iter().chain([line]);
                Value::Array(words.map(Value::String).collect())
            }
        };
        if let Some(place) = self.place_in(input) {
            *place = value;
        }
    }

    fn place_in<'i>(&self, input: &'i mut Map<String, Value>) -> Option<&'i mut Value> {
        match self.place.as_slice() {
            [field] => input.get_mut(field),
            [outer, field] => input.get_mut(outer)?.get_mut(field),
            _ => None,
        }
    }
}

/// The folder in which the line of an input runs, where it names one.
pub fn shell_folder(input: &Map<String, Value>) -> Option<&str> {
    FOLDERS.iter().find_map(|field| input.get(*field)?.as_str()).filter(|folder| !folder.is_empty())
}

/// The field of an input that chooses another program to run the line, or another environment for it.
/// Both act on what runs a line, outside of any sandbox that the line is put into.
///
/// A shell of the system is none, and neither are flags, numbers, and fields without a value.
pub fn launching_field(input: &Map<String, Value>) -> Option<String> {
    let inner = input.iter().filter_map(|(name, value)| Some((name, value.as_object()?)));
    let inner = inner.flat_map(|(outer, inner)| {
        inner.iter().map(move |(name, value)| (format!("{outer}.{name}"), name, value))
    });
    let top = input.iter().map(|(name, value)| (name.clone(), name, value));
    top.chain(inner).find(|(_, name, value)| launches(name, value)).map(|(path, ..)| path)
}

fn launches(name: &str, value: &Value) -> bool {
    let name = name.to_lowercase();
    let is_line = FIELDS.contains(&name.as_str()) || LESSER_FIELDS.contains(&name.as_str());
    let is_id = name == "id" || name.ends_with("_id") || name.ends_with("id") && name.len() < 10;
    if is_line || is_id || !LAUNCHING.iter().any(|part| name.contains(part)) {
        return false;
    }
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => !text.is_empty() && !is_system_shell(text),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

fn is_system_shell(text: &str) -> bool {
    let name = ["/bin/", "/usr/bin/"].iter().find_map(|folder| text.strip_prefix(folder));
    SYSTEM_SHELLS.contains(&name.unwrap_or(text))
}

/// Where an input has one of these fields: at its top, or one level further down.
fn places<'i>(input: &'i Map<String, Value>, fields: &[&str]) -> Vec<(Vec<String>, &'i Value)> {
    let is_field = |name: &str| fields.iter().any(|field| name.eq_ignore_ascii_case(field));
    let mut found = Vec::new();
    for (name, value) in input {
        match value {
            Value::Null => {}
            Value::Object(inner) => {
                let inner = inner.iter().filter(|(inner, _)| is_field(inner));
                found
                    .extend(inner.map(|(inner, value)| (vec![name.clone(), inner.clone()], value)));
            }
            _ if is_field(name) => found.push((vec![name.clone()], value)),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::{NoShellInput, ShellInput, launching_field, shell_folder};

    fn input(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn a_line_is_found_in_every_form_and_replaced_in_it() {
        let words = json!(["/bin/sh", "-c", "new"]);
        for (before, line, after) in [
            (json!({"command": "a b"}), "a b", json!({"command": "new"})),
            (json!({"cmd": "a b", "workdir": "x"}), "a b", json!({"cmd": "new", "workdir": "x"})),
            (json!({"command": ["a", "b c"]}), "a 'b c'", json!({"command": words})),
            (
                json!({"action": {"type": "exec", "command": ["sh", "-c", "a; b"]}}),
                "sh -c 'a; b'",
                json!({"action": {"type": "exec", "command": words}}),
            ),
            (
                json!({"chars": "a\n", "session_id": 1}),
                "a\n",
                json!({"chars": "new", "session_id": 1}),
            ),
            (json!({"input": ["a"]}), "a", json!({"input": words})),
            (json!({"Command": "a", "input": "b"}), "a", json!({"Command": "new", "input": "b"})),
        ] {
            let mut found = input(&before);
            let shell = ShellInput::find(&found).unwrap();
            assert_eq!(shell.line(&found), line, "{before}");
            assert_eq!(shell.take(&mut found), line, "{before}");
            shell.replace(&mut found, "new".to_owned());
            assert_eq!(Value::Object(found), after, "{before}");
        }
    }

    #[test]
    fn an_input_without_one_line_has_none() {
        for (value, expected) in [
            (json!({}), NoShellInput::Missing),
            (json!({"description": "a"}), NoShellInput::Missing),
            (json!({"command": null}), NoShellInput::Missing),
            (json!({"command": 7}), NoShellInput::NotText),
            (json!({"command": []}), NoShellInput::NotText),
            (json!({"command": ["a", 7]}), NoShellInput::NotText),
            (json!({"command": "a", "cmd": "b"}), NoShellInput::Several),
            (json!({"command": "a", "x": {"argv": ["b"]}}), NoShellInput::Several),
        ] {
            assert_eq!(ShellInput::find(&input(&value)), Err(expected), "{value}");
        }
    }

    #[test]
    fn a_field_that_chooses_what_runs_the_line_is_found() {
        for (value, expected) in [
            (json!({"cmd": "ls", "shell": "/work/x/bash"}), Some("shell")),
            (json!({"cmd": "ls", "shell": "./bash"}), Some("shell")),
            (json!({"cmd": "ls", "Shell": "/bin/../work/bash"}), Some("Shell")),
            (json!({"cmd": "ls", "shell": ["x/bash", "-c"]}), Some("shell")),
            (json!({"cmd": "ls", "shell_path": "x/bash"}), Some("shell_path")),
            (json!({"cmd": "ls", "executable": "x/bash"}), Some("executable")),
            (json!({"cmd": "ls", "env": {"BASH_ENV": "x"}}), Some("env")),
            (json!({"cmd": "ls", "environment": ["LD_PRELOAD=x"]}), Some("environment")),
            (json!({"action": {"command": ["ls"], "env": {"A": "b"}}}), Some("action.env")),
            (json!({"action": {"command": ["ls"], "user": "root"}}), Some("action.user")),
            (json!({"cmd": "ls", "shell": "bash", "login": true}), None),
            (json!({"cmd": "ls", "shell": "/usr/bin/zsh", "tty": false}), None),
            (json!({"action": {"type": "exec", "command": ["ls"], "env": {}}}), None),
            (json!({"command": "ls", "description": "the shell", "timeout": 1000}), None),
            (json!({"cmd": "ls", "session_id": "env", "shell_id": "x", "env": null}), None),
            (json!({"command": "ls", "run_in_background": true}), None),
        ] {
            assert_eq!(launching_field(&input(&value)).as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn a_line_may_name_its_folder() {
        assert_eq!(shell_folder(&input(&json!({"cmd": "a", "workdir": "b"}))), Some("b"));
        assert_eq!(shell_folder(&input(&json!({"cmd": "a", "workdir": ""}))), None);
    }
}
