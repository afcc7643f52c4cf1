//! This test binary as another program: a supervisor to kill, a comet, a host with much memory.
//!
//! `plays_a_role_when_asked` is a test that does nothing, unless the variable names a role.

use std::io::{Write, stdout};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use stockade_sandbox::{
    Attest, Cgroup, CgroupLimits, Jail, Network, Running, Spec, Status, start, start_jailed,
};

use crate::support::{Mark, bare, shell, spec, text};

const ROLE: &str = "STOCKADE_TEST_ROLE";
const ARGS: [&str; 4] =
    ["--exact", "roles::plays_a_role_when_asked", "--nocapture", "--test-threads=1"];

/// This test binary in a role, as a command.
pub(crate) fn command(role: &str) -> Command {
    let mut command = bare(env::current_exe().unwrap().to_str().unwrap());
    command.args(ARGS).env(ROLE, role);
    command
}

/// This test binary in a role, as a program to run in a sandbox.
pub(crate) fn payload(role: &str) -> Spec {
    let mut spec = spec(env::current_exe().unwrap().to_str().unwrap(), &ARGS);
    spec.env.push(text(&format!("{ROLE}={role}")));
    spec
}

#[test]
fn plays_a_role_when_asked() {
    match env::var(ROLE).as_deref() {
        Err(_) => {}
        Ok("comet") => comet(),
        Ok("thread-children") => thread_children(),
        Ok("supervisor") => supervisor(),
        Ok("forking-supervisor") => forking_supervisor(|spec| start(spec).unwrap()),
        Ok("forking-box-supervisor") => {
            forking_supervisor(|spec| start_jailed(spec, crate::boxes::closed("/bin/sh")).unwrap());
        }
        Ok("costs") => costs(),
        Ok("descriptors") => descriptors(),
        Ok("shim-image") => shim_image(),
        Ok("capabilities") => crate::probe::say_capabilities(),
        Ok("attacks") => crate::locks::attacks(),
        Ok("abstract") => crate::locks::abstract_socket(),
        #[cfg(target_arch = "x86_64")]
        Ok("int80") => crate::locks::int80(),
        Ok("broker-calls") => crate::broker_calls::make_them_all(),
        Ok("broker-parity") => crate::broker_parity::make_odd_calls(),
        Ok("broker-race") => crate::broker_races::race(),
        Ok("broker-costs") => crate::broker_races::costs(),
        Ok("box-leaks") => box_leaks(),
        Ok("stops-template") => crate::pool::stop_template(),
        Ok("lacks-descriptors") => crate::beside::start_without_descriptors(),
        Ok("moves") => crate::made::move_and_ask(),
        Ok("refused-ids") => crate::made::ask_with_refused_ids(),
        Ok("pool-flooded") => crate::pool::run_without_a_pause(),
        Ok("pool-killed") => crate::pool::killed_while_waiting(),
        Ok("box-costs") => box_costs(),
        Ok("box-supervisor") => box_supervisor(),
        Ok("cgroup-supervisor") => {
            crate::cgroup::supervisor(&env::var("STOCKADE_TEST_TREE").unwrap());
        }
        Ok("cgroup-maker") => crate::cgroup::maker(),
        Ok(other) => panic!("there is no role {other}"),
    }
}

/// A value that only the parent and the role know of.
pub(crate) fn say(name: &str, value: impl std::fmt::Display) {
    let mut out = stdout().lock();
    writeln!(out, "\n{name}={value}").unwrap();
}

/// What a role said.
pub(crate) fn said<'a>(output: &'a str, name: &str) -> &'a str {
    let mut lines = output.lines().filter_map(|line| line.split_once('='));
    lines.find(|(key, _)| *key == name).unwrap().1
}

