//! One compact line for each examination: the fields of `check --json` without its prose.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use stockade::catalog::EffectKind;
use stockade::gate::Examination;
use stockade::inspect::{CommandSummary, Finding, ProgramInput, Target};
use stockade::policy::Ruling;
use stockade::shell::ast::Span;

/// Characters of a word or of a case's name, and commands of a line, above which a digest replaces the rest.
const TEXT_MAX: usize = 120;
const COMMANDS_MAX: usize = 12;

/// Paths of this run that are written as placeholders.
pub(crate) struct Names(Vec<(String, &'static str)>);

impl Names {
    /// For a project with this root.
    pub(crate) fn of(root: &Path) -> Self {
        let mut names = vec![(root.to_path_buf(), "@ROOT@")];
        names.extend(root.parent().map(|beside| (beside.to_path_buf(), "@BESIDE@")));
        names.extend(std::env::home_dir().map(|home| (home, "@HOME@")));
        names.push((std::env::temp_dir(), "@TMP@"));
        let text = |(path, name): (PathBuf, _)| (path.display().to_string(), name);
        let mut names: Vec<(String, &str)> = names.into_iter().map(text).collect();
        // The inner folder first; of two names for one folder, the first.
        names.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        Self(names)
    }

    /// The text without paths of this run.
    pub(crate) fn put(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (path, name) in &self.0 {
            text = text.replace(path, name);
        }
        text
    }

    /// The same on one line and without spaces outside of quotes; a digest ends what is long.
    pub(crate) fn word(&self, text: &OsStr) -> String {
        quoted(&self.put(&text.to_string_lossy()))
    }

    /// What follows the name of the case: the ruling of each examination, then the facts.
    pub(crate) fn answer(&self, all: &[(&str, &Examination)]) -> String {
        let mut parts = Vec::new();
        for (label, examination) in all {
            parts.push(format!("{label}{}", self.ruling(&examination.ruling)));
            if examination.spared {
                parts.push(format!("{label}spared"));
            }
        }
        let mut told = None;
        for (label, examination) in all {
            let facts = self.facts(examination);
            if told.as_ref().is_some_and(|told| *told != facts) {
                parts.push(format!("{label}differs"));
            }
            if told.as_ref() != Some(&facts) {
                parts.extend(facts.iter().cloned());
                told = Some(facts);
            }
        }
        parts.join(" | ")
    }

    fn ruling(&self, ruling: &Ruling) -> String {
        let mut text = format!("{} {}", ruling.decision.name(), ruling.by.name());
        for one in [&ruling.rule, &ruling.source].into_iter().flatten() {
            text.push(' ');
            text.push_str(&self.word(OsStr::new(one)));
        }
        text + &place(ruling.argument, ruling.span)
    }

    fn facts(&self, examination: &Examination) -> Vec<String> {
        let mut facts = Vec::new();
        if examination.changes_nothing {
            facts.push("changes-nothing".to_owned());
        }
        if !examination.findings.is_empty() {
            let finding = |one: &Finding| one.rule_id() + &place(one.argument, one.span);
            let findings: Vec<String> = examination.findings.iter().map(finding).collect();
            facts.push(format!("finds {}", findings.join(", ")));
        }
        let commands: Vec<String> =
            examination.commands.iter().map(|one| self.command(one)).collect();
        let (first, rest) = commands.split_at(commands.len().min(COMMANDS_MAX));
        facts.extend_from_slice(first);
        if !rest.is_empty() {
            facts.push(format!("{} more {}", rest.len(), digest(&rest.join("\n"))));
        }
        facts
    }

    fn command(&self, found: &CommandSummary) -> String {
        let words = found.words.iter().zip(&found.known).map(|(word, known)| {
            let mark = if *known { "" } else { "?" };
            format!("{mark}{}", self.word(word))
        });
        let mut parts = vec!["runs".to_owned() + &place(None, found.span)];
        parts.extend(found.via.iter().map(|via| format!("<{}", self.word(OsStr::new(via)))));
        parts.extend(words);
        let marks = [(found.open, "…"), (found.dynamic, "dynamic"), (found.remote, "remote")];
        parts.extend(marks.into_iter().filter(|(is, _)| *is).map(|(_, mark)| format!("[{mark}]")));
        if found.input == ProgramInput::Given {
            parts.push("[fed]".to_owned());
        }
        let folders: Vec<String> =
            found.folders.iter().map(|folder| self.word(folder.as_os_str())).collect();
        if folders != ["@ROOT@"] {
            parts.push(format!("in[{}]", folders.join(" ")));
        }
        if !found.names.is_empty() {
            parts.push(format!("is[{}]", found.names.join(" ")));
        }
        let mut targets: Vec<String> = found.targets.iter().map(|one| self.target(one)).collect();
        targets.dedup();
        parts.extend(targets);
        parts.join(" ")
    }

    fn target(&self, target: &Target) -> String {
        let kind = match target.kind {
            EffectKind::Read => "read",
            EffectKind::List => "list",
            EffectKind::Write => "write",
            EffectKind::Delete => "delete",
            EffectKind::Execute => "execute",
            EffectKind::Enter => "enter",
            EffectKind::Pass => "pass",
            EffectKind::Host => "host",
            EffectKind::ChangeTree => "change-tree",
            EffectKind::Forget => "forget",
        };
        let mark = if target.known { "" } else { "?" };
        format!("{kind}:{mark}{}", self.word(&target.text))
    }
}

fn place(argument: Option<usize>, span: Option<Span>) -> String {
    let argument = argument.map(|argument| format!("@{argument}")).unwrap_or_default();
    let span = span.map(|span| format!(" {}-{}", span.start, span.end)).unwrap_or_default();
    argument + &span
}

/// A text on one line, quoted where it has other characters than a plain word.
pub(crate) fn quoted(text: &str) -> String {
    let text = match text.char_indices().nth(TEXT_MAX) {
        Some((at, _)) => format!("{}… {}", text.split_at(at).0, digest(text)),
        None => text.to_owned(),
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:@%+,~=-".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text;
    }
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '\'' => quoted.push(c),
            _ => quoted.extend(c.escape_debug()),
        }
    }
    quoted + "\""
}

fn digest(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    data_encoding::HEXLOWER.encode(digest.get(..4).unwrap_or_default())
}

/// The programs that the commands of an examination name.
pub(crate) fn programs(examination: &Examination) -> BTreeSet<String> {
    let base = |found: &CommandSummary| {
        let first = found.words.first().filter(|_| found.known.first() == Some(&true))?;
        Some(Path::new(first).file_name()?.to_str()?.to_owned())
    };
    examination.commands.iter().filter_map(base).collect()
}
