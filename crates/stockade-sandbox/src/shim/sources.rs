//! Takes the host's files and folders for a sandbox, as mounts that are attached nowhere yet.
//!
//! Only a process of the same mount namespace can copy a mount. So root's shim does it before it
//! becomes another user; without privileges the sandbox's init does it in its own copy of the
//! namespace, by path, and makes sure that it got the file that was opened by the host.

#![expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "two descriptors, which are small and not negative, become a word and back"
)]

use core::ffi::c_void;

use super::received_plan::ReceivedPlan;
use super::run::{At, StepError};
use super::sys::mounts::{self, Depth};
use super::sys::{self, AT_FDCWD, Errno, Fd, Pid, SharedChild};
use crate::protocol::plan::{NONE, Op, new, op};
use crate::protocol::step::Step;

/// Processes whose only use is that a user namespace has to have one before it has maps.
#[derive(Debug, Default)]
#[must_use = "they wait to be let go"]
pub(crate) struct NamespaceHolders {
    /// The end that they read, and the end whose closing they wait for.
    pipe: Option<[Fd; 2]>,
}

impl NamespaceHolders {
    /// Lets them exit, whatever user this process has by now.
    pub(crate) fn let_go(self) {
        self.pipe.iter().flatten().copied().for_each(sys::close);
    }

    fn pipe(&mut self) -> sys::Result<[Fd; 2]> {
        if self.pipe.is_none() {
            self.pipe = Some(sys::pipe()?);
        }
        self.pipe.ok_or(Errno::BADMSG)
    }
}

/// As root, copies every source's mount, with other owners where the plan says so.
pub(crate) fn take_as_root(plan: &mut ReceivedPlan) -> Result<NamespaceHolders, StepError> {
    let mut holders = NamespaceHolders::default();
    if plan.fixed.outer_uid == NONE {
        return Ok(holders);
    }
    let mut owners: Option<(u64, Fd)> = None;
    for one in plan.ops().at(Step::ReadRequest)?.iter().filter(|one| one.kind == op::BIND) {
        let source = plan.fd(one.source).ok_or(Errno::BADMSG).at(Step::ReadRequest)?;
        let mount = mounts::clone_mount(source, depth(one)).at(Step::TakeSource)?;
        if one.uid_map != 0 {
            let namespace = match owners {
                Some((map, namespace)) if map == one.uid_map => namespace,
                _ => owners_namespace(plan, one, &mut holders).at(Step::MapOwners)?,
            };
            owners = Some((one.uid_map, namespace));
            mounts::map_owners(mount, namespace).at(Step::MapOwners)?;
        }
        sys::close(source);
        plan.replace(one.source, mount);
    }
    Ok(holders)
}

/// Without privileges, copies every source's mount in this copy of the host's mount namespace.
///
/// It must be done before anything is mounted, which could cover a source.
pub(crate) fn take_in_child(plan: &mut ReceivedPlan) -> sys::Result<()> {
    if plan.fixed.outer_uid != NONE {
        return Ok(());
    }
    for one in plan.ops()?.iter().filter(|one| one.kind == op::BIND) {
        let source = plan.fd(one.source).ok_or(Errno::BADMSG)?;
        let empty = c"".as_ptr().cast();
        let found = mounts::find_by_path(plan.text(one.text))?;
        if sys::stat(found, empty)?.identity != sys::stat(source, empty)?.identity {
            return Err(Errno::STALE);
        }
        let mount = mounts::clone_mount(found, depth(one))?;
        sys::close(found);
        sys::close(source);
        plan.replace(one.source, mount);
    }
    Ok(())
}

/// The depth of an operation: one mount, or all that are mounted beneath.
pub(crate) fn depth(one: &Op) -> Depth {
    if one.flags & op::DEEP != 0 { Depth::All } else { Depth::One }
}

/// A user namespace whose only use is its maps.
fn owners_namespace(
    plan: &ReceivedPlan,
    one: &Op,
    holders: &mut NamespaceHolders,
) -> sys::Result<Fd> {
    let ends = holders.pipe()?;
    // SAFETY: the entry never returns, follows no pointer, and writes nothing but its own stack, which
    // stays.
    let holder = unsafe { SharedChild::start(new::USER, hold_open, as_argument(ends)) }?;
    // It is reaped with init, or before.
    map_and_open(plan, one, holder.pid)
}

/// Ends when the shim lets go of it or dies.
extern "C" fn hold_open(ends: *const c_void) -> ! {
    let [wait, hold] = from_argument(ends);
    sys::close(hold);
    let _closed = sys::read(wait, &mut [0]);
    sys::exit(0)
}

/// Both ends of a pipe in one word, so that the child need not read memory of its parent.
fn as_argument([wait, hold]: [Fd; 2]) -> *const c_void {
    core::ptr::without_provenance((wait as usize) << FD_BITS | hold as usize)
}

fn from_argument(ends: *const c_void) -> [Fd; 2] {
    let ends = ends.addr();
    [(ends >> FD_BITS) as Fd, (ends & ((1 << FD_BITS) - 1)) as Fd]
}

const FD_BITS: u32 = 32;

fn map_and_open(plan: &ReceivedPlan, one: &Op, holder: Pid) -> sys::Result<Fd> {
    use super::proclist::Path;
    let of = |name| Path::new().text("/proc/").number(holder).text(name);
    of("/gid_map").write(plan.text(one.gid_map).to_bytes())?;
    of("/uid_map").write(plan.text(one.uid_map).to_bytes())?;
    of("/ns/user").open(AT_FDCWD)
}
