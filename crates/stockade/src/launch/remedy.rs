//! What to do about a mechanism that a machine does not give: the usual reasons, the likeliest
//! first, each with how it is recognised.

use stockade_sandbox::{Errno, StartError, Step};

use crate::guarantee::Guarantee;
use crate::limits::shortage;

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

/// The usual reasons why a cgroup cannot be made or limited.
pub(super) fn for_cgroups(errno: Errno) -> &'static str {
    match errno {
        Errno::BUSY => {
            "its cgroup holds other processes too: run it in a scope of its own, systemd-run --user \
             --scope stockade …"
        }
        Errno::NODEV => {
            "this user's cgroup lacks the controller: Delegate=cpu memory pids in user@.service, or \
             a kernel that has it"
        }
        Errno::ROFS => "the container's /sys/fs/cgroup is read-only: give it a writable one",
        _ => FOR_CGROUPS,
    }
}

/// What to do where a box cannot be made.
pub(super) fn for_namespaces(error: StartError) -> String {
    let is_root = rustix::process::geteuid().is_root();
    of_namespaces(error.step, is_root, &|path| std::fs::read_to_string(path).ok())
}

/// The same, by what files say here.
fn of_namespaces(step: Step, is_root: bool, read: &dyn Fn(&str) -> Option<String>) -> String {
    // The others are for ordinary users.
    let binds_root = |path: &str| path.starts_with("/proc/sys/user/");
    let mut switches = SWITCHES.iter().filter(|(path, _, _)| !is_root || binds_root(path));
    let says = |path: &str, text: &str| read(path).is_some_and(|value| value.trim() == text);
    if let Some((_, _, remedy)) = switches.find(|(path, text, _)| says(path, text)) {
        return (*remedy).to_owned();
    }
    if matches!(step, Step::MountProc | Step::ForbidNesting) {
        return "parts of /proc are masked or read-only here, as containers have it, and a fresh /proc \
                is refused: start the container with --security-opt systempaths=unconfined \
                (docker) or --security-opt unmask=ALL (podman)"
            .to_owned();
    }
    if ["/.dockerenv", "/run/.containerenv"].iter().any(|path| read(path).is_some()) {
        return "a container's filter of system calls forbids namespaces: start it with \
                --security-opt seccomp=unconfined, or a profile that lets unshare, clone and mount \
                pass, or run stockade outside of it"
            .to_owned();
    }
    let status = read("/proc/self/status").unwrap_or_default();
    if status.lines().any(|line| line.split_whitespace().eq(["Seccomp:", "2"])) {
        return "this process runs under a filter of system calls that forbids namespaces or mounts, \
                as docker's default profile does: start it with --security-opt seccomp=unconfined, \
                or outside of whatever filters it"
            .to_owned();
    }
    format!(
        "let this user make user namespaces: the kernel's configuration or a security module has \
         not let it {step}"
    )
}

/// What to do where there is no Landlock.
pub(super) fn for_landlock(why: Errno) -> &'static str {
    match why {
        Errno::OPNOTSUPP => {
            "Landlock is built in and not switched on: add landlock to lsm= on the kernel's command \
             line (/sys/kernel/security/lsm shows the list)"
        }
        Errno::NOSYS => "a kernel from 5.13 on with CONFIG_SECURITY_LANDLOCK, and landlock in lsm=",
        _ => {
            "a filter of system calls refuses Landlock: start it with --security-opt \
             seccomp=unconfined, or a profile that lets landlock_* pass"
        }
    }
}

/// What to do where system calls cannot be filtered.
pub(super) const FOR_FILTERS: &str = "a kernel with CONFIG_SECCOMP_FILTER, and in a container a runtime that lets programs filter \
     their own system calls";

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
    (Guarantee::Network, &[Step::RaiseLoopback, Step::EnterNetwork, Step::MakeSockets]),
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
            Step::TieToShim,
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
    if let Some(remedy) = shortage::remedy(error.errno) {
        return remedy;
    }
    match (error.step, guarantee_of(error.step)) {
        (Step::FilterCalls, _) => FOR_FILTERS,
        (Step::MapOwners, _) => {
            "the file system of the project has no idmapped mounts: run stockade as the owner of \
             the project, not as root"
        }
        (Step::EnterDirectory | Step::FindProgram | Step::RecheckScript, _)
            if error.errno == Errno::STALE =>
        {
            "another was put in its place after the call was judged, and nothing has run: find out \
             who moves files there, and make the call again"
        }
        (Step::EnterDirectory, _) => "check that the folder is still there and can be entered",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_up_is_named_whatever_it_was_wanted_for() {
        for (step, errno, expected) in [
            (Step::OpenControl, Errno::MFILE, "ulimit -n"),
            (Step::CloneBox, Errno::AGAIN, "ulimit -u"),
            (Step::PrepareBox, Errno::NOMEM, "memory"),
            (Step::Execute, Errno::TOOBIG, "environment"),
            (Step::Execute, Errno::NOEXEC, message!("remedy.check-file-program-machine")),
            (Step::CloneBox, Errno::PERM, "stockade doctor"),
        ] {
            let said = for_step(StartError { step, errno });
            assert!(said.contains(expected), "{step:?} {errno:?}: {said}");
        }
    }

    #[test]
    fn each_reason_is_recognised_by_what_files_say() {
        let remedy = |file: &str, text: &str, step, is_root| {
            let read = |path: &str| (path == file).then(|| text.to_owned());
            of_namespaces(step, is_root, &read)
        };
        let apparmor = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";
        let clone = "/proc/sys/kernel/unprivileged_userns_clone";
        let most = "/proc/sys/user/max_user_namespaces";
        let status = "/proc/self/status";
        for (file, text, step, expected) in [
            (apparmor, "1\n", Step::MapIds, "AppArmor"),
            (apparmor, "0\n", Step::MapIds, "security module"),
            (clone, "0\n", Step::CloneBox, "kernel.unprivileged_userns_clone=1"),
            (most, "0\n", Step::CloneBox, "user.max_user_namespaces="),
            ("/.dockerenv", "", Step::CloneBox, "container's filter"),
            ("/.dockerenv", "", Step::MountProc, "systempaths=unconfined"),
            (status, "Seccomp:\t2\n", Step::CloneBox, message!("remedy.process-runs-under-filter")),
            (status, "Seccomp:\t0\n", Step::CloneBox, "security module"),
        ] {
            let said = remedy(file, text, step, false);
            assert!(said.contains(expected), "{file}: {said}");
        }
        // Switches for ordinary users do not bind root.
        assert!(!remedy(apparmor, "1\n", Step::CloneBox, true).contains("AppArmor"));
        assert!(remedy(most, "0\n", Step::CloneBox, true).contains("max_user_namespaces"));
    }

    #[test]
    fn no_landlock_has_three_reasons() {
        assert!(for_landlock(Errno::OPNOTSUPP).contains("lsm="));
        assert!(for_landlock(Errno::NOSYS).contains("CONFIG_SECURITY_LANDLOCK"));
        assert!(for_landlock(Errno::PERM).contains("filter"));
    }
}
