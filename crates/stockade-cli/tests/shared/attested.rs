//! What kept each guarantee of a run, by tier and by what the machine has.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

use super::{file, sections, skip};

/// What `doctor --json` found, as far as enforcement depends on it.
pub(crate) fn class(doctor: &Value, who: &str) -> String {
    let mut class = who.to_owned();
    for one in doctor["mechanisms"].as_array().unwrap() {
        let (name, found) = (one["mechanism"].as_str().unwrap(), one["found"].as_str().unwrap());
        match (one["works"] == true, found) {
            (false, _) => write!(class, ", no {name}").unwrap(),
            (true, "works") => {}
            (true, found) => write!(class, ", {name} {found}").unwrap(),
        }
    }
    class
}

/// A line for each guarantee of a report: how well it was kept, and by what.
pub(crate) fn kept(report: &Value) -> String {
    if let Some(failure) = report["failure"].as_object() {
        return format!("fails for {}\n", failure["guarantee"]);
    }
    let line = |one: &Value| {
        let by: Vec<&str> =
            one["by"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let note = if one.get("note").is_some() { " +note" } else { "" };
        let (guarantee, kept) = (one["guarantee"].as_str().unwrap(), one["kept"].as_str().unwrap());
        format!("{guarantee} {kept} [{}]{note}\n", by.join(" "))
    };
    report["enforcement"].as_array().unwrap().iter().map(line).collect()
}

/// Holds what was found on this machine, `class: tier` each, to a golden file that has sections for
/// other machines too.
#[track_caller]
pub(crate) fn hold(name: &str, mut found: BTreeMap<String, String>) {
    let class = |heading: &str| heading.split(": ").next().unwrap_or_default().to_owned();
    let golden = file::read(name);
    let known: Vec<String> = golden.split("== ").skip(1).map(class).collect();
    if !file::is_written() {
        let unknown: BTreeSet<String> =
            found.keys().map(|heading| class(heading)).filter(|one| !known.contains(one)).collect();
        for one in &unknown {
            skip("golden", &format!("tests/golden/{name} has no section for this machine: {one}"));
        }
        found.retain(|heading, _| !unknown.contains(&class(heading)));
    }
    let here: Vec<String> = found.keys().map(|heading| class(heading)).collect();
    sections::hold(name, found, |heading| !here.contains(&class(heading)));
}
