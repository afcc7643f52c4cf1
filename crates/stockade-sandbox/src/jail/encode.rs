//! Writes a sandbox down for the shim: a plan, a memory file, and descriptors.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, stat};
use rustix::io::Errno;

#[cfg(feature = "fault-injection")]
use super::FaultInjection;
use super::{Form, Jail, Nesting, Network};
use crate::blob::Blob;
use crate::mechanisms::cgroup::Cgroup;
use crate::mechanisms::identity::Identity;
use crate::mechanisms::landlock::{self, Landlock};
use crate::mechanisms::mounts::{self, Mount};
use crate::mechanisms::seccomp::Names;
use crate::memory_file::sealed;
use crate::protocol::UNLIMITED;
use crate::protocol::plan::creation_log::PATHS_MAX;
use crate::protocol::plan::{
    DESCRIPTORS_MAX, ListedPath, NONE, PathRule, Plan, names, new, option, session,
};
use crate::session::{FolderLimits, Leftovers};

/// The encoded description, which is the same for every sandbox made of it: a plan, a memory file,
/// and folders of the host.
#[derive(Debug)]
pub(crate) struct EncodedPlan<'a> {
    plan: Plan,
    memory: OwnedFd,
    ruleset: Ruleset,
    sources: Vec<BorrowedFd<'a>>,
    session: Vec<BorrowedFd<'a>>,
}

/// The Landlock ruleset of a sandbox.
#[derive(Debug)]
enum Ruleset {
    /// There is none.
    None,
    /// One for each sandbox, to which the rules are added where the paths are.
    PerBox,
    /// One with rules about the host's own files.
    OfHost(OwnedFd),
}

/// The descriptors that belong to one sandbox.
#[derive(Debug)]
pub(crate) struct PerBoxFds<'a> {
    /// The channel to init.
    pub(crate) channel: Option<BorrowedFd<'a>>,
    /// Where its program waits.
    pub(crate) exec_channel: Option<BorrowedFd<'a>>,
    /// Its limits.
    pub(crate) cgroup: Option<&'a Cgroup>,
    /// The supervisor, whose exit ends the sandbox.
    pub(crate) supervisor: Option<BorrowedFd<'a>>,
    /// Where it writes down which names its program creates.
    pub(crate) creation_log: Option<BorrowedFd<'a>>,
}

/// A plan with all its descriptors, to be sent.
pub(crate) struct PlanMessage<'a> {
    pub(crate) plan: Plan,
    fds: Vec<PlanFd<'a>>,
}

enum PlanFd<'a> {
    Own(OwnedFd),
    Callers(BorrowedFd<'a>),
}

impl<'a> PlanMessage<'a> {
    /// The descriptors in the order of the plan.
    pub(crate) fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let fds = self.fds.iter().map(|fd| match fd {
            PlanFd::Own(fd) => fd.as_fd(),
            PlanFd::Callers(fd) => *fd,
        });
        fds.collect()
    }

    fn add(&mut self, fd: PlanFd<'a>) -> u32 {
        let number = u32::try_from(self.fds.len()).unwrap_or(NONE);
        self.fds.push(fd);
        number
    }
}

