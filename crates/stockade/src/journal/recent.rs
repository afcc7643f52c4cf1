//! How often the same was refused of late: read from the end of the file, so that a refusal is
//! recognised also by a process that has only just begun.
//!
//! What is found makes a message clearer and decides nothing, so that the lines are not verified.

use std::cell::LazyCell;
use std::time::{Duration, SystemTime};

use super::chain::Link;
use super::record::{Decision, Event, Record, Verdict};
use super::{EntryId, Journal};
use crate::json;

/// How much of the file's end is read.
const BYTES_MAX: u64 = 64 * 1024;
/// How long ago a refusal may be to count.
pub const WINDOW: Duration = Duration::from_secs(600);

/// A refusal that was given before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repetition {
    /// How often, this time included; two at least.
    pub times: u32,
    /// There may be more of them, further back than was looked.
    pub may_be_more: bool,
    /// How long ago the first of them was, as far as it was looked for.
    pub since: Duration,
}

impl Journal {
    /// Whether what this entry refuses was refused before within [`WINDOW`]: the same words of the
    /// same tool in the same project, by the same rule. What cannot be read was not seen.
    pub fn repeated(&self, entry: EntryId) -> Option<Repetition> {
        let bytes = self.sink().last_bytes(BYTES_MAX)?;
        let text = String::from_utf8_lossy(&bytes);
        // The first line of the stretch may lack its beginning, and is then no record.
        let own = text.lines().rev().find_map(|line| of_entry(line, entry))?;
        let verdict = verdict_of(&own)?;
        // Calls without words cannot be told apart.
        if verdict.preview.is_empty() {
            return None;
        }
        let mark = format!(r#""sha256":"{}""#, verdict.sha256);
        let same = text.lines().filter(|line| line.contains(&mark)).filter_map(record);
        let same: Vec<Record> = same.filter(|one| is_like(one, &own, verdict)).collect();
        let answers = text.lines().filter(|line| line.contains(r#""event":"answer""#));
        let refused: LazyCell<Vec<u64>, _> =
            LazyCell::new(|| answers.filter_map(record).filter_map(|one| no(&one)).collect());
        let is_refusal = |one: &&Record| match verdict_of(one).map(|verdict| verdict.decision) {
            Some(Decision::Deny) => true,
            Some(Decision::Ask) => refused.contains(&one.seq),
            Some(Decision::Allow) | None => false,
        };
        let times: Vec<SystemTime> = same.iter().filter(is_refusal).map(|one| one.time).collect();
        let first = times.iter().min()?;
        let since = own.time.duration_since(*first).unwrap_or_default();
        let times = u32::try_from(times.len()).unwrap_or(u32::MAX);
        (times > 1).then(|| Repetition { times, may_be_more: !reaches_back(&text, &own), since })
    }
}

/// Whether nothing that counts is before this text: it has the journal's first entry, or one that is
/// too long ago.
fn reaches_back(text: &str, own: &Record) -> bool {
    text.lines().find_map(record).is_some_and(|first| {
        let is_old = own.time.duration_since(first.time).is_ok_and(|ago| ago > WINDOW);
        is_old || first.seq == Link::START.seq.saturating_add(1)
    })
}

fn record(line: &str) -> Option<Record> {
    json::from_str(line).ok()
}

fn of_entry(line: &str, entry: EntryId) -> Option<Record> {
    line.contains(&format!(r#""seq":{},"#, entry.seq()))
        .then(|| record(line))?
        .filter(|found| found.seq == entry.seq())
}

fn verdict_of(record: &Record) -> Option<&Verdict> {
    if let Event::Verdict(verdict) = &record.event { Some(verdict) } else { None }
}

/// The verdict that was answered with no.
fn no(record: &Record) -> Option<u64> {
    let Event::Answer(answer) = &record.event else { return None };
    (!answer.answer.is_yes()).then_some(answer.entry)
}

fn is_like(other: &Record, own: &Record, verdict: &Verdict) -> bool {
    let ago = own.time.duration_since(other.time).unwrap_or_default();
    verdict_of(other).is_some_and(|found| {
        let same = |of: &Verdict| {
            (of.sha256, of.tool.clone(), of.root.clone(), of.by.clone(), of.rule.clone())
        };
        ago <= WINDOW && same(found) == same(verdict)
    })
}
