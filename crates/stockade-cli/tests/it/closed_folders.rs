//! Secrets in a folder that an earlier call has closed, for an ordinary user: root can look into any.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::Project;

/// A project of an ordinary user, with a copy of `stockade` that this user can run.
struct Scene {
    project: Project,
}

impl Scene {
    fn new() -> Self {
        let project = Project::new();
        crate::support::copy_program(env!("CARGO_BIN_EXE_stockade"), project.beside("stockade"));
        let scene = Self { project };
        scene.give(&scene.project.beside(""));
        scene
    }

    /// Root gives it to a user who owns nothing else.
    fn give(&self, path: &Path) {
        if rustix::process::geteuid().is_root() {
            let owner = Command::new("chown").args(["-R", "65534:65534"]).arg(path).status();
            assert!(owner.unwrap().success());
        }
        let _ = self;
    }

    /// A command of that user.
    fn command(&self, program: &Path) -> Command {
        let words = ["--reuid=65534", "--regid=65534", "--clear-groups"];
        let mut command = Command::new("setpriv");
        if rustix::process::geteuid().is_root() {
            command.args(words).arg(program);
        } else {
            command = Command::new(program);
        }
        let usual = self.project.command(&[]);
        let variables = usual.get_envs().filter_map(|(name, value)| Some((name, value?)));
        command
            .env_clear()
            .envs(variables)
            .current_dir(self.project.path("."))
            .stdin(Stdio::null());
        command
    }

    /// Runs a script in a sandbox and gives the report. The call itself names no secret.
    fn run(&self, script: &str) -> serde_json::Value {
        self.project.script("script.sh", script);
        let mut command = self.command(&self.project.beside("stockade"));
        let output = command.args(["run", "--json", "--", "sh", "script.sh"]).output().unwrap();
        let report = serde_json::from_slice(&output.stdout);
        assert!(report.is_ok(), "{}", String::from_utf8_lossy(&output.stderr));
        report.unwrap()
    }
}

/// A command that does not outlive its test.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// How a folder is closed: to everything, to those who list it, and to those who enter it.
const WAYS: [&str; 3] = ["0", "311", "444"];

#[test]
fn a_secret_in_a_folder_that_a_call_has_closed_is_not_read_by_the_next() {
    for way in WAYS {
        let scene = Scene::new();
        let close =
            format!("mkdir -p a/d; echo secret > a/d/.env; echo x > a/d/x; chmod {way} a/d\n");
        let report = scene.run(&close);
        assert_eq!(report["ok"], true, "{report}");
        let open = "chmod 755 a/d; cat a/d/.env; mv a/d a/e; cat a/e/.env; echo end\n";
        let report = scene.run(open);
        assert_eq!(report["stdout"], "end\n", "{way}: {report}");
        // Control: without a sandbox the folder is opened and the secret read.
        let control = scene.command(Path::new("sh")).arg("script.sh").output().unwrap();
        assert!(String::from_utf8_lossy(&control.stdout).contains("secret"), "{way}: {control:?}");
        // A folder that is open again is shown, without the secret.
        let report = scene.run("cat a/e/x a/e/.env; echo end\n");
        assert_eq!(report["stdout"], "x\nend\n", "{way}: {report}");
    }
}

/// Another sandbox closes and opens the folder while the next one is made.
#[test]
fn a_folder_that_another_sandbox_opens_and_closes_gives_nothing_away() {
    let scene = Scene::new();
    let flip = "mkdir -p d; echo secret > d/.env; touch ready
        while ! test -e done; do chmod 0 d; chmod 755 d; chmod 444 d; chmod 755 d; done\n";
    scene.project.script("flip.sh", flip);
    let mut command = scene.command(&scene.project.beside("stockade"));
    let flipping = command.args(["run", "--quiet", "--", "sh", "flip.sh"]).spawn().unwrap();
    let mut flipping = Started(flipping);
    let started = Instant::now();
    while !scene.project.path("ready").exists() && started.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let attack = "for i in 1 2 3 4 5 6 7 8; do chmod 755 d; cat d/.env; done; echo end\n";
    let mut ended = 0;
    for _ in 0..20 {
        let report = scene.run(attack);
        let said = report["stdout"].as_str().unwrap_or_default();
        assert!(!said.contains("secret"), "{report}");
        // Where the folder was closed at a bad moment, nothing has run.
        assert!(said == "end\n" || report["failure"].is_object(), "{report}");
        ended += u32::from(said == "end\n");
    }
    fs::write(scene.project.path("done"), "").unwrap();
    flipping.0.wait().unwrap();
    fs::set_permissions(scene.project.path("d"), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(ended > 0, "no call ran");
    assert_eq!(fs::read_to_string(scene.project.path("d/.env")).unwrap(), "secret\n");
}
