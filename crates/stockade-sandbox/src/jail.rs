//! A sandbox, described: what the program gets to see and what it may still do.

pub(crate) mod encode;
pub(crate) mod key;

use std::ffi::{CStr, CString};

use crate::mechanisms::cgroup::Cgroup;
use crate::mechanisms::identity::Identity;
use crate::mechanisms::landlock::Landlock;
use crate::mechanisms::mounts::Mount;
use crate::mechanisms::seccomp::{Filter, Names, Sockets, Tracing};
use crate::session::InSession;

/// A sandbox: namespaces, a root, locks and limits. Plain data, decided and opened by the caller.
///
/// Made by [`Jail::new`] as the closed form of everything; fields are changed from there.
#[derive(Debug)]
#[non_exhaustive]
pub struct Jail {
    /// The program's path in the sandbox. It must lead to the same file as
    /// [`Spec::program`](crate::Spec::program).
    pub program: CString,
    /// The working directory's path in a sandbox with namespaces, for which
    /// [`Spec::cwd`](crate::Spec::cwd) is not used. A hidden folder ([`Mount::Hide`]) at this path
    /// is empty and can be entered, where every other one is closed.
    pub cwd: CString,
    /// The form of the sandbox: with namespaces or without.
    pub form: Form,
    /// The user and group. Neither may be root's, outside or inside. Without namespaces they are
    /// the caller's.
    pub identity: Identity,
    /// The network that the sandbox sees.
    pub network: Network,
    /// The session that the sandbox belongs to. Its network is used for [`Network::Loopback`]. Needs
    /// namespaces.
    pub session: Option<InSession>,
    /// The machine's name in the sandbox.
    pub host_name: CString,
    /// The mounts and files of the root, in the order in which they are made. Without it the
    /// sandbox shows the host's files as they are.
    pub root: Option<Vec<Mount>>,
    /// Absolute paths of the sandbox that must not be created, although the folders that would hold
    /// them are writable. None of them may exist, and no symbolic link may be on the way to one.
    /// Init creates every name in such a sandbox on behalf of the program. Needs namespaces, a root
    /// with `/proc`, a filter, and Linux 5.19.
    pub forbidden: Vec<CString>,
    /// Absolute paths of the sandbox whose creation is refused as long as the program does not race
    /// its own arguments: the program creates names by itself, and init hears of each call
    /// before. [`Running::creations`](crate::Running::creations) tells what came of it. Not used
    /// where [`Self::forbidden`] is. Needs what that needs, see
    /// [`can_refuse_names`](crate::can_refuse_names).
    pub refused: Vec<CString>,
    /// [Pinned](Mount::Pin) folders that become read-only when the program has ended, for whatever it leaves
    /// running and for whoever was passed a handle on them: the host may replace a protected file there, which
    /// takes its cover away. Needs namespaces and a root.
    pub sealed: Vec<CString>,
    /// A second lock on files, signals and abstract sockets.
    pub landlock: Option<Landlock>,
    /// The filter of system calls.
    pub filter: Option<Filter>,
    /// Limits for all processes together. Limits that could not be set are known before the start.
    pub cgroup: Option<Cgroup>,
    /// How many processes may live in it at once, its first one not counted. They are counted every
    /// few milliseconds, see [`Spec::processes_max`](crate::Spec::processes_max).
    pub processes_max: Option<u32>,
    /// Whatever else must be the same for a sandbox that was made before to be used: see
    /// [`SandboxPool`](crate::SandboxPool).
    pub stamp: Vec<u8>,
    /// Permission to create user namespaces in the sandbox, in which a program has capabilities
    /// again.
    pub nesting: Nesting,
    /// The attestation before the program is executed.
    pub attest: Attest,
    /// Faults that a test injects.
    #[cfg(feature = "fault-injection")]
    pub faults: FaultInjection,
}

/// The attestation of a sandbox before its program is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attest {
    /// It does not.
    No,
    /// It does: [`Running::attested`](crate::Running::attested).
    BeforeExecution,
}

/// Faults that a test injects.
#[cfg(feature = "fault-injection")]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FaultInjection {
    /// A step of the shim or of the sandbox that fails although it did not.
    pub fail_at: Option<crate::Step>,
    /// Mechanisms that are left out although they were asked for.
    pub left_out: Vec<crate::Mechanism>,
}

