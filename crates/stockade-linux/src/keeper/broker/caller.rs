//! Who makes a call: its memory, its folders, its mask, and what of `/proc` is its own.

use core::cell::Cell;

use super::super::proclist::Path;
use super::super::sys::mounts::O_PATH;
use super::super::sys::notices::{self, Notice};
use super::super::sys::{self, AT_FDCWD, Errno, Fd, Pid, names};
use super::owned::Owned;

/// `PATH_MAX`, its NUL included.
pub(super) const PATH_MAX: usize = 4096;
/// `PROC_SUPER_MAGIC` of `linux/magic.h`.
const PROC: u32 = 0x9fa0;

/// What is the same for all callers.
pub(super) struct Machine {
    proc: Owned,
    device: (u32, u32),
    /// Devices that are known to be no `/proc`.
    ordinary: [Cell<Option<(u32, u32)>>; 8],
}

impl Machine {
    /// Opens the box's list of processes.
    pub(super) fn new() -> sys::Result<Self> {
        let proc = Owned::new(sys::mounts::handle(c"/proc")?);
        if names::file_system(proc.number())?.kind != PROC {
            return Err(Errno::NOENT);
        }
        // What is read for every call must be readable under the rules of the box.
        sys::close(sys::open(proc.number(), c"self/status")?);
        let device = proc.stat()?.identity.0;
        Ok(Self { proc, device, ordinary: [const { Cell::new(None) }; 8] })
    }

    /// Whether something is in a `/proc`, this or another.
    pub(super) fn is_process_list(&self, thing: &Owned) -> sys::Result<bool> {
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

    /// Whether something is in the box's own `/proc`.
    pub(super) fn is_own_list(&self, thing: &Owned) -> sys::Result<bool> {
        Ok(thing.stat()?.identity.0 == self.device)
    }

    /// Opens what a handle of this process names, as the flags say.
    pub(super) fn open_again(&self, handle: &Owned, flags: usize) -> sys::Result<Owned> {
        let path = Path::new().text("self/fd/").number(handle.number());
        path.open_as(self.proc.number(), flags).map(Owned::new)
    }

    /// A name for what a handle of this process names, if links are followed.
    pub(super) fn name_of(&self, handle: &Owned) -> (Fd, Path) {
        (self.proc.number(), Path::new().text("self/fd/").number(handle.number()))
    }
}

/// A thread that waits for the answer to one call.
pub(super) struct Caller<'a> {
    /// What is the same for all.
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

    fn thread(&self) -> Pid {
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
            // One that cannot be looked at can make nothing.
            _ => Errno::ACCES,
        })
    }

    /// The folder that relative paths start from: a descriptor of the caller, or its own.
    pub(super) fn folder(&self, descriptor: u64) -> sys::Result<Owned> {
        let path = Path::new().number(self.thread());
        let number = descriptor_number(descriptor);
        if number == AT_FDCWD {
            return path.text("/cwd").open_as(self.machine.proc.number(), O_PATH).map(Owned::new);
        }
        self.opened(number)
    }

    /// What a descriptor of the caller names.
    pub(super) fn opened(&self, number: Fd) -> sys::Result<Owned> {
        if number < 0 {
            return Err(Errno::BADF);
        }
        let path = Path::new().number(self.thread()).text("/fd/").number(number);
        let opened = path.open_as(self.machine.proc.number(), O_PATH).map(Owned::new);
        opened.map_err(|errno| if errno == Errno::NOENT { Errno::BADF } else { errno })
    }

    /// A copy of a descriptor of the caller.
    pub(super) fn descriptor(&self, number: u64) -> sys::Result<Owned> {
        let leader = self.status()?.leader;
        notices::take_descriptor(self.thread(), leader, number).map(Owned::new)
    }

    /// Takes on the caller's mask for what is made next.
    pub(super) fn use_mask(&self) -> sys::Result<()> {
        let mask = self.status()?.mask;
        sys::umask(mask);
        Ok(())
    }

    /// Whether a folder is what the caller itself finds at `/proc/self` or `/proc/thread-self`, or
    /// the folder of descriptors there. Only there are links and files of `/proc` followed and
    /// opened for it: the broker may look at more than the caller may, itself not least.
    pub(super) fn owns(&self, folder: Fd) -> sys::Result<bool> {
        let identity = sys::stat(folder, c"".as_ptr().cast())?.identity;
        for path in self.own_folders()? {
            for path in [Path::new().bytes(path.as_bytes()), path.text("/fd")] {
                let own = path.open_as(self.machine.proc.number(), O_PATH).map(Owned::new)?;
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

    fn status(&self) -> sys::Result<Status> {
        let path = Path::new().number(self.thread()).text("/status");
        let file = Owned::new(path.open(self.machine.proc.number())?);
        let mut text = [0; 512];
        let len = sys::read(file.number(), &mut text)?;
        Status::parse(text.get(..len).unwrap_or(&[])).ok_or(Errno::ACCES)
    }
}

/// A descriptor argument: the kernel takes its low half.
#[expect(clippy::as_conversions, reason = "the low half is a signed number")]
#[expect(clippy::cast_possible_truncation, reason = "the low half is a signed number")]
pub(super) const fn descriptor_number(argument: u64) -> Fd {
    argument as Fd
}

/// What `status` says that matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) mask: usize,
    pub(super) leader: Pid,
}

impl Status {
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
    fn the_mask_and_the_leader_are_read_whatever_the_name() {
        let text = b"Name:\tUmask:\\nTgid:\t9\nUmask:\t0027\nState:\tR\nTgid:\t4711\nNgid:\t0\n";
        assert_eq!(Status::parse(text), Some(Status { mask: 0o27, leader: 4711 }));
        assert_eq!(Status::parse(b"Name:\tx\nUmask:\t0099\nTgid:\t1\n"), None);
        assert_eq!(Status::parse(b"Name:\tx\n"), None);
    }
}
