//! The `[[program.refuse]]` rules: which words of a command are dangerous.

use std::sync::Arc;

use super::analysis::{Hazard, HazardKind};
use super::call::{Call, Part};
use super::glob;
use super::grammar::Name;
use super::program::Shape;
use super::schema::{Alone, Refuse, RefuseKind};
use crate::pattern::Pattern;

/// A compiled rule.
#[derive(Debug)]
pub(super) struct Rule {
    subcommands: Vec<String>,
    unless_subcommands: Vec<String>,
    flags: Vec<Name>,
    operands: Vec<Pattern>,
    words: Vec<Pattern>,
    missing: Vec<Name>,
    fewer: usize,
    always: bool,
    alone: Alone,
    like: Vec<Pattern>,
    unless: Vec<Pattern>,
    unless_plain: bool,
    unless_flags: Vec<Name>,
    kind: HazardKind,
    pub(super) why: Arc<str>,
    instead: Option<Arc<str>>,
}

impl Rule {
    pub(super) fn new(data: &Refuse, shape: &Shape) -> Result<Self, String> {
        let names = |flags: &[String]| shape.names(flags, &data.subcommands);
        if data.why.is_empty() {
            return Err("a rule has no `why`".to_owned());
        }
        let kind = match data.kind {
            Some(RefuseKind::InlineCode) => HazardKind::InlineCode,
            Some(RefuseKind::StdinCode) => HazardKind::StdinCode,
            Some(RefuseKind::FindAction) => HazardKind::FindAction,
            None if data.always => HazardKind::Always,
            None => HazardKind::Flag,
        };
        Ok(Self {
            subcommands: data.subcommands.clone(),
            unless_subcommands: data.unless_subcommands.clone(),
            flags: names(&data.flags)?,
            operands: glob::all(&data.operands),
            words: glob::all(&data.words),
            missing: names(&data.missing)?,
            fewer: data.fewer,
            always: data.always,
            alone: data.alone,
            like: glob::all(&data.like),
            unless: glob::all(&data.unless),
            unless_plain: data.unless_plain,
            unless_flags: names(&data.unless_flags)?,
            kind,
            why: Arc::from(data.why.as_str()),
            instead: data.instead.as_deref().map(Arc::from),
        })
    }

    /// Adds what the rule finds in a command.
    pub(super) fn judge(&self, call: &Call<'_, '_>, found: &mut Vec<Hazard>) {
        if self.always {
            self.judge_always(call, found);
            return;
        }
        for part in call.parts.iter().filter(|part| part.is_under(&self.subcommands)) {
            if part.seen.has(&self.unless_flags) {
                continue;
            }
            self.judge_part(call, part, found);
        }
    }

    fn judge_always(&self, call: &Call<'_, '_>, found: &mut Vec<Hazard>) {
        let exempt = call.is_harmless()
            || (self.alone == Alone::Harmless && call.words.len() < 2)
            || call
                .parts
                .iter()
                .any(|part| !part.path.is_empty() && part.is_under(&self.unless_subcommands));
        if !exempt {
            found.push(self.hazard(call, 0));
        }
    }

    fn judge_part(&self, call: &Call<'_, '_>, part: &Part<'_>, found: &mut Vec<Hazard>) {
        let conditions = !self.flags.is_empty()
            || !self.operands.is_empty()
            || !self.words.is_empty()
            || !self.missing.is_empty()
            || self.fewer > 0;
        if !conditions {
            if let Some(word) = part.name {
                found.push(self.hazard(call, word));
            }
            return;
        }
        for flag in &part.seen.flags {
            if self.flags.iter().any(|name| flag.may_be(name, part.grammar))
                && self.concerns(flag.value.map(|value| value.bytes))
            {
                found.push(self.hazard(call, flag.word));
            }
        }
        for (&word, bytes) in part.operands(call) {
            if covered(&self.operands, bytes) && !self.exempts(bytes) {
                found.push(self.hazard(call, word));
            }
        }
        for (word, bytes) in part.words(call) {
            if covered(&self.words, bytes) && !self.exempts(bytes) {
                found.push(self.hazard(call, word));
            }
        }
        let count = part.seen.operands.len();
        let lacking =
            (!self.missing.is_empty() && !part.seen.has(&self.missing)) || count < self.fewer;
        if lacking && !call.is_harmless() {
            found.push(self.hazard(call, part.name.unwrap_or(0)));
        }
    }

    /// Whether a flag with this value is dangerous; one without its value is.
    fn concerns(&self, value: Option<&[u8]>) -> bool {
        match value {
            None => self.like.is_empty(),
            Some(value) => {
                (self.like.is_empty() || covered(&self.like, value)) && !self.exempts(value)
            }
        }
    }

    fn exempts(&self, value: &[u8]) -> bool {
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_:.,=-".contains(byte);
        (self.unless_plain && !value.is_empty() && value.iter().all(plain))
            || glob::fit(&self.unless, value)
    }

    fn hazard(&self, call: &Call<'_, '_>, word: usize) -> Hazard {
        call.hazard(self.kind, word, &self.why, self.instead.as_ref())
    }
}

fn covered(globs: &[Pattern], bytes: &[u8]) -> bool {
    glob::cover(globs, bytes)
}
