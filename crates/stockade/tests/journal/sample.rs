//! Journals and events to try things on.

#[path = "../shared/skip.rs"]
mod skip;

use std::path::{Path, PathBuf};
use std::time::Duration;

use stockade::journal::audit::{self, AuditError, Summary};
use stockade::journal::chain::Fault;
use stockade::journal::preview::digest;
use stockade::journal::record::{Decision, Event, Outcome, Verdict};
use stockade::journal::{Durability, Journal};

pub(crate) use self::skip::skip;

/// A folder with a path for a journal in it.
pub(crate) struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.path().join("journal.jsonl")
    }

    /// The path of a journal with this many entries.
    pub(crate) fn journal_of(&self, entries: usize) -> PathBuf {
        let journal = open(&self.journal());
        for number in 0..entries {
            journal.append(&verdict(&format!("call-{number}"))).unwrap();
        }
        self.journal()
    }
}

pub(crate) fn open(path: &Path) -> Journal {
    Journal::open(path, Durability::default()).unwrap()
}

pub(crate) fn verdict(call: &str) -> Event {
    judged(call, "Exec", Decision::Allow, None)
}

pub(crate) fn judged(call: &str, tool: &str, decision: Decision, rule: Option<&str>) -> Event {
    Event::Verdict(Verdict {
        call: call.to_owned(),
        tool: tool.to_owned(),
        preview: "git status".to_owned(),
        sha256: digest(&["git".into(), "status".into()]),
        root: "/work".to_owned(),
        decision,
        by: "rule".to_owned(),
        rule: rule.map(str::to_owned),
        argument: None,
        source: Some("stockade.toml:4".to_owned()),
        spared: false,
        attempt: None,
        rewritten: None,
    })
}

pub(crate) fn outcome(call: &str, exit_code: Option<i32>) -> Outcome {
    Outcome {
        call: call.to_owned(),
        entry: 1,
        tier: "jail".to_owned(),
        exit_code,
        signal: None,
        timed_out: false,
        limit: None,
        wall: Duration::from_micros(2_400),
        cpu: Duration::from_micros(1_100),
        peak_memory_bytes: Some(1_183_744),
        stdout_bytes: 12,
        stderr_bytes: 0,
        truncated: false,
    }
}

pub(crate) fn lines_of(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

pub(crate) fn write_lines(path: &Path, lines: &[String]) {
    let text: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
    std::fs::write(path, text).unwrap();
}

pub(crate) fn verified(path: &Path) -> Summary {
    audit::verify(path).unwrap()
}

/// The number of the first bad line, and what is wrong with it in one word.
#[expect(clippy::panic, reason = "a test that cannot go on fails")]
pub(crate) fn first_bad(path: &Path) -> (u64, &'static str) {
    match audit::verify(path) {
        Err(AuditError::BadLine { bad, .. }) => (bad.line, kind(&bad.why)),
        other => panic!("a bad line was expected, not {other:?}"),
    }
}

pub(crate) fn kind(fault: &Fault) -> &'static str {
    match fault {
        Fault::NotJson(_) => "not json",
        Fault::UnknownVersion(_) => "unknown version",
        Fault::HashMismatch => "hash mismatch",
        Fault::SequenceGap { .. } => "sequence gap",
        Fault::PrevMismatch => "prev mismatch",
        Fault::Torn => "torn",
        Fault::TooLong => "too long",
        _ => "another",
    }
}

/// Says on the terminal what a test measured.
#[expect(clippy::print_stderr, reason = "what was skipped or measured is told")]
pub(crate) fn tell(what: &str) {
    eprintln!("{what}");
}
