//! A project to run things in, and eyes for what is left of them.

#[path = "../shared/eventually.rs"]
mod eventually;
#[path = "../shared/program.rs"]
mod program;
#[path = "../shared/runtime.rs"]
mod runtime;
#[path = "../shared/script.rs"]
mod script;
#[path = "../shared/skip.rs"]
mod skip;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::Value;
use stockade::tier::Tier;
use stockade::{Builder, Policy, Stockade, ToolCall};

pub(crate) use self::eventually::eventually;
pub(crate) use self::program::copy_program;
pub(crate) use self::script::write_script;
pub(crate) use self::skip::skip;

/// A folder with a project root and a path for a journal beside it.
pub(crate) struct Project {
    folder: tempfile::TempDir,
    /// Where its scratch folders are.
    runtime: tempfile::TempDir,
}

impl Project {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["work", "tmp"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let private = fs::Permissions::from_mode(0o700);
        fs::set_permissions(folder.path().join("tmp"), private).unwrap();
        let runtime = runtime::runtime_folder(rustix::process::geteuid().as_raw());
        Self { folder, runtime }
    }

    /// Beside the root: nothing of the project.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The runtime folder of helpers.
    pub(crate) fn runtime(&self) -> &Path {
        self.runtime.path()
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.beside("work")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.beside("journal.jsonl")
    }

    /// Writes an executable file into the root.
    pub(crate) fn script(&self, name: &str, text: &str) {
        write_script(self.path(name), text);
    }

    pub(crate) fn open(&self, policy: Policy) -> Stockade {
        self.builder(policy).open().unwrap()
    }

    /// The same, before it is open.
    pub(crate) fn builder(&self, policy: Policy) -> Builder {
        Stockade::builder(&self.root(), policy).journal(&self.journal())
    }

    /// Runs one call, and gives its report as the JSON that a caller gets.
    pub(crate) fn run_with(&self, policy: Policy, call: ToolCall) -> Value {
        json(&self.open(policy).run(call))
    }

    pub(crate) fn run(&self, argv: &[&str]) -> Value {
        self.run_with(unboxed(), exec(argv))
    }

    /// Runs a shell script with these arguments under this policy.
    pub(crate) fn sh(&self, policy: Policy, script: &str, args: &[&str]) -> Value {
        self.script("script.sh", script);
        self.run_with(policy, exec(&[&["sh", "script.sh"], args].concat()))
    }

    /// The same for Python.
    pub(crate) fn python(&self, policy: Policy, script: &str, args: &[&str]) -> Value {
        self.script("script.py", script);
        self.run_with(policy, exec(&[&["python3", "script.py"], args].concat()))
    }
}

pub(crate) fn exec(argv: &[&str]) -> ToolCall {
    ToolCall::exec(argv.iter().copied())
}

pub(crate) fn json(report: &stockade::Report) -> Value {
    serde_json::to_value(report).unwrap()
}

/// The shipped policy in the process tier, which runs on every machine.
pub(crate) fn unboxed() -> Policy {
    Policy { tier: Tier::Process, ..Policy::shipped() }
}

/// The same with changes.
pub(crate) fn policy(change: impl FnOnce(&mut Policy)) -> Policy {
    let mut policy = unboxed();
    change(&mut policy);
    policy
}

/// The same with this deadline.
pub(crate) fn within(wall: Duration) -> Policy {
    policy(|policy| policy.limits.wall = wall)
}

pub(crate) fn text<'a>(report: &'a Value, field: &str) -> &'a str {
    report[field].as_str().unwrap_or_default()
}

/// The line of `enforcement` for one guarantee.
pub(crate) fn kept<'a>(report: &'a Value, guarantee: &str) -> &'a str {
    let lines = report["enforcement"].as_array().unwrap();
    let line = lines.iter().find(|line| line["guarantee"] == guarantee).unwrap();
    line["kept"].as_str().unwrap()
}

/// An argument for `sleep` that no other process on the machine has, and that lasts ten minutes.
pub(crate) fn marker() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    format!("600.{}{:03}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The processes that have this as an argument.
pub(crate) fn marked(marker: &str) -> Vec<i32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let cmdline = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if cmdline.split(|byte| *byte == 0).any(|word| word == marker.as_bytes()) {
            found.push(pid);
        }
    }
    found
}

/// The names in a folder.
pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether there is such a program; a test that needs it says that it was skipped otherwise.
pub(crate) fn has(program: &str) -> bool {
    let there = ["/usr/local/bin", "/usr/bin", "/bin"]
        .iter()
        .any(|folder| Path::new(folder).join(program).exists());
    if !there {
        skip(program, &format!("there is no {program} here"));
    }
    there
}

/// Says on the terminal what a test measured.
#[expect(clippy::print_stderr, reason = "what was skipped or measured is told")]
pub(crate) fn tell(what: &str) {
    eprintln!("{what}");
}
