//! Toolchains and caches that live in a person's home folder, which a box does not show: what of them
//! it shows after all, to be read. Nothing in these places is a credential; what lies beside them and
//! is one (`credentials.toml`, `.npmrc`) is in no list here.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A family of tools with its programs and caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Toolchain {
    /// cargo and rustup.
    Rust,
    /// npm; node by nvm, fnm or volta.
    Node,
    /// python by pyenv or uv.
    Python,
}

/// One file or folder of a toolchain.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ToolchainPath {
    /// Where it is.
    pub path: PathBuf,
    /// Where tools look for it or its parts: beneath the home folder, and beneath [`Self::path`].
    pub links: Vec<(PathBuf, PathBuf)>,
}

/// A variable that moves a folder, the folder in the home where it is not set, and what is shown of
/// it. Of a part with parts of its own only these are linked, so that tools can make others beside.
struct Place {
    variable: &'static str,
    usual: &'static str,
    parts: &'static [(&'static str, &'static [&'static str])],
}

const WHOLE: &[&str] = &[""];

const RUST: &[Place] = &[
    Place {
        variable: "CARGO_HOME",
        usual: ".cargo",
        parts: &[
            ("bin", WHOLE),
            ("registry", &["index", "cache", "src"]),
            ("git", &["db", "checkouts"]),
        ],
    },
    Place {
        variable: "RUSTUP_HOME",
        usual: ".rustup",
        parts: &[("toolchains", WHOLE), ("settings.toml", WHOLE), ("update-hashes", WHOLE)],
    },
];
const NODE: &[Place] = &[
    Place { variable: "NPM_CONFIG_CACHE", usual: ".npm", parts: &[("_cacache", WHOLE)] },
    Place {
        variable: "NVM_DIR",
        usual: ".nvm",
        parts: &[("versions", WHOLE), ("alias", WHOLE), ("nvm.sh", WHOLE)],
    },
    Place { variable: "FNM_DIR", usual: ".local/share/fnm", parts: &[("node-versions", WHOLE)] },
    Place { variable: "VOLTA_HOME", usual: ".volta", parts: &[("bin", WHOLE), ("tools", WHOLE)] },
];
const PYTHON: &[Place] = &[
    Place { variable: "PYENV_ROOT", usual: ".pyenv", parts: &[("", WHOLE)] },
    Place {
        variable: "UV_PYTHON_INSTALL_DIR",
        usual: ".local/share/uv/python",
        parts: &[("", WHOLE)],
    },
];
/// Where programs are, as far as no search path says more.
const PROGRAMS: [&str; 3] = [".cargo/bin", ".volta/bin", ".pyenv/shims"];

const NAMES: [(Toolchain, &str); 3] =
    [(Toolchain::Rust, "rust"), (Toolchain::Node, "node"), (Toolchain::Python, "python")];

impl Toolchain {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Rust, Self::Node, Self::Python];

    /// The name in policy files.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(known, _)| *known == self).map_or("", |(_, name)| name)
    }

    /// Where it would be, with this home folder and these variables.
    pub fn places(
        self,
        home: &Path,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Vec<ToolchainPath> {
        let places = match self {
            Self::Rust => RUST,
            Self::Node => NODE,
            Self::Python => PYTHON,
        };
        let mut all = Vec::new();
        for place in places {
            let moved = variable(place.variable).map(PathBuf::from);
            let base = moved.filter(|path| path.is_absolute());
            let base = base.unwrap_or_else(|| home.join(place.usual));
            for (part, inner) in place.parts {
                let path = joined(&base, part);
                let in_home = joined(Path::new(place.usual), part);
                let link = |inner: &&str| (joined(&in_home, inner), joined(&path, inner));
                let links = inner.iter().map(link).collect();
                all.push(ToolchainPath { path, links });
            }
        }
        all
    }
}

/// Joins without a slash at the end.
fn joined(folder: &Path, part: &str) -> PathBuf {
    if part.is_empty() { folder.to_owned() } else { folder.join(part) }
}

/// The folders of programs among what is shown: those of the search path, then the usual ones.
pub fn program_folders(shown: &[ToolchainPath], search_path: &[PathBuf]) -> Vec<PathBuf> {
    let is_shown = |folder: &&PathBuf| shown.iter().any(|one| folder.starts_with(&one.path));
    let mut folders: Vec<PathBuf> = Vec::new();
    let usual = PROGRAMS.iter().flat_map(|usual| {
        let links = shown.iter().flat_map(|one| &one.links);
        links.filter_map(move |(in_home, to)| {
            let rest = Path::new(usual).strip_prefix(in_home).ok()?;
            Some(to.components().chain(rest.components()).collect())
        })
    });
    for folder in search_path.iter().filter(is_shown).cloned().chain(usual) {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Toolchain {
    type Err = UnknownToolchain;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = NAMES.iter().find(|(_, name)| *name == text).map(|(one, _)| *one);
        named.ok_or_else(|| UnknownToolchain(text.to_owned()))
    }
}

/// A text that names no toolchain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown toolchain {0:?}; expected rust, node or python; box.read shows other folders")]
pub struct UnknownToolchain(String);

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(toolchain: Toolchain, moved: &[(&str, &str)]) -> Vec<PathBuf> {
        let variable = |name: &str| {
            moved.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        let places = toolchain.places(Path::new("/home/a"), variable);
        places.into_iter().map(|one| one.path).collect()
    }

    #[test]
    fn a_variable_moves_a_folder_and_not_where_tools_look_in_the_box() {
        let usual = paths(Toolchain::Rust, &[]);
        assert!(usual.contains(&PathBuf::from("/home/a/.cargo/registry")), "{usual:?}");
        let moved = paths(Toolchain::Rust, &[("CARGO_HOME", "/c"), ("RUSTUP_HOME", "relative")]);
        assert!(moved.contains(&PathBuf::from("/c/registry")), "{moved:?}");
        assert!(moved.contains(&PathBuf::from("/home/a/.rustup/toolchains")), "{moved:?}");
        let places = Toolchain::Rust.places(Path::new("/home/a"), |_| Some("/c".into()));
        let (in_home, to) = places.first().and_then(|one| one.links.first()).unwrap();
        assert_eq!(
            (in_home.as_path(), to.as_path()),
            (Path::new(".cargo/bin"), Path::new("/c/bin"))
        );
    }

    #[test]
    fn no_place_holds_a_credential() {
        let secrets = [
            ".cargo/credentials.toml",
            ".cargo/credentials",
            ".cargo/config.toml",
            ".npmrc",
            ".npm/_logs",
            ".config/pip/pip.conf",
            ".pypirc",
            ".local/share/uv/credentials",
            ".ssh/id",
        ];
        for toolchain in Toolchain::ALL {
            for place in paths(toolchain, &[]) {
                for secret in secrets {
                    assert!(!Path::new("/home/a").join(secret).starts_with(&place), "{place:?}");
                }
            }
        }
    }

    #[test]
    fn programs_are_found_in_the_order_of_the_search_path_then_in_the_usual_places() {
        let shown = Toolchain::Python.places(Path::new("/home/a"), |_| None);
        let search = ["/usr/bin", "/home/a/.pyenv/versions/3/bin", "/home/a/.pyenv/shims"];
        let folders = program_folders(&shown, &search.map(PathBuf::from));
        let expected = ["/home/a/.pyenv/versions/3/bin", "/home/a/.pyenv/shims"];
        assert_eq!(folders, expected.map(PathBuf::from));
        assert_eq!(program_folders(&shown, &[]), [PathBuf::from("/home/a/.pyenv/shims")]);
    }
}
