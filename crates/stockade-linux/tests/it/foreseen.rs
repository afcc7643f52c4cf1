//! A box that is made before it is known whether it is wanted is given only to who asks for the same,
//! and nothing stays of it otherwise.

use std::fs;
use std::path::Path;
use std::time::Duration;

use stockade_linux::{
    CgroupLimits, Errno, Expectation, Jail, Mount, Network, Program, StartError, Step, Warmth, Yard,
};

use crate::attest::{everything, everything_in};
use crate::boxes::closed;
use crate::early::{LIMITS, children_of, each_step_that_fails_is_named, run};
use crate::roles::{command, said, say};
use crate::support::{bare, finish, shell, text, within};

fn foreseeing(mut jail: Jail) -> Yard {
    let yard = Yard::new(Warmth::Cold);
    yard.expect(Expectation { limits: LIMITS, network: Network::None });
    assert!(yard.is_expecting());
    yard.foresee(&mut jail, LIMITS);
    assert!(!yard.is_expecting());
    yard
}

/// What a role says of itself.
fn told(role: &str, which: &str) -> String {
    let output = command(role).env(WHICH, which).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    told
}

const WHICH: &str = "STOCKADE_TEST_FORESEEN";

#[test]
fn it_has_all_that_any_other_has() {
    let (_folder, jail) = everything();
    let other = Yard::new(Warmth::Cold).ready(jail, LIMITS).unwrap().attested().cloned().unwrap();
    let (folder, jail) = everything();
    let yard = foreseeing(jail);
    let seen =
        yard.ready(everything_in(folder.path()), LIMITS).unwrap().attested().cloned().unwrap();
    assert_eq!((&seen.missing, seen.capabilities), (&Vec::new(), 0));
    assert_eq!(seen.kept, other.kept);
}

#[test]
fn it_is_given_to_who_asks_for_the_same_and_to_nobody_else() {
    let is_given = |which: &str| {
        let told = told("foresees", which);
        assert_eq!(said(&told, "out"), "ran", "{which}");
        // Whatever was made in vain is gone by now.
        assert_eq!(said(&told, "left"), "0", "{which}");
        said(&told, "given") == "true"
    };
    assert!(is_given("same"));
    for other in ["stamp", "mount", "limits", "network", "name"] {
        assert!(!is_given(other), "{other}");
    }
}

/// Foresees one box, and asks for another one: in a process of its own, which has no other children.
pub(crate) fn foresee_and_ask() {
    let yard = foreseeing(closed("/bin/sh"));
    let first = first_of_box();
    let mut jail = closed("/bin/sh");
    let mut limits = LIMITS;
    match std::env::var(WHICH).unwrap().as_str() {
        "same" => {}
        "stamp" => jail.stamp = vec![1],
        "mount" => jail.root.as_mut().unwrap().push(Mount::Hide { target: text("/etc/passwd") }),
        "limits" => limits = CgroupLimits { tasks_max: Some(99), ..limits },
        "network" => jail.network = Network::Host,
        other => {
            assert_eq!(other, "name");
            c"other".clone_into(&mut jail.host_name);
        }
    }
    let ready = yard.ready(jail, limits).unwrap();
    say("given", u32::try_from(ready.pid()) == Ok(first));
    say("out", run(ready, "echo ran").trim());
    drop(yard);
    say("left", children_of(std::process::id()).len());
}

/// The first process of the only box of this process, once it is there.
fn first_of_box() -> u32 {
    let keepers = || children_of(std::process::id()).into_iter();
    // As root a keeper has another child for a moment.
    let first = || keepers().flat_map(children_of).find(|first| !children_of(*first).is_empty());
    assert!(within(Duration::from_secs(5), || first().is_some()));
    first().unwrap()
}

fn only_child_of(pid: u32) -> u32 {
    let [child] = children_of(pid).try_into().unwrap();
    child
}

#[test]
fn nothing_stays_of_one_that_is_never_asked_for() {
    let told = told("foresees-in-vain", "");
    assert_eq!((said(&told, "there"), said(&told, "left")), ("true", "0"));
}

