//! What the gate says to calls that cannot even be inspected, or name no program.

use std::ffi::OsStr;

use crate::call::{Argv, BadArgv, Language};
use crate::inspect::{Axis, Finding, ViewError, Weight};
use crate::outcome::{Failure, chain};
use crate::policy::{By, Ruling};

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

pub(super) fn unknown_tool(name: &str) -> Finding {
    let text = format!("there is no tool {:?} to run", name.chars().take(64).collect::<String>());
    call_finding("unknown-tool", text, "use Exec, Bash or Code")
}

pub(super) fn unreadable(why: &str) -> Finding {
    let shape = r#"send {"tool":"Exec","input":{"argv":["ls","."]},"id":"…","cwd":"…"}"#;
    call_finding("malformed", why.to_owned(), shape)
}

pub(super) fn bad_cwd(error: &ViewError) -> Finding {
    let text = match error {
        ViewError::CwdOutside { .. } => error.to_string(),
        ViewError::OpenRoot { .. } | ViewError::OpenCwd { .. } => {
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
