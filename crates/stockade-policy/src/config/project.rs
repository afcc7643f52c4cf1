//! The files that a project brings along, and what each of them would loosen if it were trusted.

use std::path::{Path, PathBuf};

use super::codex;
use crate::config::claude::{Origin, Settings};
use crate::config::source::{Links, Source};
use crate::{Decision, LoadError, Policy};

/// A file of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFile {
    /// Where it is.
    pub path: PathBuf,
    /// In which form.
    pub form: FileFormat,
}

/// The form of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileFormat {
    /// `stockade.toml`.
    Policy,
    /// `settings.json` of Claude Code.
    Claude {
        /// The project's root, which its paths are relative to.
        root: PathBuf,
    },
    /// `.rules` of Codex.
    Codex,
}

/// What stands in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// As it was read: what is shown is what is trusted.
    pub text: String,
    /// What it would loosen, in words.
    pub loosens: Vec<String>,
}

impl ProjectFile {
    /// Reads it once; nothing if it is not there. A file that does not load is an error.
    pub fn read(&self) -> Result<Option<Content>, LoadError> {
        let Some(source) = Source::read(&self.path, Links::Refused)? else { return Ok(None) };
        let loosens = match &self.form {
            FileFormat::Policy => policy(&source)?,
            FileFormat::Claude { root } => {
                let home = std::env::home_dir();
                let root = std::path::absolute(root)
                    .map_err(|source| LoadError::Read { path: root.clone(), source })?;
                let path: &Path = &self.path;
                let home = home.as_deref();
                let origin = Origin { path, base: &root, root: &root, home, managed: false };
                Settings::parse(&source.text, origin)?.loosening()
            }
            FileFormat::Codex => {
                let rules = codex::parse(&self.path, &source.text)?;
                let allowing = rules.iter().filter(|rule| rule.list() == Decision::Allow);
                allowing.map(|rule| format!("allows {}", rule.text())).collect()
            }
        };
        Ok(Some(Content { text: source.text, loosens }))
    }
}

/// The keys and rules of a policy file that only a trusted one may have.
fn policy(source: &Source) -> Result<Vec<String>, LoadError> {
    let shipped = Policy::shipped();
    let file = source.parse()?;
    // What would not load is not trusted either.
    source.refuse_home(&file)?;
    source.apply(&mut shipped.clone())?;
    let keys = source.loosening(&file, &shipped)?;
    let mut all: Vec<String> =
        keys.iter().map(|(key, span)| format!("sets {key} (line {})", source.line(span))).collect();
    let rules = source.rules(&file.rules)?;
    let allowing = rules.iter().filter(|rule| rule.list() == Decision::Allow);
    all.extend(allowing.map(|rule| format!("allows {}", rule.text())));
    let replaced = [
        ("exec.deny", file.exec.deny.is_some()),
        ("exec.interpreters", file.exec.interpreters.is_some()),
        ("box.hide", file.boxed.hide.is_some()),
        ("box.protect", file.boxed.protect.is_some()),
        ("box.require", file.boxed.require.is_some()),
    ];
    let replaced = replaced.into_iter().filter(|(_, is_there)| *is_there);
    all.extend(replaced.map(|(key, _)| format!("replaces {key} instead of adding to it")));
    let asked = source.limits(&file.limits, &shipped.limits)?;
    if shipped.limits.strictest(&asked) != asked {
        all.push("raises limits".to_owned());
    }
    let asked = source.limits(&file.code.limits, &shipped.code_limits)?;
    if shipped.code_limits.strictest(&asked) != asked {
        all.push("raises code.limits".to_owned());
    }
    if let Some(text) = &file.boxed.changes
        && source.watched(text)? < shipped.files.watched
    {
        all.push("reports fewer changes (box.changes)".to_owned());
    }
    Ok(all)
}
