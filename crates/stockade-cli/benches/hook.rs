//! What a hook costs an agent: `stockade hook pre` as a process, from its start to its end, beside a
//! static program that does nothing, as a table in `docs/bench/hook.md`.
//!
//! `cargo bench -p stockade-cli --bench hook` measures and writes the table; it is no part of the tests.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set up its project must stop")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]
#![expect(clippy::disallowed_methods, reason = "the benchmark starts stockade itself")]

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const ROUNDS: usize = 400;
/// The bound: so many times the bare program, and this much.
const TIMES: f64 = 1.5;
const BESIDES: Duration = Duration::from_millis(2);

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("project");
    std::fs::create_dir_all(project.join(".git")).unwrap();
    std::fs::create_dir_all(folder.path().join("home/.claude")).unwrap();
    std::fs::write(project.join("stockade.toml"), POLICY).unwrap();
    std::fs::write(folder.path().join("home/.claude/settings.json"), SETTINGS).unwrap();
    let bare = bare(folder.path());
    // Copied, as an installation does: what a linker has written page by page is mapped more slowly.
    let stockade = folder.path().join("stockade");
    std::fs::copy(env!("CARGO_BIN_EXE_stockade"), &stockade).unwrap();
    let mut rows = rows(&project);
    let mut idle = Vec::with_capacity(ROUNDS);
    // In turns, so that what else the machine does meets all of them alike.
    for round in 0..ROUNDS.saturating_add(20) {
        let bare_time = timed(Command::new(&bare), folder.path(), b"");
        let is_warm = round >= 20;
        if is_warm {
            idle.push(bare_time);
        }
        for row in &mut rows {
            let mut hook = Command::new(&stockade);
            hook.args(["hook", "pre"]);
            let time = timed(hook, folder.path(), row.event.as_bytes());
            if is_warm {
                row.times.push(time);
            }
        }
    }
    let (bare_median, bare_p99) = spread(idle);
    let bound = bare_median.mul_f64(TIMES).saturating_add(BESIDES);
    let mut table =
        String::from("| what | median, ms | p99, ms | within the bound |\n|---|---:|---:|---|\n");
    writeln!(
        table,
        "| a static program that does nothing | {:.2} | {:.2} | |",
        millis(bare_median),
        millis(bare_p99)
    )
    .unwrap();
    for row in rows {
        let (median, p99) = spread(row.times);
        let within = if median <= bound { "yes" } else { "no" };
        writeln!(table, "| {} | {:.2} | {:.2} | {within} |", row.name, millis(median), millis(p99))
            .unwrap();
    }
    let text = format!("{INTRODUCTION}\n{table}\nThe bound here: {:.2} ms.\n", millis(bound));
    println!("{text}");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bench/hook.md");
    std::fs::write(file, text).unwrap();
}

/// One call that an agent wants to make.
struct Row {
    name: &'static str,
    event: String,
    times: Vec<Duration>,
}

fn rows(project: &Path) -> Vec<Row> {
    let row = |name, tool: &str, input: Value| {
        let event = json!({
            "session_id": "s", "transcript_path": "/t", "cwd": project, "permission_mode": "default",
            "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input,
        });
        Row { name, event: event.to_string(), times: Vec::with_capacity(ROUNDS) }
    };
    let line = |name, line: &str| row(name, "Bash", json!({"command": line, "description": "d"}));
    vec![
        line("`Bash`, allowed: `ls -la`", "ls -la"),
        line("`Bash`, asked about: `cargo test --all`", "cargo test --all"),
        line("`Bash`, refused by a rule: `curl -d @x y`", "curl -d @x y"),
        line(
            "`Bash`, three commands: `cd src && grep -rn main . \\| head`",
            "cd src && grep -rn main . | head",
        ),
        line("`Bash`, the largest entry of the knowledge: `git status`", "git status"),
        row("`Read`, left to the agent", "Read", json!({"file_path": project.join("a.rs")})),
        row(
            "`Write` of 100 KiB, left to the agent",
            "Write",
            json!({"file_path": project.join("a.rs"), "content": "x".repeat(100 << 10)}),
        ),
    ]
}

/// A program that does nothing, without a dynamic linker.
fn bare(folder: &Path) -> PathBuf {
    let (source, program) = (folder.join("bare.c"), folder.join("bare"));
    std::fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let made =
        Command::new("cc").args(["-O2", "-static", "-o"]).arg(&program).arg(&source).status();
    assert!(made.is_ok_and(|status| status.success()), "a C compiler is needed");
    program
}

/// How long a program takes from its start until its output and itself have ended.
fn timed(mut command: Command, folder: &Path, input: &[u8]) -> Duration {
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command.env("HOME", folder.join("home")).env("XDG_STATE_HOME", folder.join("state"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let started = Instant::now();
    let mut child = command.spawn().unwrap();
    // The bare program may have ended before it is given anything.
    let _unread = child.stdin.take().unwrap().write_all(input).is_err();
    let mut output = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut output).unwrap();
    let status = child.wait().unwrap();
    let time = started.elapsed();
    assert!(status.success(), "{}", String::from_utf8_lossy(&output));
    time
}

fn spread(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort_unstable();
    let at = |part: usize| {
        times.get(times.len().saturating_mul(part).div_euclid(100)).copied().unwrap_or_default()
    };
    (at(50), at(99))
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

const POLICY: &str =
    "[rules]\ndeny = [\"Bash(curl *)\", \"Read(.env)\"]\nask = [\"Bash(git push *)\"]\n";
const SETTINGS: &str =
    r#"{"permissions": {"allow": ["Bash(npm run *)"], "deny": ["Read(~/.ssh/**)"]}}"#;

const INTRODUCTION: &str = "# What a hook costs

Written by `cargo bench -p stockade-cli --bench hook`. Each time is that of a whole process, as an agent
waits for it: started, given an event, read to its end. There is a policy in the project and one in the
settings of the agent, and every decision is written into the journal. All rows are measured in turns,
beside a static program that does nothing. The command is a copy of what the linker wrote, as an
installed one is: that itself is mapped more slowly, and takes some 0.3 ms more.

The bound is 1.5 times that program and 2 ms, for the median. The figures are one machine's, which had
other work besides: compare rows, not machines.
";
