//! Examples that state all that a reading of one command says.

use super::super::Knowledge;
use super::super::program::Program;
use super::super::reading::{Code, Runner, Word};
use super::super::schema::{self, Examples};

/// Checks the examples in `[program.examples]`.
pub(super) fn check(knowledge: &Knowledge, program: &Program) -> Result<(), String> {
    let examples = &program.data.examples;
    if holds_code(&program.data) {
        both_kinds(&examples.code, "code")?;
    }
    for example in &examples.code {
        let (argv, expected) = split(example)?;
        let reading = super::read(knowledge, program, &argv)?;
        let found: Vec<_> = reading.code.iter().map(|code| shown(code, &argv)).collect();
        if found != expected {
            return Err(format!("{argv:?} should hold the code {expected:?}, not {found:?}"));
        }
    }
    for example in &examples.inner {
        let (argv, expected) = split(example)?;
        let reading = super::read(knowledge, program, &argv)?;
        let found: Vec<_> = reading.inner.iter().map(|inner| joined(&inner.words)).collect();
        if found != expected {
            return Err(format!("{argv:?} should run {expected:?}, not {found:?}"));
        }
    }
    Ok(())
}

/// How many examples there are.
pub(super) fn count(program: &Program) -> usize {
    let Examples { code, inner } = &program.data.examples;
    code.len().saturating_add(inner.len())
}

/// Whether commands of this program can hold code.
fn holds_code(data: &schema::Program) -> bool {
    let wraps = |wrapper: &schema::Wrapper| {
        !wrapper.code.is_empty() || wrapper.command == schema::Command::Shell
    };
    !data.code.is_empty()
        || data.wrapper.iter().any(wraps)
        || data.interpreter.iter().any(|data| !data.code.is_empty() || data.language.is_some())
}

fn both_kinds(examples: &[Vec<String>], what: &str) -> Result<(), String> {
    let with = examples.iter().any(|example| example.len() > 1);
    let without = examples.iter().any(|example| example.len() == 1);
    let found = with && without;
    found.then_some(()).ok_or_else(|| format!("there are not both kinds of examples for {what}"))
}

/// The words of the line that an example begins with, and what is said of it.
fn split(example: &[String]) -> Result<(Vec<String>, &[String]), String> {
    let (line, expected) = example.split_first().ok_or("an example has no line")?;
    let argv = shlex::split(line).ok_or_else(|| format!("the quotes in {line:?} do not close"))?;
    Ok((argv, expected))
}

fn shown(code: &Code, argv: &[String]) -> String {
    let runner = match code.runner {
        Runner::Shell => "shell",
        Runner::ThisShell => "this-shell",
        Runner::ThisShellLater => "this-shell-later",
        Runner::Remote => "remote",
        Runner::Other => "other",
    };
    let words = code.words.iter().filter_map(|word| argv.get(*word));
    let text = words.map(String::as_str).collect::<Vec<_>>().join(" ");
    let open = if code.open { " ..." } else { "" };
    format!("{runner} {}{open}", text.get(code.offset..).unwrap_or_default())
}

fn joined(words: &[Word<'_>]) -> String {
    words.iter().map(|word| word.text.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
