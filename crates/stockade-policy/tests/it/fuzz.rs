//! Runs the functions of the fuzz targets over their seeds, and over changed copies of them.

#[path = "../../../../fuzz/src/targets.rs"]
mod targets;

#[path = "../../../../fuzz/src/copies.rs"]
mod copies;

use copies::{Numbers, changed, seeds};

/// Runs a check over the seeds and so many changed copies.
fn run(target: &str, copies: usize, check: impl Fn(&[u8])) {
    let seeds = seeds(target);
    assert!(seeds.len() >= 3, "{target}");
    for seed in &seeds {
        check(seed);
    }
    let mut numbers = Numbers::new();
    for _ in 0..copies {
        check(&changed(&seeds, &mut numbers));
    }
}

#[test]
fn any_shell_line_is_answered() {
    run("parse", 3_000, |bytes| targets::parse(&String::from_utf8_lossy(bytes)));
}

#[test]
fn any_text_of_a_rule_is_answered() {
    run("rule", 3_000, |bytes| targets::rule(&String::from_utf8_lossy(bytes)));
}

#[test]
fn any_policy_file_is_answered() {
    run("policy", 500, |bytes| targets::policy(&String::from_utf8_lossy(bytes)));
}

#[test]
fn any_json_of_a_hook_is_answered() {
    run("hook", 3_000, targets::hook);
}
