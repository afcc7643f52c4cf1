//! What rules that deny paths mean for a box: the path itself where they name one, and a pattern
//! where they mean more.

use std::path::{Component, Path, PathBuf};

use super::Rule;
use super::path::{Anchor, RulePath};
use super::text::Content;
use crate::Decision;
use crate::confine::{Keep, Origin, PathMatch, PathPattern};
use stockade_shell::pattern::PathPart;

/// What a rule denies, as a box can keep it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeniedPaths {
    /// Whether it is not to be read at all, or not to be written.
    pub effect: Effect,
    /// The path that it names.
    pub path: Option<PathBuf>,
    /// What it means besides or instead, which is looked for when a box is made.
    pub sought: Option<PathPattern>,
    /// Why a box cannot keep it.
    pub unkept: Option<Unkept>,
}

/// Why a box cannot keep a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unkept {
    /// It is about a tool, and so about every path.
    EveryPath,
    /// It means the project as a whole, which has to be there.
    Project,
    /// Nobody knows where the home folder is.
    NoHome,
    /// It has more parts than are looked for.
    TooLong,
}

impl Unkept {
    /// In words, behind the rule.
    pub fn name(self) -> &'static str {
        match self {
            Self::EveryPath => "it means every path",
            Self::Project => "it means the project as a whole",
            Self::NoHome => "there is no home folder",
            Self::TooLong => "it has too many parts",
        }
    }
}

/// What is denied of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Reading it.
    Read,
    /// Writing it.
    Write,
}

impl Effect {
    /// What a box does about it.
    pub fn keep(self) -> Keep {
        match self {
            Self::Read => Keep::Hidden,
            Self::Write => Keep::Protected,
        }
    }
}

impl Rule {
    /// What a rule of the deny list means for a box of this project; nothing if it is about
    /// something else than paths.
    pub fn denied_path(&self, root: &Path, home: Option<&Path>) -> Option<DeniedPaths> {
        if self.list != Decision::Deny {
            return None;
        }
        // What shipped rules keep from being written is among what the sandbox protects anyway.
        let is_write = matches!(self.meaning.content, Content::Write(..));
        if self.origin == Origin::Shipped && is_write {
            return None;
        }
        let (effect, pattern) = match &self.meaning.content {
            Content::Read(pattern, _) => (Effect::Read, Some(pattern)),
            Content::Write(pattern, _) => (Effect::Write, Some(pattern)),
            Content::Whole if self.text.starts_with("Read") => (Effect::Read, None),
            Content::Whole if self.text.starts_with("Edit") => (Effect::Write, None),
            Content::Whole
            | Content::Line(..)
            | Content::Host(_)
            | Content::Field(_)
            | Content::Finding(_)
            | Content::Nothing => return None,
        };
        let denied = pattern.ok_or(Unkept::EveryPath).and_then(|pattern| {
            let folder = match self.origin {
                // What is shown besides the project was chosen by the person, and may be large.
                Origin::Shipped if pattern.is_anywhere() => root,
                Origin::Shipped | Origin::Trusted | Origin::Project => {
                    folder_of(&pattern.anchor, root, home).ok_or(Unkept::NoHome)?
                }
            };
            self.denied_by(pattern, effect, folder, root)
        });
        let unkept = |why| DeniedPaths { effect, path: None, sought: None, unkept: Some(why) };
        Some(denied.unwrap_or_else(unkept))
    }

    fn denied_by(
        &self,
        pattern: &RulePath,
        effect: Effect,
        folder: &Path,
        root: &Path,
    ) -> Result<DeniedPaths, Unkept> {
        let (glob, rule) = (pattern.glob.clone(), self.text.clone());
        let sought = PathPattern::new(effect.keep(), folder.to_owned(), glob, rule);
        let mut sought = sought.ok_or(Unkept::TooLong)?.with_origin(self.origin).named(self.name());
        if self.origin == Origin::Shipped && pattern.is_anywhere() {
            sought = sought.outside_packages();
        }
        let denied = DeniedPaths { effect, path: None, sought: None, unkept: None };
        // What holds the project is not hidden; that it is not written can be kept.
        if let PathMatch::Whole(whole) = sought.at(folder, root) {
            return match effect {
                Effect::Read => Err(Unkept::Project),
                Effect::Write => Ok(DeniedPaths { path: Some(whole), ..denied }),
            };
        }
        let parts = pattern.glob.parts();
        let names = parts.strip_prefix(&[PathPart::Deep]).unwrap_or(parts);
        // A single name means every file of that name; the one in the folder can be named.
        let is_single = names.len() < parts.len();
        let path = self.written().filter(|_| names.iter().all(|part| part.literal().is_some()));
        let path = path.map(|names| folder.join(names));
        let is_one = path.is_some() && !is_single;
        Ok(DeniedPaths { path, sought: (!is_one).then_some(sought), ..denied })
    }

    /// The names that are written behind the anchor, if all of them are as they are meant.
    fn written(&self) -> Option<PathBuf> {
        let (_, rest) = self.text.split_once('(')?;
        let text = rest.rsplit_once(')')?.0.trim();
        let text = text.strip_prefix('~').unwrap_or(text);
        let text = text.strip_suffix("/**").unwrap_or(text);
        let mut names = PathBuf::new();
        for component in Path::new(text).components() {
            match component {
                Component::Normal(name) => names.push(name),
                // Those at the beginning are in the anchor's folder already.
                Component::ParentDir => drop(names.pop()),
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            }
        }
        (!text.contains(['*', '?', '[', '\\'])).then_some(names)
    }
}

/// The folder that a pattern begins in.
fn folder_of<'a>(anchor: &'a Anchor, root: &'a Path, home: Option<&'a Path>) -> Option<&'a Path> {
    let above = |folder: &'a Path, up: usize| folder.ancestors().nth(up).unwrap_or(Path::new("/"));
    Some(match anchor {
        Anchor::Root => Path::new("/"),
        Anchor::Home(up) => above(home?, *up),
        Anchor::Cwd(up) => above(root, *up),
        Anchor::Source(folder) => folder,
    })
}
