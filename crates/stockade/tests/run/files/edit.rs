//! `Edit`: one text for another where it is there once, and words that help where it is not.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{run, run_with};
use crate::support::{Project, text, within};

fn edit(place: &Project, old: &str, new: &str) -> Value {
    run(place, "Edit", &json!({"file_path": "a", "old_string": old, "new_string": new}))
}

#[test]
fn replaces_a_text_that_is_there_once() {
    let place = Project::new();
    fs::write(place.path("a"), "one two three").unwrap();
    let report = edit(&place, "two", "2");
    assert_eq!(report["ok"], json!(true), "{report}");
    assert_eq!(fs::read_to_string(place.path("a")).unwrap(), "one 2 three");
    assert_eq!(report["changes"][0]["kind"], json!("modified"));
    assert_ne!(report["changes"][0]["before"], report["changes"][0]["after"]);
}

#[test]
fn a_text_that_is_there_more_than_once_is_counted_unless_all_are_meant() {
    let place = Project::new();
    fs::write(place.path("a"), "x\ny\nx\n").unwrap();
    let report = edit(&place, "x", "z");
    assert_eq!(report["exit_code"], json!(1));
    assert!(text(&report, "stderr").contains("2 times"), "{report}");
    assert!(text(&report, "stderr").contains("lines 1, 3"), "{report}");
    assert_eq!(fs::read_to_string(place.path("a")).unwrap(), "x\ny\nx\n");
    let input =
        json!({"file_path": "a", "old_string": "x", "new_string": "zz", "replace_all": true});
    let report = run(&place, "Edit", &input);
    assert_eq!(text(&report, "stderr"), message!("{}\n" => "edit.places-replaced", "2"));
    assert_eq!(fs::read_to_string(place.path("a")).unwrap(), "zz\ny\nzz\n");
}

#[test]
fn a_text_that_is_not_there_is_told_with_what_comes_nearest() {
    let place = Project::new();
    fs::write(place.path("a"), "fn a() {\n\tlet x = 1;\n}\n").unwrap();
    let report = edit(&place, "fn a() {\n    let x = 1;\n}", "y");
    assert_eq!(report["exit_code"], json!(1));
    let said = text(&report, "stderr");
    assert!(said.contains(message!("suggest.nearest-line", "2")), "{said}");
    assert!(said.contains(r#""\tlet x = 1;" and not "    let x = 1;""#), "{said}");
    assert!(said.contains(message!("suggest.only-white-space-differs")), "{said}");
}

#[test]
fn line_ends_of_the_file_are_kept() {
    let place = Project::new();
    fs::write(place.path("a"), "one\r\ntwo\r\nthree\r\n").unwrap();
    assert_eq!(edit(&place, "one\ntwo\n", "1\n2\n")["ok"], json!(true));
    assert_eq!(fs::read_to_string(place.path("a")).unwrap(), "1\r\n2\r\nthree\r\n");
    fs::write(place.path("a"), "one\r\ntwo\r\nthree\n").unwrap();
    assert_eq!(edit(&place, "one\ntwo\n", "1\n2\n")["ok"], json!(true));
    assert_eq!(fs::read_to_string(place.path("a")).unwrap(), "1\r\n2\r\nthree\n");
}

#[test]
fn bytes_that_are_no_text_stay_as_they_are() {
    let place = Project::new();
    fs::write(place.path("a"), b"caf\xe9 one\n").unwrap();
    assert_eq!(edit(&place, "one", "two")["ok"], json!(true));
    assert_eq!(fs::read(place.path("a")).unwrap(), b"caf\xe9 two\n");
}

#[test]
fn an_edit_that_makes_no_sense_is_none() {
    let place = Project::new();
    fs::write(place.path("a"), "x").unwrap();
    for (old, new, said) in
        [("x", "x", message!("edit.old-string-new-string")), ("", "y", "old_string is empty")]
    {
        let report = edit(&place, old, new);
        assert_eq!(report["exit_code"], json!(1));
        assert!(text(&report, "stderr").contains(said), "{report}");
    }
    assert_eq!(fs::read_to_string(place.path("a")).unwrap(), "x");
    fs::remove_file(place.path("a")).unwrap();
    assert!(text(&edit(&place, "x", "y"), "stderr").contains(message!("error.no-such-file")));
    assert_eq!(edit(&place, "", "made")["changes"][0]["kind"], json!("created"));
    assert_eq!(fs::read_to_string(place.path("a")).unwrap(), "made");
}

#[test]
fn a_text_that_is_there_twice_with_bytes_in_common_is_not_there_once() {
    let place = Project::new();
    fs::write(place.path("a"), "x\naXaXa\n").unwrap();
    let report = edit(&place, "aXa", "y");
    assert!(text(&report, "stderr").contains("2 times"), "{report}");
    assert!(text(&report, "stderr").contains("lines 2, 2"), "{report}");
    assert_eq!(fs::read_to_string(place.path("a")).unwrap(), "x\naXaXa\n");
}

#[test]
fn a_text_is_not_replaced_by_more_than_fits_into_memory() {
    let place = Project::new();
    fs::write(place.path("a"), "a".repeat(4 << 20)).unwrap();
    let input = json!({"file_path": "a", "old_string": "a", "new_string": "b".repeat(1 << 20),
                       "replace_all": true});
    let report = run(&place, "Edit", &input);
    assert!(text(&report, "stderr").contains("would have 4398046511104 bytes"), "{report}");
    assert_eq!(fs::metadata(place.path("a")).unwrap().len(), 4 << 20);
}

#[test]
fn what_comes_nearest_is_looked_for_within_the_time() {
    let place = Project::new();
    fs::write(place.path("a"), ["x y ".repeat(1000), "\n".to_owned()].concat().repeat(800))
        .unwrap();
    let wanted = ["x y ".repeat(999), "z\n".to_owned()].concat().repeat(400);
    let input = json!({"file_path": "a", "old_string": wanted, "new_string": ""});
    let started = Instant::now();
    let report = run_with(&place, within(Duration::from_secs(1)), "Edit", &input);
    assert_eq!(report["ok"], json!(false), "{report}");
    assert!(started.elapsed() < Duration::from_secs(120), "{:?}", started.elapsed());
}
