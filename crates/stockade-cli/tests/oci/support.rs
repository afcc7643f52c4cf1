//! A project, an image made of a few programs of this machine, and eyes for what is left.

#[path = "../../../stockade/tests/shared/eventually.rs"]
mod eventually;
#[path = "../../../stockade/tests/shared/program.rs"]
mod program;
#[path = "../../../stockade/tests/shared/runtime.rs"]
mod runtime;
#[path = "../../../stockade/tests/shared/skip.rs"]
mod skip;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::Value;

pub(crate) use self::eventually::eventually;
pub(crate) use self::program::copy_program;
pub(crate) use self::skip::skip;

/// What the image is called.
pub(crate) const IMAGE: &str = "localhost/stockade-test";
/// Who owns the projects of root's tests: the user of a box is never root.
pub(crate) const OWNER: u32 = 4321;
/// The programs in the image.
const PROGRAMS: [&str; 15] = [
    "bash", "sh", "cat", "sleep", "id", "env", "touch", "head", "mv", "true", "yes", "mkdir", "rm",
    "echo", "grep",
];

/// The two tiers, each with what it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tier {
    Container,
    Gvisor,
}

impl Tier {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Container => "container",
            Self::Gvisor => "gvisor",
        }
    }

    fn program(self) -> &'static str {
        match self {
            Self::Container => "podman",
            Self::Gvisor => "runsc",
        }
    }
}

/// A folder with a project root, and a policy for one of the tiers.
pub(crate) struct Project {
    folder: tempfile::TempDir,
    /// Where its scratch folders are.
    runtime: tempfile::TempDir,
    tier: Tier,
}

impl Project {
    /// A project for this tier, if this machine has it.
    pub(crate) fn new(tier: Tier) -> Option<Self> {
        if !is_there(tier) {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        for name in ["work", "tmp"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let private = fs::Permissions::from_mode(0o700);
        fs::set_permissions(folder.path().join("tmp"), private).unwrap();
        let runtime = runtime::runtime_folder(rustix::process::geteuid().as_raw());
        let project = Self { folder, runtime, tier };
        project.own(&project.root());
        project.policy("");
        Some(project)
    }

    pub(crate) fn tier(&self) -> Tier {
        self.tier
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.beside("work")
    }

    pub(crate) fn runtime(&self) -> &Path {
        self.runtime.path()
    }

    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes the policy: the tier, the image, and more keys of `[box]`.
    pub(crate) fn policy(&self, more: &str) {
        let tier = self.tier.name();
        let runtime = match runtime() {
            Some(name) if self.tier == Tier::Container && !more.contains("runtime") => {
                format!("runtime = \"{name}\"\n")
            }
            _ => String::new(),
        };
        let text = format!("[box]\ntier = \"{tier}\"\nimage = \"{IMAGE}\"\n{runtime}{more}\n");
        fs::write(self.beside("policy.toml"), text).unwrap();
    }

    /// Writes a file of the project.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        if let Some(folder) = path.parent().filter(|folder| !folder.exists()) {
            fs::create_dir_all(folder).unwrap();
            self.own(folder);
        }
        fs::write(&path, text).unwrap();
        self.own(&path);
    }

    fn own(&self, path: &Path) {
        if rustix::process::geteuid().is_root() {
            chown(path, Some(OWNER), Some(OWNER)).unwrap();
        }
        let _ = self;
    }

    /// The command line, with folders of its own for what it keeps.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = stockade();
        command.current_dir(self.root()).env("TMPDIR", self.beside("tmp"));
        command.env("XDG_RUNTIME_DIR", self.runtime.path());
        command.args(args).stdin(Stdio::null());
        command
    }

    /// The words of `run` under the policy.
    pub(crate) fn run_args<'a>(&self, options: &[&'a str], argv: &[&'a str]) -> Vec<String> {
        let (policy, journal) = (self.beside("policy.toml"), self.beside("journal"));
        let (policy, journal) = (policy.to_str().unwrap(), journal.to_str().unwrap());
        let own = ["run", "--json", "--policy", policy, "--journal", journal];
        let words = own.iter().chain(options).chain([&"--"]).chain(argv);
        words.map(|word| (*word).to_owned()).collect()
    }

    /// Runs one program under the policy, and gives its report.
    pub(crate) fn run_with(&self, options: &[&str], argv: &[&str]) -> Value {
        let words = self.run_args(options, argv);
        report(self.command(&words.iter().map(String::as_str).collect::<Vec<_>>()))
    }

    pub(crate) fn run(&self, argv: &[&str]) -> Value {
        self.run_with(&[], argv)
    }

    /// Runs a script of the shell.
    pub(crate) fn sh(&self, options: &[&str], script: &str) -> Value {
        self.write("script.sh", script);
        self.run_with(options, &["sh", "script.sh"])
    }

    /// Starts one program under the policy, and lets it run.
    pub(crate) fn spawn(&self, argv: &[&str]) -> std::process::Child {
        let words = self.run_args(&[], argv);
        let mut command = self.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Nothing of this project is left: no container, no process, no folder.
    #[track_caller]
    pub(crate) fn nothing_is_left(&self, marker: &str) {
        let gone = eventually(Duration::from_secs(60), || marked(marker).is_empty());
        assert!(gone, "{:?} are left", marked(marker));
        assert_eq!(self.containers(), BTreeSet::new());
        let base = fs::read_dir(self.runtime.path()).unwrap().flatten();
        let folders = base.filter_map(|base| fs::read_dir(base.path()).ok()).flatten().flatten();
        let names: Vec<_> = folders.map(|entry| entry.file_name()).collect();
        let runs: Vec<_> =
            names.iter().filter(|name| name.to_string_lossy().starts_with("run-")).collect();
        assert!(runs.is_empty(), "{runs:?} are left");
    }

    /// The same of a project whose supervisor was killed: its folder goes with its own next start.
    #[track_caller]
    pub(crate) fn nothing_is_left_but_scratch(&self, marker: &str) {
        assert!(eventually(Duration::from_secs(60), || marked(marker).is_empty()));
        assert_eq!(self.containers(), BTreeSet::new());
    }

    /// The containers that show this project.
    pub(crate) fn containers(&self) -> BTreeSet<String> {
        if self.tier != Tier::Container {
            return BTreeSet::new();
        }
        containers_that_show(&self.root())
    }
}

