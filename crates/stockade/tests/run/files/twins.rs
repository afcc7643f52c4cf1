//! Files with several names: what one of them hides, no other shows.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use stockade::Policy;

use super::search::tree;
use super::{run_with, unboxed};
use crate::support::{Project, policy, text};

fn ruled() -> Policy {
    let text = "[rules]\ndeny = [\"Read(.env)\", \"Read(*.pem)\"]\nask = [\"Read(ask.txt)\"]\n\
                [box]\ntier = \"process\"\n";
    Policy::from_text(Path::new("stockade.toml"), text).unwrap()
}

fn linked(names: &[(&str, &str)]) -> Project {
    let place = tree(&[(".env", "needle"), ("deep/.env", "needle"), ("k.pem", "needle")]);
    for name in ["ask.txt", "free.txt"] {
        fs::write(place.path(name), "needle").unwrap();
    }
    for (from, to) in names {
        fs::hard_link(place.path(from), place.path(to)).unwrap();
    }
    place
}

fn without_rules() -> Policy {
    Policy { rules: stockade::policy::Rules::default(), ..unboxed() }
}

fn is_hidden(report: &Value) -> bool {
    text(report, "rule") == "path/hidden" && report["denied"] == json!(true)
}

#[test]
fn another_name_of_what_a_rule_denies_is_denied() {
    let place = linked(&[(".env", "a"), ("deep/.env", "b"), ("k.pem", "c"), ("free.txt", "d")]);
    for name in ["a", "b", "c"] {
        let report = run_with(&place, ruled(), "Read", &json!({"file_path": name}));
        assert!(is_hidden(&report), "{report}");
        let input = json!({"file_path": name, "old_string": "nee", "new_string": ""});
        let report = run_with(&place, ruled(), "Edit", &input);
        assert_eq!(report["denied"], json!(true), "{report}");
    }
    let report = run_with(&place, ruled(), "Read", &json!({"file_path": "d"}));
    assert_eq!(text(&report, "stdout"), "needle", "the nearest that may be seen");
    let report = run_with(&place, without_rules(), "Read", &json!({"file_path": "a"}));
    assert_eq!(text(&report, "stdout"), "needle", "without the rules it may");
}

#[test]
fn a_search_leaves_out_other_names_of_what_it_must_not_see() {
    let place = linked(&[(".env", "a"), ("ask.txt", "b"), ("free.txt", "c")]);
    let report = run_with(&place, ruled(), "Grep", &json!({"pattern": "needle"}));
    assert_eq!(text(&report, "stdout"), "c\nfree.txt\n", "{report}");
    assert!(text(&report, "stderr").contains(message!("twins.files-left-out", "2")), "{report}");
    let input = json!({"pattern": "needle", "path": "a"});
    let report = run_with(&place, without_rules(), "Grep", &input);
    assert_eq!(text(&report, "stdout"), "a\n", "without the rules it is found");
}

#[test]
fn another_name_of_a_hidden_file_outside_of_the_root_is_hidden() {
    let place = Project::new();
    fs::create_dir(place.beside("keys")).unwrap();
    for (file, link) in [("keys/id", "a"), ("other", "b")] {
        fs::write(place.beside(file), "needle").unwrap();
        fs::hard_link(place.beside(file), place.path(link)).unwrap();
    }
    let hiding = policy(|policy| policy.files.hide = vec![place.beside("keys")]);
    let report = run_with(&place, hiding.clone(), "Read", &json!({"file_path": "a"}));
    assert!(is_hidden(&report), "{report}");
    let report = run_with(&place, hiding, "Read", &json!({"file_path": "b"}));
    assert_eq!(text(&report, "stdout"), "needle", "{report}");
}
