//! The settings of coding agents and of Stockade where people and machines keep them: what is written
//! there decides about later calls, so that no call may write it.

use std::path::{Path, PathBuf};

use crate::config::folders::real_folder;
use crate::confine::real;
use crate::{Policy, TrustStore};

/// Beneath the home folder.
const IN_HOME: [&str; 6] =
    [".claude", ".claude.json", ".codex", ".cursor", ".gemini", ".config/stockade"];
/// Those of the machine.
const OF_MACHINE: [&str; 3] = ["/etc/stockade", "/etc/claude-code", "/etc/codex"];
/// Variables that name such a folder.
const NAMED: [&str; 2] = ["CLAUDE_CONFIG_DIR", "CODEX_HOME"];

impl Policy {
    /// The same policy with these paths protected, as far as calls in this project could write them,
    /// there or not.
    #[must_use]
    pub fn with_settings_protected(mut self, root: &Path) -> Self {
        let written: Vec<PathBuf> = self
            .files
            .write
            .iter()
            .map(|folder| root.join(folder))
            .map(|path| real(&path))
            .collect();
        for path in settings() {
            let is_written = written.iter().any(|folder| path.starts_with(folder));
            let is_in = |known: &PathBuf| path.starts_with(root.join(known));
            if is_written && !self.files.protected_by_trusted().any(is_in) {
                self.files.protect_for_trusted(path);
            }
        }
        self
    }
}

/// Where they are, and the store of what is trusted.
pub fn settings() -> impl Iterator<Item = PathBuf> {
    let home = std::env::home_dir().map(|home| real(&home)).into_iter();
    let in_home = home.flat_map(|home| IN_HOME.map(|name| home.join(name)));
    let named = NAMED.iter().filter_map(std::env::var_os).map(PathBuf::from);
    let named = named.filter(|path| path.is_absolute());
    let trust = TrustStore::default_path();
    let spelled_by_others = named.chain(trust).map(|path| real(&path));
    let known = in_home.chain(OF_MACHINE.map(PathBuf::from));
    let known = known.map(|path| real_folder(&path).unwrap_or(path));
    known.chain(spelled_by_others)
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{real, real_folder};
    use crate::Policy;

    /// One with `..` could seem to be beneath a folder that it is not in, and the other way round.
    #[test]
    fn a_path_that_is_not_there_is_in_its_real_folder() {
        let folder = tempfile::tempdir().unwrap();
        let base = real_folder(folder.path()).unwrap();
        std::fs::create_dir_all(base.join("project/state")).unwrap();
        std::os::unix::fs::symlink("project/state", base.join("link")).unwrap();
        for (path, expected) in [
            ("project/../home/.claude", "home/.claude"),
            ("elsewhere/../project/state/stockade/trust.json", "project/state/stockade/trust.json"),
            ("link/stockade/trust.json", "project/state/stockade/trust.json"),
            ("link/../stockade/no/../trust.json", "project/stockade/trust.json"),
            ("no/..", ""),
        ] {
            // `components` leaves a trailing slash out.
            assert_eq!(
                real(&base.join(path)),
                base.join(expected).components().collect::<PathBuf>(),
                "{path}"
            );
        }
        assert_eq!(real(Path::new("/../no")), Path::new("/no"));
    }

    #[test]
    fn only_what_calls_could_write_is_added() {
        let protected = |root: &str| {
            let policy = Policy::shipped().with_settings_protected(Path::new(root));
            policy.files.protect.into_iter().filter(|path| path.is_absolute()).collect::<Vec<_>>()
        };
        let expected = ["/etc/stockade", "/etc/claude-code", "/etc/codex"].map(PathBuf::from);
        assert_eq!(protected("/etc"), expected);
        assert_eq!(protected("/usr"), Vec::<PathBuf>::new());
        // Those of the home folder are protected by their names where it is the project itself.
        let home = std::env::home_dir().unwrap();
        let in_home = protected(home.to_str().unwrap());
        assert!(in_home.iter().all(|path| !path.ends_with(".claude")), "{in_home:?}");
        assert!(in_home.contains(&home.join(".claude.json")), "{in_home:?}");
    }
}
