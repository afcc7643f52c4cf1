//! Files that a search leaves out because the project says so: `.gitignore`, `.ignore` and
//! `.git/info/exclude`, each read through its folder's handle.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::rc::Rc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::OFlags;

use super::open::{beneath, regular, whole};

/// A larger list is none that a person wrote.
const BYTES_MAX: u64 = 1 << 20;

/// The lists that hold in a folder: its own, and those of the folders above it.
#[derive(Debug)]
pub(super) struct IgnoreLists {
    above: Option<Rc<Self>>,
    /// The one that counts more first.
    own: Vec<Gitignore>,
}

impl IgnoreLists {
    /// The lists that hold at a folder below the root, without its own.
    pub(super) fn above(root: BorrowedFd<'_>, root_path: &Path, folder: &Path) -> Rc<Self> {
        let mut lists = Rc::new(Self { above: None, own: Vec::new() });
        let below = folder.strip_prefix(root_path).unwrap_or(Path::new(""));
        let mut relative = Path::new("").to_path_buf();
        for name in below.components() {
            let path = root_path.join(&relative);
            if relative.as_os_str().is_empty() {
                lists = Self::in_folder(&lists, root, &path, |_| true);
            } else if let Ok(handle) = beneath(root, &relative, OFlags::PATH | OFlags::DIRECTORY) {
                lists = Self::in_folder(&lists, handle.as_fd(), &path, |_| true);
            }
            relative.push(name);
        }
        lists
    }

    /// The lists that hold in a folder, of which `has` tells what may be in it.
    pub(super) fn in_folder(
        above: &Rc<Self>,
        folder: BorrowedFd<'_>,
        path: &Path,
        has: impl Fn(&OsStr) -> bool,
    ) -> Rc<Self> {
        let names =
            [(".ignore", ".ignore"), (".gitignore", ".gitignore"), (".git", ".git/info/exclude")];
        let read = |(name, list): &(&str, &str)| {
            has(OsStr::new(name)).then(|| list_of(folder, Path::new(list), path)).flatten()
        };
        let own: Vec<Gitignore> = names.iter().filter_map(read).collect();
        if own.is_empty() {
            Rc::clone(above)
        } else {
            Rc::new(Self { above: Some(Rc::clone(above)), own })
        }
    }

    /// Whether a file or a folder is left out.
    pub(super) fn leave_out(&self, path: &Path, is_folder: bool) -> bool {
        let mut lists = Some(self);
        while let Some(here) = lists {
            for list in &here.own {
                match list.matched(path, is_folder) {
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                    Match::None => {}
                }
            }
            lists = here.above.as_deref();
        }
        false
    }
}

/// A list that can be read; a line of it that cannot is skipped, as git does.
fn list_of(folder: BorrowedFd<'_>, list: &Path, path: &Path) -> Option<Gitignore> {
    let handle = beneath(folder, list, OFlags::PATH).ok()?;
    let (file, stat) = regular(handle.as_fd(), list).ok()?;
    let bytes = whole(&file, &stat, list, BYTES_MAX).ok()?;
    let mut builder = GitignoreBuilder::new(path);
    for line in String::from_utf8_lossy(&bytes).lines() {
        builder.add_line(None, line).ok();
    }
    builder.build().ok()
}