/// The containers of ours that show a path.
pub(crate) fn containers_that_show(path: &Path) -> BTreeSet<String> {
    let shows = |id: &&str| {
        let seen = podman(&["container", "inspect", id]);
        String::from_utf8_lossy(&seen.stdout).contains(path.to_str().unwrap())
    };
    let all = podman(&["ps", "--all", "--quiet", "--filter", "label=stockade.supervisor"]);
    let all = String::from_utf8(all.stdout).unwrap();
    all.lines().filter(shows).map(str::to_owned).collect()
}

pub(crate) fn stockade() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stockade"));
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("oci");
    for name in ["XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"] {
        command.env(name, kept.join(name));
    }
    command
}

pub(crate) fn podman(args: &[&str]) -> Output {
    Command::new("podman").args(args).output().unwrap()
}

#[track_caller]
pub(crate) fn report(mut command: Command) -> Value {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let parsed = serde_json::from_str(&text);
    assert!(parsed.is_ok(), "{text:?} {:?}", String::from_utf8_lossy(&output.stderr));
    parsed.unwrap()
}

pub(crate) fn text<'a>(report: &'a Value, field: &str) -> &'a str {
    report[field].as_str().unwrap_or_default()
}

/// How well a guarantee was kept.
pub(crate) fn kept<'a>(report: &'a Value, guarantee: &str) -> &'a str {
    let lines = report["enforcement"].as_array().unwrap();
    let line = lines.iter().find(|line| line["guarantee"] == guarantee);
    line.map_or("(none)", |line| text(line, "kept"))
}

/// Whether this machine has the tier; the image is made on the way.
pub(crate) fn is_there(tier: Tier) -> bool {
    static IMPORTED: OnceLock<()> = OnceLock::new();
    let program = tier.program();
    let without = std::env::var("STOCKADE_WITHOUT").unwrap_or_default();
    if without.split(',').any(|name| name == tier.name()) {
        skip("(none)", &format!("STOCKADE_WITHOUT says that there is no {}", tier.name()));
        return false;
    }
    let found = Command::new(program).arg("--version").output();
    if !found.is_ok_and(|output| output.status.success()) {
        skip(program, &format!("{program} is not installed"));
        return false;
    }
    IMPORTED.get_or_init(import);
    true
}

/// The runtime that Podman has to be told, where its own choice cannot start a container: `crun` on a
/// machine with cgroups of both versions. None where its own choice works.
pub(crate) fn runtime() -> Option<&'static str> {
    static RUNTIME: OnceLock<Option<&str>> = OnceLock::new();
    let starts = |globals: &[&str]| {
        let limits = ["--memory=64m", "--ulimit=nofile=256:256", "--ulimit=nproc=256:256"];
        let run = ["run", "--rm", "--network=none", "--pull=never"];
        podman(&[globals, &run, &limits, &[IMAGE, "true"]].concat()).status.success()
    };
    let other = || ["runc", "crun"].into_iter().find(|name| starts(&["--runtime", name]));
    let chosen = || if starts(&[]) { None } else { other() };
    *RUNTIME.get_or_init(chosen)
}

/// Makes the image of a few programs of this machine, with the libraries that they need.
fn import() {
    let root = tempfile::tempdir().unwrap();
    for program in PROGRAMS {
        let path = found(program);
        let to = root.path().join("bin").join(program);
        copy(&path, &to);
        let listed = Command::new("ldd").arg(&path).output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        for library in listed.split_whitespace().filter(|word| word.starts_with('/')) {
            copy(Path::new(library), &root.path().join(library.trim_start_matches('/')));
        }
    }
    let args = ["image", "import", root.path().to_str().unwrap(), IMAGE];
    let output = stockade().args(args).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn found(program: &str) -> PathBuf {
    let folders = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(program));
    folders.into_iter().find(|path| path.exists()).unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    if !to.exists() {
        fs::copy(from, to).unwrap();
    }
}

/// An argument for `sleep` that no other process on the machine has, and that lasts ten minutes.
pub(crate) fn marker() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    format!("600.{}{:03}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The processes that have this as an argument, but for `stockade` and clients of engines.
pub(crate) fn marked(marker: &str) -> Vec<u32> {
    let has = |pid: &u32| {
        let cmdline = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let mut words = cmdline.split(|byte| *byte == 0);
        words.next().is_some_and(|program| program.ends_with(b"sleep"))
            && words.any(|word| word == marker.as_bytes())
    };
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(has).collect()
}

/// The processes with all these in their command line.
pub(crate) fn processes_with(words: &[&str]) -> Vec<u32> {
    let has = |pid: &u32| {
        let cmdline = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&cmdline).replace('\0', " ");
        words.iter().all(|word| line.contains(word))
    };
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| *pid != std::process::id()).filter(has).collect()
}

/// Kills a process, which may have gone with another one.
pub(crate) fn kill(pid: u32) {
    let line = "kill -9 $0 2>/dev/null || true";
    assert!(Command::new("sh").args(["-c", line, &pid.to_string()]).status().unwrap().success());
}
