//! What keeps each guarantee in a box, as seen from outside.

use stockade_sandbox::{Attestation, Cgroup, Controller, Errno, Mechanism};

use crate::guarantee::{Enforced, Guarantee, Kept};
use crate::launch::remedy;
use crate::outcome::{Failure, FailureKind};
use crate::plan::Requirements;

/// Which mechanisms keep a guarantee in a box.
fn mechanisms(guarantee: Guarantee) -> &'static [Mechanism] {
    use Mechanism as M;
    match guarantee {
        Guarantee::Writes => &[M::MountNamespace, M::Root, M::ReadOnlyBinds, M::Landlock],
        Guarantee::Reads => &[M::MountNamespace, M::Root, M::HiddenPaths, M::Landlock],
        Guarantee::Protected => &[M::ProtectedPaths, M::Broker],
        Guarantee::Network => &[M::NetworkNamespace, M::Filter],
        Guarantee::Processes => &[M::PidNamespace, M::IpcNamespace],
        Guarantee::Privileges => &[
            M::NoNewPrivileges,
            M::NoCapabilities,
            M::Filter,
            M::UserNamespace,
            M::OtherUser,
            M::NoNesting,
        ],
        Guarantee::Environment => &[M::PidNamespace],
        Guarantee::Disk => &[M::Filter],
        Guarantee::TreeLimits | Guarantee::Limits | Guarantee::Output | Guarantee::Kernel => &[],
    }
}

/// Names as keepers of a guarantee what was seen from outside before the program was executed.
pub(super) fn credit(enforcement: &mut [Enforced], seen: &Attestation) {
    for line in enforcement.iter_mut().filter(|line| line.kept > Kept::None) {
        let known = mechanisms(line.guarantee);
        let kept = known.iter().filter(|one| seen.kept.contains(one)).map(|one| one.name());
        let by: Vec<&'static str> = kept.collect();
        if !by.is_empty() {
            let own = ["shim", "built-environment", "shim-count", "notification", "watch"];
            let own = line.by.iter().copied().filter(|by| own.contains(by));
            line.by = own.chain(by).collect();
        }
    }
}

/// Says of every guarantee that a lost mechanism kept that it was lost.
pub(in crate::launch) fn lose_mechanisms(enforcement: &mut [Enforced], lost: &[Mechanism]) {
    for line in enforcement {
        let gone = mechanisms(line.guarantee).iter().find(|one| lost.contains(one));
        if let Some(gone) = gone {
            line.kept = Kept::Lost;
            line.note = Some(format!("{gone} was undone from outside; the tree was ended"));
        }
    }
}

/// The box was made, and lacks something that was asked for: nothing has run in it.
pub(super) fn incomplete(missing: &[Mechanism]) -> Failure {
    let names: Vec<&str> = missing.iter().map(|one| one.name()).collect();
    let lost =
        |guarantee: &Guarantee| mechanisms(*guarantee).iter().any(|one| missing.contains(one));
    Failure::new(
        FailureKind::AttestSandbox,
        format!("it was asked for {} and is not kept by it", names.join(", ")),
    )
    .with_remedy("stockade doctor tells what this machine can keep")
    .with_guarantee(Guarantee::ALL.iter().find(|one| lost(one)).copied())
}

/// Says what the cgroups keep, which only their making shows.
pub(in crate::launch) fn settle(
    enforcement: &mut [Enforced],
    cgroup: Option<&Cgroup>,
    counts_cpu: bool,
) {
    let Some(line) = enforcement.iter_mut().find(|one| one.guarantee == Guarantee::TreeLimits)
    else {
        return;
    };
    let missing = unkept(cgroup, counts_cpu);
    if missing.is_empty() {
        *line = Enforced::full(Guarantee::TreeLimits, &["cgroup", "shim-count"]);
    } else {
        let why = line.note.take().unwrap_or_default();
        line.note = Some(format!("{why} ({})", missing.join("; ")));
    }
}

/// Holds what will be kept, as the launch has found it, against what is required.
pub(in crate::launch) fn require_kept(
    enforcement: &[Enforced],
    require: &Requirements,
) -> Result<(), Failure> {
    let falls_short = |line: &&Enforced| {
        require.get(&line.guarantee).is_some_and(|required| line.kept < *required)
    };
    let Some(line) = enforcement.iter().find(falls_short) else { return Ok(()) };
    let is_of_paths = matches!(line.guarantee, Guarantee::Reads | Guarantee::Protected);
    let (kind, remedy) = if line.guarantee == Guarantee::TreeLimits {
        (FailureKind::LimitTree, remedy::FOR_CGROUPS)
    } else if is_of_paths {
        (
            FailureKind::KeepPaths,
            "grant folders that do not hold it (--write, --read), take it out of box.hide or \
             box.protect, drop the rule, or lower box.require",
        )
    } else {
        (FailureKind::KeepRequired, "lower it in the policy: box.require")
    };
    let why = line.note.as_deref().unwrap_or("nothing keeps it here");
    let message = format!("{} is required and not kept so well: {why}", line.guarantee);
    Err(Failure::new(kind, message).with_remedy(remedy).with_guarantee(line.guarantee))
}

/// What of the limits no cgroup keeps, and why.
fn unkept(cgroup: Option<&Cgroup>, counts_cpu: bool) -> Vec<String> {
    let Some(cgroup) = cgroup else { return vec!["no cgroup at all".to_owned()] };
    let told = |(one, errno): &(Controller, Errno)| format!("no cgroup for {one}: {errno}");
    let uncounted = counts_cpu && cgroup.cpu().is_none();
    let uncounted = uncounted.then(|| "no cgroup that counts CPU time".to_owned());
    cgroup.missing().iter().map(told).chain(uncounted).collect()
}
