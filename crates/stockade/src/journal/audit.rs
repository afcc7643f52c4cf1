//! Reads a journal back: verifies its chain, picks entries, counts them. Streams in constant memory.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::{Errno, retry_on_intr};

use super::chain::{self, Fault, Link};
use super::lines::{Line, Lines};
use super::lock::{Lock, LockError, PATIENCE};
use super::record::{Decision, Event, Hash, Record};

/// The most names that are counted one by one; the rest are counted together.
const NAMES_MAX: usize = 1000;

/// Why a journal could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// The file could not be opened.
    #[error("open the journal {}", path.display())]
    Open {
        /// The journal.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Errno,
    },
    /// The path names something that is not a plain file.
    #[error("read {} as a journal: it is not a regular file", path.display())]
    NotAFile {
        /// The journal.
        path: PathBuf,
    },
    /// Another process did not let go of the lock.
    #[error("lock the journal {} within {} s: another process holds it", path.display(), PATIENCE.as_secs())]
    Busy {
        /// The journal.
        path: PathBuf,
    },
    /// The file could not be read to its end.
    #[error("read the journal {}", path.display())]
    Read {
        /// The journal.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A line is not what was written there.
    #[error("verify the journal {}", path.display())]
    BadLine {
        /// The journal.
        path: PathBuf,
        /// The line.
        #[source]
        bad: BadLine,
    },
}

/// A line that does not verify.
#[derive(Debug, thiserror::Error)]
#[error("trust line {line}: {why}")]
pub struct BadLine {
    /// Its number, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub why: Fault,
}

/// The proof that a journal verifies from its first line to its last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// How many entries it has.
    pub entries: u64,
    /// The hash of the last one, [`Hash::ZERO`] if there is none.
    pub head: Hash,
}

/// Verifies the whole chain; the error names the first bad line.
pub fn verify(path: &Path) -> Result<Summary, AuditError> {
    let mut records = read(path)?;
    for record in records.by_ref() {
        record?;
    }
    Ok(Summary { entries: records.line, head: records.end.map_or(Hash::ZERO, |end| end.hash) })
}

/// Reads the entries that are in the journal now, verifying each.
///
/// After a bad line the reading goes on, and the chain is taken up again at the next line that is
/// whole in itself.
pub fn read(path: &Path) -> Result<Records, AuditError> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let cannot_open = |source| AuditError::Open { path: path.to_owned(), source };
    let file = retry_on_intr(|| open(path, flags, Mode::empty())).map_err(cannot_open)?;
    let file = Arc::new(file);
    let size = size_between_writes(&file, path)?;
    Ok(Records {
        path: path.to_owned(),
        lines: Lines::new(file, 0, size),
        line: 0,
        end: Some(Link::START),
        ended: false,
    })
}

/// The entries of a journal, in order.
#[derive(Debug)]
pub struct Records {
    path: PathBuf,
    lines: Lines,
    line: u64,
    /// The end of the chain, unknown after a line that could not be read.
    end: Option<Link>,
    ended: bool,
}

impl Iterator for Records {
    type Item = Result<Record, AuditError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let checked = match self.lines.next_line() {
            Ok(None) => {
                self.ended = true;
                return None;
            }
            Err(source) => {
                self.ended = true;
                return Some(Err(AuditError::Read { path: self.path.clone(), source }));
            }
            Ok(Some(Line::Whole(line))) => checked(&mut self.end, line),
            Ok(Some(Line::Torn(_))) => Err(Fault::Torn),
            Ok(Some(Line::TooLong)) => {
                self.end = None;
                Err(Fault::TooLong)
            }
        };
        self.line = self.line.saturating_add(1);
        Some(checked.map_err(|why| {
            let bad = BadLine { line: self.line, why };
            AuditError::BadLine { path: self.path.clone(), bad }
        }))
    }
}

fn checked(end: &mut Option<Link>, line: &[u8]) -> Result<Record, Fault> {
    let last = end.take();
    let record = chain::record_in(line)?;
    *end = Some(Link { seq: record.seq, hash: record.hash });
    match last {
        Some(last) => chain::follows(&last, &record).map(|()| record),
        None => Ok(record),
    }
}

/// A choice of entries; what is not set chooses all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only verdicts that refused.
    pub denied: bool,
    /// Only verdicts on this tool. Other events do not name a tool and are left out.
    pub tool: Option<String>,
    /// Only entries from this time on.
    pub since: Option<SystemTime>,
}

