//! Which rules were held against a call, how each came out, and what the box makes of them.

use serde::Serialize;
use stockade::ToolCall;
use stockade::confine::{Files, Origin};
use stockade::gate::{Examination, Examiner};
use stockade::launch::{self, SearchResult};
use stockade::outcome::Failure;
use stockade::policy::rules::{ConsideredRule, Effect, Fit, Part};
use stockade::policy::{By, Decision, Mode, RuleReach};

use crate::print::{self, FAINT, escape};

/// What is told about the rules of a call.
#[derive(Serialize)]
pub(crate) struct RulesExplanation {
    considered: Vec<RuleFit>,
    /// Why the decision is what it is.
    because: String,
    /// What the box makes of rules that deny paths.
    boxed: Vec<PathFit>,
}

#[derive(Serialize)]
struct RuleFit {
    list: Decision,
    rule: String,
    source: Option<String>,
    /// `decides`, `matches`, `partly`, `no` or `not_reached`.
    fit: &'static str,
    /// What of the call it is about.
    part: Option<String>,
}

#[derive(Serialize)]
struct PathFit {
    rule: String,
    source: Option<String>,
    /// `hidden`, `protected` or `gate`: kept by the gate alone.
    kept: &'static str,
    path: Option<String>,
    /// What was found by a pattern now; it is looked for again when a box is made.
    paths: Vec<String>,
    note: Option<String>,
}

impl RulesExplanation {
    pub(crate) fn new(examiner: &Examiner, call: &ToolCall, examination: &Examination) -> Self {
        let considered = examiner.consider(call, examination);
        let part = |part: &Part| part_name(part, examination);
        let rule = |one: &ConsideredRule<'_>| {
            let (fit, part) = match &one.fit {
                Fit::Decides(at) => ("decides", Some(part(at))),
                Fit::Matches(at) => ("matches", Some(part(at))),
                Fit::Partly(all) => {
                    ("partly", Some(all.iter().map(part).collect::<Vec<_>>().join(", ")))
                }
                Fit::No => ("no", None),
                Fit::NotReached => ("not_reached", None),
            };
            RuleFit {
                list: one.rule.list(),
                rule: one.rule.text().to_owned(),
                source: one.rule.place(),
                fit,
                part,
            }
        };
        let root = examiner.root().path();
        let files = &examination.confinement.files;
        let searched = launch::search(files);
        let told = |reached: &RuleReach<'_>| {
            let told = PathFit::new(reached, files, &searched);
            // Most shipped rules mean nothing of this project.
            let is_idle = reached.rule.origin() == Origin::Shipped && told.paths.is_empty();
            (!is_idle).then_some(told)
        };
        let is_about = |one: &&ConsideredRule<'_>| {
            let is_idle = matches!(one.fit, Fit::No | Fit::NotReached);
            one.rule.origin() != Origin::Shipped || !is_idle
        };
        Self {
            because: because(&considered, examination, examiner.policy().mode),
            considered: considered.iter().filter(is_about).map(rule).collect(),
            boxed: examiner.policy().reached(root).iter().filter_map(told).collect(),
        }
    }

    /// Prints it for a person.
    pub(crate) fn print(&self) -> Result<(), print::StdoutError> {
        if !self.considered.is_empty() {
            print::line("rules, in the order in which they are asked")?;
        }
        for one in &self.considered {
            let place = one.source.as_ref().map(|source| format!(" ({source})"));
            let part = one.part.as_ref().map(|part| format!(": {part}")).unwrap_or_default();
            let fit = match one.fit {
                "no" => "does not match".to_owned(),
                "not_reached" => "not asked: a stricter list has decided".to_owned(),
                "partly" => format!("allows a part{part}"),
                fit => format!("{fit}{part}"),
            };
            let line = format!("{:<6} {}{}", one.list.name(), one.rule, place.unwrap_or_default());
            print::line(&format!("  {} {FAINT}{}{FAINT:#}", escape(&line), escape(&fit)))?;
        }
        print::line(&format!("because {}", escape(&self.because)))?;
        if !self.boxed.is_empty() {
            print::line("denied paths in the box")?;
        }
        for one in &self.boxed {
            print::line(&format!("  {}", escape(&one.line())))?;
        }
        Ok(())
    }
}

