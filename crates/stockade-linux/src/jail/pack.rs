//! Writes a box down for the keeper: a plan, a memory file, and descriptors.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, stat};
use rustix::io::Errno;

#[cfg(feature = "sabotage")]
use super::Sabotage;
use super::{Form, Jail, Nesting, Network};
use crate::blob::Blob;
use crate::cgroup::Cgroup;
use crate::keeper::boxed::creation_log::PATHS_MAX;
use crate::keeper::boxed::{DESCRIPTORS_MAX, NONE, Name, Plan, Rule, names, new, op, option};
use crate::keeper::wire::UNLIMITED;
use crate::landlock::{self, Landlock};
use crate::mounts::{self, Mount};
use crate::request::sealed;
use crate::seccomp::Names;

/// What is the same for every box of a description: a plan, a memory file, and folders of the host.
#[derive(Debug)]
pub(crate) struct Sheet<'a> {
    plan: Plan,
    memory: OwnedFd,
    ruleset: Ruleset,
    sources: Vec<BorrowedFd<'a>>,
}

/// What Landlock gets of a box.
#[derive(Debug)]
enum Ruleset {
    /// There is none.
    None,
    /// One for each box, to which the rules are added where the paths are.
    PerBox,
    /// One with rules about the host's own files.
    OfHost(OwnedFd),
}

/// What one box alone has.
#[derive(Debug)]
pub(crate) struct Fittings<'a> {
    /// Where it is heard and ruled.
    pub(crate) line: Option<BorrowedFd<'a>>,
    /// Where its program waits.
    pub(crate) gate: Option<BorrowedFd<'a>>,
    /// Its limits.
    pub(crate) cgroup: Option<&'a Cgroup>,
    /// Who must live for it to live.
    pub(crate) supervisor: Option<BorrowedFd<'a>>,
    /// Where it writes down which names its program creates.
    pub(crate) creation_log: Option<BorrowedFd<'a>>,
}

/// A plan with all its descriptors, to be sent.
pub(crate) struct Packed<'a> {
    pub(crate) plan: Plan,
    held: Vec<Held<'a>>,
}

enum Held<'a> {
    Own(OwnedFd),
    Callers(BorrowedFd<'a>),
}

impl<'a> Packed<'a> {
    /// The descriptors in the order of the plan.
    pub(crate) fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let fds = self.held.iter().map(|held| match held {
            Held::Own(fd) => fd.as_fd(),
            Held::Callers(fd) => *fd,
        });
        fds.collect()
    }

    fn add(&mut self, held: Held<'a>) -> u32 {
        let number = u32::try_from(self.held.len()).unwrap_or(NONE);
        self.held.push(held);
        number
    }
}

impl Sheet<'_> {
    /// Makes a plan for one box.
    pub(crate) fn fit<'a>(&'a self, fittings: &Fittings<'a>) -> io::Result<Packed<'a>> {
        let held = vec![Held::Callers(self.memory.as_fd())];
        let mut packed = Packed { plan: self.plan, held };
        packed.held.extend(self.sources.iter().copied().map(Held::Callers));
        let mut add =
            |fd: Option<BorrowedFd<'a>>| fd.map_or(NONE, |fd| packed.add(Held::Callers(fd)));
        let (line, gate) = (add(fittings.line), add(fittings.gate));
        let (supervisor, creation_log) = (add(fittings.supervisor), add(fittings.creation_log));
        let cgroup = fittings.cgroup;
        let unified = add(cgroup.and_then(Cgroup::unified));
        let entrances = u32::try_from(packed.held.len()).unwrap_or(NONE);
        if let Some(cgroup) = cgroup {
            packed.held.extend(cgroup.entrances().map(Held::Callers));
        }
        let entrance_count = u32::try_from(packed.held.len()).unwrap_or(NONE);
        let entrance_count = entrance_count.saturating_sub(entrances);
        let ruleset = match &self.ruleset {
            Ruleset::None => NONE,
            Ruleset::PerBox => packed.add(Held::Own(Landlock::ruleset()?)),
            Ruleset::OfHost(ruleset) => packed.add(Held::Callers(ruleset.as_fd())),
        };
        if packed.held.len() > DESCRIPTORS_MAX {
            return Err(Errno::TOOBIG.into());
        }
        let descriptors = u32::try_from(packed.held.len()).unwrap_or(NONE);
        packed.plan = Plan {
            descriptors,
            entrances,
            entrance_count,
            unified,
            line,
            ruleset,
            gate,
            supervisor,
            creation_log,
            ..packed.plan
        };
        Ok(packed)
    }

    /// The same for a template, in which nothing runs.
    pub(crate) fn into_template(mut self) -> Self {
        self.plan.options = self.plan.options & !option::NO_NESTING | option::TEMPLATE;
        self.plan.namespaces &= !new::CGROUP;
        // The file with which a copy tests Landlock is made where there is a ruleset.
        self
    }
}

