//! What rules that deny paths mean for a box: the path itself, where they name one.

use std::path::{Component, Path, PathBuf};

use super::Rule;
use super::text::Content;
use crate::policy::Decision;

/// A path that a rule denies, as a box can keep it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    /// Whether it is not to be read at all, or not to be written.
    pub effect: Effect,
    /// The path, or why the box cannot keep the rule.
    pub path: Result<PathBuf, &'static str>,
    /// Whether the rule means more paths than this one.
    pub partly: bool,
}

/// What is denied of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Reading it.
    Read,
    /// Writing it.
    Write,
}

impl Rule {
    /// What a rule of the deny list means for a box of this project; nothing if it is about
    /// something else than paths.
    pub fn denied_path(&self, root: &Path, home: Option<&Path>) -> Option<Denied> {
        if self.list != Decision::Deny {
            return None;
        }
        let effect = match &self.meaning.content {
            Content::Read(..) => Effect::Read,
            Content::Write(..) => Effect::Write,
            Content::Whole if self.text.starts_with("Read") => Effect::Read,
            Content::Whole if self.text.starts_with("Edit") => Effect::Write,
            Content::Whole
            | Content::Line(..)
            | Content::Host(_)
            | Content::Field(_)
            | Content::Nothing => return None,
        };
        let pattern = self.text.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')'));
        let Some((pattern, _)) = pattern.filter(|_| self.meaning.content != Content::Whole) else {
            return Some(Denied { effect, path: Err("it means every path"), partly: false });
        };
        let (path, partly) = self.literal(pattern.trim(), root, home);
        let holds_the_project = |path: &PathBuf| root.starts_with(path);
        let path = match path {
            Ok(path) if holds_the_project(&path) => Err("it means the project as a whole"),
            other => other,
        };
        Some(Denied { effect, path, partly })
    }

    fn literal(
        &self,
        pattern: &str,
        root: &Path,
        home: Option<&Path>,
    ) -> (Result<PathBuf, &'static str>, bool) {
        let whole = pattern.strip_suffix("/**").unwrap_or(pattern).trim_end_matches('/');
        if whole.contains(['*', '?', '[', '\\']) {
            return (Err("a box has no wildcards"), false);
        }
        let below =
            |folder: &Path, rest: &str| Ok(plain(&folder.join(rest.trim_start_matches('/'))));
        if whole.starts_with("//") {
            return (below(Path::new("/"), whole), false);
        }
        if let Some(rest) = whole.strip_prefix("~/") {
            let home = home.ok_or("there is no home folder");
            return (home.and_then(|home| below(home, rest)), false);
        }
        if whole == "~" {
            return (home.map(Path::to_owned).ok_or("there is no home folder"), false);
        }
        if whole.starts_with('/') {
            return (below(self.base.as_deref().unwrap_or(root), whole), false);
        }
        // A single name means every file of that name, wherever it is.
        let is_single = !whole.trim_start_matches("./").contains('/');
        (below(root, whole), is_single)
    }
}

/// The path without `.`, and with `..` taken by its text.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => drop(plain.pop()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    plain
}
