//! Where the socket of a session is: in a folder that only this user can enter.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use stockade::call::SessionName;

use crate::session::{folder, is_trusted};

type AnyError = Box<dyn std::error::Error>;

/// The place of one session of one project.
#[derive(Debug)]
pub(crate) struct Place {
    socket: PathBuf,
    lock: PathBuf,
}

impl Place {
    /// That of a project's session.
    pub(crate) fn of(root: &Path, name: &SessionName) -> Result<Self, AnyError> {
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
    pub(crate) fn lock(&self) -> Result<File, AnyError> {
        loop {
            let lock = File::create(&self.lock)
                .map_err(|error| format!("open {}: {error}", self.lock.display()))?;
            flock(&lock, FlockOperation::LockExclusive)?;
            // One that was swept away meanwhile keeps nobody out.
            let is_there = std::fs::symlink_metadata(&self.lock);
            let own = lock.metadata()?;
            if is_there.is_ok_and(|there| (there.dev(), there.ino()) == (own.dev(), own.ino())) {
                return Ok(lock);
            }
        }
    }

    /// The way to the process that keeps the session. A socket that one left that was killed goes.
    pub(crate) fn find(&self) -> Result<Option<UnixStream>, AnyError> {
        match UnixStream::connect(&self.socket) {
            Ok(line) if is_trusted(&line) => Ok(Some(line)),
            Ok(_) => {
                Err(format!("{} is another user's, or a sandbox's", self.socket.display()).into())
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                self.remove()?;
                Ok(None)
            }
            Err(error) => Err(format!("connect to {}: {error}", self.socket.display()).into()),
        }
    }

    /// Makes the socket.
    pub(crate) fn bind(&self) -> Result<UnixListener, AnyError> {
        UnixListener::bind(&self.socket)
            .map_err(|error| format!("make {}: {error}", self.socket.display()).into())
    }

    /// The way to whoever will listen at the socket.
    pub(crate) fn connect(&self) -> Result<UnixStream, AnyError> {
        UnixStream::connect(&self.socket)
            .map_err(|error| format!("connect to {}: {error}", self.socket.display()).into())
    }

    /// Takes the socket away.
    pub(crate) fn remove(&self) -> Result<(), AnyError> {
        std::fs::remove_file(&self.socket)
            .map_err(|error| format!("remove {}: {error}", self.socket.display()).into())
    }
}
