//! What a person has written stays as it is, byte for byte.

use std::path::Path;

use super::super::document::Node;
use super::{EditedText, ours, with_hook, without_hook};

const COMMAND: &str = "/usr/bin/stockade hook pre --format claude || { exit \"2\"; }";
const LATER: &str = "'/opt/my tools/stockade' hook pre --mode auto";

/// Texts of settings in every form that is seen.
const TEXTS: [&str; 24] = [
    "{}",
    "{}\n",
    "{ }",
    "{\n}\n",
    "{\n  \n}",
    "{\"a\":1}",
    "{\"a\":1,}",
    "{ \"a\": 1 }\n",
    "{\n  \"a\": 1\n}\n",
    "{\n\t\"a\": 1,\n\t\"b\": [1, 2]\n}",
    "{\r\n    \"a\": 1\r\n}\r\n",
    "{\n  // a comment\n  \"a\": 1 // another\n}\n",
    "{\n  \"a\": 1, /* one */ // two\n}\n",
    "{\n  \"a\": 1,\n}\n",
    "{ // nothing\n}\n",
    "\u{feff}{\n  \"a\": 1\n}\n",
    "{\n  \"hooks\": {},\n  \"a\": \"ü\"\n}\n",
    "{\n  \"hooks\": {\n  }\n}\n",
    "{\n  \"hooks\": {\"PreToolUse\": []}\n}\n",
    "{\n  \"hooks\": {\n    \"PreToolUse\": [\n    ]\n  }\n}\n",
    "{\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n",
    "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\"matcher\": \"Bash\", \"hooks\": []}\n    ]\n  },\n  \"z\": null\n}\n",
    "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"command\": \"other hook pre\"}]}]}}",
    "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\"hooks\": []}, // mine\n    ],\n  },\n}\n",
];

fn path() -> &'static Path {
    Path::new("settings.json")
}

fn put(text: Option<&str>, command: &str) -> String {
    with_hook(path(), text, command).unwrap()
}

fn commands(text: &str) -> usize {
    ours(&Node::parse(path(), text).unwrap()).len()
}

#[test]
fn what_was_put_in_is_taken_out_to_the_byte() {
    for text in TEXTS {
        let with = put(Some(text), COMMAND);
        assert_eq!(commands(&with), 1, "{text:?} became {with:?}");
        assert_eq!(put(Some(&with), COMMAND), with, "twice is once: {text:?}");
        let expected = EditedText { text: Some(text.to_owned()), exact: true };
        assert_eq!(without_hook(path(), Some(&with)).unwrap(), expected, "{text:?} by {with:?}");
        let later = put(Some(&with), LATER);
        assert_ne!(later, with);
        assert_eq!(without_hook(path(), Some(&later)).unwrap(), expected, "{text:?} by {later:?}");
    }
}

#[test]
fn a_file_that_was_made_goes_again() {
    let made = put(None, COMMAND);
    assert_eq!(without_hook(path(), Some(&made)).unwrap(), EditedText { text: None, exact: true });
    assert_eq!(without_hook(path(), None).unwrap(), EditedText { text: None, exact: true });
    serde_json::from_str::<serde_json::Value>(&made).unwrap();
}

#[test]
fn strict_json_stays_strict_and_keeps_its_values() {
    for text in TEXTS {
        let Ok(before) = serde_json::from_str::<serde_json::Value>(text) else { continue };
        let with = put(Some(text), COMMAND);
        let mut after: serde_json::Value = serde_json::from_str(&with).unwrap();
        let groups = after["hooks"]["PreToolUse"].as_array_mut().unwrap();
        let ours = groups.pop().unwrap();
        assert_eq!(ours["hooks"][0]["command"], COMMAND);
        let others = groups.clone();
        let before_groups = before["hooks"]["PreToolUse"].as_array().cloned().unwrap_or_default();
        assert_eq!(others, before_groups, "{text:?}");
        for (key, value) in before.as_object().unwrap().iter().filter(|(key, _)| *key != "hooks") {
            assert_eq!(&after[key], value, "{text:?}");
        }
    }
}

#[test]
fn what_a_person_adds_afterwards_stays_when_the_hook_goes() {
    let with = put(Some("{\n  \"a\": 1\n}\n"), COMMAND);
    let added = with.replace("      }\n    ]", "      },\n      {\"hooks\": []}\n    ]");
    assert_ne!(added, with);
    let expected = "{\n  \"a\": 1,\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\"hooks\": []}\n    ]\n  }\n}\n";
    let edited = without_hook(path(), Some(&added)).unwrap();
    assert_eq!(edited, EditedText { text: Some(expected.to_owned()), exact: true });
}

#[test]
fn a_file_that_was_written_anew_loses_the_hook_and_what_held_it() {
    let with = put(Some("{\n  \"a\": 1\n}\n"), COMMAND);
    let value: serde_json::Value = serde_json::from_str(&with).unwrap();
    let edited = without_hook(path(), Some(&value.to_string())).unwrap();
    assert_eq!(edited, EditedText { text: Some("{\"a\":1}".to_owned()), exact: false });
}

#[test]
fn copies_of_the_hook_go_too_and_others_stay() {
    let with = put(Some("{}"), COMMAND);
    let other = "{\"type\": \"command\", \"command\": \"mine\"}";
    let ours = "{\"type\": \"command\", \"command\": \"stockade hook pre\"}";
    let more = with.replace("\"hooks\": [", &format!("\"hooks\": [{other}, {ours}, "));
    assert_eq!(commands(&more), 2);
    let text = without_hook(path(), Some(&more)).unwrap().text.unwrap();
    assert_eq!(commands(&text), 0);
    assert!(text.contains(other), "{text}");
}

#[test]
fn a_file_that_is_not_understood_is_named_with_the_place() {
    for (text, place) in [
        ("", message!("settings.json:1:1: {}" => "document.value-expected-here-file")),
        ("[]", message!("settings.json:1:1: {}" => "edit.settings-object")),
        (
            "{\n  \"a\": 1\n  \"b\": 2\n}",
            message!("settings.json:3:3: {}" => "document.comma-expected", "}"),
        ),
        ("{\n  'a': 1\n}", message!("settings.json:2:3: {}" => "document.key-in-quotes")),
        ("{\"a\": tru}", message!("settings.json:1:7: {}" => "document.no-value", "\"tru\"")),
        ("{\"a\": \"x}", message!("settings.json:1:7: {}" => "document.text-no-end")),
        (
            "{\"a\": 1, \"a\": 2}",
            message!("settings.json:1:10: the {}" => "index.key-twice", "\"a\""),
        ),
        ("{} x", message!("settings.json:1:4: {}" => "document.nothing-expected-here")),
        ("{ /* x", message!("settings.json:1:3: {}" => "document.comment-no-end")),
        ("{\"hooks\": []}", message!("settings.json:1:11: {}" => "edit.hooks-no-object")),
        (
            "{\"hooks\": {\"PreToolUse\": {}}}",
            message!("settings.json:1:26: {}" => "edit.pretooluse-no-list"),
        ),
    ] {
        let error = with_hook(path(), Some(text), COMMAND).unwrap_err().to_string();
        assert!(error.starts_with(&format!("edit {place}")), "{text:?}: {error}");
    }
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(5000), "]".repeat(5000));
    assert!(with_hook(path(), Some(&deep), COMMAND).is_err());
}