impl PathFit {
    fn new(
        reached: &RuleReach<'_>,
        files: &Files,
        searched: &Result<SearchResult, Failure>,
    ) -> Self {
        let denied = &reached.denied;
        let at = files.sought.iter().position(|one| denied.sought.as_ref() == Some(one));
        let (mut paths, mut notes) = (Vec::new(), Vec::new());
        notes.extend(denied.unkept.map(|why| why.name().to_owned()));
        match (at, searched) {
            (Some(at), Ok(searched)) => {
                let found = searched.found.iter().filter(|(_, by)| **by == at);
                paths.extend(found.map(|(path, _)| path.display().to_string()));
                notes.extend(searched.gap.iter().chain(&searched.note).cloned());
                notes.push(format!("{} entries looked at", searched.entries));
                notes.push(later(denied.effect).to_owned());
            }
            (Some(_), Err(failure)) => notes.push(failure.message().to_owned()),
            (None, _) => {}
        }
        let kept = match (denied.unkept, denied.effect) {
            (Some(_), _) => "gate",
            (None, Effect::Read) => "hidden",
            (None, Effect::Write) => "protected",
        };
        Self {
            rule: reached.rule.text().to_owned(),
            source: reached.rule.place(),
            kept,
            path: denied.path.as_ref().map(|path| path.display().to_string()),
            paths,
            note: (!notes.is_empty()).then(|| notes.join("; ")),
        }
    }

    /// For a person.
    fn line(&self) -> String {
        /// How many paths are named.
        const NAMED_MAX: usize = 5;
        let others = self.paths.iter().filter(|path| Some(*path) != self.path.as_ref());
        let all: Vec<&str> = self.path.iter().chain(others).map(String::as_str).collect();
        let named = all.iter().copied().take(NAMED_MAX).collect::<Vec<_>>().join(", ");
        let more = all.len().saturating_sub(NAMED_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let named = if all.is_empty() { "-".to_owned() } else { named };
        let kept = if self.kept == "gate" { "not kept there" } else { self.kept };
        let note = self.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
        format!("{}: {kept} {named}{more}{note}", self.rule)
    }
}

/// What becomes of a path that a pattern means and that is made while a box runs.
fn later(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "one that is made during a run is not hidden in it",
        Effect::Write => "a file created during a run is renamed aside after it",
    }
}

/// Why the deciding rule won, or why none did.
fn because(considered: &[ConsideredRule<'_>], examination: &Examination, mode: Mode) -> String {
    let ruling = &examination.ruling;
    let deciding = considered.iter().find(|one| matches!(one.fit, Fit::Decides(_)));
    match (deciding, ruling.by) {
        (Some(one), By::Rule) => match one.rule.list() {
            Decision::Deny => "deny is asked first, and one match is enough".to_owned(),
            Decision::Ask => {
                "no deny rule matches, and one match of an ask rule is enough".to_owned()
            }
            Decision::Allow => {
                "no deny or ask rule matches, and every part is allowed or changes nothing"
                    .to_owned()
            }
        },
        (Some(one), By::Mode) if ruling.decision < one.rule.list() => format!(
            "the box contains it, so mode {mode} needs no question where the rule {} asks about \
             every call",
            one.rule.text()
        ),
        (Some(one), By::Mode) => {
            format!("mode {mode} is stricter than the rule {}", one.rule.text())
        }
        (Some(one), _) => format!(
            "a built-in refusal is stricter than the rule {}, which would {}",
            one.rule.text(),
            one.rule.list().name()
        ),
        (None, By::Axis) => "a built-in refusal decides; no rule does".to_owned(),
        (None, _) => format!("no rule decides, so mode {mode} does"),
    }
}

/// A part of a call in words.
fn part_name(part: &Part, examination: &Examination) -> String {
    let words = |at: usize| {
        let found = examination.commands.get(at)?;
        let words: Vec<_> = found.words.iter().map(|word| word.to_string_lossy()).collect();
        Some(words.join(" "))
    };
    match part {
        Part::Tool => "the tool".to_owned(),
        Part::Parameter(field) => format!("the field {field}"),
        Part::Command(at) => words(*at).map_or("a command".to_owned(), |text| format!("`{text}`")),
        Part::Read(_) => "a path that is read".to_owned(),
        Part::Write(_) => "a path that is written".to_owned(),
        Part::Host(_) => "a host".to_owned(),
        Part::Finding(_) => "a finding".to_owned(),
    }
}
