//! Starts a process on a stack of its own that shares the caller's memory (`CLONE_VM`). Written in
//! assembly, because the shim has no libc.
//!
//! For the shim, and for the host, which starts the shim so.

#![expect(clippy::as_conversions, clippy::cast_possible_wrap, reason = "registers are words")]

use core::arch::asm;
use core::ffi::c_void;

/// How it begins.
pub(crate) struct Cloning {
    /// The number of the system call.
    pub(crate) number: usize,
    /// The flags of clone(2), and the signal of its exit.
    pub(crate) flags: usize,
    /// The end of its stack, a multiple of 16 bytes.
    pub(crate) stack_end: *mut u8,
    /// Where the kernel writes a descriptor of it, if the flags ask for one.
    pub(crate) pidfd: *mut i32,
    /// The word that the kernel clears when it has left this memory, if the flags ask for that.
    pub(crate) is_there: *mut u32,
}

/// Starts it, and gives what the kernel gives.
///
/// # Safety
///
/// The stack and the words are there until it has left. The entry can be called with the argument, and
/// it and this process can bear what the other does with the memory.
pub(crate) unsafe fn clone_and_call(
    how: &Cloning,
    entry: extern "C" fn(*const c_void) -> !,
    argument: *const c_void,
) -> isize {
    let result: isize;
    // SAFETY: the caller answers for stack, words, entry and argument. The process starts on the other
    // stack and never comes back here, so that this frame is used by one process only. The kernel keeps
    // all registers but rax, rcx and r11. Entry and argument have registers with a name, for any other
    // may be the frame pointer, which is cleared.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r13",
            "call r12",
            "ud2",
            "2:",
            in("r12") entry,
            in("r13") argument,
            inlateout("rax") how.number as isize => result,
            in("rdi") how.flags,
            in("rsi") how.stack_end,
            in("rdx") how.pidfd,
            in("r10") how.is_there,
            in("r8") 0,
            // Not late, for the child still needs what it is given.
            out("rcx") _,
            out("r11") _,
        );
    }
    // SAFETY: as above; the kernel keeps all registers but x0.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!(
            "svc 0",
            "cbnz x0, 2f",
            "mov x29, #0",
            "mov x0, x21",
            "blr x20",
            "brk #1",
            "2:",
            in("x20") entry,
            in("x21") argument,
            in("x8") how.number,
            inlateout("x0") how.flags as isize => result,
            in("x1") how.stack_end,
            in("x2") how.pidfd,
            in("x3") 0,
            in("x4") how.is_there,
            out("x30") _,
        );
    }
    result
}
