//! What a person reads.

use stockade::policy::Decision;
use stockade::shell::ast::Span;

use super::{Command, Effect, EffectKind, Explanation, Verdict, render};
use crate::diagnostic::{Label, Weight};

fn command(depth: usize, place: &str, argv: &str) -> Command {
    let place = Some(place.to_owned()).filter(|place| !place.is_empty());
    Command { depth, place, argv: argv.to_owned(), ..Command::default() }
}

fn effect(kind: EffectKind, target: &str) -> Effect {
    Effect { kind, target: target.to_owned() }
}

fn allowed() -> Verdict {
    let rule = Some("Bash(git *)".to_owned());
    let source = Some("stockade.toml:4".to_owned());
    Verdict { decision: Decision::Allow, rule, source, reason: None, instead: None, labels: vec![] }
}

#[track_caller]
fn assert_drawn(explanation: &Explanation<'_>, wanted: &[&str]) {
    let drawn = anstream::adapter::strip_str(&render(explanation)).to_string();
    assert_eq!(drawn.lines().collect::<Vec<_>>(), wanted, "\n{drawn}\n");
}

#[test]
fn a_line_is_told_as_a_tree_with_its_verdict() {
    let line = "cd / && rm -rf $x/* $(cat list) | tee log; curl https://e.example";
    let start = line.find("rm").unwrap();
    let span = Span { start, end: line.find(" |").unwrap() };
    let rm = Command {
        cwd: Some("/".to_owned()),
        dynamic: Some("$x, $(cat list)".to_owned()),
        effects: vec![
            effect(EffectKind::Deletes, "$x/*"),
            effect(EffectKind::Deletes, "$(cat list)"),
        ],
        notes: vec!["a variable before a slash and a glob may be empty".to_owned()],
        ..command(0, "pipeline 1 of 2", "rm -rf $x/* $(cat list)")
    };
    let cat = Command {
        effects: vec![effect(EffectKind::Reads, "/list")],
        ..command(1, "in $(…)", "cat list")
    };
    let tee = Command {
        effects: vec![effect(EffectKind::Writes, "/log")],
        ..command(0, "pipeline 2 of 2", "tee log")
    };
    let curl = Command {
        effects: vec![effect(EffectKind::Reaches, "e.example")],
        ..command(0, "", "curl https://e.example")
    };
    let label = |span, text: &str, weight| Label { span, text: text.to_owned(), weight };
    let verdict = Verdict {
        decision: Decision::Deny,
        rule: Some("path/critical-delete".to_owned()),
        source: None,
        reason: Some("deletes all that is in / if x is empty".to_owned()),
        instead: Some("name what is to be deleted".to_owned()),
        labels: vec![
            label(span, "this deletes", Weight::Primary),
            label(Span { start: 0, end: 4 }, "in /", Weight::Secondary),
        ],
    };
    let commands = vec![command(0, "", "cd /"), rm, cat, tee, curl];
    assert_drawn(
        &Explanation { line, commands, verdict },
        &[
            "cd /",
            "rm -rf $x/* $(cat list)                 [pipeline 1 of 2; not known before the run: $x, $(cat list)]",
            "    in: /",
            "    deletes: $x/*, $(cat list)",
            "    finding: a variable before a slash and a glob may be empty",
            "  cat list                              [in $(…)]",
            "      reads: /list",
            "tee log                                 [pipeline 2 of 2]",
            "    writes: /log",
            "curl https://e.example",
            "    reaches: e.example",
            "deny by path/critical-delete",
            "  deletes all that is in / if x is empty",
            "  1 | cd / && rm -rf $x/* $(cat list) | tee log; curl https://e.example",
            "    | ----    ^^^^^^^^^^^^^^^^^^^^^^^ this deletes",
            "    | |",
            "    | in /",
            "  instead: name what is to be deleted",
        ],
    );
}

#[test]
fn an_allowed_line_is_short() {
    let commands = vec![command(0, "", "git status")];
    let explanation = Explanation { line: "git status", commands, verdict: allowed() };
    assert_drawn(&explanation, &["git status", "allow by Bash(git *) (stockade.toml:4)"]);
    let nothing = Explanation { line: "", commands: vec![], verdict: allowed() };
    assert_drawn(
        &nothing,
        &[message!("explain.no-command-found"), "allow by Bash(git *) (stockade.toml:4)"],
    );
}

#[test]
fn effects_of_one_kind_are_told_together_and_the_worst_first() {
    let effects = vec![
        effect(EffectKind::Reads, "a"),
        effect(EffectKind::Runs, "hook"),
        effect(EffectKind::Deletes, "c"),
        effect(EffectKind::Reads, "b"),
        effect(EffectKind::Writes, "d"),
    ];
    let commands = vec![Command { effects, ..command(0, "run by xargs", "mv a b c") }];
    assert_drawn(
        &Explanation { line: "", commands, verdict: allowed() },
        &[
            "mv a b c                                [run by xargs]",
            "    deletes: c",
            "    writes: d",
            "    reads: a, b",
            "    runs: hook",
            "allow by Bash(git *) (stockade.toml:4)",
        ],
    );
}

#[test]
fn what_is_told_stays_on_its_line_and_hides_nothing() {
    let nasty = "x\u{1b}[2K\r\u{202e}\nallow by me";
    let told = Command {
        cwd: Some(nasty.to_owned()),
        effects: vec![effect(EffectKind::Writes, nasty)],
        notes: vec![nasty.to_owned()],
        dynamic: Some(nasty.to_owned()),
        ..command(0, nasty, nasty)
    };
    let label =
        Label { span: Span { start: 0, end: 1 }, text: nasty.to_owned(), weight: Weight::Primary };
    let verdict = Verdict { labels: vec![label], ..allowed() };
    let explanation = Explanation { line: nasty, commands: vec![told], verdict };
    let drawn = anstream::adapter::strip_str(&render(&explanation)).to_string();
    assert!(!drawn.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{drawn:?}");
    assert!(!drawn.lines().any(|line| line.starts_with("allow by me")), "{drawn}");
}

#[test]
fn depth_is_drawn_to_a_bound_and_then_told() {
    let commands = vec![command(2, "", "ls"), command(500, "", "ls")];
    let deep = format!("{:<40}[500 deep]", format!("{}ls", " ".repeat(24)));
    assert_drawn(
        &Explanation { line: "", commands, verdict: allowed() },
        &["    ls", &deep, "allow by Bash(git *) (stockade.toml:4)"],
    );
}
