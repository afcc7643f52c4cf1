//! What git runs or follows in its own folder, at whatever depth: submodules and worktrees lie in it,
//! and have all of it once more.

use std::ffi::OsStr;
use std::path::Path;

/// Folders of which all matters: hooks, and what a stopped rebase has still to do.
const FOLDERS: [&str; 3] = ["hooks", "rebase-merge", "rebase-apply"];
const FILES: [&str; 4] = ["config", "config.worktree", "commondir", "attributes"];
/// By one of these a folder is known as a repository, whatever it is called.
pub(in crate::files) const SIGNS: [&str; 3] = ["config", "hooks", "commondir"];

/// Whether all that is in a folder of this name in git's own matters.
pub(in crate::files) fn is_whole(name: &[u8]) -> bool {
    FOLDERS.iter().any(|folder| folder.as_bytes() == name)
}

/// Whether a file of this name in git's own matters.
pub(in crate::files) fn is_file(name: &[u8]) -> bool {
    FILES.iter().any(|file| file.as_bytes() == name)
}

/// How code runs from a file in git's own folder, if this is one.
pub(in crate::files) fn why(path: &Path) -> Option<&'static str> {
    let below = below(path)?;
    let mut folders = below.parent()?.iter();
    if let Some(folder) = folders.find(|one| FOLDERS.iter().any(|folder| one == folder)) {
        let is_hook = folder == "hooks";
        return Some(if is_hook {
            "git runs hooks"
        } else {
            "git goes on with it, and runs its lines"
        });
    }
    let is_file = below.file_name().is_some_and(|name| is_file(name.as_encoded_bytes()));
    is_file.then_some("git's configuration names programs that it runs")
}

/// The same for a link, which may lead to any of it.
pub(in crate::files) fn why_link(path: &Path) -> Option<&'static str> {
    below(path).map(|_| "git follows it, to hooks or configuration")
}

/// The path from git's own folder on.
fn below(path: &Path) -> Option<&Path> {
    let is_git = |one: &&Path| one.file_name() == Some(OsStr::new(".git"));
    let outermost = path.ancestors().skip(1).filter(is_git).last()?;
    path.strip_prefix(outermost).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_runs_is_known_at_any_depth() {
        for path in [
            ".git/hooks/pre-commit",
            "a/.git/modules/x/modules/y/hooks/pre-push",
            ".git/modules/t/u/v/config",
            ".git/modules/x/info/attributes",
            ".git/rebase-merge/git-rebase-todo",
            ".git/worktrees/w/rebase-apply/patch",
        ] {
            assert!(why(Path::new(path)).is_some(), "{path}");
        }
        for path in [".git", ".git/HEAD", ".git/index", "hooks/x", "a/config", ".git/hooks"] {
            assert_eq!(why(Path::new(path)), None, "{path}");
        }
        assert!(why_link(Path::new("s/.git/modules")).is_some());
        assert_eq!(why_link(Path::new("a/hooks")), None);
    }
}
