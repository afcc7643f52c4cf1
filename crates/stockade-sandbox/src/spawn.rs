//! The shim as the host sees it: an embedded program, loaded once, spawned for every run.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;
use std::{env, thread};

use rustix::event::Timespec;
use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};

use crate::channel::Channel;
use crate::jail::encode::{EncodedPlan, PerBoxFds};
use crate::pidfd::{ends_within, kill};
use crate::protocol::step::Step;
use crate::protocol::{Request, form};
use crate::start::{At, StartError, supervisor};
use crate::teardown::Teardown;

pub(crate) static PROGRAM: &[u8] = include_bytes!(env!("STOCKADE_SHIM"));

/// A shim's process. Dropping it waits for its end, and makes sure of it.
#[derive(Debug)]
pub(crate) struct ShimProcess {
    pid: Pid,
    pidfd: OwnedFd,
}

impl ShimProcess {
    /// Starts a shim that listens on this end of the control socket.
    pub(crate) fn spawn(control: &OwnedFd) -> Result<Self, StartError> {
        let spawned = match image().and_then(|image| execute(image, control)) {
            Err(error) if is_refused(&error) => {
                file_image().and_then(|image| execute(image, control))
            }
            other => other,
        };
        spawned.at(Step::SpawnShim)
    }
}

impl ShimProcess {
    // A shim gives up on a tree after five seconds.
    const PATIENCE: Timespec = Timespec { tv_sec: 6, tv_nsec: 0 };

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.pid.as_raw_pid().unsigned_abs()
    }
}

impl Drop for ShimProcess {
    fn drop(&mut self) {
        if !ends_within(&self.pidfd, &Self::PATIENCE) {
            // Stopped or stuck. Whatever it holds dies with it by its parent-death signal.
            kill(&self.pidfd);
        }
        reap(&self.pidfd);
    }
}

/// A shim that was started and makes nothing yet. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct StartingShim {
    // Closed first when dropped, so that the shim ends before it is waited for.
    control: Channel,
    shim: ShimProcess,
}

impl StartingShim {
    /// Starts a shim without a request.
    pub(crate) fn unasked() -> Result<Self, StartError> {
        let (control, far) = Channel::pair().at(Step::OpenControl)?;
        Ok(Self { control, shim: ShimProcess::spawn(&far)? })
    }

    /// Sends it the request for a program or a sandbox.
    pub(crate) fn ask(
        &self,
        request: &Request,
        rights: &[BorrowedFd<'_>],
    ) -> Result<(), StartError> {
        #[cfg(feature = "fault-injection")]
        return crate::step_trace::with_current(request, rights, |request, rights| {
            self.control.send(request, rights).at(Step::SendRequest)
        });
        #[cfg(not(feature = "fault-injection"))]
        self.control.send(request, rights).at(Step::SendRequest)
    }

    /// Its control channel.
    pub(crate) fn channel(&self) -> &Channel {
        &self.control
    }

    /// The control channel and the process.
    pub(crate) fn into_parts(self) -> (Channel, ShimProcess) {
        (self.control, self.shim)
    }

    /// Starts a shim for a sandbox.
    pub(crate) fn begin() -> Result<Self, StartError> {
        let shim = Self::unasked()?;
        let supervisor = supervisor()?;
        let request = Request { form: form::BOXED, descriptors: 1, ..Request::empty() };
        shim.ask(&request, &[supervisor.as_fd()])?;
        Ok(shim)
    }

    /// Lets it make a sandbox.
    pub(crate) fn make_sandbox(
        self,
        plan: &EncodedPlan<'_>,
        fds: &PerBoxFds<'_>,
    ) -> Result<Teardown, StartError> {
        let packed = plan.with_fds(fds).at(Step::PrepareBox)?;
        self.control.send(&packed.plan, &packed.descriptors()).at(Step::SendRequest)?;
        let (control, shim) = (Some(self.control), Some(self.shim));
        Ok(Teardown { control, shim, ..Teardown::default() })
    }
}

/// Executes an image of the shim, whose standard input is this end of the control socket.
///
/// The standard library spawns by `CLONE_VM | CLONE_VFORK`, so that the cost does not grow with the
/// memory of the host.
#[expect(clippy::disallowed_methods, reason = "the one place that spawns a shim")]
fn execute(image: &OwnedFd, control: &OwnedFd) -> io::Result<ShimProcess> {
    // Both are above the streams, which are replaced in the child.
    let control = clear_of_stdio(control)?;
    let mut command = Command::new(format!("/proc/self/fd/{}", image.as_raw_fd()));
    command.arg0("stockade-shim").env_clear();
    let child = command.stdin(control).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let pid = Pid::from_child(&child);
    let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
    Ok(ShimProcess { pid, pidfd })
}

/// Reaps a child. Fails if the host ignores SIGCHLD, and then there is nothing to reap.
fn reap(pidfd: &OwnedFd) {
    let id = WaitId::PidFd(pidfd.as_fd());
    while let Err(Errno::INTR) = waitid(id.clone(), WaitIdOptions::EXITED) {}
}

/// Returns whether memory files cannot be made or executed, as with `vm.memfd_noexec=2` or by a security
/// module.
fn is_refused(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// The shim as a sealed memory file, made once.
fn image() -> io::Result<&'static OwnedFd> {
    static IMAGE: OnceLock<OwnedFd> = OnceLock::new();
    once(&IMAGE, || clear_of_stdio(memory_file()?))
}

fn memory_file() -> io::Result<File> {
    const NAME: &str = "stockade-shim";
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = match memfd_create(NAME, flags | MemfdFlags::EXEC) {
        // The flag is known since Linux 6.3.
        Err(Errno::INVAL) => memfd_create(NAME, flags),
        other => other,
    };
    let mut file = File::from(file?);
    file.write_all(PROGRAM)?;
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    fcntl_add_seals(&file, seals)?;
    Ok(file)
}

/// The shim as a file without a name, made once, where memory files cannot be executed.
fn file_image() -> io::Result<&'static OwnedFd> {
    static IMAGE: OnceLock<OwnedFd> = OnceLock::new();
    once(&IMAGE, || {
        let folders = [env::temp_dir(), "/dev/shm".into(), "/tmp".into(), "/var/tmp".into()];
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

/// Fills a file that only its owner can reach and that never had a name, and opens it for reading. One
/// with a name could be changed by a sandboxed program before it is executed.
fn nameless_file(folder: &Path) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
    let mut writer = File::from(rustix::fs::open(folder, flags, Mode::RWXU)?);
    writer.write_all(PROGRAM)?;
    File::open(format!("/proc/self/fd/{}", writer.as_raw_fd()))
}

/// Executes the file once, to find a folder that allows it.
///
/// Another thread that forks at the wrong moment holds the writer for a while (ETXTBSY).
fn proven(file: &OwnedFd) -> io::Result<()> {
    const ATTEMPTS: u32 = 20;
    for _ in 0..ATTEMPTS {
        // Without a control socket the shim ends at once.
        let nothing = OwnedFd::from(File::open("/dev/null")?);
        match execute(file, &nothing) {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                thread::sleep(Duration::from_millis(2));
            }
            other => return other.map(drop),
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
