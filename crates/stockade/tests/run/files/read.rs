//! `Read`: lines byte for byte, within bounds, and never waiting.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;
use stockade::limits::ByteCount;

use super::{read, run, run_with};
use crate::support::{Project, policy, text};

#[test]
fn reads_a_file_as_it_is() {
    let place = Project::new();
    fs::write(place.path("a.txt"), "one\r\ntwo\nthree").unwrap();
    let report = read(&place, "a.txt");
    assert_eq!((text(&report, "stdout"), &report["exit_code"]), ("one\r\ntwo\nthree", &json!(0)));
    assert_eq!((text(&report, "stderr"), text(&report, "tier")), ("", "inline"));
    assert_eq!((&report["changes"], &report["argv"]), (&json!(null), &json!(["a.txt"])));
    let absolute = read(&place, place.path("a.txt").to_str().unwrap());
    assert_eq!(absolute["stdout"], report["stdout"]);
}

#[test]
fn reads_the_lines_that_were_asked_for() {
    let place = Project::new();
    fs::write(place.path("a.txt"), "1\n2\n3\n4\n5\n").unwrap();
    let lines = |offset: u64, limit: u64| {
        let input = json!({"file_path": "a.txt", "offset": offset, "limit": limit});
        let report = run(&place, "Read", &input);
        (text(&report, "stdout").to_owned(), text(&report, "stderr").to_owned())
    };
    let said = |text: &str, said: &str| (text.to_owned(), said.to_owned());
    assert_eq!(
        lines(2, 2),
        said("2\n3\n", message!("{}\n" => "read.lines-more-follow-offset", "2", "3", "4"))
    );
    assert_eq!(lines(4, 9), said("4\n5\n", ""));
    assert_eq!(lines(4, 2), said("4\n5\n", ""));
    assert_eq!(lines(9, 1), said("", message!("{}\n" => "read.no-such-line", "9", "5")));
    fs::write(place.path("a.txt"), "").unwrap();
    assert_eq!(lines(1, 1), said("", message!("{}\n" => "read.file-empty")));
}

#[test]
fn a_long_file_is_read_up_to_a_whole_line_and_can_be_gone_on_with() {
    let place = Project::new();
    let content: String = "a line of text\n".repeat(1000);
    fs::write(place.path("a.txt"), &content).unwrap();
    let small = policy(|policy| policy.limits.output = ByteCount::bytes(500));
    let (mut all, mut offset, mut rounds) = (String::new(), 1, 0);
    loop {
        let input = json!({"file_path": "a.txt", "offset": offset});
        let report = run_with(&place, small.clone(), "Read", &input);
        all.push_str(text(&report, "stdout"));
        assert!(text(&report, "stdout").len() <= 500);
        rounds += 1;
        let Some((_, next)) = text(&report, "stderr").split_once("from offset ") else { break };
        assert_eq!(report["truncated"], json!(true));
        offset = next.trim().parse().unwrap();
    }
    assert_eq!((all == content, rounds > 10), (true, true), "{rounds}");
}

#[test]
fn a_line_without_end_is_cut() {
    let place = Project::new();
    fs::write(place.path("a.txt"), "x".repeat(300_000)).unwrap();
    let report = read(&place, "a.txt");
    assert_eq!(text(&report, "stdout").len(), 64 << 10);
    assert_eq!(report["truncated"], json!(true));
    assert!(text(&report, "stderr").contains("line 1 is longer"), "{report}");
}

#[test]
fn bytes_that_are_no_text_are_kept_and_binary_files_are_not_shown() {
    let place = Project::new();
    fs::write(place.path("latin.txt"), b"caf\xe9\n").unwrap();
    let report = read(&place, "latin.txt");
    assert_eq!(
        (text(&report, "stdout"), &report["stdout_base64"]),
        ("caf\u{fffd}\n", &json!("Y2Fm6Qo="))
    );
    fs::write(place.path("a.bin"), b"ELF\0\0\0").unwrap();
    let report = read(&place, "a.bin");
    assert_eq!((&report["exit_code"], text(&report, "stdout")), (&json!(1), ""));
    assert!(text(&report, "stderr").contains("is binary (6 bytes)"), "{report}");
}

#[test]
fn what_is_no_file_is_named_without_waiting() {
    let place = Project::new();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        place.path("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(place.path("socket")).unwrap();
    fs::create_dir(place.path("folder")).unwrap();
    let started = Instant::now();
    for (path, what) in [("pipe", "a pipe"), ("socket", "a socket"), ("folder", "a folder")] {
        for (tool, more) in [
            ("Read", json!({})),
            ("Write", json!({"content": "x"})),
            ("Edit", json!({"old_string": "a", "new_string": "b"})),
        ] {
            let mut input = more.as_object().unwrap().clone();
            input.insert("file_path".to_owned(), json!(path));
            let report = run(&place, tool, &input.into());
            assert_eq!(report["exit_code"], json!(1), "{report}");
            assert!(text(&report, "stderr").contains(what), "{tool} {path}: {report}");
        }
    }
    let report = run(&place, "Grep", &json!({"pattern": "x"}));
    assert_eq!(report["exit_code"], json!(0), "{report}");
    let report = run(&place, "Grep", &json!({"pattern": "x", "path": "pipe"}));
    assert!(text(&report, "stderr").contains("a pipe"), "{report}");
    assert!(started.elapsed() < Duration::from_secs(120), "{:?}", started.elapsed());
}

#[test]
fn a_file_that_is_not_there_is_said_not_to_be() {
    let place = Project::new();
    let report = read(&place, "no/such");
    assert_eq!((&report["exit_code"], &report["denied"]), (&json!(1), &json!(false)));
    assert!(text(&report, "stderr").contains(message!("error.no-such-file")), "{report}");
}
