//! Where the socket of a session is: in a folder that only this user can enter.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use stockade::call::SessionName;
use stockade::confine::{runtime_folder, state_folder};

use super::is_ours;

type Failed = Box<dyn std::error::Error>;

/// The place of one session of one project.
#[derive(Debug)]
pub(crate) struct Place {
    socket: PathBuf,
    lock: PathBuf,
}

impl Place {
    /// That of a project's session.
    pub(crate) fn of(root: &Path, name: &SessionName) -> Result<Self, Failed> {
        let folder = folder()?;
        let mut hasher = DefaultHasher::new();
        (root, name.as_str()).hash(&mut hasher);
        let name = format!("session-{:016x}", hasher.finish());
        Ok(Self {
            socket: folder.join(format!("{name}.socket")),
            lock: folder.join(format!("{name}.lock")),
        })
    }

    /// Waits until nobody else finds, starts or ends the session.
    pub(crate) fn lock(&self) -> Result<File, Failed> {
        let lock = File::create(&self.lock)
            .map_err(|error| format!("open {}: {error}", self.lock.display()))?;
        flock(&lock, FlockOperation::LockExclusive)?;
        Ok(lock)
    }

    /// The way to the process that keeps the session. A socket that one left that was killed goes.
    pub(crate) fn find(&self) -> Result<Option<UnixStream>, Failed> {
        match UnixStream::connect(&self.socket) {
            Ok(line) if is_ours(&line) => Ok(Some(line)),
            Ok(_) => Err(format!("{} is another user's", self.socket.display()).into()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                self.remove()?;
                Ok(None)
            }
            Err(error) => Err(format!("connect to {}: {error}", self.socket.display()).into()),
        }
    }

    /// Makes the socket.
    pub(crate) fn bind(&self) -> Result<UnixListener, Failed> {
        UnixListener::bind(&self.socket)
            .map_err(|error| format!("make {}: {error}", self.socket.display()).into())
    }

    /// The way to whoever will listen at the socket.
    pub(crate) fn connect(&self) -> Result<UnixStream, Failed> {
        UnixStream::connect(&self.socket)
            .map_err(|error| format!("connect to {}: {error}", self.socket.display()).into())
    }

    /// Takes the socket away.
    pub(crate) fn remove(&self) -> Result<(), Failed> {
        std::fs::remove_file(&self.socket)
            .map_err(|error| format!("remove {}: {error}", self.socket.display()).into())
    }
}

/// The bits of a mode that are the rights of others.
const OTHERS_BITS: u32 = 6;

/// The folder of this user for sockets.
fn folder() -> Result<PathBuf, Failed> {
    let state = || Some(state_folder()?.join("sessions"));
    let folder = runtime_folder().map(|path| path.join("stockade")).or_else(state);
    let folder = folder.ok_or("find a place for sessions: there is no home folder")?;
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    made.map_err(|error| format!("make {}: {error}", folder.display()))?;
    let found = std::fs::symlink_metadata(&folder)?;
    let is_private = found.is_dir()
        && found.uid() == rustix::process::geteuid().as_raw()
        && found.mode().trailing_zeros() >= OTHERS_BITS;
    if !is_private {
        return Err(format!("{} is not a private folder of this user", folder.display()).into());
    }
    Ok(folder)
}
