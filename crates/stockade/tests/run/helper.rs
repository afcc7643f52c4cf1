//! Supervisors of their own: this test binary, started again with a part to play.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use stockade::limits::ByteCount;
use stockade::{Policy, Stockade, ToolCall};

use crate::support::{Project, json as report_json, unboxed};

const PART: &str = "STOCKADE_TEST_RUN_PART";
const FOLDER: &str = "STOCKADE_TEST_RUN_FOLDER";
const ARGV: &str = "STOCKADE_TEST_RUN_ARGV";
const ANSWER: &str = "STOCKADE_TEST_RUN_ANSWER";

/// A part and where it is played; the helper has a folder for temporary files of its own.
pub(crate) struct Helper {
    command: Command,
    answer: PathBuf,
}

impl Helper {
    /// The helper does `part` in this project with this call.
    pub(crate) fn new(part: &str, project: &Project, argv: &[&str]) -> Self {
        let exe = std::env::current_exe().unwrap();
        Self::by(Command::new(exe), part, project, argv)
    }

    /// The same, but as the user who owns nothing.
    pub(crate) fn as_nobody(part: &str, project: &Project, argv: &[&str]) -> Self {
        let exe = project.beside("test-binary");
        crate::support::copy_program(std::env::current_exe().unwrap(), &exe);
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(exe);
        Self::by(command, part, project, argv)
    }

    fn by(mut command: Command, part: &str, project: &Project, argv: &[&str]) -> Self {
        let answer = project.beside("answer.json");
        command
            .args(["--exact", "helper::plays_the_part_that_it_was_started_for"])
            .env(PART, part)
            .env(FOLDER, project.beside(""))
            .env(ARGV, serde_json::to_string(argv).unwrap())
            .env(ANSWER, &answer)
            .env("TMPDIR", project.beside("tmp"))
            .env("XDG_RUNTIME_DIR", project.runtime())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit());
        Self { command, answer }
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn start(mut self) -> Started {
        Started { child: self.command.spawn().unwrap(), answer: self.answer }
    }

    /// With a pipe to tell it things.
    pub(crate) fn listening(mut self) -> Self {
        self.command.stdin(Stdio::piped());
        self
    }

    /// Plays the part to its end, and gives the answer.
    pub(crate) fn answer(self) -> Value {
        self.start().answer()
    }
}

/// A helper that does not outlive its test.
pub(crate) struct Started {
    child: Child,
    answer: PathBuf,
}

impl Started {
    pub(crate) fn answer(mut self) -> Value {
        assert!(self.child.wait().unwrap().success(), "the helper failed");
        serde_json::from_slice(&std::fs::read(&self.answer).unwrap()).unwrap()
    }

    /// Tells it something, if it listens.
    pub(crate) fn say(&mut self, line: &str) {
        self.child.stdin.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn plays_the_part_that_it_was_started_for() {
    let Some(part) = std::env::var_os(PART) else { return };
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let pid = std::process::id().to_string();
    let argv: Vec<String> = serde_json::from_str(&std::env::var(ARGV).unwrap()).unwrap();
    let argv: Vec<String> = argv.into_iter().map(|word| word.replace("{pid}", &pid)).collect();
    let answer = match part.to_str().unwrap() {
        "run" => run(&folder, unboxed(), &argv),
        "run-boxed" => run(&folder, Policy::shipped(), &argv),
        "control" => control(&folder, &argv),
        "crowd" => crowd(&folder, &argv),
        "flood" => flood(&folder, &argv),
        "idle" => idle(&folder, &argv),
        "rewrite" => rewrite(&folder),
        "cost" => cost(&folder, &argv, 0),
        "cost-large" => cost(&folder, &argv, 1 << 30),
        other => panic!("no such part: {other}"),
    };
    let mut file = std::fs::File::create(std::env::var_os(ANSWER).unwrap()).unwrap();
    file.write_all(answer.to_string().as_bytes()).unwrap();
}

fn open(folder: &Path, policy: Policy) -> Stockade {
    Stockade::open(&folder.join("work"), policy, &folder.join("journal.jsonl")).unwrap()
}

fn run(folder: &Path, policy: Policy, argv: &[String]) -> Value {
    let stockade = open(folder, policy);
    report_json(&stockade.run(ToolCall::exec(argv.iter().cloned())))
}

/// The same call without Stockade.
fn control(folder: &Path, argv: &[String]) -> Value {
    let (program, words) = argv.split_first().unwrap();
    let output =
        Command::new(program).args(words).current_dir(folder.join("work")).output().unwrap();
    json!({
        "exit_code": output.status.code(),
        "stdout": String::from_utf8_lossy(&output.stdout),
        "stderr": String::from_utf8_lossy(&output.stderr),
    })
}

/// 200 calls from 16 threads at once, and what that leaves of descriptors and children.
fn crowd(folder: &Path, argv: &[String]) -> Value {
    let mut policy = unboxed();
    policy.limits.wall = Duration::from_secs(60);
    let stockade = open(folder, policy);
    // The first two calls open what stays open: the second begins to watch for changes.
    for _ in 0..2 {
        assert!(stockade.run(ToolCall::exec(argv.iter().cloned())).ok());
    }
    let before = descriptors();
    let failed: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..200)
            .map(|_| scope.spawn(|| stockade.run(ToolCall::exec(argv.iter().cloned()))))
            .collect();
        let reports = threads.into_iter().map(|thread| thread.join().unwrap());
        reports.filter(|report| !report.ok()).map(|_| 1).sum()
    });
    let own = format!("/proc/self/task/{}/children", std::process::id());
    json!({
        "failed": failed,
        "before": before,
        "after": descriptors(),
        "children": std::fs::read_to_string(own).unwrap_or_default().trim(),
    })
}

