//! Many calls for different sandboxes, in one process with few descriptors.
//!
//! `ci/long` runs the same with 3,000 calls.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Project, eventually};

/// How many calls run, unless `STOCKADE_MIXED_CALLS` says otherwise.
const CALLS: usize = 300;
/// Each tool of the policy has a sandbox of its own.
const TOOLS: usize = 12;

/// The descriptions of these sandboxes differ in their limits, or in what can be written.
fn policy() -> String {
    let risks = ["", "\"reads\"", "\"writes\"", "\"executes\""];
    let table = |index: usize| {
        let (memory, risk) = (200 + index, risks[index % risks.len()]);
        let tier = if index == 0 { "tier = \"process\"\n" } else { "" };
        format!(
            "[tool.t{index}]\ncommand = [\"cat\"]\nlimits.memory = \"{memory}M\"\n\
             risk = [{risk}]\n{tier}"
        )
    };
    (0..TOOLS).map(table).collect()
}

fn mixed(index: usize) -> Value {
    match index % 8 {
        0 => json!({"tool": "Exec", "input": {"argv": ["true"]}}),
        1 => json!({"tool": "Bash", "input": {"command": "echo a | cat"}, "cwd": "sub"}),
        2 => json!({"tool": "Code", "input": {"language": "bash", "source": "echo 1"}}),
        3 => json!({"tool": "Read", "input": {"file_path": "file"}}),
        4 => json!({"tool": "Code", "input": {"language": "python", "source": "print(1)"}}),
        5 => {
            json!({"tool": "Write", "input": {"file_path": format!("made-{index}"), "content": ""}})
        }
        _ => json!({"tool": format!("t{}", index / 2 % TOOLS), "input": {"n": index}}),
    }
}

/// Two kinds in turn: each used to throw away all that was kept for the other.
fn alternating(index: usize) -> Value {
    if index.is_multiple_of(2) {
        json!({"tool": "Exec", "input": {"argv": ["true"]}})
    } else {
        json!({"tool": "Code", "input": {"language": "bash", "source": "true"}})
    }
}

/// The most that was seen of a process while it ran.
#[derive(Debug, Default)]
struct Peak {
    descriptors: usize,
    processes: usize,
    cgroups: usize,
    seen: BTreeSet<u32>,
}

impl Peak {
    fn look(&mut self, pid: u32) {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
        self.descriptors = self.descriptors.max(open);
        let beneath = beneath(pid);
        self.processes = self.processes.max(beneath.len());
        self.seen.extend(beneath);
        self.cgroups = self.cgroups.max(cgroups_of(pid));
    }
}

/// All processes that descend from this one.
fn beneath(pid: u32) -> Vec<u32> {
    let children = |pid: u32| {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
        lists.flat_map(|list| numbers(&list)).collect::<Vec<u32>>()
    };
    let mut found = children(pid);
    let mut at = 0;
    while let Some(next) = found.get(at).copied() {
        found.extend(children(next));
        at += 1;
    }
    found
}

fn numbers(list: &str) -> Vec<u32> {
    list.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// The cgroups that a process made, which are named after it, in the hierarchies of the first levels.
pub(crate) fn cgroups_of(pid: u32) -> usize {
    fn count(folder: &Path, mark: &str, depth: u32) -> usize {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        folders
            .map(|entry| {
                let is_ours = entry.file_name().to_string_lossy().starts_with(mark);
                let below = if depth > 0 { count(&entry.path(), mark, depth - 1) } else { 0 };
                usize::from(is_ours) + below
            })
            .sum()
    }
    count(Path::new("/sys/fs/cgroup"), &format!("stockade-{pid}-"), 4)
}

/// Runs so many calls with so many descriptors, all of which must go well.
#[expect(clippy::print_stderr, reason = "ci/long shows the figures")]
fn run_all(calls: usize, descriptors: usize, call: fn(usize) -> Value) -> Peak {
    let project = Project::new();
    fs::create_dir(project.path("sub")).unwrap();
    project.write("file", "text\n");
    fs::write(project.beside("policy.toml"), policy()).unwrap();
    let lines: Vec<String> = (0..calls).map(|index| call(index).to_string()).collect();
    fs::write(project.beside("calls"), lines.join("\n")).unwrap();
    let policy = project.beside("policy.toml");
    let input = project.beside("calls");
    let args = ["call", "--jobs", "8", "--mode", "bypass", "--policy"];
    let stockade = project.command(&args);
    let mut limited = Command::new("sh");
    limited.args(["-c", &format!("ulimit -n {descriptors}; exec \"$@\""), "sh"]);
    limited.arg(stockade.get_program()).args(stockade.get_args()).arg(policy).arg(input);
    limited.current_dir(project.path("")).env_clear();
    limited.envs(stockade.get_envs().filter_map(|(name, value)| Some((name, value?))));
    limited.stdout(std::process::Stdio::piped());
    let begun = Instant::now();
    let mut child = limited.spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut peak = Peak::default();
    let reports = std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut text = String::new();
            stdout.read_to_string(&mut text).map(|_| text)
        });
        while child.try_wait().unwrap().is_none() {
            peak.look(child.id());
            std::thread::sleep(Duration::from_millis(20));
        }
        reader.join().unwrap().unwrap()
    });
    assert!(child.wait().unwrap().success());
    let reports: Vec<Value> =
        reports.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let failed: Vec<&Value> = reports.iter().filter(|report| report["ok"] != true).collect();
    assert!(failed.is_empty(), "{} of {calls} failed, such as {}", failed.len(), failed[0]);
    assert_eq!(reports.len(), calls);
    // Nothing is left of it.
    let are_gone = || !peak.seen.iter().any(|pid| is_ours(*pid));
    assert!(eventually(Duration::from_secs(60), are_gone), "processes are left");
    assert_eq!((cgroups_of(child.id()), project.scratch_folders()), (0, Vec::new()));
    peak.seen.clear();
    eprintln!("{calls} calls in {:.1?}: {peak:?}", begun.elapsed());
    peak
}

/// Whether a process with this number is one of a sandbox; numbers are used again.
fn is_ours(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm"))
        .is_ok_and(|name| name.trim_end().starts_with("stockade"))
}

fn calls() -> usize {
    std::env::var("STOCKADE_MIXED_CALLS").ok().and_then(|n| n.parse().ok()).unwrap_or(CALLS)
}

#[test]
fn mixed_calls_for_many_sandboxes_run_with_1024_descriptors() {
    let peak = run_all(calls(), 1024, mixed);
    // Four descriptions of four boxes each, and eight calls.
    assert!(peak.descriptors < 700 && peak.processes < 120 && peak.cgroups < 250, "{peak:?}");
}

#[test]
fn two_kinds_of_calls_in_turn_run_with_512_descriptors() {
    let peak = run_all(calls(), 512, alternating);
    assert!(peak.processes < 120 && peak.cgroups < 250, "{peak:?}");
}

/// With so few descriptors eight calls at once would fail, so that most of them wait.
#[test]
fn calls_wait_where_there_are_few_descriptors() {
    run_all(60, 128, mixed);
}