pub(crate) fn foresee_in_vain() {
    let yard = foreseeing(closed("/bin/sh"));
    let first = first_of_box();
    say("there", Path::new(&format!("/proc/{first}")).exists());
    drop(yard);
    let all = [vec![first], children_of(std::process::id())].concat();
    let left = all.iter().filter(|pid| Path::new(&format!("/proc/{pid}")).exists()).count();
    say("left", left);
}

#[test]
fn one_that_was_killed_meanwhile_is_made_again() {
    for which in ["program", "first", "keeper"] {
        assert_eq!(said(&told("foresees-killed", which), "out"), "ran", "{which}");
    }
}

pub(crate) fn foresee_what_is_killed() {
    let yard = foreseeing(closed("/bin/sh"));
    let first = first_of_box();
    let killed = match std::env::var(WHICH).unwrap().as_str() {
        "program" => only_child_of(first),
        "first" => first,
        _ => only_child_of(std::process::id()),
    };
    assert!(bare("kill").args(["-9", &killed.to_string()]).status().unwrap().success());
    // All of it ends, a moment later: who takes a box in that moment is told that it was killed.
    assert!(within(Duration::from_secs(5), || has_ended(first)));
    let ready = yard.ready(closed("/bin/sh"), LIMITS).unwrap();
    say("out", run(ready, "echo ran").trim());
}

/// Who is stopped says nothing, and the host does not wait for it for good.
#[test]
fn one_that_was_stopped_meanwhile_is_made_again_or_given_up() {
    let told = told("foresees-stopped", "");
    let silence = StartError { step: Step::HearFirst, errno: Errno::TIMEDOUT };
    // It may have said that it is ready before it was stopped.
    let ends = ["ran".to_owned(), format!("{silence:?}")];
    assert!(ends.iter().any(|end| *end == said(&told, "out")), "{told}");
    assert_eq!(said(&told, "left"), "0");
}

pub(crate) fn foresee_what_is_stopped() {
    let yard = foreseeing(closed("/bin/sh"));
    let stop = |pid: u32| {
        assert!(bare("kill").args(["-STOP", &pid.to_string()]).status().unwrap().success());
    };
    let keepers = || children_of(std::process::id()).into_iter();
    let firsts = || keepers().flat_map(children_of).collect::<Vec<_>>();
    // Before it has told that it is there, as far as that can be.
    assert!(within(Duration::from_secs(5), || !firsts().is_empty()));
    let stopped = firsts();
    stopped.iter().copied().for_each(stop);
    stopped.iter().flat_map(|first| children_of(*first)).for_each(stop);
    let ready = yard.ready(closed("/bin/sh"), LIMITS).unwrap();
    match ready.run(Program::new(shell("echo ran"), c"/bin/sh", c"/")) {
        Ok(mut running) => say("out", finish(&mut running).1.trim()),
        Err(error) => say("out", format!("{error:?}")),
    }
    drop(yard);
    say("left", children_of(std::process::id()).len());
}

fn has_ended(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
    matches!(state, None | Some("Z" | "X"))
}

#[test]
fn a_step_that_fails_ends_in_an_error_that_names_it_here_too() {
    each_step_that_fails_is_named(foreseeing);
}

/// The first process has a copy of the host's mounts from when it was made.
#[test]
fn one_is_made_again_when_the_host_has_mounted_something_meanwhile() {
    if !rustix::process::geteuid().is_root() {
        crate::support::skip("mounting needs root");
        return;
    }
    let alone = command("foresees-mounted");
    let mut command = bare("unshare");
    command.arg("--mount").arg(alone.get_program()).args(alone.get_args());
    command.envs(alone.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!((said(&told, "given"), said(&told, "out")), ("false", "ran"));
}

/// Mounts in a namespace of its own, which is this process's.
pub(crate) fn foresee_and_mount() {
    use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
    let folder = tempfile::tempdir().unwrap();
    let yard = foreseeing(closed("/bin/sh"));
    let first = first_of_box();
    mount("tmpfs", folder.path(), "tmpfs", MountFlags::empty(), c"").unwrap();
    let ready = yard.ready(closed("/bin/sh"), LIMITS).unwrap();
    say("given", u32::try_from(ready.pid()) == Ok(first));
    say("out", run(ready, "echo ran").trim());
    unmount(folder.path(), UnmountFlags::DETACH).unwrap();
}
