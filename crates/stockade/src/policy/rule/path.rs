//! A path of a rule: one of four anchors, and a pattern in gitignore's form below it.

use std::path::{Path, PathBuf};

use super::error::RuleError;
use super::trie::{End, Trie};
use crate::confine::{Parsed, Part, Segment};

/// What a pattern of paths is relative to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Anchor {
    /// `//x`: the file system's root.
    Root,
    /// `~/x`: the home folder, or so many folders above it.
    Home(usize),
    /// `x`, `./x`, `../x`: the session's folder, or so many above it.
    Cwd(usize),
    /// `/x`: the folder that the rule's file speaks of.
    Source(PathBuf),
}

/// A pattern of paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathPattern {
    pub(super) anchor: Anchor,
    pub(super) parts: Vec<Part>,
    /// Whether it means what is exactly there.
    pub(super) itself: bool,
    /// Whether it means what lies beneath.
    pub(super) beneath: bool,
}

/// How a pattern is read: as widely as its words can mean, or as narrowly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    /// For a rule that refuses or asks; upper and lower case are the same, because they are on
    /// some file systems.
    Wide,
    /// For a rule that allows reads.
    Narrow,
    /// For a rule that allows writes, where `x/**` is what is in `x` and not `x`.
    Narrowest,
}

impl PathPattern {
    /// Reads the text between the parentheses. `base` is the folder that the rule's file speaks
    /// of; without one, it is the session's.
    pub(super) fn parse(text: &str, base: Option<&Path>, width: Width) -> Result<Self, RuleError> {
        if text.starts_with('!') {
            return Err(RuleError::new(0, "a path rule cannot be turned round with `!`")
                .suggest("put the paths into the other list"));
        }
        if let Some(rest) = text.strip_prefix("$HOME").or_else(|| text.strip_prefix("${HOME}")) {
            return Err(RuleError::new(0, "a variable has no value in a rule")
                .suggest(format!("write ~{rest}")));
        }
        let wide = width == Width::Wide;
        let (form, rest) = Form::of(text);
        let offset = text.len().saturating_sub(rest.len());
        let lower = if wide { rest.to_lowercase() } else { rest.to_owned() };
        let (mut parts, up) = parts(&lower, offset)?;
        let (anchor, up_left) = form.anchor(base, up);
        if up_left {
            return Err(RuleError::new(offset, "there is nothing above the root")
                .suggest("leave the `..` out"));
        }
        let named = |part: &Part| matches!(part, Part::Name(_));
        let slashes = lower.trim_start_matches("./").trim_end_matches('/').contains('/');
        let is_folder = lower.ends_with('/');
        let only_inside = parts.last() == Some(&Part::Deep);
        let single = match parts.as_slice() {
            [only] => named(only) && !slashes && (wide || (!is_folder && form == Form::Bare)),
            [only, Part::Deep] => named(only) && wide,
            _ => false,
        };
        if single && up == 0 && matches!(form, Form::Bare | Form::Dotted) {
            parts.insert(0, Part::Deep);
        }
        while parts.last() == Some(&Part::Deep) {
            parts.pop();
        }
        let wild_end = matches!(parts.last(), Some(Part::Name(Parsed::Wild(_))));
        Ok(Self {
            anchor,
            parts,
            itself: !only_inside || width != Width::Narrowest,
            beneath: wide || only_inside || is_folder || !wild_end,
        })
    }
}

impl PathPattern {
    /// Whether this, read widely, means all that the other means. Some are not seen to be.
    pub(super) fn covers(&self, other: &Self) -> bool {
        if self.anchor != other.anchor {
            return false;
        }
        let lower = |part: &Part| match part {
            Part::Name(Parsed::Plain(name)) => Part::Name(Parsed::Plain(name.to_lowercase())),
            Part::Name(Parsed::Wild(_)) | Part::Deep => part.clone(),
        };
        let parts: Vec<Part> = other.parts.iter().map(lower).collect();
        if self.parts == parts {
            return (self.beneath || !other.beneath) && (self.itself || !other.itself);
        }
        // What is beneath a plain beginning is all that the other can mean.
        let plain = |part: &Part| match part {
            Part::Name(Parsed::Plain(name)) => Some(name.clone()),
            Part::Name(Parsed::Wild(_)) | Part::Deep => None,
        };
        let names: Vec<String> = parts.iter().map_while(plain).collect();
        let whole = other.beneath || names.len() < parts.len();
        let mut trie = Trie::default();
        let (itself, beneath) = (self.itself, self.beneath);
        trie.insert(self.parts.clone(), End { rule: 0, itself, beneath });
        if whole { trie.find_whole(&names).is_some() } else { trie.find(&names).is_some() }
    }
}

/// How the text begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Root,
    Home,
    Source,
    Dotted,
    Bare,
}

impl Form {
    fn of(text: &str) -> (Self, &str) {
        if let Some(rest) = text.strip_prefix("//") {
            (Self::Root, rest)
        } else if let Some(rest) = text.strip_prefix("~/") {
            (Self::Home, rest)
        } else if text == "~" {
            (Self::Home, "")
        } else if let Some(rest) = text.strip_prefix('/') {
            (Self::Source, rest)
        } else if text.starts_with("./") {
            (Self::Dotted, text)
        } else {
            (Self::Bare, text)
        }
    }

    /// The anchor so many folders up, and whether that is above the root.
    fn anchor(self, base: Option<&Path>, up: usize) -> (Anchor, bool) {
        match (self, base) {
            (Self::Root, _) => (Anchor::Root, up > 0),
            (Self::Home, _) => (Anchor::Home(up), false),
            (Self::Source, Some(base)) => match base.ancestors().nth(up) {
                Some(folder) => (Anchor::Source(folder.to_owned()), false),
                None => (Anchor::Root, true),
            },
            (Self::Source, None) | (Self::Dotted | Self::Bare, _) => (Anchor::Cwd(up), false),
        }
    }
}

/// The parts of a pattern, and how many folders above its anchor it begins.
fn parts(text: &str, offset: usize) -> Result<(Vec<Part>, usize), RuleError> {
    let (mut parts, mut up, mut at) = (Vec::new(), 0_usize, offset);
    for name in text.split('/') {
        match (name, parts.last()) {
            ("" | ".", _) => {}
            ("..", None) => up = up.saturating_add(1),
            ("..", Some(Part::Name(Parsed::Plain(_)))) => {
                parts.pop();
            }
            ("..", Some(Part::Deep | Part::Name(Parsed::Wild(_)))) => {
                return Err(RuleError::new(at, "`..` behind a wildcard can mean any folder")
                    .suggest("write the folder that is meant"));
            }
            ("**", Some(Part::Deep)) => {}
            ("**", _) => parts.push(Part::Deep),
            _ => parts.push(Part::Name(Segment::parse(name))),
        }
        at = at.saturating_add(name.len()).saturating_add(1);
    }
    Ok((parts, up))
}