/// The threads and children of this process before and after it has opened a Stockade, has had a call
/// refused, and has run one in a jail.
fn idle(folder: &Path, argv: &[String]) -> Value {
    let before = threads_and_children();
    let stockade = open(folder, Policy::shipped());
    let opened = settled(before);
    assert!(stockade.run(ToolCall::exec(argv.iter().cloned())).denied());
    let refused = settled(before);
    for _ in 0..2 {
        stockade.run(ToolCall::exec(["true"]));
    }
    json!({"before": before, "opened": opened, "refused": refused, "ran": threads_and_children()})
}

/// What is there, once that is what is expected. A thread that was just started has no name yet.
fn settled(expected: [usize; 2]) -> [usize; 2] {
    crate::support::eventually(Duration::from_secs(60), || threads_and_children() == expected);
    threads_and_children()
}

fn threads_and_children() -> [usize; 2] {
    let tasks: Vec<PathBuf> =
        std::fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path()).collect();
    let read = |task: &PathBuf, name| std::fs::read_to_string(task.join(name)).unwrap_or_default();
    let children = |task: &PathBuf| read(task, "children").split_whitespace().count();
    // An entry of the journal is brought to the disk by a thread, whatever it says.
    let is_own = |task: &&PathBuf| read(task, "comm").trim() != "journal-flush";
    [tasks.iter().filter(is_own).count(), tasks.iter().map(children).sum()]
}

/// Writes one file again and again, until it is killed.
fn rewrite(folder: &Path) -> Value {
    let stockade = open(folder, unboxed());
    loop {
        for letter in ["a", "b"] {
            assert!(stockade.run(ToolCall::write("f", letter.repeat(300_000))).ok());
        }
    }
}

fn descriptors() -> Vec<String> {
    let mut all: Vec<String> = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .map(|target| target.display().to_string())
        .filter(|target| !target.contains("/fd"))
        .collect();
    all.sort();
    all
}

/// How far the peak of our memory moves while a program floods us for a second.
fn flood(folder: &Path, argv: &[String]) -> Value {
    let mut policy = unboxed();
    policy.limits.wall = Duration::from_secs(1);
    policy.limits.flood = ByteCount::gib(1024);
    let stockade = open(folder, policy);
    assert!(stockade.run(ToolCall::exec(["true"])).ok());
    let before = peak_kib();
    let report = stockade.run(ToolCall::exec(argv.iter().cloned()));
    let seen = report.outcome().unwrap().stdout.seen;
    json!({"growth_kib": peak_kib().saturating_sub(before), "seen": seen, "report": report})
}

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Makes one call for each line that comes in, from a host that holds this much memory, and
/// answers each with the microseconds it took.
fn cost(folder: &Path, argv: &[String], ballast_bytes: usize) -> Value {
    let mut ballast = vec![0_u8; ballast_bytes];
    for page in ballast.chunks_mut(4096) {
        page.fill(1);
    }
    let stockade = open(folder, unboxed());
    let mut answers = std::fs::File::create(folder.join(format!("cost-{ballast_bytes}"))).unwrap();
    for line in std::io::stdin().lines() {
        line.unwrap();
        let start = Instant::now();
        let ran = stockade.run(ToolCall::exec(argv.iter().cloned())).ok();
        writeln!(answers, "{} {ran}", start.elapsed().as_micros()).unwrap();
    }
    json!({"resident": std::hint::black_box(&ballast).len()})
}
