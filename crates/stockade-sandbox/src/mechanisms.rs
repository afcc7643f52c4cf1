//! One mechanism of the kernel, one file: what a sandbox is made of, written down by the host.

pub(crate) mod cgroup;
pub(crate) mod dumpable;
pub(crate) mod identity;
pub(crate) mod idmap;
pub(crate) mod landlock;
pub(crate) mod mounts;
pub(crate) mod rlimits;
pub(crate) mod seccomp;
