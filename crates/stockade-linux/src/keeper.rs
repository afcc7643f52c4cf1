//! The keeper as the host sees it: an embedded program, loaded once, spawned for every run.

pub(crate) mod boxed;
pub(crate) mod cloning;
pub(crate) mod mechanism;
pub(crate) mod raw;
pub(crate) mod step;
pub(crate) mod wire;

// The program's own files are compiled by the build script; here they are only checked.
#[cfg(any(test, clippy))]
mod apply;
#[cfg(any(test, clippy))]
mod broker;
#[cfg(any(test, clippy))]
mod cell;
#[cfg(any(test, clippy))]
mod cgroups;
#[cfg(any(test, clippy))]
mod child;
#[cfg(any(test, clippy))]
mod counter;
#[cfg(any(test, clippy))]
mod early;
#[cfg(any(test, clippy))]
mod first;
#[cfg(any(test, clippy))]
mod gate;
#[cfg(any(test, clippy))]
mod ids;
#[cfg(any(test, clippy))]
mod job;
#[cfg(any(test, clippy))]
mod locks;
#[cfg(any(test, clippy))]
mod processors;
#[cfg(any(test, clippy))]
mod proclist;
#[cfg(any(test, clippy))]
mod program;
#[cfg(any(test, clippy))]
mod root;
#[cfg(any(test, clippy))]
mod sabotage;
#[cfg(any(test, clippy))]
mod sharing;
#[cfg(any(test, clippy))]
mod sources;
#[cfg(any(test, clippy))]
mod sys;
#[cfg(any(test, clippy))]
mod template;
#[cfg(any(test, clippy))]
mod tree;
#[cfg(any(test, clippy))]
mod turns;
#[cfg(any(test, clippy))]
mod ward;
#[cfg(any(test, clippy))]
#[expect(dead_code, reason = "the program starts in main.rs")]
mod watch;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;
use std::{env, thread};

use rustix::event::Timespec;
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::process::Pid;

use self::step::Step;
use crate::pidfd::{ends_within, has_ended, kill};
use crate::spawning::{self, Image, Spawning};
use crate::start::{At, StartError};
use crate::whereabouts::Where;

pub(crate) static PROGRAM: &[u8] = include_bytes!(env!("STOCKADE_KEEPER"));

/// A keeper's process. Dropping it waits for its end, and makes sure of it.
#[derive(Debug)]
pub(crate) struct Keeper {
    pid: Pid,
    pidfd: OwnedFd,
}

/// A keeper that is being started. Dropping it waits for it, and for its end.
#[derive(Debug)]
pub(crate) struct Coming(Option<(Spawning, Option<OwnedFd>)>);

impl Coming {
    /// Starts a keeper that listens on this end of the control socket.
    pub(crate) fn begin(control: OwnedFd, place: Where) -> Result<Self, StartError> {
        let image = match (IMAGE.get(), place) {
            (Some(image), _) => Ok(Image::There(image.as_raw_fd())),
            // It is written while the process begins.
            (None, Where::Elsewhere) => Ok(Image::Bytes(PROGRAM)),
            (None, Where::Anywhere) => match image() {
                Err(error) if is_refused(&error) => file_image(),
                other => other,
            }
            .map(|image| Image::There(image.as_raw_fd())),
        };
        let begin = |image| Spawning::begin(image, control.as_fd(), place);
        let spawning = image.and_then(begin).at(Step::SpawnKeeper)?;
        Ok(Self(Some((spawning, Some(control)))))
    }

    /// The processor that it was told to leave, as it is told itself.
    pub(crate) fn left_processor(&self) -> u64 {
        self.0.as_ref().map_or(0, |(spawning, _)| spawning.left_processor())
    }

    /// Lets go of its end of the control socket as soon as it has it itself: a process that is forked
    /// off this one would hold it, too.
    pub(crate) fn settle(&mut self) {
        if let Some((spawning, control)) = &mut self.0
            && spawning.is_executed()
        {
            *control = None;
        }
    }

    /// Lets go of one that is another process's.
    pub(crate) fn leave_to_its_owner(mut self) {
        if let Some((spawning, control)) = self.0.take() {
            drop(control);
            spawning.leave_to_its_owner();
        }
    }

    /// The keeper, waited for.
    pub(crate) fn there(mut self) -> Result<Keeper, StartError> {
        self.finish().at(Step::SpawnKeeper)
    }

    fn finish(&mut self) -> io::Result<Keeper> {
        let (spawning, control) = self.0.take().ok_or(Errno::SRCH)?;
        let spawned = match spawning.executed() {
            // It has heard nothing of what it was told: that is still in the socket.
            Err(error) if is_refused(&error) => {
                let image = Image::There(file_image()?.as_raw_fd());
                let control = control.ok_or(error)?;
                Spawning::begin(image, control.as_fd(), Where::Anywhere)?.executed()
            }
            other => other,
        };
        spawned.map(|(pid, pidfd)| Keeper { pid, pidfd })
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        // Nobody has asked for it: its end of the line closes with the host's, and it ends by itself.
        let executed = self.0.take().map(|(spawning, _)| spawning.executed_within(&SHORT));
        if let Some(Ok((_, pidfd))) = executed {
            end(&pidfd, &SHORT);
        }
    }
}

