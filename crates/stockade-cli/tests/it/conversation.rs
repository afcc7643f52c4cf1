//! Sessions of separate commands: what they share, what stays, and the process that keeps them.

use std::fs;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::net::{
    AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv, send,
    socket_with,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{self, Project, Told, marked, marker};

/// A project whose session host ends with the test.
pub(crate) struct Scene(pub(crate) Project);

impl Drop for Scene {
    fn drop(&mut self) {
        for session in self.ps() {
            self.0.stockade(&["kill", session["name"].as_str().unwrap()]);
        }
        if let Some(host) = self.host() {
            let _gone = kill_process(host, Signal::KILL).is_err();
        }
    }
}

impl Scene {
    pub(crate) fn new() -> Self {
        let project = Project::new();
        fs::create_dir_all(project.path("src/deep")).unwrap();
        Self(project)
    }

    fn shell(&self, line: &str) -> Told {
        self.shell_in("work", line)
    }

    pub(crate) fn shell_in(&self, session: &str, line: &str) -> Told {
        self.0.stockade(&["shell", "--mode", "auto", "--session", session, line])
    }

    /// A line that has to end well; its output.
    #[track_caller]
    fn said(&self, line: &str) -> String {
        let told = self.shell(line);
        assert_eq!(told.code, 0, "{told:?}");
        told.stdout
    }

    pub(crate) fn ps(&self) -> Vec<Value> {
        let told = self.0.stockade(&["ps", "--json"]);
        assert_eq!(told.code, 0, "{told:?}");
        told.json()["sessions"].as_array().unwrap().clone()
    }

    /// The process that keeps the sessions: the one that listens at the socket.
    pub(crate) fn host(&self) -> Option<Pid> {
        let runtime = format!("XDG_RUNTIME_DIR={}", self.0.runtime().display());
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
            let has = |bytes: Vec<u8>, wanted: &str| {
                bytes.split(|byte| *byte == 0).any(|word| word == wanted.as_bytes())
            };
            if has(read("cmdline"), "session-host") && has(read("environ"), &runtime) {
                let pid = entry.file_name().to_str().unwrap().parse().unwrap();
                return Pid::from_raw(pid);
            }
        }
        None
    }

    fn connect(&self) -> OwnedFd {
        let path = self.0.runtime().join("stockade/host.socket");
        let flags = SocketFlags::CLOEXEC;
        let line = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
        connect(&line, &SocketAddrUnix::new(path).unwrap()).unwrap();
        line
    }
}

/// Only root reads the environment of the host, by which it is known.
pub(crate) fn unseen() {
    assert!(!rustix::process::geteuid().is_root(), "there is no host");
    support::skip("root", "the session host cannot be told from others");
}

pub(crate) fn eventually(is_so: impl FnMut() -> bool) -> bool {
    support::eventually(Duration::from_secs(60), is_so)
}

