//! Which project an event is about. A marker above the working folder makes the project larger, so only
//! one that nobody else can have put there counts.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use stockade::inspect::{Homes, Identity, real_folder};

use crate::args::Agent;

/// The file that says most about where a project begins, and the folder that says it otherwise.
const POLICY: &str = "stockade.toml";
const REPOSITORY: &str = ".git";
const ANYONE_WRITES: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// What the root is looked for by.
#[derive(Debug)]
pub(super) struct Clues {
    /// The folder of the event.
    pub(super) cwd: PathBuf,
    /// What the agent says the project is.
    pub(super) told: Option<OsString>,
    pub(super) homes: Homes,
    /// The user, whose markers count besides those of root.
    pub(super) user: u32,
}

/// The project of an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Project {
    pub(super) root: PathBuf,
    /// Why a marker above the root does not count.
    pub(super) note: Option<String>,
}

impl Clues {
    pub(super) fn new(cwd: PathBuf, agent: Agent) -> Self {
        let told = match agent {
            Agent::Claude => std::env::var_os("CLAUDE_PROJECT_DIR"),
            Agent::Codex => None,
        };
        let user = rustix::process::geteuid().as_raw();
        Self { cwd, told, homes: Homes::find(), user }
    }

    /// The project root: what the agent says, else the outermost folder above with a
    /// `stockade.toml`, else the nearest with a `.git`, else the folder itself.
    ///
    /// The outermost, because a call may write files beneath the root and none above it: with the
    /// nearest it could leave the project's policy behind. A folder that is or holds a home folder
    /// is not taken for a project that one is in.
    pub(super) fn project(self) -> Project {
        let told = self.told.as_ref().map(PathBuf::from).filter(|path| path.is_absolute());
        if let Some(root) = told.filter(|path| path.is_dir()) {
            return Project { root, note: None };
        }
        let cwd = real_folder(&self.cwd).unwrap_or_else(|_| self.cwd.clone());
        let (levels, note) = self.levels(&cwd);
        let has =
            |name: &'static str| move |level: &&Path| level.join(name).symlink_metadata().is_ok();
        let policy = levels.iter().copied().rfind(has(POLICY));
        let root = policy.or_else(|| levels.iter().copied().find(has(REPOSITORY)));
        let root = root.map_or_else(|| cwd.clone(), Path::to_owned);
        Project { root, note }
    }

    /// The folders from here upwards that may be the project, and why there are no more if a marker
    /// above them does not count.
    fn levels<'c>(&self, cwd: &'c Path) -> (Vec<&'c Path>, Option<String>) {
        let mut levels = Vec::new();
        for level in cwd.ancestors().filter(|level| level.parent().is_some()) {
            let Ok(data) = level.metadata() else { return (levels, None) };
            let identity = rustix::fs::stat(level).map(|stat| Identity::of(&stat));
            if identity.map_or(true, |identity| self.homes.held_by(identity, level).is_some()) {
                return (levels, None);
            }
            let flaw = self.flaw(&data, level).or_else(|| self.foreign_marker(level));
            if let Some(flaw) = flaw {
                let marked = cwd.ancestors().filter(|above| level.starts_with(above));
                let is_marked = |above: &Path| {
                    marker(above, POLICY).is_some() || marker(above, REPOSITORY).is_some()
                };
                let note = marked.clone().any(is_marked).then(|| {
                    format!("{flaw}, so no stockade.toml or .git there or above makes the project larger")
                });
                return (levels, note);
            }
            levels.push(level);
        }
        (levels, None)
    }

    /// Why others may have put a marker into a folder.
    fn flaw(&self, data: &std::fs::Metadata, level: &Path) -> Option<String> {
        if !self.is_trusted(data.uid()) {
            return Some(format!("{level:?} belongs to user {}", data.uid()));
        }
        let is_open = data.mode() & ANYONE_WRITES != 0 && data.mode() & STICKY == 0;
        is_open.then(|| format!("everybody can replace files in {level:?}"))
    }

    fn foreign_marker(&self, level: &Path) -> Option<String> {
        [POLICY, REPOSITORY].into_iter().find_map(|name| {
            let owner = marker(level, name).filter(|owner| !self.is_trusted(*owner))?;
            Some(format!("{:?} belongs to user {owner}", level.join(name)))
        })
    }

    /// Root can change everything anyway.
    fn is_trusted(&self, owner: u32) -> bool {
        owner == self.user || owner == 0
    }
}

/// Who owns a marker, if there is one.
fn marker(level: &Path, name: &str) -> Option<u32> {
    level.join(name).symlink_metadata().ok().map(|data| data.uid())
}

#[cfg(test)]
mod tests;
