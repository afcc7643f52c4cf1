//! What this machine can keep, found out by trying, with a remedy for each gap.

use serde::Serialize;
use stockade_linux::{Capabilities, CgroupVersion, Controller, Errno, StartError};

use super::remedy;
use crate::guarantee::Guarantee;
use crate::outcome::chain;

/// One mechanism on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// The mechanism.
    pub mechanism: &'static str,
    /// What it keeps.
    pub keeps: Vec<Guarantee>,
    /// Whether it is there.
    pub works: bool,
    /// What was found.
    pub found: String,
    /// What to do about a gap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// Tries every mechanism that the tiers of this version use.
pub fn diagnose() -> Vec<Diagnosis> {
    let machine = stockade_linux::capabilities();
    let mut all = vec![
        namespaces(&machine),
        boxed("network-namespace", &[Guarantee::Network], machine.network),
        boxed(
            "new-root",
            &[Guarantee::Writes, Guarantee::Reads, Guarantee::Protected],
            machine.root,
        ),
        landlock(machine.landlock_abi),
        filter(machine.filter),
    ];
    all.extend(machine.cgroups.iter().map(|(controller, found)| cgroup(*controller, *found)));
    all
}

fn namespaces(machine: &Capabilities) -> Diagnosis {
    let keeps = [Guarantee::Processes, Guarantee::Privileges, Guarantee::Environment];
    boxed("namespaces", &keeps, machine.namespaces)
}

fn boxed(mechanism: &'static str, keeps: &[Guarantee], found: Result<(), StartError>) -> Diagnosis {
    let (found, remedy) = match found {
        Ok(()) => ("works".to_owned(), None),
        Err(error) => (format!("could not {}", chain(&error)), Some(remedy::for_namespaces(error))),
    };
    Diagnosis { mechanism, keeps: keeps.to_vec(), works: remedy.is_none(), found, remedy }
}

fn landlock(abi: Option<u32>) -> Diagnosis {
    let (works, found, remedy) = match abi {
        Some(abi @ 6..) => (true, format!("ABI {abi}"), None),
        Some(abi) => (
            true,
            format!("ABI {abi}: files, but neither signals nor abstract sockets"),
            Some("Linux 6.12 or later has ABI 6".to_owned()),
        ),
        None => (
            false,
            "not there".to_owned(),
            Some(
                "a kernel with CONFIG_SECURITY_LANDLOCK, and landlock in its lsm= list".to_owned(),
            ),
        ),
    };
    let keeps =
        vec![Guarantee::Writes, Guarantee::Reads, Guarantee::Processes, Guarantee::Environment];
    Diagnosis { mechanism: "landlock", keeps, works, found, remedy }
}

fn filter(found: Result<(), Errno>) -> Diagnosis {
    let keeps = vec![Guarantee::Privileges, Guarantee::Network];
    let (found, remedy) = match found {
        Ok(()) => ("works".to_owned(), None),
        Err(errno) => (errno.to_string(), Some("a kernel with CONFIG_SECCOMP_FILTER".to_owned())),
    };
    Diagnosis { mechanism: "seccomp", keeps, works: remedy.is_none(), found, remedy }
}

fn cgroup(controller: Controller, found: Result<CgroupVersion, Errno>) -> Diagnosis {
    let mechanism = match controller {
        Controller::Memory => "cgroup-memory",
        Controller::Tasks => "cgroup-tasks",
        Controller::Cpu => "cgroup-cpu",
    };
    let (found, remedy) = match found {
        Ok(CgroupVersion::One) => ("version 1".to_owned(), None),
        Ok(CgroupVersion::Two) => ("version 2".to_owned(), None),
        Err(errno) => (errno.to_string(), Some(cgroup_remedy(errno))),
    };
    let works = remedy.is_none();
    Diagnosis { mechanism, keeps: vec![Guarantee::TreeLimits], works, found, remedy }
}

/// The usual reasons why a cgroup cannot be made or limited.
fn cgroup_remedy(errno: Errno) -> String {
    let remedy = match errno {
        Errno::BUSY => {
            "its cgroup holds other processes too: run it in a scope of its own, systemd-run --user \
             --scope stockade …"
        }
        Errno::NODEV => {
            "this user's cgroup lacks the controller: Delegate=cpu memory pids in user@.service, or \
             a kernel that has it"
        }
        Errno::ROFS => "the container's /sys/fs/cgroup is read-only: give it a writable one",
        _ => "run it in a scope of your own: systemd-run --user --scope stockade …",
    };
    remedy.to_owned()
}
