//! Sessions of `stockade code`, which outlive the command that begins them.

use std::fs;
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};

use crate::support::{self, Project, Told, skip};

/// A project whose sessions end with the test.
struct Scene(Project);

impl Drop for Scene {
    fn drop(&mut self) {
        for name in ["one", "two"] {
            self.0.stockade(&["code", "--session", name, "--end"]);
        }
    }
}

impl Scene {
    fn new() -> Option<Self> {
        let project = Project::new();
        let told = project.stockade(&["run", "--", "true"]);
        if told.code == 125 && told.stderr.contains("namespace") {
            skip("userns", "user namespaces are forbidden here");
            return None;
        }
        assert_eq!(told.code, 0, "{told:?}");
        Some(Self(project))
    }

    fn python(&self, session: &str, source: &str, more: &[&str]) -> Told {
        let args =
            [&["code", "--lang", "python", "--session", session, "-e", source], more].concat();
        self.0.stockade(&args)
    }

    fn sockets(&self) -> Vec<PathBuf> {
        let folder = self.0.runtime().join("stockade");
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|end| end == "socket")).collect()
    }

    /// The processes that keep sessions of this project.
    fn hosts(&self) -> Vec<i32> {
        let state = format!("XDG_STATE_HOME={}", self.0.beside("state").display());
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
            let is_host =
                read("cmdline").split(|byte| *byte == 0).any(|word| word == b"code-session-host");
            let is_ours =
                read("environ").split(|byte| *byte == 0).any(|one| one == state.as_bytes());
            // Whoever may not read the environment of one knows it by its folder.
            let cwd = fs::read_link(entry.path().join("cwd")).ok();
            if is_host && (is_ours || cwd == Some(self.0.beside("work"))) {
                found.push(entry.file_name().to_str().unwrap().parse().unwrap());
            }
        }
        found
    }
}

fn eventually(is_so: impl FnMut() -> bool) -> bool {
    support::eventually(Duration::from_secs(60), is_so)
}

#[test]
fn separate_commands_find_what_earlier_ones_left() {
    let Some(scene) = Scene::new() else { return };
    let told = scene.python("one", "x = 41\nprint('first')", &[]);
    assert_eq!((told.code, told.stdout.as_str()), (0, "first\n"), "{told:?}");
    let told = scene.python("one", "x + 1", &["--json"]);
    let report = told.json();
    assert_eq!(report["stdout"], "42\n", "{report}");
    assert_eq!(
        (&report["session"]["new"], &report["session"]["calls"]),
        (&false.into(), &2.into())
    );
    let told = scene.python("two", "x", &[]);
    assert!(told.code == 1 && told.stderr.contains("NameError"), "{told:?}");
    let told = scene.python("one", "import sys\nprint('e', file=sys.stderr)\nsys.exit(7)", &[]);
    assert_eq!((told.code, told.stderr.as_str()), (7, "e\n"));
    let told = scene.python("one", "while True: pass", &["--timeout", "1s"]);
    assert_eq!(told.code, 124, "{told:?}");
    assert_eq!(scene.python("one", "x", &[]).stdout, "41\n", "an interruption leaves it as it was");
    let journal = fs::read_to_string(scene.0.journal()).unwrap();
    let decided = journal.lines().filter(|line| line.contains("\"Code\"")).count();
    assert!(decided >= 6, "every call is judged and written down: {decided}");
}

