//! A policy is told from others by its fingerprint.

use std::path::Path;

use stockade_policy::{Mode, Policy};

fn policy(text: &str) -> Policy {
    Policy::from_text(Path::new("/p/stockade.toml"), text).unwrap()
}

#[test]
fn equal_policies_have_one_fingerprint_and_others_another() {
    let texts = [
        "",
        "mode = \"plan\"",
        "[limits]\nprocesses = 7",
        "[rules]\ndeny = [\"Read(x)\"]",
        "[rules]\nask = [\"Read(x)\"]",
        "[rules]\ndeny = [\"Read(y)\"]",
        "[box]\nhide = [\"*.pem\"]",
        "[box]\nprotect = [\"*.pem\"]",
    ];
    let mut all: Vec<u64> = texts.iter().map(|text| policy(text).fingerprint()).collect();
    let again: Vec<u64> = texts.iter().map(|text| policy(text).fingerprint()).collect();
    assert_eq!(all, again);
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), texts.len());
    let mut changed = policy("");
    changed.mode = Mode::Plan;
    assert_ne!(changed.fingerprint(), policy("").fingerprint());
}

#[test]
fn examples_of_a_rule_do_not_count() {
    let bare = policy("[rules]\ndeny = [{ rule = \"Bash(rm *)\" }]");
    let shown = policy("[rules]\ndeny = [{ rule = \"Bash(rm *)\", match = [\"rm a\"] }]");
    assert_eq!(bare.fingerprint(), shown.fingerprint());
}
