//! The path rules of one list, by their anchors, and how a path is matched against them.

use std::borrow::Cow;
use std::path::{Component, Path};

use super::facts::{Facts, PathFacts, Place, Reach};
use super::path::{Anchor, RulePath};
use crate::confine::PACKAGE_FOLDERS;

/// Path rules, and rules about any path.
#[derive(Debug, Clone, Default)]
pub(super) struct Paths {
    anchored: Vec<(Anchor, Vec<(RulePath, usize)>)>,
    any: Option<usize>,
    trees: Trees,
}

/// When a folder that is taken with all that is in it meets a rule about something in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Trees {
    /// Always.
    #[default]
    All,
    /// Where the folder itself is below the rule's anchor: not for `/` or the home as a whole.
    Below,
    /// Never.
    None,
}

impl Paths {
    /// Without rules.
    pub(super) fn with(trees: Trees) -> Self {
        Self { trees, ..Self::default() }
    }

    /// Adds a pattern.
    pub(super) fn insert(&mut self, pattern: RulePath, rule: usize) {
        let place = self.anchored.iter_mut().find(|(known, _)| *known == pattern.anchor);
        match place {
            Some((_, rules)) => rules.push((pattern, rule)),
            None => self.anchored.push((pattern.anchor.clone(), vec![(pattern, rule)])),
        }
    }

    /// Adds a rule about any path, known or not.
    pub(super) fn insert_any(&mut self, rule: usize) {
        self.any = Some(self.any.map_or(rule, |first| first.min(rule)));
    }

    /// The first rule that refuses a path: by its name or by where it lands, and, if it is taken
    /// with all that is in it, by that.
    pub(super) fn refusing(&self, path: &PathFacts, facts: &Facts) -> Option<usize> {
        let same =
            |one: &str, other: &str| one.eq_ignore_ascii_case(other) || one.to_lowercase() == other;
        let matches = |pattern: &RulePath, place: &Below<'_>| match (place, path.reach) {
            (Below::Yes(rest), Reach::Itself) => pattern.matches(rest),
            (Below::Yes(rest), Reach::Tree) if self.trees == Trees::None => pattern.matches(rest),
            // What holds for the anchor as a whole holds for all of its patterns.
            (Below::Yes([]) | Below::Above, Reach::Tree) => self.trees == Trees::All,
            (Below::Yes(rest), Reach::Tree) => pattern.matches_within(rest),
            (Below::Above, Reach::Itself) | (Below::No, _) => false,
        };
        let named = Some(&path.named).filter(|_| path.known);
        let real = path.real.as_ref().filter(|real| path.known && **real != path.named);
        let found = named.into_iter().chain(real).filter_map(|text| {
            let parts = wide_names(text, &facts.cwd.named);
            let is_in_package = is_in_package(&parts, facts, same);
            self.find(&parts, facts, same, |pattern, place| {
                !(is_in_package && pattern.skips_packages) && matches(pattern, place)
            })
        });
        found.chain(self.any).min()
    }

    /// The first rule that allows a path; both its name and where it lands have to be allowed,
    /// with all that is in it if that is meant.
    pub(super) fn allowing(&self, path: &PathFacts, facts: &Facts) -> Option<usize> {
        let real = path.real.as_ref().filter(|_| path.known)?;
        let matches = |pattern: &RulePath, place: &Below<'_>| match (place, path.reach) {
            (Below::Yes(rest), Reach::Itself) => pattern.matches(rest),
            (Below::Yes(rest), Reach::Tree) => pattern.matches_tree(rest),
            (Below::Above | Below::No, _) => false,
        };
        let allowed = |text: &Path| {
            let found = self.find(&narrow_names(text)?, facts, |one, other| one == other, matches);
            found.into_iter().chain(self.any).min()
        };
        let by_name = allowed(&path.named)?;
        if *real != path.named {
            allowed(real)?;
        }
        Some(by_name)
    }

    fn find(
        &self,
        names: &[String],
        facts: &Facts,
        same: impl Fn(&str, &str) -> bool,
        matches: impl Fn(&RulePath, &Below<'_>) -> bool,
    ) -> Option<usize> {
        let of_anchor = |(anchor, rules): &(Anchor, Vec<(RulePath, usize)>)| {
            let folders = folders(anchor, facts);
            let places: Vec<Below<'_>> =
                folders.iter().map(|folder| below(folder, names, &same)).collect();
            let found = rules
                .iter()
                .filter(|(pattern, _)| places.iter().any(|place| matches(pattern, place)));
            found.map(|(_, rule)| *rule).min()
        };
        self.anchored.iter().filter_map(of_anchor).min()
    }
}

