//! Processes that share the memory of their parent, which saves copying it.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering};

use super::super::cloning::{Cloning, clone_and_call};
use super::{Pid, Result, call, checked, map, nr, sig, unmap};

/// A process that shares this one's memory, on a stack of its own. Its stack stays until it is given
/// back.
pub(crate) struct SharedChild {
    /// Its id.
    pub(crate) pid: Pid,
    stack: *mut u64,
}

const STACK_BYTES: usize = 64 << 10;
/// The size of the word at the end of the stack, which says whether the process is still there.
const WORD_BYTES: usize = 64;

impl SharedChild {
    /// Starts it, in the namespaces that the flags name.
    ///
    /// # Safety
    ///
    /// The entry never returns. It and this process can bear what the other does with the memory; what
    /// the argument points to is there until it has left.
    pub(crate) unsafe fn start(
        namespaces: u64,
        entry: extern "C" fn(*const c_void) -> !,
        argument: *const c_void,
    ) -> Result<Self> {
        const CLONE_VM: usize = 0x100;
        const CLONE_CHILD_CLEARTID: usize = 0x0020_0000;
        let stack = map(None, STACK_BYTES)?;
        let end = stack.wrapping_byte_add(STACK_BYTES - WORD_BYTES);
        word(stack).store(1, Ordering::Relaxed);
        let how = Cloning {
            number: nr::CLONE,
            flags: namespaces as usize | CLONE_VM | CLONE_CHILD_CLEARTID | sig::CHLD,
            stack_end: end.cast(),
            pidfd: core::ptr::null_mut(),
            // The word, which lies where the stack ends.
            is_there: end.cast(),
        };
        // SAFETY: the caller answers for entry and argument; the stack was mapped just now, and ends
        // at a multiple of 16 bytes. The process starts there and never comes back here, so that this
        // frame is used by one process only.
        let started = unsafe { clone_and_call(&how, entry, argument) };
        match checked(started) {
            Ok(pid) => Ok(Self { pid: pid as Pid, stack }),
            Err(errno) => {
                give_back(stack);
                Err(errno)
            }
        }
    }

    /// Waits until it has executed a program or ended, and so uses this memory no more.
    pub(crate) fn await_leaving(self) -> Leftover {
        // The kernel clears the word, and wakes the sleeper.
        sleep_while(word(self.stack), 1);
        Leftover { pid: self.pid, stack: self.stack }
    }
}

/// One that shared this process's memory and does so no more.
pub(crate) struct Leftover {
    /// Its id.
    pub(crate) pid: Pid,
    stack: *mut u64,
}

impl Leftover {
    /// Gives its stack back.
    pub(crate) fn give_back(self) {
        give_back(self.stack);
    }
}

/// Sleeps while a word has this value. A change wakes this process.
pub(crate) fn sleep_while(word: &AtomicU32, value: u32) {
    const FUTEX_WAIT: usize = 0;
    let at = core::ptr::from_ref(word).expose_provenance();
    while word.load(Ordering::Acquire) == value {
        // SAFETY: the kernel reads the word, and sleeps if it is the same still; for nothing it may
        // wake, too. There is no time to read.
        let _looked_again = unsafe { call(nr::FUTEX, [at, FUTEX_WAIT, value as usize, 0, 0, 0]) };
    }
}

/// Wakes a process that sleeps because a word had another value.
pub(crate) fn wake(word: &AtomicU32) {
    const FUTEX_WAKE: usize = 1;
    let at = core::ptr::from_ref(word).expose_provenance();
    // SAFETY: the kernel uses the address as a name.
    let _nobody = unsafe { call(nr::FUTEX, [at, FUTEX_WAKE, usize::MAX >> 33, 0, 0, 0]) };
}

/// The word that the kernel clears when the process has left.
fn word(stack: *mut u64) -> &'static AtomicU32 {
    let at = stack.wrapping_byte_add(STACK_BYTES - WORD_BYTES).cast::<AtomicU32>();
    // SAFETY: it lies in the mapping, aligned to 64 bytes, and is touched by atomic operations and the
    // kernel only; who gives the mapping back uses it no more.
    unsafe { &*at }
}

fn give_back(stack: *mut u64) {
    // SAFETY: it is the mapping of one who has left or never came, and whom nobody knows any more.
    unmap(unsafe { core::slice::from_raw_parts(stack.cast::<u8>(), STACK_BYTES) });
}