impl EncodedPlan<'_> {
    /// Makes a plan for one sandbox.
    pub(crate) fn with_fds<'a>(&'a self, own: &PerBoxFds<'a>) -> io::Result<PlanMessage<'a>> {
        let fds = vec![PlanFd::Callers(self.memory.as_fd())];
        let mut message = PlanMessage { plan: self.plan, fds };
        message.fds.extend(self.sources.iter().copied().map(PlanFd::Callers));
        let session = u32::try_from(message.fds.len()).unwrap_or(NONE);
        let session = if self.session.is_empty() { NONE } else { session };
        message.fds.extend(self.session.iter().copied().map(PlanFd::Callers));
        let mut add =
            |fd: Option<BorrowedFd<'a>>| fd.map_or(NONE, |fd| message.add(PlanFd::Callers(fd)));
        let (channel, exec_channel) = (add(own.channel), add(own.exec_channel));
        let (supervisor, creation_log) = (add(own.supervisor), add(own.creation_log));
        let cgroup = own.cgroup;
        let unified = add(cgroup.and_then(Cgroup::unified));
        let entrances = u32::try_from(message.fds.len()).unwrap_or(NONE);
        if let Some(cgroup) = cgroup {
            message.fds.extend(cgroup.entrances().map(PlanFd::Callers));
        }
        let entrance_count = u32::try_from(message.fds.len()).unwrap_or(NONE);
        let entrance_count = entrance_count.saturating_sub(entrances);
        let ruleset = match &self.ruleset {
            Ruleset::None => NONE,
            Ruleset::PerBox => message.add(PlanFd::Own(Landlock::ruleset()?)),
            Ruleset::OfHost(ruleset) => message.add(PlanFd::Callers(ruleset.as_fd())),
        };
        if message.fds.len() > DESCRIPTORS_MAX {
            return Err(Errno::TOOBIG.into());
        }
        let descriptors = u32::try_from(message.fds.len()).unwrap_or(NONE);
        message.plan = Plan {
            descriptors,
            entrances,
            entrance_count,
            unified,
            channel,
            ruleset,
            exec_channel,
            supervisor,
            creation_log,
            session,
            ..message.plan
        };
        Ok(message)
    }

    /// The plan and the bytes of its memory file.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn parts(&self) -> io::Result<(Plan, Vec<u8>)> {
        let len = usize::try_from(self.plan.len).unwrap_or(0);
        let mut bytes = vec![0; len];
        rustix::io::pread(&self.memory, &mut bytes, 0)?;
        Ok((self.plan, bytes))
    }

    /// The same for a template, in which nothing runs.
    pub(crate) fn into_template(mut self) -> Self {
        self.plan.options = self.plan.options & !option::NO_NESTING | option::TEMPLATE;
        self.plan.namespaces &= !new::CGROUP;
        // The file with which a copy tests Landlock is made where there is a ruleset.
        self
    }
}

/// Writes a sandbox down.
pub(crate) fn encode(jail: &Jail) -> io::Result<EncodedPlan<'_>> {
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
        let root = mounts::pack((mounts, &jail.cwd), jail.identity, 1, &mut blob)?;
        plan.base = blob.text(base()?);
        plan.root_options = blob.text(ROOT_OPTIONS);
        plan.ops = blob.array(&root.ops);
        plan.op_count = length(&root.ops);
        sources = root.sources;
    }
    if let Some(session) = &jail.session {
        plan.pid_base = session.pid_base;
    }
    let session = jail.session.iter().flat_map(|session| session.space.descriptors()).collect();
    finish(jail, plan, blob, sources, session)
}

/// Writes a session down: the namespaces that its calls share, and its folder.
pub(crate) fn encode_session(
    identity: Identity,
    limits: FolderLimits,
) -> io::Result<EncodedPlan<'static>> {
    const OWN: u64 = new::USER | new::MOUNT | new::IPC | new::NET;
    let mut blob = Blob::new();
    let folder = Mount::Memory {
        target: session::FOLDER.to_owned(),
        bytes_max: limits.bytes_max,
        files_max: limits.files_max,
        mode: 0o1777,
    };
    let folder = [folder];
    let root = mounts::pack((&folder, c""), identity, 1, &mut blob)?;
    let (uid_map, gid_map) = identity.session_maps();
    let outer = identity.to_take_on().unwrap_or((NONE, NONE));
    let mut plan = Plan {
        namespaces: OWN,
        options: option::SESSION | option::LOOPBACK,
        outer_uid: outer.0,
        outer_gid: outer.1,
        uid_map: blob.text(&CString::new(uid_map)?),
        gid_map: blob.text(&CString::new(gid_map)?),
        base: blob.text(base()?),
        root_options: blob.text(ROOT_OPTIONS),
        ops: blob.array(&root.ops),
        op_count: length(&root.ops),
        ..Plan::empty()
    };
    let bytes = blob.finish();
    plan.len = length(&bytes);
    let memory = sealed(&bytes)?;
    let (sources, session) = (Vec::new(), Vec::new());
    Ok(EncodedPlan { plan, memory, ruleset: Ruleset::None, sources, session })
}

