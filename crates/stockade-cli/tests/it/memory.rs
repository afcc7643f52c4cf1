//! What one long line costs in memory: at most 100 MiB more than its own length.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use serde_json::Value;

use crate::support::Project;

const MIB: usize = 1 << 20;
/// The longest line that is read, but for what stands around the text in it.
const LONG: usize = 16 * MIB - 512;
/// What a line may cost above its length.
const ABOVE: usize = 100 * MIB;

/// A figure of `/proc/PID/status` in bytes; 0 if the process has ended.
fn figure(pid: u32, name: &str) -> usize {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    kib.unwrap_or_default() * 1024
}

/// Has `stockade call` answer a line, and gives the report and the peak of its memory.
fn call(project: &Project, jobs: &str, lines: &[String]) -> (Vec<Value>, usize) {
    let mut command = project.command(&["call", "--mode", "bypass", "--jobs", jobs]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut reports = Vec::new();
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || {
            for line in lines {
                stdin.write_all(line.as_bytes()).and_then(|()| stdin.write_all(b"\n")).unwrap();
            }
            stdin
        });
        for _ in lines {
            let mut report = String::new();
            stdout.read_line(&mut report).unwrap();
            reports.push(serde_json::from_str(&report).unwrap());
        }
        // It waits for the next line now.
        let peak = figure(child.id(), "VmHWM:");
        assert!(peak > 0, "it has ended");
        drop(writer.join().unwrap());
        assert!(child.wait().unwrap().success());
        (reports, peak)
    })
}