#[test]
fn a_session_is_ended_by_name_and_nothing_is_left() {
    let Some(scene) = Scene::new() else { return };
    scene.python("one", "x = 1", &[]);
    assert_eq!((scene.sockets().len(), scene.hosts().len()), (1, 1));
    let mode = fs::metadata(scene.0.runtime().join("stockade")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let told = scene.0.stockade(&["code", "--session", "one", "--end"]);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(scene.sockets().is_empty());
    assert!(eventually(|| scene.hosts().is_empty()));
    let told = scene.0.stockade(&["code", "--session", "one", "--end"]);
    assert!(told.code == 125 && told.stderr.contains("there is none"), "{told:?}");
    let told = scene.python("one", "'x' in globals()", &[]);
    assert_eq!(told.stdout, "False\n", "{told:?}");
}

#[test]
fn whoever_kills_the_keeper_of_a_session_ends_it_and_the_next_call_begins_anew() {
    let Some(scene) = Scene::new() else { return };
    scene.python("one", "x = 1", &[]);
    for host in scene.hosts() {
        let host = rustix::process::Pid::from_raw(host).unwrap();
        rustix::process::kill_process(host, rustix::process::Signal::KILL).unwrap();
    }
    assert!(eventually(|| scene.hosts().is_empty()));
    assert_eq!(scene.sockets().len(), 1, "its socket is left");
    let told = scene.python("one", "'x' in globals()", &["--json"]);
    let report = told.json();
    assert_eq!(
        (&report["stdout"], &report["session"]["new"]),
        (&"False\n".into(), &true.into()),
        "{told:?}"
    );
    let killed = scene.python("one", "import os\nos.kill(os.getpid(), 9)", &[]);
    assert_eq!(killed.code, 137, "{killed:?}");
    assert!(killed.stderr.contains("the next call gets a fresh one"), "{killed:?}");
    let told = scene.python("one", "1 + 1", &[]);
    assert_eq!(told.stdout, "2\n", "{told:?}");
}

#[test]
fn a_call_that_the_last_keeper_did_not_take_is_taken_by_the_next() {
    let Some(scene) = Scene::new() else { return };
    scene.python("one", "x = 1", &[]);
    let socket = scene.sockets().remove(0);
    assert_eq!(scene.0.stockade(&["code", "--session", "one", "--end"]).code, 0);
    for does_accept in [false, true] {
        // It is there when the call comes, and ends without a look at it.
        let listener = UnixListener::bind(&socket).unwrap();
        let told = std::thread::scope(|scope| {
            let call = scope.spawn(|| scene.python("one", "'x' in globals()", &["--json"]));
            let line = does_accept.then(|| listener.accept().unwrap());
            let of = line.as_ref().map_or(listener.as_fd(), |(line, _)| line.as_fd());
            let mut polled = [PollFd::new(&of, PollFlags::IN)];
            poll(&mut polled, None).unwrap();
            drop(listener);
            drop(line);
            call.join().unwrap()
        });
        let report = told.json();
        assert_eq!(
            (&report["stdout"], &report["session"]["new"]),
            (&"False\n".into(), &true.into()),
            "accepted: {does_accept}"
        );
        assert_eq!(scene.0.stockade(&["code", "--session", "one", "--end"]).code, 0);
    }
}

#[test]
fn another_policy_is_told_so_and_the_session_goes_on() {
    let Some(scene) = Scene::new() else { return };
    scene.python("one", "x = 1", &[]);
    for other in [["--memory", "100M"], ["--mode", "bypass"], ["--net", "host"]] {
        let told = scene.python("one", "x", &other);
        assert!(told.code == 125 && told.stderr.contains("another policy"), "{told:?}");
    }
    scene.0.write("stockade.toml", "[rules]\ndeny = [\"Code\"]\n");
    let told = scene.python("one", "x", &[]);
    assert!(told.code == 125 && told.stderr.contains("another policy"), "{told:?}");
    fs::remove_file(scene.0.path("stockade.toml")).unwrap();
    assert_eq!(scene.python("one", "x", &[]).stdout, "1\n");
}

#[test]
fn a_session_with_nothing_to_do_ends() {
    let Some(scene) = Scene::new() else { return };
    fs::write(scene.0.beside("policy.toml"), "[session]\nidle = \"300ms\"\n").unwrap();
    let policy = scene.0.beside("policy.toml");
    let policy = ["--policy", policy.to_str().unwrap()];
    scene.python("one", "x = 1", &policy);
    assert!(eventually(|| scene.sockets().is_empty() && scene.hosts().is_empty()));
    assert_eq!(scene.python("one", "'x' in globals()", &policy).stdout, "False\n");
}

#[test]
fn a_name_that_is_none_and_a_language_without_sessions_are_told() {
    let Some(scene) = Scene::new() else { return };
    let told = scene.python("../one", "1", &[]);
    assert!(told.code == 125 && told.stderr.contains("1 to 64 letters"), "{told:?}");
    let told = scene.0.stockade(&["code", "--lang", "bash", "--session", "one", "-e", "x=1"]);
    assert!(told.code == 125 && told.stderr.contains("no sessions in bash"), "{told:?}");
    let told = scene.0.stockade(&["code", "-e", "1"]);
    assert!(told.code == 125 && told.stderr.contains("--lang"), "{told:?}");
}
