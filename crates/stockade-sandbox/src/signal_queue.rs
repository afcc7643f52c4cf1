//! Signals that wait to be read, instead of ending this process.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

/// All signals. The C library leaves out those that it uses itself (32 and 33), and these would end the process;
/// so the kernel is asked directly.
static ALL: u64 = u64::MAX;
/// The size of the kernel's set of signals, which has 64 on all architectures that are supported.
const SET_BYTES: usize = size_of::<u64>();
/// `struct signalfd_siginfo` of `linux/signalfd.h`; the signal is its first word.
const INFO_BYTES: usize = 128;

/// Blocks all signals to this thread, and to those that it starts: they can be read here. `SIGKILL` and `SIGSTOP`
/// cannot be blocked, and a fault of the program itself ends it.
#[derive(Debug)]
pub struct SignalQueue {
    descriptor: OwnedFd,
    before: u64,
}

impl SignalQueue {
    /// Blocks all signals from now on. They stay blocked where this fails.
    pub fn begin() -> io::Result<Self> {
        let before = set_mask(ALL)?;
        let (set, flags) = (&raw const ALL, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        // SAFETY: the kernel reads one set of signals, whose size it is told, from a constant.
        let opened = unsafe { libc::syscall(libc::SYS_signalfd4, -1, set, SET_BYTES, flags) };
        match RawFd::try_from(opened) {
            Ok(descriptor @ 0..) => {
                // SAFETY: the kernel has just opened it, and nothing else knows it.
                let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
                Ok(Self { descriptor, before })
            }
            Ok(_) | Err(_) => Err(io::Error::last_os_error()),
        }
    }

    /// The next signal that has come, if one has.
    pub fn next(&self) -> io::Result<Option<i32>> {
        let mut info = [0; INFO_BYTES];
        match rustix::io::read(&self.descriptor, &mut info) {
            Ok(INFO_BYTES) => {
                let [a, b, c, d, ..] = info;
                Ok(i32::try_from(u32::from_ne_bytes([a, b, c, d])).ok())
            }
            Ok(_) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Lets signals do again what they did before, also those that have come meanwhile.
    pub fn release(self) -> io::Result<()> {
        set_mask(self.before).map(drop)
    }
}

impl AsFd for SignalQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Blocks these signals to this thread and no others; which ones were blocked before.
fn set_mask(mask: u64) -> io::Result<u64> {
    let mut before = 0_u64;
    let (new, old) = (&raw const mask, &raw mut before);
    // SAFETY: the kernel reads one set of signals and writes another, whose size it is told; both outlive the
    // call. No handler is changed.
    let done =
        unsafe { libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, new, old, SET_BYTES) };
    if done == 0 { Ok(before) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signal_that_can_be_blocked_waits_to_be_read() {
        // In a thread of its own: other tests need theirs.
        let tested = std::thread::spawn(|| {
            let queue = SignalQueue::begin().unwrap();
            // SAFETY: integers only.
            let thread = unsafe { libc::syscall(libc::SYS_gettid) };
            // 32 and 33 are the C library's own, and 9 and 19 cannot be blocked.
            for signal in (1..=64).filter(|signal| ![9, 19].contains(signal)) {
                // SAFETY: integers only; the signal is for this thread, which has blocked it.
                let sent =
                    unsafe { libc::syscall(libc::SYS_tgkill, std::process::id(), thread, signal) };
                assert_eq!(sent, 0, "{signal}");
                assert_eq!(queue.next().unwrap(), Some(signal));
            }
            assert_eq!(queue.next().unwrap(), None);
            assert_eq!(set_mask(ALL).unwrap() & (1 << 14), 1 << 14, "SIGTERM is blocked");
            queue.release().unwrap();
            assert_eq!(set_mask(0).unwrap() & (1 << 14), 0, "it is not any more");
        });
        tested.join().unwrap();
    }
}
