//! Pipes with a name that cannot be opened until somebody opens the other end.
//!
//! A call that would wait must not make all others wait, so it is tried again from time to time.

use super::super::sys::{self, Errno, Fd, Poll, notices};
use super::caller::Machine;
use super::fds::OwnedFd;

const WAITING_MAX: usize = 32;
const PAUSE_NS: u64 = 2_000_000;
const O_ACCMODE: usize = 3;
const O_WRONLY: usize = 1;
const O_RDWR: usize = 2;
const O_NONBLOCK: usize = 0o4000;
const O_TRUNC: usize = 0o1000;

/// A call that opens a pipe without a peer.
pub(super) struct DeferredCall {
    id: u64,
    flags: usize,
    /// The flags of the descriptor that the caller gets.
    given: u32,
    /// For a writer, a handle on the pipe and a name that opens it again.
    pipe: OwnedFd,
}

/// The result of opening a pipe.
pub(super) enum Retry {
    /// It is open.
    Open(OwnedFd),
    /// Nobody is at the other end.
    Waits(DeferredCall),
}

/// Opens a pipe without waiting.
pub(super) fn open_pipe(
    machine: &Machine,
    id: u64,
    pipe: OwnedFd,
    flags: usize,
    given: u32,
) -> sys::Result<Retry> {
    if flags & O_NONBLOCK != 0 || flags & O_ACCMODE == O_RDWR {
        return machine.open_again(&pipe, flags).map(Retry::Open);
    }
    if flags & O_ACCMODE == O_WRONLY {
        return match machine.open_again(&pipe, flags | O_NONBLOCK) {
            Ok(open) => with_waiting(open, flags).map(Retry::Open),
            Err(Errno::NXIO) => Ok(Retry::Waits(DeferredCall { id, flags, given, pipe })),
            Err(errno) => Err(errno),
        };
    }
    // A reader is open at once, so that a writer can come; the caller hears of it when one did.
    let open = machine.open_again(&pipe, flags | O_NONBLOCK)?;
    let waiting = DeferredCall { id, flags, given, pipe: open };
    if waiting.has_been_written() {
        return with_waiting(waiting.pipe, flags).map(Retry::Open);
    }
    Ok(Retry::Waits(waiting))
}

impl DeferredCall {
    fn is_writer(&self) -> bool {
        self.flags & O_ACCMODE == O_WRONLY
    }

    fn has_been_written(&self) -> bool {
        let mut polls = [Poll::input(self.pipe.number())];
        sys::poll(&mut polls, Some(0)).is_ok() && polls.iter().any(|poll| poll.revents != 0)
    }
}

fn with_waiting(open: OwnedFd, flags: usize) -> sys::Result<OwnedFd> {
    sys::names::let_wait(open.number(), flags & !(O_ACCMODE | O_TRUNC))?;
    Ok(open)
}

/// All calls that wait.
pub(super) struct DeferredCalls {
    waiting: [Option<DeferredCall>; WAITING_MAX],
}

impl DeferredCalls {
    pub(super) const fn new() -> Self {
        Self { waiting: [const { None }; WAITING_MAX] }
    }

    /// Lets a call wait, if there is room.
    pub(super) fn add(&mut self, waiting: DeferredCall) -> sys::Result<()> {
        let place = self.waiting.iter_mut().find(|place| place.is_none()).ok_or(Errno::AGAIN)?;
        *place = Some(waiting);
        Ok(())
    }

    /// How long until they have to be tried again.
    pub(super) fn time_left_ns(&self) -> Option<u64> {
        self.waiting.iter().any(Option::is_some).then_some(PAUSE_NS)
    }

    /// Tries all again, and forgets those whose caller is gone.
    pub(super) fn retry(&mut self, machine: &Machine, listener: Fd) {
        for place in &mut self.waiting {
            let Some(waiting) = place.take() else { continue };
            if !notices::still_waits(listener, waiting.id) {
                continue;
            }
            let (id, flags, given) = (waiting.id, waiting.flags, waiting.given);
            let tried = if waiting.is_writer() {
                open_pipe(machine, id, waiting.pipe, flags, given)
            } else if waiting.has_been_written() {
                with_waiting(waiting.pipe, flags).map(Retry::Open)
            } else {
                Ok(Retry::Waits(waiting))
            };
            let result = match tried {
                Ok(Retry::Waits(waiting)) => {
                    *place = Some(waiting);
                    continue;
                }
                Ok(Retry::Open(open)) => notices::give(listener, id, open.number(), given),
                Err(errno) => Err(errno),
            };
            // A caller that is gone needs no answer.
            let _gone = notices::answer(listener, id, result);
        }
    }
}
