//! A box whose namespaces are made before it is asked for is the same box, and nothing stays of one
//! that is never asked for.

use std::fs;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;

use stockade_linux::{
    CgroupLimits, Errno, Expectation, Identity, Jail, Mechanism, Network, Program, Ready, Running,
    Spec, StartError, Step, Warmth, Yard, landlock_abi,
};

use crate::attest::{everything, everything_in, steps};
use crate::boxes::closed;
use crate::roles::{command, said, say};
use crate::support::{Mark, bare, finish, shell, skip, within};

pub(crate) const LIMITS: CgroupLimits = CgroupLimits {
    memory_bytes_max: Some(256 << 20),
    tasks_max: Some(100),
    cpu_millis_per_second: None,
};

/// A box from a yard that was told of one before.
fn expected(network: Network, jail: Jail) -> Ready {
    let yard = Yard::new(Warmth::Cold);
    yard.expect(Expectation { limits: LIMITS, network });
    yard.ready(jail, LIMITS).unwrap()
}

fn unexpected(jail: Jail) -> Ready {
    Yard::new(Warmth::Cold).ready(jail, LIMITS).unwrap()
}

pub(crate) fn run(ready: Ready, line: &str) -> String {
    let (_, out, err) =
        finish(&mut ready.run(Program::new(shell(line), c"/bin/sh", c"/")).unwrap());
    format!("{out}{err}")
}

#[test]
fn a_box_that_was_expected_has_all_that_any_other_has() {
    let (_folder, jail) = everything();
    let other = unexpected(jail).attested().cloned().unwrap();
    let (_folder, jail) = everything();
    let seen = expected(Network::None, jail).attested().cloned().unwrap();
    assert_eq!((&seen.missing, seen.capabilities), (&Vec::new(), 0));
    assert_eq!(seen.kept, other.kept);
    assert!(seen.kept.contains(&Mechanism::NetworkNamespace));
}

#[test]
fn it_is_the_same_user_inside_and_outside() {
    let who = "grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp)' /proc/self/status; id; hostname;
        cat /proc/self/uid_map /proc/self/gid_map /proc/self/setgroups; ls -ld / /tmp; umask";
    let outside = |ready: &Ready| -> Vec<String> {
        let status = fs::read_to_string(format!("/proc/{}/status", ready.pid())).unwrap();
        let is_id = |line: &&str| ["Uid:", "Gid:", "Groups:"].iter().any(|id| line.starts_with(id));
        status.lines().filter(is_id).map(str::to_owned).collect()
    };
    let (other, ready) =
        (unexpected(closed("/bin/sh")), expected(Network::None, closed("/bin/sh")));
    assert_eq!(outside(&ready), outside(&other));
    let (inside, other) = (run(ready, who), run(other, who));
    assert!(inside.contains("deny"), "{inside}");
    assert_eq!(inside, other);
}

/// Whoever owns the namespace pays for what its processes take of the kernel, such as inotify instances
/// and pending signals: of root's share a box would take what the machine needs.
#[test]
fn its_namespace_belongs_to_its_own_user_and_not_to_root() {
    let (other, ready) =
        (unexpected(closed("/bin/sh")), expected(Network::None, closed("/bin/sh")));
    let owner = owner_of_namespace(&ready);
    assert_eq!(owner, owner_of_namespace(&other));
    assert_eq!(owner, Identity::of_caller().outer_uid);
}

fn owner_of_namespace(ready: &Ready) -> u32 {
    const NS_GET_OWNER_UID: libc::Ioctl = 0xb704;
    let namespace = fs::File::open(format!("/proc/{}/ns/user", ready.pid())).unwrap();
    let mut owner = u32::MAX;
    // SAFETY: the kernel writes one number.
    let asked = unsafe { libc::ioctl(namespace.as_raw_fd(), NS_GET_OWNER_UID, &raw mut owner) };
    assert_eq!(asked, 0, "{}", std::io::Error::last_os_error());
    owner
}

