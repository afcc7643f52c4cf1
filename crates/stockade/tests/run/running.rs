//! Calls that are started and not waited for at once: their output as it comes, input while they run,
//! cancelling and dropping. Nothing here depends on how long anything takes: the test and the program
//! answer each other.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use stockade::journal::audit;
use stockade::limits::ByteCount;
use stockade::{OutputEvent, Policy, Running, Stockade, ToolCall};

use crate::helper::Helper;
use crate::support::{
    Project, eventually, exec, json, marked, marker, policy, skip, tell, text, unboxed,
};

/// The tiers whose programs run here, each with a project of its own.
fn tiers() -> Vec<(Project, Policy)> {
    let mut tiers = vec![(Project::new(), unboxed())];
    let project = Project::new();
    let report = project.run_with(Policy::shipped(), exec(&["true"]));
    if report["ok"] == true {
        tiers.push((project, Policy::shipped()));
    } else {
        skip("userns", &format!("no box can be made here: {}", report["failure"]["message"]));
    }
    tiers
}

fn start(stockade: &Stockade, call: ToolCall) -> Running {
    stockade.start(call).map_err(|report| report.reason()).unwrap()
}

/// Reads standard output until it ends with this.
#[track_caller]
fn read_until(running: &Running, end: &str) -> String {
    let mut read = Vec::new();
    while !read.ends_with(end.as_bytes()) {
        let event = running.next_event().unwrap();
        assert!(matches!(event, OutputEvent::Stdout(_)), "{event:?}");
        read.extend(event.bytes());
    }
    String::from_utf8(read).unwrap()
}

/// How many bytes it writes until its end.
fn length_of_output(running: &Running) -> u64 {
    let length: usize = running.events().map(|event| event.bytes().len()).sum();
    length.try_into().unwrap()
}

/// Whether two reports on the same call differ only in what each run has for itself.
#[track_caller]
fn assert_same(one: &stockade::Report, other: &stockade::Report) {
    let (one, other) = (json(one), json(other));
    for (field, value) in other.as_object().unwrap() {
        if !["call", "duration_ms", "usage"].contains(&field.as_str()) {
            assert_eq!(&one[field], value, "{field}");
        }
    }
    assert_eq!(one.as_object().unwrap().len(), other.as_object().unwrap().len());
}

#[test]
fn output_comes_while_the_program_runs_and_input_reaches_it() {
    for (project, policy) in tiers() {
        project.script("ask.sh", "while read word; do echo \"got $word\"; done; echo end >&2\n");
        let stockade = project.open(policy);
        let running = start(&stockade, exec(&["sh", "ask.sh"]).with_open_stdin());
        // Each answer is there before the program gets more, so that it cannot have ended.
        for word in ["one", "two", "three"] {
            running.write_stdin(format!("{word}\n").as_bytes()).unwrap();
            assert_eq!(read_until(&running, "\n"), format!("got {word}\n"));
            assert!(!running.is_over());
        }
        running.close_stdin();
        assert_eq!(running.next_event(), Some(OutputEvent::Stderr(b"end\n".to_vec())));
        assert_eq!(running.next_event(), None);
        let report = json(&running.wait());
        assert_eq!(text(&report, "stdout"), "got one\ngot two\ngot three\n");
        assert_eq!((text(&report, "stderr"), &report["ok"]), ("end\n", &true.into()), "{report}");
    }
}

#[test]
fn input_of_the_call_comes_before_what_is_written() {
    let project = Project::new();
    let stockade = project.open(unboxed());
    let running = start(&stockade, exec(&["cat"]).with_stdin("first ").with_open_stdin());
    assert_eq!(read_until(&running, "first "), "first ");
    running.write_stdin(b"second").unwrap();
    running.close_stdin();
    assert_eq!(read_until(&running, "second"), "second");
    assert!(running.write_stdin(b"third").is_err(), "it is closed");
    assert!(running.wait().ok());
}

#[test]
fn a_call_whose_input_is_not_open_takes_none() {
    let project = Project::new();
    let stockade = project.open(unboxed());
    let running = start(&stockade, exec(&["cat"]));
    assert!(running.write_stdin(b"x").is_err());
    assert_eq!(running.next_event(), None);
    assert_eq!(json(&running.wait())["stdout"], "");
    // Run to its end, a call with an open input has nobody who writes.
    assert!(stockade.run(exec(&["cat"]).with_open_stdin()).ok());
}

