//! A keeper that is spawned while this process goes on.
//!
//! It begins as a process that shares this one's memory, as `posix_spawn(3)` has it, so that the cost
//! does not grow with the host; but nobody waits until it has executed the keeper's program. Until
//! then it makes system calls and touches nothing but its own stack.

#![expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "registers are words: what goes into a system call is converted here"
)]

mod image;

use std::ffi::{CStr, c_int, c_uint, c_void};
use std::hint::spin_loop;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use rustix::thread::{CpuSet, Timespec, futex, sched_setaffinity};

use crate::control::GENEROUS;
use crate::keeper::cloning::{Cloning, clone_and_call};
use crate::keeper::raw::system_call;
use crate::keeper::wire::PROCESSOR_WORDS;
use crate::whereabouts::{Where, other_processors, words_of};

pub(crate) use self::image::{Image, sealed};
use self::image::{blank_file, fill, memory_file};

/// The process. Dropping it waits until it has left this memory.
#[derive(Debug)]
pub(crate) struct Spawning {
    pid: Pid,
    pidfd: OwnedFd,
    room: Room,
    left: Option<usize>,
}

impl Spawning {
    /// Begins to execute an image, whose standard input is this end of the control socket.
    pub(crate) fn begin(image: Image, control: BorrowedFd<'_>, place: Where) -> io::Result<Self> {
        // Its streams take the places of the host's.
        let control = fcntl_dupfd_cloexec(control, FIRST_AFTER_STDERR)?;
        let others = match place {
            Where::Anywhere => None,
            Where::Elsewhere => other_processors(),
        };
        let blank = match (image, &others) {
            // What goes wrong with it will go wrong with its own, which is told.
            (Image::Bytes(_), Some(_)) => blank_file().ok(),
            // On one processor, who looks for the word keeps the other from giving it.
            (Image::Bytes(_), None) | (Image::There(_), _) => None,
        };
        let room = Room::new(image, blank.as_ref(), control.as_raw_fd(), others.as_ref())?;
        let begun = Self::begin_in(room, others)?;
        if let (Image::Bytes(bytes), Some(blank)) = (image, &blank) {
            // It takes a moment to begin.
            begun.room.fill(blank, bytes);
        }
        Ok(begun)
    }

    /// Begins the process of a room.
    fn begin_in(room: Room, others: Option<(usize, CpuSet)>) -> io::Result<Self> {
        let (left, others) = others.unzip();
        let mut pidfd: c_int = -1;
        let flags = libc::CLONE_VM | libc::CLONE_PIDFD | libc::CLONE_CHILD_CLEARTID | libc::SIGCHLD;
        let mut how = Cloning {
            number: libc::SYS_clone as usize,
            flags: word(flags),
            stack_end: room.errand_at().cast(),
            pidfd: ptr::from_mut(&mut pidfd),
            is_there: room.errand().is_there.as_ptr(),
        };
        // A handler of the host must not run in a process that is not the host.
        let signals = Blocked::all();
        let begun = match clone(&how, &room) {
            // An emulator may know no other such process than one that is waited for.
            Err(libc::EINVAL) => {
                how.flags |= word(libc::CLONE_VFORK);
                room.errand().filling.store(filling::FAILED, Ordering::Relaxed);
                clone(&how, &room)
            }
            other => other,
        };
        drop(signals);
        let pid = begun.map_err(|errno| {
            // Nobody has come who could leave.
            room.errand().is_there.store(0, Ordering::Relaxed);
            io::Error::from_raw_os_error(errno)
        })?;
        room.is_used_by(pid);
        // A wish. It goes by itself if it was run before this thread could go on.
        let _elsewhere = others.map(|others| sched_setaffinity(Some(pid), &others));
        // SAFETY: the kernel has just made it for us.
        let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
        Ok(Self { pid, pidfd, room, left })
    }

    /// The processor that it was told to leave, plus one, as it is told itself; zero is none.
    pub(crate) fn left_processor(&self) -> u64 {
        let number = self.left.and_then(|number| u64::try_from(number).ok());
        number.map_or(0, |number| number.saturating_add(1))
    }

    /// Whether the image is executed already.
    pub(crate) fn is_executed(&self) -> bool {
        let Errand { is_there, errno, .. } = self.room.errand();
        is_there.load(Ordering::Acquire) == 0 && errno.load(Ordering::Relaxed) == 0
    }

    /// Lets go of one that is another process's: nobody ever leaves the copy of its memory here.
    pub(crate) fn leave_to_its_owner(self) {
        std::mem::forget(self.room);
    }

    /// Waits until the image is executed: its process, and a handle on it.
    pub(crate) fn executed(self) -> io::Result<(Pid, OwnedFd)> {
        self.executed_within(&GENEROUS)
    }

    /// The same; one that takes longer was stopped, and is killed.
    pub(crate) fn executed_within(self, patience: &Timespec) -> io::Result<(Pid, OwnedFd)> {
        self.room.await_leaving(patience);
        match self.room.errand().errno.load(Ordering::Relaxed) {
            0 => Ok((self.pid, self.pidfd)),
            errno => {
                reap(&self.pidfd);
                Err(io::Error::from_raw_os_error(errno))
            }
        }
    }
}