#[test]
fn one_with_another_network_than_expected_has_what_it_was_asked_for() {
    let own = fs::read_link("/proc/self/ns/net").unwrap();
    for (foretold, asked) in [(Network::None, Network::Host), (Network::Host, Network::None)] {
        let mut jail = closed("/bin/sh");
        jail.network = asked;
        let ready = expected(foretold, jail);
        let network = fs::read_link(format!("/proc/{}/ns/net", ready.pid())).unwrap();
        assert_eq!(network == own, asked == Network::Host);
    }
}

#[test]
fn a_step_that_fails_ends_in_an_error_that_names_it_here_too() {
    each_step_that_fails_is_named(|_| {
        let yard = Yard::new(Warmth::Cold);
        yard.expect(Expectation { limits: LIMITS, network: Network::None });
        yard
    });
}

/// A box in which each step fails in turn, from a yard that was told of it before.
pub(crate) fn each_step_that_fails_is_named(told: impl Fn(Jail) -> Yard) {
    each_failing_step_is_named(steps(), |foretold, jail, spec| {
        let (program, cwd) = (jail.program.clone(), jail.cwd.clone());
        told(foretold).ready(jail, LIMITS)?.run(Program::new(spec(), &program, &cwd))
    });
}

/// The same for these steps, asked for and run like this.
pub(crate) fn each_failing_step_is_named(
    steps: impl Iterator<Item = Step>,
    run: impl Fn(Jail, Jail, &dyn Fn() -> Spec) -> Result<Running, StartError>,
) {
    for step in steps {
        let (folder, mut foretold) = everything();
        let mut jail = everything_in(folder.path());
        for jail in [&mut foretold, &mut jail] {
            jail.sabotage.fail_at = Some(step);
            jail.processes_max = Some(100);
        }
        let mark = Mark::new();
        let run = run(foretold, jail, &|| mark.on(shell("touch ran")));
        assert_eq!(run.map(drop).map_err(|error| error.step), Err(step));
        assert!(!folder.path().join("ran").exists(), "{step:?}");
        assert_eq!(mark.found(), [], "{step:?}");
    }
}

/// Where a machine refuses the ids, callers go on without namespaces, by this very error.
#[test]
fn ids_that_are_refused_are_told_as_without_an_expectation() {
    if landlock_abi().is_none() {
        skip("this kernel has no Landlock");
        return;
    }
    let output = command("expects-refused").output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}");
    let refused = StartError { step: Step::MapIds, errno: Errno::ACCESS };
    assert_eq!(said(&told, "unexpected"), format!("{refused:?}"));
    assert_eq!(said(&told, "expected"), format!("{refused:?}"));
}

/// Opens no file for writing any more but in `/dev`, and asks for boxes.
pub(crate) fn expect_what_is_refused() {
    const WRITE_FILE: u64 = 2;
    let attributes = [WRITE_FILE];
    let (at, len) = (attributes.as_ptr(), size_of_val(&attributes));
    // SAFETY: the kernel reads the one word of the attributes.
    let ruleset = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, at, len, 0) };
    let devices = fs::File::open("/dev").unwrap();
    // struct landlock_path_beneath_attr, which is packed: the rights, then the descriptor.
    let rule = [WRITE_FILE, u64::try_from(devices.as_raw_fd()).unwrap()];
    let at = rule.as_ptr();
    // SAFETY: the kernel reads twelve bytes of the rule.
    let added = unsafe { libc::syscall(libc::SYS_landlock_add_rule, ruleset, 1, at, 0) };
    assert_eq!(added, 0);
    // SAFETY: this takes numbers only.
    unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY: likewise.
    let locked = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0) };
    assert_eq!(locked, 0);
    for (name, is_expected) in [("unexpected", false), ("expected", true)] {
        let yard = Yard::new(Warmth::Cold);
        if is_expected {
            yard.expect(Expectation { limits: LIMITS, network: Network::None });
        }
        let refused = yard.ready(closed("/bin/sh"), LIMITS).unwrap_err();
        say(name, format!("{refused:?}"));
    }
}

