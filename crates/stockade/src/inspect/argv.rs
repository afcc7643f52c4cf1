//! The argv axis: what the arguments make a program do, from the knowledge base.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::Input;
use super::command::Command;
use super::finding::{Axis, Finding, Weight};
use super::settings::{INTERPRETERS, Settings};
use super::view::{Landing, View};
use crate::knowledge::{Hazard, HazardKind, Word};

/// What this axis finds in one command.
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

/// Words that a command gets from its input or from a file, and that nobody can judge before.
///
/// Only where there is such input: `xargs ls` alone runs `ls`.
pub(super) fn inspect_added_words(
    command: &Command<'_>,
    input: Input,
    view: &View<'_>,
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
            let landing = view.land(OsStr::from_bytes(path));
            !path.is_empty() && matches!(landing, Landing::Inside { exists: true, .. })
        })
    };
    if input == Input::Nothing && !command.own_arguments().any(is_file) {
        return None;
    }
    let (name, argument) = (command.spelled().to_string_lossy(), inner.argument);
    Some(Finding {
        axis: Axis::Argv,
        rule: "added-words",
        text: format!(
            "{name:?} adds words to {:?} (argument {argument}) that are not known before the run",
            inner.text
        ),
        argument: Some(argument),
        instead: Some("name all arguments in the call itself".to_owned()),
        listed: None,
        weight: Weight::Strict,
        span: None,
    })
}

/// Inline code is the business of the policy's list, for the interpreters that the shipped list
/// names: taking one off it permits its code.
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

/// A name without its version: `python3.11` is `python`, `perl5.36.0` is `perl`.
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
    Finding {
        axis: Axis::Argv,
        rule,
        text,
        argument: Some(*argument),
        instead: Some(
            hazard.instead.as_deref().unwrap_or_else(|| alternative(hazard.kind)).to_owned(),
        ),
        listed: None,
        weight: if hazard.kind == HazardKind::FindAction { Weight::Strict } else { Weight::Boxed },
        span: None,
    }
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

/// An interpreter that only the policy knows: the shapes that all of them share.
fn unknown_interpreter(command: &Command<'_>, settings: &Settings) -> Option<Finding> {
    command.names.iter().find(|name| is_interpreter(name, settings))?;
    let word = command.own_arguments().find(|word| is_code_flag(word.text.as_encoded_bytes()))?;
    let (name, argument) = (command.spelled().to_string_lossy(), word.argument);
    Some(Finding {
        axis: Axis::Argv,
        rule: "inline-code",
        text: format!(
            "interpreter {name:?} invoked with inline code ({:?}, argument {argument})",
            word.text
        ),
        argument: Some(argument),
        instead: Some(alternative(HazardKind::InlineCode).to_owned()),
        listed: None,
        weight: Weight::Boxed,
        span: None,
    })
}

/// `-c` and `-e` alone, in a cluster or with code glued to them, and their long forms.
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
