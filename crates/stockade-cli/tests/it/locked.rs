//! The jail without namespaces, by Landlock, the filter and the shim: what it keeps and what is
//! left of it. Each attack has a control half that succeeds without it.

use std::os::unix::net::UnixDatagram;

use serde_json::Value;

use crate::poorer::{Caller, Poorer, can_box, kept, lowered};
use crate::support::{eventually, marked, marker, skip};

/// A script on a machine without namespaces, in the box that is left there, and without any.
struct Both {
    locked: Value,
    open: Value,
}

fn both(poorer: &Poorer, script: &str, args: &[&str]) -> Both {
    poorer.project.script("script.sh", script);
    let run = |options: &[&str]| -> Value {
        let words = [&["run", "--json"], options, &["--", "sh", "script.sh"], args].concat();
        poorer.told("EPERM", "namespaces", &words).json()
    };
    let policy = lowered();
    Both { locked: run(&["--policy", &policy]), open: run(&["--tier", "process"]) }
}

#[test]
fn folders_of_the_machine_are_neither_listed_nor_written() {
    if !can_box() {
        return;
    }
    let poorer = Poorer::new(Caller::ordinary());
    let script = "ls / && echo listed; ls .. && echo listed
        echo x > ../home/x && echo written; echo x > $TMPDIR/x && echo scratch
        cat /proc/self/status > /dev/null && echo proc; ls /usr > /dev/null && echo system\n";
    let Both { locked, open } = both(&poorer, script, &[]);
    assert_eq!(locked["stdout"], "scratch\nproc\nsystem\n", "{locked}");
    assert_eq!(open["stdout"].as_str().unwrap().matches("listed").count(), 2, "{open}");
    assert!(poorer.project.beside("home/x").exists());
}

#[test]
fn other_processes_of_the_user_are_neither_read_nor_signalled_nor_limited() {
    if !can_box() {
        return;
    }
    let poorer = Poorer::new(Caller::ordinary());
    let mut bystander = poorer.bare(&["sleep", "600"]).env("SECRET", "hunter3").spawn().unwrap();
    let pid = bystander.id().to_string();
    let is_asleep =
        || std::fs::read(format!("/proc/{pid}/comm")).is_ok_and(|name| name == b"sleep\n");
    assert!(eventually(std::time::Duration::from_secs(60), is_asleep));
    let script = "tr '\\0' '\\n' < /proc/$1/environ | grep hunter3
        kill -0 $1 && echo signalled; kill -0 $PPID && echo shim
        prlimit --pid $1 --cpu=1:1 && echo limited; prlimit --pid $PPID --nofile=0:0 && echo shim
        prlimit --nofile=9:9 true || echo broken\n";
    let Both { locked, .. } = both(&poorer, script, &[&pid]);
    let control = poorer.bare(&["sh", "script.sh", &pid]).output().unwrap();
    bystander.kill().unwrap();
    bystander.wait().unwrap();
    let control = String::from_utf8(control.stdout).unwrap();
    assert!(control.contains("SECRET=hunter3\nsignalled\n"), "{control}");
    let has_prlimit = std::path::Path::new("/usr/bin/prlimit").exists();
    assert!(control.contains("limited\n") || !has_prlimit, "{control}");
    assert_eq!(locked["stdout"], if has_prlimit { "" } else { "broken\n" }, "{locked}");
    assert_eq!(kept(&locked, "environment").0, "full");
    assert_eq!(kept(&locked, "processes").0, "partial");
}