#[test]
fn a_shell_with_an_open_input_is_judged_as_one_that_reads_code() {
    let project = Project::new();
    let stockade = project.open(unboxed());
    let given = stockade.run(exec(&["sh"]).with_stdin("echo hello"));
    let open = stockade.start(exec(&["sh"]).with_open_stdin()).unwrap_err();
    assert!(given.denied(), "the control: {:?}", given.reason());
    assert_eq!(json(&given)["rule"], json(&open)["rule"]);
}

#[test]
fn a_program_that_reads_no_more_ends_what_is_written() {
    for (project, policy) in tiers() {
        project.script("deaf.sh", "exec <&-\necho deaf\nwhile :; do sleep 600; done\n");
        let stockade = project.open(policy);
        let running = start(&stockade, exec(&["sh", "deaf.sh"]).with_open_stdin());
        read_until(&running, "deaf\n");
        let piece = [b'x'; 4096];
        let refused = (0..1000).any(|_| running.write_stdin(&piece).is_err());
        assert!(refused && !running.is_over(), "four megabytes went to nobody");
    }
}

#[test]
fn waiting_after_the_events_gives_the_report_that_running_gives() {
    for (project, policy) in tiers() {
        project.script("some.sh", "echo out; echo err >&2; seq 20000; exit 3\n");
        let stockade = project.open(policy);
        let call = || exec(&["sh", "some.sh"]);
        // A script that was just written may count as changed by the first run.
        stockade.run(call());
        let whole = stockade.run(call());
        let read = start(&stockade, call());
        let length = length_of_output(&read);
        let outcome = whole.outcome().unwrap();
        assert_eq!(length, outcome.stdout.seen + outcome.stderr.seen);
        assert_same(&read.wait(), &whole);
        assert_same(&start(&stockade, call()).wait(), &whole);
    }
}

#[test]
fn what_does_not_run_has_its_report_at_once() {
    let project = Project::new();
    let stockade = project.open(unboxed());
    assert!(stockade.start(exec(&["rm", "-rf", "."])).unwrap_err().denied());
    let missing = stockade.start(exec(&["not-there-at-all"])).unwrap_err();
    assert_eq!(missing.exit_code(), Some(127));
    let read = start(&stockade, ToolCall::glob("*"));
    assert!(read.wait().ok(), "a file tool");
}

const TREE: &str = "trap '' TERM HUP INT\nsleep $1 &\nsetsid sleep $1 &\n\
                    (nohup setsid sleep $1 >/dev/null 2>&1 &)\necho ready\nsleep $1\n";

/// A tree that does not end by itself, and is all there.
fn tree(project: &Project, stockade: &Stockade, marker: &str) -> Running {
    project.script("tree.sh", TREE);
    let running = start(stockade, exec(&["sh", "tree.sh", marker]));
    read_until(&running, "ready\n");
    let all = eventually(Duration::from_secs(60), || marked(marker).len() >= 5);
    assert!(all, "{:?}", marked(marker));
    running
}

/// The last record of the journal.
fn last_record(project: &Project) -> Value {
    let journal = fs::read_to_string(project.journal()).unwrap();
    serde_json::from_str(journal.lines().next_back().unwrap()).unwrap()
}

#[test]
fn a_call_that_is_cancelled_ends_with_its_whole_tree_and_says_so() {
    for (project, policy) in tiers() {
        let (stockade, marker) = (project.open(policy), marker());
        let running = tree(&project, &stockade, &marker);
        running.canceller().cancel();
        assert_eq!(running.next_event(), None);
        let report = running.wait();
        assert!(marked(&marker).is_empty(), "when the report is there, nothing runs");
        assert!(report.is_cancelled() && !report.ok() && !report.timed_out());
        let report = json(&report);
        assert_eq!((&report["limit"], &report["signal"]), (&"cancelled".into(), &9.into()));
        assert!(
            text(&report, "reason").starts_with(message!("report.cancelled-caller")),
            "{report}"
        );
        let record = last_record(&project);
        assert_eq!(record["limit"], "cancelled", "{record}");
        assert!(audit::verify(&project.journal()).is_ok());
    }
}

