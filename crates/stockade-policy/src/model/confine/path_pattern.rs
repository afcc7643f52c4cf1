//! Paths that are only known by a pattern; a search finds them when a sandbox is created.

use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use stockade_shell::pattern::{Dialect, MatchState, PathGlob, Pattern};

use super::Origin;

/// How a sandbox treats a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Keep {
    /// It cannot be opened.
    Hidden,
    /// It cannot be written, renamed or removed.
    Protected,
}

/// Folders that package managers fill, in lowercase. What lies in them was published or comes from a
/// package: shipped rules that mean a name anywhere in the project skip it.
pub const PACKAGE_FOLDERS: [&str; 9] = [
    "node_modules",
    "bower_components",
    "jspm_packages",
    "vendor",
    "venv",
    ".venv",
    ".tox",
    ".nox",
    "site-packages",
];

/// A pattern of paths below a folder, in lowercase. It matches what it names and all that is in
/// that.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PathPattern {
    keep: Keep,
    folder: PathBuf,
    glob: PathGlob,
    rule: String,
    name: Option<String>,
    origin: Origin,
}

/// How a pattern relates to a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PathMatch {
    /// It matches this path, or a folder that holds it.
    Whole(PathBuf),
    /// It may match something in it.
    Within(MatchState),
    /// It matches nothing there.
    Nothing,
}

impl PathPattern {
    /// A pattern below a folder; none if it has more parts than any path is likely to.
    pub fn new(keep: Keep, folder: PathBuf, glob: PathGlob, rule: String) -> Option<Self> {
        let origin = Origin::Trusted;
        let fits = glob.parts().len() <= PathGlob::STEPS_MAX;
        fits.then_some(Self { keep, folder, glob, rule, name: None, origin })
    }

    /// Sets the origin of the rule.
    #[must_use]
    pub fn with_origin(self, origin: Origin) -> Self {
        Self { origin, ..self }
    }

    /// The same pattern, which means nothing in folders of packages.
    #[must_use]
    pub fn outside_packages(mut self) -> Self {
        static FOLDERS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
            PACKAGE_FOLDERS.iter().map(|name| Pattern::new(name, Dialect::Name)).collect()
        });
        self.glob = self.glob.outside(&FOLDERS);
        self
    }

    /// The same pattern, of a rule that `rules.drop` removes by this name.
    #[must_use]
    pub fn named(self, name: Option<&str>) -> Self {
        Self { name: name.map(str::to_owned), ..self }
    }

    /// The name of the rule, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The author of the rule.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The same pattern for what is in this folder and nowhere else: one for each way in which the
    /// names above the folder can be matched. The pattern begins in `folder`, which is its own by
    /// another name or the same.
    pub fn beneath(self, folder: &Path, root: &Path) -> Vec<Self> {
        if folder.starts_with(root) {
            return vec![self];
        }
        let PathMatch::Within(state) = self.at(folder, root) else { return Vec::new() };
        let rests = self.glob.rests(state);
        rests.map(|glob| Self { folder: root.to_owned(), glob, ..self.clone() }).collect()
    }

    /// How the sandbox treats the paths that match.
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

    /// The pattern itself, to be matched name by name. Names are in lowercase.
    pub fn glob(&self) -> &PathGlob {
        &self.glob
    }

    /// How it relates to a path that is in this folder, which is its own by another name or the same.
    pub fn at(&self, folder: &Path, path: &Path) -> PathMatch {
        let Ok(below) = path.strip_prefix(folder) else { return PathMatch::Nothing };
        let (mut state, mut place) = (self.glob.start(), folder.to_owned());
        for component in below.components() {
            if self.glob.is_met(state) {
                return PathMatch::Whole(place);
            }
            if let Component::Normal(name) = component {
                state = self.glob.step(state, &name.to_string_lossy().to_lowercase());
                place.push(name);
            }
        }
        match (self.glob.is_met(state), state.is_dead()) {
            (true, _) => PathMatch::Whole(place),
            (false, false) => PathMatch::Within(state),
            (false, true) => PathMatch::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Keep, PathMatch, PathPattern};
    use std::path::{Path, PathBuf};
    use stockade_shell::pattern::{PathGlob, PathPart};

    fn compiled(pattern: &str) -> PathPattern {
        let glob = PathGlob::new(pattern.split('/').map(PathPart::new).collect());
        PathPattern::new(Keep::Hidden, PathBuf::from("/p"), glob, String::new()).unwrap()
    }

    #[test]
    fn a_pattern_outside_packages_is_met_above_and_beside_them() {
        let pattern = compiled("**/.env").outside_packages();
        for (path, expected) in [
            ("/p/node_modules/a/.env", PathMatch::Nothing),
            ("/p/a/site-packages/.env", PathMatch::Nothing),
            ("/p/.env", PathMatch::Whole("/p/.env".into())),
            ("/p/node_modules2/.env", PathMatch::Whole("/p/node_modules2/.env".into())),
        ] {
            assert_eq!(pattern.at(Path::new("/p"), Path::new(path)), expected, "{path}");
        }
        assert_ne!(pattern, compiled("**/.env"), "a cache's key is made of what they hash");
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
            let met = match compiled(pattern).at(Path::new("/p"), Path::new(path)) {
                PathMatch::Whole(place) => format!("wholly {}", place.display()),
                PathMatch::Within(_) => "within".to_owned(),
                PathMatch::Nothing => "nothing".to_owned(),
            };
            assert_eq!(met, expected, "{pattern} {path}");
        }
    }
}
