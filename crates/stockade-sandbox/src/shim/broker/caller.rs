//! The caller of a system call: its memory, its folders, its mask, and its own part of `/proc`.

use core::cell::Cell;

use super::super::proclist::Path;
use super::super::sys::mounts::O_PATH;
use super::super::sys::notices::{self, Notice};
use super::super::sys::{self, AT_FDCWD, Errno, Fd, Pid, names};
use super::fds::OwnedFd;

/// `PATH_MAX`, its NUL included.
pub(super) const PATH_MAX: usize = 4096;
/// `PROC_SUPER_MAGIC` of `linux/magic.h`.
const PROC: u32 = 0x9fa0;

/// The state shared by all callers.
pub(super) struct Machine {
    proc: OwnedFd,
    device: (u32, u32),
    /// Devices that are known to be no `/proc`.
    ordinary: [Cell<Option<(u32, u32)>>; 8],
}

impl Machine {
    /// Opens the sandbox's list of processes.
    pub(super) fn new() -> sys::Result<Self> {
        let proc = OwnedFd::new(sys::mounts::handle(c"/proc")?);
        if names::file_system(proc.number())?.kind != PROC {
            return Err(Errno::NOENT);
        }
        // The files read for every call must be readable under the rules of the sandbox.
        sys::close(sys::open(proc.number(), c"self/status")?);
        let device = proc.stat()?.identity.0;
        Ok(Self { proc, device, ordinary: [const { Cell::new(None) }; 8] })
    }

    /// Returns whether something is in a `/proc`, this or another.
    pub(super) fn is_process_list(&self, thing: &OwnedFd) -> sys::Result<bool> {
        let device = thing.stat()?.identity.0;
        if self.ordinary.iter().any(|known| known.get() == Some(device)) {
            return Ok(false);
        }
        let is_proc = names::file_system(thing.number())?.kind == PROC;
        let place = self.ordinary.iter().find(|known| known.get().is_none());
        if let (false, Some(place)) = (is_proc, place) {
            place.set(Some(device));
        }
        Ok(is_proc)
    }

    /// Returns whether something is in the sandbox's own `/proc`.
    pub(super) fn is_own_list(&self, thing: &OwnedFd) -> sys::Result<bool> {
        Ok(thing.stat()?.identity.0 == self.device)
    }

    /// The sandbox's list of processes.
    pub(super) const fn list(&self) -> Fd {
        self.proc.number()
    }

    /// Returns whether a thread is seen to be no longer in the system call of this number: it has
    /// exited, or it waits elsewhere. A running thread may be anywhere.
    pub(super) fn has_left(&self, thread: Pid, call: i32) -> bool {
        let path = Path::new().number(thread).text("/syscall");
        let file = match path.open(self.proc.number()) {
            Ok(file) => OwnedFd::new(file),
            Err(errno) => return errno == Errno::NOENT,
        };
        let mut text = [0; 24];
        match sys::read(file.number(), &mut text) {
            Ok(len) => is_elsewhere(text.get(..len).unwrap_or(&[]), call),
            Err(errno) => errno == Errno::SRCH,
        }
    }

    /// Opens what a handle of this process names, as the flags say.
    pub(super) fn open_again(&self, handle: &OwnedFd, flags: usize) -> sys::Result<OwnedFd> {
        let path = Path::new().text("self/fd/").number(handle.number());
        path.open_as(self.proc.number(), flags).map(OwnedFd::new)
    }

    /// A name for what a handle of this process names, if links are followed.
    pub(super) fn name_of(&self, handle: &OwnedFd) -> (Fd, Path) {
        (self.proc.number(), Path::new().text("self/fd/").number(handle.number()))
    }
}

/// A thread that waits for the answer to one call.
pub(super) struct Caller<'a> {
    /// The state shared by all callers.
    pub(super) machine: &'a Machine,
    /// The call.
    pub(super) notice: Notice,
    listener: Fd,
}

