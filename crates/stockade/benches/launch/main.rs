//! What a launch costs beside a bare spawn of the same program and beside other tools, as tables in
//! `docs/bench/launch.md` and a chart beside it.
//!
//! `cargo bench -p stockade --bench launch` measures everything; it is no part of the tests. It works
//! for root and for an ordinary user, and each has a section of the document. Variables:
//!
//! - `STOCKADE_BENCH_ROUNDS` (300) and `STOCKADE_BENCH_MILLIS` (2000, for each throughput);
//! - `STOCKADE_BENCH_PARTS`: only these, as `launches,throughput`; then nothing is written;
//! - `STOCKADE_BENCH_DOCS`: the folder that the document is in, for a user who cannot write to it;
//! - `STOCKADE_BENCH_SECTION`: the section's name;
//! - `STOCKADE_BENCH_BINARY`, `STOCKADE_BENCH_GLIBC_BINARY`: the `stockade` to measure, for a copy of this
//!   program.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a benchmark that cannot measure must stop")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its tables")]
#![expect(clippy::disallowed_methods, reason = "the bare spawn is what we compare with")]
#![expect(clippy::indexing_slicing, reason = "fixed tables of a few rows")]
#![expect(clippy::arithmetic_side_effects, reason = "counts and figures of a few digits")]

mod chart;
mod command;
mod deadline;
mod document;
mod floor;
mod ground;
mod host;
mod launches;
mod parts;
mod peers;
mod role;
mod spare;
mod stats;
mod table;
mod throughput;
mod waiting;
mod work;

use std::fmt::Write as _;

use crate::ground::Ground;
use crate::launches::{BARE, Launches};
use crate::peers::BUBBLEWRAP;
use crate::role::Busy;
use crate::stats::{Row, Spread, in_turn, rounds};
use crate::table::Measures;

/// A part of the measurements: its name, its heading, and what it writes.
type Part = (&'static str, &'static str, fn(&Ground) -> String);

const PARTS: [Part; 7] = [
    ("launches", "", measure_launches),
    ("throughput", "Several in flight", throughput::measure),
    ("host", "A large host", host::measure),
    ("work", "Work in the box", work::measure),
    ("deadline", "From the deadline to the end", deadline::measure),
    ("waiting", "Memory of a box that waits", waiting::measure),
    ("parts", "What each part of a box costs", parts::measure),
];

fn main() {
    if role::play() {
        return;
    }
    let wanted = wanted_parts();
    let is_wanted =
        |name: &str| wanted.as_ref().is_none_or(|some| some.split(',').any(|one| one == name));
    command::build();
    std::fs::create_dir_all(document::folder()).unwrap();
    let (ground, mut text) = (Ground::new(), document::machine(rounds()));
    for (_, heading, measure) in PARTS.into_iter().filter(|(name, ..)| is_wanted(name)) {
        let part = measure(&ground);
        let part = if heading.is_empty() { part } else { format!("### {heading}\n\n{part}") };
        println!("{part}");
        write!(text, "\n\n{}", part.trim()).unwrap();
    }
    if wanted.is_some() {
        println!("not written: only some parts were measured");
    } else {
        document::write(&document::section(), &text);
    }
}

/// The parts that are named; none if all are wanted, and only then is anything written.
fn wanted_parts() -> Option<String> {
    std::env::var("STOCKADE_BENCH_PARTS").ok()
}

/// Launches of everything, idle and with all processors busy; draws the chart too.
fn measure_launches(ground: &Ground) -> String {
    let mut all = launches::all(ground);
    let idle = turns(&mut all);
    let measures = Measures::of(&idle, BARE, BUBBLEWRAP);
    let busy = Busy::begin().map(|_busy| turns(&mut all));
    let busy = busy.map_or_else(
        || "not measured: this process runs before all ordinary ones\n".to_owned(),
        |busy| table::launches(&busy, &Measures::of(&busy, BARE, BUBBLEWRAP)).to_string(),
    );
    let section = document::section();
    let name = document::chart_name(&section);
    if wanted_parts().is_none() {
        let chart = chart::draw(&idle, &measures, &section);
        std::fs::write(document::folder().join(&name), chart).unwrap();
    }
    let apart = all.apart.iter().map(|one| {
        format!("{}: measured in turns of its own, for it mounts on the host", one.rows[0].name)
    });
    let missing = all.missing.iter().map(|line| format!("not measured here: {line}"));
    let notes: Vec<String> = apart.chain(missing).map(|line| format!("- {line}\n")).collect();
    let notes = notes.concat();
    format!(
        "### Idle\n\n{}\n![What a launch costs]({name})\n\n{notes}\n### With all processors busy\n\n{busy}",
        table::launches(&idle, &measures),
    )
}

/// Measures all that can be measured in turn, then the others.
fn turns(all: &mut Launches<'_>) -> Vec<(Row, Spread)> {
    let mut rows = in_turn(&mut all.together, rounds());
    rows.extend(in_turn(&mut all.apart, rounds()));
    rows
}