#[test]
fn nothing_stays_of_one_that_is_never_asked_for() {
    let output = command("expects").output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}");
    // There was something to be ended.
    assert_eq!(said(&told, "there"), "true");
    assert_eq!(said(&told, "left"), "0");
}

/// Expects a box, and goes away: in a process of its own, which has no other children.
pub(crate) fn expect_in_vain() {
    let (yard, all) = expecting();
    drop(yard);
    let left = all.iter().filter(|pid| Path::new(&format!("/proc/{pid}")).exists()).count();
    say("left", left);
}

#[test]
fn one_that_was_killed_meanwhile_is_made_again() {
    for which in ["keeper", "first"] {
        let output = command("expects-killed").env(WHICH, which).output().unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!((said(&told, "there"), said(&told, "out")), ("true", "ran"), "{which}");
    }
}

const WHICH: &str = "STOCKADE_TEST_KILLED";

/// Expects a box, kills what waits for it, and asks for one.
pub(crate) fn expect_what_is_killed() {
    let (yard, all) = expecting();
    let is_first = std::env::var(WHICH).unwrap() == "first";
    let killed = if is_first { all.first() } else { all.last() }.unwrap();
    assert!(bare("kill").args(["-9", &killed.to_string()]).status().unwrap().success());
    let ready = yard.ready(closed("/bin/sh"), LIMITS).unwrap();
    say("out", run(ready, "echo ran").trim());
}

/// A yard that expects a box, once it has a first process; that, and then its keeper.
fn expecting() -> (Yard, Vec<u32>) {
    let yard = Yard::new(Warmth::Cold);
    yard.expect(Expectation { limits: LIMITS, network: Network::None });
    let keepers = || children_of(std::process::id());
    let has_first = || keepers().iter().any(|keeper| !children_of(*keeper).is_empty());
    say("there", within(Duration::from_secs(5), has_first));
    let with_first = |keeper| children_of(keeper).into_iter().chain([keeper]);
    (yard, keepers().into_iter().flat_map(with_first).collect())
}

pub(crate) fn children_of(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.map(|thread| fs::read_to_string(thread.path().join("children")));
    let lists: String = lists.map(Result::unwrap_or_default).collect();
    lists.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

#[test]
fn it_is_limited_where_the_host_is_when_it_asks() {
    let output = command("expects-and-moves").output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    if told.contains("skipped") {
        return skip("moving needs root, and cgroups of version 1 for memory");
    }
    assert_eq!(said(&told, "is_beneath"), "true", "{told}");
}

/// Expects a box, moves to another cgroup, and asks for one.
pub(crate) fn expect_and_move() {
    let own = format!("it-moves-{}", std::process::id());
    let there = Path::new("/sys/fs/cgroup/memory").join(&own);
    if !Path::new("/sys/fs/cgroup/memory/tasks").exists() || fs::create_dir(&there).is_err() {
        return say("skipped", true);
    }
    let yard = Yard::new(Warmth::Cold);
    yard.expect(Expectation { limits: LIMITS, network: Network::None });
    let enter = |folder: &Path| fs::write(folder.join("cgroup.procs"), "0").unwrap();
    enter(&there);
    let ready = yard.ready(closed("/bin/sh"), LIMITS).unwrap();
    let cgroups = fs::read_to_string(format!("/proc/{}/cgroup", ready.pid())).unwrap();
    let memory = cgroups.lines().find(|line| line.contains(":memory:")).unwrap();
    say("is_beneath", memory.contains(&format!(":/{own}/stockade-")));
    drop(ready);
    drop(yard);
    enter(there.parent().unwrap());
    fs::remove_dir(there).unwrap();
}