impl<'a> Caller<'a> {
    pub(super) const fn new(machine: &'a Machine, listener: Fd, notice: Notice) -> Self {
        Self { machine, notice, listener }
    }

    /// An argument of the call.
    pub(super) fn arg(&self, index: usize) -> u64 {
        self.notice.args.get(index).copied().unwrap_or(0)
    }

    /// Where the call is answered.
    pub(super) const fn listener(&self) -> Fd {
        self.listener
    }

    /// Where a path of the caller starts, beneath the sandbox's list of processes; nothing for an
    /// absolute one.
    pub(super) fn start_of(&self, folder: u64, path: &[u8]) -> Path {
        let process = Path::new().number(self.thread());
        match descriptor_number(folder) {
            _ if path.first() == Some(&b'/') => Path::new(),
            AT_FDCWD => process.text("/cwd/"),
            number => process.text("/fd/").number(number).text("/"),
        }
    }

    /// The thread that makes the call.
    pub(super) fn thread(&self) -> Pid {
        Pid::try_from(self.notice.thread).unwrap_or(0)
    }

    /// Fails if what was read and opened could be of another process, for this one is gone.
    pub(super) fn is_still_there(&self) -> sys::Result<()> {
        if notices::still_waits(self.listener, self.notice.id) { Ok(()) } else { Err(Errno::INTR) }
    }

    /// Copies a string from the caller's memory, without its NUL.
    pub(super) fn text<'b>(
        &self,
        address: u64,
        buffer: &'b mut [u8; PATH_MAX],
    ) -> sys::Result<&'b [u8]> {
        let len = self.memory(address, buffer)?;
        let read = buffer.get(..len).unwrap_or(&[]);
        let too_long = if len == PATH_MAX { Errno::NAMETOOLONG } else { Errno::FAULT };
        let end = read.iter().position(|byte| *byte == 0).ok_or(too_long)?;
        Ok(read.get(..end).unwrap_or(&[]))
    }

    /// Copies memory of the caller: how many bytes there were.
    pub(super) fn memory(&self, address: u64, into: &mut [u8]) -> sys::Result<usize> {
        notices::read_memory(self.thread(), address, into).map_err(|errno| match errno {
            Errno::FAULT => Errno::FAULT,
            // A caller whose memory cannot be read can create nothing.
            _ => Errno::ACCES,
        })
    }

    /// The folder that relative paths start from: a descriptor of the caller, or its own.
    pub(super) fn folder(&self, descriptor: u64) -> sys::Result<OwnedFd> {
        let path = Path::new().number(self.thread());
        let number = descriptor_number(descriptor);
        if number == AT_FDCWD {
            return path.text("/cwd").open_as(self.machine.proc.number(), O_PATH).map(OwnedFd::new);
        }
        self.opened(number)
    }

    /// Opens what a descriptor of the caller names.
    pub(super) fn opened(&self, number: Fd) -> sys::Result<OwnedFd> {
        if number < 0 {
            return Err(Errno::BADF);
        }
        let path = Path::new().number(self.thread()).text("/fd/").number(number);
        let opened = path.open_as(self.machine.proc.number(), O_PATH).map(OwnedFd::new);
        opened.map_err(|errno| if errno == Errno::NOENT { Errno::BADF } else { errno })
    }

    /// A copy of a descriptor of the caller.
    pub(super) fn descriptor(&self, number: u64) -> sys::Result<OwnedFd> {
        let leader = self.status()?.leader;
        notices::take_descriptor(self.thread(), leader, number).map(OwnedFd::new)
    }

    /// Takes on the caller's mask for what is made next.
    pub(super) fn use_mask(&self) -> sys::Result<()> {
        let mask = self.status()?.mask;
        sys::umask(mask);
        Ok(())
    }

    /// Returns whether a folder is what the caller itself finds at `/proc/self` or `/proc/thread-self`, or
    /// the folder of descriptors there. Only there are links and files of `/proc` followed and
    /// opened for it: the broker may look at more than the caller may, itself not least.
    pub(super) fn owns(&self, folder: Fd) -> sys::Result<bool> {
        let identity = sys::stat(folder, c"".as_ptr().cast())?.identity;
        for path in self.own_folders()? {
            for path in [Path::new().bytes(path.as_bytes()), path.text("/fd")] {
                let own = path.open_as(self.machine.proc.number(), O_PATH).map(OwnedFd::new)?;
                if own.stat()?.identity == identity {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Where `/proc/self` and `/proc/thread-self` lead for the caller.
    pub(super) fn own_folders(&self) -> sys::Result<[Path; 2]> {
        let leader = self.status()?.leader;
        let thread = Path::new().number(leader).text("/task/").number(self.thread());
        Ok([Path::new().number(leader), thread])
    }

    fn status(&self) -> sys::Result<CallerStatus> {
        let path = Path::new().number(self.thread()).text("/status");
        let file = OwnedFd::new(path.open(self.machine.proc.number())?);
        let mut text = [0; 512];
        let len = sys::read(file.number(), &mut text)?;
        CallerStatus::parse(text.get(..len).unwrap_or(&[])).ok_or(Errno::ACCES)
    }
}

/// Returns whether what `syscall` says of a thread is that it waits, and not in this call.
fn is_elsewhere(text: &[u8], call: i32) -> bool {
    let first = text.split(|byte| matches!(byte, b' ' | b'\n')).next().unwrap_or(&[]);
    match first {
        // Not in a call at all.
        b"-1" => true,
        digits if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) => {
            number(digits, 10).and_then(|number| i32::try_from(number).ok()) != Some(call)
        }
        _ => false,
    }
}

/// A descriptor argument: the kernel takes its low half.
#[expect(clippy::as_conversions, reason = "the low half is a signed number")]
#[expect(clippy::cast_possible_truncation, reason = "the low half is a signed number")]
pub(super) const fn descriptor_number(argument: u64) -> Fd {
    argument as Fd
}

/// The fields of `status` that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallerStatus {
    pub(super) mask: usize,
    pub(super) leader: Pid,
}

impl CallerStatus {
    /// The first line has the name, in which the kernel escapes line ends.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let (mut mask, mut leader) = (None, None);
        for line in text.split(|byte| *byte == b'\n') {
            if let Some(digits) = line.strip_prefix(b"Umask:\t") {
                mask = number(digits, 8);
            } else if let Some(digits) = line.strip_prefix(b"Tgid:\t") {
                leader = number(digits, 10).and_then(|leader| Pid::try_from(leader).ok());
            }
            if let (Some(mask), Some(leader)) = (mask, leader) {
                return Some(Self { mask, leader });
            }
        }
        None
    }
}

