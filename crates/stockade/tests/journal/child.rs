//! Processes that append: this test binary, started again with a part to play.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use stockade::journal::JournalError;

use crate::sample::{open, verdict, verified};

const PART: &str = "STOCKADE_TEST_JOURNAL_PART";
const PATH: &str = "STOCKADE_TEST_JOURNAL_PATH";

/// Starts a process that plays this part on this journal.
#[expect(clippy::disallowed_methods, reason = "the test starts itself")]
pub(crate) fn start(part: &str, journal: &Path) -> Started {
    // The shell ignores the signal of a crossed file size limit on behalf of what it becomes.
    let child = Command::new("/bin/sh")
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "child::plays_the_part_that_it_was_started_for"])
        .env(PART, part)
        .env(PATH, journal)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    Started(child)
}

/// A process that does not outlive its test.
pub(crate) struct Started(Child);

impl Started {
    /// Whether it played its part well, once it has ended.
    pub(crate) fn ended(&mut self) -> Option<bool> {
        self.0.try_wait().unwrap().map(|status| status.success())
    }

    pub(crate) fn wait(mut self) -> bool {
        self.0.wait().unwrap().success()
    }

    pub(crate) fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn plays_the_part_that_it_was_started_for() {
    let (Some(part), Some(path)) = (std::env::var_os(PART), std::env::var_os(PATH)) else { return };
    let path = Path::new(&path);
    match part.to_str().unwrap() {
        "200" => {
            let journal = open(path);
            for number in 0..200 {
                journal.append(&verdict(&format!("{}-{number}", std::process::id()))).unwrap();
            }
        }
        "endless" => {
            let journal = open(path);
            for _ in 0..1_000_000 {
                journal.append(&verdict("endless")).unwrap();
            }
        }
        "limited" => append_under_a_file_size_limit(path),
        other => panic!("no such part: {other}"),
    }
}

fn append_under_a_file_size_limit(path: &Path) {
    let before = getrlimit(Resource::Fsize);
    setrlimit(Resource::Fsize, Rlimit { current: Some(10_000), maximum: before.maximum }).unwrap();
    let journal = open(path);
    let mut written = 0;
    let error = loop {
        match journal.append(&verdict("limited")) {
            Ok(entry) => written = entry.seq(),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, JournalError::Write { source: Errno::FBIG, .. }), "{error:?}");
    assert!(written > 10);
    assert_eq!(verified(path).entries, written);
    assert!(journal.append(&verdict("limited")).is_err());
    setrlimit(Resource::Fsize, before).unwrap();
    assert_eq!(journal.append(&verdict("free")).unwrap().seq(), written + 1);
    assert_eq!(verified(path).entries, written + 1);
}
