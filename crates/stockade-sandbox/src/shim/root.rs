//! The root of a sandbox: made of nothing, filled by a list of operations, entered, and sealed.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU32, Ordering};

use super::fault;
use super::proclist::Path;
use super::received_plan::ReceivedPlan;
use super::restrict::CANARY;
use super::run::{At, StepError};
use super::sources::depth;
use super::sys::mounts::{self, Depth, attr, ms};
use super::sys::{self, Errno, Fd, Stat, names};
use crate::protocol::mechanism::Mechanism;
use crate::protocol::plan::{Op, op, option};
use crate::protocol::step::Step;

/// Makes the root, fills it, and makes it this process's own.
pub(crate) fn make_in_child(plan: &mut ReceivedPlan) -> Result<(), StepError> {
    let base = plan.text(plan.fixed.base);
    // The plan sets the permissions, not the host's umask.
    let mask = sys::umask(0);
    mounts::chdir(base).at(Step::MakeRoot)?;
    let options = plan.text(plan.fixed.root_options);
    mounts::mount_here(c"tmpfs", ms::NOSUID | ms::NODEV, options).at(Step::MakeRoot)?;
    // Again, for the working directory is still the folder beneath.
    mounts::chdir(base).at(Step::MakeRoot)?;
    let root = mounts::here().at(Step::MakeRoot)?;
    for (at, one) in plan.ops().at(Step::ReadRequest)?.iter().enumerate() {
        fault::is_at_mount(Some(at));
        apply_in_child(plan, root, one)?;
    }
    fault::is_at_mount(None);
    if plan.fd(plan.fixed.ruleset).is_some() {
        mounts::make_file(root, CANARY, 0o444).map(sys::close).at(Step::MakeEntry)?;
    }
    sys::umask(mask);
    let writable = plan.leaves_out(Mechanism::Root);
    let sealed = attr::NOSUID | attr::NODEV | if writable { 0 } else { attr::RDONLY };
    mounts::set_attributes(root, sealed, Depth::One).at(Step::SealRoot)?;
    sys::fchdir(root).at(Step::EnterRoot)?;
    mounts::pivot_root_here().at(Step::EnterRoot)
}

/// Set once the old root is unmounted, for the process that shares this memory.
static HAS_LEFT: AtomicU32 = AtomicU32::new(0);

/// Waits until the old root is gone. Should that fail everything ends.
pub(crate) fn await_leaving_in_child() {
    sys::sleep_while(&HAS_LEFT, 0);
}

/// Leaves the old root behind, which lies over the new one: what is mounted here is the host. The
/// kernel waits for all processors then, so that it is done while the program's process has other
/// things to do. The working directory is the new root since that was entered. It is not changed here:
/// the program's process may share it, and be in its own directory before the kernel returns.
pub(crate) fn leave_host_in_child() -> Result<(), StepError> {
    mounts::detach_here().at(Step::LeaveHost)?;
    HAS_LEFT.store(1, Ordering::Release);
    sys::wake(&HAS_LEFT);
    Ok(())
}

/// In a copy of a template: makes anew what sandboxes must not share, such as folders in memory.
pub(crate) fn renew_in_child(plan: &mut ReceivedPlan) -> Result<(), StepError> {
    let mask = sys::umask(0);
    mounts::chdir(c"/").at(Step::MakeRoot)?;
    let root = mounts::here().at(Step::MakeRoot)?;
    for (at, one) in plan.ops().at(Step::ReadRequest)?.iter().enumerate() {
        fault::is_at_mount(Some(at));
        apply_in_child(plan, root, one)?;
    }
    fault::is_at_mount(None);
    sys::umask(mask);
    mounts::chdir(c"/").at(Step::EnterRoot)
}

