//! The argv axis: what the arguments make a program do, according to the catalog.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::ProgramInput;
use super::command::Command;
use super::resolver::{PathResolver, Resolution};
use crate::catalog::{Hazard, HazardKind, Word};
use crate::inspect::{Axis, Finding, Weight};
use crate::inspect::{INTERPRETERS, Settings};

/// The findings of this axis for one command.
pub(super) fn inspect(command: &Command<'_>, settings: &Settings) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let mut seen = HashSet::new();
    let hazards = command.readings.iter().flat_map(|reading| &reading.hazards);
    for hazard in hazards.filter(|hazard| !is_permitted(hazard, command, settings)) {
        if seen.insert((hazard.kind, hazard.argument, &hazard.flag, &hazard.why)) {
            findings.push(finding(hazard, command));
        }
    }
    if findings.is_empty() && !command.readings.iter().any(|reading| reading.judged) {
        findings.extend(unknown_interpreter(command, settings));
    }
    findings
}

/// Words that a command reads from its input or from a file, so that they are not known before the
/// run.
///
/// Only if there is such input: `xargs ls` alone runs `ls`.
pub(super) fn inspect_added_words(
    command: &Command<'_>,
    input: ProgramInput,
    resolver: &PathResolver<'_>,
) -> Option<Finding> {
    let is_find = |hazard: &Hazard| hazard.kind == HazardKind::FindAction;
    let readings = command.readings.iter();
    let mut readings = readings.filter(|reading| !reading.hazards.iter().any(is_find));
    let inner = readings.find_map(|reading| reading.inner.iter().find(|inner| inner.open))?;
    let inner = inner.words.first()?;
    let is_file = |word: &Word<'_>| {
        let text = word.text.as_encoded_bytes();
        let value = text.iter().position(|byte| *byte == b'=').map_or(0, |at| at.saturating_add(1));
        [0, 2, value].into_iter().filter_map(|at| word.text.as_bytes().get(at..)).any(|path| {
            let resolution = resolver.resolve(OsStr::from_bytes(path));
            !path.is_empty() && matches!(resolution, Resolution::Inside { exists: true, .. })
        })
    };
    if input == ProgramInput::Nothing && !command.own_arguments().any(is_file) {
        return None;
    }
    let (name, argument) = (command.spelled().to_string_lossy(), inner.argument);
    let text = format!(
        "{name:?} adds words to {:?} (argument {argument}) that are not known before the run",
        inner.text
    );
    let finding = Finding::new(Axis::Argv, Weight::Strict, "added-words", text);
    Some(finding.at(argument).instead("name all arguments in the call itself"))
}

/// For interpreters on the shipped list, the policy's list decides about inline code: removing one
/// from it permits its code.
fn is_permitted(hazard: &Hazard, command: &Command<'_>, settings: &Settings) -> bool {
    if !is_code(hazard.kind) {
        return false;
    }
    let shipped = command.names.iter().any(|name| INTERPRETERS.contains(&stem(name)));
    let listed = command.names.iter().any(|name| is_interpreter(name, settings));
    shipped && !listed
}

fn is_code(kind: HazardKind) -> bool {
    matches!(kind, HazardKind::InlineCode | HazardKind::StdinCode)
}

fn is_interpreter(name: &str, settings: &Settings) -> bool {
    settings.interpreters.contains(name) || settings.interpreters.contains(stem(name))
}

/// Strips a version: `python3.11` is `python`, `perl5.36.0` is `perl`.
fn stem(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').trim_end_matches('-')
}

fn finding(hazard: &Hazard, command: &Command<'_>) -> Finding {
    let Hazard { argument, flag, why, .. } = hazard;
    let name = command.spelled().to_string_lossy();
    let (rule, text) = match hazard.kind {
        HazardKind::InlineCode => (
            "inline-code",
            format!(
                "interpreter {name:?} invoked with inline code ({flag:?}, argument {argument}): {why}"
            ),
        ),
        HazardKind::StdinCode => (
            "stdin-code",
            format!(
                "interpreter {name:?} would read its code from standard input (argument {argument}): {why}"
            ),
        ),
        HazardKind::Environment => (
            "environment",
            format!(
                "{name:?} sets {flag:?} (argument {argument}), which changes what programs run: {why}"
            ),
        ),
        HazardKind::FindAction => {
            ("find-action", format!("{name:?} with {flag:?} (argument {argument}): {why}"))
        }
        HazardKind::Always => {
            ("command-language", format!("{name:?} (argument {argument}): {why}"))
        }
        HazardKind::Unreadable => (
            "unreadable",
            format!(
                "{name:?} with {flag:?} (argument {argument}) cannot be read with certainty: {why}"
            ),
        ),
        HazardKind::Flag => {
            ("flag", format!("{name:?} with {flag:?} (argument {argument}): {why}"))
        }
    };
    let is_action = hazard.kind == HazardKind::FindAction;
    let weight = if is_action { Weight::Strict } else { Weight::Boxed };
    let instead = hazard.instead.as_deref().unwrap_or_else(|| alternative(hazard.kind));
    Finding::new(Axis::Argv, weight, rule, text).at(*argument).instead(instead)
}

fn alternative(kind: HazardKind) -> &'static str {
    match kind {
        HazardKind::InlineCode | HazardKind::StdinCode => {
            "put the code into a script file and run that"
        }
        HazardKind::Flag => "leave this argument out",
        HazardKind::Always => "use a program that reads no commands while it runs",
        HazardKind::Environment => "leave the variable as it is",
        HazardKind::FindAction => "list the files, and name them in calls of their own",
        HazardKind::Unreadable => "spell the options in full, and leave out what is not needed",
    }
}

/// Inline code of an interpreter that only the policy lists: the common options.
fn unknown_interpreter(command: &Command<'_>, settings: &Settings) -> Option<Finding> {
    command.names.iter().find(|name| is_interpreter(name, settings))?;
    let word = command.own_arguments().find(|word| is_code_flag(word.text.as_encoded_bytes()))?;
    let (name, argument) = (command.spelled().to_string_lossy(), word.argument);
    let text = format!(
        "interpreter {name:?} invoked with inline code ({:?}, argument {argument})",
        word.text
    );
    let finding = Finding::new(Axis::Argv, Weight::Boxed, "inline-code", text);
    Some(finding.at(argument).instead(alternative(HazardKind::InlineCode)))
}

/// `-c` and `-e` alone, in a cluster or with code attached, and their long forms.
fn is_code_flag(word: &[u8]) -> bool {
    match word {
        [b'-', b'-', long @ ..] => {
            let name = long.split(|byte| *byte == b'=').next().unwrap_or_default();
            [&b"eval"[..], b"exec", b"command", b"execute"].contains(&name)
        }
        [b'-', cluster @ ..] => cluster
            .iter()
            .take_while(|byte| byte.is_ascii_alphabetic())
            .any(|byte| b"ce".contains(byte)),
        _ => false,
    }
}
