//! Reads a waiting process through `/proc` and compares.

use std::ffi::{CStr, CString};

use rustix::fs::{Mode, OFlags, open, readlinkat};
use rustix::io::Errno;
use rustix::process::Pid;

use super::expect::Expectations;
use super::{Attestation, SelfTests};
use crate::proc::read;
use crate::protocol::mechanism::Mechanism;

/// The namespaces of a program from the moment that its process is there.
#[derive(Debug)]
pub(crate) struct ProgramNamespaces {
    process: String,
    namespaces: Vec<Mechanism>,
}

/// The namespaces, mounts and cgroups of a program.
#[derive(Debug)]
pub(crate) struct ProgramView {
    spaces: ProgramNamespaces,
    mounts: String,
    cgroups: String,
}

/// Looks at the namespaces of the program: the only child of the sandbox's init.
pub(super) fn spaces(
    expected: &Expectations,
    first: Pid,
    host: &Namespaces,
) -> rustix::io::Result<ProgramNamespaces> {
    let program = if expected.has_namespaces { only_child(first)? } else { number(first) };
    let process = format!("/proc/{program}");
    let own = Namespaces::of(&process, expected)?;
    let mut namespaces = own.other_than(host);
    namespaces.retain(|one| own.is_as_shared(*one, &expected.shared));
    Ok(ProgramNamespaces { process, namespaces })
}

impl ProgramView {
    /// Returns whether one root is mounted, and so not that of the host, over which the other was made.
    pub(crate) fn has_one_root(&self) -> bool {
        is_only(&mounts_in(&self.mounts), "/")
    }

    /// The same view with the mounts read again.
    pub(crate) fn again(self) -> rustix::io::Result<Self> {
        Ok(Self { mounts: mounts_of(&self.spaces.process)?, ..self })
    }
}

/// Looks at what else is around it.
pub(super) fn around(spaces: ProgramNamespaces) -> rustix::io::Result<ProgramView> {
    let cgroups = read(&format!("{}/cgroup", spaces.process))?;
    // Last, for those of the host may be about to go.
    Ok(ProgramView { mounts: mounts_of(&spaces.process)?, cgroups, spaces })
}

fn mounts_of(process: &str) -> rustix::io::Result<String> {
    match read(&format!("{process}/mountinfo")) {
        // The kernel's answer for a process that has just ended.
        Err(Errno::INVAL) => Err(Errno::SRCH),
        other => other,
    }
}

const NAMESPACES: [(Mechanism, &CStr); 7] = [
    (Mechanism::UserNamespace, c"user"),
    (Mechanism::MountNamespace, c"mnt"),
    (Mechanism::PidNamespace, c"pid"),
    (Mechanism::IpcNamespace, c"ipc"),
    (Mechanism::UtsNamespace, c"uts"),
    (Mechanism::CgroupNamespace, c"cgroup"),
    (Mechanism::NetworkNamespace, c"net"),
];

/// The namespaces of a process, of the kinds that a sandbox is asked to have; those that can be
/// read.
#[derive(Debug)]
pub(crate) struct Namespaces(Vec<(Mechanism, CString)>);

impl Namespaces {
    /// Those of the host.
    pub(super) fn of_host(expected: &Expectations) -> rustix::io::Result<Self> {
        Self::of("/proc/self", expected)
    }

    fn of(process: &str, expected: &Expectations) -> rustix::io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = open(format!("{process}/ns"), flags, Mode::empty())?;
        let asked = NAMESPACES.iter().filter(|(one, _)| expected.asked.contains(one));
        let link = |kind| readlinkat(&folder, kind, Vec::with_capacity(32)).ok();
        Ok(Self(asked.filter_map(|(one, kind)| Some((*one, link(*kind)?))).collect()))
    }

    /// Whether a namespace that is to be shared with others is the one that they share.
    fn is_as_shared(&self, mechanism: Mechanism, shared: &[(Mechanism, CString)]) -> bool {
        shared.iter().filter(|(kind, _)| *kind == mechanism).all(|one| self.0.contains(one))
    }

    /// The kinds of which both are known, and not the same.
    fn other_than(&self, host: &Self) -> Vec<Mechanism> {
        let is_other = |(kind, own): &&(Mechanism, CString)| {
            host.0.iter().any(|(one, host)| one == kind && host != own)
        };
        self.0.iter().filter(is_other).map(|(kind, _)| *kind).collect()
    }
}