fn apply_in_child(plan: &mut ReceivedPlan, root: Fd, one: &Op) -> Result<(), StepError> {
    let target = plan.text(one.target);
    match one.kind {
        op::BIND => {
            let mount = plan.fd(one.source).ok_or(Errno::BADMSG).at(Step::TakeSource)?;
            let attributes = one.attributes & !left_out_attributes(plan);
            mounts::set_attributes(mount, attributes, depth(one)).at(Step::BindFolder)?;
            let place = place_in_child(root, target, one).at(Step::FindPlace)?;
            mounts::attach(mount, place).at(Step::BindFolder)?;
            sys::close(mount);
            sys::close(place);
            Ok(())
        }
        op::MEMORY => mount_new(c"tmpfs", Step::MountMemory, plan, root, one),
        op::SESSION => attach_session_in_child(plan, root, one),
        op::PROC if plan.leaves_out(Mechanism::PidNamespace) => {
            // The host's processes have no file system that could be mounted here.
            let place = place_in_child(root, target, one).at(Step::FindPlace)?;
            let host = mounts::handle(c"/proc").at(Step::MountProc)?;
            mount_on(host, place, one.attributes, Depth::All).at(Step::MountProc)
        }
        op::PROC => mount_new(c"proc", Step::MountProc, plan, root, one),
        op::TERMINALS => mount_new(c"devpts", Step::MountTerminals, plan, root, one),
        op::FOLDER => make_folder_in_child(root, target, one).at(Step::MakeEntry),
        op::FILE => {
            let (dir, name) = parent_of(root, target, one).at(Step::MakeEntry)?;
            let file = mounts::make_file(dir, name.text(), one.mode).at(Step::MakeEntry)?;
            let content = plan.bytes(one.text, one.len);
            let written = sys::write(file, content).at(Step::MakeEntry)?;
            sys::close(file);
            let whole = if written == content.len() { Ok(()) } else { Err(Errno::NOSPC) };
            whole.at(Step::MakeEntry)
        }
        op::LINK => {
            let (dir, name) = parent_of(root, target, one).at(Step::MakeEntry)?;
            // An earlier call of the session may have left it.
            let made = mounts::make_link(dir, name.text(), plan.text(one.text));
            made.or_else(unless_there).at(Step::MakeEntry)
        }
        op::HIDE if plan.leaves_out(Mechanism::HiddenPaths) => Ok(()),
        op::COVER if plan.leaves_out(Mechanism::ProtectedPaths) => Ok(()),
        op::HIDE => {
            let (place, cover) = closed_cover_in_child(root, target, one).at(Step::HidePath)?;
            if plan.has(option::TEMPLATE) && one.flags & op::IN_PROC != 0 {
                // A copy mounts a `/proc` of its own, which the kernel allows only where the one that
                // it sees is whole; and then covers that.
                return Ok(());
            }
            let attributes = attr::RDONLY | attr::NOSUID | attr::NODEV | attr::NOEXEC;
            mount_on(cover, place, attributes, Depth::One).at(Step::HidePath)
        }
        op::COVER => cover_in_child(root, target, one).at(Step::ProtectPath),
        op::ASIDE => {
            let there = mounts::find(root, target).at(Step::TakeSource)?;
            let mount = mounts::clone_mount(there, Depth::All).at(Step::TakeSource)?;
            if one.flags & op::MOVED != 0 {
                sys::fchdir(there).and_then(|()| mounts::detach_here()).at(Step::TakeSource)?;
            }
            sys::close(there);
            *plan.aside(one.source).at(Step::ReadRequest)? = mount;
            Ok(())
        }
        op::BACK => {
            let mount = *plan.aside(one.source).at(Step::ReadRequest)?;
            let place = place_in_child(root, target, one).at(Step::FindPlace)?;
            mounts::attach(mount, place).at(Step::BindFolder)?;
            sys::close(mount);
            sys::close(place);
            Ok(())
        }
        _ => Err(StepError { step: Step::ReadRequest, errno: Errno::BADMSG }),
    }
}

/// Makes a folder, or opens again one that an earlier call of the session has closed.
fn make_folder_in_child(root: Fd, target: &CStr, one: &Op) -> sys::Result<()> {
    let place = place_in_child(root, target, one)?;
    if one.flags & op::SHARED != 0 {
        mounts::set_mode(place, one.mode)?;
    }
    sys::close(place);
    Ok(())
}

/// As a `/tmp` is open to all.
const STICKY: u32 = 0o1777;

