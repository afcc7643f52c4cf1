//! How strong the sandbox is, and what of this machine decides what a tier can enforce.

pub use stockade_policy::{Tier, UnknownTier};

/// What was found out about this machine that a tier's description depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the machine")]
pub struct Machine {
    /// The ABI of Landlock, if it can lock files.
    pub landlock_abi: Option<u32>,
    /// Landlock can keep a program from signalling and tracing what is not its own (ABI 6).
    pub signal_scope: bool,
    /// The supervisor runs as root.
    pub is_root: bool,
    /// The supervisor has made itself non-dumpable.
    pub supervisor_hidden: bool,
    /// The first process of a box can be told of calls that create names, and refuse them.
    pub refuses_names: bool,
    /// The kernel honours a limit on a process's address space; macOS takes it and ignores it.
    pub bounds_address_space: bool,
}
