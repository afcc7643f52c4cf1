//! The log of steps that shims write for tests: a shared file in memory, of words.

/// Where the number of entries is.
pub(crate) const COUNT: usize = 0;
/// Where the first entry is.
pub(crate) const FIRST: usize = 1;
/// How many words there are.
pub(crate) const WORDS: usize = 4096;
/// The length of the file.
pub(crate) const BYTES: usize = WORDS * 8;
/// How many entries there is room for.
pub(crate) const ENTRIES_MAX: usize = WORDS - FIRST;

/// The process that does a step.
pub(crate) mod process {
    /// The shim outside the sandbox.
    pub(crate) const SHIM: u32 = 0;
    /// The init of the sandbox.
    pub(crate) const INIT: u32 = 1;
    /// The process that becomes the program.
    pub(crate) const PROGRAM: u32 = 2;
}

/// An entry has the process in its upper 16 bits, then the index of a mount plus one, or zero, and in
/// its lower 16 bits the number of the step.
pub(crate) const PROCESS_SHIFT: u32 = 48;
/// Where the index of the mount starts.
pub(crate) const MOUNT_SHIFT: u32 = 16;