/// Whether a path lies in a folder of packages beneath the session's folder. That one may lie in such a
/// folder itself.
fn is_in_package(names: &[String], facts: &Facts, same: impl Fn(&str, &str) -> bool) -> bool {
    let is_package = |name: &String| PACKAGE_FOLDERS.contains(&name.as_str());
    [&facts.cwd.named, &facts.cwd.real].into_iter().any(|cwd| match below(cwd, names, &same) {
        Below::Yes([above @ .., _]) => above.iter().any(is_package),
        Below::Yes([]) | Below::Above | Below::No => false,
    })
}

/// Where a path is, seen from a folder.
enum Below<'n> {
    /// In it or it itself: the names behind it.
    Yes(&'n [String]),
    /// The folder is somewhere in the path's own tree.
    Above,
    /// Elsewhere.
    No,
}

fn below<'n>(folder: &Path, names: &'n [String], same: impl Fn(&str, &str) -> bool) -> Below<'n> {
    let mut rest = names;
    for component in folder.components() {
        let Component::Normal(name) = component else { continue };
        match rest.split_first() {
            None => return Below::Above,
            Some((first, behind)) if same(&name.to_string_lossy(), first) => rest = behind,
            Some(_) => return Below::No,
        }
    }
    Below::Yes(rest)
}

/// The folder of an anchor by name, and where it really is.
fn folders<'f>(anchor: &'f Anchor, facts: &'f Facts) -> Vec<Cow<'f, Path>> {
    let above = |place: &'f Place, up: usize| {
        let folder = |path: &'f Path| path.ancestors().nth(up).unwrap_or(Path::new("/"));
        let (named, real) = (folder(&place.named), folder(&place.real));
        let both = if named == real { vec![named] } else { vec![named, real] };
        both.into_iter().map(Cow::Borrowed).collect()
    };
    match anchor {
        Anchor::Root => vec![Cow::Borrowed(Path::new("/"))],
        Anchor::Cwd(up) => above(&facts.cwd, *up),
        Anchor::Home(up) => facts.home.as_ref().map(|home| above(home, *up)).unwrap_or_default(),
        Anchor::Source(folder) => {
            let mut folders = vec![Cow::Borrowed(folder.as_path())];
            for place in std::iter::once(&facts.cwd).chain(&facts.home) {
                if place.named != place.real
                    && let Ok(rest) = folder.strip_prefix(&place.named)
                {
                    folders.push(Cow::Owned(place.real.join(rest)));
                }
            }
            folders
        }
    }
}

/// The names of a path in small letters; `..` goes up, and a relative path starts at `cwd`.
fn wide_names(path: &Path, cwd: &Path) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let start = if path.is_absolute() { Path::new("/") } else { cwd };
    for component in start.components().chain(path.components()) {
        match component {
            Component::Normal(name) => names.push(name.to_string_lossy().to_lowercase()),
            Component::ParentDir => drop(names.pop()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    names
}

/// The names of a path that is absolute and goes nowhere up.
fn narrow_names(path: &Path) -> Option<Vec<String>> {
    let name = |component| match component {
        Component::Normal(name) => Some(Some(name.to_string_lossy().into_owned())),
        Component::RootDir | Component::CurDir => Some(None),
        Component::ParentDir | Component::Prefix(_) => None,
    };
    let names: Option<Vec<Option<String>>> = path.components().map(name).collect();
    names.filter(|_| path.is_absolute()).map(|names| names.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use crate::Decision;
    use crate::confine::Origin;
    use crate::rules::{Facts, PathFacts, Rule, Rules};

    /// Whether a rule about `.env` anywhere refuses to read a path in a project of this folder.
    fn refuses(origin: Origin, project: &str, path: &str, real: &str) -> bool {
        let rule = Rule::parse("Read(//**/.env)", Decision::Deny).unwrap().with_origin(origin);
        let mut facts = Facts::new("Read", project);
        facts.reads.push(PathFacts { real: Some(real.into()), ..PathFacts::new(path) });
        Rules::compile(vec![rule]).decide(&facts).is_some()
    }

    #[test]
    fn a_shipped_rule_skips_packages_beneath_the_project_alone() {
        for (project, path, real, expected) in [
            ("/p", "/p/node_modules/a/.env", "/p/node_modules/a/.env", false),
            ("/p", "node_modules/a/.env", "/p/node_modules/a/.env", false),
            ("/p", "/p/.env", "/p/.env", true),
            ("/p", "/p/node_modules/../.env", "/p/.env", true),
            // A link from there, and one to there.
            ("/p", "/p/node_modules/link", "/p/.env", true),
            ("/p", "/p/node_modules/up/.env", "/p/.env", true),
            ("/p", "/p/sub/.env", "/p/vendor/a/.env", true),
            // The project may lie in such a folder, and so may another project.
            ("/home/vendor/app", "/home/vendor/app/.env", "/home/vendor/app/.env", true),
            ("/home/app", "/home/vendor/app/.env", "/home/vendor/app/.env", true),
        ] {
            assert_eq!(refuses(Origin::Shipped, project, path, real), expected, "{path} {real}");
            assert!(refuses(Origin::Trusted, project, path, real), "{path} {real}");
        }
    }
}
