//! The shim: a tiny static program that starts one program and kills its whole tree.
//!
//! It has no libc and no allocator, knows no secret of the host, and takes everything from the
//! control socket that is its standard input. This file is only the entry; `run.rs` is the
//! program. The build script compiles it and `spawn.rs` embeds the result.

#![no_std]
#![no_main]
#![no_builtins]

mod apply;
mod broker;
mod cgroups;
mod cloning;
mod counter;
mod exec;
mod exec_channel;
mod exec_request;
mod fault;
mod hold_sandbox;
mod ids;
mod init;
mod proclist;
mod program;
#[path = "../protocol.rs"]
mod protocol;
mod raw;
mod received_plan;
mod restrict;
mod root;
mod run;
mod sched_slice;
mod session;
mod sockets;
mod sources;
mod sys;
mod template;
mod tree;
mod vfork;

#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".globl _start",
    "_start:",
    "xor ebp, ebp",
    "and rsp, -16",
    "call {main}",
    "ud2",
    main = sym main,
);

#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(
    ".globl _start",
    "_start:",
    "mov x29, #0",
    "mov x30, #0",
    "bl {main}",
    "brk #1",
    main = sym main,
);

extern "C" fn main() -> ! {
    run::keep()
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    sys::exit(101)
}

// Parts of `core` are compiled for unwinding and name this; nothing here unwinds.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() -> ! {
    sys::exit(101)
}

// The compiler emits calls to these; `no_builtins` keeps it from turning the loops into calls to
// themselves.

/// Copies `len` bytes between regions that do not overlap.
///
/// # Safety
///
/// As C's memcpy: both regions are valid for `len` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    let mut at = 0;
    // A word at a time: whole paths are copied for each name that a broker makes. A word is read
    // before it is written, so that this is right for a copy to a lower address too.
    while len - at >= WORD {
        // SAFETY: the caller promises that both are valid for len bytes, of which a word is left.
        unsafe {
            to.add(at).cast::<u64>().write_unaligned(from.add(at).cast::<u64>().read_unaligned())
        };
        at += WORD;
    }
    while at < len {
        // SAFETY: the caller promises that both are valid for len bytes, and at is less than that.
        unsafe { to.add(at).write(from.add(at).read()) };
        at += 1;
    }
    to
}

const WORD: usize = size_of::<u64>();

/// Copies `len` bytes between regions that may overlap.
///
/// # Safety
///
/// As C's memmove: both regions are valid for `len` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    if to.addr() <= from.addr() {
        // SAFETY: a forward copy to a lower address reads each byte before it is overwritten.
        return unsafe { memcpy(to, from, len) };
    }
    let mut at = len;
    while at > 0 {
        at -= 1;
        // SAFETY: the caller promises that both are valid for len bytes, and at is less than that.
        unsafe { to.add(at).write(from.add(at).read()) };
    }
    to
}

/// Fills `len` bytes.
///
/// # Safety
///
/// As C's memset: the region is valid for `len` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, byte: i32, len: usize) -> *mut u8 {
    let mut at = 0;
    let word = u64::from_ne_bytes([byte as u8; WORD]);
    while len - at >= WORD {
        // SAFETY: the caller promises that it is valid for len bytes, of which a word is left.
        unsafe { to.add(at).cast::<u64>().write_unaligned(word) };
        at += WORD;
    }
    while at < len {
        // SAFETY: the caller promises that it is valid for len bytes, and at is less than that.
        unsafe { to.add(at).write(byte as u8) };
        at += 1;
    }
    to
}

/// Compares `len` bytes.
///
/// # Safety
///
/// As C's memcmp: both regions are valid for `len` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(left: *const u8, right: *const u8, len: usize) -> i32 {
    let mut at = 0;
    while at < len {
        // SAFETY: the caller promises that both are valid for len bytes, and at is less than that.
        let (l, r) = unsafe { (left.add(at).read(), right.add(at).read()) };
        if l != r {
            return i32::from(l) - i32::from(r);
        }
        at += 1;
    }
    0
}
