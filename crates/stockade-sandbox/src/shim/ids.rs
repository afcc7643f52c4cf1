//! The user and group of a sandbox.

use super::received_plan::ReceivedPlan;
use super::run::{At, StepError};
use super::sys::locks::cap;
use super::sys::{self, Fd, pr, spaces};
use crate::protocol::plan::{NONE, new, option};
use crate::protocol::step::Step;

/// `CAP_SYS_ADMIN`, with which namespaces are made where others may not, and `CAP_DAC_OVERRIDE`,
/// with which a cgroup of root's is entered.
const FOR_CLONING: u64 = cap::SYS_ADMIN | cap::DAC_OVERRIDE;

/// As root, becomes the user that the sandbox has outside, so that no process of the sandbox is
/// ever root's and limits hold.
pub(crate) fn change_user(plan: &ReceivedPlan) -> Result<(), StepError> {
    let (uid, gid) = (plan.fixed.outer_uid, plan.fixed.outer_gid);
    if uid == NONE || gid == NONE {
        return Ok(());
    }
    spaces::become_user(uid, gid).at(Step::ChangeUser)?;
    sys::locks::set_capabilities(FOR_CLONING).at(Step::ChangeUser)
}

/// Maps the one id that this process has to the one in the sandbox.
pub(crate) fn map_in_child(plan: &ReceivedPlan) -> sys::Result<()> {
    if plan.fixed.namespaces & new::USER == 0 {
        return Ok(());
    }
    let text = |offset| plan.text(offset).to_bytes();
    let (uid_map, gid_map) = (text(plan.fixed.uid_map), text(plan.fixed.gid_map));
    // A copy has the refusal of groups from its template.
    if plan.has(option::COPY) {
        as_owner_of_its_files(|| write_maps(uid_map, gid_map))
    } else {
        map_own_in_child(uid_map, gid_map)
    }
}

/// Maps the one id that this process has, where no other namespace is between it and the host's.
fn map_own_in_child(uid_map: &[u8], gid_map: &[u8]) -> sys::Result<()> {
    as_owner_of_its_files(|| {
        // Without this an ordinary user could drop a group that denies something,
        // user_namespaces(7).
        spaces::write_file(c"/proc/self/setgroups", b"deny")?;
        write_maps(uid_map, gid_map)
    })
}

fn write_maps(uid_map: &[u8], gid_map: &[u8]) -> sys::Result<()> {
    spaces::write_file(c"/proc/self/gid_map", gid_map)?;
    spaces::write_file(c"/proc/self/uid_map", uid_map)
}

/// The files of a process in `/proc` belong to root while it is not dumpable. Nothing of the
/// sandbox runs yet.
fn as_owner_of_its_files(write: impl FnOnce() -> sys::Result<()>) -> sys::Result<()> {
    sys::prctl(pr::SET_DUMPABLE, 1)?;
    write()?;
    sys::prctl(pr::SET_DUMPABLE, 0)
}

/// Lets no process of the sandbox make a user namespace, where it would have capabilities again. Init itself
/// makes one, if it locks the mounts.
pub(crate) fn forbid_nesting_in_child(own: u8) -> sys::Result<()> {
    // The file means the user namespace of the process that opens it; the root of the sandbox may
    // have no such file (`subset=pid`), so it is written while the host's is still there.
    spaces::write_file(c"/proc/sys/user/max_user_namespaces", &[b'0'.wrapping_add(own)])
}

/// Goes on in a user namespace inside that of the sandbox, with a copy of its mounts. The kernel locks
/// mounts that it copies to where there are fewer rights, `mount_namespaces(7)`: what covers a path stays
/// over it as long as anybody has a handle on a folder above, also when the sandbox is gone. Without that a
/// handle that was passed to another sandbox would show what this one hides as soon as this one ends.
///
/// Takes the folder of this process in the host's `/proc`, and closes it.
pub(crate) fn lock_mounts_in_child(own: Fd) -> sys::Result<()> {
    let (uid, gid) = sys::ids();
    spaces::unshare_user_and_mounts()?;
    let mapped = as_owner_of_its_files(|| {
        // Groups were refused one namespace further out.
        spaces::write_file_in(own, c"gid_map", Line::of(gid).text())?;
        spaces::write_file_in(own, c"uid_map", Line::of(uid).text())
    });
    sys::close(own);
    mapped
}

/// A line of a map in which an id stays what it is.
struct Line([u8; Line::LEN]);

impl Line {
    /// Two numbers of ten digits, and the rest.
    const LEN: usize = 24;

    fn of(id: u32) -> Self {
        let mut line = [b' '; Self::LEN];
        let digits = spaces::Decimal::of(id);
        let parts = [digits.text(), b" ", digits.text(), b" 1"];
        let bytes = parts.into_iter().flatten();
        line.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
        Self(line)
    }

    fn text(&self) -> &[u8] {
        &self.0
    }
}
