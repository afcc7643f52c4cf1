//! Standard input: closed, or given, whatever the program does with it.

use std::time::{Duration, Instant};

use stockade::limits::ByteCount;

use crate::support::{Project, exec, json, policy, text, unboxed};

#[test]
fn a_call_without_input_reads_the_end_at_once() {
    let project = Project::new();
    let report = project.run(&["cat"]);
    assert_eq!((&report["exit_code"], text(&report, "stdout")), (&0.into(), ""));
}

#[test]
fn ten_megabytes_go_through_a_program() {
    let project = Project::new();
    let policy = policy(|policy| policy.limits.output = ByteCount::mib(16));
    let input: Vec<u8> =
        (0..10_000_000_u32).map(|n| b'a' + u8::try_from(n % 23).unwrap()).collect();
    let report = project.open(policy).run(exec(&["cat"]).with_stdin(input.clone()));
    assert!(report.ok());
    let kept = &report.outcome().unwrap().stdout.bytes;
    assert_eq!(kept.len(), input.len());
    assert!(*kept == input, "the bytes that came out are others");
}

#[test]
fn a_program_that_never_reads_does_not_block() {
    let project = Project::new();
    let start = Instant::now();
    let call = exec(&["sleep", "0.2"]).with_stdin(vec![b'x'; 10_000_000]);
    let report = project.run_with(unboxed(), call);
    assert_eq!(report["exit_code"], 0, "{report}");
    assert!(start.elapsed() < Duration::from_secs(120));
}

#[test]
fn a_program_that_closes_its_input_early_is_not_disturbed() {
    let project = Project::new();
    project.script("early.sh", "read line\nexec <&-\necho got $line\nsleep 0.2\necho done\n");
    let mut input = b"first\n".to_vec();
    input.resize(10_000_000, b'x');
    let call = exec(&["sh", "early.sh"]).with_stdin(input);
    let report = project.run_with(unboxed(), call);
    assert_eq!(report["exit_code"], 0, "{report}");
    assert_eq!(text(&report, "stdout"), "got first\ndone\n");
}

#[test]
fn a_program_that_reads_a_little_and_ends_is_not_waited_for() {
    let project = Project::new();
    let report =
        project.open(unboxed()).run(exec(&["head", "-c", "5"]).with_stdin(vec![b'x'; 5_000_000]));
    let report = json(&report);
    assert_eq!((&report["exit_code"], text(&report, "stdout")), (&0.into(), "xxxxx"));
}