/// Permission to create user namespaces in a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nesting {
    /// They cannot: the limit of the sandbox's own namespace is zero.
    Forbidden,
    /// They can.
    Allowed,
}

/// The form of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// It has, and an init that takes everything with it.
    Namespaces,
    /// It has none, where they are forbidden: the host's files, processes and network stay in
    /// sight, and Landlock, the filter and the shim alone hold the program.
    /// [`Spec::signal_scope`](crate::Spec::signal_scope) is used as without a sandbox.
    ///
    /// Landlock does not know permissions, owners, times and extended attributes of files: what the
    /// user owns can still be changed in these.
    LocksOnly,
    /// It has neither namespaces nor locks: a program of the host's own that makes sandboxes
    /// itself, and may need privileges for that. The shim holds its tree, and [`Jail::cgroup`]
    /// limits it.
    Unlocked,
}

/// The network of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// The host's.
    Host,
    /// A namespace of its own with nothing in it, not even loopback.
    None,
    /// A namespace of its own with a loopback interface.
    Loopback,
}

impl Jail {
    /// A sandbox for a program, in a directory, both by their paths in the sandbox.
    pub fn new(program: &CStr, cwd: &CStr) -> Self {
        Self {
            program: program.to_owned(),
            cwd: cwd.to_owned(),
            form: Form::Namespaces,
            identity: Identity::of_caller(),
            network: Network::None,
            session: None,
            host_name: c"box".to_owned(),
            root: None,
            forbidden: Vec::new(),
            refused: Vec::new(),
            sealed: Vec::new(),
            landlock: None,
            cgroup: None,
            filter: Some(Filter { sockets: Sockets::Unix, tracing: Tracing::Forbidden }),
            processes_max: None,
            stamp: Vec::new(),
            nesting: Nesting::Forbidden,
            attest: Attest::No,
            #[cfg(feature = "fault-injection")]
            faults: FaultInjection::default(),
        }
    }

    /// Locks for a program without namespaces; the paths are the host's, and those of the rules
    /// lead over no links. The rules of [`Self::landlock`] say what it may do. It starts in
    /// [`Spec::cwd`](crate::Spec::cwd).
    pub fn locks_only(program: &CStr, landlock: Landlock) -> Self {
        Self {
            form: Form::LocksOnly,
            network: Network::Host,
            nesting: Nesting::Allowed,
            landlock: Some(landlock),
            filter: Some(Filter { sockets: Sockets::Pairs, tracing: Tracing::Forbidden }),
            ..Self::new(program, c"/")
        }
    }

    /// No sandbox at all, for a program that makes one itself; its path is the host's. It starts in
    /// [`Spec::cwd`](crate::Spec::cwd).
    pub fn unlocked(program: &CStr) -> Self {
        Self {
            form: Form::Unlocked,
            network: Network::Host,
            nesting: Nesting::Allowed,
            filter: None,
            ..Self::new(program, c"/")
        }
    }

    /// The process that creates names in it.
    pub(crate) fn names(&self) -> Names {
        match (self.forbidden.is_empty(), self.refused.is_empty()) {
            (false, _) => Names::Brokered,
            (true, false) => Names::Told,
            (true, true) => Names::Free,
        }
    }

    /// Returns whether the requested parts are compatible.
    pub(crate) fn is_possible(&self) -> bool {
        let has_broker = self.names() != Names::Free;
        match self.form {
            Form::Namespaces => {
                !self.identity.is_root_anywhere()
                    && (!has_broker || (self.root.is_some() && self.filter.is_some()))
            }
            Form::LocksOnly => {
                !has_broker
                    && self.session.is_none()
                    && self.root.is_none()
                    && self.network == Network::Host
                    && self.nesting == Nesting::Allowed
            }
            Form::Unlocked => {
                !has_broker
                    && self.session.is_none()
                    && self.root.is_none()
                    && self.network == Network::Host
                    && self.nesting == Nesting::Allowed
                    && self.landlock.is_none()
                    && self.filter.is_none()
            }
        }
    }

    /// The user and group that the shim has to become.
    pub(crate) fn user_to_take_on(&self) -> Option<(u32, u32)> {
        self.identity.to_take_on().filter(|_| self.form == Form::Namespaces)
    }
}
