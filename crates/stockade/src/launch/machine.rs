//! What this machine can do, found out once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::tier::Machine;

static HIDDEN: AtomicBool = AtomicBool::new(false);

/// Finds out what the tiers of this version depend on.
pub fn probe() -> Machine {
    static SIGNAL_SCOPE: OnceLock<bool> = OnceLock::new();
    Machine {
        landlock_abi: stockade_linux::landlock_abi(),
        signal_scope: *SIGNAL_SCOPE.get_or_init(|| stockade_linux::landlock_abi() >= Some(6)),
        is_root: rustix::process::geteuid().is_root(),
        bounds_address_space: cfg!(target_os = "linux"),
        supervisor_hidden: HIDDEN.load(Ordering::Relaxed),
    }
}

/// Makes this process unreadable to others of the same user: no core dump, no `/proc/PID/environ`.
/// The command line does this first; a host that wants its own core dumps does not.
pub fn hide_supervisor() -> std::io::Result<()> {
    stockade_linux::forbid_dumps()?;
    HIDDEN.store(true, Ordering::Relaxed);
    Ok(())
}
