//! The signal scope keeps a program away from its shim and its supervisor, and from nothing else.

use std::io::{Write, stderr};
use std::{fs, process};

use stockade_sandbox::{Cause, Status, landlock_abi, start};

use crate::support::{Mark, Scope, finish, is_root, opened, shell};

/// Whether this kernel has the scope; says so where it does not.
pub(crate) fn available() -> bool {
    let available = landlock_abi().is_some_and(|abi| abi >= 6);
    let required = std::env::var("STOCKADE_TEST_REQUIRES").unwrap_or_default();
    assert!(available || !required.contains("landlock-v6"), "this kernel lacks landlock-v6");
    if !available {
        writeln!(stderr().lock(), "skipped: this kernel lacks landlock-v6").unwrap();
    }
    available
}

#[test]
fn a_program_cannot_kill_its_shim() {
    if !available() {
        return;
    }
    let attack = "kill -9 $PPID && exit 1; kill -STOP $PPID && exit 1; exit 42";
    let mut run = start(Scope::Closed.apply(shell(attack))).unwrap();
    let (ended, _, err) = finish(&mut run);
    assert_eq!((ended.status, ended.cause), (Status::Code(42), Cause::Exited), "{err}");
}

#[test]
fn a_program_cannot_end_its_shim_or_its_supervisor_by_a_limit() {
    if !available() {
        return;
    }
    let supervisor = process::id();
    let attack = format!(
        "command -v prlimit >/dev/null || exit 42
        prlimit --pid $PPID --cpu=1:1 && exit 1
        prlimit --pid {supervisor} --fsize=unlimited:unlimited && exit 2
        prlimit --pid {supervisor} --fsize >/dev/null || exit 3
        prlimit --nofile=100:100 true || exit 4
        ulimit -n 100 || exit 5
        exit 42"
    );
    let (ended, _, err) = finish(&mut start(Scope::Closed.apply(shell(&attack))).unwrap());
    assert_eq!((ended.status, ended.cause), (Status::Code(42), Cause::Exited), "{err}");
}

#[test]
fn control_without_the_scope_it_can_and_the_loss_is_told() {
    let mark = Mark::new();
    let spec = Scope::Open.apply(shell("sleep 1000 & kill -9 $PPID; sleep 1000"));
    let mut run = start(mark.on(spec)).unwrap();
    assert!(run.wait().is_err());
    assert!(run.try_ended().is_err(), "the loss is told again");
    let gone = crate::support::within(crate::support::PATIENCE, || mark.found().is_empty());
    assert!(gone, "the process group was killed: {:?}", mark.found());
}

#[test]
fn a_program_cannot_read_the_environment_of_its_supervisor() {
    if !available() {
        return;
    }
    let attack = format!("cat /proc/{}/environ", process::id());
    let (ended, out, err) = finish(&mut start(Scope::Closed.apply(shell(&attack))).unwrap());
    assert_eq!((ended.status, out.as_str()), (Status::Code(1), ""));
    assert!(err.contains("Permission denied"), "{err}");
}

#[test]
fn control_without_the_scope_it_can() {
    let attack = format!("cat /proc/{}/environ", process::id());
    let (ended, out, err) = finish(&mut start(Scope::Open.apply(shell(&attack))).unwrap());
    assert_eq!(ended.status, Status::Code(0), "{err}");
    assert!(out.contains("STOCKADE") || out.contains('='), "{out}");
}

#[test]
fn a_program_still_signals_its_own_children() {
    let line = "sleep 1000 & kill -TERM $!; wait $!; echo $?";
    let (_, out, _) = finish(&mut start(shell(line)).unwrap());
    assert_eq!(out, "143\n");
}

#[test]
fn the_scope_does_not_restrict_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::create_dir(path.join("a")).unwrap();
    fs::create_dir(path.join("b")).unwrap();
    let mut spec = shell(
        "echo x > a/f && mv a/f b/f && ln b/f a/g && cat a/g && truncate -s 0 b/f && \
         rm a/g b/f && grep -q ' / ' /proc/self/mountinfo && echo fine",
    );
    spec.cwd = opened(path.to_str().unwrap());
    let (ended, out, err) = finish(&mut start(spec).unwrap());
    assert_eq!((ended.status, out.as_str()), (Status::Code(0), "x\nfine\n"), "{err}");
}

#[test]
fn the_scope_does_not_restrict_mounts() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // In a user namespace, since the run itself has no CAP_SYS_ADMIN.
    let mut spec = shell("unshare -Urm sh -c 'mount -t tmpfs none . && echo fine'");
    spec.cwd = opened(folder.path().to_str().unwrap());
    let (ended, out, err) = finish(&mut start(spec).unwrap());
    assert_eq!((ended.status, out.as_str()), (Status::Code(0), "fine\n"), "{err}");
}

#[test]
fn a_program_of_root_keeps_its_other_capabilities() {
    if !is_root() || !available() {
        return;
    }
    let line = "grep CapEff /proc/self/status";
    let effective = |scope: Scope| {
        let (_, out, _) = finish(&mut start(scope.apply(shell(line))).unwrap());
        u64::from_str_radix(out.trim_start_matches("CapEff:").trim(), 16).unwrap()
    };
    let dropped = effective(Scope::Open) & !effective(Scope::Closed);
    assert_eq!(dropped & !(1 << 21 | 1 << 38), 0, "{dropped:x}");
    assert_eq!(effective(Scope::Closed) & (1 << 21 | 1 << 38), 0);
}

#[test]
fn a_program_gets_no_new_privileges() {
    for scope in Scope::BOTH {
        let line = "grep NoNewPrivs /proc/self/status";
        let (_, out, _) = finish(&mut start(scope.apply(shell(line))).unwrap());
        assert_eq!(out, "NoNewPrivs:\t1\n");
    }
}
