//! The two tests of every attack.

use std::io::Write;
use std::time::Duration;

use stockade_sandbox::{Cgroup, CgroupLimits, Mechanism};

use super::attack::{Attack, Need, Reason};
use super::meanwhile::{PATIENCE, within};
use super::run::{Answer, bare, boxed, program};
use super::scene::Scene;

/// Without the sandbox the attack succeeds; in it, it fails for a reason that it states.
pub(crate) fn holds(attack: &Attack) {
    if let Some(need) = lacks(attack) {
        return skip(attack, need);
    }
    let (answer, reached) = attempt(attack, PATIENCE, bare);
    if let Some(need) = absent(attack, &answer) {
        return skip(attack, need);
    }
    assert!(reached, "without a box {} must succeed: {answer:?}", attack.name());
    let patience = if attack.known_gap.is_some() { PATIENCE } else { MOMENT };
    let (answer, reached) = attempt(attack, patience, |attack, scene| boxed(attack, scene, &[]));
    if let Some(gap) = attack.known_gap {
        assert!(reached, "{} is no gap any more: {gap}: {answer:?}", attack.name());
        return;
    }
    assert!(!reached, "{} succeeds in the box: {answer:?}", attack.name());
    let stated = matches!(&answer, Answer::Stopped(reason) if attack.refused.contains(reason));
    assert!(stated, "{} must be refused by one of {:?}: {answer:?}", attack.name(), attack.refused);
}

/// The mechanisms that could stop what the kernel lets nobody do but the machine's own root.
const PRIVILEGES: [Mechanism; 6] = [
    Mechanism::Filter,
    Mechanism::Landlock,
    Mechanism::NoCapabilities,
    Mechanism::NoNesting,
    Mechanism::NoNewPrivileges,
    Mechanism::MountFlags,
];

/// Each lock alone stops the attack, and it succeeds once all are open.
pub(crate) fn turns_red(attack: &Attack) {
    if let Some(need) = lacks(attack) {
        return skip(attack, need);
    }
    if attack.needs.iter().any(|need| matches!(need, Need::Kernel(_)))
        && let Some(need) = absent(attack, &attempt(attack, MOMENT, bare).0)
    {
        return skip(attack, need);
    }
    if attack.kernel_default.is_some() {
        let (answer, reached) = without(attack, MOMENT, PRIVILEGES.to_vec());
        let stopped = matches!(answer, Answer::Stopped(_));
        assert!(stopped && !reached, "{} is no default any more: {answer:?}", attack.name());
    }
    let locks: Vec<&[Mechanism]> =
        attack.locks.iter().copied().filter(|lock| exists(attack, lock)).collect();
    for (at, lock) in locks.iter().enumerate() {
        let others = locks.iter().enumerate().filter(|(other, _)| *other != at);
        let others = others.flat_map(|(_, other)| other.iter().copied());
        let left_out: Vec<_> = others.filter(|one| !lock.contains(one)).collect();
        if !left_out.is_empty() {
            let (answer, reached) = without(attack, MOMENT, left_out.clone());
            let stopped = matches!(answer, Answer::Stopped(_));
            assert!(
                stopped && !reached,
                "{lock:?} alone must stop {} (without {left_out:?}): {answer:?}",
                attack.name()
            );
        }
        for one in *lock {
            let firsts = locks.iter().enumerate().filter(|(other, _)| *other != at);
            let firsts = firsts.filter(|(_, other)| !other.contains(one));
            let mut left_out = vec![*one];
            left_out.extend(firsts.filter_map(|(_, other)| other.first()));
            let (answer, reached) = without(attack, PATIENCE, left_out.clone());
            assert!(reached, "{} must succeed without {left_out:?}: {answer:?}", attack.name());
        }
    }
}

/// How long an attack that must fail has to show that it did not.
const MOMENT: Duration = Duration::ZERO;

