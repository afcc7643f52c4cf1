//! Where the session host listens, and how it is started.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};
use stockade::confine::{runtime_folder, state_folder};
use stockade::launch::{PeerDifference, peer_difference, peer_uid};

use super::SessionError;

/// The folder for the socket of the host, and the paths in it.
#[derive(Debug)]
pub(super) struct HostPlace {
    socket: PathBuf,
    lock: PathBuf,
}

impl HostPlace {
    pub(super) fn find() -> Result<Self, SessionError> {
        Ok(Self::in_folder(&folder()?))
    }

    pub(super) fn in_folder(folder: &Path) -> Self {
        Self { socket: folder.join("host.socket"), lock: folder.join("host.lock") }
    }

    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Waits until nobody else starts or ends the host.
    pub(super) fn lock(&self) -> Result<File, SessionError> {
        let lock = File::create(&self.lock)
            .map_err(|error| format!("open {}: {error}", self.lock.display()))?;
        flock(&lock, FlockOperation::LockExclusive)
            .map_err(|errno| format!("lock {}: {errno}", self.lock.display()))?;
        Ok(lock)
    }

    /// A connection to the host, if there is one.
    pub(super) fn connect(&self) -> Result<Option<OwnedFd>, SessionError> {
        let fail = |error: &dyn std::fmt::Display| {
            format!("connect to the session host at {}: {error}", self.socket.display())
        };
        let line = unix_socket().map_err(|errno| fail(&errno))?;
        let address = SocketAddrUnix::new(&self.socket).map_err(|errno| {
            let why = fail(&errno);
            format!("{why}\nhint: set XDG_RUNTIME_DIR to a private folder with a shorter path")
        })?;
        match connect(&line, &address) {
            Ok(()) => {}
            Err(Errno::NOENT | Errno::CONNREFUSED) => return Ok(None),
            Err(errno) => return Err(fail(&errno).into()),
        }
        match is_ours(&line) {
            Ok(true) => {}
            Ok(false) => return Err(fail(&"it is another user's").into()),
            Err(error) => return Err(fail(&format!("whose it is cannot be told: {error}")).into()),
        }
        // Where a sandbox can make files, it can make a socket, and would hand out namespaces of its own.
        match peer_difference(&line) {
            Ok(None) => Ok(Some(line)),
            Ok(Some(PeerDifference::Mounts)) => {
                let why = fail(&"it sees other mounts than this command");
                Err(format!("{why}\nhint: {OTHER_FOLDER_HINT}").into())
            }
            Ok(Some(PeerDifference::Filters | PeerDifference::NoNewPrivileges)) => {
                let why = fail(&"it and this command are not in the same sandbox");
                Err(format!("{why}\nhint: {OTHER_FOLDER_HINT}").into())
            }
            Err(error) => {
                let why = fail(&format!("its process cannot be looked at: {error}"));
                Err(format!("{why}\nhint: {UNSEEN_HINT}").into())
            }
        }
    }

    /// A connection to the host, which is started if there is none.
    pub(super) fn connect_or_start(&self) -> Result<OwnedFd, SessionError> {
        if let Some(line) = self.connect()? {
            return Ok(line);
        }
        let _lock = self.lock()?;
        // Somebody else may have been quicker.
        if let Some(line) = self.connect()? {
            return Ok(line);
        }
        self.start()?;
        let line = self.connect()?;
        line.ok_or_else(|| "connect to the session host: it has ended at once".into())
    }

    /// Starts the host, under the lock. It takes what comes over a socket that is there before it, so that
    /// nobody has to wait for it.
    fn start(&self) -> Result<(), SessionError> {
        match std::fs::remove_file(&self.socket) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(format!("remove {}: {error}", self.socket.display()).into()),
        }
        let listener = self.listen()?;
        let program =
            std::env::current_exe().map_err(|error| format!("find our own program: {error}"))?;
        #[expect(clippy::disallowed_methods, reason = "it is this program again")]
        let mut command = Command::new(program);
        command.arg("session-host").current_dir("/").env_clear();
        // Where it finds its folder.
        let kept = ["XDG_RUNTIME_DIR", "XDG_STATE_HOME", "HOME"];
        command.envs(kept.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.stdin(Stdio::from(listener)).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map_err(|error| format!("start the session host: {error}"))?;
        Ok(())
    }

    /// Creates the socket at which the host listens.
    pub(super) fn listen(&self) -> Result<OwnedFd, SessionError> {
        let listener = unix_socket()?;
        let bound = SocketAddrUnix::new(&self.socket).and_then(|address| {
            bind(&listener, &address)?;
            listen(&listener, BACKLOG)
        });
        bound.map_err(|errno| format!("make {}: {errno}", self.socket.display()))?;
        Ok(listener)
    }
}

/// How many connections may wait for the host.
const BACKLOG: i32 = 128;

fn unix_socket() -> rustix::io::Result<OwnedFd> {
    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
}

/// What to do where the host of this folder is not for this command.
const OTHER_FOLDER_HINT: &str = "set XDG_RUNTIME_DIR to another folder for one of the two";

/// The same where nothing can be told of its process.
const UNSEEN_HINT: &str = "/proc must not hide processes (hidepid), and before Linux 6.5 each of the two must \
                           be visible in the pid namespace of the other; a host of an older version ends by \
                           itself once it keeps no session";

/// Whether the other end belongs to this user.
fn is_ours(line: impl AsFd) -> io::Result<bool> {
    Ok(peer_uid(line)? == rustix::process::geteuid().as_raw())
}

/// Whether the other end is a process of this user that is in no sandbox, or in the same one as this process.
/// One of which that cannot be told is not.
pub(crate) fn is_trusted(line: impl AsFd) -> bool {
    is_ours(&line).unwrap_or(false) && matches!(peer_difference(line), Ok(None))
}

/// Has the kernel name this process as the one that listens, and not the one that has made the listener.
pub(crate) fn take_over(listener: impl AsFd) -> io::Result<()> {
    Ok(listen(listener, BACKLOG)?)
}

/// The bits of a mode that are the rights of others.
const OTHERS_BITS: u32 = 6;

/// The folder of this user for sockets, which only this user can enter.
fn folder() -> Result<PathBuf, SessionError> {
    let state = || Some(state_folder()?.join("sessions"));
    let folder = runtime_folder().map(|path| path.join("stockade")).or_else(state);
    let folder = folder.ok_or("find a place for sessions: there is no home folder")?;
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    made.map_err(|error| format!("make {}: {error}", folder.display()))?;
    let found = std::fs::symlink_metadata(&folder)
        .map_err(|error| format!("look at {}: {error}", folder.display()))?;
    let is_private = found.is_dir()
        && found.uid() == rustix::process::geteuid().as_raw()
        && found.mode().trailing_zeros() >= OTHERS_BITS;
    if !is_private {
        let why = "it is not a private folder of this user";
        return Err(format!("keep sessions in {}: {why}", folder.display()).into());
    }
    Ok(folder)
}