/// Has `stockade hook pre` answer an event, and gives what it said on standard error, which is to have these
/// words, and the peak. It cannot print its answer, and so is still there when all is done.
fn hook(project: &Project, event: &str, words: &str) -> (String, usize) {
    fs::write(project.beside("event"), event).unwrap();
    let said = project.beside("said");
    let (_reader, mut full) = std::io::pipe().unwrap();
    let flags = fcntl_getfl(&full).unwrap();
    fcntl_setfl(&full, flags | OFlags::NONBLOCK).unwrap();
    while full.write(&[0; 4096]).is_ok() {}
    fcntl_setfl(&full, flags).unwrap();
    let length = |path| fs::metadata(path).map_or(0, |metadata| metadata.len());
    let before = length(project.journal());
    let is_decided = || length(project.journal()) > before || length(said.clone()) > 0;
    let mut command = project.command(&["hook", "pre"]);
    command.stdin(File::open(project.beside("event")).unwrap());
    let mut child = command.stdout(full).stderr(File::create(&said).unwrap()).spawn().unwrap();
    let begun = Instant::now();
    let (mut peak, mut answered) = (0, None);
    while child.try_wait().unwrap().is_none() {
        // The parent is a copy of the other and shares its memory.
        peak = peak.max(figure(child.id(), "VmHWM:")).max(of_child(child.id()));
        let says = || fs::read_to_string(&said).is_ok_and(|text| text.contains(words));
        if answered.is_none() && is_decided() && says() {
            answered = Some(Instant::now());
        }
        let is_done = answered.is_some_and(|since| since.elapsed() > Duration::from_millis(300));
        if is_done || begun.elapsed() > Duration::from_secs(120) {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let text = fs::read_to_string(&said).unwrap();
    assert!(is_decided() && peak > 0, "nothing was decided: {text} {peak}");
    (text, peak)
}

/// The peak of the process that decides, beneath the one that was started.
fn of_child(parent: u32) -> usize {
    let list = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
    let list = list.unwrap_or_default();
    let child = list.split_whitespace().next().and_then(|pid| pid.parse().ok());
    child.map_or(0, |child| figure(child, "VmHWM:"))
}

/// `[x,x,…]` with so many bytes.
fn list(item: &str, bytes: usize) -> String {
    format!("[{}]", vec![item; bytes / (item.len() + 1)].join(","))
}

/// Fewer than 100,000 values that cost as much as they can: objects in objects.
fn dear() -> String {
    let chain = format!("{}{}{}", "{\"\":".repeat(119), "{}", "}".repeat(119));
    list(&chain, (chain.len() + 1) * 820)
}

fn input(tool: &str, input: &str) -> String {
    format!("{{\"tool\":\"{tool}\",\"input\":{input}}}")
}

fn event(tool: &str, input: &str) -> String {
    format!(
        "{{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"{tool}\",\"tool_input\":{input}}}"
    )
}

/// Inputs of tools, each with a word of what is said to its call.
fn inputs() -> Vec<(&'static str, String, &'static str)> {
    let long = "a".repeat(LONG);
    let half = "a".repeat(LONG / 2);
    let words = format!("[{}]", vec![format!("\"{}\"", "a".repeat(160)); 99_000].join(","));
    vec![
        ("X", format!("{{\"a\":{}}}", list("{\"\":0}", LONG)), "more than 100000 JSON values"),
        ("X", format!("{{\"a\":{}}}", list("0", LONG)), "more than 100000 JSON values"),
        ("X", format!("{{\"a\":{}}}", dear()), "unknown tool"),
        (
            "Bash",
            format!("{{\"command\":\"{long}\"}}"),
            message!("complaint.line-bytes-long-shell"),
        ),
        ("Bash", format!("{{\"command\":\"true\",\"{long}\":1}}"), "unknown field"),
        ("Exec", format!("{{\"argv\":{words}}}"), "argument"),
        ("Write", format!("{{\"file_path\":\"f\",\"content\":\"{long}\"}}"), ""),
        ("Write", format!("{{\"file_path\":\"f\",\"content\":\"b{}\"}}", &long[1..]), ""),
        (
            "Edit",
            format!("{{\"file_path\":\"f\",\"old_string\":\"b{half}\",\"new_string\":\"{half}\"}}"),
            "",
        ),
        ("Read", format!("{{\"file_path\":\"{long}\"}}"), "at most 4096"),
        ("Grep", format!("{{\"pattern\":\"{long}\"}}"), "at most 16384"),
    ]
}

#[test]
fn no_line_costs_a_call_more_than_100_mib_above_its_length() {
    let project = Project::new();
    for (tool, value, said) in inputs() {
        let line = input(tool, &value);
        let length = line.len();
        let (reports, peak) = call(&project, "1", &[line]);
        let report = &reports[0];
        let reason = report["reason"].as_str().unwrap_or_default();
        let reason: String = reason.chars().take(300).collect();
        assert!(reason.contains(said), "{tool}: {reason}");
        assert_eq!(report["ok"], said.is_empty(), "{tool}: {reason}");
        assert!(peak < length + ABOVE, "{tool} {said}: {} MiB", peak / MIB);
    }
}

#[test]
fn many_long_lines_at_once_cost_no_more_than_one() {
    let project = Project::new();
    let line = input("Bash", &format!("{{\"command\":\"{}\"}}", "a".repeat(LONG)));
    let lines = vec![line; 5];
    let (reports, peak) = call(&project, "8", &lines);
    assert!(reports.iter().all(|report| report["rule"] == "shell/too-long"));
    assert!(peak < LONG + ABOVE, "{} MiB", peak / MIB);
}

#[test]
fn no_event_costs_the_hook_more_than_100_mib_above_its_length() {
    let project = Project::new();
    let mut events: Vec<(String, &str)> = Vec::new();
    for (tool, value, said) in inputs() {
        let is_wrong_json = said.contains("JSON");
        events.push((event(tool, &value), if is_wrong_json { said } else { "" }));
    }
    let response = format!(",\"tool_response\":\"{}\"}}", "a".repeat(LONG - 512));
    let ls = event("Bash", "{\"command\":\"ls\"}");
    events.push((format!("{}{response}", ls.strip_suffix('}').unwrap()), ""));
    events.push((event("Bash", &format!("{{\"command\":\"ls\",\"a\":{}}}", dear())), ""));
    events.push((event(&"a".repeat(LONG), "{}"), "at most 256"));
    for (event, said) in events {
        let (told, peak) = hook(&project, &event, said);
        let start: String = event.chars().take(100).collect();
        assert!(told.contains(said), "{start}: {told}");
        assert!(peak < event.len() + ABOVE, "{start}: {} MiB", peak / MIB);
    }
}

/// The other half: without the check the text costs a hundred times its length.
#[test]
fn the_same_text_costs_much_more_where_nobody_counts() {
    const ALONE: &str = "STOCKADE_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        // Other tests of this process take memory and give it back meanwhile.
        let mut alone = Command::new(std::env::current_exe().unwrap());
        alone.args(["--exact", "memory::the_same_text_costs_much_more_where_nobody_counts"]);
        let ran = alone.env(ALONE, "1").output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(ran.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let own = std::process::id();
    let text = list("{\"\":0}", 4 * MIB);
    let before = figure(own, "VmRSS:");
    let built: Value = serde_json::from_str(&text).unwrap();
    let after = figure(own, "VmRSS:");
    assert_eq!(built.as_array().map(Vec::len), Some(4 * MIB / 7));
    assert!(after > before + 150 * MIB, "{} MiB", after.saturating_sub(before) / MIB);
    assert!(stockade::json::from_str::<Value>(&text).is_err());
}

#[test]
fn a_line_without_an_end_is_passed_over_and_the_next_one_runs() {
    let project = Project::new();
    let good = input("Exec", "{\"argv\":[\"echo\",\"good\"]}");
    let lines = ["a".repeat(40 * MIB), good];
    let (reports, peak) = call(&project, "1", &lines);
    assert!(reports[0]["reason"].as_str().unwrap().contains("longer than 16 MiB"));
    assert_eq!(reports[1]["stdout"], "good\n");
    assert!(peak < 16 * MIB + ABOVE, "{} MiB", peak / MIB);
}

#[test]
fn a_key_that_is_there_twice_is_refused_by_call_and_hook() {
    let project = Project::new();
    let doubled = "{\"command\":\"true\",\"comm\\u0061nd\":\"false\"}";
    let (reports, _) = call(&project, "1", &[input("Bash", doubled)]);
    let reason = reports[0]["reason"].as_str().unwrap();
    assert!(reason.contains("duplicate key \"command\" at line 1"), "{reason}");
    let (told, _) = hook(&project, &event("Bash", doubled), "duplicate key");
    assert!(told.contains("duplicate key"), "{told}");
}
