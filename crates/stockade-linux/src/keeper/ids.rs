//! The user and group of a box.

use super::boxed::{NONE, new, option};
use super::cell::Cell;
use super::step::Step;
use super::sys::{self, pr, spaces};
use super::watch::{At, Failed};

/// `CAP_SYS_ADMIN`, with which namespaces are made where others may not, and `CAP_DAC_OVERRIDE`,
/// with which a cgroup of root's is entered.
const FOR_CLONING: u64 = 1 << 21 | 1 << 1;

/// As root, becomes the user that the box has outside, so that no process of the box is ever
/// root's and limits hold.
pub(crate) fn change_user(cell: &Cell) -> Result<(), Failed> {
    let (uid, gid) = (cell.plan.outer_uid, cell.plan.outer_gid);
    if uid == NONE || gid == NONE {
        return Ok(());
    }
    spaces::become_user(uid, gid).at(Step::ChangeUser)?;
    sys::locks::set_capabilities(FOR_CLONING).at(Step::ChangeUser)
}

/// Maps the one id that this process has to the one in the box.
pub(crate) fn map_in_child(cell: &Cell) -> sys::Result<()> {
    if cell.plan.namespaces & new::USER == 0 {
        return Ok(());
    }
    let text = |offset| cell.text(offset).to_bytes();
    let (uid_map, gid_map) = (text(cell.plan.uid_map), text(cell.plan.gid_map));
    // A copy has the refusal of groups from its template.
    if cell.has(option::COPY) {
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

/// The files of a process in `/proc` belong to root while it is not dumpable. Nothing of the box runs
/// yet.
fn as_owner_of_its_files(write: impl FnOnce() -> sys::Result<()>) -> sys::Result<()> {
    sys::prctl(pr::SET_DUMPABLE, 1)?;
    write()?;
    sys::prctl(pr::SET_DUMPABLE, 0)
}

/// Lets no process of the box make a user namespace, where it would have capabilities again.
pub(crate) fn forbid_nesting_in_child() -> sys::Result<()> {
    // The file means the user namespace of the process that opens it; the root of the box may have
    // no such file (`subset=pid`), so it is written while the host's is still there.
    spaces::write_file(c"/proc/sys/user/max_user_namespaces", b"0")
}
