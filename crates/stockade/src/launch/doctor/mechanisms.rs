//! Each mechanism on this machine: whether it works, since which kernel there is one, and what to
//! do where it does not.

use serde::Serialize;
use stockade_sandbox::{Capabilities, CgroupVersion, Controller, Errno, StartError};

use crate::guarantee::Guarantee;
use crate::launch::jail::is_broker_to_blame;
use crate::launch::remedy;
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
    /// The first kernel that has what is needed of it.
    pub since: &'static str,
    /// What to do about a gap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Diagnosis {
    fn new(mechanism: &'static str, since: &'static str, keeps: &[Guarantee]) -> Self {
        let found = "works".to_owned();
        Self { mechanism, keeps: keeps.to_vec(), works: true, found, since, remedy: None }
    }

    fn lacking(self, found: String, remedy: impl Into<String>) -> Self {
        Self { works: false, found, remedy: Some(remedy.into()), ..self }
    }
}

/// All of them, in the order in which a box is made.
pub(super) fn all(machine: &Capabilities) -> Vec<Diagnosis> {
    use Guarantee as G;
    let shim = Diagnosis::new(
        "shim",
        "Linux 5.11",
        &[G::Processes, G::TreeLimits, G::Limits, G::Output, G::Environment],
    );
    let namespaces =
        Diagnosis::new("namespaces", "Linux 5.12", &[G::Processes, G::Privileges, G::Environment]);
    let network = Diagnosis::new("network-namespace", "Linux 5.12", &[G::Network]);
    let root = Diagnosis::new("new-root", "Linux 5.12", &[G::Writes, G::Reads, G::Protected]);
    let mut all = vec![
        tried(shim, machine.shim),
        tried(namespaces, machine.namespaces),
        tried(network, machine.network),
        tried(root, machine.root),
        broker(machine.broker),
        landlock(machine),
        filter(machine.filter),
    ];
    all.extend(machine.cgroups.iter().map(|(controller, found)| cgroup(*controller, *found)));
    all
}

fn tried(diagnosis: Diagnosis, result: Result<(), StartError>) -> Diagnosis {
    let is_shim = diagnosis.mechanism == "shim";
    match result {
        Ok(()) => diagnosis,
        Err(error) if is_shim => {
            diagnosis.lacking(format!("could not {}", chain(&error)), remedy::for_step(error))
        }
        Err(error) => {
            diagnosis.lacking(format!("could not {}", chain(&error)), remedy::for_namespaces(error))
        }
    }
}

/// It takes a box, and more of the kernel than a box does.
fn broker(result: Result<(), StartError>) -> Diagnosis {
    let diagnosis = Diagnosis::new("broker", "Linux 5.19", &[Guarantee::Protected]);
    match result {
        Err(error) if is_broker_to_blame(error) => diagnosis.lacking(
            format!("could not {}", chain(&error)),
            "a newer kernel: Linux 5.19; and kernel.yama.ptrace_scope below 3",
        ),
        other => tried(diagnosis, other),
    }
}

fn landlock(machine: &Capabilities) -> Diagnosis {
    let keeps = [Guarantee::Writes, Guarantee::Reads, Guarantee::Processes, Guarantee::Environment];
    let diagnosis = Diagnosis::new("landlock", "Linux 5.13", &keeps);
    match machine.landlock_abi {
        Some(abi @ 6..) => Diagnosis { found: format!("ABI {abi}"), ..diagnosis },
        Some(abi) => {
            let gap = if abi < 3 {
                "neither keeps files from being cut short (Linux 6.2 does), nor signals and \
                 abstract sockets (6.12)"
            } else {
                "keeps neither signals nor abstract sockets (Linux 6.12 does)"
            };
            let remedy = Some("a newer kernel: Linux 6.12 has ABI 6".to_owned());
            Diagnosis { found: format!("ABI {abi}: {gap}"), remedy, ..diagnosis }
        }
        None => {
            let why = machine.landlock_missing.unwrap_or(Errno::NOSYS);
            diagnosis.lacking(format!("not there: {why}"), remedy::for_landlock(why))
        }
    }
}

fn filter(found: Result<(), Errno>) -> Diagnosis {
    let keeps = [Guarantee::Privileges, Guarantee::Network];
    let diagnosis = Diagnosis::new("seccomp", "Linux 4.14", &keeps);
    match found {
        Ok(()) => diagnosis,
        Err(errno) => diagnosis.lacking(errno.to_string(), remedy::FOR_FILTERS),
    }
}

fn cgroup(controller: Controller, found: Result<CgroupVersion, Errno>) -> Diagnosis {
    let (mechanism, since) = match controller {
        Controller::Memory => ("cgroup-memory", "version 2: Linux 5.7, version 1: any"),
        Controller::Tasks => ("cgroup-tasks", "version 2: Linux 5.7, version 1: any"),
        Controller::Cpu => ("cgroup-cpu", "version 2: Linux 5.7, version 1: any"),
    };
    let diagnosis = Diagnosis::new(mechanism, since, &[Guarantee::TreeLimits]);
    match found {
        Ok(CgroupVersion::One) => Diagnosis { found: "version 1".to_owned(), ..diagnosis },
        Ok(CgroupVersion::Two) => Diagnosis { found: "version 2".to_owned(), ..diagnosis },
        Err(errno) => diagnosis.lacking(errno.to_string(), remedy::for_cgroups(errno)),
    }
}