impl Filter {
    /// Whether this entry is chosen.
    pub fn matches(&self, record: &Record) -> bool {
        let verdict = match &record.event {
            Event::Verdict(verdict) => Some(verdict),
            Event::Answer(_)
            | Event::Outcome(_)
            | Event::LeftEnded(_)
            | Event::Failure(_)
            | Event::Repaired(_) => None,
        };
        let denied = verdict.is_some_and(|verdict| verdict.decision == Decision::Deny);
        let tool = verdict.map(|verdict| verdict.tool.as_str());
        (!self.denied || denied)
            && self.tool.as_deref().is_none_or(|wanted| tool == Some(wanted))
            && self.since.is_none_or(|since| record.time >= since)
    }
}

/// What a journal holds, in numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// All entries.
    pub entries: u64,
    /// Entries that record a verdict.
    pub verdicts: u64,
    /// Entries that record an outcome.
    pub outcomes: u64,
    /// Entries that record a call that was allowed and could not be run.
    pub failures: u64,
    /// Entries that record a repair.
    pub repairs: u64,
    /// Verdicts that allowed.
    pub allowed: u64,
    /// Verdicts that asked.
    pub asked: u64,
    /// Questions that were answered with yes.
    pub yes: u64,
    /// Questions that were answered with no, or not at all.
    pub no: u64,
    /// Verdicts that allowed what would have been a question without the box.
    pub spared: u64,
    /// Verdicts that refused.
    pub denied: u64,
    /// Outcomes with a signal or an exit code that is not 0.
    pub failed: u64,
    /// Outcomes that the wall-clock limit ended.
    pub timed_out: u64,
    /// Verdicts by the rule that decided.
    pub rules: Counts,
    /// Verdicts by tool.
    pub tools: Counts,
    /// The earliest time of an entry.
    pub first: Option<SystemTime>,
    /// The latest time of an entry.
    pub last: Option<SystemTime>,
}

impl Stats {
    /// Counts one entry.
    pub fn add(&mut self, record: &Record) {
        count(&mut self.entries);
        self.first = Some(self.first.map_or(record.time, |first| first.min(record.time)));
        self.last = Some(self.last.map_or(record.time, |last| last.max(record.time)));
        match &record.event {
            Event::Verdict(verdict) => {
                count(&mut self.verdicts);
                count(match verdict.decision {
                    Decision::Allow => &mut self.allowed,
                    Decision::Ask => &mut self.asked,
                    Decision::Deny => &mut self.denied,
                });
                if verdict.spared {
                    count(&mut self.spared);
                }
                self.tools.add(&verdict.tool);
                if let Some(rule) = &verdict.rule {
                    self.rules.add(rule);
                }
            }
            Event::Outcome(outcome) => {
                count(&mut self.outcomes);
                if outcome.signal.is_some() || outcome.exit_code.is_some_and(|code| code != 0) {
                    count(&mut self.failed);
                }
                if outcome.timed_out {
                    count(&mut self.timed_out);
                }
            }
            Event::Answer(answer) if answer.answer.is_yes() => count(&mut self.yes),
            Event::Answer(_) => count(&mut self.no),
            Event::Failure(_) => count(&mut self.failures),
            // Its call is counted by its outcome.
            Event::LeftEnded(_) => {}
            Event::Repaired(_) => count(&mut self.repairs),
        }
    }
}

/// How often each name occurred. Names come from calls, so that their number is bounded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    named: BTreeMap<String, u64>,
    others: u64,
}

impl Counts {
    /// The names and how often each occurred, in the order of names.
    pub fn named(&self) -> impl Iterator<Item = (&str, u64)> {
        self.named.iter().map(|(name, times)| (name.as_str(), *times))
    }

    /// How often names occurred that are not counted one by one.
    pub fn others(&self) -> u64 {
        self.others
    }

    fn add(&mut self, name: &str) {
        if let Some(times) = self.named.get_mut(name) {
            count(times);
        } else if self.named.len() < NAMES_MAX {
            self.named.insert(name.to_owned(), 1);
        } else {
            count(&mut self.others);
        }
    }
}

fn count(counter: &mut u64) {
    *counter = counter.saturating_add(1);
}

/// The size of the file at a moment when nobody writes. What is added later is not read: a line is
/// visible in parts while it is written. The lock is held for this look alone, so that reading a
/// large journal holds up no call.
fn size_between_writes(file: &Arc<OwnedFd>, path: &Path) -> Result<u64, AuditError> {
    let cannot_read =
        |errno: Errno| AuditError::Read { path: path.to_owned(), source: errno.into() };
    let stat = retry_on_intr(|| fstat(file)).map_err(cannot_read)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(AuditError::NotAFile { path: path.to_owned() });
    }
    let _lock = Lock::shared(file).map_err(|unlocked| match unlocked {
        LockError::Busy => AuditError::Busy { path: path.to_owned() },
        LockError::Failed(errno) => cannot_read(errno),
    })?;
    let stat = retry_on_intr(|| fstat(file)).map_err(cannot_read)?;
    Ok(u64::try_from(stat.st_size).unwrap_or(0))
}
