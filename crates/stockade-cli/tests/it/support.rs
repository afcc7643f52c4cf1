//! A project, and the binary under test in it.

#[path = "../../../stockade/tests/shared/eventually.rs"]
mod eventually;
#[path = "../../../stockade/tests/shared/program.rs"]
mod program;
#[path = "../../../stockade/tests/shared/runtime.rs"]
mod runtime;
#[path = "../../../stockade/tests/shared/script.rs"]
mod script;
#[path = "../../../stockade/tests/shared/skip.rs"]
mod skip;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

pub(crate) use self::eventually::eventually;
pub(crate) use self::program::copy_program;
pub(crate) use self::script::write_script;
pub(crate) use self::skip::skip;

/// A folder with a project root, a home and a place for state; nothing of the machine's own.
pub(crate) struct Project {
    folder: tempfile::TempDir,
    /// Where its scratch folders and sockets are.
    runtime: tempfile::TempDir,
}

impl Project {
    pub(crate) fn new() -> Self {
        Self::of_user(rustix::process::geteuid().as_raw())
    }

    /// The same with a runtime folder for this user.
    pub(crate) fn of_user(user: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["work", "home", "state", "config", "tmp"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let private = fs::Permissions::from_mode(0o700);
        fs::set_permissions(folder.path().join("tmp"), private).unwrap();
        Self { folder, runtime: runtime::runtime_folder(user) }
    }

    /// The runtime folder of the user.
    pub(crate) fn runtime(&self) -> &Path {
        self.runtime.path()
    }

    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.beside("work").join(name)
    }

    /// The journal that is used where none is named.
    pub(crate) fn journal(&self) -> PathBuf {
        self.beside("state/stockade/journal.jsonl")
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn script(&self, name: &str, text: &str) {
        write_script(self.path(name), text);
    }

    /// `stockade` with these arguments, ready to start.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stockade"));
        command
            .args(args)
            .current_dir(self.beside("work"))
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.beside("home"))
            .env("XDG_STATE_HOME", self.beside("state"))
            .env("XDG_CONFIG_HOME", self.beside("config"))
            .env("TMPDIR", self.beside("tmp"))
            .env("XDG_RUNTIME_DIR", self.runtime())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn stockade(&self, args: &[&str]) -> Told {
        Told::from(self.command(args).output().unwrap())
    }

    /// The same with something on standard input.
    pub(crate) fn fed(&self, args: &[&str], input: &[u8]) -> Told {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        std::thread::scope(|scope| {
            // It may close its end early, which is its right.
            scope.spawn(move || pipe.write_all(input).ok());
            Told::from(child.wait_with_output().unwrap())
        })
    }

    /// The scratch folders that are left.
    pub(crate) fn scratch_folders(&self) -> Vec<String> {
        let bases = fs::read_dir(self.runtime()).unwrap().flatten();
        let is_base = |name: &str| name.starts_with("stockade-");
        let bases = bases.filter(|base| base.file_name().to_str().is_some_and(is_base));
        let inside = bases.filter_map(|base| fs::read_dir(base.path()).ok()).flatten().flatten();
        inside.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }
}

/// What the shell got.
#[derive(Debug)]
pub(crate) struct Told {
    /// The exit status, 128 and the signal if there was one.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Told {
    fn from(output: Output) -> Self {
        let signal = output.status.signal().unwrap_or_default();
        let told = Self {
            code: output.status.code().unwrap_or(128 + signal),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        };
        assert!(!told.stderr.contains("panicked"), "{}", told.stderr);
        told
    }
}

impl Told {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "one object a line: {self:?}");
        serde_json::from_str(&self.stdout).unwrap()
    }

    pub(crate) fn lines(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// A call of `Exec` as one line of JSON.
pub(crate) fn call(argv: &[&str]) -> String {
    format!("{}\n", serde_json::json!({"tool": "Exec", "input": {"argv": argv}}))
}

/// An argument for `sleep` that no other process on the machine has, and that lasts ten minutes.
pub(crate) fn marker() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    format!("600.{}{:03}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// How many processes other than `stockade` itself have this as an argument.
pub(crate) fn marked(marker: &str) -> usize {
    let is_marked = |cmdline: &[u8]| {
        let mut words = cmdline.split(|byte| *byte == 0);
        let is_ours = words.next().is_some_and(|program| program.ends_with(b"/stockade"));
        !is_ours && words.any(|word| word == marker.as_bytes())
    };
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let cmdlines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    cmdlines.filter(|cmdline| is_marked(cmdline)).count()
}
