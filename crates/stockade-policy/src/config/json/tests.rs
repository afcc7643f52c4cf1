//! Texts at the bounds, beyond them, and texts that are not JSON at all.

use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn fault(text: &str) -> String {
    from_str::<Value>(text).unwrap_err().to_string()
}

#[test]
fn a_text_may_have_so_many_values_and_not_one_more() {
    // The list itself is a value, too.
    let list = |items: usize, item: &str| format!("[{}]", vec![item; items].join(","));
    for item in ["0", "null", "\"a\"", "{}", "[]", " -1.5e3 "] {
        let most = list(VALUES_MAX - 1, item);
        assert_eq!(from_str::<Value>(&most).unwrap().as_array().unwrap().len(), VALUES_MAX - 1);
        let error = from_str::<Value>(&list(VALUES_MAX, item)).unwrap_err();
        assert!(error.to_string().starts_with("more than 100000 JSON values at line 1"), "{error}");
        assert!(error.line() == 1 && error.column() > 2 * (VALUES_MAX - 1), "{error}");
    }
    // Keys are not values; an object in an object is.
    let fields = |count: usize| {
        let fields: Vec<String> = (0..count).map(|at| format!("\"{at}\":{{}}")).collect();
        format!("{{{}}}", fields.join(","))
    };
    from_str::<Value>(&fields(VALUES_MAX - 1)).unwrap();
    assert!(fault(&fields(VALUES_MAX)).starts_with("more than 100000 JSON values"));
}

#[test]
fn structural_characters_in_strings_are_text() {
    let text = format!("[\"{}\"]", r#"{,[\"\\"#.repeat(VALUES_MAX));
    assert_eq!(from_str::<Vec<String>>(&text).unwrap().len(), 1);
}

#[test]
fn a_key_is_in_an_object_once_however_it_is_written() {
    for (text, column) in [
        (r#"{"a":1,"a":2}"#, 8),
        (r#"{"a":1,"\u0061":2}"#, 8),
        (r#"{"\u0061":1,"b":{"a":1},"a":2}"#, 25),
        (r#"[{"\n":[{"a":1}],"\u000a":2}]"#, 18),
        (r#"{"\ud83d\ude00":1,"😀":2}"#, 19),
        (r#"{"/":1,"\/":2}"#, 8),
        (r#"{"":1,"":2}"#, 7),
    ] {
        let error = from_str::<Value>(text).unwrap_err();
        assert!(error.to_string().contains("duplicate key"), "{text}: {error}");
        assert_eq!((error.line(), error.column()), (1, column), "{text}");
    }
    let error = from_str::<Value>("{\n \"a\": [1,\n  2],\n \"a\": 0}").unwrap_err();
    assert_eq!((error.line(), error.column()), (4, 2), "{error}");
    for text in [
        r#"{"a":{"a":{"a":1}},"b":[{"a":1},{"a":"a"}],"A":"a","a ":1}"#,
        r#"{"a":"a","b":"a"}"#,
        r#"{"a\"":1,"a":2,"a\\":3}"#,
    ] {
        from_str::<Value>(text).unwrap();
    }
    // Also where the reader would not look at the values.
    assert!(from_str::<serde::de::IgnoredAny>(r#"[{"a":1,"a":2}]"#).is_err());
}

#[test]
fn a_message_quotes_the_beginning_of_a_long_key() {
    let key = "k".repeat(100_000);
    let error = fault(&format!("{{\"{key}\":1,\"{key}\":2}}"));
    assert!(error.len() < 200 && error.contains("kkk"), "{error}");
}

#[test]
fn messages_of_serde_are_short_and_keep_their_place() {
    let error = from_str::<u8>(&format!("\n\"{}\"", "é".repeat(100_000))).unwrap_err();
    assert!(error.to_string().chars().count() < 500, "{error}");
    assert_eq!((error.line(), error.column()), (2, 200_002), "{error}");
}

#[test]
fn keys_without_values_are_counted() {
    let keys: Vec<String> = (0..=VALUES_MAX).map(|at| format!("\"{at}\"")).collect();
    assert!(fault(&format!("{{{}", keys.join(","))).starts_with("more than 100000 JSON values"));
}

#[test]
fn nesting_has_a_bound_where_nothing_is_kept_of_it_too() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    from_str::<serde::de::IgnoredAny>(&nested(127)).unwrap();
    let error = from_str::<serde::de::IgnoredAny>(&nested(129)).unwrap_err();
    assert!(error.to_string().contains(message!("json.recursion-limit-exceeded")), "{error}");
}

proptest! {
    /// The scan agrees with `serde_json` about every text without a duplicate.
    #[test]
    fn texts_within_the_bounds_are_read_as_before(text in "[\\[\\]{}:,\"\\\\a1 \\n]{0,40}") {
        let (ours, theirs) = (from_str::<Value>(&text), serde_json::from_str::<Value>(&text));
        match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => prop_assert_eq!(ours, theirs),
            (Err(ours), Ok(_)) => prop_assert!(ours.to_string().contains("duplicate key"), "{ours}"),
            (Ok(_), Err(theirs)) => prop_assert!(false, "{theirs}"),
            (Err(_), Err(_)) => {}
        }
    }
}
