//! Paths that are known by a pattern only: which they are shows when a box is made.

use std::path::{Component, Path, PathBuf};

use super::Origin;
use super::segment::Parsed;

/// One part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// `**`: any number of segments, none too.
    Deep,
    /// One segment.
    Name(Parsed),
}

/// What a box makes of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Keep {
    /// It cannot be opened.
    Hidden,
    /// It cannot be written, renamed or removed.
    Protected,
}

/// A pattern of paths below a folder, in small letters. It means what it names and all that is in
/// that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sought {
    keep: Keep,
    folder: PathBuf,
    parts: Vec<Part>,
    rule: String,
    origin: Origin,
}

/// How much of a pattern the way to a folder has met: one bit for each part that may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stand(u64);

/// Where a pattern stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Met {
    /// It means this path, or a folder that holds it.
    Wholly(PathBuf),
    /// It may mean something in it.
    Within(Stand),
    /// It means nothing there.
    Nothing,
}

impl Sought {
    /// The most parts of a pattern.
    const PARTS_MAX: usize = 63;

    /// A pattern below a folder; none if it has more parts than any path is likely to.
    pub(crate) fn new(keep: Keep, folder: PathBuf, parts: Vec<Part>, rule: String) -> Option<Self> {
        let origin = Origin::Trusted;
        (parts.len() <= Self::PARTS_MAX).then_some(Self { keep, folder, parts, rule, origin })
    }

    /// The same pattern, of a rule with this origin.
    #[must_use]
    pub(crate) fn with_origin(self, origin: Origin) -> Self {
        Self { origin, ..self }
    }

    /// Who wrote the rule.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The same pattern for what is in this folder and nowhere else: one for each way in which the
    /// names above the folder can be met. The pattern begins in `folder`, which is its own by another
    /// name or the same.
    pub(crate) fn beneath(self, folder: &Path, root: &Path) -> Vec<Self> {
        if folder.starts_with(root) {
            return vec![self];
        }
        let Met::Within(Stand(stand)) = self.at(folder, root) else { return Vec::new() };
        let is_next = |at: &usize| stand >> at & 1 == 1;
        let rest = |at: usize| {
            let parts = self.parts.get(at..).unwrap_or_default().to_vec();
            Self { folder: root.to_owned(), parts, ..self.clone() }
        };
        (0..self.parts.len()).filter(is_next).map(rest).collect()
    }

    /// What is to be made of what it means.
    pub fn keep(&self) -> Keep {
        self.keep
    }

    /// The folder below which it begins, by its name.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The rule that says so, as it is written.
    pub fn rule(&self) -> &str {
        &self.rule
    }

    /// Before the first name.
    pub(crate) fn start(&self) -> Stand {
        self.closed(1)
    }

    /// How it stands at a path that is in this folder, which is its own by another name or the same.
    pub(crate) fn at(&self, folder: &Path, path: &Path) -> Met {
        let Ok(below) = path.strip_prefix(folder) else { return Met::Nothing };
        let (mut stand, mut place) = (self.start(), folder.to_owned());
        for component in below.components() {
            if self.is_met(stand) {
                return Met::Wholly(place);
            }
            if let Component::Normal(name) = component {
                stand = self.step(stand, &name.to_string_lossy().to_lowercase());
                place.push(name);
            }
        }
        match (self.is_met(stand), stand.is_dead()) {
            (true, _) => Met::Wholly(place),
            (false, false) => Met::Within(stand),
            (false, true) => Met::Nothing,
        }
    }

    /// One name further down; the name is in small letters.
    pub(crate) fn step(&self, Stand(stand): Stand, name: &str) -> Stand {
        let mut next = 0_u64;
        for (at, part) in self.parts.iter().enumerate().filter(|(at, _)| stand >> at & 1 == 1) {
            next |= match part {
                Part::Deep => 1 << at,
                Part::Name(wanted) if wanted.fits(name) => 2 << at,
                Part::Name(_) => 0,
            };
        }
        self.closed(next)
    }

    /// One name further down, for a name that fits none of the parts that could come next.
    pub(crate) fn pass(&self, Stand(stand): Stand) -> Stand {
        let deep = self.parts.iter().enumerate().filter(|(_, part)| **part == Part::Deep);
        self.closed(deep.fold(0, |next, (at, _)| next | (stand & 1 << at)))
    }

    /// The names that could come next.
    pub(crate) fn awaited(&self, Stand(stand): Stand) -> impl Iterator<Item = &Parsed> {
        let parts = self.parts.iter().enumerate().filter(move |(at, _)| stand >> at & 1 == 1);
        parts.filter_map(|(_, part)| match part {
            Part::Deep => None,
            Part::Name(name) => Some(name),
        })
    }

    /// Whether all of it was met.
    pub(crate) fn is_met(&self, Stand(stand): Stand) -> bool {
        stand >> self.parts.len() & 1 == 1
    }

    /// Whether it can be met at any depth from here.
    pub(crate) fn is_deep(&self, Stand(stand): Stand) -> bool {
        self.parts.iter().enumerate().any(|(at, part)| *part == Part::Deep && stand >> at & 1 == 1)
    }

    /// With what `**` leads to without a name.
    fn closed(&self, mut stand: u64) -> Stand {
        for (at, part) in self.parts.iter().enumerate() {
            if *part == Part::Deep && stand >> at & 1 == 1 {
                stand |= 2 << at;
            }
        }
        Stand(stand)
    }
}

impl Stand {
    /// As a number, to be written down.
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    /// One that was written down.
    pub(crate) fn of_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Whether nothing further down can be meant.
    pub(crate) fn is_dead(self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::{Keep, Met, Part, Sought};
    use crate::confine::Segment;
    use std::path::{Path, PathBuf};

    fn sought(pattern: &str) -> Sought {
        let part = |name: &str| match name {
            "**" => Part::Deep,
            name => Part::Name(Segment::parse(name)),
        };
        let parts = pattern.split('/').map(part).collect();
        Sought::new(Keep::Hidden, PathBuf::from("/p"), parts, String::new()).unwrap()
    }

    #[test]
    fn a_pattern_is_met_on_the_way_down() {
        for (pattern, path, expected) in [
            ("**/.env", "/p/.env", "wholly /p/.env"),
            ("**/.env", "/p/a/b/.ENV", "wholly /p/a/b/.ENV"),
            ("**/.env", "/p/.env/x", "wholly /p/.env"),
            ("**/.env", "/p/a", "within"),
            ("infra/*.tf", "/p/infra/main.tf", "wholly /p/infra/main.tf"),
            ("infra/*.tf", "/p/infra", "within"),
            ("infra/*.tf", "/p/src", "nothing"),
            ("a/**/b", "/p/a/b", "wholly /p/a/b"),
            ("a/**/b", "/p/a/x/y/b", "wholly /p/a/x/y/b"),
            ("a/**/b", "/p/x/a/b", "nothing"),
            ("*.pem", "/q/x.pem", "nothing"),
        ] {
            let met = match sought(pattern).at(Path::new("/p"), Path::new(path)) {
                Met::Wholly(place) => format!("wholly {}", place.display()),
                Met::Within(_) => "within".to_owned(),
                Met::Nothing => "nothing".to_owned(),
            };
            assert_eq!(met, expected, "{pattern} {path}");
        }
    }
}
