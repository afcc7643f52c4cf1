//! The same refusal again: recognised in one process and by the next, and never mistaken.

use std::sync::Arc;
use std::time::Duration;

use stockade::call::{Tool, ToolCall};
use stockade::gate::{Approver, ApproverAnswer, Prompt};
use stockade::journal::chain::{Link, line_after, record_in};
use stockade::journal::record::Event;
use stockade::journal::{Durability, Journal, WINDOW, audit};
use stockade::policy::Policy;
use stockade::{Report, Stockade};

use crate::bad_input::cpu_time;
use crate::project::{Project, unboxed};

fn rm() -> ToolCall {
    ToolCall::exec(["rm", "-rf", "x"])
}

fn times(report: &Report) -> Option<u64> {
    let json = serde_json::to_value(report).unwrap();
    assert!(report.denied(), "{json}");
    json.get("repeated")?.as_u64()
}

#[derive(Debug)]
struct Says(ApproverAnswer);

impl Approver for Says {
    fn name(&self) -> &'static str {
        "friend"
    }

    fn answer(&self, _prompt: &Prompt, _patience: Duration) -> ApproverAnswer {
        self.0.clone()
    }
}

fn denying(rules: &str) -> Policy {
    let text = format!("box.tier = 'process'\nrules.deny = [{rules}]");
    Policy::from_text(std::path::Path::new("/own.toml"), &text).unwrap()
}

#[test]
fn a_refusal_that_is_repeated_says_how_often_and_what_to_do() {
    let project = Project::new();
    let stockade = project.stockade(unboxed());
    let first = stockade.run(rm());
    assert_eq!(times(&first), None);
    assert_eq!(times(&stockade.run(rm())), Some(2));
    let third = stockade.run(rm());
    let said = third.reason().unwrap();
    assert!(said.starts_with(&first.reason().unwrap()), "{said}");
    assert!(said.contains(message!("verdict.times-in-a-minute", "the third time")), "{said}");
    assert!(said.ends_with(message!("verdict.ask-person")), "{said}");
}

#[test]
fn the_next_process_knows_it_too() {
    let project = Project::new();
    let run = || project.stockade(unboxed()).run(rm());
    let seen: Vec<_> = (0..4).map(|_| times(&run())).collect();
    assert_eq!(seen, [None, Some(2), Some(3), Some(4)]);
}

#[test]
fn what_is_not_the_same_is_not_counted() {
    let project = Project::new();
    let run = |policy: Policy, call: ToolCall| times(&project.stockade(policy).run(call));
    assert_eq!(run(unboxed(), rm()), None);
    assert_eq!(run(unboxed(), ToolCall::exec(["rm", "-rf", "y"])), None, "other words");
    assert_eq!(run(denying("'Bash(rm *)'"), rm()), None, "another rule");
    assert_eq!(run(denying("'Bash(rm *)'"), rm()), Some(2));
    let other = Project::new();
    let elsewhere = Stockade::open(&other.root(), unboxed(), &project.journal()).unwrap();
    assert_eq!(times(&elsewhere.run(rm())), None, "another project");
    let unreadable = || ToolCall::of(Tool::Malformed("no JSON".to_owned()));
    let twice = (run(unboxed(), unreadable()), run(unboxed(), unreadable()));
    assert_eq!(twice, (None, None), "without words nothing is the same");
}

/// Writes the journal anew, with its entries so much older.
fn age(project: &Project, by: Duration) {
    let text = std::fs::read_to_string(project.journal()).unwrap();
    let (mut link, mut bytes) = (Link::START, Vec::new());
    for line in text.lines() {
        let record = record_in(line.as_bytes()).unwrap();
        let time = record.time.checked_sub(by).unwrap();
        let (older, next) = line_after(&link, time, &record.event).unwrap();
        bytes.extend_from_slice(&older);
        bytes.push(b'\n');
        link = next;
    }
    std::fs::write(project.journal(), bytes).unwrap();
    audit::verify(&project.journal()).unwrap();
}

