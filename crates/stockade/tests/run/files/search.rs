//! `Glob` and `Grep`: what they find, what they leave out, and their bounds.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use stockade::limits::ByteCount;

use super::{run, run_with};
use crate::support::{Project, policy, text};

pub(super) fn tree(files: &[(&str, &str)]) -> Project {
    let place = Project::new();
    for (path, content) in files {
        let path = place.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    place
}

fn found(report: &Value) -> Vec<String> {
    let mut lines: Vec<String> = text(report, "stdout").lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn glob(place: &Project, pattern: &str) -> Vec<String> {
    found(&run(place, "Glob", &json!({"pattern": pattern})))
}

#[test]
fn names_are_found_by_patterns() {
    let place = tree(&[("a.rs", ""), ("src/b.rs", ""), ("src/deep/c.rs", ""), ("src/d.md", "")]);
    assert_eq!(glob(&place, "*.rs"), ["a.rs", "src/b.rs", "src/deep/c.rs"]);
    assert_eq!(glob(&place, "src/*.rs"), ["src/b.rs"]);
    assert_eq!(glob(&place, "src/**/*.rs"), ["src/b.rs", "src/deep/c.rs"]);
    assert_eq!(glob(&place, "**/*.{md,txt}"), ["src/d.md"]);
    assert_eq!(glob(&place, "src/d.md"), ["src/d.md"]);
    let absolute = place.path("src/*.rs");
    assert_eq!(glob(&place, absolute.to_str().unwrap()), ["src/b.rs"]);
    let report = run(&place, "Glob", &json!({"pattern": "*.rs", "path": "src/deep"}));
    assert_eq!(found(&report), ["src/deep/c.rs"]);
    let report = run(&place, "Glob", &json!({"pattern": "*.py"}));
    assert_eq!(
        (text(&report, "stdout"), text(&report, "stderr")),
        ("", message!("{}\n" => "glob.no-file-such-name"))
    );
    let report = run(&place, "Glob", &json!({"pattern": "a[b"}));
    assert!(text(&report, "stderr").contains("pattern"), "{report}");
}

#[test]
fn the_last_changed_comes_first() {
    let place = tree(&[("a", ""), ("b", ""), ("c", "")]);
    let set = |name: &str, ago: u64| {
        let time = SystemTime::now() - Duration::from_secs(ago);
        fs::File::options()
            .append(true)
            .open(place.path(name))
            .unwrap()
            .set_modified(time)
            .unwrap();
    };
    for (name, ago) in [("a", 50), ("b", 10), ("c", 90)] {
        set(name, ago);
    }
    let report = run(&place, "Glob", &json!({"pattern": "*"}));
    assert_eq!(text(&report, "stdout"), "b\na\nc\n");
}

#[test]
fn what_the_project_ignores_is_left_out() {
    let place = tree(&[
        (".gitignore", "target/\n*.log\n!keep.log\n"),
        ("target/x.rs", "needle"),
        ("a.log", "needle"),
        ("keep.log", "needle"),
        ("sub/.gitignore", "/here.txt\n"),
        ("sub/here.txt", "needle"),
        ("sub/deep/here.txt", "needle"),
        (".hidden/y.txt", "needle"),
        (".git/config", "needle"),
        (".git/info/exclude", "mine.txt\n"),
        ("mine.txt", "needle"),
        (".ignore", "!a.log\n"),
    ]);
    let expected = [".hidden/y.txt", "a.log", "keep.log", "sub/deep/here.txt"];
    let report = run(&place, "Grep", &json!({"pattern": "needle"}));
    assert_eq!(found(&report), expected);
    let report = run(&place, "Grep", &json!({"pattern": "needle", "path": "sub"}));
    assert_eq!(found(&report), ["sub/deep/here.txt"]);
    let report = run(&place, "Grep", &json!({"pattern": "needle", "path": "target/x.rs"}));
    assert_eq!(found(&report), ["target/x.rs"], "who names a file means it");
}

#[test]
fn lines_are_told_as_they_were_asked_for() {
    let place = tree(&[("a.rs", "one\ntwo\nTHREE\r\nfour\nfive\nsix\n"), ("b.md", "two\n")]);
    let grep = |input: Value| {
        let report = run(&place, "Grep", &input);
        assert_eq!(report["exit_code"], json!(0), "{report}");
        text(&report, "stdout").to_owned()
    };
    assert_eq!(grep(json!({"pattern": "two"})), "a.rs\nb.md\n");
    assert_eq!(grep(json!({"pattern": "two", "output_mode": "count"})), "a.rs:1\nb.md:1\n");
    let content = |more: Value| {
        let mut input = more.as_object().unwrap().clone();
        input.insert("output_mode".to_owned(), json!("content"));
        grep(input.into())
    };
    assert_eq!(content(json!({"pattern": "two", "glob": "*.rs"})), "a.rs:2:two\n");
    assert_eq!(content(json!({"pattern": "two", "type": "md"})), "b.md:1:two\n");
    assert_eq!(content(json!({"pattern": "two", "-n": false, "path": "b.md"})), "b.md:two\n");
    assert_eq!(content(json!({"pattern": "^three$", "-i": true})), "a.rs:3:THREE\n");
    assert_eq!(
        content(json!({"pattern": "four", "-B": 1, "-A": 1})),
        "a.rs-3-THREE\na.rs:4:four\na.rs-5-five\n"
    );
    assert_eq!(
        content(json!({"pattern": "one|six", "-C": 1})),
        "a.rs:1:one\na.rs-2-two\n--\na.rs-5-five\na.rs:6:six\n"
    );
    assert_eq!(
        content(json!({"pattern": "^f", "-C": 1})),
        "a.rs-3-THREE\na.rs:4:four\na.rs:5:five\na.rs-6-six\n"
    );
    assert_eq!(
        content(json!({"pattern": "two.*four", "multiline": true})),
        "a.rs:2:two\na.rs:3:THREE\na.rs:4:four\n"
    );
    assert_eq!(content(json!({"pattern": "two.*four"})), "");
    assert_eq!(content(json!({"pattern": "o[^x]t"})), "", "a line is all that a match may touch");
    assert_eq!(content(json!({"pattern": "\\Afive\\z"})), "a.rs:5:five\n");
    let report = run(
        &place,
        "Grep",
        &json!({"pattern": "", "output_mode": "content", "head_limit": 2, "offset": 1}),
    );
    assert_eq!(text(&report, "stdout"), "a.rs:2:two\na.rs:3:THREE\n");
    assert_eq!(
        text(&report, "stderr"),
        message!("{}\n" => "output.lines-more-follow-offset", "2", "3")
    );
    for bad in [
        json!({"pattern": "("}),
        json!({"pattern": "x", "type": "nonesuch"}),
        json!({"pattern": "x", "glob": "[a"}),
    ] {
        assert_eq!(run(&place, "Grep", &bad)["exit_code"], json!(1), "{bad}");
    }
}

/// Threads search them, and finish in any order.
#[test]
fn many_files_are_told_in_the_order_of_their_names() {
    let told = |report: &Value| -> Vec<String> {
        text(report, "stdout").lines().map(str::to_owned).collect()
    };
    let names: Vec<String> = (0..400).map(|number| format!("{number:03}.txt")).collect();
    // Every tenth is large, so that threads come to its end late; one has more than is kept of it.
    let contents = |number: usize| match number % 10 {
        0 => format!("{}needle {number}\n", "hay\n".repeat(20_000)),
        1 => String::new(),
        2 if number == 12 => "needle\n".repeat(20_000),
        _ => format!("needle {number}\nhay\nneedle again\n"),
    };
    let files: Vec<(&str, String)> =
        names.iter().enumerate().map(|(number, name)| (name.as_str(), contents(number))).collect();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let place = tree(&files);
    let has_some =
        |(name, text): &(&str, &str)| text.contains("needle").then(|| (*name).to_owned());
    let expected: Vec<String> = files.iter().filter_map(has_some).collect();
    let report = run(&place, "Grep", &json!({"pattern": "needle"}));
    assert_eq!(told(&report), expected);
    let count = |(name, text): &(&str, &str)| {
        let lines = text.lines().filter(|line| line.contains("needle")).count();
        (lines > 0).then(|| format!("{name}:{lines}"))
    };
    let expected: Vec<String> = files.iter().filter_map(count).collect();
    let report = run(&place, "Grep", &json!({"pattern": "needle", "output_mode": "count"}));
    assert_eq!(told(&report), expected);
    let lines = |(name, text): &(&str, &str)| -> Vec<String> {
        let numbered = text.lines().enumerate().filter(|(_, line)| line.contains("needle"));
        numbered.map(|(at, line)| format!("{name}:{}:{line}", at + 1)).collect()
    };
    let all: Vec<String> = files.iter().flat_map(lines).collect();
    let input = |offset: usize| {
        json!({
            "pattern": "needle", "output_mode": "content", "head_limit": 50, "offset": offset,
        })
    };
    // Before, in and behind the file that is searched again.
    for offset in [0, 100, 20_100] {
        let report = run(&place, "Grep", &input(offset));
        assert_eq!(told(&report), all[offset..offset + 50], "{offset}");
    }
}

#[test]
fn no_pattern_takes_longer_than_its_text() {
    let place = tree(&[("a", &"a".repeat(50_000))]);
    let started = Instant::now();
    for pattern in ["(a+)+$b", "(a|aa)+$x", "(a*)*b", "a{0,500}{0,500}"] {
        run(&place, "Grep", &json!({"pattern": pattern}));
    }
    assert!(started.elapsed() < Duration::from_secs(120), "{:?}", started.elapsed());
}

#[test]
fn links_are_not_followed_and_binary_files_are_counted() {
    let place = tree(&[("a.txt", "needle"), ("b.bin", "needle\0")]);
    fs::create_dir(place.beside("out")).unwrap();
    fs::write(place.beside("out/c.txt"), "needle").unwrap();
    symlink(place.beside("out"), place.path("folder")).unwrap();
    symlink(place.beside("out/c.txt"), place.path("file.txt")).unwrap();
    symlink(".", place.path("loop")).unwrap();
    let report = run(&place, "Grep", &json!({"pattern": "needle"}));
    assert_eq!(found(&report), ["a.txt"]);
    assert_eq!(text(&report, "stderr"), message!("1 {}\n" => "grep.binary-files-passed"));
}

#[test]
fn hidden_and_refused_files_are_in_no_answer() {
    let place = tree(&[
        ("a.txt", "needle"),
        ("secret/b.txt", "needle"),
        (".env", "needle"),
        ("deep/.env", "needle"),
        ("ask/c.txt", "needle"),
    ]);
    let policy = stockade::Policy::from_text(
        Path::new("stockade.toml"),
        "[rules]\ndeny = [\"Read(.env)\"]\nask = [\"Read(ask/**)\"]\n[box]\ntier = \"process\"\nhide = [\"secret\"]\n",
    )
    .unwrap();
    let report = run_with(&place, policy.clone(), "Grep", &json!({"pattern": "needle"}));
    assert_eq!(found(&report), ["a.txt"], "{report}");
    assert!(text(&report, "stderr").contains(message!("tree.files-folders-left-out")), "{report}");
    let report = run_with(&place, policy.clone(), "Glob", &json!({"pattern": "**/*"}));
    assert_eq!(found(&report), ["a.txt"], "{report}");
    for input in
        [json!({"pattern": "needle", "path": "secret"}), json!({"pattern": "n", "path": ".env"})]
    {
        let report = run_with(&place, policy.clone(), "Grep", &input);
        assert_eq!(report["denied"], json!(true), "{report}");
    }
}

#[test]
fn an_answer_has_a_most_and_a_search_has_an_end() {
    let place = tree(&[("a", &"needle\n".repeat(100))]);
    let small = policy(|policy| policy.limits.output = ByteCount::bytes(100));
    let input = json!({"pattern": "needle", "output_mode": "content"});
    let report = run_with(&place, small, "Grep", &input);
    assert!(text(&report, "stdout").len() <= 100 && report["truncated"] == json!(true), "{report}");
    let late = policy(|policy| policy.limits.wall = Duration::ZERO);
    let report = run_with(&place, late, "Grep", &input);
    assert_eq!(
        (&report["timed_out"], &report["exit_code"]),
        (&json!(true), &json!(-101)),
        "{report}"
    );
}

#[test]
fn no_pattern_of_names_ends_the_process() {
    let place = tree(&[("a", "needle")]);
    let nested = |deep: usize| ["{a,".repeat(deep), "b".to_owned(), "}".repeat(deep)].concat();
    let patterns = [
        nested(300),
        nested(1300),
        "{".repeat(4000),
        "[".repeat(4000),
        "*?".repeat(2000),
        "{a*,b?}".repeat(500),
        "[!\u{0}-\u{10ffff}]".repeat(300),
        "**/".repeat(1300),
        "\\".repeat(4000),
    ];
    for pattern in &patterns {
        for (tool, input) in [
            ("Glob", json!({"pattern": pattern})),
            ("Grep", json!({"pattern": "needle", "glob": pattern})),
            ("Grep", json!({"pattern": pattern})),
        ] {
            let report = run(&place, tool, &input);
            assert!(report["exit_code"].is_i64() && report["failure"].is_null(), "{report}");
        }
    }
}

#[test]
fn names_that_are_no_text_are_found_with_the_others() {
    use std::os::unix::ffi::OsStrExt as _;
    let place = tree(&[("plain", "needle")]);
    let odd = std::ffi::OsStr::from_bytes(b"caf\xe9");
    fs::write(place.root().join(odd), "needle").unwrap();
    for (tool, input) in [("Glob", json!({"pattern": "*"})), ("Grep", json!({"pattern": "needle"}))]
    {
        let report = run(&place, tool, &input);
        assert_eq!(found(&report), ["caf\u{fffd}", "plain"], "{report}");
        assert!(report["stdout_base64"].is_string(), "{report}");
    }
}
