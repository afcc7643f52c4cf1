//! What reading and judging a shell line costs, beside the matcher that the project began with, as
//! a table in `docs/bench/lines.md`.
//!
//! `cargo bench -p stockade --bench lines` measures and writes the table; it is no part of the
//! tests.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set up its project must stop")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]
#![expect(clippy::disallowed_methods, reason = "the benchmark starts python3 for the other column")]

#[path = "../timing/spread.rs"]
mod timing;

use std::fmt::Write as _;
use std::hint::black_box;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use stockade::gate::Examiner;
use stockade::inspect::Root;
use stockade::policy::Decision;
use stockade::policy::rules::{Rule, Rules};
use stockade::{Policy, ToolCall};

use timing::{micros, spread};

const ROUNDS: usize = 2_000;

/// Lines as agents write them.
const LINES: [&str; 10] = [
    "ls -la",
    "git status --short",
    "cargo test 2>&1 | tail -20",
    "grep -rn 'fn main' src | head -5",
    "mkdir -p build && cp src/main.rs build/",
    "cd src && for f in *.rs; do wc -l \"$f\"; done | sort -n",
    "git diff $(git merge-base HEAD main) --stat && make -j4 test",
    "cat > notes.md <<'EOF'\n# Notes\n- one\n- two\nEOF",
    "find . -name '*.rs' -not -path './target/*' -exec grep -l TODO {} +",
    "env RUST_LOG=debug timeout 60 bash -c 'cargo build && ./target/debug/app --version'",
];

fn main() {
    let project = tempfile::tempdir().unwrap();
    std::fs::create_dir(project.path().join("src")).unwrap();
    std::fs::write(project.path().join("src/main.rs"), "fn main() {}\n").unwrap();
    let plain = Examiner::new(Root::open(project.path()).unwrap(), Policy::shipped());
    let ruled = Examiner::new(Root::open(project.path()).unwrap(), with_rules());
    let before = matcher();
    let mut table = String::from(
        "| line | read, µs | read and judged, µs | p99, µs | by 1,000 rules, µs | the first matcher in Python, µs |\n\
         |---|---:|---:|---:|---:|---:|\n",
    );
    for (at, line) in LINES.iter().enumerate() {
        let call = ToolCall::line(*line);
        assert_eq!(plain.examine(&call).ruling.decision, Decision::Allow, "{line}");
        let (read, _) = spread(ROUNDS, || drop(black_box(stockade::shell::parse(line))));
        let (judged, worst) = spread(ROUNDS, || drop(black_box(plain.examine(&call))));
        let (by_rules, _) = spread(ROUNDS, || drop(black_box(ruled.examine(&call))));
        let shown = line.replace('|', "\\|").replace('\n', "⏎");
        let other = before.as_ref().and_then(|all| all.get(at));
        let other = other.map_or_else(|| "no python3".to_owned(), |micros| format!("{micros:.1}"));
        writeln!(
            table,
            "| `{shown}` | {:.1} | {:.1} | {:.1} | {:.1} | {other} |",
            micros(read),
            micros(judged),
            micros(worst),
            micros(by_rules)
        )
        .unwrap();
    }
    let mut long = String::new();
    for (name, line) in long_lines() {
        let call = ToolCall::line(line.as_str());
        let started = Instant::now();
        let decision = plain.examine(&call).ruling.decision;
        writeln!(long, "| {name} | {} | {:.0} |", decision.name(), micros(started.elapsed()) / 1e3)
            .unwrap();
    }
    println!("{table}\n{long}");
    let text = format!("{}\n{table}\n{}\n{long}", INTRODUCTION.trim(), LONG.trim());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bench/lines.md");
    std::fs::write(file, text).unwrap();
}

const INTRODUCTION: &str = "
# What a shell line costs

Written by `cargo bench -p stockade --bench lines`. *Read* is from the text to the tree, with the second look; *judged* is all of the
decision: every command found, its program looked up, its words read by the knowledge base, its paths followed, the shell opened. The medians are of
2,000 rounds in one process, after a first. The last column is the matcher of the document that the project began with: three lists of patterns against the
whole text, which finds no command behind the first word.

";

const LONG: &str = "
Lines of 1 MiB, once each; what is not read to its end is refused:

| line | decision | ms |
|---|---|---:|
";

fn with_rules() -> Policy {
    let mut policy = Policy::shipped();
    let deny = (0..500).map(|n| Rule::parse(&format!("Bash(tool-{n} *)"), Decision::Deny));
    let paths = (0..500).map(|n| Rule::parse(&format!("Read(secret-{n}/**)"), Decision::Deny));
    policy.rules = Rules::compile(deny.chain(paths).collect::<Result<_, _>>().unwrap());
    policy
}

fn long_lines() -> Vec<(&'static str, String)> {
    // With what is put around it, still within the longest line that is read.
    let size = 1_048_500_usize;
    let repeat = |part: &str| part.repeat(size.div_euclid(part.len()));
    vec![
        ("one word", format!("echo {}", "a".repeat(size))),
        ("many words", format!("echo {}", repeat("ab "))),
        ("many commands", repeat("ls; ")),
        ("a long pipeline", format!("ls{}", repeat(" | cat"))),
        ("nested substitutions", repeat("$(")),
        ("quotes", repeat("'a'\"b\"")),
        ("a here-document", format!("cat <<'EOF'\n{}EOF\n", repeat("some text\n"))),
        ("braces", format!("echo {}", repeat("{a,b}"))),
    ]
}

/// The medians of the other matcher, where there is a python3.
fn matcher() -> Option<Vec<f64>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/lines/matcher.py");
    let mut python = Command::new("python3")
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let lines = serde_json::to_vec(&LINES).unwrap();
    python.stdin.take()?.write_all(&lines).ok()?;
    serde_json::from_slice(&python.wait_with_output().ok()?.stdout).ok()
}
