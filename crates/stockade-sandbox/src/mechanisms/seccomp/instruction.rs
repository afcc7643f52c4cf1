//! The few instructions of the kernel's packet filter that a filter of system calls is made of.

/// `SECCOMP_RET_ERRNO` of `linux/seccomp.h`.
const ERRNO: u32 = 0x0005_0000;

/// Loads a word, `linux/bpf_common.h`.
const LOAD: u16 = 0x20;
/// Jumps if equal, `linux/bpf_common.h`.
pub(super) const EQUAL: u16 = 0x15;
/// Jumps if at least, `linux/bpf_common.h`.
pub(super) const AT_LEAST: u16 = 0x35;
/// Jumps if any bit is set, `linux/bpf_common.h`.
pub(super) const ANY_BIT: u16 = 0x45;
/// Keeps bits, `linux/bpf_common.h`.
const AND: u16 = 0x54;
/// Ends, `linux/bpf_common.h`.
const RETURN: u16 = 0x06;

/// Loads a word of what is known of the call.
pub(super) fn load(offset: u32) -> u64 {
    instruction(LOAD, 0, 0, offset)
}

/// Keeps these bits.
pub(super) fn and(mask: u32) -> u64 {
    instruction(AND, 0, 0, mask)
}

/// Goes on so many instructions further.
pub(super) fn jump(condition: u16, value: u32, if_true: u8, if_false: u8) -> u64 {
    instruction(condition, if_true, if_false, value)
}

/// Ends with this action.
pub(super) fn give(action: u32) -> u64 {
    instruction(RETURN, 0, 0, action)
}

/// Ends with an error.
pub(super) fn refuse(errno: i32) -> u64 {
    give(ERRNO | errno.unsigned_abs())
}

/// `struct sock_filter` of `linux/filter.h` as a word.
fn instruction(code: u16, if_true: u8, if_false: u8, value: u32) -> u64 {
    let [c0, c1] = code.to_ne_bytes();
    let [v0, v1, v2, v3] = value.to_ne_bytes();
    u64::from_ne_bytes([c0, c1, if_true, if_false, v0, v1, v2, v3])
}
