//! System calls with which a process gives up what it may do.

use core::ptr;

use super::{Errno, Fd, Result, call, nr, plain_call};

/// Capabilities of `linux/capability.h`, as bits of a set.
pub(crate) mod cap {
    /// Overrides permissions of files.
    pub(crate) const DAC_OVERRIDE: u64 = 1 << 1;
    /// Traces processes, and sees those that hide from others.
    pub(crate) const SYS_PTRACE: u64 = 1 << 19;
    /// Makes namespaces and mounts.
    pub(crate) const SYS_ADMIN: u64 = 1 << 21;
    /// Reads performance counters of other processes.
    pub(crate) const PERFMON: u64 = 1 << 38;
}

/// No capability, in five sets, for this process and all that it executes.
pub(crate) fn drop_all_capabilities() -> Result<()> {
    const PR_SET_SECUREBITS: usize = 28;
    const PR_CAP_AMBIENT: usize = 47;
    const PR_CAP_AMBIENT_CLEAR_ALL: usize = 4;
    // NOROOT, NO_SETUID_FIXUP and NO_CAP_AMBIENT_RAISE, each locked, and KEEP_CAPS locked off.
    const SECUREBITS: usize = 0xef;
    drop_bounding_set()?;
    plain_call(nr::PRCTL, [PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0])?;
    plain_call(nr::PRCTL, [PR_SET_SECUREBITS, SECUREBITS, 0, 0])?;
    set_capabilities(0)
}

