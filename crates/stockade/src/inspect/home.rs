//! The user's home directories and every folder above one, by identity. Such a folder is no project
//! root, because keys, start-up files and other projects would be part of the project.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use super::resolver::Identity;
use crate::bounded::{self, Links};
use crate::shell::state::lexical;

/// The largest user list that is read.
const USERS_BYTES_MAX: u64 = 4 << 20;
/// More levels than a path can have.
const LEVELS_MAX: usize = 2048;

/// The user's home directories: `$HOME`, and the one in the machine's user list.
#[derive(Debug, Clone, Default)]
pub struct Homes {
    /// By path.
    named: Vec<PathBuf>,
    /// Those that cannot be opened, known only by path.
    unseen: Vec<PathBuf>,
    /// Every home directory and every folder above one, with that home directory.
    holders: BTreeMap<Identity, PathBuf>,
}

impl Homes {
    /// Finds the home directories on this machine.
    pub fn find() -> Self {
        let user = rustix::process::getuid().as_raw();
        let listed = listed_home(Path::new("/etc/passwd"), user);
        Self::of(std::env::home_dir().into_iter().chain(listed))
    }

    /// The same for given home directories.
    pub fn of(folders: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut homes = Self::default();
        for home in folders {
            if !home.is_absolute() || homes.named.contains(&home) {
                continue;
            }
            homes.add_holders(&home);
            homes.named.push(home);
        }
        homes
    }

    /// The home directories by path.
    pub fn folders(&self) -> &[PathBuf] {
        &self.named
    }

    /// The home directory that is this folder or lies in it, under any name.
    pub fn held_by(&self, identity: Identity, path: &Path) -> Option<&Path> {
        let by_identity = self.holders.get(&identity);
        let by_name = || self.unseen.iter().find(|home| home.starts_with(path));
        by_identity.or_else(by_name).map(PathBuf::as_path)
    }

    /// Walks up from a home directory. Bind mounts and links are other names of the same folders.
    fn add_holders(&mut self, home: &Path) {
        let Ok(mut folder) = open_folder(CWD, home) else {
            self.unseen.push(lexical(Path::new("/"), home));
            return;
        };
        for _ in 0..LEVELS_MAX {
            let Ok(stat) = rustix::fs::fstat(&folder) else { return };
            let identity = Identity::of(&stat);
            self.holders.entry(identity).or_insert_with(|| home.to_owned());
            let Ok(above) = open_folder(&folder, Path::new("..")) else { return };
            match rustix::fs::fstat(&above) {
                // The root of the file system is its own parent.
                Ok(stat) if Identity::of(&stat) == identity => return,
                Ok(_) => folder = above,
                Err(_) => return,
            }
        }
    }
}

fn open_folder(at: impl std::os::fd::AsFd, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(at, path, flags, Mode::empty())
}

/// The home directory of a user in a list in passwd(5) format. Users of other services are not
/// listed.
fn listed_home(list: &Path, user: u32) -> Option<PathBuf> {
    let bytes = bounded::read(list, Links::Followed, USERS_BYTES_MAX).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let home = |line: &str| {
        let fields: Vec<&str> = line.split(':').collect();
        let is_user = fields.get(2)?.parse() == Ok(user);
        is_user.then(|| fields.get(5).map(PathBuf::from)).flatten()
    };
    text.lines().find_map(home)
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{Homes, Identity, listed_home};

    fn held<'h>(homes: &'h Homes, path: &Path) -> Option<&'h Path> {
        let stat = rustix::fs::stat(path).unwrap();
        homes.held_by(Identity::of(&stat), path)
    }

    #[test]
    fn a_folder_that_is_or_holds_the_home_is_known_by_every_name() {
        let base = tempfile::tempdir().unwrap();
        let at = |name: &str| base.path().join(name);
        std::fs::create_dir_all(at("users/me/work")).unwrap();
        std::os::unix::fs::symlink(at("users"), at("link")).unwrap();
        let homes = Homes::of([at("users/me")]);
        for name in ["users/me", "users", "", "link", "link/me", "users/me/work/.."] {
            assert_eq!(held(&homes, &at(name)), Some(at("users/me").as_path()), "{name:?}");
        }
        assert!(held(&homes, Path::new("/")).is_some());
        assert_eq!(held(&homes, &at("users/me/work")), None);
        // Also through a link to a home directory.
        let homes = Homes::of([at("link/me")]);
        assert!(held(&homes, &at("users")).is_some());
        assert_eq!(held(&homes, &at("users/me/work")), None);
    }

    #[test]
    fn a_home_that_is_not_there_is_known_by_its_name() {
        let base = tempfile::tempdir().unwrap();
        let homes = Homes::of([base.path().join("not/there"), PathBuf::from("relative")]);
        assert!(held(&homes, base.path()).is_some());
        assert_eq!(homes.folders(), [base.path().join("not/there")]);
    }

    #[test]
    fn the_list_of_users_names_a_home() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "a:x:7:7::/home/a:/bin/sh\nbroken\nb:x:8:8:B,,:/home/b:\n")
            .unwrap();
        assert_eq!(listed_home(file.path(), 8), Some(PathBuf::from("/home/b")));
        assert_eq!(listed_home(file.path(), 9), None);
    }
}
