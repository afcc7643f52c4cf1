//! What a registered tool costs through `stockade call`: a thousand calls of `cat` as a tool of the
//! policy in the jail, beside `Exec` of the same and beside a bare spawn, as a table in
//! `docs/bench/tools.md`.
//!
//! `cargo bench -p stockade-cli --bench tools` measures and writes the table; it is no part of the tests.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set up its project must stop")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]
#![expect(clippy::disallowed_methods, reason = "the benchmark starts stockade itself")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const CALLS: u32 = 1000;
const JOBS: [usize; 3] = [1, 2, 8];
/// The rows are taken in turns; the best turn of each is told, since others use the machine too.
const TURNS: usize = 3;

const POLICY: &str = "[tool.echo]\ncommand = [\"cat\"]\ntier = \"jail\"\n[tool.echo.input]\n\
    type = \"object\"\nrequired = [\"n\"]\nproperties.n.type = \"integer\"\n";

const INTRODUCTION: &str = "# What a registered tool costs

Written by `cargo bench -p stockade-cli --bench tools`: a thousand calls of `cat` through one `stockade call`,
from its start to its end. The tool is `[tool.echo]` of a policy, in the jail: its input is held to a schema,
given as JSON on standard input, and its answer is read as JSON. Beside it `Exec` of the same program with the
same input, and a loop that starts `cat` bare, on as many threads as there are jobs. All reports of the tool come
back in order and with the right answer, which is asserted. The best of three turns each; compare rows, not
machines.

";

fn main() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["work", "home", "state", "tmp"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    std::fs::write(folder.path().join("policy.toml"), POLICY).unwrap();
    let tool = |n: u32| json!({"tool": "echo", "input": {"n": n}});
    let exec = |n: u32| {
        let stdin = format!("{}\n", json!({ "n": n }));
        json!({"tool": "Exec", "input": {"argv": ["cat"], "stdin": stdin}})
    };
    let rows: [(&str, &dyn Fn(usize) -> Duration); 3] = [
        ("the registered tool, in the jail", &|jobs| called(folder.path(), jobs, &tool, &answered)),
        ("`Exec` of `cat`, in the jail", &|jobs| called(folder.path(), jobs, &exec, &printed)),
        ("a bare spawn of `cat`", &bare),
    ];
    let mut best = [[Duration::MAX; JOBS.len()]; 3];
    for _turn in 0..TURNS {
        for (row, times) in rows.iter().zip(&mut best) {
            for (jobs, time) in JOBS.iter().zip(times) {
                *time = (*time).min((row.1)(*jobs));
            }
        }
    }
    let mut table =
        String::from("| calls a second | 1 job | 2 jobs | 8 jobs |\n|---|---:|---:|---:|\n");
    for (row, times) in rows.iter().zip(&best) {
        let cells = times.map(|time| format!("{:.0}", f64::from(CALLS) / time.as_secs_f64()));
        writeln!(table, "| {} | {} |", row.0, cells.join(" | ")).unwrap();
    }
    let load = std::fs::read_to_string("/proc/loadavg").unwrap();
    let load = load.split(' ').next().unwrap_or_default();
    let processors = std::thread::available_parallelism().unwrap();
    let text = format!(
        "{INTRODUCTION}{table}\n{CALLS} calls a cell, {processors} processors, load {load} at the end.\n"
    );
    println!("{text}");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bench/tools.md");
    std::fs::write(file, text).unwrap();
}

/// Runs all calls through one process, and checks every report in its place.
fn called(
    folder: &Path,
    jobs: usize,
    call: &dyn Fn(u32) -> Value,
    is_right: &dyn Fn(u32, &Value) -> bool,
) -> Duration {
    let lines: String = (0..CALLS).map(|n| call(n).to_string() + "\n").collect();
    std::fs::write(folder.join("calls"), lines).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_stockade"));
    command.args(["call", "--jobs", &jobs.to_string(), "--policy"]).arg(folder.join("policy.toml"));
    command.arg(folder.join("calls")).current_dir(folder.join("work")).env_clear();
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", folder.join("home"));
    command.env("XDG_STATE_HOME", folder.join("state")).env("TMPDIR", folder.join("tmp"));
    let started = Instant::now();
    let output = command.output().unwrap();
    let time = started.elapsed();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), usize::try_from(CALLS).unwrap());
    for (n, line) in (0..CALLS).zip(text.lines()) {
        assert!(is_right(n, &serde_json::from_str(line).unwrap()), "{n}: {line}");
    }
    time
}

fn answered(n: u32, report: &Value) -> bool {
    report.get("result") == Some(&json!({ "n": n }))
}

fn printed(n: u32, report: &Value) -> bool {
    report.get("stdout") == Some(&format!("{}\n", json!({ "n": n })).into())
}

fn bare(jobs: usize) -> Duration {
    let next = AtomicU32::new(0);
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _job in 0..jobs {
            scope.spawn(|| {
                while next.fetch_add(1, Ordering::Relaxed) < CALLS {
                    let mut cat = Command::new("cat");
                    cat.stdin(Stdio::piped()).stdout(Stdio::piped());
                    let mut child = cat.spawn().unwrap();
                    child.stdin.take().unwrap().write_all(b"{\"n\":1}\n").unwrap();
                    assert!(child.wait_with_output().unwrap().status.success());
                }
            });
        }
    });
    started.elapsed()
}
