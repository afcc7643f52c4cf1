//! How long a tree lives beyond its deadline.

use std::fs;
use std::time::Duration;

use stockade::report::Body;
use stockade::tier::Tier;
use stockade::{Policy, ToolCall};

use crate::ground::{Ground, in_tier};
use crate::stats::{Spread, rounds, timed};
use crate::table::{Table, at_most, millis};

const MOST: Duration = Duration::from_millis(50);
const WALL: Duration = Duration::from_millis(400);
/// The name by which what is left of a tree would be found.
const SLEEP: &str = "98765.4321";
const TREE: &str = "#!/bin/sh
for one in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 \
26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50; do
  sleep 98765.4321 &
done
: > all-started
wait
";

pub(crate) fn measure(ground: &Ground) -> String {
    let project = ground.folder("tree");
    fs::write(project.join("tree.sh"), TREE).unwrap();
    let head = [
        "deadline of a tree of 50 processes",
        "to the end of the tree, ms",
        "p99, ms",
        "to the report, launch counted too, ms",
        "p99, ms",
        "≤ 50 ms",
    ];
    let mut table = Table::new(&head);
    for tier in [Tier::Process, Tier::Jail] {
        let mut policy: Policy = in_tier(tier);
        policy.limits.wall = WALL;
        let stockade = ground.open_at(&project, &format!("deadline-{tier}"), policy);
        let (mut ends, mut reports, mut whole_trees) = (Vec::new(), Vec::new(), 0);
        for _round in 0..rounds().div_ceil(3) {
            let mut report = None;
            let call = ToolCall::exec(["/bin/sh", "tree.sh"]);
            let whole = timed(|| report = Some(stockade.run(call)));
            let report = report.unwrap();
            assert!(report.timed_out(), "{report:?}");
            assert_eq!(alive(), 0, "a process outlived its report");
            let Body::Ran(outcome) = report.body else { panic!("it timed out, so it ran") };
            whole_trees += usize::from(fs::remove_file(project.join("all-started")).is_ok());
            ends.push(outcome.usage.wall.saturating_sub(WALL));
            reports.push(whole.saturating_sub(WALL));
        }
        // On a busy machine some have not started all by then.
        let name = format!("{tier} (all 50 in {whole_trees} of {} runs)", ends.len());
        let (end, report) = (Spread::of(ends), Spread::of(reports));
        table.row([
            name,
            millis(end.median),
            millis(end.p99),
            millis(report.median),
            millis(report.p99),
            at_most(end.p99.as_secs_f64(), MOST.as_secs_f64()),
        ]);
    }
    table.to_string()
}

/// How many processes of a tree there still are.
fn alive() -> usize {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.windows(SLEEP.len()).any(|part| part == SLEEP.as_bytes())).count()
}
