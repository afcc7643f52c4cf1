//! `stockade audit`: reads, counts and verifies the journal.

use std::time::SystemTime;

use serde::Serialize;
use stockade::journal::audit::{Counts, Filter, Stats, read, verify};
use stockade::journal::record::{Decision, Event, Hash, Record};
use stockade::limits::LimitHit;

use crate::args::{Audit, AuditShow, AuditStats, AuditVerify, AuditWhat};
use crate::exit_code::Status;
use crate::print::{BAD, GOOD, escape};
use crate::{Answer, print, setup};

/// Does what was asked with the journal.
pub(crate) fn audit(audit: &Audit) -> Answer {
    match &audit.what {
        AuditWhat::Show(show) => print_entries(show),
        AuditWhat::Stats(stats) => print_counts(stats),
        AuditWhat::Verify(verify) => print_verdict(verify),
    }
}

fn print_entries(show: &AuditShow) -> Answer {
    let since = show.since.as_deref().map(parse_since).transpose()?;
    let filter = Filter { denied: show.denied, tool: show.tool.clone(), since };
    for record in read(&setup::journal(show.journal.as_deref())?)? {
        let record = record?;
        if !filter.matches(&record) {
            continue;
        }
        if show.json {
            print::json(&record)?;
        } else {
            print::line(&line(&record))?;
        }
    }
    Ok(Status::Ok)
}

/// A time as the journal writes it, or how long ago.
fn parse_since(text: &str) -> Result<SystemTime, String> {
    let ago =
        humantime::parse_duration(text).ok().and_then(|ago| SystemTime::now().checked_sub(ago));
    ago.or_else(|| humantime::parse_rfc3339_weak(text).ok()).ok_or_else(|| {
        format!("read {text:?}: it is neither a time (2026-01-31T12:00:00Z) nor a duration (2h)")
    })
}

fn line(record: &Record) -> String {
    let what = match &record.event {
        Event::Verdict(verdict) => {
            let (style, decision) = match verdict.decision {
                Decision::Allow => (GOOD, "allow"),
                Decision::Ask => (BAD, "ask"),
                Decision::Deny => (BAD, "deny"),
            };
            let rule =
                verdict.rule.as_deref().map(|rule| format!("  [{rule}]")).unwrap_or_default();
            let command = escape(&format!("{} {}{rule}", verdict.tool, verdict.preview));
            format!("{style}{decision:<8}{style:#} {command}")
        }
        Event::Outcome(outcome) => {
            let end = match (outcome.exit_code, outcome.signal, &outcome.limit) {
                (_, _, Some(limit)) if limit == LimitHit::Cancelled.name() => limit.clone(),
                (_, _, Some(limit)) => format!("ended by the {limit} limit"),
                (Some(code), _, None) => format!("exit {code}"),
                (None, Some(signal), None) => format!("signal {signal}"),
                (None, None, None) => "unknown end".to_owned(),
            };
            format!(
                "{:<8} of entry {}: {end}, {:.1} ms",
                "outcome",
                outcome.entry,
                outcome.wall.as_secs_f64() * 1e3
            )
        }
        Event::LeftEnded(end) => {
            let how = match end.limit.as_deref() {
                Some(limit) if limit == LimitHit::Cancelled.name() => "were ended".to_owned(),
                Some(limit) => format!("were ended by the {limit} limit"),
                None if end.breach => "were ended: their sandbox was no longer whole".to_owned(),
                None => "have ended".to_owned(),
            };
            let after = end.wall.as_secs_f64();
            format!(
                "{:<8} of entry {}: the processes that it left running {how}, {after:.1} s",
                "left", end.entry
            )
        }
        Event::Answer(answer) => {
            let style = if answer.answer.is_yes() { GOOD } else { BAD };
            let by = answer.by.as_deref().unwrap_or("nobody");
            let (entry, name) = (answer.entry, answer.answer.name());
            format!("{style}{:<8}{style:#} to entry {entry}: {name}, by {}", "answer", escape(by))
        }
        Event::Failure(failure) => {
            format!(
                "{BAD}{:<8}{BAD:#} of entry {}: {}",
                "failure",
                failure.entry,
                escape(&failure.step)
            )
        }
        Event::Repaired(repaired) => {
            format!("{:<8} a torn line of {} bytes was cut off", "repaired", repaired.dropped_bytes)
        }
        _ => "an event that this version does not know".to_owned(),
    };
    let time = humantime::format_rfc3339_millis(record.time);
    format!("{:>6} {time} {}", record.seq, what)
}

