//! The `[[program.effect]]` rules: what a command does to files and hosts.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::address::{self, Address};
use super::analysis::{Effect, EffectKind, Word};
use super::call::{Call, Part};
use super::find;
use super::glob;
use super::grammar::Name;
use super::narrowing::{Style, narrows};
use super::program::Shape;
use super::schema::{self, TargetForm, Which};
use crate::pattern::Pattern;

/// A compiled rule.
#[derive(Debug)]
pub(super) struct EffectRule {
    kind: EffectKind,
    subcommands: Vec<String>,
    options: Vec<Name>,
    operands: Which,
    skip: usize,
    skip_unless: Vec<Name>,
    at_least: usize,
    at_most: Option<usize>,
    value: usize,
    keys: Vec<String>,
    with: Vec<Name>,
    with_value: Vec<String>,
    unless: Vec<Name>,
    reached: Vec<String>,
    any_name: bool,
    among: Vec<String>,
    like: Vec<Pattern>,
    except: Vec<Pattern>,
    after: String,
    before: String,
    form: TargetForm,
    implied: Option<String>,
}

impl EffectRule {
    pub(super) fn new(data: &schema::Effect, shape: &Shape) -> Result<Self, String> {
        let names = |flags: &[String]| shape.names(flags, &data.subcommands);
        Ok(Self {
            kind: data.kind.into(),
            subcommands: data.subcommands.clone(),
            options: names(&data.options)?,
            operands: data.operands,
            skip: data.skip,
            skip_unless: names(&data.skip_unless)?,
            at_least: data.at_least,
            at_most: data.at_most,
            value: data.value,
            keys: data.keys.clone(),
            with: names(&data.with)?,
            with_value: data.with_value.clone(),
            unless: names(&data.unless)?,
            reached: data.reached.clone(),
            any_name: data.any_name,
            among: data.among.clone(),
            like: glob::all(&data.like),
            except: glob::all(&data.except),
            after: data.after.clone(),
            before: data.before.clone(),
            form: data.form,
            implied: data.implied.clone(),
        })
    }

    /// Adds what the rule finds in a command.
    pub(super) fn find(&self, call: &Call<'_, '_>, found: &mut Vec<Effect>) {
        if call.is_harmless() {
            return;
        }
        for part in call.parts.iter().filter(|part| part.is_under(&self.subcommands)) {
            let asked = self.with.is_empty() || self.is_asked(part);
            let is_meant = asked && !part.has(&self.unless) && self.is_among(call, part);
            if is_meant && self.is_wide(call, part) {
                self.find_in(call, part, found);
            }
        }
    }

    /// Whether an option of `with` is there, with a value where the rule names some.
    fn is_asked(&self, part: &Part<'_>) -> bool {
        if self.with_value.is_empty() {
            return part.has(&self.with);
        }
        let says = |value: &[u8]| self.with_value.iter().any(|one| one.as_bytes() == value);
        part.seen.flags.iter().any(|flag| {
            let is_named = self.with.iter().any(|name| flag.may_be(name, part.grammar));
            is_named && flag.value.is_some_and(|value| says(value.bytes))
        })
    }

    /// Whether the names of files are as little narrowed as the rule wants.
    fn is_wide(&self, call: &Call<'_, '_>, part: &Part<'_>) -> bool {
        let names = |(word, bytes): (&usize, &[u8])| {
            let is_known = call.words.get(*word).is_some_and(Word::is_known);
            is_known && narrows(Style::Regex, bytes, &[])
        };
        (self.reached.is_empty() || find::reaches(call, part, &self.reached))
            && !(self.any_name && part.operands(call).next().is_some_and(names))
    }

    fn is_among(&self, call: &Call<'_, '_>, part: &Part<'_>) -> bool {
        let is_it = |bytes: &[u8]| self.among.iter().any(|one| one.as_bytes() == bytes);
        self.among.is_empty() || part.operands(call).any(|(_, bytes)| is_it(bytes))
    }

    fn find_in(&self, call: &Call<'_, '_>, part: &Part<'_>, found: &mut Vec<Effect>) {
        // Behind an option of unknown shape no place is certain, so that every operand counts.
        let placed = !part.is_doubtful();
        let skip = if placed && !part.has(&self.skip_unless) { self.skip } else { 0 };
        let count = part.operand_count().saturating_sub(skip);
        let outside = count < self.at_least || self.at_most.is_some_and(|most| count > most);
        if placed && outside {
            return;
        }
        let before = found.len();
        for flag in &part.seen.flags {
            let named = self.options.iter().any(|name| flag.may_be(name, part.grammar));
            match flag.value.filter(|_| named) {
                Some(value) if self.value == 0 => self.add(value.word, value.bytes, found),
                Some(value) => {
                    let word = value.word.saturating_add(self.value);
                    let bytes = call.words.get(word).map_or(b"".as_slice(), |word| word.bytes());
                    self.add(word, bytes, found);
                }
                None => {}
            }
        }
        let (from, take) = match self.operands {
            Which::None => (0, 0),
            Which::All => (0, count),
            _ if !placed => (0, count),
            Which::First => (0, 1),
            Which::Last => (count.saturating_sub(1), 1),
            Which::ButLast => (0, count.saturating_sub(1)),
        };
        let operands = part.operands(call).skip(skip.saturating_add(from)).take(take);
        for (word, bytes) in operands {
            self.add(*word, bytes, found);
        }
        if !self.keys.is_empty() {
            for (word, bytes) in part.operands(call) {
                let key = self.keys.iter().find_map(|key| bytes.strip_prefix(key.as_bytes()));
                if let Some(path) = key {
                    self.add(*word, path, found);
                }
            }
        }
        if let Some(target) = self.implied.as_ref().filter(|_| found.len() == before) {
            found.push(Effect { kind: self.kind, target: target.into(), word: None });
        }
    }

    fn add(&self, word: usize, bytes: &[u8], found: &mut Vec<Effect>) {
        let covered = |globs: &[Pattern]| glob::cover(globs, bytes);
        if (!self.like.is_empty() && !covered(&self.like)) || covered(&self.except) {
            return;
        }
        let Some(target) = cut(bytes, self.after.as_bytes(), self.before.as_bytes()) else {
            return;
        };
        let address = match self.form {
            TargetForm::Path if target == b"-" && self.kind != EffectKind::Enter => return,
            TargetForm::Path => Address::Path(target),
            TargetForm::Address => address::of(target),
            TargetForm::Remote => address::of_remote(target),
        };
        let (kind, target) = match (address, self.kind) {
            (Address::Host(host), _) => (EffectKind::Host, host),
            (Address::Path(path), EffectKind::Host) => (EffectKind::Read, path),
            (Address::Path(path), kind) => (kind, path),
        };
        if !target.is_empty() {
            let target = OsStr::from_bytes(target).to_owned();
            found.push(Effect { kind, target, word: Some(word) });
        }
    }
}

/// The part of a word after one text and before another.
fn cut<'t>(bytes: &'t [u8], after: &[u8], before: &[u8]) -> Option<&'t [u8]> {
    let find = |bytes: &[u8], text: &[u8]| bytes.windows(text.len()).position(|part| part == text);
    let bytes = match after {
        [] => bytes,
        text => bytes.get(find(bytes, text)?.saturating_add(text.len())..)?,
    };
    match before {
        [] => Some(bytes),
        text => find(bytes, text).map_or(Some(bytes), |end| bytes.get(..end)),
    }
}
