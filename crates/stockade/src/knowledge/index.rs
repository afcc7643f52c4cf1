//! Finds the blocks of the data files and the names in them without parsing the rest.

use std::collections::HashSet;
use std::sync::OnceLock;

use super::file::{self, File, Slot};
use super::program::Program;
use super::{Broken, glob, schema, shipped};

/// One block of data, parsed when its program is first asked for.
#[derive(Debug)]
pub(super) struct Entry {
    file: &'static str,
    whole: &'static str,
    start: usize,
    end: usize,
    /// The same block without its examples, which is read faster; none in data of tests.
    pub(super) json: Option<&'static str>,
    parsed: OnceLock<Result<Program, Broken>>,
    /// The result of its examples.
    pub(super) checked: OnceLock<Result<(), Broken>>,
}

impl Entry {
    /// The compiled program.
    pub(super) fn program(&self) -> Result<&Program, Broken> {
        match self.parsed.get_or_init(|| self.parse()) {
            Ok(program) => Ok(program),
            Err(broken) => Err(broken.clone()),
        }
    }

    pub(super) fn broken(&self, message: String) -> Broken {
        let before = self.whole.get(..self.start).unwrap_or_default();
        Broken::new(self.file, before.lines().count().saturating_add(1), message)
    }

    /// The names of the program, from its first line.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.head("names = ").map(quoted).into_iter().flatten()
    }

    pub(super) fn text(&self) -> &'static str {
        self.whole.get(self.start..self.end).unwrap_or_default()
    }

    fn is_versioned(&self) -> bool {
        self.head("versioned = ") == Some("true")
    }

    fn like(&self) -> impl Iterator<Item = &'static str> {
        self.head("like = ").map(quoted).into_iter().flatten()
    }

    /// A value of the first three lines.
    fn head(&self, key: &str) -> Option<&'static str> {
        self.text().lines().skip(1).take(3).find_map(|line| line.strip_prefix(key))
    }

    /// A released program does not try examples, so it need not read them.
    fn parse(&self) -> Result<Program, Broken> {
        match self.json {
            Some(json) if !cfg!(debug_assertions) => self.parse_json(json),
            Some(_) | None => self.parse_toml(),
        }
    }

    pub(super) fn parse_json(&self, json: &str) -> Result<Program, Broken> {
        let program: schema::Program =
            serde_json::from_str(json).map_err(|error| self.broken(error.to_string()))?;
        Program::new(program).map_err(|message| self.broken(message))
    }

    fn parse_toml(&self) -> Result<Program, Broken> {
        let block: schema::Block =
            toml::from_str(self.text()).map_err(|error| self.broken(error.to_string()))?;
        let mut programs = block.program.into_iter();
        let (Some(program), None) = (programs.next(), programs.next()) else {
            return Err(self.broken("a block holds one program".to_owned()));
        };
        if !self.names().eq(program.names.iter().map(String::as_str))
            || !self.like().eq(program.like.iter().map(String::as_str))
            || !program.like.iter().all(|pattern| pattern.contains(['.', '-']))
            || program.versioned != self.is_versioned()
        {
            let message = "`names`, `versioned` and `like` are the first lines of a program";
            return Err(self.broken(message.to_owned()));
        }
        let name = self.names().next().unwrap_or_default();
        Program::new(program).map_err(|message| self.broken(format!("{name}: {message}")))
    }
}

/// A block that was asked for. There are many, of which a run asks for few.
pub(super) type Place = OnceLock<Box<Entry>>;

/// All blocks, by name.
#[derive(Debug)]
pub(super) struct Index {
    files: &'static [File],
    slots: &'static [Slot],
    places: &'static [Place],
}

impl Index {
    /// The blocks of these files, with a place for each.
    pub(super) const fn new(
        files: &'static [File],
        slots: &'static [Slot],
        places: &'static [Place],
    ) -> Self {
        Self { files, slots, places }
    }

    /// All blocks, in the order of the files.
    pub(super) fn entries(&self) -> impl Iterator<Item = &'static Entry> {
        let (files, places) = (self.files, self.places);
        (0..places.len()).filter_map(move |number| entry(files, places, number))
    }

    /// The block of a program: by its name, by its name without a version, by a pattern.
    pub(super) fn find(&self, name: &str) -> Option<&'static Entry> {
        self.by_name(name)
            .or_else(|| {
                stem(name).and_then(|stem| self.by_name(stem)).filter(|entry| entry.is_versioned())
            })
            .or_else(|| self.by_pattern(name))
    }

    fn by_name(&self, name: &str) -> Option<&'static Entry> {
        let hash = file::hash(name.as_bytes());
        let (before, from) = self.slots.split_at_checked(file::home(hash, self.slots.len()))?;
        from.iter()
            .chain(before)
            .take_while(|slot| !slot.is_free())
            .filter_map(|slot| entry(self.files, self.places, slot.block_of(hash)?))
            .find(|entry| entry.names().any(|known| known == name))
    }

    /// Every pattern has a dot or a dash, so plain names need not be compared.
    fn by_pattern(&self, name: &str) -> Option<&'static Entry> {
        let fits = |pattern: &str| glob::fits(pattern, name.as_bytes());
        if !name.contains(['.', '-']) {
            return None;
        }
        self.entries().find(|entry| entry.like().any(fits))
    }

    /// Names that are in two blocks.
    pub(super) fn twice(&self) -> Vec<Broken> {
        let mut seen = HashSet::new();
        let names = self.entries().flat_map(|entry| entry.names().map(move |name| (entry, name)));
        names
            .filter(|(_, name)| !seen.insert(*name))
            .map(|(entry, name)| entry.broken(format!("{name} is there twice")))
            .collect()
    }

    /// Blocks that do not begin as they must would be passed over in silence.
    pub(super) fn faults_of(files: &[File]) -> Vec<Broken> {
        let strays = files.iter().flat_map(|file| {
            let text = file.text;
            let lines = text.lines().enumerate().zip(text.lines().skip(1).chain([""]));
            lines.filter_map(move |((at, line), next)| {
                let stray = line.trim() == "[[program]]"
                    && (line != "[[program]]" || !next.starts_with("names = ["));
                let message = "a program begins with `[[program]]` and its names".to_owned();
                stray.then(|| Broken::new(file.name, at.saturating_add(1), message))
            })
        });
        strays.collect()
    }
}

/// The block of this number, counted over all files.
fn entry(
    files: &'static [File],
    places: &'static [Place],
    number: usize,
) -> Option<&'static Entry> {
    let place = places.get(number)?;
    if let Some(entry) = place.get() {
        return Some(entry);
    }
    let mut at = number;
    for file in files {
        let Some(&start) = file.starts.get(at) else {
            at = at.checked_sub(file.starts.len())?;
            continue;
        };
        let end = file.starts.get(at.checked_add(1)?).copied().unwrap_or(file.text.len());
        let json = shipped::JSON.iter().find(|(name, _)| *name == file.name);
        let entry = Entry {
            file: file.name,
            whole: file.text,
            start,
            end,
            json: json.and_then(|(_, blocks)| blocks.get(at).copied()),
            parsed: OnceLock::new(),
            checked: OnceLock::new(),
        };
        return Some(place.get_or_init(|| Box::new(entry)));
    }
    None
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
