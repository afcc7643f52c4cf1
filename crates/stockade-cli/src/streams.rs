//! The streams of this process, passed to a program and back as they come.

use std::io::{self, IsTerminal, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fs::{FileType, Stat, fstat, major, minor};
use rustix::io::Errno;
use stockade::StdinWriter;

use crate::print;

/// Whether standard input has anything for a program: a terminal is the person's, and `/dev/null` is
/// nothing.
pub(crate) fn has_input() -> bool {
    let stdin = io::stdin();
    !stdin.is_terminal() && fstat(stdin).is_ok_and(|stat| !is_null(&stat))
}

/// Whether standard output and standard error are the same file, pipe or terminal, so that their order
/// can be seen.
pub(crate) fn is_one_output() -> bool {
    let (stdout, stderr) = (fstat(io::stdout()), fstat(io::stderr()));
    let file = |stat: Stat| (stat.st_dev, stat.st_ino);
    stdout.is_ok_and(|stdout| stderr.is_ok_and(|stderr| file(stdout) == file(stderr)))
}

/// Whether a file is `/dev/null`.
pub(crate) fn is_null(stat: &Stat) -> bool {
    let is_device = FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice;
    is_device && (major(stat.st_rdev), minor(stat.st_rdev)) == (1, 3)
}

/// What ends the input of a terminal.
pub(crate) const END_OF_TRANSMISSION: &[u8] = b"\x04";

/// A thread that passes standard input on. Dropping it ends the thread: nothing of what comes later is
/// taken from whoever reads it next.
pub(crate) struct InputPump {
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl InputPump {
    /// Passes standard input on, and these bytes at its end.
    pub(crate) fn start(writer: StdinWriter, end: &'static [u8]) -> io::Result<Self> {
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let own = Arc::clone(&stop);
        let pass = move || pass(writer, end, &own);
        let thread = thread::Builder::new().name("stdin".to_owned()).spawn(pass)?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for InputPump {
    fn drop(&mut self) {
        let woken = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
        if let (Ok(_), Some(thread)) = (woken, self.thread.take())
            && thread.is_finished()
        {
            // A panic there has been printed.
            let _panicked = thread.join().is_err();
        }
    }
}

fn pass(mut writer: StdinWriter, end: &'static [u8], stop: &OwnedFd) {
    let mut bytes = vec![0; PIECE_BYTES];
    loop {
        let stdin = io::stdin();
        let mut polled = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
        match poll(&mut polled, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
        let [input, stopped] = polled.map(|fd| !fd.revents().is_empty());
        if stopped {
            return;
        }
        if !input {
            continue;
        }
        match rustix::io::read(&stdin, &mut bytes) {
            Ok(0) => {
                // A program that reads no more does not have to know.
                let _unread = writer.write_all(end).is_err();
                return;
            }
            Ok(length) => {
                let piece = bytes.get(..length).unwrap_or_default();
                if writer.write_all(piece).is_err() {
                    // The program reads no more.
                    return;
                }
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => {
                print::note(&format!("standard input cannot be read any further: {error}"));
                return;
            }
        }
    }
}

/// How much input is read at once.
const PIECE_BYTES: usize = 64 << 10;
