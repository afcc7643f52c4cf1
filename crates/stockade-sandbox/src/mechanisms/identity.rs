//! The identity of a sandbox: one user and one group, outside and inside.

use rustix::process::{getegid, geteuid};

/// One user and one group, as the kernel knows them and as the sandbox shows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// The user outside. For an ordinary user it must be the own one; for root it must not be.
    pub outer_uid: u32,
    /// The group outside, likewise.
    pub outer_gid: u32,
    /// The user that the sandbox shows.
    pub inner_uid: u32,
    /// The group that the sandbox shows.
    pub inner_gid: u32,
}

impl Identity {
    /// A user and group that no account has: high, below `i32::MAX`, and outside the ranges that
    /// systemd and `/etc/subuid` hand out.
    pub const UNUSED: u32 = 0x7800_0000;
    /// The id that a sandbox of root shows, which the first account of a machine usually has.
    pub const SHOWN: u32 = 1000;

    /// For an ordinary user, itself. For root an unused user, because root's own processes ignore
    /// limits and permissions.
    pub fn of_caller() -> Self {
        let (uid, gid) = (geteuid(), getegid());
        if uid.is_root() {
            let (outer, inner) = (Self::UNUSED, Self::SHOWN);
            Self { outer_uid: outer, outer_gid: outer, inner_uid: inner, inner_gid: inner }
        } else {
            let (uid, gid) = (uid.as_raw(), gid.as_raw());
            Self { outer_uid: uid, outer_gid: gid, inner_uid: uid, inner_gid: gid }
        }
    }

    /// The ids that the shim must take on: none for an ordinary user, who has them.
    pub(crate) fn to_take_on(self) -> Option<(u32, u32)> {
        geteuid().is_root().then_some((self.outer_uid, self.outer_gid))
    }

    /// The lines for `uid_map` and `gid_map`.
    pub(crate) fn maps(self) -> (String, String) {
        let line = |inner, outer| format!("{inner} {outer} 1\n");
        (line(self.inner_uid, self.outer_uid), line(self.inner_gid, self.outer_gid))
    }

    /// The lines for a session, in which ids are those outside.
    pub(crate) fn session_maps(self) -> (String, String) {
        Self { inner_uid: self.outer_uid, inner_gid: self.outer_gid, ..self }.maps()
    }

    /// The same inside a sandbox that has this identity: as it is shown there.
    pub(crate) fn nested_maps(self) -> (String, String) {
        Self { outer_uid: self.inner_uid, outer_gid: self.inner_gid, ..self }.maps()
    }

    /// Returns whether this would be root, outside or inside.
    pub(crate) fn is_root_anywhere(self) -> bool {
        [self.outer_uid, self.outer_gid, self.inner_uid, self.inner_gid].contains(&0)
    }
}