/// Writes a box down.
pub(crate) fn pack(jail: &Jail) -> io::Result<Sheet<'_>> {
    if !jail.is_possible() {
        return Err(Errno::INVAL.into());
    }
    let mut blob = Blob::new();
    let (uid_map, gid_map) = jail.identity.maps();
    let outer = jail.user_to_take_on().unwrap_or((NONE, NONE));
    let mut plan = Plan {
        namespaces: namespaces(jail),
        options: options(jail),
        outer_uid: outer.0,
        outer_gid: outer.1,
        uid_map: blob.text(&CString::new(uid_map)?),
        gid_map: blob.text(&CString::new(gid_map)?),
        host_name: blob.text(&jail.host_name),
        processes_max: jail.processes_max.map_or(UNLIMITED, |most| most.min(UNLIMITED - 1)),
        ..Plan::empty()
    };
    let mut sources = Vec::new();
    if let Some(mounts) = &jail.root {
        // The memory file is the first descriptor.
        let mut root = mounts::pack(mounts, jail.identity, 1, &mut blob)?;
        let is_entered =
            |mount: &Mount| matches!(mount, Mount::Hide { target } if *target == jail.cwd);
        for (_, one) in mounts.iter().zip(&mut root.ops).filter(|(mount, _)| is_entered(mount)) {
            one.flags |= op::ENTERED;
        }
        plan.base = blob.text(base()?);
        plan.root_options = blob.text(ROOT_OPTIONS);
        plan.ops = blob.array(&root.ops);
        plan.op_count = length(&root.ops);
        sources = root.sources;
    }
    finish(jail, plan, blob, sources)
}

/// Writes a copy of a template down, which has a root already; `None` if there can be none.
pub(crate) fn pack_copy(jail: &Jail) -> io::Result<Option<Sheet<'static>>> {
    let mut blob = Blob::new();
    let (Form::Namespaces, Some(mounts)) = (jail.form, &jail.root) else { return Ok(None) };
    let Some(ops) = mounts::pack_copy(mounts, &mut blob)? else { return Ok(None) };
    let (uid_map, gid_map) = jail.identity.nested_maps();
    let shared = if shares_network(jail) { new::NET } else { 0 };
    let plan = Plan {
        // Its name is that of the template, and nothing in a box can change it.
        namespaces: namespaces(jail) & !(new::UTS | shared),
        options: options(jail) | option::COPY,
        uid_map: blob.text(&CString::new(uid_map)?),
        gid_map: blob.text(&CString::new(gid_map)?),
        processes_max: jail.processes_max.map_or(UNLIMITED, |most| most.min(UNLIMITED - 1)),
        ops: blob.array(&ops),
        op_count: length(&ops),
        ..Plan::empty()
    };
    finish(jail, plan, blob, Vec::new()).map(Some)
}

/// Whether boxes can have one network: there is nothing in it, and Landlock keeps them from meeting
/// by abstract sockets.
fn shares_network(jail: &Jail) -> bool {
    const ABI_WITH_SCOPES: u32 = 6;
    let is_scoped = jail.landlock.is_some() && landlock::abi() >= Some(ABI_WITH_SCOPES);
    jail.network == Network::None && is_scoped
}

fn finish<'a>(
    jail: &Jail,
    mut plan: Plan,
    mut blob: Blob,
    sources: Vec<BorrowedFd<'a>>,
) -> io::Result<Sheet<'a>> {
    pack_locks(jail, &mut plan, &mut blob)?;
    #[cfg(feature = "sabotage")]
    break_on_purpose(jail, &mut plan, &mut blob)?;
    let bytes = blob.finish();
    plan.len = length(&bytes);
    let ruleset = match (&jail.landlock, jail.form) {
        (None, _) => Ruleset::None,
        (Some(_), Form::Namespaces) => Ruleset::PerBox,
        (Some(landlock), Form::LocksOnly | Form::Unlocked) => {
            Ruleset::OfHost(landlock.ruleset_of_host()?)
        }
    };
    Ok(Sheet { plan, memory: sealed(&bytes)?, ruleset, sources })
}