fn number(digits: &[u8], base: usize) -> Option<usize> {
    digits.iter().try_fold(0_usize, |number, digit| {
        let digit = usize::from(digit.checked_sub(b'0')?);
        number.checked_mul(base)?.checked_add(Some(digit).filter(|digit| *digit < base)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_left_a_call_only_if_it_waits_elsewhere() {
        for (text, expected) in [
            ("257 0xffffff9c 0x7ffd 0x241", false),
            ("61 0xffffffff 0x0", true),
            ("-1 0x7ffd 0x7f00", true),
            ("running\n", false),
            ("", false),
        ] {
            assert_eq!(is_elsewhere(text.as_bytes(), 257), expected, "{text}");
        }
    }

    #[test]
    fn the_mask_and_the_leader_are_read_whatever_the_name() {
        let text = b"Name:\tUmask:\\nTgid:\t9\nUmask:\t0027\nState:\tR\nTgid:\t4711\nNgid:\t0\n";
        assert_eq!(CallerStatus::parse(text), Some(CallerStatus { mask: 0o27, leader: 4711 }));
        assert_eq!(CallerStatus::parse(b"Name:\tx\nUmask:\t0099\nTgid:\t1\n"), None);
        assert_eq!(CallerStatus::parse(b"Name:\tx\n"), None);
    }
}