/// Waits for the end of a child. Fails if the host ignores SIGCHLD, and then there is nothing to reap.
pub(crate) fn reap(pidfd: &OwnedFd) {
    let id = WaitId::PidFd(pidfd.as_fd());
    while let Err(Errno::INTR) = waitid(id.clone(), WaitIdOptions::EXITED) {}
}

const FIRST_AFTER_STDERR: RawFd = 3;

/// The memory of the process until it executes: a stack, and what it has to do. Dropping it waits until
/// it has left.
#[derive(Debug)]
struct Room(*mut c_void);

// SAFETY: it is a mapping that nobody else knows but the process, which uses the atomic parts alone.
unsafe impl Send for Room {}
// SAFETY: as above.
unsafe impl Sync for Room {}

/// What the process has to do, and how it went.
#[repr(C, align(64))]
struct Errand {
    /// Zero once the process has executed the image or has ended.
    is_there: AtomicU32,
    /// Why the image could not be executed.
    errno: AtomicI32,
    /// The process, once it is known.
    process: AtomicI32,
    image: Image,
    /// The memory file that the host fills with it, if there is one.
    blank: RawFd,
    /// How far it is filled, one of [`filling`].
    filling: AtomicU32,
    control: RawFd,
    /// The host's processor, and those to use instead.
    others: Option<(usize, [u64; PROCESSOR_WORDS])>,
}

/// How far a memory file is filled.
mod filling {
    /// Not all of it.
    pub(super) const BEGUN: u32 = 0;
    /// All of it, and nobody can change it.
    pub(super) const DONE: u32 = 1;
    /// It will not be.
    pub(super) const FAILED: u32 = 2;
}

impl Room {
    const BYTES: usize = 64 << 10;
    const STACK_BYTES: usize = Self::BYTES - size_of::<Errand>();

    fn new(
        image: Image,
        blank: Option<&OwnedFd>,
        control: RawFd,
        others: Option<&(usize, CpuSet)>,
    ) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping where the kernel likes has no effect on others.
        let start =
            unsafe { mmap_anonymous(ptr::null_mut(), Self::BYTES, access, MapFlags::PRIVATE) }?;
        let room = Self(start);
        let errand = Errand {
            is_there: AtomicU32::new(1),
            errno: AtomicI32::new(0),
            process: AtomicI32::new(0),
            image,
            blank: blank.map_or(-1, AsRawFd::as_raw_fd),
            filling: AtomicU32::new(if blank.is_some() { filling::BEGUN } else { filling::FAILED }),
            control,
            others: others.map(|(here, others)| (*here, words_of(others))),
        };
        // SAFETY: it lies at the end of the mapping, aligned as it must be, and is known to nobody yet.
        unsafe { room.errand_at().write(errand) };
        Ok(room)
    }

    /// The errand, beneath which the stack begins.
    fn errand_at(&self) -> *mut Errand {
        self.0.wrapping_byte_add(Self::STACK_BYTES).cast()
    }

    fn errand(&self) -> &Errand {
        // SAFETY: it was written by `new`, and stays as long as the mapping; from then on only its
        // atomic parts change.
        unsafe { &*self.errand_at() }
    }

    /// Fills the memory file, which the process waits for.
    fn fill(&self, blank: &OwnedFd, bytes: &[u8]) {
        let filled = match fill(word(blank.as_raw_fd()), bytes) {
            Ok(()) => filling::DONE,
            Err(_) => filling::FAILED,
        };
        self.errand().filling.store(filled, Ordering::Release);
    }

    /// Says whose it is.
    fn is_used_by(&self, process: Pid) {
        self.errand().process.store(process.as_raw_nonzero().get(), Ordering::Relaxed);
    }

    /// Waits until the process has left, which takes a moment; one that takes longer than this was
    /// stopped, and is killed.
    fn await_leaving(&self, patience: &Timespec) {
        let Errand { is_there: there, errno, process, .. } = self.errand();
        let mut patience = Some(patience);
        while there.load(Ordering::Acquire) != 0 {
            // Woken by the kernel, which clears the word first, or for nothing. Not private: the kernel
            // does not say so either.
            let waited = futex::wait(there, futex::Flags::empty(), 1, patience);
            if waited == Err(Errno::TIMEDOUT) {
                // It is our child, and has not ended, so that nobody else has its number.
                let process = Pid::from_raw(process.load(Ordering::Relaxed));
                let _gone = process.map(|process| kill_process(process, Signal::KILL));
                errno.store(libc::ETIMEDOUT, Ordering::Relaxed);
                patience = None;
            }
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.await_leaving(&GENEROUS);
        // SAFETY: nobody uses it any more.
        let _ours = unsafe { munmap(self.0, Self::BYTES) };
    }
}

/// All signals of this thread, blocked. Dropping it gives them back.
struct Blocked(u64);

impl Blocked {
    fn all() -> Self {
        let mut before = 0;
        // Not by libc, which leaves out the signals that it uses itself.
        Self::set(u64::MAX, &mut before);
        Self(before)
    }

