//! A program in a sandbox: its namespaces, its ids, its end, and what is left of it.

use std::fs;
use std::time::{Duration, Instant};

use stockade_sandbox::{
    Cause, Errno, Filter, Identity, Jail, Network, Rlimits, Sockets, Spec, StartError, Status,
    Step, Tracing, start, start_jailed,
};

use crate::support::{Mark, PATIENCE, bare, finish, is_root, shell, spec, text, within};

/// A sandbox around a program that shows the host's files.
fn bare_box(program: &str) -> Jail {
    Jail::new(&text(program), c"/")
}

fn run(line: &str) -> (stockade_sandbox::Ended, String, String) {
    finish(&mut start_jailed(shell(line), bare_box("/bin/sh")).unwrap())
}

#[test]
fn a_program_succeeds_and_leaves_nothing() {
    let ended = start_jailed(spec("/bin/true", &[]), bare_box("/bin/true")).unwrap().wait();
    let ended = ended.unwrap();
    assert_eq!((ended.status, ended.cause), (Status::Code(0), Cause::Exited));
    assert_eq!((ended.leftovers, ended.survivors), (0, 0));
}

#[test]
fn exit_codes_and_signals_pass_through() {
    for code in [0, 1, 37, 124, 137, 255] {
        assert_eq!(run(&format!("exit {code}")).0.status, Status::Code(code));
    }
    for (signal, name) in [(9, "KILL"), (11, "SEGV"), (15, "TERM"), (6, "ABRT")] {
        assert_eq!(run(&format!("kill -{name} $$")).0.status, Status::Signal(signal));
    }
}

#[test]
fn every_namespace_is_its_own() {
    let names = ["user", "mnt", "pid", "ipc", "uts", "net", "cgroup"];
    let line = format!("for n in {}; do readlink /proc/self/ns/$n; done", names.join(" "));
    let (_, inside, err) = run(&line);
    let (_, outside, _) = finish(&mut start(shell(&line)).unwrap());
    assert_eq!((inside.lines().count(), outside.lines().count()), (7, 7), "{inside}{err}");
    for (inside, outside) in inside.lines().zip(outside.lines()) {
        assert_ne!(inside, outside);
    }
}

#[test]
fn the_program_is_never_root_and_has_no_capability() {
    let (_, out, err) = run("id -u; id -g; cat /proc/self/status");
    let identity = Identity::of_caller();
    let expected = format!("{}\n{}\n", identity.inner_uid, identity.inner_gid);
    assert!(out.starts_with(&expected), "{out}{err}");
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert!(out.contains(&format!("{set}:\t0000000000000000\n")), "{set}: {out}");
    }
    assert!(out.contains("NoNewPrivs:\t1\n"), "{out}");
}

#[test]
fn the_kernel_knows_the_program_as_another_than_root() {
    let mut run = start_jailed(shell("sleep 1000"), bare_box("/bin/sh")).unwrap();
    let status = fs::read_to_string(format!("/proc/{}/status", run.pid())).unwrap();
    run.kill().unwrap();
    run.wait().unwrap();
    let outer = Identity::of_caller().outer_uid;
    assert_ne!(outer, 0);
    assert!(status.contains(&format!("Uid:\t{outer}\t{outer}\t{outer}\t{outer}\n")), "{status}");
    // An init that others cannot look into shows no memory, but its list is there.
    assert!(status.contains("NSpid:"), "{status}");
}

#[test]
fn a_box_of_root_is_refused() {
    for identity in [
        Identity { outer_uid: 0, ..Identity::of_caller() },
        Identity { inner_uid: 0, ..Identity::of_caller() },
        Identity { inner_gid: 0, ..Identity::of_caller() },
    ] {
        let mut jail = bare_box("/bin/true");
        jail.identity = identity;
        let error = start_jailed(spec("/bin/true", &[]), jail).unwrap_err();
        assert_eq!(error, StartError { step: Step::PrepareBox, errno: Errno::INVAL });
    }
}