#[test]
fn a_socket_with_a_path_is_out_of_reach_also_by_a_pair_of_datagrams() {
    if !can_box() {
        return;
    }
    if !std::path::Path::new("/usr/bin/python3").exists() {
        return skip("python3", "there is no python3 here");
    }
    let poorer = Poorer::new(Caller::ordinary());
    let listener = UnixDatagram::bind(poorer.project.path("socket")).unwrap();
    listener.set_nonblocking(true).unwrap();
    let every = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(poorer.project.path("socket"), every).unwrap();
    let source = "import socket, sys
for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    try:
        one, other = socket.socketpair(socket.AF_UNIX, kind)
        print('pair', kind)
        one.sendto(b'hello', 'socket')
    except OSError as error:
        print(error.errno)
try:
    socket.socket(socket.AF_INET)
    print('internet')
except OSError as error:
    print(error.errno)
";
    poorer.project.write("source.py", source);
    let Both { locked, open } = both(&poorer, "python3 source.py\n", &[]);
    let received = || {
        let mut bytes = [0; 8];
        std::iter::from_fn(|| listener.recv(&mut bytes).ok()).count()
    };
    // The open half has sent two; the locked half none.
    assert_eq!(received(), 2, "{open}");
    let said = locked["stdout"].as_str().unwrap();
    assert!(!said.contains("internet") && !said.contains("pair 2"), "{locked}");
    assert!(said.contains("pair 1") && said.contains("pair 5"), "{locked}");
    assert_eq!(kept(&locked, "network"), ("full", vec!["seccomp"]));
}

#[test]
fn nothing_of_system_v_is_shared_with_the_machine_or_left_there() {
    if !can_box() {
        return;
    }
    if !std::path::Path::new("/usr/bin/ipcmk").exists() {
        return skip("ipcmk", "there is no ipcmk here");
    }
    let poorer = Poorer::new(Caller::ordinary());
    let script = "for one in '-M 4096' -Q '-S 1'; do
            made=$(ipcmk $one) || continue
            echo made; case $one in -M*) r=-m;; -Q) r=-q;; *) r=-s;; esac
            ipcrm $r ${made##*: }
        done\n";
    let Both { locked, open } = both(&poorer, script, &[]);
    assert_eq!(open["stdout"], "made\nmade\nmade\n", "{open}");
    assert_eq!(locked["stdout"], "", "{locked}");
}

#[test]
fn a_protected_path_that_is_made_ends_the_tree_and_is_moved_away() {
    if !can_box() {
        return;
    }
    let poorer = Poorer::new(Caller::ordinary());
    let script = "echo first; echo run > .envrc; sleep 60; echo late\n";
    poorer.project.script("script.sh", script);
    let args = ["run", "--json", "--policy", &lowered(), "--", "sh", "script.sh"];
    let report = poorer.told("EPERM", "namespaces", &args).json();
    assert_eq!((&report["stdout"], &report["signal"]), (&"first\n".into(), &9.into()), "{report}");
    assert_eq!(kept(&report, "protected").0, "detected");
    assert!(!poorer.project.path(".envrc").exists());
}

#[test]
fn nothing_is_left_running_or_lying_about() {
    if !can_box() {
        return;
    }
    let poorer = Poorer::new(Caller::ordinary());
    let marker = marker();
    let script = "setsid sh -c 'sleep \"$0\" & sleep \"$0\"' \"$1\" & sleep \"$1\" & exit 3\n";
    let Both { locked, .. } = both(&poorer, script, &[&marker]);
    assert_eq!(locked["exit_code"], 3, "{locked}");
    assert!(eventually(std::time::Duration::from_secs(60), || marked(&marker) == 0));
    assert_eq!(poorer.project.scratch_folders(), Vec::<String>::new());
    let args = ["run", "--json", "--timeout", "300ms", "--policy", &lowered(), "--", "sleep", "60"];
    let report = poorer.told("ENOSYS", "namespaces", &args).json();
    assert_eq!((&report["timed_out"], &report["exit_code"]), (&true.into(), &(-101).into()));
}

#[test]
fn a_command_line_that_is_killed_takes_the_tree_with_it() {
    if !can_box() {
        return;
    }
    let poorer = Poorer::new(Caller::ordinary());
    let marker = marker();
    poorer.project.script("many.sh", "trap '' TERM HUP\nsetsid sleep $1 &\nsleep $1\n");
    let args = ["run", "--policy", &lowered(), "--", "sh", "many.sh", &marker];
    let mut child = poorer.command("EPERM", "namespaces", &args).spawn().unwrap();
    let patience = std::time::Duration::from_secs(30);
    assert!(eventually(patience, || marked(&marker) >= 3), "never started");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(eventually(std::time::Duration::from_secs(60), || marked(&marker) == 0));
}