#[test]
fn what_is_long_ago_is_forgotten() {
    let project = Project::new();
    let run = || times(&project.stockade(unboxed()).run(rm()));
    assert_eq!(run(), None);
    age(&project, WINDOW.saturating_sub(Duration::from_secs(60)));
    let report = project.stockade(unboxed()).run(rm());
    assert_eq!(times(&report), Some(2));
    assert!(
        report.reason().unwrap().contains("second time in ")
            && report.reason().unwrap().contains(" minutes"),
        "{:?}",
        report.reason()
    );
    age(&project, WINDOW);
    assert_eq!(run(), None);
}

#[test]
fn a_question_that_nobody_answers_is_recognised_and_one_that_was_allowed_is_not() {
    let project = Project::new();
    let asking = || {
        let text = "box.tier = 'process'\nrules.ask = ['Bash(ls *)']";
        Policy::from_text(std::path::Path::new("/own.toml"), text).unwrap()
    };
    let ls = || ToolCall::exec(["ls", "-a"]);
    let run = || project.stockade(asking()).run(ls());
    assert_eq!((times(&run()), times(&run())), (None, Some(2)));
    let allowing = Says(ApproverAnswer::Once);
    let report = project.builder(asking()).approver(Arc::new(allowing)).open().unwrap().run(ls());
    assert!(report.ok(), "{:?}", report.reason());
    assert_eq!(times(&run()), Some(3), "the one that was allowed is no refusal");
}

/// How often it is said that this was refused.
fn said(report: &Report) -> String {
    let reason = report.reason().unwrap();
    let from = reason.find("; this is ").unwrap_or_else(|| panic!("{reason}"));
    reason[from..].split(" time in ").next().unwrap().to_owned()
}

#[test]
fn more_than_is_in_sight_is_said_to_be_at_least_so_often() {
    let project = Project::new();
    let stockade = project.stockade(unboxed());
    let in_sight = || std::fs::metadata(project.journal()).unwrap().len() <= 64 * 1024;
    let (mut runs, mut last) = (0, None);
    while in_sight() {
        runs += 1;
        last = Some(stockade.run(rm()));
        if in_sight() && runs > 1 {
            let all = last.as_ref().unwrap();
            assert!(times(all) == Some(runs) && !said(all).contains("at least"), "{all:?}");
        }
    }
    let seen = times(last.as_ref().unwrap()).unwrap();
    assert!(seen < runs && said(&last.unwrap()).starts_with("; this is at least the "), "{runs}");
    let later = stockade.run(rm());
    assert!(times(&later) <= Some(seen) && said(&later).contains("at least"), "{later:?}");
    // What is out of sight is too long ago to count.
    age(&project, WINDOW.saturating_add(Duration::from_secs(1)));
    assert_eq!(times(&project.stockade(unboxed()).run(rm())), None);
    assert_eq!(
        said(&project.stockade(unboxed()).run(rm())),
        message!("; {}" => "verdict.second-time")
    );
}

#[test]
fn a_long_journal_costs_no_more_than_its_end() {
    let project = Project::new();
    let refused = |stockade: &Stockade| {
        let started = cpu_time();
        let found = times(&stockade.run(rm()));
        (found, cpu_time().saturating_sub(started))
    };
    let (found, at_first) = refused(&project.stockade(unboxed()));
    assert_eq!(found, None);
    let journal = Journal::open(&project.journal(), Durability::default()).unwrap();
    let filler = audit::read(&project.journal()).unwrap().next().unwrap().unwrap().event;
    let Event::Verdict(mut filler) = filler else { panic!("{filler:?}") };
    filler.sha256 = stockade::journal::preview::digest(&["other".into()]);
    let filler = Event::Verdict(filler);
    for _ in 0..5000 {
        journal.append(&filler).unwrap();
    }
    assert!(std::fs::metadata(project.journal()).unwrap().len() > 2_000_000);
    let stockade = project.stockade(unboxed());
    let (found, _) = refused(&stockade);
    assert_eq!(found, None, "it is out of sight");
    let quickest = (0..5).map(|_| refused(&stockade).1).min().unwrap();
    // To read all of it took a second.
    assert!(quickest < 10 * at_first + Duration::from_millis(100), "{quickest:?}, {at_first:?}");
}
