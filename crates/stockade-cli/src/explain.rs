//! Explains a shell line to a person: its commands as a tree, what each does, and what decided.
//!
//! ```text
//! cd /srv
//! rm -rf '*'                [pipeline 1 of 2]
//!     in: /srv
//!     deletes: *
//! deny by path/critical-delete (built in)
//!   deletes all that is in /srv
//! ```
//!
//! Plain data in, text out: nothing is looked up here, and all of it is escaped here.

mod line;
mod rules;
#[cfg(test)]
mod tests;

pub(crate) use self::line::explanation;
pub(crate) use self::rules::RulesExplanation;

use stockade::policy::Decision;
use unicode_width::UnicodeWidthStr as _;

use crate::diagnostic::{self, Label};
use crate::print::{BAD, FAINT, GOOD, escape};

/// What is told about one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Explanation<'a> {
    /// As it was given.
    pub(crate) line: &'a str,
    /// In the order of the line; what one runs follows it, deeper.
    pub(crate) commands: Vec<Command>,
    pub(crate) verdict: Verdict,
}

/// One command of the line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Command {
    /// How many commands it is within: `date` in `echo $(date)` has one.
    pub(crate) depth: usize,
    /// Where it stands if not by itself: `in $(…)`, `pipeline 2 of 3`, `run by xargs`.
    pub(crate) place: Option<String>,
    /// Its words, as a person would type them.
    pub(crate) argv: String,
    /// Why its words are not known before the run, if they are not.
    pub(crate) dynamic: Option<String>,
    /// The folder it runs in, if the line changed that.
    pub(crate) cwd: Option<String>,
    pub(crate) effects: Vec<Effect>,
    /// Findings and rules about this command, each a sentence.
    pub(crate) notes: Vec<String>,
}

/// What a command does to a path or a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Effect {
    pub(crate) kind: EffectKind,
    pub(crate) target: String,
}

/// In the order in which they are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EffectKind {
    Deletes,
    Writes,
    Reads,
    Runs,
    Reaches,
}

impl EffectKind {
    fn name(self) -> &'static str {
        match self {
            Self::Deletes => "deletes",
            Self::Writes => "writes",
            Self::Reads => "reads",
            Self::Runs => "runs",
            Self::Reaches => "reaches",
        }
    }
}

/// What was decided about the line, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) decision: Decision,
    /// `path/critical-delete`, `Bash(rm *)`.
    pub(crate) rule: Option<String>,
    /// Where that rule is written.
    pub(crate) source: Option<String>,
    pub(crate) reason: Option<String>,
    /// What would be accepted.
    pub(crate) instead: Option<String>,
    /// The parts of the line that decided; none shows no line.
    pub(crate) labels: Vec<Label>,
}

/// The whole explanation; no newline at the end.
pub(crate) fn render(explanation: &Explanation<'_>) -> String {
    let mut out = Vec::new();
    if explanation.commands.is_empty() {
        out.push(format!("{FAINT}no command was found{FAINT:#}"));
    }
    for command in &explanation.commands {
        draw(command, &mut out);
    }
    decided(explanation, &mut out);
    out.join("\n")
}

/// The column from which a command's place is told, where its words leave it free.
const PLACE_COLUMN: usize = 40;
/// Deeper commands are drawn no further to the right; their depth is told instead.
const DEPTH_MAX: usize = 12;

fn draw(command: &Command, out: &mut Vec<String>) {
    let indent = "  ".repeat(command.depth.min(DEPTH_MAX));
    let argv = one_line(&command.argv);
    let line = format!("{indent}{argv}");
    let mut asides: Vec<String> = Vec::new();
    asides.extend(command.place.as_deref().map(one_line));
    if command.depth > DEPTH_MAX {
        asides.push(format!("{} deep", command.depth));
    }
    if let Some(why) = &command.dynamic {
        asides.push(format!("not known before the run: {}", one_line(why)));
    }
    if asides.is_empty() {
        out.push(line);
    } else {
        let room = " ".repeat(PLACE_COLUMN.saturating_sub(line.width()).max(2));
        out.push(format!("{line}{room}{FAINT}[{}]{FAINT:#}", asides.join("; ")));
    }
    let mut detail = |name: &str, text: &str| {
        out.push(format!("{indent}    {FAINT}{name}:{FAINT:#} {}", one_line(text)));
    };
    if let Some(cwd) = &command.cwd {
        detail("in", cwd);
    }
    let mut effects: Vec<&Effect> = command.effects.iter().collect();
    effects.sort_by_key(|effect| effect.kind);
    for same in effects.chunk_by(|one, other| one.kind == other.kind) {
        let targets: Vec<&str> = same.iter().map(|effect| effect.target.as_str()).collect();
        let name = same.first().map_or("", |effect| effect.kind.name());
        detail(name, &targets.join(", "));
    }
    for note in &command.notes {
        detail("finding", note);
    }
}

fn decided(explanation: &Explanation<'_>, out: &mut Vec<String>) {
    let verdict = &explanation.verdict;
    let style = if verdict.decision == Decision::Allow { GOOD } else { BAD };
    let rule = verdict.rule.as_ref().map(|rule| format!(" by {}", one_line(rule)));
    let source = verdict.source.as_ref().map(|source| format!(" ({})", one_line(source)));
    out.push(format!(
        "{style}{}{style:#}{}{}",
        verdict.decision.name(),
        rule.unwrap_or_default(),
        source.unwrap_or_default()
    ));
    out.extend(verdict.reason.as_ref().map(|reason| format!("  {}", escape(reason))));
    if !verdict.labels.is_empty() {
        let drawn = diagnostic::render(explanation.line, &verdict.labels);
        out.extend(drawn.lines().map(|line| format!("  {line}")));
    }
    if let Some(instead) = &verdict.instead {
        out.push(format!("  {FAINT}instead:{FAINT:#} {}", escape(instead)));
    }
}

/// A text that stays on its line.
fn one_line(text: &str) -> String {
    escape(text).replace('\n', "\\u{a}")
}