/// Looks at the program's process itself, which waits with all its locks on.
pub(super) fn at(
    expected: &Expectations,
    around: ProgramView,
    tested: SelfTests,
) -> rustix::io::Result<Attestation> {
    let ProgramView { spaces: ProgramNamespaces { process, namespaces }, mounts, cgroups } = around;
    let status = ProcStatus::parse(&read(&format!("{process}/status"))?).ok_or(Errno::PROTO)?;
    let mut attested = Attestation {
        uid: status.uid,
        capabilities: status.capabilities,
        filters: status.filters,
        ..Attestation::default()
    };
    let observed = Observations { mounts: mounts_in(&mounts), cgroups: &cgroups, status, tested };
    for mechanism in &expected.asked {
        let sees = if NAMESPACES.iter().any(|(namespace, _)| namespace == mechanism) {
            Some(namespaces.contains(mechanism))
        } else {
            sees(*mechanism, expected, &observed)
        };
        let list = match sees {
            Some(true) => &mut attested.kept,
            Some(false) => &mut attested.missing,
            None => &mut attested.unseen,
        };
        list.push(*mechanism);
    }
    (attested.mounts, attested.cgroups) = (mounts, cgroups);
    Ok(attested)
}

/// The observations that are compared.
struct Observations<'a> {
    mounts: Vec<MountEntry<'a>>,
    cgroups: &'a str,
    status: ProcStatus,
    tested: SelfTests,
}

fn number(process: Pid) -> String {
    process.as_raw_nonzero().to_string()
}

fn only_child(first: Pid) -> rustix::io::Result<String> {
    let first = number(first);
    let children = read(&format!("/proc/{first}/task/{first}/children"))?;
    children.split_whitespace().next().map(str::to_owned).ok_or(Errno::SRCH)
}

/// The mechanisms made of mounts that are no longer there, although they were asked for.
pub(super) fn lost(expected: &Expectations, first: Pid) -> rustix::io::Result<Vec<Mechanism>> {
    let mountinfo = mounts_of(&format!("/proc/{}", number(first)))?;
    let mounts = mounts_in(&mountinfo);
    let asked = expected.asked.iter().copied();
    Ok(asked
        .filter(|mechanism| sees_mounts(*mechanism, expected, &mounts) == Some(false))
        .collect())
}

/// Returns whether a mechanism that is made of mounts is there; `None` if it is of another kind.
fn sees_mounts(
    mechanism: Mechanism,
    expected: &Expectations,
    mounts: &[MountEntry<'_>],
) -> Option<bool> {
    let all_read_only =
        |targets: &[String]| targets.iter().all(|target| has_flag(mounts, target, "ro"));
    if mechanism == Mechanism::Root {
        let is_made = last(mounts, "/").is_some_and(|root| root.kind == "tmpfs");
        return Some(is_made && is_only(mounts, "/") && has_flag(mounts, "/", "ro"));
    }
    if mechanism == Mechanism::ReadOnlyBinds {
        return Some(all_read_only(&expected.read_only));
    }
    if mechanism == Mechanism::HiddenPaths {
        return Some(all_read_only(&expected.hidden));
    }
    if mechanism == Mechanism::ProtectedPaths {
        let is_mount = |target: &String| last(mounts, target).is_some();
        return Some(all_read_only(&expected.protected) && expected.pinned.iter().all(is_mount));
    }
    None
}

/// Returns whether a mechanism can be seen at work; `None` if it could not be seen anyway.
fn sees(
    mechanism: Mechanism,
    expected: &Expectations,
    observed: &Observations<'_>,
) -> Option<bool> {
    let Observations { mounts, cgroups, status, tested } = observed;
    Some(match mechanism {
        Mechanism::OtherUser => status.uid == expected.uid && status.uid != 0,
        Mechanism::Root
        | Mechanism::ReadOnlyBinds
        | Mechanism::HiddenPaths
        | Mechanism::ProtectedPaths => return sees_mounts(mechanism, expected, mounts),
        // The bounding set can be emptied only in a user namespace of one's own.
        Mechanism::NoCapabilities if expected.has_namespaces => status.capabilities == 0,
        Mechanism::NoCapabilities => status.held_capabilities == 0,
        Mechanism::NoNewPrivileges => status.no_new_privileges,
        Mechanism::Filter => status.filters > 0,
        Mechanism::Cgroup => expected
            .cgroups
            .iter()
            .all(|name| cgroups.lines().any(|line| line.rsplit('/').next() == Some(name))),
        Mechanism::Landlock if expected.tests_landlock => tested.landlock,
        Mechanism::Broker => tested.broker,
        Mechanism::Landlock
        | Mechanism::NoNesting
        | Mechanism::MountFlags
        | Mechanism::Rlimits
        | Mechanism::LockedMounts
        | Mechanism::ClosedDescriptors => return None,
        // They were compared before.
        Mechanism::UserNamespace
        | Mechanism::MountNamespace
        | Mechanism::PidNamespace
        | Mechanism::IpcNamespace
        | Mechanism::UtsNamespace
        | Mechanism::CgroupNamespace
        | Mechanism::NetworkNamespace => return None,
    })
}

/// One mount, as `mountinfo` shows it.
struct MountEntry<'a> {
    /// Its path in the sandbox, with `\040` for a space.
    target: &'a str,
    /// Its flags, as `ro` or `nosuid`, with commas.
    flags: &'a str,
    /// The kind of file system.
    kind: &'a str,
}

