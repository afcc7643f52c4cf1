//! A keeper that is there before it is asked for keeps what any other does, and does not stay.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use stockade_linux::{Expectation, Hastened, Network, Warmth, Yard, hasten, start};

use crate::attest::everything;
use crate::early::{self, LIMITS, children_of};
use crate::roles::{command, said, say};
use crate::support::{bare, finish, shell, within};

/// What a process of its own says, which has no other keeper.
fn told(role: &str) -> String {
    let output = command(role).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{role}: {told}{}", String::from_utf8_lossy(&output.stderr));
    told
}

#[test]
fn the_first_program_is_kept_by_it() {
    let told = told("hastens");
    assert_eq!((said(&told, "out"), said(&told, "is_same")), ("ran", "true"));
    assert_eq!((said(&told, "next"), said(&told, "left")), ("ran again", "0"));
    assert_eq!(said(&told, "processors"), allowed(&fs::read_to_string(STATUS).unwrap()));
}

const STATUS: &str = "/proc/self/status";
const SHOW_AND_RUN: &str = "cat /proc/self/status; echo ran";

/// The processors that a process may use, by its status.
fn allowed(status: &str) -> &str {
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed:")).unwrap().trim()
}

/// What a program says that shows its status first.
fn last_line(output: &str) -> &str {
    output.lines().last().unwrap()
}

pub(crate) fn hasten_and_start() {
    let (_hold, keeper) = hastened();
    let mut run = start(shell(SHOW_AND_RUN)).unwrap();
    say("is_same", children_of(std::process::id()) == [keeper]);
    let output = finish(&mut run).1;
    say("processors", allowed(&output));
    say("out", last_line(&output));
    drop(run);
    say("next", finish(&mut start(shell("echo ran again")).unwrap()).1.trim());
    say("left", children_of(std::process::id()).len());
}

#[test]
fn the_first_box_is_made_by_it_and_has_all_that_any_other_has() {
    for role in ["hastens-box", "hastens-expected"] {
        let told = told(role);
        assert_eq!((said(&told, "missing"), said(&told, "is_same")), ("[]", "true"), "{role}");
        assert_eq!((said(&told, "out"), said(&told, "left")), ("ran", "0"), "{role}");
        // It was made beside the host, and runs wherever the host may.
        assert_eq!(said(&told, "processors"), allowed(&fs::read_to_string(STATUS).unwrap()));
    }
}

pub(crate) fn hasten_and_ask(is_expected: bool) {
    let (_hold, keeper) = hastened();
    let yard = Yard::new(Warmth::Cold);
    if is_expected {
        yard.expect(Expectation { limits: LIMITS, network: Network::None });
    }
    let (_folder, jail) = everything();
    let ready = yard.ready(jail, LIMITS).unwrap();
    say("missing", format!("{:?}", ready.attested().unwrap().missing));
    say("is_same", children_of(std::process::id()) == [keeper]);
    let output = early::run(ready, SHOW_AND_RUN);
    say("processors", allowed(&output));
    say("out", last_line(&output));
    drop(yard);
    say("left", children_of(std::process::id()).len());
}

#[test]
fn one_that_makes_a_likely_box_gives_that_one_and_no_other() {
    // Where a box is cloned into its cgroup nothing is made before, and the keeper suits every box.
    let is_unified = fs::exists("/sys/fs/cgroup/cgroup.controllers").unwrap();
    for (role, is_same) in [("hastens-likely", true), ("hastens-unlikely", is_unified)] {
        let told = told(role);
        assert_eq!(said(&told, "missing"), "[]", "{role}");
        assert_eq!(said(&told, "is_same"), is_same.to_string(), "{role}");
        assert_eq!((said(&told, "out"), said(&told, "left")), ("ran", "0"), "{role}");
        assert_eq!(said(&told, "processors"), allowed(&fs::read_to_string(STATUS).unwrap()));
    }
}

pub(crate) fn hasten_a_likely_box(network: Network) {
    let (hold, keeper) = hastened();
    hold.for_box(network);
    // Once more changes nothing.
    hold.for_box(Network::Host);
    let yard = Yard::new(Warmth::Cold);
    yard.expect(Expectation { limits: LIMITS, network: Network::None });
    let (_folder, jail) = everything();
    let ready = yard.ready(jail, LIMITS).unwrap();
    say("missing", format!("{:?}", ready.attested().unwrap().missing));
    let first = fs::read_to_string(format!("/proc/{}/stat", ready.pid())).unwrap();
    let parent = first.rsplit(") ").next().unwrap().split(' ').nth(1).unwrap().to_owned();
    say("is_same", parent == keeper.to_string());
    let output = early::run(ready, SHOW_AND_RUN);
    say("processors", allowed(&output));
    say("out", last_line(&output));
    drop((yard, hold));
    say("left", children_of(std::process::id()).len());
}

