//! Which project an event is about.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::args::Agent;

/// What the root is looked for by.
#[derive(Debug)]
pub(super) struct Clues {
    /// The folder of the event.
    pub(super) cwd: PathBuf,
    /// What the agent says the project is.
    pub(super) told: Option<OsString>,
    pub(super) home: Option<PathBuf>,
}

impl Clues {
    pub(super) fn new(cwd: PathBuf, agent: Agent) -> Self {
        let told = match agent {
            Agent::Claude => std::env::var_os("CLAUDE_PROJECT_DIR"),
            Agent::Codex => None,
        };
        Self { cwd, told, home: std::env::home_dir() }
    }

    /// The project root: what the agent says, else the outermost folder above with a
    /// `stockade.toml`, else the nearest with a `.git`, else the folder itself.
    ///
    /// The outermost, because a call may write files beneath the root and none above it: with the
    /// nearest it could leave the project's policy behind. Folders of other people are not
    /// believed, and neither is the home folder taken for a project that one is in.
    pub(super) fn root(self) -> PathBuf {
        let told = self.told.map(PathBuf::from).filter(|path| path.is_absolute());
        if let Some(told) = told.filter(|path| path.is_dir()) {
            return told;
        }
        let mine = rustix::process::geteuid().as_raw();
        let is_mine = |folder: &&Path| folder.metadata().is_ok_and(|data| data.uid() == mine);
        let is_project =
            |folder: &&Path| folder.parent().is_some() && self.home.as_deref() != Some(*folder);
        let above = || self.cwd.ancestors().take_while(is_mine).filter(is_project);
        let has = |folder: &Path, name: &str| folder.join(name).symlink_metadata().is_ok();
        let policy = above().filter(|folder| has(folder, "stockade.toml")).last();
        let root = policy.or_else(|| above().find(|folder| has(folder, ".git")));
        root.map_or_else(|| self.cwd.clone(), Path::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::Clues;

    #[test]
    fn the_root_is_found_from_what_an_agent_says_or_from_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("home/work/repo/sub/deep")).unwrap();
        let root = |cwd: &str, told: Option<&str>| {
            let told = told.map(|name| at(name).into_os_string());
            Clues { cwd: at(cwd), told, home: Some(at("home")) }.root()
        };
        assert_eq!(root("home/work/repo/sub", None), at("home/work/repo/sub"));
        std::fs::create_dir(at("home/work/repo/.git")).unwrap();
        assert_eq!(root("home/work/repo/sub/deep", None), at("home/work/repo"));
        // A repository that a call made does not hide the project's policy.
        std::fs::create_dir(at("home/work/repo/sub/.git")).unwrap();
        assert_eq!(root("home/work/repo/sub/deep", None), at("home/work/repo/sub"));
        std::fs::write(at("home/work/repo/stockade.toml"), "").unwrap();
        std::fs::write(at("home/work/repo/sub/stockade.toml"), "").unwrap();
        assert_eq!(root("home/work/repo/sub/deep", None), at("home/work/repo"));
        // A home folder is nobody's project, unless one works in it.
        std::fs::create_dir(at("home/.git")).unwrap();
        assert_eq!(root("home/work", None), at("home/work"));
        assert_eq!(root("home", None), at("home"));
        assert_eq!(root("home/work/repo", Some("home/work")), at("home/work"));
        assert_eq!(root("home/work/repo", Some("not/there")), at("home/work/repo"));
    }
}