fn pack_locks(jail: &Jail, plan: &mut Plan, blob: &mut Blob) -> io::Result<()> {
    if jail.landlock.as_ref().is_some_and(Landlock::reads_canary) {
        return Err(Errno::INVAL.into());
    }
    if let (Some(landlock), Form::Namespaces) = (&jail.landlock, jail.form) {
        let handled = Landlock::handled(landlock::abi().unwrap_or(0));
        let rules: Vec<_> = landlock
            .rules
            .iter()
            .map(|rule| Rule { path: blob.text(&rule.path), rights: rule.rights & handled })
            .collect();
        plan.rules = blob.array(&rules);
        plan.rule_count = length(&rules);
    }
    if let Some(filter) = jail.filter {
        let instructions = filter.compile(jail.names());
        plan.filter = blob.array(&instructions);
        plan.filter_count = length(&instructions);
    }
    let (names, paths): (u32, &[CString]) = match jail.names() {
        Names::Free => (names::FREE, &[]),
        Names::Told => (names::REFUSED, &jail.refused),
        Names::Brokered => (names::BROKERED, &jail.forbidden),
    };
    if names == names::REFUSED && paths.len() > PATHS_MAX {
        return Err(Errno::TOOBIG.into());
    }
    plan.names = names;
    let forbidden: Vec<_> = paths.iter().map(|path| Name { path: blob.text(path) }).collect();
    plan.forbidden = blob.array(&forbidden);
    plan.forbidden_count = length(&forbidden);
    Ok(())
}

/// Writes down what a test breaks: the keeper obeys only if it was built for it.
#[cfg(feature = "sabotage")]
fn break_on_purpose(jail: &Jail, plan: &mut Plan, blob: &mut Blob) -> io::Result<()> {
    use crate::identity::Identity;
    use crate::keeper::mechanism::Mechanism;
    use rustix::process::{getegid, geteuid};
    let Sabotage { fail_at, left_out } = &jail.sabotage;
    plan.fail_at = fail_at.map_or(0, |step| step.number().saturating_add(1));
    plan.left_out = left_out.iter().fold(0, |all, mechanism| all | mechanism.bit());
    for (mechanism, namespace) in [
        (Mechanism::UserNamespace, new::USER),
        (Mechanism::MountNamespace, new::MOUNT),
        (Mechanism::PidNamespace, new::PID),
        (Mechanism::NetworkNamespace, new::NET),
        (Mechanism::IpcNamespace, new::IPC),
        (Mechanism::UtsNamespace, new::UTS),
        (Mechanism::CgroupNamespace, new::CGROUP),
    ] {
        if left_out.contains(&mechanism) {
            plan.namespaces &= !namespace;
        }
    }
    if left_out.contains(&Mechanism::MountNamespace) {
        // Without it there is no root but the host's.
        (plan.base, plan.op_count) = (0, 0);
    }
    if left_out.contains(&Mechanism::OtherUser) {
        (plan.outer_uid, plan.outer_gid) = (NONE, NONE);
        let own = Identity {
            outer_uid: geteuid().as_raw(),
            outer_gid: getegid().as_raw(),
            ..jail.identity
        };
        let (uid_map, gid_map) = own.maps();
        plan.uid_map = blob.text(&CString::new(uid_map)?);
        plan.gid_map = blob.text(&CString::new(gid_map)?);
    }
    Ok(())
}

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
    let unlocked = if jail.form == Form::Unlocked { option::UNLOCKED } else { 0 };
    loopback | nesting | unlocked
}

fn namespaces(jail: &Jail) -> u64 {
    match jail.form {
        Form::Namespaces => namespaces_with(jail.network),
        Form::LocksOnly | Form::Unlocked => 0,
    }
}

/// The namespaces of every box with this network.
pub(crate) fn namespaces_with(network: Network) -> u64 {
    let own = new::USER | new::MOUNT | new::PID | new::IPC | new::UTS | new::CGROUP;
    match network {
        Network::Host => own,
        Network::None | Network::Loopback => own | new::NET,
    }
}

fn length<T>(items: &[T]) -> u64 {
    u64::try_from(items.len()).unwrap_or(u64::MAX)
}
