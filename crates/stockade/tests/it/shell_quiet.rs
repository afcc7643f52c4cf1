//! How quiet the gate is on everyday lines, in the shipped policy and the jail: `docs/quiet.md`.
//!
//! `STOCKADE_WRITE_TABLE=1` writes it; else a document that is not up to date fails.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use stockade::policy::{Decision, Policy, Profile};

use crate::shell_judge::{Judged, judge};
use crate::written;

const LINES: &str = include_str!("../data/quiet/lines.jsonl");
/// What `sample.py` draws: a line that is dropped or changed is another file.
const LINES_SHA256: &str = "793aa03df946aa111ec3d0689d3ada5a86c4aadaccb98c65d5d49a9c07aa2fe6";
const LINES_MIN: usize = 300;
/// How many of a hundred lines may be asked about or refused.
const NOISE_MAX: usize = 2;

/// One line of a collection.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    line: String,
    from: String,
    kind: String,
}

fn entries() -> Vec<Entry> {
    LINES.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Every line with its name.
pub(crate) fn lines() -> Vec<(String, String)> {
    let named = |entry: Entry| (format!("{} {}", entry.from, entry.kind), entry.line);
    entries().into_iter().map(named).collect()
}

/// Judges every line in a small project of its own.
fn judged() -> Vec<(Entry, Judged)> {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::write(folder.path().join("README.md"), "# A project\n").unwrap();
    let policy = || Policy { profile: Profile::Contained, ..Policy::shipped() };
    let judge = |entry: Entry| {
        let judged = judge(folder.path(), policy(), None, &entry.line);
        (entry, judged)
    };
    entries().into_iter().map(judge).collect()
}

#[test]
fn the_sample_is_whole() {
    let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(LINES.as_bytes()));
    assert_eq!(digest, LINES_SHA256);
    assert!(entries().len() >= LINES_MIN);
}

#[test]
fn everyday_lines_are_let_through() {
    let all = judged();
    let noisy: Vec<_> = all.iter().filter(|(_, one)| one.decision != Decision::Allow).collect();
    let told: Vec<String> = noisy
        .iter()
        .map(|(entry, one)| format!("{:?}: {:?}: {:?}", one.decision, entry.line, one.reason))
        .collect();
    let (count, of) = (noisy.len(), all.len());
    assert!(count * 100 <= of * NOISE_MAX, "{count} of {of}:\n{}", told.join("\n"));
}

fn document() -> String {
    let all = judged();
    let mut kinds: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for (entry, one) in &all {
        let [allowed, asked, refused] = kinds.entry(&entry.kind).or_default();
        *match one.decision {
            Decision::Allow => allowed,
            Decision::Ask => asked,
            Decision::Deny => refused,
        } += 1;
    }
    let mut text = String::from(ABOUT);
    for (kind, [allowed, asked, refused]) in &kinds {
        writeln!(text, "| {kind} | {allowed} | {asked} | {refused} |").unwrap();
    }
    let sum = |at: fn(&[usize; 3]) -> usize| -> usize { kinds.values().map(at).sum() };
    let [allowed, asked, refused] = [sum(|one| one[0]), sum(|one| one[1]), sum(|one| one[2])];
    writeln!(text, "| all | {allowed} | {asked} | {refused} |").unwrap();
    text.push_str("\n## Asked about or refused\n");
    if asked + refused == 0 {
        text.push_str("\nNone.\n");
    }
    for (entry, one) in all.iter().filter(|(_, one)| one.decision != Decision::Allow) {
        let rule = one.rule.as_deref().unwrap_or("no rule");
        let reason = one.reason.as_deref().unwrap_or("no reason");
        writeln!(text, "\n{}: {}, by {rule}: {reason}\n", entry.from, one.decision.name()).unwrap();
        for line in entry.line.lines() {
            writeln!(text, "    {line}").unwrap();
        }
    }
    text
}

const ABOUT: &str = "\
# How quiet the gate is

Written by `crates/stockade/tests/it/shell_quiet.rs`: every line of `crates/stockade/tests/data/quiet/lines.jsonl`,
judged as a `Bash` call by the shipped policy, in mode `auto` and the jail. Nothing is run.

The lines are 400 that developers wrote down to be run, from public collections: workflow steps, scripts, tests,
package scripts and documentation. `sample.py` beside them draws them with the seed `stockade quiet corpus 4`, none is
dropped, and `ATTRIBUTION.md` names the collections, their versions and what they do not show. At most 2 of 100 may be
asked about or refused.

| kind | allowed | asked | refused |
|---|---|---|---|
";

#[test]
fn the_document_is_up_to_date() {
    written::hold("docs/quiet.md", &document());
}
