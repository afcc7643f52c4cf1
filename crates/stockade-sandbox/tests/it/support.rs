//! What the tests share: specifications, reading to the end, and looking for marked processes.

#[path = "../../../stockade/tests/shared/program.rs"]
mod program;
#[path = "../../../stockade/tests/shared/script.rs"]
mod script;

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write, stderr};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use stockade_sandbox::{Ended, Rlimits, Running, Spec, Stdin, signal_scope};

pub(crate) use self::program::copy_program;
pub(crate) use self::script::write_script;

/// Whether a run gets the Landlock scope. Every promise about trees is tested with and without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Closed,
    Open,
}

impl Scope {
    pub(crate) const BOTH: [Self; 2] = [Self::Closed, Self::Open];

    pub(crate) fn apply(self, spec: Spec) -> Spec {
        match self {
            Self::Closed => spec,
            Self::Open => Spec { signal_scope: None, ..spec },
        }
    }
}

/// A specification for a program and its arguments, in `/`, with a plain environment.
pub(crate) fn spec(program: &str, args: &[&str]) -> Spec {
    let words = std::iter::once(program).chain(args.iter().copied());
    Spec {
        program: opened(program),
        script: None,
        argv: words.map(text).collect(),
        env: vec![text("PATH=/usr/bin:/bin")],
        cwd: opened("/"),
        stdin: Stdin::Empty,
        merges_output: false,
        rlimits: Rlimits::default(),
        processes_max: None,
        signal_scope: signal_scope().unwrap(),
    }
}

/// A specification for a line of shell.
pub(crate) fn shell(line: &str) -> Spec {
    spec("/bin/sh", &["-c", line])
}

/// The same, to be started in a folder.
pub(crate) fn shell_in(folder: &Path, line: &str) -> Spec {
    Spec { cwd: opened(folder.to_str().unwrap()), ..shell(line) }
}

pub(crate) fn text(text: &str) -> CString {
    CString::new(text).unwrap()
}

pub(crate) fn opened(path: &str) -> OwnedFd {
    File::open(path).unwrap().into()
}

/// Another program, started without Stockade: the control half of a test, or a helper.
#[expect(clippy::disallowed_methods, reason = "tests compare with a bare spawn")]
pub(crate) fn bare(program: &str) -> Command {
    Command::new(program)
}

/// Waits for the end and gives all that was written, standard output and error.
pub(crate) fn finish(run: &mut Running) -> (Ended, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    loop {
        let ended = run.try_ended().unwrap();
        drain(run.stdout(), &mut out);
        drain(run.stderr(), &mut err);
        if let Some(ended) = ended {
            return (ended, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn drain(from: BorrowedFd<'_>, into: &mut Vec<u8>) {
    let mut file = File::from(from.try_clone_to_owned().unwrap());
    if let Err(error) = file.read_to_end(into) {
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
    }
}

/// Says that something was not tried, and why.
pub(crate) fn skip(why: &str) {
    writeln!(stderr().lock(), "skipped: {why}").unwrap();
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A mark in the environment by which the processes of one run are found.
#[derive(Debug)]
pub(crate) struct Mark(String);

impl Mark {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(format!("STOCKADE_TEST_MARK={}-{next}.", std::process::id()))
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// The specification, marked.
    pub(crate) fn on(&self, mut spec: Spec) -> Spec {
        spec.env.push(text(&self.0));
        spec
    }

    /// The living processes that carry the mark.
    pub(crate) fn found(&self) -> Vec<i32> {
        let entries = fs::read_dir("/proc").unwrap();
        let names = entries.filter_map(|entry| entry.unwrap().file_name().into_string().ok());
        let pids = names.filter_map(|name| name.parse().ok());
        pids.filter(|pid: &i32| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environ.split(|byte| *byte == 0).any(|entry| entry == self.0.as_bytes())
        })
        .collect()
    }

    /// Waits until at least this many are there.
    pub(crate) fn await_found(&self, count: usize) {
        assert!(
            within(PATIENCE, || self.found().len() >= count),
            "{count} processes with {} should be there: {:?}",
            self.0,
            self.found()
        );
    }
}

/// How long a test waits for what has to come, which is at once where nothing else runs. A process that
/// should end and does not would sleep for longer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Whether the condition comes true in time.
pub(crate) fn within(time: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if condition() {
            return true;
        }
        if start.elapsed() > time {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