/// Whether memory files cannot be made or executed, as with `vm.memfd_noexec=2` or by a security
/// module.
fn is_refused(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

static IMAGE: OnceLock<OwnedFd> = OnceLock::new();

/// The keeper as a sealed memory file, made once.
fn image() -> io::Result<&'static OwnedFd> {
    once(&IMAGE, || clear_of_stdio(&spawning::sealed(PROGRAM)?))
}

/// The keeper as a file without a name, made once, where memory files cannot be executed.
fn file_image() -> io::Result<&'static OwnedFd> {
    static IMAGE: OnceLock<OwnedFd> = OnceLock::new();
    once(&IMAGE, || {
        let folders = [env::temp_dir(), "/dev/shm".into(), "/var/tmp".into()];
        let mut last = io::Error::from(Errno::ACCESS);
        for folder in folders {
            let file = nameless_file(&folder).and_then(|file| clear_of_stdio(&file));
            match file.and_then(|file| proven(&file).map(|()| file)) {
                Ok(file) => return Ok(file),
                Err(error) => last = error,
            }
        }
        Err(last)
    })
}

/// Fills a file that only its owner can reach and that never had a name, and opens it for reading.
fn nameless_file(folder: &Path) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
    match rustix::fs::open(folder, flags, Mode::RWXU) {
        Ok(writer) => {
            let mut writer = File::from(writer);
            writer.write_all(PROGRAM)?;
            File::open(format!("/proc/self/fd/{}", writer.as_raw_fd()))
        }
        // Not every file system has such files.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => unnamed_file(folder),
        Err(errno) => Err(errno.into()),
    }
}

/// The same with a name that it has until it is filled.
fn unnamed_file(folder: &Path) -> io::Result<File> {
    let nonce = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let nonce = nonce.map_or(0, |time| time.as_nanos());
    let path = folder.join(format!(".stockade-keeper-{}-{nonce}", std::process::id()));
    let mut writer = OpenOptions::new().write(true).create_new(true).mode(0o700).open(&path)?;
    let filled = writer.write_all(PROGRAM).and_then(|()| File::open(&path));
    fs::remove_file(&path)?;
    filled
}

/// Executes the file once, to find a folder that allows it.
///
/// Another thread that forks at the wrong moment holds the writer for a while (ETXTBSY).
fn proven(file: &OwnedFd) -> io::Result<()> {
    const ATTEMPTS: u32 = 20;
    for _ in 0..ATTEMPTS {
        // Without a control socket the keeper ends at once.
        let nothing = File::open("/dev/null")?;
        let image = Image::There(file.as_raw_fd());
        let spawning = Spawning::begin(image, nothing.as_fd(), Where::Anywhere)?;
        match spawning.executed() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                thread::sleep(Duration::from_millis(2));
            }
            other => return other.map(|(_, pidfd)| spawning::reap(&pidfd)),
        }
    }
    Err(Errno::TXTBSY.into())
}

/// A copy above standard error, since a spawn replaces what is below.
fn clear_of_stdio(file: impl AsFd) -> io::Result<OwnedFd> {
    const FIRST_AFTER_STDERR: i32 = 3;
    Ok(fcntl_dupfd_cloexec(file, FIRST_AFTER_STDERR)?)
}

fn once(
    cell: &'static OnceLock<OwnedFd>,
    make: impl FnOnce() -> io::Result<OwnedFd>,
) -> io::Result<&'static OwnedFd> {
    if let Some(image) = cell.get() {
        return Ok(image);
    }
    let image = make()?;
    Ok(cell.get_or_init(|| image))
}

impl Keeper {
    // A keeper gives up on a tree after five seconds.
    const PATIENCE: Timespec = Timespec { tv_sec: 6, tv_nsec: 0 };

    /// Whether it has not ended.
    pub(crate) fn is_alive(&self) -> bool {
        !has_ended(&self.pidfd)
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.pid.as_raw_pid().unsigned_abs()
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        end(&self.pidfd, &Self::PATIENCE);
    }
}

/// How long is waited for one that nobody has asked for, and that may have been stopped.
const SHORT: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Waits for the end of a process, and makes sure of it.
fn end(process: &OwnedFd, patience: &Timespec) {
    if !ends_within(process, patience) {
        // Stopped or stuck. What it holds dies with it by its parent-death signal.
        kill(process);
    }
    spawning::reap(process);
}

#[cfg(test)]
mod tests;