/// Runs the attack on a fresh scene: what the attacker says, and whether it is so. What an attacker did
/// who says that it succeeded may take until then to be seen.
fn attempt(
    attack: &Attack,
    patience: Duration,
    run: impl FnOnce(&Attack, &Scene) -> Answer,
) -> (Answer, bool) {
    // Before anything is forked: a process that inherits the open copy keeps it from being run.
    program();
    let mut scene = Scene::new();
    (attack.plant)(&mut scene);
    let answer = run(attack, &scene);
    let loot = if let Answer::Reached(loot) = &answer { loot } else { "" };
    let patience = if matches!(answer, Answer::Reached(_)) { patience } else { MOMENT };
    let seen = within(patience, || (attack.reached)(&scene, loot));
    let is_unsure = attack.refused.contains(&Reason::Nothing);
    if seen || !matches!(answer, Answer::Reached(_)) {
        return (answer, seen);
    }
    assert!(is_unsure, "{} says {answer:?}, and it is not so", attack.name());
    (Answer::Stopped(Reason::Nothing), false)
}

fn without(attack: &Attack, patience: Duration, mut left_out: Vec<Mechanism>) -> (Answer, bool) {
    if left_out.contains(&Mechanism::NoNewPrivileges) {
        // The kernel takes these two from those who gave up new privileges only.
        left_out.extend([Mechanism::Landlock, Mechanism::Filter]);
    }
    if left_out.contains(&Mechanism::UserNamespace) {
        // Its limit is that of the machine then.
        left_out.push(Mechanism::NoNesting);
    }
    attempt(attack, patience, |attack, scene| boxed(attack, scene, &left_out))
}

/// Whether a lock can be there for this user on this machine.
fn exists(attack: &Attack, lock: &[Mechanism]) -> bool {
    let has = |mechanism| lock.contains(&mechanism);
    (!has(Mechanism::Cgroup) || has_cgroup())
        && (!has(Mechanism::Landlock) || landlock_abi() >= attack.landlock_since)
}

fn landlock_abi() -> u32 {
    stockade_sandbox::landlock_abi().unwrap_or(0)
}

/// What the attack needs and this machine, or this user, does not have.
fn lacks(attack: &Attack) -> Option<Need> {
    let is_root = rustix::process::geteuid().is_root();
    let needed = attack.needs.iter().copied().find(|need| match need {
        Need::Root => !is_root,
        Need::Cgroup => !has_cgroup(),
        Need::Landlock | Need::Kernel(_) => false,
    });
    let locked = attack.locks.is_empty() || attack.locks.iter().any(|lock| exists(attack, lock));
    needed.or_else(|| (!locked).then_some(Need::Landlock))
}

/// What the machine does not have, by the answer of a control.
fn absent(attack: &Attack, answer: &Answer) -> Option<Need> {
    let Answer::Stopped(Reason::Errno(errno)) = answer else { return None };
    attack.needs.iter().copied().find(|need| *need == Need::Kernel(*errno))
}

fn has_cgroup() -> bool {
    let limits = CgroupLimits {
        memory_bytes_max: Some(1 << 30),
        tasks_max: Some(100),
        ..CgroupLimits::default()
    };
    Cgroup::create(limits).missing().is_empty()
}

/// Says that an attack was not tried, which is a failure where `STOCKADE_TEST_REQUIRES` names the
/// need.
fn skip(attack: &Attack, need: Need) {
    let (name, reason) = match need {
        Need::Root => ("root", "it succeeds for root only".to_owned()),
        Need::Cgroup => ("cgroup", "this user has no cgroups".to_owned()),
        Need::Landlock => ("landlock", "this kernel's Landlock does not know it".to_owned()),
        Need::Kernel(errno) => {
            let error = std::io::Error::from_raw_os_error(errno);
            (attack.name(), format!("it does not succeed without a box either: {error}"))
        }
    };
    let required = std::env::var("STOCKADE_TEST_REQUIRES").unwrap_or_default();
    let is_required = required.split(',').any(|one| one == name);
    assert!(!is_required, "{name} is required: {}: {reason}", attack.name());
    let mut err = std::io::stderr().lock();
    writeln!(err, "skipped: {}: {reason}", attack.name()).unwrap();
}