/// Forks and exits for ever, each time in a new session, so that no group holds two of them.
fn comet() {
    loop {
        // SAFETY: the child of this one call only forks, opens a session and exits, all of which
        // are allowed after a fork in a threaded process.
        match unsafe { libc::fork() } {
            0 => {
                // SAFETY: setsid takes no memory.
                let _leader = unsafe { libc::setsid() };
            }
            // SAFETY: _exit runs no destructor and no handler.
            _ => unsafe { libc::_exit(0) },
        }
    }
}

/// Has children that another thread than the main one has made.
fn thread_children() {
    let children = thread::spawn(|| {
        let sleep = |_| bare("/bin/sleep").arg("1000").spawn().unwrap();
        let children: Vec<_> = (0..30).map(sleep).collect();
        thread::sleep(Duration::from_secs(1000));
        children
    });
    children.join().unwrap();
}

/// Holds a program with a tree of several kinds, until it is killed.
fn supervisor() {
    let mark = env::var("STOCKADE_TEST_TREE").unwrap();
    let mut spec = shell(
        "sleep 1000 & setsid sleep 1000 & (setsid sh -c 'trap \"\" TERM HUP; sleep 1000' &); wait",
    );
    spec.env.push(text(&mark));
    let run = start(spec).unwrap();
    say("pid", run.pid());
    thread::sleep(Duration::from_secs(1000));
    drop(run);
}

/// Holds a sandbox with a tree in it, until it is killed.
fn box_supervisor() {
    let mark = env::var("STOCKADE_TEST_TREE").unwrap();
    let mut spec = shell("sleep 1000 & (setsid sh -c 'trap \"\" TERM HUP; sleep 1000' &); wait");
    spec.env.push(text(&mark));
    let run = start_jailed(spec, Jail::new(c"/bin/sh", c"/")).unwrap();
    say("pid", run.pid());
    thread::sleep(Duration::from_secs(1000));
    drop(run);
}

/// Counts what it holds before and after many sandboxes, good, bad and killed, some at the same
/// time.
fn box_leaks() {
    let limits = CgroupLimits { tasks_max: Some(50), ..CgroupLimits::default() };
    let boxed = |program: &str| {
        let mut jail = crate::boxes::closed(program);
        jail.cgroup = Some(Cgroup::create(limits));
        jail
    };
    let round = |number: usize| match number % 4 {
        0 => drop(start_jailed(shell("sleep 1000"), boxed("/bin/sh")).unwrap()),
        1 => drop(start_jailed(spec("/bin/true", &[]), boxed("/none")).unwrap_err()),
        2 => {
            let mut jail = boxed("/bin/sh");
            jail.attest = Attest::BeforeExecution;
            let ended = start_jailed(shell("exit 7"), jail).unwrap().wait().unwrap();
            assert_eq!(ended.status, Status::Code(7));
        }
        _ => {
            let line = "setsid sleep 1000 & exit 9";
            let ended = start_jailed(shell(line), boxed("/bin/sh")).unwrap().wait().unwrap();
            assert_eq!((ended.status, ended.leftovers), (Status::Code(9), 1));
        }
    };
    let held = || {
        let descriptors = fs::read_dir("/proc/self/fd").unwrap().count();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap().lines().count();
        format!("{descriptors} descriptors and {mounts} mounts")
    };
    round(0);
    let before = held();
    (0..20).for_each(round);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..8).for_each(round));
        }
    });
    say("before", before);
    say("after", held());
    say("zombies", zombies());
    say("cgroups", crate::cgroup::folders());
}

