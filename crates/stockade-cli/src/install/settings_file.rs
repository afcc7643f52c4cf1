//! A settings file that is edited: read, and put in its place whole.

use std::io::ErrorKind;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use stockade::bounded::{self, Links, TEXT_BYTES_MAX};
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
        let root = within.map(Root::open).transpose()?;
        let is_outside =
            |real: &Path| root.as_ref().is_some_and(|root| !real.starts_with(root.path()));
        let leads_out = || {
            let message = "it leads out of the project, where a project has no say";
            format!("edit {}: {message}", path.display())
        };
        let (opened, stat) = match bounded::open(&path, Links::Followed) {
            Ok(opened) => opened,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if path.is_symlink() {
                    return Err(format!("edit {}: it is a link to nothing", path.display()).into());
                }
                // The folder may be a link as well.
                let mut above = path.ancestors().skip(1);
                let folder = above.find(|folder| folder.symlink_metadata().is_ok());
                let folder = folder.map(Root::open).transpose()?;
                if folder.is_some_and(|folder| is_outside(folder.path())) {
                    return Err(leads_out().into());
                }
                return Ok(Self { path, text: None, permissions: 0o644 });
            }
            Err(error) => return Err(format!("edit {}: {error}", path.display()).into()),
        };
        let real = path_of(opened.as_fd()).map_err(|errno| fail(errno.into()))?;
        if is_outside(&real) {
            return Err(leads_out().into());
        }
        let bytes = bounded::read_open(&opened, TEXT_BYTES_MAX).map_err(fail)?;
        let text = bounded::text_of(bytes).map_err(fail)?;
        Ok(Self { path: real, text: Some(text), permissions: stat.st_mode })
    }

    /// Puts a new text in its place at once; none removes the file.
    pub(super) fn write(&self, text: Option<&str>) -> Result<(), Box<dyn std::error::Error>> {
        let fail = |error: std::io::Error| format!("write {}: {error}", self.path.display());
        let now = match bounded::read_text(&self.path, Links::Refused, TEXT_BYTES_MAX) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            now => Some(now.map_err(fail)?),
        };
        if now != self.text {
            let what = "somebody else has changed it meanwhile; do it again";
            return Err(format!("write {}: {what}", self.path.display()).into());
        }
        let Some(text) = text else { return Ok(std::fs::remove_file(&self.path).map_err(fail)?) };
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(fail)?;
        }
        replace(&self.path, text, self.permissions).map_err(fail)?;
        Ok(())
    }
}
