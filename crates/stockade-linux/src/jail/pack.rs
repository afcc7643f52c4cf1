//! Writes a box down for the keeper: a plan, a memory file, and descriptors.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, stat};
use rustix::io::Errno;

#[cfg(feature = "sabotage")]
use super::Sabotage;
use super::{Attest, Form, Jail, Nesting, Network};
use crate::attest::Gate;
use crate::blob::Blob;
use crate::keeper::boxed::{DESCRIPTORS_MAX, NONE, Plan, Rule, new, option};
use crate::landlock::{self, Landlock};
use crate::mounts;
use crate::request::sealed;

/// A plan, and the descriptors that it needs.
pub(crate) struct Packed<'a> {
    pub(crate) plan: Plan,
    pub(crate) gate: Option<Gate>,
    memory: OwnedFd,
    others: Others<'a>,
}

impl Packed<'_> {
    /// The descriptors in the order of the plan.
    pub(crate) fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let others = self.others.0.iter().map(|held| match held {
            Held::Own(fd) => fd.as_fd(),
            Held::Callers(fd) => *fd,
        });
        let gate = self.gate.iter().map(Gate::theirs);
        std::iter::once(self.memory.as_fd()).chain(others).chain(gate).collect()
    }
}

/// The descriptors behind the memory file, which is the first.
struct Others<'a>(Vec<Held<'a>>);

enum Held<'a> {
    Own(OwnedFd),
    Callers(BorrowedFd<'a>),
}

impl<'a> Others<'a> {
    /// The number that the next descriptor gets.
    fn next(&self) -> usize {
        self.0.len().saturating_add(1)
    }

    fn add(&mut self, held: Held<'a>) -> u32 {
        let number = u32::try_from(self.next()).unwrap_or(NONE);
        self.0.push(held);
        number
    }
}

/// Writes a box down.
pub(crate) fn pack(jail: &Jail) -> io::Result<Packed<'_>> {
    if !jail.is_possible() {
        return Err(Errno::INVAL.into());
    }
    let mut blob = Blob::new();
    let mut others = Others(Vec::new());
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
        program: blob.text(&jail.program),
        cwd: blob.text(&jail.cwd),
        ..Plan::empty()
    };
    pack_root(jail, &mut plan, &mut blob, &mut others)?;
    pack_locks(jail, &mut plan, &mut blob, &mut others)?;
    if let Some(cgroup) = &jail.cgroup {
        plan.unified = cgroup.unified().map_or(NONE, |folder| others.add(Held::Callers(folder)));
        plan.entrances = u32::try_from(others.next()).unwrap_or(NONE);
        others.0.extend(cgroup.entrances().map(Held::Callers));
        let after = u32::try_from(others.next()).unwrap_or(NONE);
        plan.entrance_count = after.saturating_sub(plan.entrances);
    }
    let gate = if jail.attest == Attest::No { None } else { Some(Gate::new()?) };
    let mut count = others.next();
    if gate.is_some() {
        plan.gate = u32::try_from(count).unwrap_or(NONE);
        count = count.saturating_add(1);
    }
    #[cfg(feature = "sabotage")]
    break_on_purpose(jail, &mut plan);
    let bytes = blob.finish();
    plan.len = length(&bytes);
    if count > DESCRIPTORS_MAX {
        return Err(Errno::TOOBIG.into());
    }
    plan.descriptors = u32::try_from(count).unwrap_or(NONE);
    Ok(Packed { plan, gate, memory: sealed(&bytes)?, others })
}

fn pack_root<'a>(
    jail: &'a Jail,
    plan: &mut Plan,
    blob: &mut Blob,
    others: &mut Others<'a>,
) -> io::Result<()> {
    let Some(mounts) = &jail.root else { return Ok(()) };
    let root = mounts::pack(mounts, jail.identity, others.next(), blob)?;
    plan.base = blob.text(base()?);
    plan.root_options = blob.text(ROOT_OPTIONS);
    plan.ops = blob.array(&root.ops);
    plan.op_count = length(&root.ops);
    others.0.extend(root.sources.into_iter().map(Held::Callers));
    Ok(())
}

fn pack_locks(
    jail: &Jail,
    plan: &mut Plan,
    blob: &mut Blob,
    others: &mut Others<'_>,
) -> io::Result<()> {
    if let Some(landlock) = &jail.landlock {
        let handled = Landlock::handled(landlock::abi().unwrap_or(0));
        let rules: Vec<_> = landlock
            .rules
            .iter()
            .map(|rule| Rule { path: blob.text(&rule.path), rights: rule.rights & handled })
            .collect();
        plan.rules = blob.array(&rules);
        plan.rule_count = length(&rules);
        plan.ruleset = others.add(Held::Own(landlock.ruleset()?));
    }
    if let Some(filter) = jail.filter {
        let instructions = filter.compile();
        plan.filter = blob.array(&instructions);
        plan.filter_count = length(&instructions);
    }
    Ok(())
}

/// Writes down what a test breaks: the keeper obeys only if it was built for it.
#[cfg(feature = "sabotage")]
fn break_on_purpose(jail: &Jail, plan: &mut Plan) {
    use crate::keeper::mechanism::Mechanism;
    let Sabotage { fail_at, left_out } = &jail.sabotage;
    plan.fail_at = fail_at.map_or(0, |step| step.number().saturating_add(1));
    plan.left_out = left_out.iter().fold(0, |all, mechanism| all | mechanism.bit());
    for (mechanism, namespace) in [
        (Mechanism::NetworkNamespace, new::NET),
        (Mechanism::IpcNamespace, new::IPC),
        (Mechanism::UtsNamespace, new::UTS),
        (Mechanism::CgroupNamespace, new::CGROUP),
    ] {
        if left_out.contains(&mechanism) {
            plan.namespaces &= !namespace;
        }
    }
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
    loopback | nesting
}

fn namespaces(jail: &Jail) -> u64 {
    if jail.form == Form::LocksOnly {
        return 0;
    }
    let own = new::USER | new::MOUNT | new::PID | new::IPC | new::UTS | new::CGROUP;
    match jail.network {
        Network::Host => own,
        Network::None | Network::Loopback => own | new::NET,
    }
}

fn length<T>(items: &[T]) -> u64 {
    u64::try_from(items.len()).unwrap_or(u64::MAX)
}
