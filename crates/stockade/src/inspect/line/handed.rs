//! What one command of a line hands to another: names that one lists and another deletes, and text
//! that one downloads and another runs.

mod downloads;
mod names;

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::super::critical::{self, Ground};
use super::super::emptied::{empties, is_overwriter, is_program};
use super::super::finding::Finding;
use super::super::found::{Found, Target};
use super::Walker;
use crate::knowledge::{EffectKind, Word};
use crate::shell::expand::{self, Field};
use crate::shell::printed::Printed;
use crate::shell::state::State;
use crate::shell::tree::{Redirect, RedirectKind, Span};
use names::Names;

/// A word that no command has, to find out what a command does with words that are added to it.
const ADDED: &str = "./\u{1}added";
/// Stands for a folder that `mktemp` has made.
const MADE: &str = "/tmp/tmp.mktemp";
/// Programs that put names in the place of a mark alone.
const FINDERS: [&str; 3] = ["bfs", "find", "gfind"];
/// Words of a shell that are told apart by their numbers.
const POSITIONAL_MAX: usize = 9;
/// Texts that one word may be and that are looked at.
const TEXTS_MAX: usize = 8;
/// Programs that delete folders with all that is in them where an option says so.
const DELETERS: [&str; 6] = ["git", "grm", "rm", "srm", "trash", "trash-put"];

/// How commands hang together, as places among those that were found.
#[derive(Debug, Default)]
pub(super) struct Handed {
    pipelines: Vec<Vec<Stage>>,
    drawn: Vec<Drawn>,
    feeds: Vec<Feed>,
    /// Where redirections that append name their files.
    appended: Vec<Span>,
    /// Words that are substitutions, with what these print where the line says so.
    texts: Vec<(Span, Printed)>,
}

/// One command of a pipeline, with all that it starts.
#[derive(Debug)]
pub(super) struct Stage {
    commands: Range<usize>,
    span: Span,
}

/// A variable that is given words, all or one of them.
#[derive(Debug)]
struct Drawn {
    variable: String,
    words: Vec<Given>,
    folders: Vec<PathBuf>,
    /// The part of the line in which it holds them; all of the line where there is none.
    scope: Option<Span>,
}

/// A word that a variable is given.
#[derive(Debug)]
struct Given {
    field: Field,
    /// Where it stands in the line.
    span: Span,
    /// As it is written.
    text: String,
}

/// A redirection that gives commands something to read.
#[derive(Debug)]
struct Feed {
    /// The commands that may read it.
    scope: Span,
    /// The file or the text.
    given: Given,
    /// The text, where the line holds all of it.
    text: Option<String>,
}

