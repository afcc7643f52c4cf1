//! What a decision costs: microseconds and allocations for one call, as a table in
//! `docs/bench/decision.md`.
//!
//! `cargo bench -p stockade` measures and writes the table; it is no part of the tests.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set up its project must stop")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

#[path = "timing/spread.rs"]
mod timing;

use std::alloc::System;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use stockade::gate::{Examiner, Gate};
use stockade::inspect::Root;
use stockade::journal::{Durability, Journal};
use stockade::policy::Decision;
use stockade::{Policy, ToolCall};

use timing::{micros, spread};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const ROUNDS: usize = 2_000;

fn main() {
    let project = tempfile::tempdir().unwrap();
    std::fs::create_dir(project.path().join("src")).unwrap();
    std::fs::write(project.path().join("src/main.rs"), "fn main() {}\n").unwrap();
    let mut table = String::from(
        "| decision | first call, µs | median, µs | p99, µs | allocations |\n|---|---:|---:|---:|---:|\n",
    );
    for (name, policy, argv, expected) in cases() {
        let row = measure(project.path(), policy, &argv, expected);
        writeln!(
            table,
            "| {name} | {:.0} | {:.1} | {:.1} | {} |",
            micros(row.first),
            micros(row.median),
            micros(row.p99),
            row.allocations
        )
        .unwrap();
    }
    let judged = judged(project.path());
    writeln!(
        table,
        "| allowed, and written into the journal | | {:.1} | {:.1} | |",
        micros(judged.median),
        micros(judged.p99)
    )
    .unwrap();
    println!("{table}");
    let text = format!("{}\n{table}\n{}", INTRODUCTION.trim(), FLOOR.trim_start());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bench/decision.md");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

const INTRODUCTION: &str = "
# What a decision costs

Written by `cargo bench -p stockade`. One call each time, from the words to the ruling, on a warm
file cache; *first call* is the first of a process and reads what it needs of the knowledge base.
The figures are one machine's: compare rows, not machines.
";

const FLOOR: &str = "
The floor is the file system: a decision has to open the program, to stat it and its folder, and
to open every component of every path, each a system call. A list is looked up by hash or by
search in a sorted set, so a denylist of a thousand names costs what one of twenty-four does; only
the first call of a process pays for finding the files behind the names.
";

type Case = (&'static str, Policy, Vec<&'static str>, Decision);

fn cases() -> Vec<Case> {
    let many = || {
        let mut policy = Policy::shipped();
        policy.settings.deny.extend((0..1_000).map(|number| format!("tool-{number}")));
        policy
    };
    let shipped = Policy::shipped;
    vec![
        ("denylist hit: `rm -rf .`", shipped(), vec!["rm", "-rf", "."], Decision::Deny),
        ("allowed: `ls src`", shipped(), vec!["ls", "src"], Decision::Allow),
        ("allowed: `cat src/main.rs`", shipped(), vec!["cat", "src/main.rs"], Decision::Allow),
        (
            "allowed: `git log --format=%h\\|%s`",
            shipped(),
            vec!["git", "log", "--format=%h|%s"],
            Decision::Allow,
        ),
        (
            "inner command: `env A=b timeout 5 rm x`",
            shipped(),
            vec!["env", "A=b", "timeout", "5", "rm", "x"],
            Decision::Deny,
        ),
        ("1,000-entry denylist, hit", many(), vec!["tool-500", "x"], Decision::Deny),
        ("1,000-entry denylist, allowed: `ls src`", many(), vec!["ls", "src"], Decision::Allow),
    ]
}

struct Row {
    first: Duration,
    median: Duration,
    p99: Duration,
    allocations: usize,
}

fn measure(root: &Path, policy: Policy, argv: &[&str], expected: Decision) -> Row {
    let call = &ToolCall::exec(argv.iter().copied());
    let examiner = Examiner::new(Root::open(root).unwrap(), policy);
    let started = Instant::now();
    let first_ruling = examiner.examine(call).ruling;
    let first = started.elapsed();
    assert_eq!(first_ruling.decision, expected, "{:?}: {:?}", call.tool, first_ruling.reason);
    let region = Region::new(ALLOCATOR);
    drop(examiner.examine(call));
    let allocations = region.change().allocations;
    let (median, p99) = spread(ROUNDS, || drop(examiner.examine(call)));
    Row { first, median, p99, allocations }
}

fn judged(root: &Path) -> Row {
    let folder = tempfile::tempdir().unwrap();
    let journal =
        Journal::open(&folder.path().join("journal.jsonl"), Durability::default()).unwrap();
    let gate = Gate::new(Examiner::new(Root::open(root).unwrap(), Policy::shipped()), journal);
    let call = ToolCall::exec(["ls", "src"]);
    let (median, p99) = spread(ROUNDS, || drop(gate.judge(&call)));
    Row { first: Duration::ZERO, median, p99, allocations: 0 }
}
