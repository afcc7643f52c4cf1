//! The filter of system calls: the calls that are refused to every program, and with which error.
//!
//! Everything else is allowed: developer tools use most of the kernel. The program is a search tree
//! over the numbers, because the kernel runs it once for every number when it is loaded.

#[cfg(feature = "fault-injection")]
mod lack;
mod instruction;
mod program;
mod table;

#[cfg(feature = "fault-injection")]
pub use self::lack::{Lack, lack};
use self::program::{Check, Outcome};

/// Which system calls a sandbox refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filter {
    /// The socket families that can be opened.
    pub sockets: Sockets,
    /// Permission for processes of the sandbox to trace each other.
    pub tracing: Tracing,
}

/// The socket families that a filter allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sockets {
    /// None: connected pairs only. Without a root of its own a program could otherwise reach every
    /// socket that has a path. Datagram pairs are refused too: they can be led to another path; and so
    /// are the memory, queues and semaphores of System V, which would be the machine's.
    Pairs,
    /// Unix sockets only.
    Unix,
    /// Also IPv4, IPv6 and the list of interfaces (`NETLINK_ROUTE`), no raw sockets.
    Internet,
    /// The same without Unix sockets, of which there are connected pairs only.
    InternetAndPairs,
}

/// Permission to trace processes, as debuggers do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tracing {
    /// No `ptrace` and no access to the memory of others.
    Forbidden,
    /// Both, within the sandbox.
    Allowed,
}

/// The process that creates names (files, folders, links, sockets) for the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// The program itself.
    Free,
    /// The program itself, but init is notified of every call that creates one before.
    Told,
    /// The broker, which is notified of every call that creates one.
    Brokered,
}

impl Filter {
    /// The filter as an array of `sock_filter`, each in a word.
    pub(crate) fn compile(self, names: Names) -> Vec<u64> {
        let mut calls: Vec<(u32, Outcome)> = table::refused(self.tracing).collect();
        calls.extend([
            (number(libc::SYS_clone), Outcome::Check(Check::Clone)),
            (number(libc::SYS_unshare), Outcome::Check(Check::Unshare)),
            (number(libc::SYS_socket), Outcome::Check(Check::Socket(self.sockets))),
            (number(libc::SYS_socketpair), Outcome::Check(Check::SocketPair(self.sockets))),
            (number(libc::SYS_ioctl), Outcome::Check(Check::Ioctl(names))),
            (number(libc::SYS_fcntl), Outcome::Check(Check::Fcntl)),
            (number(libc::SYS_fallocate), Outcome::Check(Check::Allocation)),
            (number(libc::SYS_seccomp), Outcome::Check(Check::Seccomp)),
            (number(libc::SYS_personality), Outcome::Check(Check::Personality)),
        ]);
        calls.extend(table::of_processes());
        calls.extend(match names {
            Names::Free => table::with_modes().collect(),
            Names::Told => table::told(),
            Names::Brokered => table::brokered(),
        });
        if matches!(self.sockets, Sockets::Pairs | Sockets::InternetAndPairs) {
            calls.extend(table::of_the_machine());
        }
        program::compile(calls)
    }
}

/// A system call's number as the filter sees it.
fn number(number: libc::c_long) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
