//! What the gate says to calls that cannot even be inspected, or name no program.

use std::ffi::OsStr;
use std::path::Path;

use crate::call::{Argv, BadArgv, Language, nearest};
use crate::inspect::{Axis, Finding, ViewError, Weight};
use crate::outcome::{Failure, chain};
use crate::policy::tool::{ToolName, Violation};
use crate::policy::{By, Ruling};
use crate::registry::{Registered, Registry, Works, typed};

fn call_finding(rule: &'static str, text: String, instead: &str) -> Finding {
    Finding {
        axis: Axis::Call,
        rule,
        text,
        argument: None,
        instead: Some(instead.to_owned()),
        listed: None,
        weight: Weight::Always,
        span: None,
    }
}

pub(super) fn malformed(bad: &BadArgv) -> Finding {
    let finding =
        call_finding("argv", bad.to_string(), "pass long or binary data in a file or on stdin");
    Finding { argument: bad.argument(), ..finding }
}

pub(super) fn unparseable(line: &OsStr) -> Finding {
    let text = format!("unparseable command: {line:?} has an open quote or a stray backslash");
    call_finding("unparseable", text, "close every quote")
}

pub(super) fn no_text() -> Finding {
    let text = "the line is not UTF-8, or holds a NUL byte".to_owned();
    call_finding("line", text, "pass binary data in a file")
}

pub(super) fn no_bash() -> Failure {
    let message = "there is no bash in exec.search_path to run the line".to_owned();
    let mut failure = Failure::new("find the shell", message)
        .remedy("install bash, or call programs without a shell (run, Exec)");
    failure.no_such_program = true;
    failure
}

pub(super) fn no_interpreter(language: Language, program: &str) -> Failure {
    let message = format!("there is no {program} in exec.search_path to run {language}");
    let mut failure = Failure::new("find the interpreter", message)
        .remedy(format!("install {program}, or add its folder to exec.search_path"));
    failure.no_such_program = true;
    failure
}

pub(super) fn bad_input(name: &ToolName, wrong: &[Violation]) -> Finding {
    let told: Vec<String> = wrong.iter().map(ToString::to_string).collect();
    let text = format!("the input does not fit the tool {name}: {}", told.join("; "));
    let instead = format!("send what its schema asks for: stockade tools describe {name}");
    call_finding("input", text, &instead)
}

pub(super) fn no_tool_program(tool: &Registered) -> Failure {
    let name = &tool.declaration.name;
    let program = match &tool.works {
        Works::Program { words, .. } => words.first().cloned().unwrap_or_default(),
        Works::Inline(_) => std::ffi::OsString::new(),
    };
    let message = format!("the tool {name} runs {program:?}, and there is no such program");
    let place = tool.declaration.source.as_deref().unwrap_or("its declaration");
    let mut failure = Failure::new("find the tool's program", message)
        .remedy(format!("install it, add its folder to exec.search_path, or correct {place}"));
    failure.no_such_program = true;
    failure
}

pub(super) fn changed_tool(tool: &Registered, path: &Path) -> Failure {
    let name = &tool.declaration.name;
    let message = format!("{path:?}, which the tool {name} runs, is not what it was at the start");
    Failure::new("find the tool's files", message)
        .remedy("look at what it is now, and open the project anew to run it")
}

pub(super) fn unknown_tool(name: &str, registry: &Registry) -> Finding {
    let text = format!("there is no tool {:?} to run", name.chars().take(64).collect::<String>());
    let ours = typed();
    let known = ours.iter().map(|tool| tool.name.as_str()).chain(registry.names());
    let instead = match nearest(name, known) {
        Some(meant) => format!("use {meant}"),
        None => "use one of those that `stockade tools list` shows".to_owned(),
    };
    call_finding("unknown-tool", text, &instead)
}

pub(super) fn unreadable(why: &str) -> Finding {
    let shape = r#"send {"tool":"Exec","input":{"argv":["ls","."]},"id":"…","cwd":"…"}"#;
    call_finding("malformed", why.to_owned(), shape)
}

pub(super) fn bad_cwd(error: &ViewError) -> Finding {
    let text = match error {
        ViewError::CwdOutside { .. } => error.to_string(),
        ViewError::OpenRoot { .. } | ViewError::HoldsHome { .. } | ViewError::OpenCwd { .. } => {
            format!("could not {}", chain(error))
        }
    };
    let finding = call_finding("cwd", text, "name an existing folder beneath the project root");
    Finding { axis: Axis::Path, ..finding }
}

pub(super) fn missing_ruling(argv: &Argv) -> Ruling {
    let failure = missing_failure(argv);
    Ruling { argument: Some(0), ..Ruling::deny(By::Axis, "name/missing", failure.message) }
        .instead("name a program that is installed; bare names are looked up in exec.search_path")
}

pub(super) fn missing_failure(argv: &Argv) -> Failure {
    let message = format!("executable not found: {:?} (argument 0)", argv.program());
    let mut failure = Failure::new("find the program", message)
        .remedy("install it, or name it by its path; bare names are looked up in exec.search_path");
    failure.no_such_program = true;
    failure
}