impl Walker<'_> {
    /// The commands from this place on, as a part of a pipeline.
    pub(super) fn stage(&self, from: usize, span: Span) -> Stage {
        Stage { commands: from..self.found.len(), span: self.source.place(span) }
    }

    pub(super) fn note_pipeline(&mut self, stages: Vec<Stage>) {
        self.handed.pipelines.push(stages);
    }

    /// A variable that is given words which are not known one by one; `scope` is where it holds them.
    pub(super) fn note_drawn(
        &mut self,
        variable: &str,
        fields: &[Field],
        scope: Option<Span>,
        state: &State,
    ) {
        let words = fields.iter().map(|field| self.written(field.clone())).collect();
        let drawn = Drawn {
            variable: variable.to_owned(),
            words,
            folders: state.folders().to_vec(),
            scope: scope.map(|scope| self.source.place(scope)),
        };
        self.handed.drawn.push(drawn);
    }

    /// The words of a function's call, of `set --` or of `sh -c`.
    pub(super) fn note_positional(&mut self, fields: &[Field], state: &State) {
        for all in ["@", "*"].into_iter().filter(|_| !fields.is_empty()) {
            self.note_drawn(all, fields, None, state);
        }
        // A word that may be several moves those behind it, and `shift` moves all of them.
        let single = fields.iter().take_while(|field| field.is_one()).count();
        for number in 1..=POSITIONAL_MAX {
            let first = number.saturating_sub(1).min(single);
            let words = fields.get(first..).unwrap_or_default();
            if !words.is_empty() {
                self.note_drawn(&number.to_string(), words, None, state);
            }
        }
    }

    /// `for x` without words goes through those that the shell or the function was given.
    pub(super) fn note_each_positional(&mut self, variable: &str, span: Span, state: &State) {
        let start = Span { start: span.start, end: span.start };
        let given = Given {
            field: Field::unknown(start),
            span: self.source.place(start),
            text: "$@".to_owned(),
        };
        self.handed.drawn.push(Drawn {
            variable: variable.to_owned(),
            words: vec![given],
            folders: state.folders().to_vec(),
            scope: Some(self.source.place(span)),
        });
    }

    /// A word that is a substitution, and what that prints.
    pub(super) fn note_text(&mut self, span: Span, text: Printed) {
        let span = self.source.place(span);
        self.handed.texts.push((span, text));
    }

    /// The texts that a word may be which is known in the run alone: what a substitution prints that
    /// it is, or what a variable is given.
    pub(super) fn likely_texts(&self, span: Span) -> Vec<Printed> {
        let place = self.source.place(span);
        let mut spans = vec![place];
        let written = self.source.slice(span);
        let mut texts = Vec::new();
        for variable in names::variables_in(&written) {
            let drawn = self.handed.drawn.iter().filter(|drawn| drawn.variable == variable);
            for given in drawn.flat_map(|drawn| &drawn.words) {
                texts.extend(given.field.likely().map(Printed::Text));
                spans.push(given.span);
            }
        }
        let known = self.handed.texts.iter().filter(|(span, _)| spans.contains(span));
        texts.extend(known.map(|(_, text)| text.clone()));
        texts.dedup();
        texts.truncate(TEXTS_MAX);
        texts
    }

    fn written(&self, field: Field) -> Given {
        let span = self.source.place(field.span);
        Given { text: self.source.slice(field.span), field, span }
    }

    /// The redirections of a command or of a group of them, which has this part of the line.
    pub(super) fn note_feeds(&mut self, redirects: &[Redirect], span: Span, state: &State) {
        for redirect in redirects {
            let target = redirect.target.span;
            match redirect.kind {
                RedirectKind::Write => {
                    if self.source.slice(redirect.span).contains(">>") {
                        let place = self.source.place(target);
                        self.handed.appended.push(place);
                    }
                }
                RedirectKind::Read | RedirectKind::HereDocument | RedirectKind::HereString => {
                    let field = Field { span: target, ..expand::value(&redirect.target, state) };
                    let is_text = redirect.kind != RedirectKind::Read;
                    let text = field.known().filter(|_| is_text);
                    let (from, to) = (span.start.min(redirect.span.start), redirect.span.end);
                    let scope = Span { start: from, end: span.end.max(to).max(target.end) };
                    let given = self.written(field);
                    // `exec` opens it for all commands behind.
                    let is_lasting = self.source.slice(span).starts_with("exec");
                    let end = if is_lasting { usize::MAX } else { scope.end };
                    let scope = self.source.place(Span { end, ..scope });
                    self.handed.feeds.push(Feed { scope, given, text });
                }
                RedirectKind::ReadWrite | RedirectKind::Copy => {}
            }
        }
    }

    /// What the commands of the whole line destroy, each by itself and together, and what they run
    /// that they download.
    pub(super) fn note_critical(&mut self) {
        self.note_made();
        let ground = Ground { view: self.view, home: self.home };
        let mut findings: Vec<Finding> =
            self.found.iter().flat_map(|found| ground.findings(found)).collect();
        findings.extend(ground.together(&self.found));
        findings.extend(self.handed_names(&ground));
        findings.extend(self.downloads());
        for finding in findings {
            self.note_placed(finding);
        }
    }

    /// Moves into a folder that `mktemp` has made, where a variable holds its name.
    fn note_made(&mut self) {
        let is_made = |target: &Target| {
            let text = target.text.to_string_lossy();
            let held = names::variables_in(&text);
            let drawn = &self.handed.drawn;
            let drawn = drawn.iter().filter(|drawn| held.contains(&drawn.variable.as_str()));
            let mut spans = drawn.flat_map(|drawn| &drawn.words).map(|given| given.span);
            spans.any(|span| {
                self.found
                    .iter()
                    .any(|one| is_program(one, "mktemp") && names::is_within(one.span, Some(span)))
            })
        };
        let mut made: Vec<(usize, Target)> = Vec::new();
        for (at, found) in self.found.iter().enumerate().filter(|(_, one)| critical::moves(one)) {
            let mut written = found.targets(EffectKind::Write).filter(|target| target.is_open());
            if let Some(target) = written.find(|target| is_made(target)) {
                let text = MADE.into();
                made.push((at, Target { text, known: true, field: None, ..target.clone() }));
            }
        }
        for (at, target) in made {
            if let Some(found) = self.found.get_mut(at) {
                found.targets.push(target);
            }
        }
    }

    /// What commands delete or empty whose names other commands of the line give them.
    fn handed_names(&self, ground: &Ground<'_>) -> Vec<Finding> {
        let mut findings = Vec::new();
        for found in self.found.iter().filter(|one| !one.remote && !critical::moves(one)) {
            let mut names = Names::default();
            for target in found.targets.iter().filter(|target| self.is_lost(found, target)) {
                if self.is_whole_name(found, target) {
                    // In code that stands in the line in other words, every part has one place.
                    let span = target.span.filter(|span| found.span != Some(*span));
                    let text = target.text.to_string_lossy();
                    names.merge(self.sources(&text, span, found));
                    // Braces make more words than are looked at one by one.
                    names.is_unknown |= text.contains('{') && !text.contains(['$', '`']);
                }
            }
            if self.deletes_added(found) {
                names.merge(self.added_names(found));
            }
            let listed = names.listed.iter().filter_map(|listed| {
                let (rule, why) = ground.deleted(&listed.target, &listed.folders)?;
                let text = listed.target.text.to_string_lossy();
                let text = format!("it deletes what is listed of {text:?}, {why}");
                Some(critical::finding(rule, text, found.span))
            });
            findings.extend(listed);
            if names.is_unknown && deletes_folders(found) {
                let text = "it deletes folders whose names are not known before the run, with all \
                            that is in them";
                findings.push(critical::finding("destroy-project", text.to_owned(), found.span));
            }
        }
        findings
    }

    /// Whether a target that is not known is deleted or emptied.
    fn is_lost(&self, found: &Found, target: &Target) -> bool {
        let appends = || target.span.is_some_and(|span| self.handed.appended.contains(&span));
        let is_emptied = || empties(found, target) && !(target.redirected && appends());
        target.is_open() && (target.kind == EffectKind::Delete || is_emptied())
    }

    /// Whether a command deletes what is added to it, or what is added to the shell that runs it.
    fn deletes_added(&self, found: &Found) -> bool {
        let holds = |outer: &&Found| outer.open && names::is_within(found.span, outer.span);
        let is_lost = |target: &Target| self.is_lost(found, target);
        let wrapper = found.wrapper.and_then(|at| self.found.get(at));
        let is_find = |found: &Found| FINDERS.iter().any(|name| is_program(found, name));
        if found.open && wrapper.is_some_and(is_find) && !self.has_mark(found) {
            // It adds nothing where there is no mark.
            return false;
        }
        if found.open && (found.targets.iter().any(is_lost) || self.deletes_words(found)) {
            return true;
        }
        let is_added = found.targets.iter().any(is_lost) || self.has_mark(found);
        is_added && self.found.iter().any(|outer| holds(&outer))
    }

    /// Whether what a command deletes or empties is a mark for the words that are added: `{}`.
    fn has_mark(&self, found: &Found) -> bool {
        let outer = self.found.iter().filter(|outer| names::is_within(found.span, outer.span));
        let marks: Vec<String> = outer.flat_map(marks).collect();
        found.targets.iter().any(|target| {
            let text = target.text.to_string_lossy();
            let is_lost = target.kind == EffectKind::Delete || empties(found, target);
            // `xargs -I{} rm build/{}` names what it deletes.
            let text = text.trim_start_matches("./");
            is_lost && marks.iter().any(|mark| text.trim_end_matches('/') == mark)
        })
    }

    /// Whether a command deletes or overwrites words that are added to it.
    fn deletes_words(&self, found: &Found) -> bool {
        // `xargs -I{} rm build/{}` names what it deletes.
        let mut named = found.targets(EffectKind::Delete).peekable();
        if named.peek().is_some()
            && named
                .all(|target| target.text.to_string_lossy().trim_start_matches("./").contains('/'))
        {
            return false;
        }
        if self.has_mark(found) {
            return true;
        }
        let mut words = Word::list(&found.words);
        words.push(Word::new(ADDED.as_ref(), words.len()));
        let name = found.words.first().and_then(|word| Path::new(word).file_name());
        let own = name.and_then(|name| name.to_str()).into_iter();
        let kind = if is_overwriter(found) { EffectKind::Write } else { EffectKind::Delete };
        own.chain(found.names.iter().map(String::as_str)).any(|name| {
            let reading = self.inspector.knowledge.read(name, &words);
            reading.ok().flatten().is_some_and(|reading| {
                reading.effects.iter().any(|one| one.kind == kind && one.target == *ADDED)
            })
        })
    }
}

/// What a program puts added words in the place of.
fn marks(found: &Found) -> Vec<String> {
    let mut marks = vec!["{}".to_owned()];
    let words: Vec<&str> = found.words.iter().filter_map(|word| word.to_str()).collect();
    for (at, word) in words.iter().enumerate() {
        let glued = word.strip_prefix("-I").or_else(|| word.strip_prefix("--replace="));
        match glued {
            Some("") => {
                marks.extend(words.get(at.saturating_add(1)).map(|mark| (*mark).to_owned()));
            }
            Some(mark) => marks.push(mark.to_owned()),
            None => {}
        }
    }
    marks
}

/// Whether a command deletes folders with all that is in them.
fn deletes_folders(found: &Found) -> bool {
    let is_recursive = |word: &str| match word.strip_prefix("--") {
        Some(name) => name.len() > 1 && "recursive".starts_with(name),
        None => word.starts_with('-') && word.contains(['r', 'R']),
    };
    let mut words = found.words.iter().skip(1);
    DELETERS.iter().any(|name| is_program(found, name))
        && words.any(|word| is_recursive(&word.to_string_lossy()))
}