/// A server on a port of the loopback, in the background, that prints a line for each client.
pub(crate) fn serve(port: u16) -> String {
    format!(
        "python3 -c 'import socket
s = socket.socket(); s.bind((\"127.0.0.1\", {port})); s.listen()
open(\"/tmp/ready-{port}\", \"w\").close()
while True:
    c, _ = s.accept(); c.sendall(b\"served\"); c.close(); print(\"one\", flush=True)' & \
         while [ ! -e /tmp/ready-{port} ]; do sleep 0.01; done"
    )
}

pub(crate) fn ask(port: u16) -> String {
    format!(
        "python3 -c 'import socket
print(socket.create_connection((\"127.0.0.1\", {port}), 5).recv(9).decode())'"
    )
}

#[test]
fn separate_commands_share_a_directory_files_and_a_server() {
    let scene = Scene::new();
    assert_eq!(scene.said("echo kept > /tmp/x; cd src/deep; echo $STOCKADE_SESSION"), "work\n");
    let deep = scene.0.path("src/deep");
    assert_eq!(scene.said("pwd; cat /tmp/x"), format!("{}\nkept\n", deep.display()));
    assert_eq!(
        scene.shell_in("other", "pwd").stdout.trim_end(),
        scene.0.path("").to_str().unwrap().trim_end_matches('/')
    );
    // `run` begins there, too, and changes nothing.
    let told = scene.0.stockade(&["run", "--mode", "auto", "--session", "work", "--", "pwd"]);
    assert_eq!(told.stdout.trim_end(), deep.to_str().unwrap());
    let begun = Instant::now();
    let told = scene.shell(&format!("{}; exit 7", serve(7071)));
    assert_eq!(told.code, 7, "{told:?}");
    assert!(begun.elapsed() < Duration::from_secs(60));
    assert!(told.stderr.contains("left running: python3 -c"), "{told:?}");
    assert_eq!(scene.said(&ask(7071)), "served\n");
    // As JSON lines, in both ways.
    let call = json!({"tool": "Bash", "input": {"command": ask(7071)}, "session": "work"});
    let told = scene.0.fed(&["call", "--mode", "auto"], call.to_string().as_bytes());
    assert_eq!(told.json()["stdout"], "served\n", "{told:?}");
    let call = json!({"tool": "Bash", "input": {"command": "pwd"}});
    let told =
        scene.0.fed(&["call", "--mode", "auto", "--session", "work"], call.to_string().as_bytes());
    let report = told.json();
    assert_eq!(report["stdout"].as_str().unwrap().trim_end(), deep.to_str().unwrap());
    assert_eq!(report["session"]["calls"], 7, "{report:#}");
}

#[test]
fn what_is_left_running_is_listed_logged_and_ended() {
    let scene = Scene::new();
    assert_eq!(scene.0.stockade(&["ps"]).stdout, "no sessions\n");
    for gone in [["logs", "x"], ["kill", "x"]] {
        assert_eq!(scene.0.stockade(&gone).code, 0);
    }
    let told = scene.shell(&serve(7072));
    assert_eq!(told.code, 0, "{told:?}");
    scene.said(&ask(7072));
    let sessions = scene.ps();
    let call = &sessions[0]["calls"][0];
    assert_eq!(
        (&sessions[0]["name"], &call["left_running"][0]["ports"]),
        (&"work".into(), &json!([7072]))
    );
    let id = call["call"].as_str().unwrap();
    assert!(told.stderr.contains(&format!("stockade kill {id}")), "{told:?}");
    let listed = scene.0.stockade(&["ps"]).stdout;
    assert!(listed.contains(id) && listed.contains(":7072"), "{listed}");
    assert!(eventually(|| scene.0.stockade(&["logs", id]).stdout == "one\n"));
    assert_eq!(scene.0.stockade(&["logs", "7072"]).stdout, "one\n");
    // Another session does not name it.
    let other = scene.0.stockade(&["kill", "--session", "other", "7072"]);
    assert!(other.stdout.starts_with(message!("processes.nothing-running-names")), "{other:?}");
    assert_eq!(scene.0.stockade(&["kill", "7072"]).stdout, "1 call ended\n");
    assert_ne!(scene.shell(&ask(7072)).code, 0);
    let told = scene.0.stockade(&["logs", id]);
    assert_eq!((told.code, told.stdout.as_str()), (0, ""), "{told:?}");
    assert!(told.stderr.contains(message!("processes.nothing-left-running")), "{told:?}");
    // By the session, with all of it.
    let mark = marker();
    scene.said(&format!("sleep {mark} & :"));
    assert!(eventually(|| marked(&mark) == 1));
    assert_eq!(scene.0.stockade(&["kill", "work"]).stdout, "session work ended, with 1 call\n");
    assert_eq!(marked(&mark), 0);
    let ends = fs::read_to_string(scene.0.journal()).unwrap();
    assert_eq!(ends.lines().filter(|line| line.contains("\"left_ended\"")).count(), 2);
    assert_eq!(scene.0.stockade(&["audit", "verify"]).code, 0);
}

#[test]
fn a_front_end_that_is_killed_ends_its_call_and_one_that_is_told_to_end_reports() {
    let scene = Scene::new();
    let start = |mark: &str| -> Child {
        let line = format!("sleep {mark}");
        let args = ["shell", "--mode", "auto", "--session", "work", &line];
        let child = scene.0.command(&args).spawn().unwrap();
        assert!(eventually(|| marked(mark) >= 1));
        child
    };
    let mark = marker();
    let mut child = start(&mark);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(eventually(|| marked(&mark) == 0));
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mark = marker();
        let child = start(&mark);
        let pid = Pid::from_child(&child);
        kill_process(pid, signal).unwrap();
        let told = Told::from(child.wait_with_output().unwrap());
        assert_eq!((told.code, marked(&mark)), (128 + signal.as_raw(), 0), "{told:?}");
    }
    let journal = fs::read_to_string(scene.0.journal()).unwrap();
    let cancelled = |line: &&str| line.contains("\"cancelled\"");
    assert_eq!(journal.lines().filter(cancelled).count(), 4, "{journal}");
}

#[test]
fn the_end_of_the_host_ends_what_is_running_and_the_next_call_is_new() {
    let scene = Scene::new();
    let (left, running) = (marker(), marker());
    scene.said(&format!("cd src; sleep {left} & :"));
    let Some(host) = scene.host() else { return unseen() };
    let line = format!("sleep {running}");
    let args = ["shell", "--mode", "auto", "--json", "--session", "work", &line];
    let child = scene.0.command(&args).spawn().unwrap();
    assert!(eventually(|| marked(&running) >= 1 && marked(&left) == 1));
    kill_process(host, Signal::KILL).unwrap();
    let told = Told::from(child.wait_with_output().unwrap());
    let report = told.json();
    assert_eq!(report["limit"], "cancelled");
    assert!(
        !report["reason"].as_str().unwrap().contains(message!("report.by-caller")),
        "{report:#}"
    );
    assert_eq!(report["notes"], json!([message!("membership.session-host-ended")]), "{report:#}");
    assert!(eventually(|| marked(&left) == 0 && marked(&running) == 0));
    let report = scene.0.stockade(&["shell", "--json", "--session", "work", "pwd"]).json();
    assert_eq!((&report["session"]["new"], &report["session"]["calls"]), (&true.into(), &1.into()));
    assert_eq!(
        report["stdout"].as_str().unwrap().trim_end(),
        scene.0.beside("work").to_str().unwrap()
    );
}

#[test]
fn a_handle_on_git_that_outlives_a_call_ends_the_sessions_of_the_project_alone() {
    let scene = Scene::new();
    fs::create_dir(scene.0.path(".git")).unwrap();
    fs::write(scene.0.path(".git/config"), "good\n").unwrap();
    // In the project, where calls of no session meet those of one.
    let holds = "python3 -c 'import socket, time
s = socket.socket(socket.AF_UNIX); s.bind(\"s\"); s.listen(); open(\"up\", \"w\").close()
while True: c, _ = s.accept(); held = c.recvmsg(9, 100); c.send(b\"y\")' > /dev/null 2>&1 & \
                 while [ ! -e up ]; do sleep 0.01; done";
    assert_eq!(scene.shell_in("one", holds).code, 0);
    let passes = |file: &str| {
        format!(
            "python3 -c 'import array, os, socket
s = socket.socket(socket.AF_UNIX); s.connect(\"s\")
rights = array.array(\"i\", [os.open(\"{file}\", os.O_WRONLY | os.O_CREAT, 0o600)])
s.sendmsg([b\"x\"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)]); s.recv(1)'"
        )
    };
    let pass = |file: &str| scene.0.stockade(&["shell", "--mode", "auto", &passes(file)]);
    // The control: a file elsewhere keeps nothing from being made read-only.
    assert_eq!(pass("ordinary").code, 0);
    assert_eq!(scene.ps().len(), 1);
    let told = pass(".git/index");
    assert_eq!((told.code, scene.ps().len()), (0, 0), "{told:?}");
    assert!(!scene.0.stockade(&["kill", "one"]).stdout.contains("ended"));
}

#[test]
fn nobody_keeps_others_from_the_host() {
    let scene = Scene::new();
    scene.said("true");
    // Silent ones, one that sends nonsense, and one that asks and never reads.
    let silent: Vec<OwnedFd> = (0..20).map(|_| scene.connect()).collect();
    let nonsense = scene.connect();
    send(&nonsense, b"\x00{", SendFlags::NOSIGNAL).unwrap();
    let mut answer = [0; 4096];
    let (length, _) = recv(&nonsense, &mut answer, rustix::net::RecvFlags::empty()).unwrap();
    let answer = String::from_utf8_lossy(&answer[..length]).into_owned();
    assert!(answer.contains("different versions"), "{answer}");
    let deaf = scene.connect();
    let list = json!({"protocol": 4, "request": {"list": null}}).to_string();
    while send(&deaf, list.as_bytes(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT).is_ok() {}
    assert_eq!(scene.said("echo served"), "served\n");
    assert_eq!(scene.ps().len(), 1);
    assert_eq!(scene.0.stockade(&["kill", "work"]).stdout, "session work ended\n");
    drop(silent);
}

#[test]
fn an_older_or_newer_command_is_refused_with_a_hint() {
    let scene = Scene::new();
    scene.said("true");
    for protocol in [0, 3, 5] {
        let line = scene.connect();
        let list = json!({"protocol": protocol, "request": {"list": null}});
        send(&line, list.to_string().as_bytes(), SendFlags::NOSIGNAL).unwrap();
        let mut answer = vec![0; 4096];
        let (length, _) = recv(&line, &mut answer, rustix::net::RecvFlags::empty()).unwrap();
        let answer: Value = serde_json::from_slice(&answer[..length]).unwrap();
        assert!(answer["reply"]["refused"]["hint"].is_string(), "{answer}");
    }
}

/// What the host refuses is told as any failure is: what could not be done, why, and what to do.
#[test]
fn a_refusal_of_the_host_says_what_could_not_be_done() {
    let scene = Scene::new();
    let running = scene.0.command(&["run", "--session", "work", "--", "sleep", "600"]).spawn();
    let mut running = running.unwrap();
    assert!(eventually(|| scene.ps().first().is_some_and(|one| one["calls"][0].is_object())));
    let id = scene.ps()[0]["calls"][0]["call"].as_str().unwrap().to_owned();
    let told = scene.0.stockade(&["logs", &id]);
    assert_eq!(told.code, 125, "{told:?}");
    let expected = message!("client.show-output", format!("{id:?}"));
    assert!(told.stderr.contains(&format!("could not {expected}: ")), "{told:?}");
    assert!(told.stderr.lines().any(|line| line.starts_with("hint: ")), "{told:?}");
    scene.0.stockade(&["kill", "work"]);
    running.wait().unwrap();
}

#[test]
fn a_list_of_one_session_is_about_the_project_as_its_end_is() {
    let scene = Scene::new();
    let other = scene.0.beside("other");
    fs::create_dir(&other).unwrap();
    let other = other.to_str().unwrap();
    for root in [".", other] {
        let told = scene.0.stockade(&["run", "--root", root, "--session", "work", "--", "true"]);
        assert_eq!(told.code, 0, "{told:?}");
    }
    let listed = |args: &[&str]| {
        let told = scene.0.stockade(&[&["ps", "--json"][..], args].concat()).json();
        let roots = told["sessions"].as_array().unwrap().iter();
        roots.map(|session| session["root"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed(&[]).len(), 2, "all are listed where none is named");
    let own = fs::canonicalize(scene.0.path("")).unwrap().to_str().unwrap().to_owned();
    assert_eq!(listed(&["--session", "work"]), [own]);
    let ended = scene.0.stockade(&["kill", "--session", "work", "work"]);
    assert_eq!(ended.stdout, "session work ended\n", "{ended:?}");
    assert!(listed(&["--session", "work"]).is_empty());
    assert_eq!(listed(&["--session", "work", "--root", other]).len(), 1);
    let ended = scene.0.stockade(&["kill", "--root", other, "work"]);
    assert_eq!(ended.stdout, "session work ended\n", "{ended:?}");
}

/// A program that talks to the socket of the host.
const REACH: &str = "python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[1]); print(\"reached\")' ";

#[test]
fn no_sandbox_reaches_the_host() {
    let scene = Scene::new();
    scene.said("true");
    let socket = scene.0.runtime().join("stockade/host.socket");
    let mode = fs::metadata(socket.parent().unwrap()).unwrap().mode();
    assert_eq!(mode & 0o777, 0o700);
    let line = format!("{REACH}{}", socket.display());
    // The control: whoever is in no sandbox does.
    let free = std::process::Command::new("sh").args(["-c", &line]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&free.stdout), "reached\n");
    for told in [
        scene.shell(&line),
        scene.0.stockade(&["shell", "--mode", "bypass", "--session", "work", &line]),
        scene.0.stockade(&["shell", "--mode", "bypass", "--net", "host", &line]),
    ] {
        assert!(told.code != 0 && !told.stdout.contains("reached"), "{told:?}");
    }
    // Nor by a link, nor where the folder is granted.
    let folder = scene.0.runtime();
    let read = ["shell", "--mode", "bypass", "--read", folder.to_str().unwrap(), &line];
    let told = scene.0.stockade(&read);
    assert!(told.code != 0 && !told.stdout.contains("reached"), "{told:?}");
}

/// Asks the host for its sessions from the folder of its socket, as another user, or as root with 0.
const ASK_AS: &str = "import os, socket, sys
user = int(sys.argv[1])
if user != 0: os.setgroups([]); os.setresgid(user, user, user); os.setresuid(user, user, user)
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.settimeout(120); s.connect(\"host.socket\")
try: s.send(sys.argv[2].encode()); heard = len(s.recv(9)) > 0
except ConnectionError: heard = False
print(os.geteuid(), heard)";

#[test]
fn another_user_is_not_heard_by_the_host() {
    if !rustix::process::geteuid().is_root() {
        return support::skip("root", "only root can become another user");
    }
    let scene = Scene::new();
    scene.said("true");
    let folder = scene.0.runtime().join("stockade");
    let let_in = |folder_mode, socket_mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode;
        fs::set_permissions(folder.join("host.socket"), mode(socket_mode)).unwrap();
        fs::set_permissions(&folder, mode(folder_mode)).unwrap();
    };
    let list = json!({"protocol": 3, "request": {"list": null}}).to_string();
    let asked = |user: &str| {
        let mut python = std::process::Command::new("python3");
        python.args(["-c", ASK_AS, user, &list]).current_dir(&folder);
        Told::from(python.stdin(Stdio::null()).output().unwrap())
    };
    let kept_out = asked("65534");
    // Even where the modes of the folder and of the socket are lost.
    let_in(0o711, 0o777);
    let (other, own) = (asked("65534"), asked("0"));
    let_in(0o700, 0o700);
    assert!(kept_out.stderr.contains("PermissionError"), "{kept_out:?}");
    assert_eq!(other.stdout, "65534 False\n", "{other:?}");
    // The control: the same as the user of the host.
    assert_eq!(own.stdout, "0 True\n", "{own:?}");
}

#[test]
fn an_idle_session_ends() {
    let scene = Scene::new();
    let policy = scene.0.beside("policy.toml");
    fs::write(&policy, "[session]\nidle = \"200ms\"\n").unwrap();
    let policy = policy.to_str().unwrap();
    let told = scene.0.stockade(&["shell", "--policy", policy, "--session", "short", "true"]);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(eventually(|| scene.ps().is_empty()));
}

#[test]
fn processes_of_all_calls_are_held_to_the_limits_of_the_session() {
    let scene = Scene::new();
    let policy = scene.0.beside("policy.toml");
    fs::write(&policy, "mode = \"auto\"\n[session]\nprocesses = 12\n").unwrap();
    let leave = |count: u32, mark: &str| {
        let line = format!("for i in $(seq {count}); do sleep {mark} & done");
        let policy = policy.to_str().unwrap();
        scene.0.stockade(&["shell", "--policy", policy, "--session", "work", &line])
    };
    let (small, large) = (marker(), marker());
    assert_eq!(leave(4, &small).code, 0);
    assert_eq!(leave(10, &large).code, 0);
    assert!(eventually(|| marked(&large) == 0));
    assert_eq!(marked(&small), 4);
    assert!(eventually(|| {
        let journal = fs::read_to_string(scene.0.journal()).unwrap();
        journal.lines().any(|line| line.contains("left_ended") && line.contains("\"processes\""))
    }));
}

#[test]
fn a_host_whose_folder_is_gone_ends() {
    let scene = Scene::new();
    scene.said("true");
    let Some(host) = scene.host() else { return unseen() };
    fs::remove_dir_all(scene.0.runtime().join("stockade")).unwrap();
    let is_gone = || scene.host() != Some(host);
    assert!(eventually(is_gone));
    assert_eq!(scene.said("echo again"), "again\n");
}

#[test]
fn the_line_of_an_agent_ends_in_its_directory_with_its_status() {
    let scene = Scene::new();
    let odd = ["a b", "$(touch pwned)", "it's", "new\nline", "end\n"];
    for name in odd {
        fs::create_dir(scene.0.path(name)).unwrap();
    }
    let hooked = |cwd: &std::path::Path, line: &str| {
        let event = json!({
            "session_id": "0c1f-agent", "cwd": cwd, "permission_mode": "default",
            "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": {"command": line}, "tool_use_id": "toolu_01",
        });
        let root = scene.0.beside("work");
        let args = ["hook", "pre", "--mode", "auto", "--root", root.to_str().unwrap()];
        let told = scene.0.fed(&args, event.to_string().as_bytes());
        let output = &told.json()["hookSpecificOutput"];
        output["updatedInput"]["command"].as_str().unwrap().to_owned()
    };
    // As the agent runs it: in a shell of its own, which it then asks where it is.
    let run = |line: &str, shell: &str| {
        let line = format!("{line}\ns=$?; printf '\\n[%s]' \"$s\"; pwd");
        let mut command = scene.0.command(&[]);
        let mut agent = std::process::Command::new(shell);
        for (name, value) in command.get_envs() {
            agent.env(name, value.unwrap());
        }
        let _unused = command.stdin(Stdio::null());
        agent.args(["-c", &line]).current_dir(scene.0.beside("work")).stdin(Stdio::null());
        Told::from(agent.output().unwrap())
    };
    let root = scene.0.beside("work");
    for shell in ["bash", "sh"] {
        for name in odd {
            let quoted = format!("'{}'", name.replace('\'', "'\\''"));
            let told = run(&hooked(&root, &format!("cd {quoted}; echo out; exit 3")), shell);
            let expected = format!("out\n\n[3]{}\n", root.join(name).display());
            assert_eq!(told.stdout, expected, "{told:?}");
        }
        // One that stays where it is, fails, or leaves the project.
        for (line, status) in [("true", 0), ("false", 1), ("cd /tmp", 0), ("cd src && cd ../..", 0)]
        {
            let told = run(&hooked(&root, line), shell);
            assert_eq!(
                told.stdout,
                format!("\n[{status}]{}\n", root.display()),
                "{line}: {told:?}"
            );
        }
        // Both streams of a line that is refused when it runs are the agent's.
        let told = run(&hooked(&root, "echo a; echo b >&2"), shell);
        assert!(told.stdout.starts_with("a\n") && told.stderr.starts_with("b\n"), "{told:?}");
    }
    assert!(!scene.0.path("pwned").exists());
    // The agent asks for its own session, outside of any sandbox.
    let told = run(&hooked(&root, "stockade ps"), "bash");
    assert!(told.stdout.contains("session 0c1f-agent"), "{told:?}");
}

#[test]
fn standard_input_is_left_to_whoever_reads_it_next() {
    let scene = Scene::new();
    let mark = marker();
    let line = format!("sleep {mark} & head -c 2");
    let args = ["shell", "--mode", "auto", "--session", "work", &line];
    // A shell whose second command reads what the first has left.
    let (read, mut write) = std::io::pipe().unwrap();
    let mut child = scene.0.command(&args).stdin(read.try_clone().unwrap()).spawn().unwrap();
    std::io::Write::write_all(&mut write, b"ab").unwrap();
    let mut out = [0; 2];
    child.stdout.take().unwrap().read_exact(&mut out).unwrap();
    assert_eq!(&out, b"ab");
    assert!(child.wait().unwrap().success());
    std::io::Write::write_all(&mut write, b"rest").unwrap();
    drop(write);
    let mut rest = String::new();
    let mut read = read;
    read.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "rest");
}

#[test]
fn a_person_enters_the_sandbox_and_what_they_leave_running_stays() {
    let scene = Scene::new();
    let mark = marker();
    let typed = format!("echo $STOCKADE_SESSION; cd src; sleep {mark} & pwd; exit 4\n");
    let mut command = scene.0.command(&["enter"]);
    command.env("SHELL", "/bin/bash").stdin(Stdio::piped());
    let mut shell = command.spawn().unwrap();
    std::io::Write::write_all(&mut shell.stdin.take().unwrap(), typed.as_bytes()).unwrap();
    let told = Told::from(shell.wait_with_output().unwrap());
    let src = scene.0.path("src");
    assert_eq!((told.code, told.stdout), (4, format!("enter\n{}\n", src.display())));
    assert!(eventually(|| marked(&mark) == 1));
    // A program of one's own, in another session; rules that deny hold.
    let told =
        scene.0.stockade(&["enter", "--session", "other", "--", "sh", "-c", "ls -A /tmp; exit 5"]);
    assert_eq!(told.code, 5, "{told:?}");
    assert_eq!(scene.0.stockade(&["enter", "--", "sudo", "id"]).code, 126);
    assert_eq!(scene.0.stockade(&["kill", "enter"]).stdout, "session enter ended, with 1 call\n");
    assert_eq!(marked(&mark), 0);
}

#[test]
fn a_directory_that_a_process_of_the_line_replaces_is_not_entered_by_the_agent() {
    let scene = Scene::new();
    let (root, outside) = (scene.0.beside("work"), scene.0.beside("outside"));
    fs::create_dir(&outside).unwrap();
    let event = json!({
        "session_id": "s", "cwd": root, "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": {"command": "cd src/deep"}, "tool_use_id": "toolu_01",
    });
    let args = ["hook", "pre", "--mode", "auto", "--root", root.to_str().unwrap()];
    let answer = scene.0.fed(&args, event.to_string().as_bytes()).json();
    let line = answer["hookSpecificOutput"]["updatedInput"]["command"].as_str().unwrap();
    // What a process of the line can do at the moment between its report and the shell.
    let (report, swap) = ("stockade_status=$?;", "rmdir src/deep; ln -s \"$OUTSIDE\" src/deep;");
    assert!(line.contains(report), "{line}");
    let swapped = line.replacen(report, &format!("{report} {swap}"), 1);
    for shell in ["bash", "dash", "zsh"] {
        let run = |line: &str| {
            let line = format!("{line}\nreadlink /proc/self/cwd");
            let mut agent = std::process::Command::new(shell);
            for (name, value) in scene.0.command(&[]).get_envs() {
                agent.env(name, value.unwrap());
            }
            agent.args(["-c", &line]).env("OUTSIDE", &outside).current_dir(&root);
            agent.stdin(Stdio::null()).output().map(Told::from)
        };
        let Ok(told) = run(line) else {
            support::skip(shell, "this shell is not installed");
            continue;
        };
        assert_eq!(told.stdout, format!("{}\n", root.join("src/deep").display()), "{told:?}");
        let told = run(&swapped).unwrap();
        assert_eq!(told.stdout, format!("{}\n", root.display()), "{told:?}");
        fs::remove_file(root.join("src/deep")).unwrap();
        fs::create_dir(root.join("src/deep")).unwrap();
    }
}

#[test]
fn the_host_keeps_no_pipe_of_the_command_that_has_started_it() {
    let scene = Scene::new();
    let call = json!({"tool": "Bash", "input": {"command": "true"}, "session": "work"});
    let mut command = scene.0.command(&[]);
    let program = command.get_program().to_owned();
    let mut shell = std::process::Command::new("bash");
    for (name, value) in command.get_envs() {
        shell.env(name, value.unwrap());
    }
    let _unused = command.stdin(Stdio::null());
    let line = "x=$(\"$0\" call --mode auto 9>&1 <<<\"$1\"); echo \"$x\"";
    shell.args(["-c", line]).arg(program).arg(call.to_string());
    let begun = Instant::now();
    let told = Told::from(shell.current_dir(scene.0.beside("work")).output().unwrap());
    assert_eq!(told.json()["exit_code"], 0, "{told:?}");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    if scene.host().is_none() {
        unseen();
    }
}

#[test]
fn a_caller_that_ignores_the_end_of_its_children_learns_the_status() {
    let scene = Scene::new();
    let ignoring = |args: &[&str], input: &[u8]| {
        let mut command = scene.0.command(args);
        let program = command.get_program().to_owned();
        let mut python = std::process::Command::new("python3");
        for (name, value) in command.get_envs() {
            python.env(name, value.unwrap());
        }
        let _unused = command.stdin(Stdio::null());
        let code = "import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])";
        python.args(["-c", code]).arg(program).args(args).current_dir(scene.0.beside("work"));
        python.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = python.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input).unwrap();
        Told::from(child.wait_with_output().unwrap())
    };
    let told = ignoring(&["shell", "--mode", "auto", "--session", "work", "exit 3"], b"");
    assert_eq!(told.code, 3, "{told:?}");
    let event = json!({
        "hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": scene.0.beside("work"),
        "tool_input": {"command": "ls"}, "tool_use_id": "toolu_01",
    });
    let told = ignoring(&["hook", "pre", "--mode", "auto"], event.to_string().as_bytes());
    assert_eq!(told.code, 0, "{told:?}");
    assert_eq!(told.json()["hookSpecificOutput"]["permissionDecision"], "allow", "{told:?}");
}

#[test]
fn a_call_that_leaves_much_running_is_told_in_short_and_can_be_listed_and_ended() {
    let scene = Scene::new();
    // 40 processes with long names, each of which listens on 600 ports.
    let mark = marker();
    let serve = |port: &str| {
        format!(
            "rm -rf /tmp/up; mkdir /tmp/up; python3 -c 'import os, socket, time
s = [socket.socket() for _ in range(600)]
for n, one in enumerate(s): one.bind((\"127.0.0.1\", {port})); one.listen()
for n in range(39):
    if os.fork() == 0: break
open(\"/tmp/up/\" + str(os.getpid()), \"w\").close(); time.sleep(600)' {mark} \"$(printf '%0150d' 0)\" & \
         while [ $(ls /tmp/up | wc -l) -lt 40 ]; do sleep 0.1; done"
        )
    };
    for _ in 0..2 {
        scene.said(&serve("0"));
    }
    let told = scene.shell(&serve("9000 + n"));
    assert_eq!(told.code, 0, "{told:?}");
    let note = told.stderr.lines().find(|line| line.contains("left running")).unwrap();
    assert!(note.len() < 1200 && note.contains(" more; output: "), "{note}");
    assert_eq!(note.matches(":9000").count(), 1, "{note}");
    let sessions = scene.ps();
    assert_eq!(sessions.len(), 1);
    let calls = sessions[0]["calls"].as_array().unwrap();
    assert_eq!(calls.len(), 3);
    for call in calls {
        let left = call["left_running"].as_array().unwrap();
        assert_eq!(left.len(), 32, "{call}");
        assert_eq!(left[0]["ports"].as_array().unwrap().len(), 16, "{call}");
    }
    assert_eq!(scene.0.stockade(&["kill", "9000"]).stdout, "1 call ended\n");
    // More calls than are in one piece of a list.
    for _ in 0..8 {
        scene.said(&format!("sleep {mark} & :"));
    }
    assert_eq!(scene.ps()[0]["calls"].as_array().unwrap().len(), 10);
    let told = scene.0.stockade(&["kill", "work"]);
    assert_eq!(told.stdout, "session work ended, with 10 calls\n");
    assert_eq!(marked(&mark), 0);
}

#[test]
fn names_of_a_project_cannot_forge_a_line_of_the_list() {
    let scene = Scene::new();
    let odd = "x\nsession forged  ~  1s, 1 call\u{1b}[2K";
    fs::create_dir(scene.0.path(odd)).unwrap();
    let told = scene.shell("sh -c 'sleep 600; :' 'a\nsession forged' & cd x*");
    assert_eq!(told.code, 0, "{told:?}");
    assert_eq!(told.stderr.lines().count(), 1, "{told:?}");
    let listed = scene.0.stockade(&["ps"]).stdout;
    assert!(listed.contains(r"in x\u{a}session forged"), "{listed}");
    assert_eq!(listed.lines().filter(|line| line.starts_with("session ")).count(), 1, "{listed}");
    assert!(!listed.contains('\u{1b}'), "{listed}");
}

#[test]
fn a_working_directory_that_is_gone_or_replaced_is_told_by_the_next_command() {
    let scene = Scene::new();
    let (src, root) = (scene.0.path("src"), scene.0.beside("work"));
    for replace in [false, true] {
        scene.said("cd src");
        fs::rename(&src, root.join("moved")).unwrap();
        if replace {
            fs::create_dir(&src).unwrap();
        }
        let told = scene.shell("pwd");
        assert_eq!(told.stdout, format!("{}\n", root.display()), "{told:?}");
        let is_told = told.stderr.contains(message!("src\" {}" => "stockade.folder-gone"));
        assert!(is_told, "{told:?}");
        // It is told once: the line has ended in the root.
        let told = scene.shell("pwd");
        assert_eq!((told.code, told.stderr.as_str()), (0, ""), "{told:?}");
        if replace {
            fs::remove_dir(&src).unwrap();
        }
        fs::rename(root.join("moved"), &src).unwrap();
    }
    scene.said("cd src");
    assert_eq!(scene.said("pwd"), format!("{}\n", src.display()));
}

#[test]
fn the_host_may_open_as_many_files_as_it_can() {
    let scene = Scene::new();
    let mut command = scene.0.command(&[]);
    let program = command.get_program().to_owned();
    let mut shell = std::process::Command::new("bash");
    for (name, value) in command.get_envs() {
        shell.env(name, value.unwrap());
    }
    let _unused = command.stdin(Stdio::null());
    let line = "ulimit -Sn 256; ulimit -Hn 4000; exec \"$0\" shell --session work true";
    shell.args(["-c", line]).arg(program).stdin(Stdio::null());
    let told = Told::from(shell.current_dir(scene.0.beside("work")).output().unwrap());
    assert_eq!(told.code, 0, "{told:?}");
    let Some(host) = scene.host() else { return unseen() };
    let pid = host.as_raw_nonzero();
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let numbers: Vec<&str> = files.split_whitespace().skip(3).take(2).collect();
    assert_eq!(numbers, ["4000", "4000"], "{files}");
}

#[test]
fn a_command_that_cannot_see_the_process_of_the_host_still_knows_whose_it_is() {
    let scene = Scene::new();
    scene.said("true");
    let mut command = scene.0.command(&["ps"]);
    let program = command.get_program().to_owned();
    let mut unshare = std::process::Command::new("unshare");
    for (name, value) in command.get_envs() {
        unshare.env(name, value.unwrap());
    }
    let _unused = command.stdin(Stdio::null());
    unshare.args(["-U", "-r", "-p", "-f"]).arg(program).arg("ps").stdin(Stdio::null());
    let told = Told::from(unshare.output().unwrap());
    if told.stderr.contains("unshare failed") {
        return support::skip("userns", "no pid namespace of one's own");
    }
    if names_peers_of_other_pid_namespaces() {
        assert!(told.stdout.starts_with("session work "), "{told:?}");
    } else {
        let why = message!("place.process-not-looked-at", "No such process (os error 3)");
        assert!(told.code == 125 && told.stderr.contains(why), "{told:?}");
    }
}

/// Whether the kernel names a process at a socket that has no number here: since Linux 6.5.
fn names_peers_of_other_pid_namespaces() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(['.', '-']).map(|number| number.trim().parse::<u32>());
    let (major, minor) = (numbers.next().unwrap().unwrap(), numbers.next().unwrap().unwrap());
    (major, minor) >= (6, 5)
}

#[test]
fn a_path_that_is_too_long_for_a_socket_is_told_with_a_hint() {
    let scene = Scene::new();
    let long = scene.0.beside(&"l".repeat(120));
    fs::create_dir(&long).unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(&long, private).unwrap();
    let mut command = scene.0.command(&["shell", "--session", "work", "true"]);
    let told = Told::from(command.env("XDG_RUNTIME_DIR", &long).output().unwrap());
    assert!(
        told.code == 125 && told.stderr.contains(message!("place.hint-set-xdg-runtime")),
        "{told:?}"
    );
}
