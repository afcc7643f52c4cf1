//! The options of a program, compiled from the data.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::schema::{Abbreviations, Options, Order, Plus, UnknownOption, Values};

/// What follows an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    /// So many words, the first of which may be glued.
    Words(usize),
    /// A value in the same word, or none.
    Glued,
    /// Digits in the same word; the cluster goes on after them.
    Digits,
    /// A command, up to `;` or the end.
    Command,
    /// A command, up to `;`, to `{} +` or the end.
    CommandOrPlus,
}

/// The name of an option as the rules spell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Name {
    Short(u8),
    Long(String),
    Single(String),
    /// A word that begins with `+`.
    Plus,
}

/// The compiled options of one scope.
#[derive(Debug, Default)]
pub(super) struct Grammar {
    short: BTreeMap<u8, Takes>,
    long: BTreeMap<String, Takes>,
    single: BTreeMap<String, Takes>,
    last: Vec<Name>,
    pub(super) order: Order,
    pub(super) values: Values,
    pub(super) plus: Plus,
    pub(super) unknown: Option<UnknownOption>,
    pub(super) dash_ends: bool,
    /// Whether options still follow `--`.
    pub(super) dashes_end_nothing: bool,
    abbreviations: Abbreviations,
}

/// What a spelling of an option means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OptionMeaning {
    pub(super) takes: Takes,
    /// The spelling is the whole name.
    pub(super) whole: bool,
}

impl Grammar {
    /// Compiles the options of one scope, joined with those of `more`.
    pub(super) fn new(options: &Options, more: Option<&Options>) -> Result<Self, String> {
        let mut grammar = Self {
            order: options.order,
            values: options.values,
            plus: options.plus,
            unknown: options.unknown,
            dash_ends: options.dash_ends,
            dashes_end_nothing: options.dashes_end_nothing,
            abbreviations: options.abbreviations,
            ..Self::default()
        };
        for options in more.into_iter().chain([options]) {
            grammar.add_short(&options.short)?;
            for (list, into) in
                [(&options.long, &mut grammar.long), (&options.single, &mut grammar.single)]
            {
                for notation in list.split_whitespace() {
                    let (name, takes) = notated(notation)?;
                    into.insert(name.to_owned(), takes);
                }
            }
        }
        grammar.last =
            options.last.iter().map(|flag| grammar.name(flag)).collect::<Result<_, _>>()?;
        Ok(grammar)
    }

    fn add_short(&mut self, notation: &str) -> Result<(), String> {
        let mut last = None;
        for &byte in notation.as_bytes() {
            let before = last.and_then(|letter| self.short.get(&letter).copied());
            let takes = match (byte, before) {
                (b':', Some(Takes::Nothing)) => Takes::Words(1),
                (b':', Some(Takes::Words(1))) => Takes::Glued,
                (b'#', Some(Takes::Nothing)) => Takes::Digits,
                (b'!', Some(Takes::Nothing)) => Takes::Command,
                (b':' | b'#' | b'!', _) => return Err(format!("short options `{notation}`")),
                (letter, _) => {
                    last = Some(letter);
                    Takes::Nothing
                }
            };
            if let Some(letter) = last {
                self.short.insert(letter, takes);
            }
        }
        Ok(())
    }

    /// The name behind a spelling in a rule; it must be declared, or its value would be misread.
    pub(super) fn name(&self, flag: &str) -> Result<Name, String> {
        let undeclared = || format!("option `{flag}` is not declared");
        if flag == "+" {
            return if self.plus == Plus::Command { Ok(Name::Plus) } else { Err(undeclared()) };
        }
        if let Some(long) = flag.strip_prefix("--") {
            let declared = self.long.contains_key(long);
            return declared.then(|| Name::Long(long.to_owned())).ok_or_else(undeclared);
        }
        let name = flag.strip_prefix('-').ok_or_else(undeclared)?;
        match name.as_bytes() {
            _ if self.single.contains_key(name) => Ok(Name::Single(name.to_owned())),
            &[letter] if self.short.contains_key(&letter) => Ok(Name::Short(letter)),
            _ => Err(undeclared()),
        }
    }

    pub(super) fn ends_options(&self, is: impl Fn(&Name) -> bool) -> bool {
        self.last.iter().any(is)
    }

    pub(super) fn abbreviates(&self) -> bool {
        self.abbreviations == Abbreviations::Accepted
    }

    /// Whether letters after one dash are options each.
    pub(super) fn clusters(&self) -> bool {
        self.single.is_empty() || !self.short.is_empty()
    }

    pub(super) fn short(&self, letter: u8) -> Option<Takes> {
        self.short.get(&letter).copied()
    }

    pub(super) fn long(&self, name: &[u8]) -> Option<OptionMeaning> {
        self.named(&self.long, name)
    }

    pub(super) fn single(&self, name: &[u8]) -> Option<OptionMeaning> {
        self.named(&self.single, name)
    }

    /// An option by name or by the beginning of it. Where the beginning fits several, the program
    /// would refuse it; the one that takes most decides here.
    fn named(&self, table: &BTreeMap<String, Takes>, name: &[u8]) -> Option<OptionMeaning> {
        let name = str::from_utf8(name).ok()?;
        if let Some(&takes) = table.get(name) {
            return Some(OptionMeaning { takes, whole: true });
        }
        if name.is_empty() || !self.abbreviates() {
            return None;
        }
        table
            .range::<str, _>((Bound::Included(name), Bound::Unbounded))
            .take_while(|(full, _)| full.starts_with(name))
            .map(|(_, &takes)| takes)
            .max_by_key(|takes| match takes {
                Takes::Nothing | Takes::Glued | Takes::Digits => 0,
                Takes::Words(count) => *count,
                Takes::Command | Takes::CommandOrPlus => usize::MAX,
            })
            .map(|takes| OptionMeaning { takes, whole: false })
    }
}

fn notated(notation: &str) -> Result<(&str, Takes), String> {
    let (name, takes) = if let Some(name) = notation.strip_suffix("!+") {
        (name, Takes::CommandOrPlus)
    } else if let Some(name) = notation.strip_suffix('!') {
        (name, Takes::Command)
    } else if let Some(name) = notation.strip_suffix('?') {
        (name, Takes::Glued)
    } else {
        let name = notation.trim_end_matches('=');
        match notation.len().saturating_sub(name.len()) {
            0 => (name, Takes::Nothing),
            count => (name, Takes::Words(count)),
        }
    };
    match name {
        "" => Err(format!("option `{notation}` has no name")),
        name if name.starts_with('-') => Err(format!("option `{notation}` begins with a dash")),
        name => Ok((name, takes)),
    }
}