/// Mounts the folder of the session, of which the shim has taken a copy.
fn attach_session_in_child(plan: &ReceivedPlan, root: Fd, one: &Op) -> Result<(), StepError> {
    let folder = plan.session_folder;
    let attributes = attr::NOSUID | attr::NODEV;
    mounts::set_attributes(folder, attributes, Depth::One).at(Step::MountSession)?;
    // It belongs to the user of the calls, and an earlier one may have closed it to all.
    mounts::set_mode(folder, STICKY).at(Step::MountSession)?;
    let place = place_in_child(root, plan.text(one.target), one).at(Step::FindPlace)?;
    mounts::attach(folder, place).at(Step::MountSession)?;
    sys::close(folder);
    sys::close(place);
    Ok(())
}

/// Attributes of binds that a test leaves out.
fn left_out_attributes(plan: &ReceivedPlan) -> u64 {
    let without = |mechanism, attributes| if plan.leaves_out(mechanism) { attributes } else { 0 };
    without(Mechanism::ReadOnlyBinds, attr::RDONLY)
        | without(Mechanism::MountFlags, attr::NOSUID | attr::NODEV)
}

fn mount_new(
    kind: &CStr,
    step: Step,
    plan: &ReceivedPlan,
    root: Fd,
    one: &Op,
) -> Result<(), StepError> {
    let place = place_in_child(root, plan.text(one.target), one).at(Step::FindPlace)?;
    sys::fchdir(place).at(step)?;
    let noexec = if one.attributes & attr::NOEXEC != 0 { ms::NOEXEC } else { 0 };
    // Terminals are devices.
    let nodev = if one.kind == op::TERMINALS { 0 } else { ms::NODEV };
    let flags = ms::NOSUID | nodev | noexec;
    mounts::mount_here(kind, flags, plan.text(one.text)).at(step)?;
    sys::close(place);
    Ok(())
}

/// Opens the path, and a file or folder to cover it with that cannot be opened without
/// capabilities.
///
/// An empty file would be taken for the content: `git commit -a` would commit it.
fn closed_cover_in_child(root: Fd, target: &CStr, one: &Op) -> sys::Result<(Fd, Fd)> {
    const CLOSED_FOLDER: &CStr = c".stockade-folder";
    const EMPTY_FOLDER: &CStr = c".stockade-cwd";
    const CLOSED_FILE: &CStr = c".stockade-file";
    const S_IFREG: u16 = 0o100_000;
    let place = mounts::find(root, target)?;
    let there = sys::stat(place, c"".as_ptr().cast())?;
    let cover = if there.is_folder {
        let is_entered = one.flags & op::ENTERED != 0;
        let (name, mode) = if is_entered { (EMPTY_FOLDER, 0o555) } else { (CLOSED_FOLDER, 0) };
        mounts::make_folder(root, name, mode).or_else(unless_there)?;
        mounts::find(root, name)?
    } else if there.kind != S_IFREG || one.flags & op::IN_PROC != 0 {
        let made = mounts::make_file(root, CLOSED_FILE, 0);
        made.map(sys::close).or_else(unless_there)?;
        mounts::find(root, CLOSED_FILE)?
    } else {
        closed_file_like_in_child(root, there, one)?
    };
    Ok((place, cover))
}

/// A closed file with the size, the time and the executable bit of another. With
/// `core.checkStat=minimal`, git takes it for a file that has not changed and does not open it.
fn closed_file_like_in_child(root: Fd, other: Stat, one: &Op) -> sys::Result<Fd> {
    const FOLDER: &CStr = c".stockade-files";
    const OWNER_EXECUTES: u16 = 0o100;
    mounts::make_folder(root, FOLDER, 0).or_else(unless_there)?;
    // Where the plan has its path, which no other path has.
    let number = i32::try_from(one.target).map_err(|_large| Errno::BADMSG)?;
    let path = Path::new().text(".stockade-files/").number(number);
    let path = path.as_c_str()?;
    match mounts::make_file(root, path, u32::from(other.mode & OWNER_EXECUTES)) {
        Ok(file) => {
            mounts::resize(file, other.size)?;
            mounts::set_written(file, other.written)?;
            sys::close(file);
        }
        // The same path was covered before.
        Err(errno) => unless_there(errno)?,
    }
    mounts::find(root, path)
}