/// Measures sandboxes beside bare spawns and unboxed starts, turn by turn, in a host with threads
/// and as many bytes resident as asked. Each line is `median,p99` in microseconds.
fn box_costs() {
    let resident: usize = env::var("STOCKADE_TEST_RESIDENT").unwrap().parse().unwrap();
    let rounds: usize = env::var("STOCKADE_TEST_ROUNDS").unwrap().parse().unwrap();
    let ballast = vec![1_u8; resident];
    for _ in 0..4 {
        thread::spawn(|| thread::sleep(Duration::from_secs(1000)));
    }
    let boxed = |network| {
        let mut jail = crate::boxes::closed("/bin/true");
        jail.network = network;
        start_jailed(spec("/bin/true", &[]), jail).unwrap().wait().unwrap();
    };
    let ways: [(&str, &dyn Fn()); 4] = [
        ("bare", &|| assert!(bare("/bin/true").status().unwrap().success())),
        ("process", &|| assert!(start(spec("/bin/true", &[])).unwrap().wait().is_ok())),
        ("box", &|| boxed(Network::Host)),
        ("box-net", &|| boxed(Network::None)),
    ];
    let mut times = [(); 4].map(|()| Vec::with_capacity(rounds));
    for _ in 0..rounds {
        for ((_, way), times) in ways.iter().zip(&mut times) {
            let begin = Instant::now();
            way();
            times.push(begin.elapsed().as_micros());
        }
    }
    assert!(ballast.iter().step_by(4096).all(|byte| *byte == 1));
    for ((name, _), times) in ways.iter().zip(&mut times) {
        times.sort_unstable();
        let at = |part: usize| *times.get(times.len().saturating_mul(part) / 100).unwrap();
        say(name, format!("{},{}", at(50), at(99)));
    }
}

/// Holds a program, and has a copy of itself that holds the same descriptors.
fn forking_supervisor(start: impl FnOnce(Spec) -> Running) {
    let mark = env::var("STOCKADE_TEST_TREE").unwrap();
    let mut spec = shell("sleep 1000");
    spec.env.push(text(&mark));
    let run = start(spec);
    // SAFETY: the child only sleeps, which is allowed after a fork in a threaded process.
    match unsafe { libc::fork() } {
        0 => loop {
            // SAFETY: pause takes no memory.
            let _interrupted = unsafe { libc::pause() };
        },
        copy => say("copy", copy),
    }
    thread::sleep(Duration::from_secs(1000));
    drop(run);
}

/// Measures starts, from the call to the end of `true`, with as many bytes resident as asked.
fn costs() {
    let resident: usize = env::var("STOCKADE_TEST_RESIDENT").unwrap().parse().unwrap();
    let ballast = vec![1_u8; resident];
    let mut times: Vec<_> = (0..25)
        .map(|_| {
            let begin = Instant::now();
            start(spec("/bin/true", &[])).unwrap().wait().unwrap();
            begin.elapsed()
        })
        .skip(5)
        .collect();
    assert!(ballast.iter().step_by(4096).all(|byte| *byte == 1));
    times.sort();
    say("median_us", times.get(times.len() / 2).unwrap().as_micros());
}

/// Counts its descriptors before and after many runs, good and bad.
fn descriptors() {
    let count = || fs::read_dir("/proc/self/fd").unwrap().count();
    start(spec("/bin/true", &[])).unwrap().wait().unwrap();
    let before = count();
    for number in 0..200 {
        match number % 4 {
            0 => drop(start(shell("sleep 1000")).unwrap()),
            1 => drop(start(spec("/etc/passwd", &[])).unwrap_err()),
            _ => drop(start(spec("/bin/true", &[])).unwrap().wait().unwrap()),
        }
    }
    say("before", before);
    say("after", count());
    say("zombies", zombies());
}

fn zombies() -> usize {
    let children = fs::read_to_string("/proc/thread-self/children").unwrap();
    children.split_whitespace().count()
}

/// Says what file the shim was executed from.
fn shim_image() {
    let mark = Mark::new();
    let mut run = start(mark.on(shell("sleep 1000"))).unwrap();
    let exe = fs::read_link(format!("/proc/{}/exe", run.shim_pid().unwrap())).unwrap();
    say("image", exe.display());
    run.kill().unwrap();
    let ended = run.wait().unwrap();
    say("survivors", ended.survivors);
}
