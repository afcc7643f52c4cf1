//! A box, described: what the program gets to see and what it may still do.

pub(crate) mod key;
pub(crate) mod pack;

use std::ffi::{CStr, CString};

use crate::cgroup::Cgroup;
use crate::identity::Identity;
use crate::landlock::Landlock;
use crate::mounts::Mount;
use crate::seccomp::{Filter, Names, Sockets, Tracing};

/// A box: namespaces, a root, locks and limits. Plain data, decided and opened by the caller.
///
/// Made by [`Jail::new`] as the closed form of everything; fields are changed from there.
#[derive(Debug)]
#[non_exhaustive]
pub struct Jail {
    /// The program's path in the box. It must lead to the same file as
    /// [`Spec::program`](crate::Spec::program).
    pub program: CString,
    /// The working directory's path in a box with namespaces, for which [`Spec::cwd`](crate::Spec::cwd)
    /// is not used. A hidden folder ([`Mount::Hide`]) at this path is empty and can be entered, where every
    /// other one is closed.
    pub cwd: CString,
    /// Whether there are namespaces at all.
    pub form: Form,
    /// The user and group. Neither may be root's, outside or inside. Without namespaces they are
    /// the caller's.
    pub identity: Identity,
    /// What the box has of the network.
    pub network: Network,
    /// The machine's name in the box.
    pub host_name: CString,
    /// What the box shows, in the order in which it is made. Without it the box shows the host's
    /// files as they are.
    pub root: Option<Vec<Mount>>,
    /// Absolute paths of the box that must not come to be, though the folders that would hold them
    /// can be written. None of them may be there, and no link may be on the way to one. Who makes
    /// names in such a box waits for its first process, which makes them. Needs namespaces, a root
    /// with `/proc`, a filter, and Linux 5.19.
    pub forbidden: Vec<CString>,
    /// Absolute paths of the box whose creation is refused as long as the program does not race its own
    /// arguments: the program creates names by itself, and the first process hears of each call before.
    /// [`Running::creations`](crate::Running::creations) tells what came of it. Not used where
    /// [`Self::forbidden`] is. Needs what that needs, see [`can_refuse_names`](crate::can_refuse_names).
    pub refused: Vec<CString>,
    /// A second lock on files, signals and abstract sockets.
    pub landlock: Option<Landlock>,
    /// The filter of system calls.
    pub filter: Option<Filter>,
    /// Limits for all processes together. What could not be limited is known before the start.
    pub cgroup: Option<Cgroup>,
    /// How many processes may live in it at once, its first one not counted. They are counted every
    /// few milliseconds, see [`Spec::processes_max`](crate::Spec::processes_max).
    pub processes_max: Option<u32>,
    /// Whatever else must be the same for a box that was made before to be used: see
    /// [`Yard`](crate::Yard).
    pub stamp: Vec<u8>,
    /// Whether user namespaces can be made in the box, in which a program has capabilities again.
    pub nesting: Nesting,
    /// Whether the host looks at the box before the program is executed.
    pub attest: Attest,
    /// What a test breaks on purpose.
    #[cfg(feature = "sabotage")]
    pub sabotage: Sabotage,
}

/// Whether the host looks at a box before the program is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attest {
    /// It does not.
    No,
    /// It does: [`Running::attested`](crate::Running::attested).
    BeforeExecution,
}

/// What a test breaks on purpose.
#[cfg(feature = "sabotage")]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sabotage {
    /// A step of the keeper or of the box that fails although it did not.
    pub fail_at: Option<crate::Step>,
    /// Mechanisms that are left out although they were asked for.
    pub left_out: Vec<crate::Mechanism>,
}

/// Whether user namespaces can be made in a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nesting {
    /// They cannot: the limit of the box's own namespace is zero.
    Forbidden,
    /// They can.
    Allowed,
}

/// Whether a box has namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// It has, and a first process that takes everything with it.
    Namespaces,
    /// It has none, where they are forbidden: the host's files, processes and network stay in
    /// sight, and Landlock, the filter and the keeper alone hold the program.
    /// [`Spec::signal_scope`](crate::Spec::signal_scope) is used as without a box.
    ///
    /// Landlock does not know permissions, owners, times and extended attributes of files: what the
    /// user owns can still be changed in these.
    LocksOnly,
    /// It has neither namespaces nor locks: a program of the host's own that makes boxes itself, and
    /// may need privileges for that. The keeper holds its tree, and [`Jail::cgroup`] limits it.
    Unlocked,
}

/// What a box has of the network.
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
    /// A box for a program, in a directory, both by their paths in the box.
    pub fn new(program: &CStr, cwd: &CStr) -> Self {
        Self {
            program: program.to_owned(),
            cwd: cwd.to_owned(),
            form: Form::Namespaces,
            identity: Identity::of_caller(),
            network: Network::None,
            host_name: c"box".to_owned(),
            root: None,
            forbidden: Vec::new(),
            refused: Vec::new(),
            landlock: None,
            cgroup: None,
            filter: Some(Filter { sockets: Sockets::Unix, tracing: Tracing::Forbidden }),
            processes_max: None,
            stamp: Vec::new(),
            nesting: Nesting::Forbidden,
            attest: Attest::No,
            #[cfg(feature = "sabotage")]
            sabotage: Sabotage::default(),
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

    /// No box at all, for a program that makes one itself; its path is the host's. It starts in
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

    /// Who makes names in it.
    pub(crate) fn names(&self) -> Names {
        match (self.forbidden.is_empty(), self.refused.is_empty()) {
            (false, _) => Names::Brokered,
            (true, false) => Names::Told,
            (true, true) => Names::Free,
        }
    }

    /// Whether what it asks for goes together.
    pub(crate) fn is_possible(&self) -> bool {
        let has_broker = self.names() != Names::Free;
        match self.form {
            Form::Namespaces => {
                !self.identity.is_root_anywhere()
                    && (!has_broker || (self.root.is_some() && self.filter.is_some()))
            }
            Form::LocksOnly => {
                !has_broker
                    && self.root.is_none()
                    && self.network == Network::Host
                    && self.nesting == Nesting::Allowed
            }
            Form::Unlocked => {
                !has_broker
                    && self.root.is_none()
                    && self.network == Network::Host
                    && self.nesting == Nesting::Allowed
                    && self.landlock.is_none()
                    && self.filter.is_none()
            }
        }
    }

    /// The user and group that the keeper has to become.
    pub(crate) fn user_to_take_on(&self) -> Option<(u32, u32)> {
        self.identity.to_take_on().filter(|_| self.form == Form::Namespaces)
    }
}
