//! What this machine can do, found out once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::tier::Machine;

static HIDDEN: AtomicBool = AtomicBool::new(false);

/// Finds out what the tiers of this version depend on.
pub fn probe() -> Machine {
    static SIGNAL_SCOPE: OnceLock<bool> = OnceLock::new();
    static REFUSES_NAMES: OnceLock<bool> = OnceLock::new();
    Machine {
        landlock_abi: stockade_sandbox::landlock_abi(),
        signal_scope: *SIGNAL_SCOPE.get_or_init(|| stockade_sandbox::landlock_abi() >= Some(6)),
        refuses_names: *REFUSES_NAMES.get_or_init(stockade_sandbox::can_refuse_names),
        is_root: rustix::process::geteuid().is_root(),
        bounds_address_space: cfg!(target_os = "linux"),
        supervisor_hidden: HIDDEN.load(Ordering::Relaxed),
    }
}

/// How many calls this process has descriptors for at once, by its soft `RLIMIT_NOFILE`. A host that
/// starts more of them lets the others wait; otherwise they fail with `EMFILE`.
pub fn calls_at_once() -> usize {
    /// What waits for later calls, and what the process itself has open.
    const KEPT: u64 = 128;
    /// The folders that a sandbox shows, its processes, streams and cgroups: 25 to 45 were measured.
    const FOR_EACH_CALL: u64 = 48;
    let open_max = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let calls = open_max.unwrap_or(u64::MAX).saturating_sub(KEPT) / FOR_EACH_CALL;
    usize::try_from(calls).unwrap_or(usize::MAX).max(1)
}

/// Makes this process unreadable to others of the same user: no core dump, no `/proc/PID/environ`.
/// The command line does this first; a host that wants its own core dumps does not.
pub fn hide_supervisor() -> std::io::Result<()> {
    stockade_sandbox::forbid_dumps()?;
    HIDDEN.store(true, Ordering::Relaxed);
    Ok(())
}
