//! The inputs of tools as JSON, from callers and from hooks. Unknown fields are errors.

use std::time::Duration;

use data_encoding::BASE64;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{Code, Exec, ExternalCall, FileCall, ShellLine, Tool, UnknownLanguage};

/// The most bytes of a tool's name. Names are compared, quoted and recorded.
const NAME_BYTES_MAX: usize = 256;
/// The most characters of a reason.
const REASON_CHARS_MAX: usize = 400;

/// Why an input does not fit its tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadInput(String);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireExec {
    argv: Vec<String>,
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
    /// Milliseconds.
    timeout: Option<u64>,
}

impl Tool {
    /// Parses the input of a tool by its name or alias, with the deadline that the input asks for.
    /// The input of another tool is kept for rules to judge.
    pub fn parse(
        name: &str,
        input: Map<String, Value>,
    ) -> Result<(Self, Option<Duration>), BadInput> {
        if name.len() > NAME_BYTES_MAX {
            return Err(BadInput(format!(
                "the tool's name has {} bytes; at most {NAME_BYTES_MAX} are accepted",
                name.len()
            )));
        }
        let (tool, timeout) = match name {
            "Exec" | "exec" | "run" => {
                let mut wire: WireExec = fit(input)?;
                let argv = std::mem::take(&mut wire.argv).into_iter().map(Into::into).collect();
                let timeout = wire.timeout;
                (Self::Exec(Exec { argv, stdin: wire.stdin()? }), timeout)
            }
            "Bash" | "bash" | "shell" => {
                let wire: WireLine = fit(input)?;
                (Self::Line(ShellLine { text: wire.command.into() }), wire.timeout)
            }
            "Code" | "code" | "run_code" => {
                let wire: WireCode = fit(input)?;
                let language =
                    wire.language.parse().map_err(|error: UnknownLanguage| BadInput::of(&error))?;
                let source = wire.source.into_bytes();
                (Self::Code(Code { language, source }), wire.timeout)
            }
            _ => match FileCall::take(name, input) {
                Ok(file) => (Self::File(file?), None),
                Err(input) => (Self::Unknown(ExternalCall { name: name.to_owned(), input }), None),
            },
        };
        Ok((tool, timeout.map(Duration::from_millis)))
    }
}

impl WireExec {
    fn stdin(self) -> Result<Vec<u8>, BadInput> {
        match (self.stdin, self.stdin_base64) {
            (Some(_), Some(_)) => Err(BadInput("two kinds of stdin".to_owned())),
            (Some(text), None) => Ok(text.into_bytes()),
            (None, Some(code)) => BASE64
                .decode(code.as_bytes())
                .map_err(|error| BadInput(format!("stdin_base64: {error}"))),
            (None, None) => Ok(Vec::new()),
        }
    }
}

impl BadInput {
    /// Cuts a reason that is too long: it may quote all of the input.
    pub(super) fn of(why: &impl ToString) -> Self {
        let why = why.to_string();
        let cut = why.char_indices().nth(REASON_CHARS_MAX).and_then(|(end, _)| why.get(..end));
        Self(cut.map_or_else(|| why.clone(), |cut| format!("{cut}…")))
    }
}

/// Deserialises an input. Texts are moved, because they may be long.
pub(super) fn fit<T: DeserializeOwned>(input: Map<String, Value>) -> Result<T, BadInput> {
    serde_json::from_value(Value::Object(input)).map_err(|error| BadInput::of(&error))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(name: &str, input: &Value) -> Result<(Tool, Option<Duration>), String> {
        let input = input.as_object().unwrap().clone();
        Tool::parse(name, input).map_err(|error| error.to_string())
    }

    #[test]
    fn every_tool_is_read_by_its_names_and_in_its_form_alone() {
        for (names, input) in [
            (&["Exec", "exec", "run"][..], json!({"argv": ["ls"], "stdin": "x"})),
            (&["Bash", "bash", "shell"], json!({"command": "ls", "description": "why"})),
            (&["Code", "code", "run_code"], json!({"language": "py", "source": "1"})),
            (&["Read", "read_file"], json!({"file_path": "x"})),
        ] {
            let (first, rest) = names.split_first().unwrap();
            let expected = parsed(first, &input).unwrap();
            assert!(!matches!(expected.0, Tool::Unknown(_)), "{first}");
            for name in rest {
                assert_eq!(parsed(name, &input).unwrap(), expected, "{name}");
            }
            let mut more = input.clone();
            more["more"] = json!(1);
            assert!(parsed(first, &more).unwrap_err().contains("unknown field"), "{first}");
        }
        let (tool, wall) = parsed("WebFetch", &json!({"url": "x", "timeout": 5})).unwrap();
        assert!(matches!(tool, Tool::Unknown(_)) && wall.is_none());
    }

    #[test]
    fn what_makes_no_sense_is_said() {
        for (name, input, part) in [
            ("Exec", json!({}), "missing field `argv`"),
            ("Exec", json!({"argv": "ls"}), "invalid type"),
            ("Exec", json!({"argv": ["a"], "stdin": "", "stdin_base64": ""}), "two kinds"),
            ("Exec", json!({"argv": ["a"], "stdin_base64": "?"}), "stdin_base64: "),
            ("Code", json!({"language": "cobol", "source": ""}), "unknown language"),
            ("Bash", json!({"command": "ls", "timeout": -1}), "invalid value"),
        ] {
            let error = parsed(name, &input).unwrap_err();
            assert!(error.contains(part), "{input}: {error}");
        }
        let input = json!({"argv": ["a"], "stdin_base64": "AP8=", "timeout": 1500});
        let (tool, wall) = parsed("Exec", &input).unwrap();
        let Tool::Exec(exec) = tool else { panic!() };
        assert_eq!((exec.stdin, wall), (vec![0, 255], Some(Duration::from_millis(1500))));
    }
}
