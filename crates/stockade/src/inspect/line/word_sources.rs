//! Data flow between the commands of a line: names that one lists and another deletes, and text
//! that one downloads and another runs.

mod downloads;
mod elsewhere;
mod filters;
mod names;

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::super::command::{CommandSummary, Target};
use super::super::critical::{self, CriticalCheck};
use super::super::emptied::{empties, is_overwriter, is_program};
use super::Walker;
use crate::catalog::{EffectKind, Word};
use crate::inspect::Finding;
use crate::shell::ast::{Redirect, RedirectKind, Span};
use crate::shell::expand::{self, Field};
use crate::shell::printed::PrintedText;
use crate::shell::state::State;
use names::NameSet;

/// A word that no command contains, to find out what a command does with added words.
const ADDED: &str = "./\u{1}added";
/// Stands for a folder that `mktemp` creates.
const MADE: &str = "/tmp/tmp.mktemp";
/// Programs that insert names only for a mark.
const FINDERS: [&str; 3] = ["bfs", "find", "gfind"];
/// The most positional parameters that are distinguished.
const POSITIONAL_MAX: usize = 9;
/// Variables in one another that are followed.
const VARIABLES_MAX: usize = 4;
/// Texts that one word may be and that are looked at.
const TEXTS_MAX: usize = 8;
/// Programs that delete folders with everything in them if an option says so.
const DELETERS: [&str; 6] = ["git", "grm", "rm", "srm", "trash", "trash-put"];
/// Programs by which files are lost whose names they are given.
const LOSERS: [&str; 10] = [
    "grm",
    "gshred",
    "gtruncate",
    "rm",
    "shred",
    "srm",
    "trash",
    "trash-put",
    "truncate",
    "unlink",
];

/// The connections between commands, by index.
#[derive(Debug, Default)]
pub(super) struct WordSources {
    pipelines: Vec<Vec<Stage>>,
    drawn: Vec<VariableWords>,
    feeds: Vec<InputSource>,
    /// The places of file names in appending redirections.
    appended: Vec<Span>,
    /// Words that are substitutions, with their output if the line contains it.
    texts: Vec<(Span, PrintedText)>,
}

/// One command of a pipeline, with everything that it starts.
#[derive(Debug)]
pub(super) struct Stage {
    commands: Range<usize>,
    span: Span,
}

/// A variable that gets words, all or one of them.
#[derive(Debug)]
struct VariableWords {
    variable: String,
    words: Vec<WrittenWord>,
    folders: Vec<PathBuf>,
    /// The part of the line in which it has them; none means all of it.
    scope: Option<Span>,
}

impl VariableWords {
    /// Several words, with a blank between them.
    fn joined(&self) -> Option<String> {
        let words: Vec<String> =
            self.words.iter().map(|given| given.field.likely()).collect::<Option<_>>()?;
        (words.len() > 1).then(|| words.join(" "))
    }
}

/// A word that a variable is given.
#[derive(Debug)]
struct WrittenWord {
    field: Field,
    /// Its place in the line.
    span: Span,
    /// The text as written.
    text: String,
}

/// A redirection that feeds commands.
#[derive(Debug)]
struct InputSource {
    /// The commands that may read it.
    scope: Span,
    /// The file or the text.
    given: WrittenWord,
    /// The text, if the line contains all of it.
    text: Option<String>,
}

