//! What is read here is what the whole command line would have read.

use std::ffi::OsString;

use clap::{CommandFactory, Parser};

use crate::args::{Args, Command};

/// What is read by itself, if it is.
fn plain(words: &[OsString]) -> Option<String> {
    let (command, words) = words.split_first()?;
    match command.to_str()? {
        "run" => super::run(words).map(|run| format!("{run:?}")),
        "shell" => super::shell(words).map(|shell| format!("{shell:?}")),
        _ => None,
    }
}

/// What the whole command line reads, if it is right.
fn whole(words: &[OsString]) -> Option<String> {
    let words = std::iter::once(OsString::from("stockade")).chain(words.iter().cloned());
    let command = Args::try_parse_from(words).ok()?.command;
    if let Command::Run(run) = &command {
        return Some(format!("{run:?}"));
    }
    if let Command::Shell(shell) = &command { Some(format!("{shell:?}")) } else { None }
}

fn words(line: &str) -> Vec<OsString> {
    line.split(' ').map(|word| OsString::from(word.replace('_', " "))).collect()
}

/// What is read by itself: every option of both commands is in one of them.
const LINES: &[&str] = &[
    "run -- true",
    "run -- ls -la --json -- x",
    "run --json --quiet --no-ask --stdin -- cat",
    "run -q --tier process -- true",
    "run --tier=jail --profile contained --net=none -- true",
    "run --root=/a=b --cwd sub --journal j --policy p --mode plan -- true a=b",
    "run --timeout 30s --cpu=1m --cpus 1.5 --memory 256M --processes 5 --file-size 1M --disk 1G \
     --files 9 --max-output=64K -- true",
    "run --write a --write=b --read c --toolchain rust --env A --env B=c=d --image i -- true",
    "shell ls_-la",
    "shell -- ls_|_wc",
    "shell -- -x",
    "shell --root=/p --cwd=/p/q --settings=a --settings=b --rules=r --dialect=claude \
     --dialect=codex --mode=default --tier=jail --answered=none -- ls",
];

#[test]
fn what_agents_type_is_read_by_itself_and_as_by_the_whole() {
    for line in LINES {
        let read = plain(&words(line));
        assert!(read.is_some(), "{line}");
        assert_eq!(read, whole(&words(line)), "{line}");
    }
}

#[test]
fn every_option_is_known_here() {
    let all = Args::command();
    for name in ["run", "shell"] {
        let command = all.find_subcommand(name).unwrap();
        let longs = command.get_arguments().filter_map(clap::Arg::get_long);
        // What is told by the whole, and a list that few type.
        for long in longs.filter(|long| !["help", "only"].contains(long)) {
            let option = format!("--{long}");
            let is_in = |line: &&&str| line.split(['=', ' ']).any(|word| word == option);
            assert!(LINES.iter().any(|line| is_in(&line)), "{name} {option}");
        }
    }
}

#[test]
fn what_is_not_understood_is_left_to_the_whole() {
    let lines = [
        "run",
        "run --",
        "run true",
        "run --json",
        "run --json --json -- true",
        "run --json=x -- true",
        "run --tier -- true",
        "run --tier= -- true",
        "run --tier none -- true",
        "run --timeout x -- true",
        "run --timeout 3s --timeout 4s -- true",
        "run --processes 0 -- true",
        "run --env =x -- true",
        "run --tools -- true",
        "run --root a --root b -- true",
        "run --root -x -- true",
        "run --answered=none -- true",
        "run -h",
        "run --help",
        "run --net=all -- true",
        "shell",
        "shell --",
        "shell a b",
        "shell -- a b",
        "shell --stdin a",
        "shell --only ls a",
        "shell --answered=maybe a",
        "shell a --json",
        "shell -x",
    ];
    for line in lines {
        assert_eq!(plain(&words(line)), None, "{line}");
    }
}

/// Every line of up to four words of these: what is read by itself is right, and means the same.
#[test]
fn no_line_is_read_in_another_way() {
    let parts = [
        "--",
        "--json",
        "-q",
        "-",
        "--tier",
        "--tier=jail",
        "--tier=",
        "jail",
        "--root",
        "--root=x",
        "--settings",
        "--net=none",
        "--answered=yes",
        "--stdin",
        "--timeout=1s",
        "--env=A=",
        "--files=+1",
        "--processes=07",
        "=",
        "",
    ];
    let mut lines: Vec<Vec<&str>> = vec![vec![]];
    let mut read = 0;
    for _ in 0..4 {
        lines = lines
            .into_iter()
            .flat_map(|line| parts.map(|part| [line.clone(), vec![part]].concat()))
            .collect();
        // What comes first decides most of it; the last round is a sample.
        for line in lines.iter().step_by(if lines.len() > 10_000 { 37 } else { 1 }) {
            for command in ["run", "shell"] {
                let line: Vec<OsString> =
                    std::iter::once(&command).chain(line).map(OsString::from).collect();
                if let Some(plain) = plain(&line) {
                    assert_eq!(Some(plain), whole(&line), "{line:?}");
                    read += 1;
                }
            }
        }
    }
    assert!(read > 100, "{read} were read");
}
