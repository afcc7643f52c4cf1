//! What rules cost: to read and compile them, and to decide by them, as a table in
//! `docs/bench/rules.md`.
//!
//! `cargo bench -p stockade --bench rules` measures and writes the table; it is no part of the
//! tests.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set up must stop")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

#[path = "timing/spread.rs"]
mod timing;

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;

use stockade::policy::Decision;
use stockade::policy::rules::{CommandFacts, Facts, PathFacts, Place, Rule, Rules};

use timing::{micros, spread};

const ROUNDS: usize = 20_000;
const COUNTS: [usize; 4] = [10, 100, 1_000, 10_000];

fn main() {
    let mut table = String::from("| |");
    for count in COUNTS {
        write!(table, " {count} rules |").unwrap();
    }
    table.push_str("\n|---|---:|---:|---:|---:|\n");
    let texts: Vec<Vec<(String, Decision)>> = COUNTS.map(texts).to_vec();
    let compiled: Vec<Rules> = texts.iter().map(|texts| compile(texts)).collect();
    for (name, facts, expected) in calls() {
        write!(table, "| {name} |").unwrap();
        for rules in &compiled {
            assert_eq!(rules.decide(&facts).map(|found| found.decision), expected, "{name}");
            let (time, _) = spread(ROUNDS, || drop(black_box(rules.decide(black_box(&facts)))));
            write!(table, " {:.2} |", micros(time)).unwrap();
        }
        table.push('\n');
    }
    table.push_str("| *read and compiled, once* |");
    for texts in &texts {
        let (time, _) = spread(21, || drop(black_box(compile(black_box(texts)))));
        write!(table, " {:.0} |", micros(time)).unwrap();
    }
    table.push_str("\n| *the same, if all are paths* |");
    for count in COUNTS {
        let texts: Vec<_> = (0..count).map(|number| (path(number), Decision::Deny)).collect();
        let (time, _) = spread(21, || drop(black_box(compile(black_box(&texts)))));
        write!(table, " {:.0} |", micros(time)).unwrap();
    }
    table.push('\n');
    println!("{table}");
    let text = format!("{}\n{table}", INTRODUCTION.trim_start());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bench/rules.md");
    std::fs::write(file, text).unwrap();
}

const INTRODUCTION: &str = "
# What rules cost

Written by `cargo bench -p stockade --bench rules`. Microseconds, the median of 20,000 decisions,
from facts to the rule that decides. A third of the rules is in each list; a tenth each are of the
forms `Bash(tool *)`, `Bash(git sub *)`, `Bash(npm run x)`, `Read(name)`, `Read(~/folder/**)`,
`Edit(//srv/n/**)`, `Edit(*.ext)`, `WebFetch(domain:*.host)`, `mcp__server__get_*`, `mcp__server`.
The figures are one machine's: compare columns, not machines.
";

fn texts(count: usize) -> Vec<(String, Decision)> {
    let lists = [Decision::Deny, Decision::Ask, Decision::Allow];
    let text = |number: usize| match number % 10 {
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
    let listed = |number: usize| (text(number), *lists.get(number % 3).unwrap());
    let own = [
        ("Bash(git log *)", Decision::Allow),
        ("Bash(npm test *)", Decision::Allow),
        ("Read(.env)", Decision::Deny),
        ("Edit(src/**)", Decision::Allow),
        ("Bash(rm *)", Decision::Deny),
    ];
    let own = own.map(|(text, list)| (text.to_owned(), list));
    (own.len()..count).map(listed).chain(own).collect()
}

fn path(number: usize) -> String {
    match number % 4 {
        0 => format!("Read(secret{number}/**)"),
        1 => format!("Read(~/.keep{number}/**)"),
        2 => format!("Edit(//srv/{number}/**/*.x)"),
        _ => format!("Edit(*.ext{number})"),
    }
}

fn compile(texts: &[(String, Decision)]) -> Rules {
    let rules = texts.iter().map(|(text, list)| Rule::parse(text, *list).unwrap());
    Rules::compile(rules.collect())
}

type Call = (&'static str, Facts, Option<Decision>);

fn calls() -> Vec<Call> {
    let facts = |tool: &str, lines: &[&str]| {
        let mut facts = Facts::new(tool, "/home/me/project");
        facts.home = Some(Place::new("/home/me"));
        facts.commands = lines.iter().map(|line| CommandFacts::new(line.split(' '))).collect();
        facts
    };
    let path = |text: &str| PathFacts::new(Path::new("/home/me/project").join(text));
    let mut read = facts("Read", &[]);
    read.reads.push(path("src/deep/er/.env"));
    let mut write = facts("Write", &[]);
    write.writes.push(path("src/main.rs"));
    let mut line = facts("Bash", &["git log --oneline -5", "npm test", "rm -rf target"]);
    line.writes.push(path("target"));
    let mut long = facts("Bash", &["git log -1"; 20]);
    long.reads = vec![path("src/main.rs"); 20];
    long.reads.iter_mut().for_each(|path| path.command = Some(0));
    vec![
        ("`git log --oneline -5`, allowed", facts("Bash", &["git log --oneline -5"]), ALLOW),
        ("`git log … \\| npm test && rm -rf target`, denied", line, DENY),
        ("twenty commands, twenty paths, allowed", long, ALLOW),
        ("`Read` of a `.env`, denied", read, DENY),
        ("`Write` in `src`, allowed", write, ALLOW),
        ("a tool of a server that no rule names", facts("mcp__other__get_x", &[]), None),
    ]
}

const ALLOW: Option<Decision> = Some(Decision::Allow);
const DENY: Option<Decision> = Some(Decision::Deny);
