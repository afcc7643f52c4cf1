//! Findings and failures for calls that cannot be inspected or name no program.

use std::ffi::OsStr;
use std::path::Path;

use crate::call::{ARGUMENT_BYTES_MAX, Argv, BadArgv, Language, nearest};
use crate::inspect::{Axis, Finding, ResolverError, Weight};
use crate::outcome::{Failure, FailureKind, chain};
use crate::policy::tools::{ToolName, Violation};
use crate::policy::{By, Ruling};
use crate::registry::{RegisteredTool, Registry, ToolWork, builtin_tools};

fn call_finding(rule: &'static str, text: String, instead: &str) -> Finding {
    Finding::new(Axis::Call, Weight::Always, rule, text).instead(instead)
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

/// A line that no shell can be given, since `bash -c` takes it as one argument.
pub(super) fn long_line(bytes: usize) -> Finding {
    let most = ARGUMENT_BYTES_MAX.saturating_sub(1);
    let text = format!("the line is {bytes} bytes long; a shell takes at most {most}");
    Finding::new(Axis::Shell, Weight::Always, "too-long", text)
        .instead("write it to a file and run that")
}

pub(super) fn no_bash() -> Failure {
    let message = "bash is not in exec.search_path, so the line cannot run".to_owned();
    Failure::new(FailureKind::MissingShell, message)
        .with_remedy("install bash, or call programs without a shell (run, Exec)")
}

pub(super) fn no_interpreter(language: Language, program: &str) -> Failure {
    let message = format!("{program} is not in exec.search_path, so {language} code cannot run");
    Failure::new(FailureKind::MissingInterpreter, message)
        .with_remedy(format!("install {program}, or add its folder to exec.search_path"))
}

pub(super) fn bad_input(name: &ToolName, wrong: &[Violation]) -> Finding {
    let told: Vec<String> = wrong.iter().map(ToString::to_string).collect();
    let text = format!("the input does not fit the tool {name}: {}", told.join("; "));
    let instead = format!("send what its schema asks for: stockade tools describe {name}");
    call_finding("input", text, &instead)
}

pub(super) fn no_tool_program(tool: &RegisteredTool) -> Failure {
    let name = &tool.declaration.name;
    let program = match &tool.works {
        ToolWork::Program { words, .. } => words.first().cloned().unwrap_or_default(),
        ToolWork::Inline(_) => std::ffi::OsString::new(),
    };
    let message = format!("the program {program:?} of the tool {name} was not found");
    let place = tool.declaration.source.as_deref().unwrap_or("its declaration");
    Failure::new(FailureKind::MissingToolProgram, message)
        .with_remedy(format!("install it, add its folder to exec.search_path, or correct {place}"))
}

pub(super) fn changed_tool(tool: &RegisteredTool, path: &Path) -> Failure {
    let name = &tool.declaration.name;
    let message =
        format!("{path:?}, a file of the tool {name}, has changed since the project was opened");
    Failure::new(FailureKind::FindToolFiles, message)
        .with_remedy("check the file, and open the project again to run it")
}

pub(super) fn unknown_tool(name: &str, registry: &Registry) -> Finding {
    let text = format!("unknown tool {:?}", name.chars().take(64).collect::<String>());
    let ours = builtin_tools();
    let known = ours.iter().map(|tool| tool.name.as_str()).chain(registry.names());
    let instead = match nearest(name, known) {
        Some(meant) => format!("use {meant}"),
        None => "use one of the tools that `stockade tools list` shows".to_owned(),
    };
    call_finding("unknown-tool", text, &instead)
}

pub(super) fn unreadable(why: &str) -> Finding {
    let shape = r#"send {"tool":"Exec","input":{"argv":["ls","."]},"id":"…","cwd":"…"}"#;
    call_finding("malformed", why.to_owned(), shape)
}

pub(super) fn bad_cwd(error: &ResolverError) -> Finding {
    let text = match error {
        ResolverError::CwdOutside { .. } => error.to_string(),
        ResolverError::OpenRoot { .. }
        | ResolverError::HoldsHome { .. }
        | ResolverError::OpenCwd { .. } => {
            format!("could not {}", chain(error))
        }
    };
    let finding = call_finding("cwd", text, "name an existing folder beneath the project root");
    Finding { axis: Axis::Path, ..finding }
}

pub(super) fn missing_ruling(argv: &Argv) -> Ruling {
    let failure = missing_failure(argv);
    Ruling {
        argument: Some(0),
        ..Ruling::deny(By::Axis, "name/missing", failure.message().to_owned())
    }
    .instead("name a program that is installed; bare names are looked up in exec.search_path")
}

pub(super) fn missing_failure(argv: &Argv) -> Failure {
    let message = format!("executable not found: {:?} (argument 0)", argv.program());
    Failure::new(FailureKind::MissingProgram, message).with_remedy(
        "install it, or name it by its path; bare names are looked up in exec.search_path",
    )
}
