//! What bash itself says.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use stockade::shell::ast::{Piece, StatementKind};
use stockade::shell::parse;

use super::records::{self, Record};

/// Lines that bash takes and that are refused here, with the reason.
const REFUSED: [(&str, &str); 23] = [
    (
        "group without a blank before its parenthesis",
        "the parser reads one word; the characters in it give it away",
    ),
    ("negated subshell without a blank", "a pattern or a command, by an option of the shell"),
    ("time after a bar", "the parser takes a program for a keyword"),
    ("ANSI-C quotes with bytes that are no text", "trees hold text"),
    ("ANSI-C quotes beyond Unicode", "trees hold text"),
    ("line continuation inside an operator", "the parser overlooks it"),
    ("line continuation between ands", "the parser overlooks it"),
    ("uncertain quote in a default", "where it ends has changed between versions"),
    ("a command in braces", "bash 5.3 runs it, older ones refuse it when they come to it"),
    ("a command in braces with a bar", "the same"),
    ("a form of zsh", "bash refuses it when it comes to it"),
    ("backticks that are no script", "bash refuses it when it comes to it"),
    ("here-document whose last line is joined", "the parser ends it too early"),
    ("here-document that does not end", "bash warns and takes it"),
    ("here-document with an expansion as delimiter", "the parser refuses it"),
    ("a reserved word after an assignment", "it could be a mistake of the parser"),
    ("a form of zsh: background", "bash reads a command `!` after it"),
    (
        "08 for loop with brace group body instead of do/done",
        "not documented, and the parser refuses it",
    ),
    ("12 tab-stripped heredoc with trailing parens in cmdsub", "bash warns and takes it"),
    ("19 named coproc if compound", "the parser knows names only before braces"),
    ("20 select without in uses positional params", "the parser refuses it"),
    ("20 select with brace group body", "not documented, and the parser refuses it"),
    ("30 nested grouping in extglob", "the second look sees a subshell"),
];

/// Lines that bash does not take and that become a tree: bash runs nothing of them.
const TAKEN: [(&str, &str); 4] = [
    ("extended patterns", "with the option, they are patterns"),
    ("a form of zsh: foreach", "it is read as words and a subshell"),
    ("a form of zsh: anonymous function", "it is read as a subshell and a group"),
    ("31 unbalanced paren in cmdsub is syntax error", "it is read as a word and a subshell"),
];

#[expect(clippy::disallowed_methods, reason = "the shell that the trees are about")]
fn bash(arguments: &[&str]) -> Option<Command> {
    let mut command = Command::new("bash");
    command.args(arguments).env_clear().stdin(Stdio::null());
    let found = Command::new("bash").arg("--version").output();
    found.is_ok().then_some(command)
}

/// Says that bash is not there.
#[expect(clippy::print_stderr, reason = "what was skipped is told")]
fn skip() {
    eprintln!("skipped: there is no bash");
}

#[test]
fn bash_takes_and_refuses_the_same_lines() {
    let mut wrong = Vec::new();
    for Record { name, line, .. } in records::all() {
        // Some lines of the other parser's tests say that they need the option.
        let option = if line.starts_with("# @extglob") { "-O" } else { "+O" };
        let arguments = [option, "extglob", "-n", "-c", &line];
        let Some(mut command) = bash(&arguments) else { return skip() };
        let output: Output = command.output().unwrap();
        let is_taken = output.status.success();
        let is_understood = parse(&line).faults.is_empty();
        let listed = |list: &[(&str, &str)]| list.iter().any(|(other, _)| *other == name);
        let expected = match (is_taken, is_understood) {
            (true, false) => listed(&REFUSED),
            (false, true) => listed(&TAKEN),
            (true, true) | (false, false) => !listed(&REFUSED) && !listed(&TAKEN),
        };
        if !expected {
            wrong.push(format!("(\"{name}\", \"\"), // bash {is_taken}: {line:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Words without expansions: what bash makes of them is known from their text.
const WORDS: &str = include_str!("../../data/shell/words.txt");

#[test]
fn words_mean_what_bash_makes_of_them() {
    let words: Vec<&str> = WORDS.split("\n%%\n").map(|word| word.trim_end_matches('\n')).collect();
    assert!(words.len() > 60, "{}", words.len());
    let mut script = String::new();
    for word in &words {
        writeln!(script, "printf '%s\\0' {word}").unwrap();
    }
    let Some(mut command) = bash(&["-s"]) else { return skip() };
    command.env("LC_ALL", "C.UTF-8").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let said = child.wait_with_output().unwrap().stdout;
    let said: Vec<&str> = std::str::from_utf8(&said).unwrap().split_terminator('\0').collect();
    let read: Vec<String> = words.iter().map(|word| text(word)).collect();
    assert_eq!(read, said);
}

/// The text of the only argument of a line.
fn text(word: &str) -> String {
    let parsed = parse(&format!("x {word}"));
    assert_eq!(parsed.faults, [], "{word}");
    let StatementKind::Simple(simple) = &parsed.script.statements.first().unwrap().kind else {
        panic!("{word}")
    };
    let [_, argument] = simple.words.as_slice() else { panic!("{word}: {simple:?}") };
    let text = |piece: &Piece| {
        let Piece::Text { text, .. } = piece else { panic!("{word}: {piece:?}") };
        text.clone()
    };
    argument.pieces.iter().map(text).collect()
}
