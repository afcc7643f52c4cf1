//! What a short piece of code costs, cold, warm and in a session, beside a bare interpreter, as a
//! table in `docs/bench/code.md`.
//!
//! `cargo bench -p stockade --bench code`; it is no part of the tests. `STOCKADE_BENCH_ROUNDS` (200)
//! says how many rounds, `STOCKADE_BENCH_DOCS` where the table goes.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a benchmark that cannot measure must stop")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]
#![expect(clippy::disallowed_methods, reason = "the bare spawn is what we compare with")]
#![expect(clippy::arithmetic_side_effects, reason = "counts and figures of a few digits")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use stockade::call::Language;
use stockade::{Policy, Stockade, ToolCall};

const INTRODUCTION: &str = "
# What a short piece of code costs

Written by `cargo bench -p stockade --bench code`. What is run prints `1`. The measure is a bare
`python3 -I -c 'print(1)'` (or `node -e`): `posix_spawn`, its output read from a pipe, the wait for its end. A
row of ours is `Stockade::run` as a whole: judged, journalled, boxed, run, reported. All rows of a language are
taken in turn, round by round in one run; a p99 is compared with the p99 of the bare interpreter. Times are one
machine's: compare the ratios.

- *cold*: the interpreter is started in a box that waits.
- *warm*: it was there. Python has forked for the call before it came, and does so again after it; Node is used
  once, and another is started in the background, for which the rounds leave it the time.
- *warm, back to back*: one call right after the other, so that each waits until the box is tidied and the next
  child is forked.
- *session*: a call in an interpreter that keeps what calls leave.
";

fn main() {
    let rounds = std::env::var("STOCKADE_BENCH_ROUNDS").map_or(200, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("project");
    fs::create_dir(&project).unwrap();
    let open = |warm| {
        let policy = Policy { code_warm: warm, ..Policy::shipped() };
        let journal = folder.path().join(format!("journal-{warm}.jsonl"));
        Stockade::open(&project, policy, &journal).unwrap()
    };
    let (cold, warm) = (open(0), open(1));
    let mut text = format!("{}\n{rounds} rounds.\n\n", INTRODUCTION.trim());
    text.push_str("| | median, ms | p99, ms | median, bare = 1 | p99, bare = 1 |\n|---|---:|---:|---:|---:|\n");
    let python =
        Trial::new("/usr/bin/python3", &["-I", "-c", "print(1)"], Language::Python, "print(1)");
    python.measure(&cold, &warm, rounds, &mut text);
    let node =
        Trial::new("/usr/bin/node", &["-e", "console.log(1)"], Language::Node, "console.log(1)");
    if Path::new(node.program).exists() {
        node.measure(&cold, &warm, rounds.div_euclid(2).max(1), &mut text);
    } else {
        println!("skipped: there is no {}", node.program);
    }
    println!("{text}");
    let docs = std::env::var_os("STOCKADE_BENCH_DOCS").map(PathBuf::from);
    let docs =
        docs.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bench"));
    fs::write(docs.join("code.md"), text).unwrap();
}

struct Trial {
    program: &'static str,
    arguments: &'static [&'static str],
    language: Language,
    source: &'static str,
}

impl Trial {
    fn new(
        program: &'static str,
        arguments: &'static [&'static str],
        language: Language,
        source: &'static str,
    ) -> Self {
        Self { program, arguments, language, source }
    }

    fn bare(&self) {
        let mut command = Command::new(self.program);
        command.args(self.arguments).stdin(Stdio::null()).stderr(Stdio::null());
        assert_eq!(command.output().unwrap().stdout, b"1\n");
    }

    fn ours(&self, stockade: &Stockade) {
        let report = stockade.run(ToolCall::code(self.language, self.source));
        assert!(report.ok(), "{report:?}");
    }

    fn in_session(&self, stockade: &Stockade) {
        let call = ToolCall::code(self.language, self.source);
        let report = stockade.run(call.in_session("bench".parse().unwrap()));
        assert!(report.ok(), "{report:?}");
    }

    /// Waits until an interpreter waits, and has come to rest.
    fn settle(&self, stockade: &Stockade) {
        let until = Instant::now() + Duration::from_secs(10);
        while stockade.interpreters().waiting(self.language) == 0 {
            assert!(Instant::now() < until, "no interpreter waits");
            thread::sleep(Duration::from_millis(1));
        }
        let rest = if self.language == Language::Node { 150 } else { 3 };
        thread::sleep(Duration::from_millis(rest));
    }

    /// A call that finds one waiting; on a busy machine some do not.
    fn lent(&self, stockade: &Stockade) -> Duration {
        for _ in 0..50 {
            self.settle(stockade);
            let before = stockade.interpreters().lent();
            let time = timed(|| self.ours(stockade));
            if stockade.interpreters().lent() > before {
                return time;
            }
        }
        panic!("no interpreter waits");
    }

    fn measure(&self, cold: &Stockade, warm: &Stockade, rounds: usize, text: &mut String) {
        for _ in 0..5 {
            self.bare();
            self.ours(cold);
            self.ours(warm);
            self.settle(warm);
        }
        let session = Stockade::open(
            warm.root(),
            Policy { code_warm: 0, ..Policy::shipped() },
            &warm.journal().with_extension("session"),
        )
        .unwrap();
        self.in_session(&session);
        let mut rows = [const { Vec::new() }; 4];
        for _ in 0..rounds {
            let [bare, started, waited, kept] = &mut rows;
            bare.push(timed(|| self.bare()));
            started.push(timed(|| self.ours(cold)));
            waited.push(self.lent(warm));
            kept.push(timed(|| self.in_session(&session)));
        }
        drop(session);
        let name = self.language.name();
        let [bare, started, waited, kept] = rows.map(spread);
        row(text, &format!("bare {name}"), bare, bare);
        row(text, &format!("{name}, cold"), started, bare);
        row(text, &format!("**{name}, warm**"), waited, bare);
        if self.language == Language::Python {
            let close = (0..rounds).map(|_| timed(|| self.ours(warm))).collect();
            row(text, "python, warm, back to back", spread(close), bare);
        }
        row(text, &format!("{name}, in a session"), kept, bare);
    }
}

fn timed(act: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    act();
    begun.elapsed()
}

/// The median and the 99th part in a hundred.
fn spread(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort_unstable();
    let at =
        |part: usize| times.get((times.len() * part).div_euclid(100)).copied().unwrap_or_default();
    (at(50), at(99))
}

fn row(
    text: &mut String,
    name: &str,
    (median, worst): (Duration, Duration),
    bare: (Duration, Duration),
) {
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let ratio = |time: Duration, bare: Duration| time.as_secs_f64() / bare.as_secs_f64();
    writeln!(
        text,
        "| {name} | {:.2} | {:.2} | {:.2} | {:.2} |",
        millis(median),
        millis(worst),
        ratio(median, bare.0),
        ratio(worst, bare.1)
    )
    .unwrap();
}
