//! Nothing runs that the gate has not seen: random lines run in a real bash in the jail, and every
//! program that is executed, as noted outside of the box, is a command that the gate found in the
//! line, or stands behind a part that it marked as known in the run alone.
//!
//! `STOCKADE_DIFFERENTIAL_SEED` and `STOCKADE_DIFFERENTIAL_LINES` choose the lines; a failure says
//! both, and the smallest line that fails in the same way.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::arithmetic_side_effects, reason = "an overflow in a test fails it")]
#![expect(clippy::indexing_slicing, reason = "an index that is wrong fails the test")]
#![expect(clippy::disallowed_methods, reason = "the tests start stockade itself")]

mod choices;
mod compare;
mod grammar;
mod jail;
#[path = "../../../stockade/tests/shared/skip.rs"]
mod skip;
mod trace;
mod trial;

use std::process::Command;

use crate::compare::Claim;
use crate::grammar::{Grammar, Line};
use crate::jail::{BATCH, Jail, Way};
use crate::skip::skip;
use crate::trial::{Tally, is_bash, try_all, try_batch};

const LINES: usize = 3000;
/// Failures that are made as small as they can be, and shown.
const SHOWN_MAX: usize = 5;

fn number_in(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap())
}

fn lines(grammar: &Grammar, seed: u64, count: usize) -> Vec<Line> {
    let count = u64::try_from(count).unwrap();
    (0..count).map(|n| grammar.line(seed.wrapping_mul(1_000_003).wrapping_add(n))).collect()
}

#[test]
fn every_program_that_runs_was_found_or_stands_behind_a_mark() {
    if !can_be_traced() {
        return;
    }
    let seed = number_in("STOCKADE_DIFFERENTIAL_SEED").unwrap_or(1);
    let count =
        number_in("STOCKADE_DIFFERENTIAL_LINES").map_or(LINES, |n| usize::try_from(n).unwrap());
    let grammar = Grammar::new();
    let all = [grammar.each_way(), lines(&grammar, seed, count)].concat();
    let (tally, failures) = try_all(&all, |claim| claim);
    tell(&format!("seed {seed}: {tally}"));
    let shown: Vec<String> =
        failures.iter().take(SHOWN_MAX).map(|failure| failure.smallest(&grammar)).collect();
    assert!(
        failures.is_empty(),
        "seed {seed}, {count} lines: {} run what was not found:\n{}",
        failures.len(),
        shown.join("\n")
    );
    tally.assert_that_it_says_something();
}

/// Lines that are no bash would run nothing, and say nothing.
#[test]
fn most_lines_are_bash() {
    let lines = lines(&Grammar::new(), 4, 300);
    let count = lines.iter().filter(|line| is_bash(&line.text)).count();
    assert!(count * 10 >= lines.len() * 9, "{count} of {}", lines.len());
}

/// The whole way, gate and all, for a few.
#[test]
fn the_same_holds_for_calls_that_pass_the_gate() {
    if !can_be_traced() {
        return;
    }
    let grammar = Grammar::new();
    let jail = Jail::new();
    let lines = lines(&grammar, 2, 2 * BATCH);
    let mut tally = Tally::default();
    for batch in lines.chunks(BATCH) {
        let trials = try_batch(&jail, Way::Called, batch, |claim| claim);
        for trial in &trials {
            assert!(trial.unknown.is_empty(), "{}", trial.told());
            tally.add(trial);
        }
    }
    assert!(tally.found > 50, "{tally}");
}

/// A gate that overlooks what stands in substitutions is found out.
#[test]
fn a_gate_that_is_blind_to_substitutions_fails() {
    if !can_be_traced() {
        return;
    }
    let grammar = Grammar::new();
    for via in ["$(…)", "<(…)", "bash", "eval"] {
        let (_, failures) = try_all(&lines(&grammar, 3, 200), |claim| Claim::blind_to(claim, via));
        assert!(!failures.is_empty(), "nobody misses what is in {via}");
    }
}

fn can_be_traced() -> bool {
    let strace = Command::new("strace").args(["-f", "-o", "/dev/null", "true"]).output();
    if !strace.is_ok_and(|output| output.status.success()) {
        skip("strace", "there is no strace here, or it may not trace");
        return false;
    }
    true
}

#[expect(clippy::print_stderr, reason = "what was tried is told")]
fn tell(text: &str) {
    eprintln!("{text}");
}