impl Walker<'_> {
    /// The commands from this index on, as a stage of a pipeline.
    pub(super) fn stage(&self, from: usize, span: Span) -> Stage {
        Stage { commands: from..self.found.len(), span: self.source.place(span) }
    }

    pub(super) fn note_pipeline(&mut self, stages: Vec<Stage>) {
        self.word_sources.pipelines.push(stages);
    }

    /// Records a variable with words that are not known one by one; `scope` is where it has them.
    pub(super) fn note_variable_words(
        &mut self,
        variable: &str,
        fields: &[Field],
        scope: Option<Span>,
        state: &State,
    ) {
        let words = fields.iter().map(|field| self.written(field.clone())).collect();
        let drawn = VariableWords {
            variable: variable.to_owned(),
            words,
            folders: state.folders().to_vec(),
            scope: scope.map(|scope| self.source.place(scope)),
        };
        self.word_sources.drawn.push(drawn);
    }

    /// Records the words of a function call, of `set --` or of `sh -c`.
    pub(super) fn note_positional(&mut self, fields: &[Field], state: &State) {
        for all in ["@", "*"].into_iter().filter(|_| !fields.is_empty()) {
            self.note_variable_words(all, fields, None, state);
        }
        // A word that may expand to several shifts those after it, and `shift` moves all of them.
        let single = fields.iter().take_while(|field| field.is_one()).count();
        for number in 1..=POSITIONAL_MAX {
            let first = number.saturating_sub(1).min(single);
            let words = fields.get(first..).unwrap_or_default();
            if !words.is_empty() {
                self.note_variable_words(&number.to_string(), words, None, state);
            }
        }
    }

    /// `for x` without words iterates over the positional parameters.
    pub(super) fn note_each_positional(&mut self, variable: &str, span: Span, state: &State) {
        let start = Span { start: span.start, end: span.start };
        let given = WrittenWord {
            field: Field::unknown(start),
            span: self.source.place(start),
            text: "$@".to_owned(),
        };
        self.word_sources.drawn.push(VariableWords {
            variable: variable.to_owned(),
            words: vec![given],
            folders: state.folders().to_vec(),
            scope: Some(self.source.place(span)),
        });
    }

    /// Records a word that is a substitution, with its output.
    pub(super) fn note_text(&mut self, span: Span, text: PrintedText) {
        let span = self.source.place(span);
        self.word_sources.texts.push((span, text));
    }

    /// The possible texts of a word that is only known at run time: the output of its substitution,
    /// or the values of its variable.
    pub(super) fn likely_texts(&self, span: Span) -> Vec<PrintedText> {
        let place = self.source.place(span);
        let mut spans = vec![place];
        let written = self.source.slice(span);
        let mut texts = Vec::new();
        for variable in names::variables_in(&written) {
            let drawn = self.word_sources.drawn.iter().filter(|drawn| drawn.variable == variable);
            // `"${a[@]}"` is all of them.
            texts.extend(drawn.clone().filter_map(VariableWords::joined).map(PrintedText::Text));
            for given in drawn.flat_map(|drawn| &drawn.words) {
                texts.extend(given.field.likely().map(PrintedText::Text));
                spans.push(given.span);
            }
        }
        let known = self.word_sources.texts.iter().filter(|(span, _)| spans.contains(span));
        texts.extend(known.map(|(_, text)| text.clone()));
        texts.dedup();
        texts.truncate(TEXTS_MAX);
        texts
    }

    fn written(&self, field: Field) -> WrittenWord {
        let span = self.source.place(field.span);
        WrittenWord { text: self.source.slice(field.span), field, span }
    }

    /// Records the redirections of a command or a group, for this part of the line.
    pub(super) fn note_feeds(&mut self, redirects: &[Redirect], span: Span, state: &State) {
        for redirect in redirects {
            let target = redirect.target.span;
            match redirect.kind {
                RedirectKind::Write => {
                    if self.source.slice(redirect.span).contains(">>") {
                        let place = self.source.place(target);
                        self.word_sources.appended.push(place);
                    }
                }
                RedirectKind::Read | RedirectKind::HereDocument | RedirectKind::HereString => {
                    let field = Field { span: target, ..expand::value(&redirect.target, state) };
                    let is_text = redirect.kind != RedirectKind::Read;
                    let text = field.known().filter(|_| is_text);
                    let (from, to) = (span.start.min(redirect.span.start), redirect.span.end);
                    let scope = Span { start: from, end: span.end.max(to).max(target.end) };
                    let given = self.written(field);
                    // `exec` opens it for all later commands.
                    let is_lasting = self.source.slice(span).starts_with("exec");
                    let end = if is_lasting { usize::MAX } else { scope.end };
                    let scope = self.source.place(Span { end, ..scope });
                    self.word_sources.feeds.push(InputSource { scope, given, text });
                }
                RedirectKind::ReadWrite | RedirectKind::Copy => {}
            }
        }
    }

    /// The findings about the whole line: what its commands destroy together, and downloads that
    /// they run.
    pub(super) fn note_critical(&mut self) {
        self.note_made();
        let ground = self.ground();
        let mut findings: Vec<Finding> =
            self.found.iter().flat_map(|found| ground.findings(found)).collect();
        findings.extend(ground.together(&self.found));
        findings.extend(critical::by_reference(&self.found));
        findings.extend(self.passed_names(&ground));
        findings.extend(self.through_links(&ground));
        findings.extend(self.moved_and_deleted(&ground));
        findings.extend(self.downloads());
        for finding in findings {
            self.note_placed(finding);
        }
    }

    /// Whether a word is the name of a temporary folder, or begins with one.
    fn is_temporary(&self, text: &str, span: Option<Span>, depth: usize) -> bool {
        let is_in = |one: &&CommandSummary| names::is_within(one.span, span);
        let names_it = |one: &CommandSummary| {
            let mut words = one.words.iter().map(|word| word.to_string_lossy());
            is_program(one, "mktemp") || words.any(|word| word.contains("$TMPDIR"))
        };
        if depth > 0 && text.contains("TMPDIR") || self.found.iter().filter(is_in).any(names_it) {
            return true;
        }
        let held = names::variables_in(text);
        let drawn = self.word_sources.drawn.iter();
        let mut words = drawn
            .filter(|drawn| held.contains(&drawn.variable.as_str()))
            .flat_map(|drawn| &drawn.words);
        depth < VARIABLES_MAX
            && words
                .any(|word| self.is_temporary(&word.text, Some(word.span), depth.saturating_add(1)))
    }

    fn ground(&self) -> CriticalCheck<'_> {
        CriticalCheck { resolver: self.resolver, home: self.home }
    }

    /// Moves into a folder that `mktemp` has made or that `$TMPDIR` names, where a variable or a
    /// substitution holds its name.
    fn note_made(&mut self) {
        let is_made =
            |target: &Target| self.is_temporary(&target.text.to_string_lossy(), target.span, 0);
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

    /// Finds deletions of names that other commands of the line supply.
    fn passed_names(&self, ground: &CriticalCheck<'_>) -> Vec<Finding> {
        let mut findings = Vec::new();
        for found in self.found.iter().filter(|one| !one.remote && !critical::moves(one)) {
            let mut names = NameSet::default();
            let mut is_any = false;
            for target in found.targets.iter().filter(|target| self.is_lost(found, target)) {
                if self.is_whole_name(found, target) {
                    // Code that the line contains in another form has one place for all its parts.
                    let span = target.span.filter(|span| found.span != Some(*span));
                    let text = target.text.to_string_lossy();
                    is_any = true;
                    names.merge(self.sources(&text, span, found));
                    // Braces expand to more words than are inspected one by one.
                    names.is_unknown |= text.contains('{') && !text.contains(['$', '`']);
                }
            }
            if self.deletes_added(found) {
                is_any = true;
                names.merge(self.added_names(found));
            }
            let folders = critical::from(found, self.resolver);
            if is_any && folders.iter().any(|folder| ground.is_in_history(folder)) {
                let text = "it deletes what is in the history of the project".to_owned();
                findings.push(critical::finding("destroy-history", text, found.span));
            }
            let listed = names.listed.iter().filter_map(|listed| {
                let (rule, why) = ground.deleted(&listed.target, &listed.folders)?;
                let text = listed.target.text.to_string_lossy();
                let text = format!("it deletes what is listed of {text:?}, {why}");
                Some(critical::finding(rule, text, found.span))
            });
            findings.extend(listed);
            let is_lost = LOSERS.iter().any(|name| is_program(found, name));
            if names.is_unknown && (deletes_folders(found) || is_lost) {
                let text = if deletes_folders(found) {
                    "it deletes folders whose names are not known before the run, with all that is \
                     in them"
                } else {
                    "it deletes files whose names are not known before the run"
                };
                findings.push(critical::finding("destroy-project", text.to_owned(), found.span));
            }
        }
        findings
    }

    /// Whether an unknown target is deleted or emptied.
    fn is_lost(&self, found: &CommandSummary, target: &Target) -> bool {
        let appends = || target.span.is_some_and(|span| self.word_sources.appended.contains(&span));
        let is_emptied = || empties(found, target) && !(target.redirected && appends());
        target.is_open() && (target.kind == EffectKind::Delete || is_emptied())
    }

    /// Whether a command deletes the words that are added to it, or to the shell that runs it.
    fn deletes_added(&self, found: &CommandSummary) -> bool {
        let holds =
            |outer: &&CommandSummary| outer.open && names::is_within(found.span, outer.span);
        let is_lost = |target: &Target| self.is_lost(found, target);
        let wrapper = found.wrapper.and_then(|at| self.found.get(at));
        let is_find = |found: &CommandSummary| FINDERS.iter().any(|name| is_program(found, name));
        if found.open && wrapper.is_some_and(is_find) && !self.has_mark(found) {
            // Without a mark it adds nothing.
            return false;
        }
        if found.open && (found.targets.iter().any(is_lost) || self.deletes_words(found)) {
            return true;
        }
        let is_added = found.targets.iter().any(is_lost) || self.has_mark(found);
        is_added && self.found.iter().any(|outer| holds(&outer))
    }

    /// Whether a command deletes or empties a mark for added words: `{}`.
    fn has_mark(&self, found: &CommandSummary) -> bool {
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

    /// Whether a command deletes or overwrites the words that are added to it.
    fn deletes_words(&self, found: &CommandSummary) -> bool {
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

/// The mark that a program replaces by added words.
fn marks(found: &CommandSummary) -> Vec<String> {
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

/// Whether a command deletes folders with everything in them.
fn deletes_folders(found: &CommandSummary) -> bool {
    let is_recursive = |word: &str| match word.strip_prefix("--") {
        Some(name) => name.len() > 1 && "recursive".starts_with(name),
        None => word.starts_with('-') && word.contains(['r', 'R']),
    };
    let mut words = found.words.iter().skip(1);
    DELETERS.iter().any(|name| is_program(found, name))
        && words.any(|word| is_recursive(&word.to_string_lossy()))
}
