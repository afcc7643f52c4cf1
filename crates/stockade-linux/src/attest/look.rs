//! Reads a waiting process through `/proc` and compares.

use std::ffi::{CStr, CString};

use rustix::fs::{Mode, OFlags, open, readlinkat};
use rustix::io::Errno;
use rustix::process::Pid;

use super::expect::Expected;
use super::{Attested, Tested};
use crate::keeper::mechanism::Mechanism;
use crate::proc::read;

/// The namespaces of a program from the moment that its process is there.
#[derive(Debug)]
pub(crate) struct Spaces {
    process: String,
    namespaces: Vec<Mechanism>,
}

/// What is around a program.
#[derive(Debug)]
pub(crate) struct Surroundings {
    spaces: Spaces,
    mounts: String,
    cgroups: String,
}

/// Looks at the namespaces of the program: the only child of the box's first process.
pub(super) fn spaces(
    expected: &Expected,
    first: Pid,
    host: &Namespaces,
) -> rustix::io::Result<Spaces> {
    let program = if expected.has_namespaces { only_child(first)? } else { number(first) };
    let process = format!("/proc/{program}");
    let namespaces = Namespaces::of(&process, expected)?.other_than(host);
    Ok(Spaces { process, namespaces })
}

impl Surroundings {
    /// Whether one root is mounted, and so not that of the host, over which the other was made.
    pub(crate) fn has_one_root(&self) -> bool {
        is_only(&mounts_in(&self.mounts), "/")
    }

    /// The same, with the mounts looked at again.
    pub(crate) fn again(self) -> rustix::io::Result<Self> {
        Ok(Self { mounts: mounts_of(&self.spaces.process)?, ..self })
    }
}

/// Looks at what else is around it.
pub(super) fn around(spaces: Spaces) -> rustix::io::Result<Surroundings> {
    let cgroups = read(&format!("{}/cgroup", spaces.process))?;
    // Last, for those of the host may be about to go.
    Ok(Surroundings { mounts: mounts_of(&spaces.process)?, cgroups, spaces })
}

fn mounts_of(process: &str) -> rustix::io::Result<String> {
    match read(&format!("{process}/mountinfo")) {
        // What the kernel says of a process that has just ended.
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

/// The namespaces of a process, of the kinds that a box is asked to have; those that can be read.
#[derive(Debug)]
pub(crate) struct Namespaces(Vec<(Mechanism, CString)>);

impl Namespaces {
    /// Those of the host.
    pub(super) fn of_host(expected: &Expected) -> rustix::io::Result<Self> {
        Self::of("/proc/self", expected)
    }

    fn of(process: &str, expected: &Expected) -> rustix::io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = open(format!("{process}/ns"), flags, Mode::empty())?;
        let asked = NAMESPACES.iter().filter(|(one, _)| expected.asked.contains(one));
        let link = |kind| readlinkat(&folder, kind, Vec::with_capacity(32)).ok();
        Ok(Self(asked.filter_map(|(one, kind)| Some((*one, link(*kind)?))).collect()))
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
    expected: &Expected,
    around: Surroundings,
    tested: Tested,
) -> rustix::io::Result<Attested> {
    let Surroundings { spaces: Spaces { process, namespaces }, mounts, cgroups } = around;
    let status = Status::parse(&read(&format!("{process}/status"))?).ok_or(Errno::PROTO)?;
    let mut attested = Attested {
        uid: status.uid,
        capabilities: status.capabilities,
        filters: status.filters,
        ..Attested::default()
    };
    let there = There { mounts: mounts_in(&mounts), cgroups: &cgroups, status, tested };
    for mechanism in &expected.asked {
        let sees = if NAMESPACES.iter().any(|(namespace, _)| namespace == mechanism) {
            Some(namespaces.contains(mechanism))
        } else {
            sees(*mechanism, expected, &there)
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

/// What there is to compare.
struct There<'a> {
    mounts: Vec<SeenMount<'a>>,
    cgroups: &'a str,
    status: Status,
    tested: Tested,
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
pub(super) fn lost(expected: &Expected, first: Pid) -> rustix::io::Result<Vec<Mechanism>> {
    let mountinfo = mounts_of(&format!("/proc/{}", number(first)))?;
    let mounts = mounts_in(&mountinfo);
    let asked = expected.asked.iter().copied();
    Ok(asked
        .filter(|mechanism| sees_mounts(*mechanism, expected, &mounts) == Some(false))
        .collect())
}

/// Whether a mechanism that is made of mounts is there; `None` if it is of another kind.
fn sees_mounts(
    mechanism: Mechanism,
    expected: &Expected,
    mounts: &[SeenMount<'_>],
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

/// Whether a mechanism can be seen at work; `None` if it could not be seen anyway.
fn sees(mechanism: Mechanism, expected: &Expected, there: &There<'_>) -> Option<bool> {
    let There { mounts, cgroups, status, tested } = there;
    Some(match mechanism {
        Mechanism::OtherUser => status.uid == expected.uid && status.uid != 0,
        Mechanism::Root
        | Mechanism::ReadOnlyBinds
        | Mechanism::HiddenPaths
        | Mechanism::ProtectedPaths => return sees_mounts(mechanism, expected, mounts),
        // What bounds those to come can be emptied in a user namespace of one's own only.
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
        | Mechanism::ClosedDescriptors => return None,
        // They were looked at before.
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
struct SeenMount<'a> {
    /// Its path in the box, with `\040` for a space.
    target: &'a str,
    /// Its flags, as `ro` or `nosuid`, with commas.
    flags: &'a str,
    /// The kind of file system.
    kind: &'a str,
}

fn mounts_in(mountinfo: &str) -> Vec<SeenMount<'_>> {
    mountinfo.lines().filter_map(SeenMount::parse).collect()
}

impl<'a> SeenMount<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (front, back) = line.split_once(" - ")?;
        let mut front = front.split(' ').skip(4);
        let (target, flags) = (front.next()?, front.next()?);
        Some(Self { target, flags, kind: back.split(' ').next()? })
    }
}

/// The mount that is on top at a path.
fn last<'a>(mounts: &'a [SeenMount<'a>], target: &str) -> Option<&'a SeenMount<'a>> {
    mounts.iter().rfind(|mount| mount.target == target)
}

/// Whether one thing is mounted at a path, with nothing beneath or above it.
fn is_only(mounts: &[SeenMount<'_>], target: &str) -> bool {
    mounts.iter().filter(|mount| mount.target == target).count() == 1
}

fn has_flag(mounts: &[SeenMount<'_>], target: &str, flag: &str) -> bool {
    last(mounts, target).is_some_and(|mount| mount.flags.split(',').any(|one| one == flag))
}

/// What `status` says that matters here.
struct Status {
    uid: u32,
    capabilities: u64,
    held_capabilities: u64,
    no_new_privileges: bool,
    filters: u32,
}

impl Status {
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

    /// It would be reported as a box that lacks its namespaces.
    #[test]
    fn namespaces_that_cannot_be_looked_at_are_not_said_to_be_missing() {
        let expected = Expected::of(&Jail::new(c"/bin/true", c"/"));
        assert_eq!(Namespaces::of("/proc/no", &expected).map(drop), Err(Errno::NOENT));
        assert!(!Namespaces::of_host(&expected).unwrap().0.is_empty());
    }
}