#[test]
fn the_program_is_not_the_first_process_and_cannot_harm_it() {
    let (ended, out, _) = run("echo $$; kill -9 1; kill -STOP 1; kill -TERM 1; exit 5");
    assert_eq!((ended.status, out.as_str()), (Status::Code(5), "2\n"));
}

#[test]
fn the_file_that_runs_is_the_one_that_was_judged() {
    let error = start_jailed(spec("/bin/true", &[]), bare_box("/bin/sh")).unwrap_err();
    assert_eq!(error, StartError { step: Step::FindProgram, errno: Errno::STALE });
    let error = start_jailed(spec("/bin/true", &[]), bare_box("/none")).unwrap_err();
    assert_eq!(error, StartError { step: Step::FindProgram, errno: Errno::NOENT });
}

#[test]
fn a_working_directory_that_is_not_in_the_box_is_an_error() {
    let error =
        start_jailed(spec("/bin/true", &[]), Jail::new(c"/bin/true", c"/none")).unwrap_err();
    assert_eq!(error, StartError { step: Step::EnterDirectory, errno: Errno::NOENT });
}

/// Ways to escape a parent, as in `tree.rs`.
const ESCAPES: [&str; 4] = [
    "sleep 1000 &",
    "setsid sleep 1000 &",
    "(setsid sh -c 'trap \"\" TERM HUP INT; sleep 1000 & sleep 1000' &)",
    "comet() { comet & }; comet",
];

#[test]
fn nothing_is_left_when_the_program_ends() {
    for escape in ESCAPES {
        let mark = Mark::new();
        let spec = mark.on(shell(&format!("{escape}\nexit 3")));
        let ended = start_jailed(spec, bare_box("/bin/sh")).unwrap().wait().unwrap();
        assert_eq!(mark.found(), [], "{escape}");
        assert_eq!((ended.status, ended.survivors), (Status::Code(3), 0));
    }
}

#[test]
fn nothing_is_left_when_the_box_is_killed_or_dropped() {
    for escape in ESCAPES {
        let mark = Mark::new();
        let spec = || mark.on(shell(&format!("{escape}\nsleep 1000")));
        let mut run = start_jailed(spec(), bare_box("/bin/sh")).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        let begin = Instant::now();
        run.kill().unwrap();
        let ended = run.wait().unwrap();
        assert!(begin.elapsed() < Duration::from_secs(120), "{:?}", begin.elapsed());
        assert_eq!(mark.found(), [], "{escape}");
        assert_eq!((ended.status, ended.cause), (Status::Signal(9), Cause::Killed));
        drop(start_jailed(spec(), bare_box("/bin/sh")).unwrap());
        assert_eq!(mark.found(), [], "{escape}");
    }
}

#[test]
fn leftovers_are_counted() {
    let (ended, _, _) = run("sleep 1000 & sleep 1000 & (setsid sleep 1000 &) ; exit 0");
    assert_eq!(ended.leftovers, 3);
}

#[test]
fn a_shim_that_is_killed_takes_the_box_with_it() {
    let mark = Mark::new();
    let spec = mark.on(shell("setsid sleep 1000 & sleep 1000"));
    let mut run = start_jailed(spec, bare_box("/bin/sh")).unwrap();
    mark.await_found(2);
    bare("kill").args(["-9", &run.shim_pid().unwrap().to_string()]).status().unwrap();
    assert!(run.wait().is_err());
    assert!(within(PATIENCE, || mark.found().is_empty()), "{:?}", mark.found());
}

#[test]
fn more_processes_than_allowed_end_the_box() {
    let line = |seconds| format!("for n in 1 2 3 4; do sleep {seconds} & done; wait");
    let limited = |max, line: &str| Spec { processes_max: Some(max), ..shell(line) };
    let ended =
        start_jailed(limited(5, &line("0.3")), bare_box("/bin/sh")).unwrap().wait().unwrap();
    assert_eq!((ended.status, ended.cause), (Status::Code(0), Cause::Exited));
    let ended =
        start_jailed(limited(4, &line("1000")), bare_box("/bin/sh")).unwrap().wait().unwrap();
    assert_eq!(ended.cause, Cause::ProcessLimit);
}

