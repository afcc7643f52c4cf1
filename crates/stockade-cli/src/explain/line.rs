//! From what the gate found in a shell line to what is told about it.

use std::ffi::OsString;
use std::path::Path;

use stockade::catalog::EffectKind as Kind;
use stockade::gate::Examination;
use stockade::inspect::{CommandSummary, Finding, Weight as Reach};
use stockade::policy::Decision;
use stockade::shell::ast::Span;
use stockade::shell::quoted;

use crate::diagnostic::{Label, Weight};
use crate::explain::{Command, Effect, EffectKind, Explanation, Verdict};

/// What is told about a line that starts in this folder.
pub(crate) fn explanation<'a>(
    line: &'a str,
    folder: &Path,
    examination: &Examination,
) -> Explanation<'a> {
    let ruling = &examination.ruling;
    let deciding = |finding: &Finding| Some(&finding.text) == ruling.reason.as_ref();
    let notes = |at: usize| {
        let mine = |finding: &&Finding| {
            !deciding(finding) && owner(finding, &examination.commands) == Some(at)
        };
        let mut notes: Vec<String> =
            examination.findings.iter().filter(mine).map(|one| one.text.clone()).collect();
        notes.dedup();
        notes
    };
    let commands = examination.commands.iter().enumerate();
    Explanation {
        line,
        commands: commands.map(|(at, found)| command(found, folder, notes(at))).collect(),
        verdict: Verdict {
            decision: ruling.decision,
            rule: ruling.rule.clone(),
            source: ruling.source.clone(),
            reason: ruling.reason.clone(),
            instead: ruling.instead.clone(),
            labels: labels(examination),
        },
    }
}

/// The innermost command that a finding stands in.
fn owner(finding: &Finding, commands: &[CommandSummary]) -> Option<usize> {
    let span = finding.span?;
    let holds = |found: &CommandSummary| {
        found.span.is_some_and(|own| own.start <= span.start && span.end <= own.end)
    };
    let length =
        |found: &CommandSummary| found.span.map_or(0, |own| own.end.saturating_sub(own.start));
    let holding = commands.iter().enumerate().filter(|(_, found)| holds(found));
    holding.min_by_key(|(_, found)| length(found)).map(|(at, _)| at)
}

fn command(found: &CommandSummary, folder: &Path, notes: Vec<String>) -> Command {
    let is_here = matches!(found.folders.as_slice(), [one] if one == folder);
    let folders = || {
        let names: Vec<String> =
            found.folders.iter().map(|one| one.display().to_string()).collect();
        if names.is_empty() { "not known before the run".to_owned() } else { names.join(" or ") }
    };
    let effect = |target: &stockade::inspect::Target| {
        let kind = match target.kind {
            Kind::Read | Kind::List => EffectKind::Reads,
            Kind::Write => EffectKind::Writes,
            Kind::Delete => EffectKind::Deletes,
            Kind::Execute => EffectKind::Runs,
            Kind::Host => EffectKind::Reaches,
            Kind::Enter | Kind::Pass | Kind::ChangeTree | Kind::Forget => return None,
        };
        Some(Effect { kind, target: target.text.to_string_lossy().into_owned() })
    };
    let mut effects: Vec<Effect> = Vec::new();
    for one in found.targets.iter().filter_map(effect) {
        if !effects.contains(&one) {
            effects.push(one);
        }
    }
    Command {
        depth: found.via.len(),
        place: found.via.last().map(|via| place(via, found.remote)),
        argv: typed(found),
        dynamic: found.dynamic.then(|| dynamic(found).to_owned()),
        cwd: (!is_here).then(folders),
        effects,
        notes,
    }
}

fn place(via: &str, is_remote: bool) -> String {
    match via {
        "$(…)" | "<(…)" => format!("in {via}"),
        "coproc" => "a coprocess".to_owned(),
        _ if via.starts_with("function ") || via.starts_with("alias ") => format!("in {via}"),
        _ if is_remote => format!("on another machine, by {via}"),
        _ => format!("run by {via}"),
    }
}

/// What of a command is open.
fn dynamic(found: &CommandSummary) -> &'static str {
    if found.known.first() == Some(&false) {
        "which program it is"
    } else if found.known.contains(&false) {
        "some of its words"
    } else if found.open {
        "the words that are added to it"
    } else if found.targets.iter().any(stockade::inspect::Target::is_open) {
        "which files it is about"
    } else {
        "which program its name stands for"
    }
}

/// The words as a person would type them; those that are not known, as they are written.
fn typed(found: &CommandSummary) -> String {
    if found.words.is_empty() {
        return "(a redirection)".to_owned();
    }
    let word = |(word, known): (&OsString, &bool)| {
        let text = word.to_string_lossy();
        if *known { quoted(&text) } else { text.into_owned() }
    };
    found.words.iter().zip(&found.known).map(word).collect::<Vec<_>>().join(" ")
}

/// The part that decided, and others that would have.
fn labels(examination: &Examination) -> Vec<Label> {
    let ruling = &examination.ruling;
    if ruling.decision == Decision::Allow {
        return Vec::new();
    }
    let mut labels = Vec::new();
    let mut add = |span: Span, text: &str, weight| {
        if !labels.iter().any(|label: &Label| label.span == span && label.text == text) {
            labels.push(Label { span, text: text.to_owned(), weight });
        }
    };
    if let Some(span) = ruling.span {
        let text = ruling.rule.as_deref().unwrap_or("this");
        add(span, text, Weight::Primary);
    }
    let asks = |finding: &&Finding| matches!(finding.weight, Reach::Ask | Reach::Always);
    for finding in examination.findings.iter().filter(asks).take(LABELS_MAX) {
        if let Some(span) = finding.span.filter(|span| Some(*span) != ruling.span) {
            add(span, &finding.rule_id(), Weight::Secondary);
        }
    }
    labels
}

/// More than this is not read any more.
const LABELS_MAX: usize = 8;
