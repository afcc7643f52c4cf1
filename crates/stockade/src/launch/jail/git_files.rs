//! What git runs or follows in a project: folders of submodules and worktrees, and where a `.git` that is
//! a file leads.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::broker::is_of_new_repository;
use crate::bounded::{self, Links};
use crate::confine::{Files, PathMatch, PathPattern, writable_in_protected};
use crate::inspect::real_folder;
use crate::shell::state::lexical;

/// Git takes no larger `.git` for one of its own files.
const POINTER_BYTES_MAX: u64 = 1 << 20;
/// How many names are looked at for submodules and worktrees.
const NAMES_MAX: usize = 10_000;

/// How deep the folders of submodules are looked for.
const MODULES_DEPTH_MAX: usize = 6;

/// What git runs or follows in a folder of its own.
const FOLLOWED: [&str; 5] = ["config", "config.worktree", "hooks", "commondir", "info/attributes"];

/// What git runs or follows besides the listed paths: a `.git` that is a file and where it leads,
/// and the folders of submodules and worktrees. What is not there is watched for. Also says, in words,
/// what was not read because it is not as git makes it.
pub(super) fn find(files: &Files) -> (Vec<PathBuf>, Option<String>) {
    let git = files.root.join(".git");
    if std::fs::symlink_metadata(&git).is_ok_and(|found| found.is_file()) {
        return git_file_paths(git, files);
    }
    let (mut found, mut left) = (Vec::new(), NAMES_MAX);
    let seen = modules(&git.join("modules"), MODULES_DEPTH_MAX, &mut left, &mut found)
        .and_then(|()| folders_in(&git.join("worktrees"), &mut left))
        .map(|worktrees| {
            let names = ["commondir", "gitdir", "config.worktree"];
            let kept = worktrees.iter().filter(|folder| !is_of_writable_tree(folder, files));
            found.extend(kept.flat_map(|folder| names.map(|name| folder.join(name))));
        });
    let unread = seen.err().map(|error| {
        format!("not all submodules and worktrees in {git:?} were looked for: {error}")
    });
    (found, unread)
}

/// The `.git` that a program may create, with protected paths in it.
pub(super) fn new_repository(absent: &[PathBuf], files: &Files) -> Option<PathBuf> {
    let is_new = |folder: &&PathBuf| absent.iter().any(|path| is_of_new_repository(path, folder));
    files.write.iter().find(is_new).map(|folder| folder.join(".git"))
}

/// The same where `.git` is a file that leads to the folder.
fn git_file_paths(git: PathBuf, files: &Files) -> (Vec<PathBuf>, Option<String>) {
    let mut unread = None;
    let mut read = |path: &Path| match bounded::read_text(path, Links::Refused, POINTER_BYTES_MAX) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => {
            unread = Some(format!("{path:?} does not say where it leads: {error}"));
            None
        }
    };
    let own = read(&git).and_then(|text| led_to(&files.root, text.strip_prefix("gitdir:")?));
    let shared = own.as_ref().and_then(|own| led_to(own, &read(&own.join("commondir"))?));
    let folders = own.iter().chain(&shared);
    let mut found: Vec<PathBuf> =
        folders.flat_map(|folder| FOLLOWED.map(|name| folder.join(name))).collect();
    let granted = files.write.iter().filter_map(|path| real_folder(path).ok());
    let granted: Vec<PathBuf> = granted.chain([files.root.clone()]).collect();
    // What is shown to be read, or not at all, cannot be changed in the box.
    found.retain(|path| granted.iter().any(|folder| path.starts_with(folder)));
    found.push(git);
    (found, unread)
}

/// Whether the working tree that a folder in `.git/worktrees` belongs to lies where the program of the
/// sandbox can write the tree's own `.git`, the file that leads to the folder. The program could let that
/// file lead anywhere, so that protecting the folder would protect nothing, and `git worktree remove` would
/// fail.
///
/// Where the working tree is not such a one, this folder is protected, so that no program can make it seem
/// to be one.
fn is_of_writable_tree(folder: &Path, files: &Files) -> bool {
    let gitdir = folder.join("gitdir");
    let Ok(text) = bounded::read_text(&gitdir, Links::Refused, POINTER_BYTES_MAX) else {
        return false;
    };
    let tree = lexical(folder, Path::new(text.trim_end_matches('\n')));
    let (Some(above), Some(name)) = (tree.parent(), tree.file_name()) else { return false };
    // One that was deleted has left its name.
    let git = real_folder(above).unwrap_or_else(|_| above.to_owned()).join(name);
    let is_in = |folders: &[PathBuf]| folders.iter().any(|folder| git.starts_with(folder));
    let is_meant = |one: &PathPattern| {
        let start = real_folder(one.folder()).unwrap_or_else(|_| one.folder().to_owned());
        matches!(one.at(&start, &git), PathMatch::Whole(_))
    };
    let is_excepted = |path: &Path| {
        let mut all = writable_in_protected(&files.root);
        all.any(|(folder, inner)| folder == path && git.starts_with(inner))
    };
    let is_protected = files.protect.iter().any(|path| git.starts_with(path) && !is_excepted(path));
    let is_kept = is_protected || is_in(&files.hide) || files.sought.iter().any(is_meant);
    is_in(&files.write) && !is_in(&files.read) && !is_kept
}

/// Where a file of git leads, links and all.
fn led_to(from: &Path, text: &str) -> Option<PathBuf> {
    real_folder(&from.join(text.trim())).ok()
}

fn modules(
    folder: &Path,
    depth: usize,
    left: &mut usize,
    found: &mut Vec<PathBuf>,
) -> std::io::Result<()> {
    let Some(deeper) = depth.checked_sub(1) else { return Ok(()) };
    for inner in folders_in(folder, left)? {
        if inner.join("config").exists() {
            found.extend(FOLLOWED.map(|name| inner.join(name)));
            modules(&inner.join("modules"), deeper, left, found)?;
        } else {
            modules(&inner, deeper, left, found)?;
        }
    }
    Ok(())
}

/// The folders in a folder, none if it is not there. It fails where there are more names than are
/// left to be looked at.
fn folders_in(folder: &Path, left: &mut usize) -> std::io::Result<Vec<PathBuf>> {
    let names = match bounded::names(folder, *left) {
        Err(error) if error.kind() != ErrorKind::FileTooLarge => return Ok(Vec::new()),
        names => names?,
    };
    *left = left.saturating_sub(names.len());
    let folders = names.into_iter().filter(|(_, kind)| *kind == FileType::Directory);
    Ok(folders.map(|(name, _)| folder.join(name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::risky;

    #[test]
    fn what_is_protected_of_gits_own_is_known_to_run_code_too() {
        for name in FOLLOWED {
            let path = Path::new(".git/modules/a/b/c").join(name);
            let runs = |path: &Path| risky::why(path).is_some();
            assert!(runs(&path) || runs(&path.join("pre-commit")), "{name}");
        }
    }
}
