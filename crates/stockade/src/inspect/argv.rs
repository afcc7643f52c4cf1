//! The argv axis: what the arguments make a program do, from the knowledge base.

use super::command::Command;
use super::finding::{Axis, Finding, Weight};
use super::settings::{INTERPRETERS, Settings};
use crate::knowledge::{Hazard, HazardKind};

/// What this axis finds in one command.
pub(super) fn inspect(command: &Command<'_>, settings: &Settings) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let hazards = command.readings.iter().flat_map(|reading| &reading.hazards);
    for hazard in hazards.filter(|hazard| !is_permitted(hazard, command, settings)) {
        let finding = finding(hazard, command);
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    if findings.is_empty() && command.readings.is_empty() {
        findings.extend(unknown_interpreter(command, settings));
    }
    findings
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
        instead: hazard.instead.as_deref().map(str::to_owned).or_else(|| alternative(hazard.kind)),
        listed: None,
        weight: if hazard.kind == HazardKind::FindAction { Weight::Strict } else { Weight::Always },
    }
}

fn alternative(kind: HazardKind) -> Option<String> {
    is_code(kind).then(|| "put the code into a script file and run that".to_owned())
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
        instead: alternative(HazardKind::InlineCode),
        listed: None,
        weight: Weight::Always,
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
