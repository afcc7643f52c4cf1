//! A tool call: a tool name and its arguments. Untrusted, and never run as it is.

mod argv;
mod code;
pub mod file;
mod id;
mod patch;
mod session;
mod wire;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) use argv::ARGUMENT_BYTES_MAX;
pub use argv::{Argv, BadArgv};
pub use code::{Code, Language, UnknownLanguage};
pub use file::FileCall;
pub use id::CallId;
pub(crate) use patch::NAMES as PATCH_NAMES;
pub use patch::{Change, PatchError, PatchedFile, patched_files};
pub use session::{BadSessionName, SessionName};
pub use stockade_policy::nearest;
pub use stockade_sandbox::TerminalSize;
pub use wire::BadInput;

/// One call of one tool, as it was received. Only the gate can turn it into something that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// The id of the call in the journal and the report.
    pub id: CallId,
    /// The tool with its arguments.
    pub tool: Tool,
    /// The working directory as the caller wrote it; none means the project root.
    pub cwd: Option<PathBuf>,
    /// The deadline that the call asks for, in place of `limits.wall`; at most `limits.wall_max`.
    pub wall: Option<Duration>,
    /// How the streams of its program meet the caller.
    pub streams: Streams,
    /// The session that the call belongs to; only calls that run a program have one.
    pub session: Option<SessionName>,
    /// Whether it runs beside other calls, so that its working directory is not that of the next one.
    pub background: bool,
}

/// How the streams of a program meet the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Streams {
    /// Standard input stays open, and the caller may write while the program runs:
    /// [`crate::Running::write_stdin`].
    pub open_stdin: bool,
    /// Standard output and standard error are one pipe, so that their order is exact.
    pub merged: bool,
    /// All streams are one terminal of the sandbox's own, of this size.
    pub terminal: Option<TerminalSize>,
}

impl ToolCall {
    /// A call of one program with its arguments, no shell.
    pub fn exec<I, S>(argv: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<OsString>,
    {
        let argv = argv.into_iter().map(Into::into).collect();
        Self::of(Tool::Exec(Exec { argv, ..Exec::default() }))
    }

    /// A call of one shell line.
    pub fn line(text: impl Into<OsString>) -> Self {
        Self::of(Tool::Line(ShellLine { text: text.into() }))
    }

    /// A call of source code.
    pub fn code(language: Language, source: impl Into<Vec<u8>>) -> Self {
        Self::of(Tool::Code(Code { language, source: source.into() }))
    }

    /// A call that reads a file.
    pub fn read(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self::of(Tool::File(FileCall::Read(file::Read { path, offset: None, limit: None })))
    }

    /// A call that creates a file, or replaces its content.
    pub fn write(path: impl Into<PathBuf>, content: impl Into<String>) -> Self {
        let (path, content) = (path.into(), content.into());
        Self::of(Tool::File(FileCall::Write(file::Write { path, content })))
    }

    /// A call that replaces a text which occurs once in a file.
    pub fn edit(path: impl Into<PathBuf>, old: impl Into<String>, new: impl Into<String>) -> Self {
        let (path, old, new) = (path.into(), old.into(), new.into());
        let occurrence = file::Occurrence::Once;
        Self::of(Tool::File(FileCall::Edit(file::Edit { path, old, new, occurrence })))
    }

    /// A call that finds files by name.
    pub fn glob(pattern: impl Into<String>) -> Self {
        Self::of(Tool::File(FileCall::Glob(file::Glob { pattern: pattern.into(), path: None })))
    }

    /// A call that finds files by content.
    pub fn grep(pattern: impl Into<String>) -> Self {
        Self::of(Tool::File(FileCall::Grep(file::Grep::new(pattern))))
    }

    /// A call of any tool, with a new id.
    pub fn of(tool: Tool) -> Self {
        let streams = Streams::default();
        Self {
            id: CallId::new(),
            tool,
            cwd: None,
            wall: None,
            streams,
            session: None,
            background: false,
        }
    }

    /// Sets the standard input; only `Exec` reads any.
    #[must_use]
    pub fn with_stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        if let Tool::Exec(exec) = &mut self.tool {
            exec.stdin = bytes.into();
        }
        self
    }

