//! Finds the block of a program by its name, and parses it when it is first asked for.

use std::sync::OnceLock;

use super::program::Program;
use super::{BrokenEntry, data, schema};
use crate::pattern::{Dialect, Pattern};

/// The data about one program.
#[derive(Debug)]
pub(super) struct Block {
    /// The file and the line on which it begins.
    pub(super) file: &'static str,
    pub(super) line: usize,
    /// Whether names with a version are its, too.
    pub(super) versioned: bool,
    /// Patterns of names.
    pub(super) like: &'static [&'static str],
    /// All of it as JSON, without examples.
    pub(super) data: &'static str,
}

impl Block {
    pub(super) fn broken(&self, message: impl Into<String>) -> BrokenEntry {
        BrokenEntry { file: self.file, line: self.line, message: message.into() }
    }

    fn parse(&self) -> Result<Program, BrokenEntry> {
        let program: schema::Program =
            serde_json::from_str(self.data).map_err(|error| self.broken(error.to_string()))?;
        let name = program.names.first().cloned().unwrap_or_default();
        Program::new(program).map_err(|message| self.broken(format!("{name}: {message}")))
    }
}

/// A program that was parsed. There are many, of which a run asks for few.
pub(super) type ProgramCell = OnceLock<Box<Result<Program, BrokenEntry>>>;

/// All blocks, by name.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) blocks: &'static [Block],
    /// Every name, sorted, with the place of its block.
    pub(super) names: &'static [(&'static str, usize)],
    /// One for each block.
    pub(super) parsed: &'static [ProgramCell],
}

impl Index {
    /// The data that is built in.
    pub(super) fn built_in() -> Self {
        static PARSED: [ProgramCell; data::BLOCKS.len()] =
            [const { ProgramCell::new() }; data::BLOCKS.len()];
        Self { blocks: &data::BLOCKS, names: data::NAMES, parsed: &PARSED }
    }

    /// The program of this block.
    pub(super) fn program(&self, block: usize) -> Option<Result<&Program, BrokenEntry>> {
        let data = self.blocks.get(block)?;
        let parsed = self.parsed.get(block)?.get_or_init(|| Box::new(data.parse()));
        Some(parsed.as_ref().as_ref().map_err(Clone::clone))
    }

    /// The block of a program: by its name, by its name without a version, by a pattern.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        let is_versioned = |at: &usize| self.blocks.get(*at).is_some_and(|block| block.versioned);
        self.by_name(name)
            .or_else(|| stem(name).and_then(|stem| self.by_name(stem)).filter(is_versioned))
            .or_else(|| self.by_pattern(name))
    }

    fn by_name(&self, name: &str) -> Option<usize> {
        let at = self.names.binary_search_by_key(&name, |(known, _)| known).ok()?;
        self.names.get(at).map(|(_, block)| *block)
    }

    /// Every pattern has a dot or a dash, so plain names need not be compared.
    fn by_pattern(&self, name: &str) -> Option<usize> {
        let fits = |pattern: &&str| Pattern::new(pattern, Dialect::Words).matches(name);
        if !name.contains(['.', '-']) || name.contains('\n') {
            return None;
        }
        self.blocks.iter().position(|block| block.like.iter().any(fits))
    }

    /// What is wrong with the names: one that is in two blocks, a pattern without a dot or a dash.
    pub(super) fn faults(&self) -> Vec<BrokenEntry> {
        let twice = self.names.windows(2).filter_map(|pair| match pair {
            [(name, _), (next, at)] if name == next => {
                Some(self.blocks.get(*at)?.broken(format!("{name} is there twice")))
            }
            _ => None,
        });
        let vague = self.blocks.iter().filter_map(|block| {
            let pattern = block.like.iter().find(|pattern| !pattern.contains(['.', '-']))?;
            Some(block.broken(format!("the pattern {pattern:?} has neither a dot nor a dash")))
        });
        twice.chain(vague).collect()
    }
}

/// A name without its version: `python3.11`, `vim.basic`, `gcc-12`, and `rimraf@5` as npx has it.
fn stem(name: &str) -> Option<&str> {
    let bytes = name.as_bytes();
    let at = bytes.iter().enumerate().position(|(at, byte)| {
        let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        matches!(byte, b'.' | b'@') || digit(at) || (*byte == b'-' && digit(at.saturating_add(1)))
    })?;
    name.get(..at).filter(|stem| !stem.is_empty())
}