    fn set(mask: u64, before: &mut u64) {
        let (new, old) = (ptr::from_ref(&mask), ptr::from_mut(before));
        // SAFETY: the kernel reads and writes one set of 64 signals each.
        unsafe { libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, new, old, 8) };
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        Self::set(self.0, &mut 0);
    }
}

/// Begins the process, in a room whose errand says all it needs.
fn clone(how: &Cloning, room: &Room) -> Result<Pid, i32> {
    // SAFETY: the stack and the errand are in a mapping of their own, which stays until the process has
    // left; the entry makes system calls only. The kernel writes one descriptor, and clears the word
    // when the process leaves.
    let begun = unsafe { clone_and_call(how, be_keeper, room.errand_at().cast()) };
    checked(begun).and_then(|pid| Pid::from_raw(pid as i32).ok_or(libc::ECHILD))
}

/// The process until it executes. It ends only if that fails.
extern "C" fn be_keeper(errand: *const c_void) -> ! {
    const FAILED: usize = 127;
    // SAFETY: `begin` gives an errand, which stays until this process has left.
    let errand = unsafe { &*errand.cast::<Errand>() };
    if let Err(errno) = execute_in_child(errand) {
        errand.errno.store(errno, Ordering::Relaxed);
    }
    loop {
        let _ended = in_child(libc::SYS_exit_group, [FAILED, 0, 0, 0, 0, 0]);
    }
}

/// Makes its streams what a keeper's are, and executes the image.
fn execute_in_child(errand: &Errand) -> Result<(), i32> {
    const NULL: &CStr = c"/dev/null";
    leave_host_in_child(errand);
    let control = word(errand.control);
    in_child(libc::SYS_dup3, [control, 0, 0, 0, 0, 0])?;
    let here = word(libc::AT_FDCWD);
    let flags = word(libc::O_WRONLY | libc::O_CLOEXEC);
    let null =
        in_child(libc::SYS_openat, [here, NULL.as_ptr().expose_provenance(), flags, 0, 0, 0])?;
    // Above the streams, of which it may be one itself if the host has closed some.
    let above = [null, word(libc::F_DUPFD_CLOEXEC), word(FIRST_AFTER_STDERR), 0, 0, 0];
    let null = in_child(libc::SYS_fcntl, above)?;
    in_child(libc::SYS_dup3, [null, 1, 0, 0, 0, 0])?;
    in_child(libc::SYS_dup3, [null, 2, 0, 0, 0, 0])?;
    let argv = [KEEPER.as_ptr(), ptr::null()];
    let envp = [ptr::null::<u8>()];
    let (path, flags) = (c"".as_ptr().expose_provenance(), word(libc::AT_EMPTY_PATH));
    let tables = [argv.as_ptr().expose_provenance(), envp.as_ptr().expose_provenance()];
    let image = match errand.image {
        Image::There(image) => word(image),
        Image::Bytes(bytes) => match filled_in_child(errand) {
            Some(file) => file,
            None => memory_file(bytes)?,
        },
    };
    in_child(libc::SYS_execveat, [image, path, tables[0], tables[1], flags, 0]).map(drop)
}

/// Goes to another processor if it was put on the host's, and so keeps the host from running.
fn leave_host_in_child(errand: &Errand) {
    let Some((host, others)) = &errand.others else { return };
    let mut here: c_uint = 0;
    let asked =
        in_child(libc::SYS_getcpu, [ptr::from_mut(&mut here).expose_provenance(), 0, 0, 0, 0, 0]);
    if asked.is_ok() && usize::try_from(here) == Ok(*host) {
        let set = [0, size_of_val(others), others.as_ptr().expose_provenance(), 0, 0, 0];
        // It only takes longer otherwise.
        let _stays = in_child(libc::SYS_sched_setaffinity, set);
    }
}

/// The memory file that the host has filled. None if it does not: it may have been stopped, or is gone.
fn filled_in_child(errand: &Errand) -> Option<usize> {
    /// Some times as often as it takes. To yield would be to wait for whoever else wants this processor.
    const LOOKS: u32 = 2000;
    for _ in 0..LOOKS {
        match errand.filling.load(Ordering::Acquire) {
            filling::DONE => return Some(word(errand.blank)),
            filling::FAILED => return None,
            _ => spin_loop(),
        }
    }
    None
}

const KEEPER: &CStr = c"stockade-keeper";

fn word(number: c_int) -> usize {
    number as usize
}

/// One system call, without libc: that has the number of an error in the memory of the host's thread.
fn in_child(number: libc::c_long, args: [usize; 6]) -> Result<usize, i32> {
    // SAFETY: every pointer that is given to this points to what lives in the caller, with a NUL or a
    // null at its end or with its length beside it.
    checked(unsafe { system_call(number as usize, args) })
}

/// What the kernel gave, apart from its errors.
fn checked(result: isize) -> Result<usize, i32> {
    // The last 4095 values are negated error numbers: MAX_ERRNO in linux/err.h.
    if (-4095..0).contains(&result) {
        Err(result.wrapping_neg() as i32)
    } else {
        Ok(result as usize)
    }
}

#[cfg(test)]
mod tests;