fn mounts_in(mountinfo: &str) -> Vec<MountEntry<'_>> {
    mountinfo.lines().filter_map(MountEntry::parse).collect()
}

impl<'a> MountEntry<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (front, back) = line.split_once(" - ")?;
        let mut front = front.split(' ').skip(4);
        let (target, flags) = (front.next()?, front.next()?);
        Some(Self { target, flags, kind: back.split(' ').next()? })
    }
}

/// The mount that is on top at a path.
fn last<'a>(mounts: &'a [MountEntry<'a>], target: &str) -> Option<&'a MountEntry<'a>> {
    mounts.iter().rfind(|mount| mount.target == target)
}

/// Returns whether one thing is mounted at a path, with nothing beneath or above it.
fn is_only(mounts: &[MountEntry<'_>], target: &str) -> bool {
    mounts.iter().filter(|mount| mount.target == target).count() == 1
}

fn has_flag(mounts: &[MountEntry<'_>], target: &str, flag: &str) -> bool {
    last(mounts, target).is_some_and(|mount| mount.flags.split(',').any(|one| one == flag))
}

/// The fields of `status` that matter here.
struct ProcStatus {
    uid: u32,
    capabilities: u64,
    held_capabilities: u64,
    no_new_privileges: bool,
    filters: u32,
}

impl ProcStatus {
    fn parse(text: &str) -> Option<Self> {
        const FIELDS: [&str; 9] = [
            "Uid",
            "CapInh",
            "CapPrm",
            "CapEff",
            "CapBnd",
            "CapAmb",
            "NoNewPrivs",
            "Seccomp",
            "Seccomp_filters",
        ];
        let mut values = [None; FIELDS.len()];
        // In one passage: there are more lines than are wanted.
        for (name, value) in text.lines().filter_map(|line| line.split_once(':')) {
            let place = FIELDS.iter().zip(&mut values).find(|(field, _)| **field == name);
            if let Some((_, place)) = place {
                place.get_or_insert(value.trim());
            }
        }
        let [uid, inherited, permitted, effective, bounding, ambient, privileges, seccomp, filters] =
            values;
        let uids: Vec<u32> = uid?.split_whitespace().filter_map(|uid| uid.parse().ok()).collect();
        let set = |set: Option<&str>| u64::from_str_radix(set.unwrap_or(""), 16).ok();
        let held = [inherited, permitted, effective, ambient].into_iter();
        let held_capabilities = held.map(set).try_fold(0, |all, set| Some(all | set?))?;
        // Older kernels do not count them.
        let filters = filters.map_or(Some(1), |count| count.parse().ok())?;
        Some(Self {
            // All four must be one.
            uid: uids.first().copied().filter(|uid| uids == [*uid; 4])?,
            capabilities: held_capabilities | set(bounding)?,
            held_capabilities,
            no_new_privileges: privileges? == "1",
            filters: if seccomp? == "2" { filters } else { 0 },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jail::Jail;

    /// It would be reported as a sandbox that lacks its namespaces.
    #[test]
    fn namespaces_that_cannot_be_looked_at_are_not_said_to_be_missing() {
        let expected = Expectations::of(&Jail::new(c"/bin/true", c"/"));
        assert_eq!(Namespaces::of("/proc/no", &expected).map(drop), Err(Errno::NOENT));
        assert!(!Namespaces::of_host(&expected).unwrap().0.is_empty());
    }
}
