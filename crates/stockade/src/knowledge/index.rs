//! Finds the blocks of the data files and the names in them without parsing the rest.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use super::glob::Glob;
use super::program::Program;
use super::{Broken, schema};

/// One block of data, parsed when its program is first asked for.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) file: &'static str,
    pub(super) line: usize,
    text: &'static str,
    pub(super) names: Vec<&'static str>,
    versioned: bool,
    like: Vec<Glob>,
    parsed: OnceLock<Result<Program, Broken>>,
    /// The result of its examples.
    pub(super) checked: OnceLock<Result<(), Broken>>,
}

impl Entry {
    /// The compiled program.
    pub(super) fn program(&self) -> Result<&Program, Broken> {
        self.parsed.get_or_init(|| self.parse()).as_ref().map_err(Clone::clone)
    }

    pub(super) fn broken(&self, message: String) -> Broken {
        Broken::new(self.file, self.line, message)
    }

    fn parse(&self) -> Result<Program, Broken> {
        let block: schema::Block =
            toml::from_str(self.text).map_err(|error| self.broken(error.to_string()))?;
        let mut programs = block.program.into_iter();
        let (Some(program), None) = (programs.next(), programs.next()) else {
            return Err(self.broken("a block holds one program".to_owned()));
        };
        if program.names != self.names
            || program.versioned != self.versioned
            || program.like.len() != self.like.len()
        {
            let message = "`names`, `versioned` and `like` are the first lines of a program";
            return Err(self.broken(message.to_owned()));
        }
        let name = self.names.first().copied().unwrap_or_default();
        Program::new(program).map_err(|message| self.broken(format!("{name}: {message}")))
    }
}

/// All blocks, by name.
#[derive(Debug, Default)]
pub(super) struct Index {
    pub(super) entries: Vec<Entry>,
    by_name: HashMap<&'static str, usize>,
    /// Names that stand in two blocks.
    pub(super) twice: Vec<&'static str>,
}

impl Index {
    pub(super) fn new(files: &[(&'static str, &'static str)]) -> Self {
        let mut index = Self::default();
        for (file, text) in files {
            let mut start = None;
            let mut offset = 0_usize;
            for (line, content) in text.split_inclusive('\n').enumerate() {
                if content.trim_end() == "[[program]]" {
                    index.add(file, text, start.replace((offset, line)), offset);
                }
                offset = offset.saturating_add(content.len());
            }
            index.add(file, text, start, offset);
        }
        index
    }

    fn add(
        &mut self,
        file: &'static str,
        text: &'static str,
        start: Option<(usize, usize)>,
        end: usize,
    ) {
        let Some((start, line)) = start else { return };
        let Some(text) = text.get(start..end) else { return };
        let mut entry = Entry {
            file,
            line: line.saturating_add(1),
            text,
            names: Vec::new(),
            versioned: false,
            like: Vec::new(),
            parsed: OnceLock::new(),
            checked: OnceLock::new(),
        };
        for line in text.lines().skip(1).take(3) {
            if let Some(list) = line.strip_prefix("names = ") {
                entry.names = quoted(list).collect();
            } else if let Some(list) = line.strip_prefix("like = ") {
                entry.like = quoted(list).map(Glob::new).collect();
            }
            entry.versioned |= line == "versioned = true";
        }
        let at = self.entries.len();
        for name in &entry.names {
            if self.by_name.insert(name, at).is_some() {
                self.twice.push(name);
            }
        }
        self.entries.push(entry);
    }

    /// The block of a program: by its name, by its name without a version, by a pattern.
    pub(super) fn find(&self, name: &str) -> Option<&Entry> {
        if let Some(entry) = self.by_name.get(name).and_then(|&at| self.entries.get(at)) {
            return Some(entry);
        }
        let versioned = stem(name)
            .and_then(|stem| self.by_name.get(stem))
            .and_then(|&at| self.entries.get(at))
            .filter(|entry| entry.versioned);
        versioned.or_else(|| {
            let like = |entry: &&Entry| entry.like.iter().any(|glob| glob.fits(name.as_bytes()));
            self.entries.iter().find(like)
        })
    }

    /// Every word that names a program or a subcommand.
    pub(super) fn words(files: &[(&'static str, &'static str)]) -> HashSet<&'static str> {
        let lines = files.iter().flat_map(|(_, text)| text.lines());
        lines
            .filter(|line| line.starts_with("names = ") || line.starts_with("subcommands = ["))
            .flat_map(quoted)
            .flat_map(|name| name.split(' '))
            .collect()
    }
}

/// The strings in a list that is written on one line.
fn quoted(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.split('"').skip(1).step_by(2)
}

/// A name without its version: `python3.11`, `vim.basic`, `gcc-12`.
fn stem(name: &str) -> Option<&str> {
    let bytes = name.as_bytes();
    let at = bytes.iter().enumerate().position(|(at, byte)| {
        let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        *byte == b'.' || digit(at) || (*byte == b'-' && digit(at.saturating_add(1)))
    })?;
    name.get(..at).filter(|stem| !stem.is_empty())
}
