//! A settings file that is edited: read, and put in its place whole.

use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use stockade::inspect::{Root, path_of};
use stockade::policy::replace;

/// A file as it was found.
pub(super) struct SettingsFile {
    /// Where it is, behind links.
    pub(super) path: PathBuf,
    /// What is in it; none where it is not there.
    pub(super) text: Option<String>,
    permissions: u32,
}

impl SettingsFile {
    /// Reads it. A link is followed to what it leads to; that of a project not out of it.
    pub(super) fn read(
        path: &Path,
        within: Option<&Path>,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let fail = |error: std::io::Error| format!("read {}: {error}", path.display());
        let path = std::path::absolute(path).map_err(fail)?;
        let opened = match std::fs::File::open(&path) {
            Ok(opened) => opened,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                if path.is_symlink() {
                    return Err(format!("edit {}: it is a link to nothing", path.display()).into());
                }
                return Ok(Self { path, text: None, permissions: 0o644 });
            }
            Err(error) => return Err(fail(error).into()),
        };
        let metadata = opened.metadata().map_err(fail)?;
        if !metadata.is_file() {
            return Err(format!("edit {}: it is not a regular file", path.display()).into());
        }
        let real = path_of(opened.as_fd()).map_err(|errno| fail(errno.into()))?;
        if let Some(root) = within {
            let root = Root::open(root)?;
            if !real.starts_with(root.path()) {
                let message = "it leads out of the project, where a project has no say";
                return Err(format!("edit {}: {message}", path.display()).into());
            }
        }
        let text = std::io::read_to_string(opened).map_err(fail)?;
        let permissions = metadata.permissions().mode();
        Ok(Self { path: real, text: Some(text), permissions })
    }

    /// Puts a new text in its place at once; none removes the file.
    pub(super) fn write(&self, text: Option<&str>) -> Result<(), Box<dyn std::error::Error>> {
        let fail = |error: std::io::Error| format!("write {}: {error}", self.path.display());
        let Some(text) = text else { return Ok(std::fs::remove_file(&self.path).map_err(fail)?) };
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(fail)?;
        }
        replace(&self.path, text, self.permissions).map_err(fail)?;
        Ok(())
    }
}
