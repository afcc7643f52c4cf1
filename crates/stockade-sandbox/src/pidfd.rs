//! Operations on a pidfd: get the process id, wait for the exit, and kill.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::ioctl::{Updater, ioctl, opcode};
use rustix::process::{Pid, Signal, pidfd_send_signal};

use crate::proc;

/// The process behind a pidfd, as this process would call it.
pub(crate) fn process_of(pidfd: &OwnedFd) -> io::Result<Pid> {
    let number = match asked(pidfd.as_fd()) {
        Ok(number) => Some(number),
        // An older kernel.
        Err(_) => written(pidfd)?,
    };
    let number = number.filter(|number| *number > 0);
    number.and_then(Pid::from_raw).ok_or_else(|| Errno::SRCH.into())
}

/// The number of a process in the `/proc` that this process sees, which may be that of other process
/// namespaces than its own.
pub(crate) fn number_in_proc(pidfd: &OwnedFd) -> io::Result<Pid> {
    let number = written(pidfd)?.filter(|number| *number > 0);
    number.and_then(Pid::from_raw).ok_or_else(|| Errno::SRCH.into())
}

/// Returns whether a process has ended, as far as can be told.
pub(crate) fn has_ended(pidfd: &OwnedFd) -> bool {
    const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut ended = [PollFd::new(pidfd, PollFlags::IN)];
    !matches!(poll(&mut ended, Some(&NOW)), Ok(0))
}

/// Returns whether it is seen to end in this time.
pub(crate) fn ends_within(pidfd: &OwnedFd, patience: &Timespec) -> bool {
    let mut ended = [PollFd::new(pidfd, PollFlags::IN)];
    retry_on_intr(|| poll(&mut ended, Some(patience))).is_ok_and(|ended| ended > 0)
}

/// Sends SIGKILL, which also ends a stopped process. An exited process is fine.
pub(crate) fn kill(pidfd: &OwnedFd) {
    let _gone = pidfd_send_signal(pidfd, Signal::KILL);
}

/// `struct pidfd_info` of `linux/pidfd.h`, as Linux 6.13 has it.
#[derive(Debug, Default)]
#[repr(C)]
struct Information {
    mask: u64,
    cgroup: u64,
    pid: u32,
    others: [u32; 11],
}

const _: () = assert!(size_of::<Information>() == 64);

/// The process id according to the pidfd ioctl.
fn asked(pidfd: BorrowedFd<'_>) -> rustix::io::Result<i32> {
    /// `PIDFD_GET_INFO`.
    const GET: rustix::ioctl::Opcode = opcode::read_write::<Information>(0xff, 11);
    let mut information = Information::default();
    // SAFETY: the number stands for this structure.
    let question = unsafe { Updater::<GET, Information>::new(&mut information) };
    // SAFETY: the kernel fills as much of it as its size in the number says.
    unsafe { ioctl(pidfd, question) }?;
    i32::try_from(information.pid).map_err(|_too_large| Errno::RANGE)
}

/// The process id according to `fdinfo`.
fn written(pidfd: &OwnedFd) -> io::Result<Option<i32>> {
    let text = proc::read(&format!("/proc/self/fdinfo/{}", pidfd.as_raw_fd()))?;
    let number = text.lines().find_map(|line| line.strip_prefix("Pid:"));
    Ok(number.and_then(|number| number.trim().parse().ok()))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rustix::process::{PidfdFlags, pidfd_open};

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "any process will do")]
    fn a_process_has_the_number_that_is_written_and_none_once_it_is_gone() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = Pid::from_child(&child);
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).unwrap();
        assert_eq!(process_of(&pidfd).unwrap(), pid);
        assert_eq!(written(&pidfd).unwrap(), Some(pid.as_raw_nonzero().get()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(process_of(&pidfd).is_err());
    }
}
