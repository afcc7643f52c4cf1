//! A walk through a folder that a search would read, within bounds. No link is followed, as searches
//! follow none.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::FileType;
use rustix::io::Errno;

use crate::bounded;

/// Names that are looked at, and how long that may take.
const NAMES_MAX: usize = 100_000;
const TIME_MAX: Duration = Duration::from_millis(1500);
/// Folders of version control, which the search leaves out.
const LEFT_OUT: [&str; 6] = [".git", ".svn", ".hg", ".bzr", ".jj", ".sl"];

/// What a walk has found.
#[derive(Debug)]
pub(super) struct Walked {
    /// Files and folders that may not be read; nothing in such a folder is listed.
    pub(super) found: Vec<PathBuf>,
    /// Whether all was looked at.
    pub(super) is_whole: bool,
}

impl Walked {
    /// Goes through a folder.
    pub(super) fn look(folder: &Path, is_secret: impl Fn(&Path) -> bool) -> Self {
        let until = Instant::now().checked_add(TIME_MAX);
        let mut walked = Self { found: Vec::new(), is_whole: true };
        let mut left = NAMES_MAX;
        let mut todo = vec![folder.to_owned()];
        while let Some(next) = todo.pop() {
            if left == 0 || until.is_none_or(|until| Instant::now() >= until) {
                walked.is_whole = false;
                break;
            }
            match bounded::names(&next, left) {
                Ok(names) => {
                    left = left.saturating_sub(names.len());
                    walked.sort_out(&next, names, &is_secret, &mut todo);
                }
                // It has gone, or the search cannot open it either.
                Err(error) if is_passed_by(&error) => {}
                Err(_) => walked.is_whole = false,
            }
        }
        walked.found.sort_unstable();
        walked
    }

    /// Notes the secrets among the names of a folder, and the folders to go on with.
    fn sort_out(
        &mut self,
        folder: &Path,
        names: Vec<(OsString, FileType)>,
        is_secret: &impl Fn(&Path) -> bool,
        todo: &mut Vec<PathBuf>,
    ) {
        for (name, kind) in names {
            if kind == FileType::Symlink || LEFT_OUT.iter().any(|one| name == *one) {
                continue;
            }
            let path = folder.join(name);
            if is_secret(&path) {
                self.found.push(path);
            } else if matches!(kind, FileType::Directory | FileType::Unknown) {
                todo.push(path);
            }
        }
    }
}

fn is_passed_by(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|errno| {
        [Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::ACCESS].contains(&errno)
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Walked;

    #[test]
    fn secrets_are_found_and_links_and_version_control_are_left_alone() {
        let base = tempfile::tempdir().unwrap();
        let at = |name: &str| base.path().join(name);
        for folder in ["a/b", ".git", "s/inner", "other"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        for file in ["s/inner/x", "a/b/x", ".git/x", "y", "other/x"] {
            std::fs::write(at(file), "").unwrap();
        }
        std::os::unix::fs::symlink(at("other"), at("a/link")).unwrap();
        let is_secret = |path: &Path| path.ends_with("x") || path.ends_with("s");
        let walked = Walked::look(base.path(), is_secret);
        assert!(walked.is_whole);
        assert_eq!(walked.found, [at("a/b/x"), at("other/x"), at("s")]);
    }
}