#[test]
fn a_call_that_is_dropped_ends_with_its_whole_tree_and_is_on_record() {
    for (project, policy) in tiers() {
        let (stockade, marker) = (project.open(policy), marker());
        drop(tree(&project, &stockade, &marker));
        assert!(marked(&marker).is_empty(), "nothing runs after the drop");
        let record = last_record(&project);
        assert_eq!((&record["limit"], &record["signal"]), (&"cancelled".into(), &9.into()));
    }
}

#[test]
fn a_program_that_ended_by_itself_is_not_cancelled_any_more() {
    let project = Project::new();
    let stockade = project.open(unboxed());
    let running = start(&stockade, exec(&["echo", "done"]));
    assert!(eventually(Duration::from_secs(60), || running.is_over()));
    running.cancel();
    assert!(running.wait().ok());
    assert_eq!(last_record(&project)["limit"], Value::Null);
}

#[test]
fn a_call_can_be_cancelled_while_its_reader_waits_in_another_thread() {
    let project = Project::new();
    let stockade = project.open(unboxed());
    let running = start(&stockade, exec(&["sleep", &marker()]));
    let canceller = running.canceller();
    let reader = std::thread::spawn(move || {
        let events = running.events().count();
        (events, running.wait())
    });
    canceller.cancel();
    let (events, report) = reader.join().unwrap();
    assert_eq!((events, report.is_cancelled()), (0, true));
}

#[test]
fn the_deadline_holds_while_nobody_reads_and_memory_stays_bounded() {
    let flood = "head -c 1073741824 /dev/zero; echo never\n";
    for (project, base) in tiers() {
        project.script("flood.sh", flood);
        let mut policy = policy(|policy| policy.limits.flood = ByteCount::gib(4));
        (policy.tier, policy.limits.wall) = (base.tier, Duration::from_secs(3));
        let stockade = project.open(policy);
        let before = resident_kib();
        let running = start(&stockade, exec(&["sh", "flood.sh"]));
        assert!(eventually(Duration::from_secs(60), || running.is_over()), "the deadline");
        let grown = resident_kib().saturating_sub(before);
        tell(&format!("a caller that does not read costs {grown} KiB"));
        assert!(grown < 32 << 10, "{grown} KiB");
        // What waited is still there for a late reader, and is the start of the output.
        let waited: usize = running.events().map(|event| event.bytes().len()).sum();
        assert!((256 << 10..2 << 20).contains(&waited), "{waited}");
        let report = running.wait();
        assert!(report.timed_out(), "{:?}", report.reason());
        assert!(report.outcome().unwrap().stdout.seen < 4 << 20, "the program had to wait");
    }
}

#[test]
fn a_reader_gets_all_of_a_gibibyte_in_bounded_memory() {
    let project = Project::new();
    project.script("flood.sh", "head -c 1073741824 /dev/zero\n");
    let stockade = project.open(policy(|policy| policy.limits.flood = ByteCount::gib(4)));
    let before = resident_kib();
    let running = start(&stockade, exec(&["sh", "flood.sh"]));
    assert_eq!(length_of_output(&running), 1 << 30);
    assert!(resident_kib().saturating_sub(before) < 32 << 10);
    assert!(running.wait().ok());
}

#[test]
fn many_calls_of_one_stockade_run_at_once_and_outlive_it() {
    let project = Project::new();
    let stockade = Arc::new(project.open(unboxed()));
    let all: Vec<Running> =
        (0..8).map(|_| start(&stockade, exec(&["cat"]).with_open_stdin())).collect();
    drop(stockade);
    for (number, running) in all.iter().enumerate() {
        running.write_stdin(format!("{number}\n").as_bytes()).unwrap();
        assert_eq!(read_until(running, "\n"), format!("{number}\n"));
    }
    assert!(all.into_iter().all(|running| running.wait().ok()));
}

#[test]
fn opening_and_refusing_start_no_thread_and_no_process() {
    let project = Project::new();
    let counts = Helper::new("idle", &project, &["rm", "-rf", "."]).answer();
    assert_eq!(counts["opened"], counts["before"], "{counts}");
    assert_eq!(counts["refused"], counts["before"], "{counts}");
    // The control: a call that runs in a jail leaves what waits for the next.
    if project.run_with(Policy::shipped(), exec(&["true"]))["ok"] == true {
        assert_ne!(counts["ran"], counts["before"], "{counts}");
    }
}

/// The memory of this process that is in RAM.
fn resident_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