/// Writes a copy of a template down, which has a root already; `None` if there can be none.
pub(crate) fn encode_copy(jail: &Jail) -> io::Result<Option<EncodedPlan<'static>>> {
    let mut blob = Blob::new();
    let (Form::Namespaces, Some(mounts)) = (jail.form, &jail.root) else { return Ok(None) };
    let Some(ops) = mounts::pack_copy(mounts, &mut blob)? else { return Ok(None) };
    let (uid_map, gid_map) = jail.identity.nested_maps();
    let shared = if shares_network(jail) { new::NET } else { 0 };
    let plan = Plan {
        // Its name is that of the template, and nothing in a sandbox can change it.
        namespaces: namespaces(jail) & !(new::UTS | shared),
        options: options(jail) | option::COPY,
        uid_map: blob.text(&CString::new(uid_map)?),
        gid_map: blob.text(&CString::new(gid_map)?),
        processes_max: jail.processes_max.map_or(UNLIMITED, |most| most.min(UNLIMITED - 1)),
        ops: blob.array(&ops),
        op_count: length(&ops),
        ..Plan::empty()
    };
    finish(jail, plan, blob, Vec::new(), Vec::new()).map(Some)
}

/// Returns whether sandboxes can share a network namespace: it is empty, and Landlock keeps them
/// from meeting by abstract sockets.
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
    session: Vec<BorrowedFd<'a>>,
) -> io::Result<EncodedPlan<'a>> {
    encode_locks(jail, &mut plan, &mut blob)?;
    #[cfg(feature = "fault-injection")]
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
    Ok(EncodedPlan { plan, memory: sealed(&bytes)?, ruleset, sources, session })
}

fn encode_locks(jail: &Jail, plan: &mut Plan, blob: &mut Blob) -> io::Result<()> {
    if jail.landlock.as_ref().is_some_and(Landlock::reads_canary) {
        return Err(Errno::INVAL.into());
    }
    if let (Some(landlock), Form::Namespaces) = (&jail.landlock, jail.form) {
        let handled = Landlock::handled(landlock::abi().unwrap_or(0));
        let rules: Vec<_> = landlock
            .rules
            .iter()
            .map(|rule| PathRule { path: blob.text(&rule.path), rights: rule.rights & handled })
            .collect();
        plan.rules = blob.array(&rules);
        plan.rule_count = length(&rules);
    }
    if jail.form == Form::Namespaces && jail.root.is_some() {
        let sealed: Vec<_> =
            jail.sealed.iter().map(|path| ListedPath { path: blob.text(path) }).collect();
        plan.sealed = blob.array(&sealed);
        plan.sealed_count = length(&sealed);
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
    let forbidden: Vec<_> = paths.iter().map(|path| ListedPath { path: blob.text(path) }).collect();
    plan.forbidden = blob.array(&forbidden);
    plan.forbidden_count = length(&forbidden);
    Ok(())
}

/// Writes down what a test breaks: the shim obeys only if it was built for it.
#[cfg(feature = "fault-injection")]
fn break_on_purpose(jail: &Jail, plan: &mut Plan, blob: &mut Blob) -> io::Result<()> {
    use crate::protocol::mechanism::Mechanism;
    use rustix::process::{getegid, geteuid};
    let FaultInjection { fail_at, left_out } = &jail.faults;
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
    let session = jail.session.as_ref();
    let network = match (jail.network, session) {
        (Network::Loopback, None) => option::LOOPBACK,
        (Network::Loopback, Some(_)) => option::SESSION_NETWORK,
        (Network::None | Network::Host, _) => 0,
    };
    let folder = session.map_or(0, |_| option::REPORTS_FOLDER);
    let stay = session.is_some_and(|session| session.leftovers == Leftovers::Stay);
    let left = if stay { option::KEEPS_LEFT } else { 0 };
    let nesting = if jail.nesting == Nesting::Forbidden { option::NO_NESTING } else { 0 };
    let unlocked = if jail.form == Form::Unlocked { option::UNLOCKED } else { 0 };
    network | folder | left | nesting | unlocked
}

fn namespaces(jail: &Jail) -> u64 {
    match jail.form {
        Form::Namespaces if jail.session.is_some() => {
            let shared_network = if jail.network == Network::Loopback { new::NET } else { 0 };
            namespaces_with(jail.network) & !(new::IPC | shared_network)
        }
        Form::Namespaces => namespaces_with(jail.network),
        Form::LocksOnly | Form::Unlocked => 0,
    }
}

/// The namespaces of every sandbox with this network.
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