    /// The same call with a standard input that stays open: after what the call has for it, the program
    /// reads what the caller writes while it runs. Only `Exec` and `Bash` read any.
    #[must_use]
    pub fn with_open_stdin(mut self) -> Self {
        self.streams.open_stdin = true;
        self
    }

    /// The same call with one pipe for standard output and standard error: the order of what the program
    /// writes is exact, and all of it is in `stdout`. The streams of an engine that runs a container
    /// are joined where they arrive.
    #[must_use]
    pub fn with_merged_output(mut self) -> Self {
        self.streams.merged = true;
        self
    }

    /// The same call on a terminal of the sandbox's own: its output is one stream, its input stays open,
    /// and [`crate::Running::terminal`] changes its size. Only the jail has terminals.
    #[must_use]
    pub fn with_terminal(mut self, size: TerminalSize) -> Self {
        self.streams = Streams { open_stdin: true, merged: true, terminal: Some(size) };
        self
    }

    /// Whether standard input stays open.
    pub(crate) fn has_open_stdin(&self) -> bool {
        self.streams.open_stdin && matches!(self.tool, Tool::Exec(_) | Tool::Line(_))
    }

    /// Runs the call beside others: the directory in which it ends is not that of the next call of its
    /// session.
    #[must_use]
    pub fn in_background(mut self) -> Self {
        self.background = true;
        self
    }

    /// Runs the call in a session. Calls of one session share the working directory, `/tmp` and a
    /// loopback network; for `Code` the session also has an interpreter that keeps what calls leave.
    ///
    /// ```
    /// use stockade::ToolCall;
    /// use stockade::call::Language;
    /// # fn main() -> Result<(), stockade::call::BadSessionName> {
    /// let call = ToolCall::line("cd src").in_session("work".parse()?);
    /// let code = ToolCall::code(Language::Python, "x = 1").in_session("plots".parse()?);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn in_session(mut self, name: SessionName) -> Self {
        match &mut self.tool {
            Tool::Exec(_) | Tool::Line(_) | Tool::Code(_) => self.session = Some(name),
            Tool::File(_) | Tool::Unknown(_) | Tool::Malformed(_) => {}
        }
        self
    }

    /// Runs the call in this folder.
    #[must_use]
    pub fn in_folder(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }
}

/// The tools of Stockade, and external ones by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tool {
    /// One program, no shell.
    Exec(Exec),
    /// One shell line: bash runs it, or, where the policy lists programs for lines, it is split into
    /// words and runs without a shell.
    Line(ShellLine),
    /// Source for an interpreter, in a scratch folder.
    Code(Code),
    /// A file operation that Stockade itself carries out.
    File(FileCall),
    /// Another tool: a registered one, or an external one that only rules judge.
    Unknown(ExternalCall),
    /// Input that is not a valid call, with the reason.
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
    /// The program and its arguments, byte for byte.
    pub argv: Vec<OsString>,
    /// The program's standard input.
    pub stdin: Vec<u8>,
}

/// A call of a registered or an external tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExternalCall {
    /// The tool's name.
    pub name: String,
    /// Its input as it was received.
    pub input: serde_json::Map<String, serde_json::Value>,
}

impl ExternalCall {
    /// The input as JSON.
    pub fn input_text(&self) -> String {
        // The keys are strings and the values are JSON, so serialising cannot fail.
        serde_json::to_string(&self.input).unwrap_or_default()
    }
}

impl From<&str> for ExternalCall {
    fn from(name: &str) -> Self {
        Self { name: name.to_owned(), input: serde_json::Map::new() }
    }
}

/// The arguments of `Bash`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellLine {
    /// The line as it was written.
    pub text: OsString,
}
