//! System calls with which a process gives up what it may do.

use core::ptr;

use super::{Errno, Fd, Result, call, nr, plain_call};

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

/// Whether `no_new_privs` is set.
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

/// The same, and gives a descriptor on which calls are heard of that the filter sends there. Once
/// heard of, a call waits for its answer: only a signal that kills ends it (Linux 5.19).
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
