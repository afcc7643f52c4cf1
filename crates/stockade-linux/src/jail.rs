//! A box, described: what the program gets to see and what it may still do.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, stat};
use rustix::io::Errno;

use crate::blob::Blob;
use crate::identity::Identity;
use crate::keeper::boxed::{DESCRIPTORS_MAX, NONE, Plan, new, option};
use crate::mounts::{self, Mount};
use crate::request::sealed;

/// A box: namespaces, a root, locks and limits. Plain data, decided and opened by the caller.
///
/// Made by [`Jail::new`] as the closed form of everything; fields are changed from there.
#[derive(Debug)]
#[non_exhaustive]
pub struct Jail {
    /// The program's path in the box. It must lead to the same file as
    /// [`Spec::program`](crate::Spec::program).
    pub program: CString,
    /// The working directory's path in the box; [`Spec::cwd`](crate::Spec::cwd) is not used.
    pub cwd: CString,
    /// The user and group. Neither may be root's, outside or inside.
    pub identity: Identity,
    /// What the box has of the network.
    pub network: Network,
    /// The machine's name in the box.
    pub host_name: CString,
    /// What the box shows, in the order in which it is made. Without it the box shows the host's
    /// files as they are.
    pub root: Option<Vec<Mount>>,
    /// Whether user namespaces can be made in the box, in which a program has capabilities again.
    pub nesting: Nesting,
}

/// Whether user namespaces can be made in a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nesting {
    /// They cannot: the limit of the box's own namespace is zero.
    Forbidden,
    /// They can.
    Allowed,
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
            identity: Identity::of_caller(),
            network: Network::None,
            host_name: c"box".to_owned(),
            root: None,
            nesting: Nesting::Forbidden,
        }
    }
}

/// A plan, and the descriptors that it needs.
pub(crate) struct Packed<'a> {
    pub(crate) plan: Plan,
    memory: OwnedFd,
    others: Vec<BorrowedFd<'a>>,
}

impl Packed<'_> {
    /// The descriptors in the order of the plan.
    pub(crate) fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        std::iter::once(self.memory.as_fd()).chain(self.others.iter().copied()).collect()
    }
}

/// Writes a box down for the keeper.
pub(crate) fn pack(jail: &Jail) -> io::Result<Packed<'_>> {
    if jail.identity.is_root_anywhere() {
        return Err(Errno::INVAL.into());
    }
    let mut blob = Blob::new();
    let mut others = Vec::new();
    let (uid_map, gid_map) = jail.identity.maps();
    let outer = jail.identity.to_take_on().unwrap_or((NONE, NONE));
    let mut plan = Plan {
        namespaces: namespaces(jail),
        options: options(jail),
        outer_uid: outer.0,
        outer_gid: outer.1,
        uid_map: blob.text(&CString::new(uid_map)?),
        gid_map: blob.text(&CString::new(gid_map)?),
        host_name: blob.text(&jail.host_name),
        program: blob.text(&jail.program),
        cwd: blob.text(&jail.cwd),
        ..Plan::empty()
    };
    if let Some(mounts) = &jail.root {
        let root = mounts::pack(mounts, jail.identity, FIRST_SOURCE, &mut blob)?;
        plan.base = blob.text(base()?);
        plan.root_options = blob.text(ROOT_OPTIONS);
        plan.ops = blob.array(&root.ops);
        plan.op_count = u64::try_from(root.ops.len()).unwrap_or(u64::MAX);
        others.extend(root.sources);
    }
    let bytes = blob.finish();
    plan.len = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let packed = Packed { plan, memory: sealed(&bytes)?, others };
    let count = packed.descriptors().len();
    if count > DESCRIPTORS_MAX {
        return Err(Errno::TOOBIG.into());
    }
    let descriptors = u32::try_from(count).unwrap_or(0);
    Ok(Packed { plan: Plan { descriptors, ..packed.plan }, ..packed })
}

/// The memory file is the first descriptor of a plan.
const FIRST_SOURCE: usize = 1;

/// The root itself holds folders, links and small files.
const ROOT_OPTIONS: &CStr = c"mode=0755,size=1m,nr_inodes=4096";

/// A folder that the root can be mounted on while it is made; nothing of it is seen or changed.
fn base() -> io::Result<&'static CStr> {
    let folders = [c"/tmp", c"/run", c"/usr", c"/proc"];
    let is_folder = |path: &&CStr| {
        stat(*path).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
    };
    folders.into_iter().find(is_folder).ok_or_else(|| Errno::NOENT.into())
}

fn options(jail: &Jail) -> u32 {
    let loopback = if jail.network == Network::Loopback { option::LOOPBACK } else { 0 };
    let nesting = if jail.nesting == Nesting::Forbidden { option::NO_NESTING } else { 0 };
    loopback | nesting
}

fn namespaces(jail: &Jail) -> u64 {
    let own = new::USER | new::MOUNT | new::PID | new::IPC | new::UTS | new::CGROUP;
    match jail.network {
        Network::Host => own,
        Network::None | Network::Loopback => own | new::NET,
    }
}
