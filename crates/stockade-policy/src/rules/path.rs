//! A path of a rule: one of four anchors, and a pattern in gitignore's form below it.

use std::path::{Path, PathBuf};

use stockade_shell::pattern::{PathGlob, PathPart};

use super::error::RuleError;

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
pub(super) struct RulePath {
    pub(super) anchor: Anchor,
    pub(super) glob: PathGlob,
    /// Whether it means what is exactly there.
    pub(super) itself: bool,
    /// Whether it means what lies beneath.
    pub(super) beneath: bool,
    /// Whether it means nothing in folders of packages.
    pub(super) skips_packages: bool,
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

impl RulePath {
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
        let (form, rest) = PathPrefix::of(text);
        let offset = text.len().saturating_sub(rest.len());
        let lower = if wide { rest.to_lowercase() } else { rest.to_owned() };
        let (mut parts, up) = parts(&lower, offset)?;
        let (anchor, up_left) = form.anchor(base, up);
        if up_left {
            return Err(RuleError::new(offset, "there is nothing above the root")
                .suggest("leave the `..` out"));
        }
        let named = |part: &PathPart| matches!(part, PathPart::Name(_));
        let slashes = lower.trim_start_matches("./").trim_end_matches('/').contains('/');
        let is_folder = lower.ends_with('/');
        let only_inside = parts.last() == Some(&PathPart::Deep);
        let single = match parts.as_slice() {
            [only] => named(only) && !slashes && (wide || (!is_folder && form == PathPrefix::Bare)),
            [only, PathPart::Deep] => named(only) && wide,
            _ => false,
        };
        if single && up == 0 && matches!(form, PathPrefix::Bare | PathPrefix::Dotted) {
            parts.insert(0, PathPart::Deep);
        }
        while parts.last() == Some(&PathPart::Deep) {
            parts.pop();
        }
        let wild_end = parts.last().is_some_and(|part| part.literal().is_none());
        Ok(Self {
            anchor,
            glob: PathGlob::new(parts),
            itself: !only_inside || width != Width::Narrowest,
            beneath: wide || only_inside || is_folder || !wild_end,
            skips_packages: false,
        })
    }
}

impl RulePath {
    /// Whether it means a name in any folder of the machine.
    pub(super) fn is_anywhere(&self) -> bool {
        self.anchor == Anchor::Root && self.glob.parts().first() == Some(&PathPart::Deep)
    }

    /// The pattern of a shipped rule: a name that it means anywhere is not meant in folders of packages.
    pub(super) fn shipped(&self) -> Self {
        Self { skips_packages: self.is_anywhere(), ..self.clone() }
    }

    /// Whether this, read widely, means all that the other means. Some are not seen to be.
    pub(super) fn covers(&self, other: &Self) -> bool {
        if self.anchor != other.anchor {
            return false;
        }
        let lower = |part: &PathPart| match part.literal() {
            Some(name) => PathPart::literally(&name.to_lowercase()),
            None => part.clone(),
        };
        let parts: Vec<PathPart> = other.glob.parts().iter().map(lower).collect();
        if self.glob.parts() == parts {
            return (self.beneath || !other.beneath) && (self.itself || !other.itself);
        }
        // What is beneath a literal beginning is all that the other can match.
        let names: Vec<&str> = parts.iter().map_while(PathPart::literal).collect();
        let whole = other.beneath || names.len() < parts.len();
        if whole { self.matches_tree(&names) } else { self.matches(&names) }
    }

    /// Whether it matches a path, by the path's names below the anchor.
    pub(super) fn matches<S: AsRef<str>>(&self, names: &[S]) -> bool {
        (self.itself && self.glob.matches(names))
            || (self.beneath && self.glob.matches_above(names))
    }

    /// Whether it matches a path and all that is beneath it.
    pub(super) fn matches_tree<S: AsRef<str>>(&self, names: &[S]) -> bool {
        self.beneath
            && ((self.itself && self.glob.matches(names)) || self.glob.matches_above(names))
    }

    /// Whether it matches a path or something beneath it. A pattern that may match at any depth is
    /// not expected there: nobody has said that there is such a thing.
    pub(super) fn matches_within<S: AsRef<str>>(&self, names: &[S]) -> bool {
        self.matches(names) || self.glob.leads_beneath(names)
    }
}

/// How the text begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathPrefix {
    Root,
    Home,
    Source,
    Dotted,
    Bare,
}

impl PathPrefix {
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
fn parts(text: &str, offset: usize) -> Result<(Vec<PathPart>, usize), RuleError> {
    let (mut parts, mut up, mut at) = (Vec::new(), 0_usize, offset);
    for name in text.split('/') {
        match (name, parts.last()) {
            ("" | ".", _) => {}
            ("..", None) => up = up.saturating_add(1),
            ("..", Some(name)) if name.literal().is_some() => {
                parts.pop();
            }
            ("..", Some(_)) => {
                return Err(RuleError::new(at, "`..` behind a wildcard can mean any folder")
                    .suggest("write the folder that is meant"));
            }
            ("**", Some(PathPart::Deep)) => {}
            _ => parts.push(PathPart::new(name)),
        }
        at = at.saturating_add(name.len()).saturating_add(1);
    }
    Ok((parts, up))
}