fn drop_bounding_set() -> Result<()> {
    const PR_CAPBSET_DROP: usize = 24;
    const CAPABILITIES_MAX: usize = 64;
    for capability in 0..CAPABILITIES_MAX {
        match plain_call(nr::PRCTL, [PR_CAPBSET_DROP, capability, 0, 0]) {
            Ok(_) => {}
            // This kernel has no more of them.
            Err(Errno::INVAL) if capability > 0 => break,
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Gives up every capability but these, now.
pub(crate) fn set_capabilities(kept: u64) -> Result<()> {
    // As in `drop_capabilities_to_look`.
    let mut header: [u32; 2] = [0x2008_0522, 0];
    let (low, high) = (kept as u32, (kept >> 32) as u32);
    let mut sets = [low, low, 0, high, high, 0];
    let head = header.as_mut_ptr().expose_provenance();
    let data = sets.as_mut_ptr().expose_provenance();
    // SAFETY: the kernel reads the header and 24 bytes.
    unsafe { call(nr::CAPSET, [head, data, 0, 0, 0, 0]) }.map(drop)
}

/// Hands every capability of this process on to the program that it executes, which is never done
/// but where a test wants it.
pub(crate) fn hand_on_capabilities() -> Result<()> {
    const PR_CAP_AMBIENT: usize = 47;
    const PR_CAP_AMBIENT_RAISE: usize = 2;
    let mut header: [u32; 2] = [0x2008_0522, 0];
    let mut sets = [0_u32; 6];
    let head = header.as_mut_ptr().expose_provenance();
    let data = sets.as_mut_ptr().expose_provenance();
    // SAFETY: the kernel reads the header, may write the version into it, and writes 24 bytes.
    unsafe { call(nr::CAPGET, [head, data, 0, 0, 0, 0]) }?;
    let [_, low, _, _, high, _] = sets;
    sets = [low, low, low, high, high, high];
    let data = sets.as_mut_ptr().expose_provenance();
    // SAFETY: the kernel reads the header and 24 bytes.
    unsafe { call(nr::CAPSET, [head, data, 0, 0, 0, 0]) }?;
    let permitted = u64::from(high) << 32 | u64::from(low);
    for capability in (0..64).filter(|capability| permitted >> capability & 1 == 1) {
        plain_call(nr::PRCTL, [PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0])?;
    }
    Ok(())
}

/// Returns whether `no_new_privs` is set.
pub(crate) fn has_no_new_privs() -> bool {
    const PR_GET_NO_NEW_PRIVS: usize = 39;
    plain_call(nr::PRCTL, [PR_GET_NO_NEW_PRIVS, 0, 0, 0]) == Ok(1)
}

/// Allows access beneath a folder, or to a file, in a Landlock ruleset.
pub(crate) fn landlock_allow(ruleset: Fd, access: u64, beneath: Fd) -> Result<()> {
    const RULE_PATH_BENEATH: usize = 1;
    // struct landlock_path_beneath_attr, packed: the rights, then the descriptor.
    #[repr(C, packed)]
    struct PathBeneath {
        allowed: u64,
        parent: Fd,
    }
    let rule = PathBeneath { allowed: access, parent: beneath };
    let at = ptr::from_ref(&rule).expose_provenance();
    // SAFETY: the kernel reads the twelve bytes of the rule.
    unsafe { call(nr::LANDLOCK_ADD_RULE, [ruleset as usize, RULE_PATH_BENEATH, at, 0, 0, 0]) }
        .map(drop)
}

/// Filters this process's system calls from now on. The filter is an array of `sock_filter`.
pub(crate) fn filter_calls(filter: &[u64]) -> Result<()> {
    filter_calls_with(filter, 0).map(drop)
}

/// The same, and returns the listener for calls that the filter sends there. Once received, a call
/// waits for its answer: only a fatal signal ends it (Linux 5.19).
pub(crate) fn filter_calls_and_listen(filter: &[u64]) -> Result<Fd> {
    const NEW_LISTENER: usize = 1 << 3;
    const WAIT_KILLABLE_RECV: usize = 1 << 5;
    filter_calls_with(filter, NEW_LISTENER | WAIT_KILLABLE_RECV).map(|fd| fd as Fd)
}

fn filter_calls_with(filter: &[u64], flags: usize) -> Result<usize> {
    const SECCOMP_SET_MODE_FILTER: usize = 1;
    // struct sock_fprog: the number of instructions, 16 bits, padding, the address.
    #[repr(C)]
    struct Program {
        len: u16,
        instructions: *const u64,
    }
    let len = u16::try_from(filter.len()).map_err(|_too_long| Errno::INVAL)?;
    let program = Program { len, instructions: filter.as_ptr() };
    filter.as_ptr().expose_provenance();
    let at = ptr::from_ref(&program).expose_provenance();
    // SAFETY: the kernel copies the program's head and its instructions, which outlive the call.
    unsafe { call(nr::SECCOMP, [SECCOMP_SET_MODE_FILTER, flags, at, 0, 0, 0]) }
}

/// Enters a Landlock domain, without audit records for what this program does itself.
pub(crate) fn landlock_restrict_self(ruleset: Fd) -> Result<()> {
    const LOG_SAME_EXEC_OFF: usize = 1;
    match plain_call(nr::LANDLOCK_RESTRICT_SELF, [ruleset as usize, LOG_SAME_EXEC_OFF, 0, 0]) {
        // The flag is known since ABI 7 (Linux 6.15).
        Err(Errno::INVAL) => plain_call(nr::LANDLOCK_RESTRICT_SELF, [ruleset as usize, 0, 0, 0]),
        other => other,
    }
    .map(drop)
}

/// One instruction of a filter, `struct sock_filter`: code, steps if true, steps if not, value.
#[repr(C)]
struct Instruction(u16, u8, u8, u32);

/// Refuses `prlimit64` that sets a limit of a process by its number, and lets all else through.
#[rustfmt::skip]
static NO_LIMITS_FOR_OTHERS: [Instruction; 16] = {
    // AUDIT_ARCH_* of linux/audit.h and the number of the call: of this architecture, and of its
    // 32-bit programs.
    #[cfg(target_arch = "x86_64")]
    const ARCH: [u32; 4] = [0xc000_003e, 302, 0x4000_0003, 340];
    #[cfg(target_arch = "aarch64")]
    const ARCH: [u32; 4] = [0xc000_00b7, 261, 0x4000_0028, 369];
    const LOAD: u16 = 0x20;
    const AND: u16 = 0x54;
    const IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    [
        // The offsets are those of struct seccomp_data: nr 0, arch 4, args from 16 on.
        Instruction(LOAD, 0, 0, 4),
        Instruction(IF_EQUAL, 0, 3, ARCH[0]),
        Instruction(LOAD, 0, 0, 0),
        // The calls of x32 are the same with this bit set.
        Instruction(AND, 0, 0, !0x4000_0000),
        Instruction(IF_EQUAL, 3, 10, ARCH[1]),
        Instruction(IF_EQUAL, 0, 9, ARCH[2]),
        Instruction(LOAD, 0, 0, 0),
        Instruction(IF_EQUAL, 0, 7, ARCH[3]),
        // The process: 0 is the caller itself.
        Instruction(LOAD, 0, 0, 16),
        Instruction(IF_EQUAL, 5, 0, 0),
        // The new limit: null only asks for the old one.
        Instruction(LOAD, 0, 0, 32),
        Instruction(IF_EQUAL, 0, 2, 0),
        Instruction(LOAD, 0, 0, 36),
        Instruction(IF_EQUAL, 1, 0, 0),
        // SECCOMP_RET_ERRNO with EPERM, SECCOMP_RET_ALLOW.
        Instruction(RETURN, 0, 0, 0x0005_0001),
        Instruction(RETURN, 0, 0, 0x7fff_0000),
    ]
};

/// Refuses this process and its descendants to set the limits of others.
///
/// A CPU limit of zero kills, a file size limit of zero ends the next writer, and signal scopes do
/// not apply to prlimit(2): the same user may set them. Needs `no_new_privs`.
pub(crate) fn refuse_limiting_others() -> Result<()> {
    #[repr(C)]
    struct Filter {
        len: u16,
        instructions: *const Instruction,
    }
    const PR_SET_SECCOMP: usize = 22;
    const SECCOMP_MODE_FILTER: usize = 2;
    let len = NO_LIMITS_FOR_OTHERS.len() as u16;
    let filter = Filter { len, instructions: NO_LIMITS_FOR_OTHERS.as_ptr() };
    let filter = ptr::from_ref(&filter).expose_provenance();
    // SAFETY: the kernel reads one struct sock_fprog and as many instructions as it says.
    unsafe { call(nr::PRCTL, [PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter, 0, 0, 0]) }.map(drop)
}

/// Capabilities with which a process reads the memory of others past every security module:
/// since Linux 6.15 `may_access_mm` in `kernel/fork.c` lets `perfmon_capable()` through.
const CAPABILITIES_TO_LOOK: u64 = cap::SYS_ADMIN | cap::PERFMON;

/// Gives up the capabilities with which the memory of other processes can be read.
pub(crate) fn drop_capabilities_to_look() -> Result<()> {
    // struct __user_cap_header_struct: version 3, this process. The data are two structs of
    // effective, permitted and inheritable sets: the low halves, then the high ones.
    let mut header: [u32; 2] = [0x2008_0522, 0];
    let mut sets = [0_u32; 6];
    let (head, data) =
        (header.as_mut_ptr().expose_provenance(), sets.as_mut_ptr().expose_provenance());
    // SAFETY: the kernel reads the header, may write the version into it, and writes 24 bytes.
    unsafe { call(nr::CAPGET, [head, data, 0, 0, 0, 0]) }?;
    let kept = !CAPABILITIES_TO_LOOK;
    for (at, set) in sets.iter_mut().enumerate() {
        *set &= if at < 3 { kept as u32 } else { (kept >> 32) as u32 };
    }
    // SAFETY: the kernel reads the header and 24 bytes.
    unsafe { call(nr::CAPSET, [head, data, 0, 0, 0, 0]) }.map(drop)
}
