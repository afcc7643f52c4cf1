//! Which words are plain data for a program, and which hold paths in a way of their own.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::analysis::PathValue;
use super::call::Call;
use super::glob;
use super::grammar::Name;
use super::program::Shape;
use super::schema;
use crate::pattern::Pattern;

/// A compiled `[[program.text]]`.
#[derive(Debug)]
pub(super) struct TextRule {
    subcommands: Vec<String>,
    options: Vec<Name>,
    operands: usize,
    unless: Vec<Name>,
    like: Vec<Pattern>,
    except: Vec<Pattern>,
}

impl TextRule {
    pub(super) fn new(data: &schema::Text, shape: &Shape) -> Result<Self, String> {
        Ok(Self {
            subcommands: data.subcommands.clone(),
            options: shape.names(&data.options, &data.subcommands)?,
            operands: data.operands,
            unless: shape.names(&data.unless, &data.subcommands)?,
            like: glob::all(&data.like),
            except: glob::all(&data.except),
        })
    }

    /// Adds the arguments that are plain data.
    pub(super) fn mark(&self, call: &Call<'_, '_>, marked: &mut Vec<usize>) {
        for part in call.parts.iter().filter(|part| part.is_under(&self.subcommands)) {
            let values = part
                .seen
                .flags
                .iter()
                .filter(|flag| self.options.iter().any(|name| flag.is_exactly(name)))
                .filter_map(|flag| flag.value.map(|value| (value.word, value.bytes)));
            let elsewhere = part
                .seen
                .flags
                .iter()
                .any(|flag| self.unless.iter().any(|name| flag.may_be(name, part.grammar)));
            let count = if elsewhere { 0 } else { self.operands };
            let operands = part.operands(call).take(count).map(|(&word, bytes)| (word, bytes));
            for (word, bytes) in values.chain(operands) {
                let word = call.words.get(word).filter(|word| word.is_whole());
                if let Some(word) = word.filter(|_| self.is_plain(bytes)) {
                    marked.push(word.argument);
                }
            }
        }
    }

    fn is_plain(&self, bytes: &[u8]) -> bool {
        (self.like.is_empty() || glob::fit(&self.like, bytes)) && !glob::cover(&self.except, bytes)
    }
}

/// A compiled `[[program.paths]]`.
#[derive(Debug)]
pub(super) struct Paths {
    subcommands: Vec<String>,
    lists: Vec<Name>,
    keys: Vec<String>,
}

impl Paths {
    pub(super) fn new(data: &schema::Paths, shape: &Shape) -> Result<Self, String> {
        Ok(Self {
            subcommands: data.subcommands.clone(),
            lists: shape.names(&data.lists, &data.subcommands)?,
            keys: data.keys.clone(),
        })
    }

    /// Adds the arguments that hold paths.
    pub(super) fn mark(&self, call: &Call<'_, '_>, marked: &mut Vec<PathValue>) {
        let mut add = |word: usize, paths: Vec<OsString>| {
            if let Some(word) = call.words.get(word) {
                marked.push(PathValue { argument: word.argument, paths });
            }
        };
        for part in call.parts.iter().filter(|part| part.is_under(&self.subcommands)) {
            for flag in &part.seen.flags {
                let listed = self.lists.iter().any(|name| flag.may_be(name, part.grammar));
                if let Some(value) = flag.value.filter(|_| listed) {
                    let paths = value.bytes.split(|&byte| byte == b':').filter(|p| !p.is_empty());
                    add(value.word, paths.map(|path| OsStr::from_bytes(path).into()).collect());
                }
            }
            for (&word, bytes) in part.operands(call) {
                let path = self.keys.iter().find_map(|key| bytes.strip_prefix(key.as_bytes()));
                if let Some(path) = path {
                    add(word, vec![OsStr::from_bytes(path).into()]);
                }
            }
        }
    }
}