fn print_counts(stats: &AuditStats) -> Answer {
    let mut counted = Stats::default();
    for record in read(&setup::journal(stats.journal.as_deref())?)? {
        counted.add(&record?);
    }
    if stats.json {
        print::json(&WireStats::new(&counted))?;
        return Ok(Status::Ok);
    }
    let rows = [
        ("entries", counted.entries),
        ("verdicts", counted.verdicts),
        ("outcomes", counted.outcomes),
        ("failures", counted.failures),
        ("repairs", counted.repairs),
        ("timed out", counted.timed_out),
        ("allowed", counted.allowed),
        ("asked", counted.asked),
        ("spared", counted.spared),
        ("said yes", counted.yes),
        ("said no", counted.no),
        ("denied", counted.denied),
    ];
    for (name, count) in rows {
        print::line(&format!("{name:<12} {count:>8}"))?;
    }
    for (title, counts) in [("tool", &counted.tools), ("rule", &counted.rules)] {
        for (name, count) in counts.named() {
            print::line(&format!("{title:<12} {count:>8}  {}", escape(name)))?;
        }
        if counts.others() > 0 {
            print::line(&format!("{title:<12} {:>8}  (others)", counts.others()))?;
        }
    }
    Ok(Status::Ok)
}

#[derive(Serialize)]
struct WireStats {
    entries: u64,
    verdicts: u64,
    outcomes: u64,
    failures: u64,
    repairs: u64,
    timed_out: u64,
    allowed: u64,
    asked: u64,
    spared: u64,
    yes: u64,
    no: u64,
    denied: u64,
    tools: serde_json::Map<String, serde_json::Value>,
    rules: serde_json::Map<String, serde_json::Value>,
}

impl WireStats {
    fn new(stats: &Stats) -> Self {
        let map = |counts: &Counts| {
            let named = counts.named().map(|(name, count)| (name.to_owned(), count.into()));
            named
                .chain(
                    [("(others)".to_owned(), counts.others().into())]
                        .into_iter()
                        .filter(|_| counts.others() > 0),
                )
                .collect()
        };
        Self {
            entries: stats.entries,
            verdicts: stats.verdicts,
            outcomes: stats.outcomes,
            failures: stats.failures,
            repairs: stats.repairs,
            timed_out: stats.timed_out,
            allowed: stats.allowed,
            asked: stats.asked,
            spared: stats.spared,
            yes: stats.yes,
            no: stats.no,
            denied: stats.denied,
            tools: map(&stats.tools),
            rules: map(&stats.rules),
        }
    }
}

fn print_verdict(args: &AuditVerify) -> Answer {
    let expected = args.expect_head.as_deref().map(str::parse::<Hash>).transpose()?;
    let path = setup::journal(args.journal.as_deref())?;
    let (entries, head, complaint) = match verify(&path) {
        Ok(summary) => {
            let other = expected.filter(|expected| *expected != summary.head);
            let complaint =
                other.map(|expected| format!("the last entry is not the expected {expected}"));
            (Some(summary.entries), Some(summary.head), complaint)
        }
        Err(error) => (None, None, Some(print::chain(&error))),
    };
    if args.json {
        let value = serde_json::json!({
            "ok": complaint.is_none(), "entries": entries, "head": head, "complaint": complaint,
        });
        print::json(&value)?;
    } else if let Some(complaint) = &complaint {
        print::error(complaint);
    } else if let (Some(entries), Some(head)) = (entries, head) {
        print::line(&format!("{GOOD}ok{GOOD:#}: {entries} entries, head {head}"))?;
    }
    Ok(if complaint.is_none() { Status::Ok } else { Status::Unexpected })
}