#[test]
fn a_program_without_a_box_gets_another_than_that_of_a_likely_box() {
    let told = told("hastens-likely-in-vain");
    assert_eq!((said(&told, "out"), said(&told, "left")), ("ran", "0"));
    assert_eq!(said(&told, "dropped"), "0");
}

pub(crate) fn hasten_a_likely_box_in_vain() {
    let (hold, _) = hastened();
    hold.for_box(Network::None);
    say("out", finish(&mut start(shell("echo ran")).unwrap()).1.trim());
    drop(hold);
    say("left", children_of(std::process::id()).len());
    // It may be in the middle of it.
    let (hold, _) = hastened();
    hold.for_box(Network::None);
    drop(hold);
    say("dropped", children_of(std::process::id()).len());
}

#[test]
fn one_that_nobody_asks_ends_with_who_holds_it_or_with_the_process() {
    let told = told("hastens-in-vain");
    assert_eq!(said(&told, "left"), "0");
    let keeper = Path::new("/proc").join(said(&told, "forgotten"));
    assert!(within(Duration::from_secs(5), || !keeper.exists()));
}

pub(crate) fn hasten_in_vain() {
    let (hold, _) = hastened();
    drop(hold);
    say("left", children_of(std::process::id()).len());
    let (hold, keeper) = hastened();
    std::mem::forget(hold);
    say("forgotten", keeper);
}

#[test]
fn one_that_was_stopped_does_not_hold_up_a_program_for_ever() {
    assert_eq!(said(&told("hastens-stopped"), "failed"), "true");
}

pub(crate) fn hasten_what_is_stopped() {
    let (_hold, keeper) = hastened();
    assert!(bare("kill").args(["-STOP", &keeper.to_string()]).status().unwrap().success());
    say("failed", start(shell("echo ran")).is_err());
}

#[test]
fn one_that_was_stopped_and_that_nobody_asks_is_killed_soon() {
    assert_eq!(said(&told("hastens-stopped-in-vain"), "left"), "0");
}

pub(crate) fn hasten_what_is_stopped_in_vain() {
    let started = Instant::now();
    for is_likely in [false, true] {
        let (hold, keeper) = hastened();
        assert!(bare("kill").args(["-STOP", &keeper.to_string()]).status().unwrap().success());
        if is_likely {
            hold.for_box(Network::None);
        }
        drop(hold);
    }
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    say("left", children_of(std::process::id()).len());
}

#[test]
fn one_that_was_killed_meanwhile_is_replaced() {
    let told = told("hastens-killed");
    assert_eq!((said(&told, "program"), said(&told, "box")), ("ran", "ran"));
}

pub(crate) fn hasten_what_is_killed() {
    let kill = |keeper: u32| {
        assert!(bare("kill").args(["-9", &keeper.to_string()]).status().unwrap().success());
        let stat = format!("/proc/{keeper}/stat");
        let is_dead = || fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") Z "));
        assert!(within(Duration::from_secs(5), is_dead));
    };
    let (_hold, keeper) = hastened();
    kill(keeper);
    say("program", finish(&mut start(shell("echo ran")).unwrap()).1.trim());
    let (_hold, keeper) = hastened();
    kill(keeper);
    let (_folder, jail) = everything();
    let ready = Yard::new(Warmth::Cold).ready(jail, LIMITS).unwrap();
    say("box", early::run(ready, "echo ran").trim());
}

#[test]
fn a_fork_of_the_process_has_none() {
    let told = told("hastens-forks");
    assert_eq!((said(&told, "copy"), said(&told, "out")), ("true", "ran"));
    assert_eq!(said(&told, "is_same"), "true");
}

pub(crate) fn hasten_and_fork() {
    let (_hold, keeper) = hastened();
    // SAFETY: the C library lets a child of a threaded process allocate, and no thread holds a lock of
    // ours: that which has made the keeper has ended.
    match unsafe { libc::fork() } {
        0 => {
            let is_ran = finish(&mut start(shell("echo ran")).unwrap()).1.trim() == "ran";
            // SAFETY: _exit runs no destructor and no handler.
            unsafe { libc::_exit(i32::from(!is_ran)) }
        }
        copy => {
            let mut status = -1;
            // SAFETY: the kernel writes one number, which outlives the call.
            let waited = unsafe { libc::waitpid(copy, &raw mut status, 0) };
            say("copy", waited == copy && status == 0);
        }
    }
    let mut run = start(shell("echo ran")).unwrap();
    say("is_same", children_of(std::process::id()) == [keeper]);
    say("out", finish(&mut run).1.trim());
}

/// The keeper, once it is there.
fn hastened() -> (Hastened, u32) {
    let before = children_of(std::process::id());
    let hold = hasten();
    let found = || children_of(std::process::id()).into_iter().find(|pid| !before.contains(pid));
    assert!(within(Duration::from_secs(5), || found().is_some()));
    (hold, found().unwrap())
}
