//! The mechanisms requested for a sandbox, kept for comparison after the request is gone.

use std::ffi::{CStr, CString};

use crate::jail::{Form, Jail, Nesting, Network};
use crate::mechanisms::cgroup::Cgroup;
use crate::mechanisms::landlock;
use crate::mechanisms::mounts::{Access, Mount};
use crate::protocol::mechanism::Mechanism;

/// The requested mechanisms.
#[derive(Debug, Clone, Default)]
pub(crate) struct Expectations {
    pub(super) asked: Vec<Mechanism>,
    pub(super) uid: u32,
    /// Targets of mounts that must be read-only.
    pub(super) read_only: Vec<String>,
    /// Targets of empty files and folders.
    pub(super) hidden: Vec<String>,
    /// Targets that must be read-only, and targets that must be mounts.
    pub(super) protected: Vec<String>,
    pub(super) pinned: Vec<String>,
    /// Names of the sandbox's own cgroups.
    pub(super) cgroups: Vec<String>,
    /// True if the sandbox tests Landlock itself.
    pub(super) tests_landlock: bool,
    /// Namespaces that must be those of a session, as `/proc` names them.
    pub(super) shared: Vec<(Mechanism, CString)>,
    /// True if there are namespaces, and so an init.
    pub(super) has_namespaces: bool,
    /// Pinned folders that become read-only when the program has ended.
    sealed: Vec<String>,
}

impl Expectations {
    /// The mechanisms that this sandbox requests, except for its cgroups.
    pub(crate) fn of(jail: &Jail) -> Self {
        let mut expected = Self { uid: jail.identity.outer_uid, ..Self::default() };
        let shared = jail.session.iter().flat_map(|session| session.space.shared());
        let is_joined = |mechanism: Mechanism| {
            mechanism != Mechanism::NetworkNamespace || jail.network == Network::Loopback
        };
        expected.sealed = jail.sealed.iter().map(|path| escaped(path)).collect();
        expected.shared = shared.filter(|(mechanism, _)| is_joined(*mechanism)).collect();
        for mount in jail.root.iter().flatten() {
            expected.add(mount);
        }
        let boxed = jail.form == Form::Namespaces;
        expected.has_namespaces = boxed;
        // A file at the root, or a signal to the shim where signals are scoped.
        let scopes = landlock::abi().is_some_and(|abi| abi >= 6);
        expected.tests_landlock = jail.root.is_some() || (scopes && !boxed);
        let asked = [
            (Mechanism::UserNamespace, boxed),
            (Mechanism::MountNamespace, boxed),
            (Mechanism::PidNamespace, boxed),
            (Mechanism::IpcNamespace, boxed),
            (Mechanism::UtsNamespace, boxed),
            (Mechanism::CgroupNamespace, boxed),
            (Mechanism::NetworkNamespace, jail.network != Network::Host),
            (Mechanism::OtherUser, boxed),
            (Mechanism::Root, jail.root.is_some()),
            (Mechanism::ReadOnlyBinds, !expected.read_only.is_empty()),
            (Mechanism::HiddenPaths, !expected.hidden.is_empty()),
            (
                Mechanism::ProtectedPaths,
                !(expected.protected.is_empty() && expected.pinned.is_empty()),
            ),
            (Mechanism::NoNesting, jail.nesting == Nesting::Forbidden),
            (Mechanism::NoCapabilities, true),
            (Mechanism::NoNewPrivileges, true),
            (Mechanism::Landlock, jail.landlock.is_some()),
            (Mechanism::Filter, jail.filter.is_some()),
            (Mechanism::Broker, !jail.forbidden.is_empty()),
        ];
        let asked = asked.into_iter().filter(|(_, asked)| *asked);
        expected.asked = asked.map(|(mechanism, _)| mechanism).collect();
        expected
    }

    /// What is expected once the program has left others running: folders that are read-only now, whatever
    /// the host does to the covers in them.
    pub(crate) fn seal(&mut self) {
        for folder in std::mem::take(&mut self.sealed) {
            let beneath = format!("{folder}/");
            self.protected.retain(|path| !path.starts_with(&beneath));
            self.pinned.retain(|path| !path.starts_with(&beneath));
            self.protected.push(folder);
        }
    }

    /// Returns whether folders are to become read-only when the program has ended.
    pub(crate) fn has_sealed(&self) -> bool {
        !self.sealed.is_empty()
    }

    /// The same with these cgroups.
    pub(crate) fn with_cgroup(mut self, cgroup: Option<&Cgroup>) -> Self {
        self.cgroups = cgroup.into_iter().flat_map(Cgroup::names).collect();
        self.asked.extend((!self.cgroups.is_empty()).then_some(Mechanism::Cgroup));
        self
    }

    /// Returns whether the sandbox has an init, with which everything in it ends.
    pub(crate) fn has_init(&self) -> bool {
        self.has_namespaces
    }

    fn add(&mut self, mount: &Mount) {
        match mount {
            Mount::Bind { target, access: Access::ReadOnly | Access::ReadOnlyAsOwner, .. } => {
                self.read_only.push(escaped(target));
            }
            Mount::Hide { target } => self.hidden.push(escaped(target)),
            Mount::Protect { target } => self.protected.push(escaped(target)),
            Mount::Pin { target } => self.pinned.push(escaped(target)),
            Mount::Bind { .. }
            | Mount::Memory { .. }
            | Mount::Session { .. }
            | Mount::Terminals { .. }
            | Mount::Proc { .. }
            | Mount::Folder { .. }
            | Mount::File { .. }
            | Mount::Link { .. } => {}
        }
    }
}

/// A path as `mountinfo` writes it.
fn escaped(path: &CStr) -> String {
    let written = path.to_bytes().iter().flat_map(|byte| match byte {
        b' ' | b'\t' | b'\n' | b'\\' => format!("\\{byte:03o}").into_bytes(),
        byte => vec![*byte],
    });
    let written: Vec<u8> = written.collect();
    let mut text = String::from_utf8_lossy(&written).into_owned();
    while text.len() > 1 && text.ends_with('/') {
        text.pop();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_bytes_are_written_as_numbers() {
        assert_eq!(escaped(c"/a b\\c/"), "/a\\040b\\134c");
        assert_eq!(escaped(c"/\u{e9}"), "/\u{e9}");
        assert_eq!(escaped(c"/"), "/");
    }
}