#[test]
fn usage_is_that_of_the_whole_box() {
    let burn = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";
    let (ended, _, _) = run(&format!("(sh -c '{burn}') & {burn}; wait"));
    assert!(ended.cpu > Duration::from_millis(10), "{ended:?}");
    assert!(ended.program_cpu < ended.cpu, "{ended:?}");
    assert!(ended.peak_rss_bytes > 500_000, "{ended:?}");
}

#[test]
fn the_network_is_what_was_asked_for() {
    let interfaces = |network| {
        let mut jail = bare_box("/bin/sh");
        jail.network = network;
        let line = "cat /proc/self/net/dev | tail -n +3 | wc -l; cat /proc/self/net/fib_trie";
        finish(&mut start_jailed(shell(line), jail).unwrap()).1
    };
    // The trie lists addresses of interfaces that are up.
    assert_eq!(interfaces(Network::None), "1\n");
    let loopback = interfaces(Network::Loopback);
    assert!(loopback.starts_with("1\n") && loopback.contains("127.0.0.1"), "{loopback}");
    let host = fs::read_to_string("/proc/net/dev").unwrap().lines().count() - 2;
    assert!(interfaces(Network::Host).starts_with(&format!("{host}\n")));
}

#[test]
fn no_descriptor_of_the_host_is_in_the_box() {
    let leak = fs::File::open("/").unwrap();
    let line = "ls /proc/self/fd | tr '\\n' ' '; ls -l /proc/1/fd /proc/2/fd";
    let (_, out, _) = run(line);
    drop(leak);
    // The fourth is what `ls` reads the folder with.
    assert!(out.starts_with("0 1 2 3 "), "{out}");
    assert!(!out.contains(" -> /\n"), "{out}");
}

#[test]
fn the_environment_of_a_first_process_is_not_readable_from_outside_either() {
    if is_root() {
        return;
    }
    let mut run = start_jailed(shell("sleep 1000"), bare_box("/bin/sh")).unwrap();
    let read = fs::read(format!("/proc/{}/environ", run.pid()));
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(read.is_err());
}

/// In a user namespace of its own a sandbox has a count of its own, so the kernel holds the limit
/// for the whole sandbox at each fork, whatever else the same user runs.
#[test]
fn the_limit_of_processes_is_the_boxs_own() {
    let rlimits = Rlimits { processes: Some(12), ..Rlimits::default() };
    let line = "for n in 1 2 3 4 5 6 7 8; do sleep 1000 & done; echo eight; \
                for n in 1 2 3 4 5 6 7 8; do sleep 1000 & done; echo sixteen";
    let boxed = || start_jailed(Spec { rlimits, ..shell(line) }, bare_box("/bin/sh")).unwrap();
    let (mut first, mut second) = (boxed(), boxed());
    for run in [&mut first, &mut second] {
        let (ended, out, err) = finish(run);
        assert_eq!(out, "eight\n", "{ended:?} {err}");
        assert!(err.contains("fork"), "{err}");
    }
}

/// An init without descriptors could not hear that it shall end.
#[test]
fn the_first_process_cannot_be_limited_from_inside() {
    let line =
        "prlimit --pid 1 --nofile=0:0; renice 19 1; prlimit --pid $$ --nofile=20:20; echo $?";
    let mut jail = bare_box("/bin/sh");
    jail.filter = Some(Filter { sockets: Sockets::Unix, tracing: Tracing::Forbidden });
    let (_, out, err) = finish(&mut start_jailed(shell(line), jail).unwrap());
    assert_eq!(out, "0\n", "{err}");
    assert_eq!(err.matches("not permitted").count(), 2, "{err}");
}
