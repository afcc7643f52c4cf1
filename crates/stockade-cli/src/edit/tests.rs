//! Files before and after an edit.

use std::path::Path;

use stockade::policy::Decision;

use super::{Entry, with_rule, without_rule};

#[track_caller]
fn adds(before: &str, list: Decision, rule: &str, after: &str) {
    let entry = Entry { rule: rule.to_owned(), ..Entry::default() };
    assert_eq!(with_rule(Path::new("x.toml"), before, list, &entry).unwrap(), after);
}

#[track_caller]
fn removes(before: &str, rule: &str, after: &str) {
    let lists = [Decision::Deny, Decision::Ask, Decision::Allow];
    let (text, found) = without_rule(Path::new("x.toml"), before, &lists, rule).unwrap();
    assert_eq!((text.as_str(), found.is_empty()), (after, before == after));
}

#[test]
fn a_rule_is_added_where_a_person_would_write_it() {
    adds("", Decision::Deny, "Bash(a)", "[rules]\ndeny = [\"Bash(a)\"]\n");
    adds(
        "# mine\n[box]\nnet = \"none\" # off\n",
        Decision::Ask,
        "Edit",
        "# mine\n[box]\nnet = \"none\" # off\n\n[rules]\nask = [\"Edit\"]\n",
    );
    adds(
        "[rules]\ndeny = [\"Bash(a)\"] # why\nask = []\n",
        Decision::Deny,
        "Bash(b)",
        "[rules]\ndeny = [\"Bash(a)\", \"Bash(b)\"] # why\nask = []\n",
    );
    adds(
        "[rules]\ndeny = [\n  # first\n  \"Bash(a)\", # one\n]\n",
        Decision::Deny,
        "Bash(b)",
        "[rules]\ndeny = [\n  # first\n  \"Bash(a)\", # one\n  \"Bash(b)\",\n]\n",
    );
    adds(
        "rules = { deny = [\"Bash(a)\"] }\n",
        Decision::Deny,
        "Bash(b)",
        "rules = { deny = [\"Bash(a)\", \"Bash(b)\"] }\n",
    );
}

#[test]
fn a_rule_with_more_to_say_is_a_table() {
    let entry = Entry {
        rule: "Bash(rm *)".to_owned(),
        reason: Some("a \"reason\"".to_owned()),
        instead: Some("mv".to_owned()),
        matching: vec!["rm x".to_owned()],
        not_matching: vec!["rmdir x".to_owned()],
    };
    let text = with_rule(Path::new("x.toml"), "", Decision::Deny, &entry).unwrap();
    let policy = stockade::Policy::from_text(Path::new("x.toml"), &text).unwrap();
    let rule = &policy.rules.all()[0];
    assert_eq!((rule.text(), rule.reason()), ("Bash(rm *)", Some("a \"reason\"")));
    assert_eq!((rule.alternative(), rule.examples().all().count()), (Some("mv"), 2));
}

#[test]
fn a_rule_that_is_there_is_not_added_twice_and_a_broken_file_is_left_alone() {
    let entry = Entry { rule: "Bash(a)".to_owned(), ..Entry::default() };
    let add = |text| with_rule(Path::new("x.toml"), text, Decision::Deny, &entry);
    let known = add("[rules]\ndeny = [{ rule = \"Bash(a)\" }]\n").unwrap_err();
    assert!(known.to_string().contains("already"), "{known}");
    assert!(add("[rules]\ndeny = \"Bash(b)\"\n").unwrap_err().to_string().contains("no list"));
    assert!(add("[rules\n").unwrap_err().to_string().contains("line 1"));
}

#[test]
fn a_rule_is_removed_and_comments_stay() {
    removes(
        "[rules]\ndeny = [\"Bash(a)\", \"Bash(b)\"] # why\n",
        "Bash(a)",
        "[rules]\ndeny = [\"Bash(b)\"] # why\n",
    );
    removes(
        "[rules]\ndeny = [\n  # first\n  \"Bash(a)\", # one\n  { rule = \"Bash(b)\" }, # two\n]\n",
        "Bash(b)",
        "[rules]\ndeny = [\n  # first\n  \"Bash(a)\", # one # two\n]\n",
    );
    removes(
        "[rules]\ndeny = [\n  # first\n  \"Bash(a)\",\n  \"Bash(b)\",\n]\n",
        "Bash(a)",
        "[rules]\ndeny = [\n  # first\n  \"Bash(b)\",\n]\n",
    );
    removes("[rules]\nask = [\"Edit\"]\n", "Edit", "[rules]\nask = []\n");
    removes(
        "[[rules.deny]]\nrule = \"Bash(a)\"\n\n[[rules.deny]]\nrule = \"Bash(b)\"\n",
        "Bash(a)",
        "\n[[rules.deny]]\nrule = \"Bash(b)\"\n",
    );
    removes("[rules]\ndeny = [\"Bash(a)\"]\n", "Bash(z)", "[rules]\ndeny = [\"Bash(a)\"]\n");
}
