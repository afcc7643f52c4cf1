//! Which files of projects a person trusts: by path and content, so that a change asks again.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::LoadError;
use crate::config::folders::real_folder;
use crate::config::replace::replace;
use crate::config::source::{Links, Source};
use crate::confine::state_folder;
use crate::json;

/// The files that a person trusts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrustStore {
    path: Option<PathBuf>,
    files: BTreeMap<PathBuf, TrustedFile>,
}

/// A file as it was when it was trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedFile {
    /// The hash of its content, in hex.
    pub sha256: String,
    /// When, as RFC 3339.
    pub since: String,
}

/// How a file stands to what was trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// It is what a person trusted.
    Given,
    /// It was something else when a person trusted it.
    Changed,
    /// Nobody ever did.
    None,
}

/// The store as it is written. Versioned, because others may write it later.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    version: u32,
    files: Vec<WireFile>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireFile {
    path: PathBuf,
    sha256: String,
    since: String,
}

const VERSION: u32 = 1;

impl TrustStore {
    /// Where it is: `$XDG_STATE_HOME/stockade/trust.json`.
    pub fn default_path() -> Option<PathBuf> {
        Some(state_folder()?.join("trust.json"))
    }

    /// Reads the store; one that is not there trusts nothing. A store that others can write is
    /// an error.
    pub fn read(path: &Path) -> Result<Self, LoadError> {
        let empty = Self { path: Some(path.to_owned()), files: BTreeMap::new() };
        let Some(source) = Source::read(path, Links::Refused)? else { return Ok(empty) };
        let fail = |source: io::Error| LoadError::Read { path: path.to_owned(), source };
        let metadata = std::fs::symlink_metadata(path).map_err(fail)?;
        let own = rustix::process::geteuid().as_raw();
        if metadata.mode() & 0o022 != 0 || ![own, 0].contains(&metadata.uid()) {
            return Err(fail(io::Error::other(
                "others can write it, so it proves nothing; remove it and trust the files again",
            )));
        }
        let wire: Wire = json::from_str(&source.text).map_err(|error| fail(error.into()))?;
        if wire.version != VERSION {
            return Err(fail(io::Error::other(format!(
                "it is of version {}, and this Stockade knows version {VERSION}",
                wire.version
            ))));
        }
        let file =
            |file: WireFile| (file.path, TrustedFile { sha256: file.sha256, since: file.since });
        Ok(Self { files: wire.files.into_iter().map(file).collect(), ..empty })
    }

    /// How a file with this content stands.
    pub fn of(&self, file: &Path, content: &str) -> Trust {
        match identity(file).ok().and_then(|path| self.files.get(&path)) {
            Some(trusted) if trusted.sha256 == hash(content) => Trust::Given,
            Some(_) => Trust::Changed,
            None => Trust::None,
        }
    }

    /// Trusts a file with this content from now on. Nothing is written yet.
    pub fn trust(&mut self, file: &Path, content: &str) -> io::Result<()> {
        let since = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        self.files.insert(identity(file)?, TrustedFile { sha256: hash(content), since });
        Ok(())
    }

    /// Trusts a file no more; says whether it was trusted. Nothing is written yet.
    pub fn remove(&mut self, file: &Path) -> bool {
        let path = identity(file).unwrap_or_else(|_| file.to_owned());
        self.files.remove(&path).or_else(|| self.files.remove(file)).is_some()
    }

    /// All files with what is known of them.
    pub fn files(&self) -> impl Iterator<Item = (&Path, &TrustedFile)> {
        self.files.iter().map(|(path, trusted)| (path.as_path(), trusted))
    }

    /// Writes the store at once, for nobody else to read.
    pub fn write(&self) -> io::Result<()> {
        let path = self.path.as_deref().ok_or_else(|| io::Error::other("it has no place"))?;
        if let Some(folder) = path.parent() {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let files = self.files.iter().map(|(path, trusted)| WireFile {
            path: path.clone(),
            sha256: trusted.sha256.clone(),
            since: trusted.since.clone(),
        });
        let wire = Wire { version: VERSION, files: files.collect() };
        replace(path, &format!("{}\n", serde_json::to_string_pretty(&wire)?), 0o600)
    }
}

/// A file by the real path of its folder.
fn identity(file: &Path) -> io::Result<PathBuf> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = real_folder(folder.unwrap_or(Path::new(".")))?;
    let name = file.file_name().ok_or_else(|| io::Error::other("it names no file"))?;
    Ok(folder.join(name))
}

fn hash(content: &str) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(content))
}
