//! Which rules were held against a call, how each came out, and what the box makes of them.

use serde::Serialize;
use stockade::ToolCall;
use stockade::gate::{Examination, Examiner};
use stockade::policy::rule::{Considered, Effect, Fit, Part};
use stockade::policy::{By, Decision, Mode, Reached};

use crate::render::{self, FAINT, inert};

/// What is told about the rules of a call.
#[derive(Serialize)]
pub(crate) struct Told {
    considered: Vec<ToldRule>,
    /// Why the decision is what it is.
    because: String,
    /// What the box makes of rules that deny paths.
    boxed: Vec<ToldPath>,
}

#[derive(Serialize)]
struct ToldRule {
    list: Decision,
    rule: String,
    source: Option<String>,
    /// `decides`, `matches`, `partly`, `no` or `not_reached`.
    fit: &'static str,
    /// What of the call it is about.
    part: Option<String>,
}

#[derive(Serialize)]
struct ToldPath {
    rule: String,
    source: Option<String>,
    /// `hidden`, `protected` or `gate`: kept by the gate alone.
    kept: &'static str,
    path: Option<String>,
    note: Option<&'static str>,
}

impl Told {
    pub(crate) fn new(examiner: &Examiner, call: &ToolCall, examination: &Examination) -> Self {
        let considered = examiner.consider(call, examination);
        let part = |part: &Part| part_name(part, examination);
        let rule = |one: &Considered<'_>| {
            let (fit, part) = match &one.fit {
                Fit::Decides(at) => ("decides", Some(part(at))),
                Fit::Matches(at) => ("matches", Some(part(at))),
                Fit::Partly(all) => {
                    ("partly", Some(all.iter().map(part).collect::<Vec<_>>().join(", ")))
                }
                Fit::No => ("no", None),
                Fit::NotReached => ("not_reached", None),
            };
            ToldRule {
                list: one.rule.list(),
                rule: one.rule.text().to_owned(),
                source: one.rule.source().map(ToString::to_string),
                fit,
                part,
            }
        };
        let root = examiner.root().path();
        Self {
            because: because(&considered, examination, examiner.policy().mode),
            considered: considered.iter().map(rule).collect(),
            boxed: examiner.policy().reached(root).iter().map(ToldPath::new).collect(),
        }
    }

    /// Prints it for a person.
    pub(crate) fn print(&self) -> Result<(), render::Unsaid> {
        if !self.considered.is_empty() {
            render::say("rules, in the order in which they are asked")?;
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
            render::say(&format!("  {} {FAINT}{}{FAINT:#}", inert(&line), inert(&fit)))?;
        }
        render::say(&format!("because {}", inert(&self.because)))?;
        if !self.boxed.is_empty() {
            render::say("denied paths in the box")?;
        }
        for one in &self.boxed {
            let path = one.path.as_deref().unwrap_or("-");
            let note = one.note.map(|note| format!(" ({note})")).unwrap_or_default();
            let kept = if one.kept == "gate" { "not kept there" } else { one.kept };
            render::say(&format!("  {}", inert(&format!("{}: {kept} {path}{note}", one.rule))))?;
        }
        Ok(())
    }
}

impl ToldPath {
    fn new(reached: &Reached<'_>) -> Self {
        let denied = &reached.denied;
        let (kept, path, note) = match (&denied.path, denied.effect) {
            (Err(why), _) => ("gate", None, Some(*why)),
            (Ok(path), effect) => {
                let kept = if effect == Effect::Read { "hidden" } else { "protected" };
                let deeper = "deeper ones of that name are kept by the gate alone";
                (kept, Some(path.display().to_string()), denied.partly.then_some(deeper))
            }
        };
        Self {
            rule: reached.rule.text().to_owned(),
            source: reached.rule.source().map(ToString::to_string),
            kept,
            path,
            note,
        }
    }
}

/// Why the deciding rule won, or why none did.
fn because(considered: &[Considered<'_>], examination: &Examination, mode: Mode) -> String {
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
    }
}
