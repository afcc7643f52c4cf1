//! What a decision costs under many rules that cannot match: at most so much for each of them.

use std::time::{Duration, Instant};

use stockade::policy::Decision;
use stockade::policy::rules::{Facts, PathFacts, Rule, Rules};

use super::call::command;

/// Rules of all sorts, a third in each list, of which none matches the calls below.
fn rules(count: usize) -> Rules {
    let rule = |number: usize| {
        let text = match number % 10 {
            0 => format!("Bash(tool{number} *)"),
            1 => format!("Bash(git sub{number} *)"),
            2 => format!("Bash(npm run x{number})"),
            3 => format!("Read(secret{number})"),
            4 => format!("Read(~/.keep{number}/**)"),
            5 => format!("Edit(//srv/{number}/**)"),
            6 => format!("Edit(*.ext{number})"),
            7 => format!("WebFetch(domain:*.host{number}.org)"),
            8 => format!("mcp__server{number}__get_*"),
            _ => format!("mcp__server{number}"),
        };
        let lists = [Decision::Deny, Decision::Ask, Decision::Allow];
        Rule::parse(&text, *lists.get(number % 3).unwrap()).unwrap()
    };
    let mut all: Vec<Rule> = (0..count).map(rule).collect();
    all.push(Rule::parse("Bash(git log *)", Decision::Allow).unwrap());
    Rules::compile(all)
}

fn call() -> Facts {
    let mut facts = Facts::new("Bash", "/home/me/project");
    facts.commands.push(command("git log --oneline -5"));
    facts.commands.push(command("read-only: head -n 3 src/main.rs"));
    let mut read = PathFacts::new("/home/me/project/src/main.rs");
    (read.command, read.free) = (Some(1), true);
    facts.reads.push(read);
    facts
}

/// The middle of many, so that one slow moment of the machine does not count.
fn median(rules: &Rules, facts: &Facts) -> Duration {
    let mut times: Vec<Duration> = (0..301)
        .map(|_| {
            let started = Instant::now();
            assert_eq!(rules.decide(facts).unwrap().decision, Decision::Allow);
            started.elapsed()
        })
        .collect();
    times.sort_unstable();
    *times.get(150).unwrap()
}

#[test]
fn the_cost_grows_no_faster_than_the_rules() {
    let facts = call();
    let (few, many) = (rules(500), rules(10_000));
    let (few, many) = (median(&few, &facts), median(&many, &facts));
    assert!(many < few * 60, "500 rules: {few:?}, 10,000 rules: {many:?}");
}
