//! A runtime folder of a test's own. Scratch folders follow `XDG_RUNTIME_DIR` only where every
//! supervisor hides them: beneath the folder of all scratch folders of the user.

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _, chown};
use std::path::PathBuf;

/// Makes one for this user, which only root can do for another one.
pub(crate) fn runtime_folder(user: u32) -> tempfile::TempDir {
    let base = PathBuf::from(format!("/tmp/stockade-{user}"));
    let is_others = user != rustix::process::geteuid().as_raw();
    if DirBuilder::new().mode(0o700).create(&base).is_ok() && is_others {
        chown(&base, Some(user), Some(user)).unwrap();
    }
    let folder = tempfile::Builder::new().prefix("test-").tempdir_in(base).unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
    if is_others {
        chown(folder.path(), Some(user), Some(user)).unwrap();
    }
    folder
}
