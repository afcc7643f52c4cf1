//! What was asked for: a tool name and its arguments. Untrusted, and never run as it is.

mod argv;
mod code;
pub mod file;
mod id;
mod nearest;
mod patch;
mod session;
mod wire;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

pub use argv::{Argv, BadArgv};
pub use code::{Code, Language, UnknownLanguage};
pub use file::FileCall;
pub use id::CallId;
pub use nearest::nearest;
pub(crate) use patch::NAMES as PATCH_NAMES;
pub use patch::{Change, PatchError, PatchedFile, patched_files};
pub use session::{BadSessionName, SessionName};
pub use wire::BadInput;

/// One call of one tool, as it came in. Only the gate can turn it into something that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Names the call in the journal and the report.
    pub id: CallId,
    /// What is to be done.
    pub tool: Tool,
    /// Where, as the caller wrote it; the project root if it is not given.
    pub cwd: Option<PathBuf>,
    /// A shorter deadline than the policy's.
    pub wall: Option<Duration>,
}

impl ToolCall {
    /// A call of one program with its arguments, no shell.
    pub fn exec<I, S>(argv: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<OsString>,
    {
        let argv = argv.into_iter().map(Into::into).collect();
        Self::of(Tool::Exec(Exec { argv, stdin: Vec::new() }))
    }

    /// A call of one shell line.
    pub fn line(text: impl Into<OsString>) -> Self {
        Self::of(Tool::Line(Line { text: text.into() }))
    }

    /// A call of source in some language.
    pub fn code(language: Language, source: impl Into<Vec<u8>>) -> Self {
        Self::of(Tool::Code(Code { language, source: source.into(), session: None }))
    }

    /// A call that reads a file.
    pub fn read(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self::of(Tool::File(FileCall::Read(file::Read { path, offset: None, limit: None })))
    }

    /// A call that makes a file, or replaces all that is in it.
    pub fn write(path: impl Into<PathBuf>, content: impl Into<String>) -> Self {
        let (path, content) = (path.into(), content.into());
        Self::of(Tool::File(FileCall::Write(file::Write { path, content })))
    }

    /// A call that replaces a text which is in a file once.
    pub fn edit(path: impl Into<PathBuf>, old: impl Into<String>, new: impl Into<String>) -> Self {
        let (path, old, new) = (path.into(), old.into(), new.into());
        let occurrence = file::Occurrence::Once;
        Self::of(Tool::File(FileCall::Edit(file::Edit { path, old, new, occurrence })))
    }

    /// A call that finds files by their names.
    pub fn glob(pattern: impl Into<String>) -> Self {
        Self::of(Tool::File(FileCall::Glob(file::Glob { pattern: pattern.into(), path: None })))
    }

    /// A call that finds files by what is in them.
    pub fn grep(pattern: impl Into<String>) -> Self {
        Self::of(Tool::File(FileCall::Grep(file::Grep::new(pattern))))
    }

    /// A call of any tool, with an id of its own.
    pub fn of(tool: Tool) -> Self {
        Self { id: CallId::new(), tool, cwd: None, wall: None }
    }

    /// The same call with these bytes on standard input; only `Exec` reads any.
    #[must_use]
    pub fn with_stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        if let Tool::Exec(exec) = &mut self.tool {
            exec.stdin = bytes.into();
        }
        self
    }

    /// The same call in a session; only `Code` has any.
    ///
    /// ```
    /// use stockade::ToolCall;
    /// use stockade::call::Language;
    /// # fn main() -> Result<(), stockade::call::BadSessionName> {
    /// let call = ToolCall::code(Language::Python, "x = 1").in_session("plots".parse()?);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn in_session(mut self, name: SessionName) -> Self {
        if let Tool::Code(code) = &mut self.tool {
            code.session = Some(name);
        }
        self
    }

    /// The same call, run in this folder.
    #[must_use]
    pub fn in_folder(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }
}

/// The tools that there are, and room for the name of one that there is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tool {
    /// One program, no shell.
    Exec(Exec),
    /// One shell line: bash runs it, or, where the policy lists programs for lines, it is split into
    /// words and runs without a shell.
    Line(Line),
    /// Source for an interpreter, in a scratch folder.
    Code(Code),
    /// A file that Stockade itself reads, writes or looks for.
    File(FileCall),
    /// A tool that this Stockade cannot run: rules decide about it, and running it is refused.
    Unknown(Foreign),
    /// Something that was sent as a call and cannot be read as one, with the reason.
    Malformed(String),
}

impl Tool {
    /// The name that rules, the journal and the report use.
    pub fn name(&self) -> &str {
        match self {
            Self::Exec(_) => "Exec",
            Self::Line(_) => "Bash",
            Self::Code(_) => "Code",
            Self::File(file) => file.name(),
            Self::Unknown(foreign) => &foreign.name,
            Self::Malformed(_) => "malformed",
        }
    }
}

/// The arguments of `Exec`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exec {
    /// The program and its arguments, byte for byte as they came.
    pub argv: Vec<OsString>,
    /// What the program reads on standard input; nothing if empty.
    pub stdin: Vec<u8>,
}

/// A call of a tool that is not ours.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Foreign {
    /// The tool's name.
    pub name: String,
    /// Its input, as it came.
    pub input: serde_json::Map<String, serde_json::Value>,
}

impl Foreign {
    /// Its input as JSON, without a copy of the values.
    pub fn input_text(&self) -> String {
        // Its keys are strings and its values are JSON, so that there is nothing to go wrong.
        serde_json::to_string(&self.input).unwrap_or_default()
    }
}

impl From<&str> for Foreign {
    fn from(name: &str) -> Self {
        Self { name: name.to_owned(), input: serde_json::Map::new() }
    }
}

/// The arguments of `Bash`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The line as it was written.
    pub text: OsString,
}
