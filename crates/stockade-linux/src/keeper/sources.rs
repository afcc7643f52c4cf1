//! Takes the host's files and folders for a box, as mounts that are attached nowhere yet.
//!
//! Only a process of the same mount namespace can copy a mount. So root's keeper does it before it
//! becomes another user; without privileges the box's first process does it in its own copy of the
//! namespace, by path, and makes sure that it got the file that was opened by the host.

use super::boxed::{NONE, Op, op};
use super::cell::Cell;
use super::step::Step;
use super::sys::mounts::{self, Depth};
use super::sys::{self, AT_FDCWD, Errno, Fd, Forked, Pid, sig, spaces};
use super::watch::{At, Failed};

/// As root, copies every source's mount, with other owners where the plan says so.
pub(crate) fn take_as_root(cell: &mut Cell) -> Result<(), Failed> {
    if cell.plan.outer_uid == NONE {
        return Ok(());
    }
    let mut owners: Option<(u64, Fd)> = None;
    for one in cell.ops().at(Step::ReadRequest)?.iter().filter(|one| one.kind == op::BIND) {
        let source = cell.fd(one.source).ok_or(Errno::BADMSG).at(Step::ReadRequest)?;
        let mount = mounts::clone_mount(source, depth(one)).at(Step::TakeSource)?;
        if one.uid_map != 0 {
            let namespace = match owners {
                Some((map, namespace)) if map == one.uid_map => namespace,
                _ => owners_namespace(cell, one).at(Step::MapOwners)?,
            };
            owners = Some((one.uid_map, namespace));
            mounts::map_owners(mount, namespace).at(Step::MapOwners)?;
        }
        sys::close(source);
        cell.replace(one.source, mount);
    }
    Ok(())
}

/// Without privileges, copies every source's mount in this copy of the host's mount namespace.
///
/// It must be done before anything is mounted, which could cover a source.
pub(crate) fn take_in_child(cell: &mut Cell) -> sys::Result<()> {
    if cell.plan.outer_uid != NONE {
        return Ok(());
    }
    for one in cell.ops()?.iter().filter(|one| one.kind == op::BIND) {
        let source = cell.fd(one.source).ok_or(Errno::BADMSG)?;
        let empty = c"".as_ptr().cast();
        let found = mounts::find_by_path(cell.text(one.text))?;
        if sys::stat(found, empty)?.identity != sys::stat(source, empty)?.identity {
            return Err(Errno::STALE);
        }
        let mount = mounts::clone_mount(found, depth(one))?;
        sys::close(found);
        sys::close(source);
        cell.replace(one.source, mount);
    }
    Ok(())
}

/// Whether an operation means all that is mounted beneath.
pub(crate) fn depth(one: &Op) -> Depth {
    if one.flags & op::DEEP != 0 { Depth::All } else { Depth::One }
}

/// A user namespace whose only use is its maps: a process is made in it and killed.
fn owners_namespace(cell: &Cell, one: &Op) -> sys::Result<Fd> {
    let [wait, hold] = sys::pipe()?;
    match spaces::fork_into(super::boxed::new::USER, None)? {
        Forked::Child => {
            // Ends when the keeper closes its end or dies.
            sys::close(hold);
            let _closed = sys::read(wait, &mut [0]);
            sys::exit(0)
        }
        Forked::Parent(holder) => {
            sys::close(wait);
            let namespace = map_and_open(cell, one, holder);
            sys::close(hold);
            // It is reaped with the first process, or before.
            let _gone = sys::kill(holder, sig::KILL);
            namespace
        }
    }
}

fn map_and_open(cell: &Cell, one: &Op, holder: Pid) -> sys::Result<Fd> {
    use super::proclist::Path;
    let of = |name| Path::new().text("/proc/").number(holder).text(name);
    of("/gid_map").write(cell.text(one.gid_map).to_bytes())?;
    of("/uid_map").write(cell.text(one.uid_map).to_bytes())?;
    of("/ns/user").open(AT_FDCWD)
}
