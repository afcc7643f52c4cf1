//! What to do about a mechanism that a machine does not give: the usual reasons, the likeliest
//! first, each with how it is recognised.

use std::path::Path;

use stockade_linux::{StartError, Step};

use crate::guarantee::Guarantee;

/// What forbids user namespaces, by a file and what it says.
const SWITCHES: [(&str, &str, &str); 3] = [
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor restricts user namespaces: give the stockade binary a profile with `userns,`, or \
         sysctl kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    (
        "/proc/sys/kernel/unprivileged_userns_clone",
        "0",
        "user namespaces are switched off for ordinary users: sysctl \
         kernel.unprivileged_userns_clone=1",
    ),
    (
        "/proc/sys/user/max_user_namespaces",
        "0",
        "no user namespaces may be made: sysctl user.max_user_namespaces=15000",
    ),
];

/// What to do where a user has no cgroup.
pub(super) const FOR_CGROUPS: &str = "give this user a cgroup: systemd-run --user --scope stockade …, or Delegate=yes in the unit \
     that starts it; in a container, a writable cgroup; or lower tree_limits in box.require";

/// What to do where a box cannot be made.
pub(super) fn for_namespaces(error: StartError) -> String {
    let says = |path: &str, text: &str| {
        std::fs::read_to_string(path).is_ok_and(|value| value.trim() == text)
    };
    if let Some((_, _, remedy)) = SWITCHES.iter().find(|(path, text, _)| says(path, text)) {
        return (*remedy).to_owned();
    }
    if Path::new("/.dockerenv").exists() || Path::new("/run/.containerenv").exists() {
        return "the container's own filter forbids namespaces: start it with --security-opt \
                seccomp=unconfined, or run stockade outside of it"
            .to_owned();
    }
    format!(
        "let this user make user namespaces ({} is refused here, by a filter or a security module)",
        error.step
    )
}

/// The steps of a launch that a guarantee hangs on.
const STEPS: [(Guarantee, &[Step]); 8] = [
    (
        Guarantee::Writes,
        &[
            Step::CloneBox,
            Step::MapIds,
            Step::TakeSource,
            Step::MapOwners,
            Step::MakeRoot,
            Step::FindPlace,
            Step::BindFolder,
            Step::MountMemory,
            Step::MountProc,
            Step::MakeEntry,
            Step::SealRoot,
            Step::EnterRoot,
            Step::LeaveHost,
            Step::RestrictFiles,
            Step::TestLandlock,
        ],
    ),
    (Guarantee::Reads, &[Step::HidePath]),
    (Guarantee::Protected, &[Step::ProtectPath]),
    (Guarantee::Network, &[Step::RaiseLoopback]),
    (
        Guarantee::Privileges,
        &[
            Step::ChangeUser,
            Step::ForbidNesting,
            Step::DropCapabilities,
            Step::RefusePrivileges,
            Step::FilterCalls,
        ],
    ),
    (
        Guarantee::Processes,
        &[
            Step::AdoptOrphans,
            Step::ListProcesses,
            Step::ScopeTree,
            Step::ScopeProgram,
            Step::TieToKeeper,
        ],
    ),
    (Guarantee::TreeLimits, &[Step::JoinCgroups, Step::CountProcesses]),
    (Guarantee::Limits, &[Step::LimitResources]),
];

/// The guarantee that a step of a launch is for, where it is one.
pub(super) fn guarantee_of(step: Step) -> Option<Guarantee> {
    STEPS.iter().find(|(_, steps)| steps.contains(&step)).map(|(guarantee, _)| *guarantee)
}

/// What to do where a step of a launch fails.
pub(super) fn for_step(error: StartError) -> &'static str {
    match (error.step, guarantee_of(error.step)) {
        (Step::FilterCalls, _) => {
            "a kernel with CONFIG_SECCOMP_FILTER, and in a container a runtime that lets programs \
             filter their own system calls"
        }
        (Step::MapOwners, _) => {
            "the file system of the project has no idmapped mounts: run stockade as the owner of \
             the project, not as root"
        }
        (Step::ListProcesses, _) => "mount /proc, with the processes of this user in it",
        (_, Some(_)) => {
            "stockade doctor tells what this machine can keep; --tier process runs without a box, \
             and says in its enforcement what that does not keep"
        }
        (_, None) => {
            "check that the file is a program for this machine, and that its arguments are not too \
             long"
        }
    }
}
