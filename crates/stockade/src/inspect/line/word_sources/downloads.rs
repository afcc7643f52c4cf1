//! Text that a line downloads and runs before anyone could read it: through a pipe, a substitution,
//! a variable, a redirection or a file.

use std::path::{Path, PathBuf};

use super::super::super::command::CommandSummary;
use super::super::super::critical;
use super::super::super::emptied::is_program;
use super::super::arithmetic::{EVALUATED, NAMED};
use super::super::code::SHELLS;
use super::super::{CODE_UNKNOWN, Walker};
use super::names::{is_within, variables_in};
use crate::catalog::{EffectKind, sed_edits_only};
use crate::inspect::Finding;
use crate::shell::ast::Span;
use crate::shell::expand::SUBSTITUTED;
use crate::shell::state::lexical;

/// File arguments that mean standard input.
const STANDARD_INPUT: [&str; 3] = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];
/// Programs whose code is a script of sed.
const SEDS: [&str; 3] = ["gsed", "sed", "ssed"];
/// Stands for an expansion in such a script that is text and not a command.
const FILLED: &str = "\u{1}";

impl Walker<'_> {
    /// The findings about downloads that are run.
    pub(super) fn downloads(&self) -> Vec<Finding> {
        if !self.found.iter().any(is_download) {
            return Vec::new();
        }
        let mut runs: Vec<Option<Span>> = Vec::new();
        for stages in &self.word_sources.pipelines {
            for (at, stage) in stages.iter().enumerate().skip(1) {
                let commands = self.commands(stage);
                let runs_input = self.has_stdin_code(stage.span)
                    || commands.iter().any(|one| self.runs_file(one, &STANDARD_INPUT))
                    || commands.iter().any(|one| self.runs_added(one));
                let before = stages.iter().take(at);
                let mut printed = before.flat_map(|stage| self.commands(stage));
                if runs_input && printed.any(|found| self.prints_download(found)) {
                    runs.push(Some(stage.span));
                }
            }
        }
        for feed in &self.word_sources.feeds {
            let is_read = |found: &&CommandSummary| is_within(found.span, Some(feed.scope));
            let is_given = self.is_downloaded(&feed.given.text, Some(feed.given.span), None);
            let mut readers = self.found.iter().filter(is_read);
            let runs_input = |found: &CommandSummary| {
                found.span.is_some_and(|span| self.has_stdin_code(span))
                    || self.runs_file(found, &STANDARD_INPUT)
            };
            if is_given && readers.any(runs_input) {
                runs.push(Some(feed.scope));
            }
        }
        let is_code =
            |finding: &&Finding| finding.text == CODE_UNKNOWN || finding.rule == "inline-code";
        for finding in self.findings.iter().filter(is_code) {
            let Some(span) = finding.span else { continue };
            let is_inside =
                self.found.iter().any(|one| is_download(one) && is_within(one.span, Some(span)));
            let is_held =
                is_inside || self.is_downloaded(&self.source.slice(span), None, Some(span));
            if is_held && !self.is_plain_sed(span) {
                runs.push(Some(span));
            }
        }
        let may_run = |found: &&CommandSummary| !found.remote && !self.is_arithmetic(found);
        for found in self.found.iter().filter(may_run) {
            let is_program = match (found.words.first(), found.known.first()) {
                (Some(word), Some(false)) => {
                    let text = word.to_string_lossy();
                    let is_printed = text.contains("$(") || text.contains('`');
                    let span = found.span.filter(|_| is_printed);
                    self.is_downloaded(&text, span, found.span)
                }
                _ => false,
            };
            let is_substituted = self.runs_file(found, &[SUBSTITUTED])
                && self.found.iter().any(|one| is_download(one) && is_within(one.span, found.span));
            if is_program || is_substituted || self.runs_saved(found) {
                runs.push(found.span);
            }
        }
        let text = || "it runs what it downloads".to_owned();
        runs.into_iter()
            .map(|span| critical::finding("download-into-shell", text(), span))
            .collect()
    }

    /// Whether this is an expression or the name of a variable: a download may be code there, but
    /// is meant as data.
    /// there, but it is meant as data.
    fn is_arithmetic(&self, found: &CommandSummary) -> bool {
        let is_one = |finding: &Finding| {
            finding.span == found.span && [EVALUATED, NAMED].contains(&finding.text.as_str())
        };
        found.via.last().is_some_and(|via| via == "evaluated") && self.findings.iter().any(is_one)
    }

    /// Whether a part of the line is a sed script that runs nothing, with a mark for each
    /// expansion.
    fn is_plain_sed(&self, span: Span) -> bool {
        let is_sed = |found: &&CommandSummary| SEDS.iter().any(|name| is_program(found, name));
        let around = |found: &&CommandSummary| is_within(Some(span), found.span);
        let length =
            |found: &&CommandSummary| found.span.map(|span| span.end.saturating_sub(span.start));
        let nearest = self.found.iter().filter(around).min_by_key(length);
        nearest.as_ref().is_some_and(is_sed) && sed_edits_only(&filled(&self.source.slice(span)))
    }

    /// Whether text of the line contains a download: by a command in it, or by a variable.
    fn is_downloaded(&self, text: &str, span: Option<Span>, user: Option<Span>) -> bool {
        let mut visited = Vec::new();
        self.holds_download(text, span, user, &mut visited)
    }

    fn holds_download<'t>(
        &'t self,
        text: &'t str,
        span: Option<Span>,
        user: Option<Span>,
        visited: &mut Vec<&'t str>,
    ) -> bool {
        let is_inside = |found: &CommandSummary| {
            is_download(found) && is_within(found.span, span) && found.span != span
        };
        if self.found.iter().any(is_inside) {
            return true;
        }
        for variable in variables_in(text) {
            if visited.contains(&variable) {
                continue;
            }
            visited.push(variable);
            let mut given =
                self.word_sources.drawn.iter().filter(|drawn| drawn.variable == variable);
            let holds = |visited: &mut Vec<&'t str>, text: &'t str, span: Span| {
                self.holds_download(text, Some(span), user, visited)
            };
            if given
                .any(|drawn| drawn.words.iter().any(|word| holds(visited, &word.text, word.span)))
            {
                return true;
            }
            let mut feeds = self.word_sources.feeds.iter().filter(|feed| {
                self.reads_into(variable, |found| is_within(found.span, Some(feed.scope)))
            });
            if feeds.any(|feed| holds(visited, &feed.given.text, feed.given.span)) {
                return true;
            }
            for stages in &self.word_sources.pipelines {
                for (at, stage) in stages.iter().enumerate().skip(1) {
                    let is_in = |found: &CommandSummary| is_within(found.span, Some(stage.span));
                    let is_used = user.is_none_or(|_| is_within(user, Some(stage.span)));
                    let mut before = stages.iter().take(at).flat_map(|stage| self.commands(stage));
                    if is_used && self.reads_into(variable, is_in) && before.any(is_download) {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Whether a command of a pipeline prints a download.
    fn prints_download(&self, found: &CommandSummary) -> bool {
        let prints = ["cat", "echo", "printf"].iter().any(|name| is_program(found, name));
        let unknown = found.words.iter().zip(&found.known).filter(|(_, known)| !**known);
        let mut words = unknown.map(|(word, _)| word.to_string_lossy());
        is_download(found)
            || prints && words.any(|word| self.is_downloaded(&word, None, found.span))
            || prints
                && self.saved().iter().any(|path| self.names_file(found, path, EffectKind::Read))
    }

    /// Whether a command runs a file to which the line downloads.
    fn runs_saved(&self, found: &CommandSummary) -> bool {
        let saved = self.saved();
        if saved.is_empty() || is_download(found) {
            return false;
        }
        let folders = critical::from(found, self.resolver);
        let is_saved = |word: &str| {
            let paths = folders.iter().map(|folder| lexical(folder, Path::new(word)));
            paths.into_iter().any(|path| saved.contains(&path))
        };
        let program = found.words.first().and_then(|word| word.to_str());
        program.is_some_and(|word| word.contains('/') && is_saved(word))
            || self.script_of(found).is_some_and(is_saved)
            || found.targets(EffectKind::Execute).any(|one| is_saved(&one.text.to_string_lossy()))
    }

    /// The files to which the line downloads.
    fn saved(&self) -> Vec<PathBuf> {
        let mut writers: Vec<&CommandSummary> =
            self.found.iter().filter(|one| is_download(one)).collect();
        for stages in &self.word_sources.pipelines {
            let mut is_fed = false;
            for stage in stages {
                let commands = self.commands(stage);
                writers.extend(commands.iter().filter(|_| is_fed));
                is_fed |= commands.iter().any(is_download);
            }
        }
        let mut saved = Vec::new();
        for writer in writers {
            let folders = critical::from(writer, self.resolver);
            let written = writer.targets(EffectKind::Write).filter(|target| target.known);
            let names = written.map(|target| target.text.to_string_lossy().into_owned());
            // `wget URL` and `curl -O URL` take the name from the address.
            let words = writer.words.iter().filter_map(|word| word.to_str());
            let addresses = words.filter(|word| word.contains("://"));
            let last = addresses.filter_map(|word| {
                let path = word.split(['?', '#']).next()?;
                path.rsplit('/').next().filter(|name| !name.is_empty()).map(str::to_owned)
            });
            for name in names.chain(last) {
                saved.extend(folders.iter().map(|folder| lexical(folder, Path::new(&name))));
            }
        }
        saved
    }

    fn names_file(&self, found: &CommandSummary, path: &Path, kind: EffectKind) -> bool {
        let folders = critical::from(found, self.resolver);
        let mut targets = found.targets(kind).filter(|target| target.known);
        targets.any(|target| {
            folders.iter().any(|folder| lexical(folder, Path::new(&target.text)) == path)
        })
    }

    fn has_stdin_code(&self, span: Span) -> bool {
        let is_in = |finding: &Finding| is_within(finding.span, Some(span));
        self.findings.iter().any(|finding| finding.rule == "stdin-code" && is_in(finding))
    }

    /// Whether a command is an interpreter whose script is one of these.
    fn runs_file(&self, found: &CommandSummary, files: &[&str]) -> bool {
        self.script_of(found).is_some_and(|word| files.contains(&word))
    }

    /// Whether words added to a command are a program or code: `xargs sh -c`.
    fn runs_added(&self, found: &CommandSummary) -> bool {
        let words: Vec<&str> = found.words.iter().filter_map(|word| word.to_str()).collect();
        let is_code = |word: &&str| word.starts_with('-') && word.ends_with(['c', 'e']);
        let code = words.iter().position(is_code).filter(|_| self.is_interpreter(found));
        let code = code.map(|at| words.get(at.saturating_add(1)));
        let is_added = code.is_some_and(|code| code.is_none_or(|code| code.contains("{}")));
        found.open && (is_added || words.first().is_some_and(|word| word.contains("{}")))
    }

    fn is_interpreter(&self, found: &CommandSummary) -> bool {
        let interpreters = self.inspector.settings.interpreters.iter().map(String::as_str);
        interpreters.chain(SHELLS).any(|name| is_program(found, name))
    }

    /// The script of an interpreter: its first word that is not an option.
    fn script_of<'f>(&self, found: &'f CommandSummary) -> Option<&'f str> {
        let is_option = |word: &str| word.starts_with('-');
        let mut words = found.words.iter().skip(1).filter_map(|word| word.to_str());
        words.find(|word| !is_option(word)).filter(|_| self.is_interpreter(found))
    }
}

fn is_download(found: &CommandSummary) -> bool {
    !found.remote && found.targets(EffectKind::Host).next().is_some()
}

/// A word without quotes, with a mark for each expansion.
fn filled(word: &str) -> String {
    let inner = word.strip_prefix('"').and_then(|word| word.strip_suffix('"'));
    let text = inner.unwrap_or(word).replace("\\\"", "\"");
    let mut parts = text.split('$');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let rest = match part.chars().next() {
            Some('{') => part.split_once('}').map(|(_, rest)| rest),
            Some('(') => part.rsplit_once(')').map(|(_, rest)| rest),
            Some(c) if is_name(c) => Some(part.trim_start_matches(is_name)),
            Some(_) | None => None,
        };
        filled.push_str(if rest.is_some() { FILLED } else { "$" });
        filled.push_str(rest.unwrap_or(part));
    }
    filled
}
