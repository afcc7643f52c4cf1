//! The `[[program.code]]` rules: where code is in the words of a command.

use super::analysis::{Code, Runner};
use super::call::{Call, Part};
use super::glob;
use super::grammar::Name;
use super::program::Shape;
use super::schema::{self, CodeOperands};
use crate::pattern::Pattern;

/// A compiled rule.
#[derive(Debug)]
pub(super) struct CodeRule {
    subcommands: Vec<String>,
    options: Vec<Name>,
    operands: CodeOperands,
    skip: usize,
    at_least: usize,
    until: Vec<Pattern>,
    with: Vec<Name>,
    unless: Vec<Name>,
    like: Vec<Pattern>,
    except: Vec<Pattern>,
    after: String,
    runner: Runner,
    open: bool,
}

impl CodeRule {
    pub(super) fn new(data: &schema::Code, shape: &Shape) -> Result<Self, String> {
        let names = |flags: &[String]| shape.names(flags, &data.subcommands);
        Ok(Self {
            subcommands: data.subcommands.clone(),
            options: names(&data.options)?,
            operands: data.operands,
            skip: data.skip,
            at_least: data.at_least,
            until: glob::all(&data.until),
            with: names(&data.with)?,
            unless: names(&data.unless)?,
            like: glob::all(&data.like),
            except: glob::all(&data.except),
            after: data.after.clone(),
            runner: data.runner.into(),
            open: data.open,
        })
    }

    /// Adds the code that the rule finds in a command.
    pub(super) fn find(&self, call: &Call<'_, '_>, found: &mut Vec<Code>) {
        for part in call.parts.iter().filter(|part| part.is_under(&self.subcommands)) {
            if part.has(&self.unless) || (!self.with.is_empty() && !part.has(&self.with)) {
                continue;
            }
            for flag in &part.seen.flags {
                let named = self.options.iter().any(|name| flag.may_be(name, part.grammar));
                if let Some(value) = flag.value.filter(|_| named) {
                    self.add(&[value.word], value.offset, value.bytes, found);
                }
            }
            self.find_operands(call, part, found);
        }
    }

    fn find_operands(&self, call: &Call<'_, '_>, part: &Part<'_>, found: &mut Vec<Code>) {
        let stops = |bytes: &[u8]| glob::fit(&self.until, bytes);
        let operands: Vec<(usize, &[u8])> = part
            .operands(call)
            .skip(self.skip)
            .take_while(|(_, bytes)| !stops(bytes))
            .map(|(word, bytes)| (*word, bytes))
            .collect();
        let Some(&(first, bytes)) = operands.first().filter(|_| operands.len() >= self.at_least)
        else {
            return;
        };
        match self.operands {
            CodeOperands::None => {}
            CodeOperands::First => self.add(&[first], 0, bytes, found),
            CodeOperands::Each => {
                for (word, bytes) in operands {
                    self.add(&[word], 0, bytes, found);
                }
            }
            CodeOperands::Joined => {
                let words: Vec<_> = operands.iter().map(|(word, _)| *word).collect();
                self.add(&words, 0, bytes, found);
            }
        }
    }

    fn add(&self, words: &[usize], offset: usize, bytes: &[u8], found: &mut Vec<Code>) {
        let fits = |globs: &[Pattern]| glob::cover(globs, bytes);
        if (!self.like.is_empty() && !fits(&self.like)) || fits(&self.except) {
            return;
        }
        let begins = match self.after.as_bytes() {
            [] => Some(0),
            after => bytes
                .windows(after.len())
                .position(|part| part == after)
                .map(|at| at.saturating_add(after.len())),
        };
        let Some(begins) = begins else { return };
        let offset = offset.saturating_add(begins);
        found.push(Code { words: words.to_vec(), offset, runner: self.runner, open: self.open });
    }
}

impl From<schema::Runner> for Runner {
    fn from(runner: schema::Runner) -> Self {
        match runner {
            schema::Runner::Shell => Self::Shell,
            schema::Runner::ThisShell => Self::ThisShell,
            schema::Runner::ThisShellLater => Self::ThisShellLater,
            schema::Runner::Remote => Self::Remote,
            schema::Runner::Other => Self::Other,
        }
    }
}
