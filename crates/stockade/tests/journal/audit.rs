//! Reading back: what was written, what was asked for, how many, how fast.

use std::io::Write as _;
use std::time::{Duration, Instant, SystemTime};

use stockade::journal::audit::{self, AuditError, Filter, Stats};
use stockade::journal::chain::{self, Link};
use stockade::journal::record::{Decision, Event, Failure, Hash, Outcome};

use crate::sample::{Folder, judged, lines_of, open, outcome, tell, verdict, verified};

fn mixed() -> Vec<Event> {
    let failure = Failure {
        call: "4".to_owned(),
        entry: 6,
        step: "mount".to_owned(),
        guarantee: Some("writes".to_owned()),
    };
    vec![
        judged("1", "Exec", Decision::Allow, None),
        Event::Outcome(outcome("1", Some(0))),
        judged("2", "Bash", Decision::Deny, Some("Bash(rm -rf *)")),
        judged("3", "Exec", Decision::Ask, Some("Bash")),
        Event::Outcome(Outcome { timed_out: true, signal: Some(9), ..outcome("3", None) }),
        judged("4", "Exec", Decision::Deny, Some("name/denylist")),
        Event::Failure(failure),
        Event::Outcome(outcome("5", Some(3))),
    ]
}

fn journal_of(folder: &Folder, events: &[Event]) {
    let journal = open(&folder.journal());
    for event in events {
        journal.append(event).unwrap();
    }
}

#[test]
fn what_is_read_is_what_was_written() {
    let folder = Folder::new();
    journal_of(&folder, &mixed());
    let read: Vec<Event> =
        audit::read(&folder.journal()).unwrap().map(|record| record.unwrap().event).collect();
    assert_eq!(read, mixed());
}

#[test]
fn a_line_has_its_fields_in_the_documented_order() {
    let folder = Folder::new();
    journal_of(&folder, &mixed());
    let lines = lines_of(&folder.journal());
    let first = lines.first().unwrap();
    assert!(first.starts_with(r#"{"v":1,"seq":1,"time":"20"#), "{first}");
    assert!(
        first.contains(r#"Z","event":"verdict","call":"1","tool":"Exec","preview":"#),
        "{first}"
    );
    assert!(first.contains(&format!(r#","prev":"{}","hash":""#, Hash::ZERO)), "{first}");
    let second = lines.get(1).unwrap();
    assert!(
        second.contains(r#""wall_ms":2.4,"cpu_ms":1.1,"peak_memory_bytes":1183744,"#),
        "{second}"
    );
}

#[test]
fn filters_choose() {
    let folder = Folder::new();
    journal_of(&folder, &mixed());
    let chosen = |filter: Filter| -> Vec<u64> {
        let records = audit::read(&folder.journal()).unwrap().map(Result::unwrap);
        records.filter(|record| filter.matches(record)).map(|record| record.seq).collect()
    };
    let exec = Some("Exec".to_owned());
    let later = Some(SystemTime::now() + Duration::from_mins(1));
    let earlier = Some(SystemTime::now() - Duration::from_mins(1));
    assert_eq!(chosen(Filter::default()).len(), 8);
    assert_eq!(chosen(Filter { denied: true, ..Filter::default() }), [3, 6]);
    assert_eq!(chosen(Filter { tool: exec.clone(), ..Filter::default() }), [1, 4, 6]);
    assert_eq!(chosen(Filter { denied: true, tool: exec, since: earlier }), [6]);
    assert_eq!(chosen(Filter { since: later, ..Filter::default() }), Vec::<u64>::new());
}

#[test]
fn stats_count() {
    let folder = Folder::new();
    journal_of(&folder, &mixed());
    let mut stats = Stats::default();
    for record in audit::read(&folder.journal()).unwrap() {
        stats.add(&record.unwrap());
    }
    assert_eq!((stats.entries, stats.verdicts, stats.outcomes), (8, 4, 3));
    assert_eq!((stats.failures, stats.repairs), (1, 0));
    assert_eq!((stats.allowed, stats.asked, stats.denied), (1, 1, 2));
    assert_eq!((stats.failed, stats.timed_out), (2, 1));
    assert_eq!(stats.tools.named().collect::<Vec<_>>(), [("Bash", 1), ("Exec", 3)]);
    let rules = [("Bash", 1), ("Bash(rm -rf *)", 1), ("name/denylist", 1)];
    assert_eq!(stats.rules.named().collect::<Vec<_>>(), rules);
    assert!(stats.first.is_some() && stats.first <= stats.last);
}

#[test]
fn stats_are_bounded_whatever_the_names() {
    let mut stats = Stats::default();
    let mut end = Link::START;
    for number in 0..1500 {
        let event = judged("1", &format!("tool-{number}"), Decision::Allow, None);
        let (line, next) = chain::line_after(&end, SystemTime::now(), &event).unwrap();
        stats.add(&chain::record_in(&line).unwrap());
        end = next;
    }
    assert_eq!((stats.tools.named().count(), stats.tools.others()), (1000, 500));
}

#[test]
fn an_empty_journal_verifies_and_a_missing_one_does_not_open() {
    let folder = Folder::new();
    assert!(matches!(audit::verify(&folder.journal()), Err(AuditError::Open { .. })));
    assert!(matches!(audit::verify(folder.path()), Err(AuditError::NotAFile { .. })));
    std::fs::write(folder.journal(), "").unwrap();
    let summary = verified(&folder.journal());
    assert_eq!((summary.entries, summary.head), (0, Hash::ZERO));
}

#[test]
fn a_hundred_thousand_lines_verify_in_seconds() {
    let folder = Folder::new();
    let mut file = std::io::BufWriter::new(std::fs::File::create(folder.journal()).unwrap());
    let event = verdict("01J0000000000000000000000");
    let mut end = Link::START;
    for _ in 0..100_000 {
        let (line, next) = chain::line_after(&end, SystemTime::now(), &event).unwrap();
        file.write_all(&line).unwrap();
        file.write_all(b"\n").unwrap();
        end = next;
    }
    file.into_inner().unwrap();
    let started = Instant::now();
    assert_eq!(verified(&folder.journal()).entries, 100_000);
    let took = started.elapsed();
    tell(&format!("100,000 lines verified in {took:?}"));
    assert!(took < Duration::from_secs(120), "{took:?}");
}