/// Mounts what is at the path on itself: a mount cannot be renamed or removed, and may have
/// attributes of its own.
fn cover_in_child(root: Fd, target: &CStr, one: &Op) -> sys::Result<()> {
    let place = mounts::find(root, target)?;
    let again = mounts::find(root, target)?;
    mount_on(again, place, one.attributes, Depth::All)
}

/// Makes pinned folders read-only when the program has ended, for what it leaves running and for whoever was
/// passed a handle on them: in time the host may replace a protected file there, which takes its cover
/// away. Fails while something there is open for writing, and where the pinned folder is no longer there.
pub(crate) fn seal_in_child(plan: &ReceivedPlan) -> sys::Result<()> {
    let root = mounts::handle(c"/")?;
    for folder in plan.sealed()? {
        let mount = mounts::find(root, plan.text(folder.path))?;
        mounts::set_attributes(mount, attr::RDONLY, Depth::All)?;
        sys::close(mount);
    }
    sys::close(root);
    Ok(())
}

fn mount_on(source: Fd, place: Fd, attributes: u64, depth: Depth) -> sys::Result<()> {
    let mount = mounts::clone_mount(source, depth)?;
    mounts::set_attributes(mount, attributes, depth)?;
    mounts::attach(mount, place)?;
    for fd in [mount, source, place] {
        sys::close(fd);
    }
    Ok(())
}

/// The file or folder at the path, which is made where that may be.
fn place_in_child(root: Fd, target: &CStr, one: &Op) -> sys::Result<Fd> {
    const EMPTY_FILE: usize = 0o100_644;
    if one.flags & op::MAY_MAKE == 0 || target == c"/" {
        return mounts::find(root, target);
    }
    let (dir, name) = parent_of(root, target, one)?;
    let made = if one.flags & op::IS_FILE != 0 {
        names::make_node(dir, name.text(), EMPTY_FILE, 0)
    } else {
        let mode = if one.kind == op::FOLDER { one.mode } else { 0o755 };
        mounts::make_folder(dir, name.text(), mode)
    };
    // Most are not there; what is in memory says so itself if they are.
    made.or_else(unless_there)?;
    let place = mounts::find(dir, name.text());
    if dir != root {
        sys::close(dir);
    }
    place
}

/// The folder that the path's last name is in, and that name; missing folders are made.
fn parent_of(root: Fd, target: &CStr, one: &Op) -> sys::Result<(Fd, Component)> {
    let mut names = target.to_bytes().split(|byte| *byte == b'/').filter(|name| !name.is_empty());
    let mut name = Component::new(names.next().ok_or(Errno::INVAL)?)?;
    let mut dir = root;
    for next in names {
        let found = match mounts::find(dir, name.text()) {
            Err(Errno::NOENT) if one.flags & op::MAY_MAKE != 0 => {
                mounts::make_folder(dir, name.text(), 0o755)?;
                mounts::find(dir, name.text())?
            }
            other => other?,
        };
        if dir != root {
            sys::close(dir);
        }
        dir = found;
        name = Component::new(next)?;
    }
    Ok((dir, name))
}

fn unless_there(errno: Errno) -> sys::Result<()> {
    if errno == Errno::EXIST { Ok(()) } else { Err(errno) }
}

/// One name of a path, with a NUL.
struct Component([u8; Self::ROOM]);

impl Component {
    // NAME_MAX and a NUL.
    const ROOM: usize = 256;

    fn new(name: &[u8]) -> sys::Result<Self> {
        let mut bytes = [0; Self::ROOM];
        let fits = name.len() < Self::ROOM && name != b"." && name != b"..";
        if !fits {
            return Err(Errno::INVAL);
        }
        for (place, byte) in bytes.iter_mut().zip(name) {
            *place = *byte;
        }
        Ok(Self(bytes))
    }

    fn text(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.0).unwrap_or(c"")
    }
}
