//! The two processes of a command with a session: the front end, which the caller has started, and the
//! supervisor, which makes the calls and may stay after them.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::process::{Pid, WaitOptions, waitpid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use stockade::launch::{ForkSide, fork_supervisor, take_inherited};

use super::membership::Waits;
use crate::Answer;
use crate::exit_code::Status;
use crate::signals::Interrupts;

/// The front end, as its supervisor sees it.
pub(crate) struct FrontEnd {
    socket: Arc<OwnedFd>,
    /// Whether it may exit.
    is_released: Arc<AtomicBool>,
    pub(crate) waits: Waits,
    /// Where the directory is told in which a line has ended.
    folder: Mutex<Option<File>>,
    stay: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

/// Makes calls in a process of their own, which stays as long as they have left something running. This
/// one waits for the end of the calls only, and passes signals on. The directory in which a line has ended
/// is told to this descriptor.
pub(crate) fn supervised(folder_fd: Option<u8>, work: impl FnOnce(&FrontEnd) -> Answer) -> Answer {
    match fork_supervisor().map_err(|error| format!("start a supervisor: {error}"))? {
        ForkSide::FrontEnd { supervisor, socket } => wait_for(supervisor, socket),
        ForkSide::Supervisor(socket) => {
            let folder = Mutex::new(take_inherited(folder_fd)?.map(File::from));
            let (socket, is_released) = (Arc::new(socket), Arc::default());
            let (waits, stay) = (Waits::default(), Mutex::default());
            let front_end = FrontEnd { socket, is_released, waits, folder, stay };
            let status = work(&front_end)?;
            front_end.release(status)
        }
    }
}

impl FrontEnd {
    /// Tells the shell of the agent the directory in which the line has ended, which it then enters, too. A
    /// last component of `.` keeps a name whole that ends in a newline.
    pub(crate) fn tell_folder(&self, folder: Option<&Path>) {
        let pipe = self.folder.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(mut pipe), Some(folder)) = (pipe, folder) {
            // A reader that is gone needs no directory.
            let _gone = pipe.write_all(folder.join(".").as_os_str().as_bytes()).is_err();
        }
    }

    /// Lets signals to the front end, and its end, end the calls here.
    pub(crate) fn interrupts(&self, interrupts: &Interrupts) -> io::Result<()> {
        let (socket, interrupts) = (Arc::clone(&self.socket), interrupts.clone());
        let is_released = Arc::clone(&self.is_released);
        let listen = move || {
            let mut word = [0];
            loop {
                match recv(&*socket, &mut word, RecvFlags::empty()) {
                    Ok((1.., _)) => interrupts.relay(i32::from(word[0])),
                    Err(rustix::io::Errno::INTR) => {}
                    Ok(_) | Err(_) if is_released.load(Ordering::SeqCst) => return,
                    // Somebody has killed it.
                    Ok(_) | Err(_) => return interrupts.relay(SIGHUP),
                }
            }
        };
        thread::Builder::new().name("front-end".to_owned()).spawn(listen).map(drop)
    }

    /// Has this process do something more when the front end is gone.
    pub(crate) fn stay_for(&self, work: impl FnOnce() + Send + 'static) {
        *self.stay.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(work));
    }

    /// Lets the front end exit, and stays for what is left running.
    fn release(&self, status: Status) -> Answer {
        let stay = self.stay.lock().unwrap_or_else(PoisonError::into_inner).take();
        if stay.is_none() && !self.waits.is_any() {
            return Ok(status);
        }
        // A terminal of the caller is theirs alone from here on.
        rustix::process::setsid()?;
        let_go_of_streams()?;
        std::env::set_current_dir("/")?;
        self.is_released.store(true, Ordering::SeqCst);
        send(&*self.socket, &[status.code()], SendFlags::NOSIGNAL)?;
        if let Some(stay) = stay {
            stay();
        }
        self.waits.wait();
        Ok(Status::Ok)
    }
}

/// Has this process no streams.
pub(super) fn let_go_of_streams() -> io::Result<()> {
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&nothing)?;
    dup2_stdout(&nothing)?;
    dup2_stderr(&nothing)?;
    Ok(())
}

/// Waits until the supervisor has made its calls.
fn wait_for(supervisor: Pid, socket: OwnedFd) -> Answer {
    let own = Arc::new(socket);
    let passing = Arc::clone(&own);
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let pass = move || {
        for signal in signals.forever() {
            let word = [u8::try_from(signal).unwrap_or(0)];
            // One that is gone has ended.
            let _gone = send(passing.as_fd(), &word, SendFlags::NOSIGNAL).is_err();
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(pass)?;
    let mut word = [0];
    loop {
        match recv(&*own, &mut word, RecvFlags::empty()) {
            Ok((1.., _)) => return Ok(Status::Program(word[0])),
            Err(rustix::io::Errno::INTR) => {}
            Ok(_) | Err(_) => break,
        }
    }
    let ended = waitpid(Some(supervisor), WaitOptions::empty())?;
    let status = ended.map(|(_, status)| status);
    let code = status.and_then(|status| {
        let code = status.exit_status();
        code.or_else(|| status.terminating_signal().map(|signal| signal.saturating_add(128)))
    });
    Ok(Status::Program(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(125)))
}
