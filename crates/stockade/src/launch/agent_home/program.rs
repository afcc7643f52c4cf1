//! Where the program of an agent is installed, which is often beneath the home folder.

use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Access, CWD, FileType, Mode, OFlags};

use crate::confine::SYSTEM;
use crate::policy::path_of;

/// Packages of node lie in a folder of this name, side by side with those that they need.
const PACKAGES: &str = "node_modules";

/// The program that a person means by a word, found in their own search path: its real path, and the file or
/// folder that has to be shown for it. `None` if a sandbox shows it anyway, or where there is none: a program
/// of the project is judged as such.
pub fn installed_program(word: &OsStr, root: &Path) -> Option<(OsString, PathBuf)> {
    let (found, real) = if word.as_bytes().contains(&b'/') {
        (PathBuf::from(word), executable(Path::new(word))?)
    } else {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> =
            std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
        let in_folder = |folder: &PathBuf| {
            let found = folder.join(word);
            executable(&found).map(|real| (found, real))
        };
        folders.iter().find_map(in_folder)?
    };
    // A link in the project, which an earlier call may have laid, shows nothing.
    if real_parent(&found).is_none_or(|folder| folder.starts_with(root)) {
        return None;
    }
    let is_shown = SYSTEM.iter().any(|folder| real.starts_with(folder)) || real.starts_with(root);
    let shown = installation(&real);
    let home = std::env::home_dir();
    let holds = |other: &Path| other.starts_with(&shown);
    let holds_much = holds(root) || home.is_some_and(|home| holds(&home));
    (!is_shown && !holds_much).then(|| (real.into_os_string(), shown))
}

/// The folder of packages that a file is in, or the file itself.
fn installation(real: &Path) -> PathBuf {
    let mut above = real.ancestors().skip(1);
    let is_packages = |folder: &&Path| matches!(folder.components().next_back(), Some(Component::Normal(name)) if name == PACKAGES);
    above.find(is_packages).unwrap_or(real).to_owned()
}

/// The real path of the folder that a path names a file in.
fn real_parent(path: &Path) -> Option<PathBuf> {
    let folder = std::path::absolute(path).ok()?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let handle = rustix::fs::openat(CWD, folder.parent()?, flags, Mode::empty()).ok()?;
    path_of(handle.as_fd()).ok()
}

/// The real path of a file that may be executed.
fn executable(path: &Path) -> Option<PathBuf> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let handle = rustix::fs::openat(CWD, path, flags, Mode::empty()).ok()?;
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&handle).ok()?.st_mode);
    let may = rustix::fs::access(path, Access::EXEC_OK).is_ok();
    (kind == FileType::RegularFile && may).then(|| path_of(handle.as_fd()).ok()).flatten()
}
