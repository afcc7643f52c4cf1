//! A policy file that is changed by a command or an answer: read, edited, and put in its place whole.

use std::path::{Path, PathBuf};

use stockade::Policy;
use stockade::bounded::{self, Links, TEXT_BYTES_MAX};
use stockade::policy::{Decision, Trust, TrustStore, replace};

use crate::args::Target;
use crate::edit::{self, EditError, Entry};

#[cfg(test)]
mod tests;

/// Adds rules to the allow list of the person's own file, which is made if it is not there.
pub(crate) fn allow(path: &Path, rules: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let file = PolicyFile::read(path, Whose::User)?;
    let mut text = file.text.clone();
    for rule in rules {
        let entry = Entry { rule: rule.clone(), ..Entry::default() };
        text = match edit::with_rule(&file.path, &text, Decision::Allow, &entry) {
            Ok(text) => text,
            Err(EditError::Known { .. }) => continue,
            Err(error) => return Err(error.into()),
        };
    }
    file.write(&text)?;
    Ok(())
}

/// A policy file that is to be edited.
pub(crate) struct PolicyFile {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    permissions: u32,
    pub(crate) whose: Whose,
}

impl PolicyFile {
    /// Reads it; one that is not there is empty.
    pub(crate) fn read(path: &Path, whose: Whose) -> Result<Self, Box<dyn std::error::Error>> {
        let fail = |error: std::io::Error| format!("read {}: {error}", path.display());
        let path = std::path::absolute(path).map_err(fail)?;
        let metadata = match std::fs::symlink_metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self { path, text: String::new(), permissions: 0o644, whose });
            }
            Err(error) => return Err(fail(error).into()),
        };
        // A person may link their own file to where they keep it; a project's could lead anywhere.
        if metadata.is_symlink() && whose == Whose::Project {
            return Err(format!("edit {}: it is a link", path.display()).into());
        }
        let links = if whose == Whose::Project { Links::Refused } else { Links::Followed };
        let (opened, stat) = bounded::open(&path, links)
            .map_err(|error| format!("edit {}: {error}", path.display()))?;
        let real = stockade::inspect::path_of(std::os::fd::AsFd::as_fd(&opened));
        let path = real.map_err(|errno| fail(errno.into()))?;
        let bytes = bounded::read_open(&opened, TEXT_BYTES_MAX).map_err(fail)?;
        let text = bounded::text_of(bytes).map_err(fail)?;
        Ok(Self { path, text, permissions: stat.st_mode, whose })
    }

    /// Puts a new text in its place, if that loads: one that does not would refuse everything from
    /// now on. A file that was trusted stays so, because a person has changed it with this command;
    /// says whether it is.
    pub(crate) fn write(&self, text: &str) -> Result<(Policy, bool), Box<dyn std::error::Error>> {
        let text = self.written_alike(text);
        let text = text.as_str();
        let policy = Policy::from_text(&self.path, text)?;
        let fail = |error: std::io::Error| format!("write {}: {error}", self.path.display());
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(fail)?;
        }
        let store = TrustStore::default_path().map(|path| TrustStore::read(&path)).transpose()?;
        let store = store.filter(|store| store.of(&self.path, &self.text) == Trust::Given);
        replace(&self.path, text, self.permissions).map_err(fail)?;
        let Some(mut store) = store else { return Ok((policy, false)) };
        store.trust(&self.path, text)?;
        store.write().map_err(|error| format!("write the store of trusted files: {error}"))?;
        Ok((policy, true))
    }

    /// The text with the line ends of the file, and with the mark before it.
    fn written_alike(&self, text: &str) -> String {
        let ends = |what: &str| self.text.matches(what).count();
        let text = text.trim_start_matches(MARK);
        let is_other = ends("\r\n") > 0 && ends("\r\n") == ends("\n");
        let text = if is_other {
            text.replace("\r\n", "\n").replace('\n', "\r\n")
        } else {
            text.to_owned()
        };
        if self.text.starts_with(MARK) { format!("{MARK}{text}") } else { text }
    }
}

/// The byte order mark.
const MARK: char = '\u{feff}';

/// Whose file is edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    User,
    Project,
    Named,
}

impl Whose {
    pub(crate) fn of(target: &Target) -> Self {
        match (&target.policy, target.user) {
            (Some(_), _) => Self::Named,
            (None, true) => Self::User,
            (None, false) => Self::Project,
        }
    }
}
