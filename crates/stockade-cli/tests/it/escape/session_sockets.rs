//! Talking to the process that keeps a person's sessions, or being taken for it. The sandbox was started with
//! another `XDG_RUNTIME_DIR`, so that its project shows the socket.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::poorer::{Caller, Poorer};
use crate::support::{Told, eventually};

/// Ends the session of a person.
const END: &str = r#"
import json, socket, sys
line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
line.connect("run/stockade/host.socket")
print("connected", flush=True)
try:
    kill = {"kill": {"what": "work", "session": None, "root": None}}
    line.send(json.dumps({"protocol": 4, "request": kill}).encode())
    print(line.recv(9999).decode() or "closed")
except OSError as error:
    print(error.strerror)
"#;

/// Answers whoever takes it for the host, until there is a file `stop`.
const FORGE: &str = r#"
import json, os, select, socket
os.makedirs("run/stockade", 0o700, exist_ok=True)
line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
line.bind("run/stockade/host.socket"); line.listen()
open("ready", "w").close()
session = {"name": "forged", "root": "Lw==", "age_secs": 1, "idle_secs": 1, "total_calls": 1,
           "folder": None, "calls": []}
reply = {"reply": {"listed": {"session": session, "next": None}}}
while not os.path.exists("stop"):
    if not select.select([line], [], [], 0.05)[0]:
        continue
    peer, _ = line.accept()
    try:
        peer.recv(9999); peer.send(json.dumps(reply).encode())
    except OSError:
        pass
os.unlink("run/stockade/host.socket"); os.unlink("stop"); os.unlink("ready")
"#;

/// An ordinary user, whose programs in a sandbox are of the same user as the host.
struct Scene(Poorer);

impl Scene {
    fn new() -> Self {
        let scene = Self(Poorer::new(Caller::ordinary()));
        let project = &scene.0.project;
        for (name, text) in [("end.py", END), ("forge.py", FORGE)] {
            project.write(name, text);
        }
        fs::create_dir(project.path("run")).unwrap();
        fs::set_permissions(project.path("run"), fs::Permissions::from_mode(0o700)).unwrap();
        if rustix::process::geteuid().is_root() {
            chown(project.path("run"), Some(65534), Some(65534)).unwrap();
        }
        scene
    }

    /// A program of the user, outside of any sandbox.
    fn bare(&self, runtime: &Path, words: &[&str]) -> std::process::Command {
        let usual = self.0.project.command(&[]);
        let mut command = self.0.bare(words);
        command.env_clear();
        command.envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("XDG_RUNTIME_DIR", runtime).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn outside(&self, words: &[&str]) -> Told {
        Told::from(self.bare(self.0.project.runtime(), words).output().unwrap())
    }

    /// Stockade with the runtime folder in the project.
    fn in_project(&self, args: &[&str]) -> Told {
        let runtime = self.0.project.path("run");
        Told::from(self.stockade(&runtime, args).output().unwrap())
    }

    /// Stockade with its usual one.
    fn elsewhere(&self, args: &[&str]) -> Told {
        let runtime = self.0.project.runtime();
        Told::from(self.stockade(runtime, args).output().unwrap())
    }

    fn stockade(&self, runtime: &Path, args: &[&str]) -> std::process::Command {
        let program = self.0.project.beside("stockade").display().to_string();
        self.bare(runtime, &[&[program.as_str()], args].concat())
    }
}

/// A host ends with its last session.
impl Drop for Scene {
    fn drop(&mut self) {
        self.in_project(&["kill", "work"]);
        self.in_project(&["code", "--session", "one", "--end"]);
        // It ends when its socket is gone.
        fs::remove_dir_all(self.0.project.path("run")).ok();
    }
}

#[test]
fn a_sandbox_that_sees_the_socket_of_the_session_host_ends_no_session() {
    let scene = Scene::new();
    let told = scene.in_project(&["shell", "--mode=auto", "--session=work", "true"]);
    assert_eq!(told.code, 0, "{told:?}");
    let attack = ["/usr/bin/python3", "end.py"];
    // In the process tier its mounts are those of the host. Without namespaces it has no such socket at all.
    for tier in ["jail", "process"] {
        let call = ["run", "--mode=bypass", "--tier", tier, "--"];
        let told = scene.elsewhere(&[&call[..], &attack].concat());
        assert!(told.stdout.starts_with("connected\n"), "{told:?}");
        assert!(!told.stdout.contains("killed"), "{told:?}");
    }
    let listed = scene.in_project(&["ps"]);
    assert!(listed.stdout.starts_with("session work "), "{listed:?}");
    // The control: whoever is in no sandbox ends it.
    let told = scene.outside(&attack);
    assert!(told.stdout.contains("killed"), "{told:?}");
    assert!(!scene.in_project(&["ps"]).stdout.contains("session work "));
}

#[test]
fn a_socket_that_a_sandbox_makes_is_not_taken_for_the_session_host() {
    let scene = Scene::new();
    let forge = ["/usr/bin/python3", "forge.py"];
    let runtime = scene.0.project.runtime();
    let call = [&["run", "--mode=bypass", "--timeout=300s", "--"][..], &forge].concat();
    for (is_free, mut command) in
        [(true, scene.bare(runtime, &forge)), (false, scene.stockade(runtime, &call))]
    {
        let child = command.spawn().unwrap();
        let is_ready = || scene.0.project.path("ready").exists();
        assert!(eventually(Duration::from_secs(60), is_ready), "{is_free}");
        let told = scene.in_project(&["ps"]);
        let joined = scene.in_project(&["shell", "--mode=auto", "--session=work", "echo ran"]);
        scene.0.project.write("stop", "");
        let ended = Told::from(child.wait_with_output().unwrap());
        assert_eq!(ended.code, 0, "{ended:?}");
        // The control: a socket of the user that is in no sandbox is the host's.
        assert_eq!(told.stdout.contains("forged"), is_free, "{told:?}");
        assert_eq!(told.stderr.contains("other mounts"), !is_free, "{told:?}");
        assert!(joined.code == 125 && joined.stdout.is_empty(), "{joined:?}");
    }
}
