//! One command, read scope by scope: the program's own options, then each subcommand's.

use std::sync::Arc;

use super::analysis::{GluedOption, Hazard, HazardKind, Word};
use super::grammar::{Grammar, Name};
use super::program::{Program, Shape};
use super::scan::{Flag, ScopeScan, scan};
use super::schema::UnknownOption;

/// A command whose words have been told apart.
#[derive(Debug)]
pub(super) struct Call<'s, 'a> {
    pub(super) program: &'s Program,
    pub(super) words: &'s [Word<'a>],
    /// The program's own scope first; never empty.
    pub(super) parts: Vec<Part<'s>>,
}

/// The words of one scope.
#[derive(Debug)]
pub(super) struct Part<'s> {
    /// The names of the subcommands up to here, with spaces between; empty for the program.
    pub(super) path: String,
    /// The word that names the subcommand.
    pub(super) name: Option<usize>,
    from: usize,
    /// Whether the first operand names the next scope.
    opens: bool,
    pub(super) grammar: &'s Grammar,
    pub(super) seen: ScopeScan<'s>,
}

impl<'s, 'a> Call<'s, 'a> {
    pub(super) fn new(program: &'s Program, words: &'s [Word<'a>]) -> Self {
        let shape = &program.shape;
        let mut parts = vec![Part::read(shape, String::new(), None, words)];
        while let Some(part) = parts.last() {
            let Some(&word) = part.seen.operands.first().filter(|_| part.opens) else { break };
            let name = words.get(word).map_or("".into(), |word| word.text.to_string_lossy());
            let path = match part.path.as_str() {
                "" => name.into_owned(),
                before => format!("{before} {name}"),
            };
            parts.push(Part::read(shape, path, Some(word), words));
        }
        Self { program, words, parts }
    }

    /// The innermost scope.
    pub(super) fn last(&self) -> Option<&Part<'s>> {
        self.parts.last()
    }

    /// Whether every argument only makes the program print about itself.
    pub(super) fn is_harmless(&self) -> bool {
        let arguments = self.words.get(1..).unwrap_or_default();
        !arguments.is_empty()
            && arguments.iter().all(|word| {
                self.program.harmless.iter().any(|harmless| harmless.as_bytes() == word.bytes())
            })
    }

    pub(super) fn hazard(
        &self,
        kind: HazardKind,
        word: usize,
        why: &Arc<str>,
        instead: Option<&Arc<str>>,
    ) -> Hazard {
        let (argument, flag) = match self.words.get(word) {
            Some(found) => (found.argument, preview(found.bytes())),
            None => (self.words.first().map_or(0, |first| first.argument), String::new()),
        };
        Hazard {
            kind,
            argument,
            flag,
            why: Arc::clone(why),
            instead: instead.map(Arc::clone),
            classes: Arc::clone(&self.program.classes),
        }
    }

    pub(super) fn glued(&self) -> Vec<GluedOption> {
        let flags = self.parts.iter().flat_map(|part| &part.seen.flags);
        flags
            .filter_map(|flag| flag.value.filter(|value| value.offset > 0))
            .filter_map(|value| {
                let word = self.words.get(value.word).filter(|word| word.is_whole())?;
                Some(GluedOption { argument: word.argument, offset: value.offset })
            })
            .collect()
    }
}

impl<'s> Part<'s> {
    fn read(shape: &'s Shape, path: String, name: Option<usize>, words: &'s [Word<'_>]) -> Self {
        let (grammar, opens) = shape.scope(&path);
        let from = name.unwrap_or(0).saturating_add(1);
        let seen = scan(grammar, words, from);
        Self { path, name, from, opens, grammar, seen }
    }

    /// Whether rules for these subcommands hold here; none means the program's own scope.
    pub(super) fn is_under(&self, subcommands: &[String]) -> bool {
        (subcommands.is_empty() && self.path.is_empty())
            || subcommands.iter().any(|name| {
                name == "*"
                    || self
                        .path
                        .strip_prefix(name.as_str())
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
            })
    }

    /// The operands of this scope, without the name of the next one.
    pub(super) fn operands<'p>(
        &'p self,
        call: &'p Call<'s, '_>,
    ) -> impl Iterator<Item = (&'p usize, &'p [u8])> {
        let operands = if self.opens { &[] } else { self.seen.operands.as_slice() };
        operands.iter().filter_map(|word| Some((word, call.words.get(*word)?.bytes())))
    }

    /// How many operands this scope has, without the name of the next one.
    pub(super) fn operand_count(&self) -> usize {
        if self.opens { 0 } else { self.seen.operands.len() }
    }

    /// Whether one of the options may be there.
    pub(super) fn has(&self, names: &[Name]) -> bool {
        let is = |flag: &Flag<'_>| names.iter().any(|name| flag.may_be(name, self.grammar));
        !names.is_empty() && self.seen.flags.iter().any(is)
    }

    /// Every word from the beginning of this scope on.
    pub(super) fn words<'p>(
        &'p self,
        call: &'p Call<'s, '_>,
    ) -> impl Iterator<Item = (usize, &'p [u8])> {
        let words = call.words.iter().enumerate().skip(self.from);
        words.map(|(at, word)| (at, word.bytes()))
    }

    /// Whether an option is not known that may have taken a word for its value.
    pub(super) fn is_doubtful(&self) -> bool {
        self.seen.doubt.is_some() && self.grammar.unknown != Some(UnknownOption::Flag)
    }

    /// Whether the first operand names another scope.
    pub(super) fn opens(&self) -> bool {
        self.opens
    }
}

/// A word for a message: its beginning, readable.
fn preview(bytes: &[u8]) -> String {
    const SHOWN: usize = 80;
    let shown = String::from_utf8_lossy(bytes.get(..SHOWN).unwrap_or(bytes)).into_owned();
    if bytes.len() > SHOWN { shown + "…" } else { shown }
}
