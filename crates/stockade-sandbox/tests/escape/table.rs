//! Which mechanism catches which attack: the declarations as a table in `THREAT_MODEL.md`.
//!
//! `STOCKADE_WRITE_TABLE=1` writes it; else a table that is not up to date fails.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use stockade_sandbox::Mechanism;

use crate::GROUPS;
use crate::support::Attack;

const BEGIN: &str = "<!-- begin: attacks by mechanism, written by tests/escape/table.rs -->\n";
const END: &str = "<!-- end: attacks by mechanism -->\n";

/// How many attacks must be caught by a mechanism of the sandbox.
const CAUGHT_MIN: usize = 70;

fn all() -> impl Iterator<Item = &'static Attack> {
    GROUPS.into_iter().flatten().copied()
}

/// Whether leaving out this mechanism alone opens every lock.
fn is_alone(attack: &Attack, mechanism: Mechanism) -> bool {
    attack.locks.iter().all(|lock| lock.contains(&mechanism))
}

fn names(attacks: impl Iterator<Item = &'static Attack>) -> String {
    let mut names: Vec<_> = attacks.map(Attack::name).collect();
    names.sort_unstable();
    let names: Vec<_> = names.into_iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "–".to_owned() } else { names.join(", ") }
}

fn table() -> String {
    let mut text = format!(
        "{BEGIN}| mechanism | attacks that it alone stops | attacks that another lock stops too |\n\
         |---|---|---|\n"
    );
    for mechanism in Mechanism::ALL.iter().copied() {
        let caught =
            || all().filter(move |one| one.locks.iter().any(|lock| lock.contains(&mechanism)));
        let alone = names(caught().filter(|one| is_alone(one, mechanism)));
        let shared = names(caught().filter(|one| !is_alone(one, mechanism)));
        writeln!(text, "| {mechanism} | {alone} | {shared} |").unwrap();
    }
    text.push_str(
        "\nStopped by the kernel whatever is left out, so that they say nothing about the box and are not \
         counted:\n\n",
    );
    for (attack, why) in all().filter_map(|one| Some((one, one.kernel_default?))) {
        writeln!(text, "- `{}`: {why}", attack.name()).unwrap();
    }
    text.push_str("\nKnown gaps, which the suite asserts as they are:\n\n");
    for (attack, gap) in all().filter_map(|one| Some((one, one.known_gap?))) {
        writeln!(text, "- `{}`: {gap}", attack.name()).unwrap();
    }
    text.push_str(END);
    text
}

#[test]
fn the_table_in_the_threat_model_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../THREAT_MODEL.md");
    let Ok(document) = fs::read_to_string(&path) else {
        use std::io::Write;
        // The test binary may have been copied away, as for another user.
        writeln!(std::io::stderr(), "skipped: the document is not to be read here").unwrap();
        return;
    };
    let (before, rest) = document.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let wanted = format!("{before}{}{after}", table());
    if std::env::var_os("STOCKADE_WRITE_TABLE").is_some() {
        fs::write(&path, wanted).unwrap();
    } else {
        assert!(document == wanted, "set STOCKADE_WRITE_TABLE=1 to write it");
    }
}

#[test]
fn every_mechanism_catches_an_attack() {
    for mechanism in Mechanism::ALL {
        let catches = all().any(|one| one.locks.iter().any(|lock| lock.contains(mechanism)));
        assert!(catches, "{mechanism}");
    }
}

#[test]
fn enough_attacks_are_caught_each_under_a_name_of_its_own() {
    let caught = all().filter(|attack| !attack.locks.is_empty()).count();
    assert!(caught >= CAUGHT_MIN, "{caught}");
    let names: BTreeSet<_> = all().map(Attack::name).collect();
    assert_eq!(names.len(), all().count());
}

/// An attack is caught, or stopped by the kernel anyway, or a gap; the file's first line has its
/// number.
#[test]
fn every_attack_says_what_it_is() {
    for attack in all() {
        let module = attack.module.split_once("::").unwrap().1.replace("::", "/");
        let path: PathBuf =
            [env!("CARGO_MANIFEST_DIR"), "tests/escape", &format!("{module}.rs")].iter().collect();
        if let Ok(text) = fs::read_to_string(&path) {
            let line = format!("//! {}: ", attack.number);
            assert!(text.starts_with(&line), "{} must begin with {line:?}", path.display());
        }
        assert_eq!(attack.refused.is_empty(), attack.known_gap.is_some(), "{}", attack.name());
        let classes =
            [!attack.locks.is_empty(), attack.kernel_default.is_some(), attack.known_gap.is_some()];
        let count = classes.into_iter().filter(|class| *class).count();
        assert_eq!(count, 1, "{}", attack.name());
    }
}
