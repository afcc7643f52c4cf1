//! The bounds of `Grep` within a file: size, lines, zero bytes, encodings, time.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use super::search::tree;
use super::{run, run_with};
use crate::support::{Project, policy, text};

fn content(place: &Project, pattern: &str) -> Value {
    run(place, "Grep", &json!({"pattern": pattern, "output_mode": "content"}))
}

#[test]
fn a_large_file_is_searched_line_by_line_and_a_line_without_end_is_not() {
    let place = tree(&[]);
    let lines = "nothing is in this line of text\n".repeat(1_100_000);
    fs::write(place.path("large"), [&lines, "needle\n"].concat()).unwrap();
    let report = content(&place, "needle");
    assert_eq!(text(&report, "stdout"), "large:1100001:needle\n", "{report}");
    let input = json!({"pattern": "needle\\s", "multiline": true});
    let report = run(&place, "Grep", &input);
    assert!(text(&report, "stderr").contains(message!("grep.files-not-searched-end")), "{report}");
    let line = lines.replace('\n', " ");
    fs::write(place.path("large"), ["needle\n", &line].concat()).unwrap();
    let report = content(&place, "needle");
    assert_eq!(text(&report, "stdout"), "large:1:needle\n", "{report}");
    assert!(text(&report, "stderr").contains(message!("grep.files-not-searched-end")), "{report}");
}

#[test]
fn a_file_is_searched_up_to_its_first_zero_byte() {
    let place = tree(&[]);
    let lines = "some line\n".repeat(20_000);
    fs::write(place.path("a"), ["needle\n", &lines, "\0needle\n"].concat()).unwrap();
    let report = content(&place, "needle");
    assert_eq!(text(&report, "stdout"), "a:1:needle\n", "{report}");
    assert_eq!(text(&report, "stderr"), message!("1 {}\n" => "grep.files-searched-up-zero"));
    fs::write(place.path("a"), "needle\n\0").unwrap();
    let report = run(&place, "Grep", &json!({"pattern": "needle", "path": "a"}));
    assert!(text(&report, "stderr").contains("is binary"), "{report}");
    let sparse = fs::File::create(place.path("a")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    let report = content(&place, "needle");
    assert_eq!(
        text(&report, "stderr"),
        message!("nothing was found\n1 {}\n" => "grep.binary-files-passed")
    );
}

#[test]
fn marks_of_encodings_are_understood() {
    let place = tree(&[("utf8", "\u{feff}needle\n")]);
    let wide: Vec<u8> =
        "\u{feff}näh\nneedle ü\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(place.path("wide"), wide).unwrap();
    let report = content(&place, "^needle");
    assert_eq!(text(&report, "stdout"), "utf8:1:needle\nwide:2:needle ü\n", "{report}");
}

#[test]
fn a_long_line_is_cut_between_letters() {
    for before in ["", "x", "xx", "xxx"] {
        let place = tree(&[("a", &[before, &"€".repeat(3000)].concat())]);
        let report = content(&place, "€");
        let told = text(&report, "stdout");
        assert!(told.starts_with(&format!("a:1:{before}€")) && told.ends_with("€…\n"), "{report}");
        assert!((1997..=2010).contains(&told.len()), "{}", told.len());
    }
}

#[test]
fn line_ends_are_found_over_lines_alone() {
    let place = tree(&[("a", "one\r\ntwo\n"), ("b", "one\n")]);
    let report = content(&place, "one\\r?\\ntwo");
    assert!(text(&report, "stderr").contains("set multiline"), "{report}");
    let input = json!({"pattern": "one\\r?\\ntwo", "multiline": true});
    assert_eq!(text(&run(&place, "Grep", &input), "stdout"), "a\n");
    assert_eq!(text(&content(&place, "one$"), "stdout"), "a:1:one\nb:1:one\n");
    assert_eq!(text(&content(&place, "\\r"), "stdout"), "a:1:one\n");
}

#[test]
fn context_without_bounds_is_context_of_the_file() {
    let place = tree(&[("a", "1\n2\nneedle\n4\n"), ("b", "needle\n")]);
    let most = u64::MAX;
    let input = json!({"pattern": "needle", "output_mode": "content", "-A": most, "-B": most});
    let report = run(&place, "Grep", &input);
    let expected = "a-1-1\na-2-2\na:3:needle\na-4-4\n--\nb:1:needle\n";
    assert_eq!(text(&report, "stdout"), expected, "{report}");
}

#[test]
fn the_time_is_looked_at_within_a_file() {
    let place = tree(&[("a", "needle\n")]);
    let late = policy(|policy| policy.limits.wall = Duration::ZERO);
    let report = run_with(&place, late, "Grep", &json!({"pattern": "needle", "path": "a"}));
    assert_eq!((&report["timed_out"], text(&report, "stdout")), (&json!(true), ""), "{report}");
    assert!(text(&report, "stderr").contains(message!("grep.time-up-before-end")), "{report}");
}
