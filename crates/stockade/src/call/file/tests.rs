//! The inputs of file tools: what fits, and that nothing is lost on the way back.

use serde_json::{Map, Value, json};

use super::{Case, FileCall, Numbers, Show, Span};

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

fn parsed(tool: &str, input: &Value) -> Result<FileCall, String> {
    FileCall::parse(tool, &object(input)).unwrap().map_err(|bad| bad.to_string())
}

#[test]
fn every_input_comes_back_as_it_was() {
    for (tool, input) in [
        ("Read", json!({"file_path": "a", "offset": 3, "limit": 4})),
        ("read_file", json!({"file_path": "a"})),
        ("Write", json!({"file_path": "a", "content": "x\n"})),
        (
            "Edit",
            json!({"file_path": "a", "old_string": "x", "new_string": "", "replace_all": true}),
        ),
        ("Glob", json!({"pattern": "*.rs", "path": "src"})),
        (
            "Grep",
            json!({
                "pattern": "x", "output_mode": "content", "-i": true, "-n": false, "-A": 1, "-B": 2,
                "multiline": true, "head_limit": 5, "offset": 1, "glob": "*.rs", "type": "rust",
            }),
        ),
    ] {
        let call = parsed(tool, &input).unwrap();
        assert_eq!(parsed(call.name(), &Value::Object(call.input())), Ok(call.clone()));
        for (field, value) in object(&input) {
            assert_eq!(call.input().get(&field), Some(&value), "{tool} {field}");
        }
    }
}

#[test]
fn what_does_not_fit_is_said() {
    for (tool, input, why) in [
        ("Read", json!({}), "file_path"),
        ("Read", json!({"file_path": "a", "offset": -1}), "-1"),
        ("Read", json!({"file_path": "a", "lines": 1}), "lines"),
        ("Write", json!({"file_path": "a"}), "content"),
        ("Edit", json!({"file_path": "a", "old_string": "x"}), "new_string"),
        ("Grep", json!({}), "pattern"),
        ("Grep", json!({"pattern": "x", "output_mode": "all"}), "all"),
    ] {
        let error = parsed(tool, &input).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
    assert_eq!(FileCall::parse("WebFetch", &Map::new()), None);
}

#[test]
fn context_is_for_both_sides_unless_one_is_named() {
    let input = json!({"pattern": "x", "-C": 3, "-A": 0, "head_limit": 0});
    let Ok(FileCall::Grep(grep)) = parsed("Grep", &input) else { panic!("no search") };
    assert_eq!((grep.before, grep.after, grep.head_limit), (3, 0, None));
    assert_eq!((grep.show, grep.case), (Show::Files, Case::Matters));
    assert_eq!((grep.span, grep.numbers), (Span::Line, Numbers::Shown));
}
