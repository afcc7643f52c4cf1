//! The truth table of the modes: every cell of `modes.toml` against the decision alone and against
//! the gate on a real line, and `docs/modes.md` against both.
//!
//! `STOCKADE_WRITE_TABLE=1` writes the document; else one that is not up to date fails.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use stockade::call::ToolCall;
use stockade::gate::Examination;
use stockade::policy::decide::{CallKind, Containment, Reach, RuleAnswer, Situation, weigh};
use stockade::policy::{Decision, Mode, Policy, PolicyFiles, Profile};
use stockade::tier::Tier;

use crate::project::Project;
use crate::written;

const KINDS: [&str; 5] = ["reads", "edits", "runs", "protected", "critical"];
const RULES: [&str; 5] = ["none", "allow", "ask-tool", "ask-part", "deny"];
const HOLDS: [&str; 3] = ["box", "axes", "nothing"];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    row: Vec<Row>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    kind: String,
    rule: Vec<String>,
    hold: Vec<String>,
    is: String,
}

/// A place in the table: kind, rule and hold.
type Place = (String, String, String);

/// The cells of `modes.toml`, each there once.
fn expected() -> BTreeMap<Place, Vec<String>> {
    let table: Table = toml::from_str(include_str!("modes.toml")).unwrap();
    let mut cells = BTreeMap::new();
    for row in table.row {
        let is: Vec<String> = row.is.split(' ').map(str::to_owned).collect();
        assert_eq!(is.len(), Mode::ALL.len(), "{row:?}");
        for rule in &row.rule {
            for hold in &row.hold {
                let place = (row.kind.clone(), rule.clone(), hold.clone());
                assert!(cells.insert(place, is.clone()).is_none(), "twice: {row:?}");
            }
        }
    }
    assert_eq!(cells.len(), KINDS.len() * RULES.len() * HOLDS.len());
    cells
}

fn case(mode: Mode, kind: &str, rule: &str, hold: &str) -> Situation {
    Situation {
        mode,
        kind: match kind {
            "reads" => CallKind::Reads,
            "runs" => CallKind::Runs,
            _ => CallKind::Edits,
        },
        reach: if kind == "protected" { Reach::Protected } else { Reach::Usual },
        found: if kind == "critical" { Decision::Ask } else { Decision::Allow },
        rule: match rule {
            "allow" => Some(RuleAnswer::Allow),
            "ask-tool" => Some(RuleAnswer::AskTool),
            "ask-part" => Some(RuleAnswer::AskPart),
            "deny" => Some(RuleAnswer::Deny),
            _ => None,
        },
        hold: match hold {
            "box" => Containment::Box,
            "axes" => Containment::Axes,
            _ => Containment::Nothing,
        },
    }
}

/// Holds every cell of the table against what decides.
fn check(decide: impl Fn(Mode, &str, &str, &str) -> Decision) {
    let mut wrong = Vec::new();
    for ((kind, rule, hold), is) in expected() {
        for (mode, is) in Mode::ALL.into_iter().zip(is) {
            let found = decide(mode, &kind, &rule, &hold).name();
            if found != is {
                wrong.push(format!("{mode}, {kind}, {rule}, {hold}: {found} and not {is}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_cell_is_decided_as_the_table_says() {
    check(|mode, kind, rule, hold| weigh(case(mode, kind, rule, hold)).0);
}

/// A line of each kind, and its program.
fn line(kind: &str) -> (&'static str, &'static str) {
    match kind {
        "reads" => ("cat f.txt", "cat"),
        "edits" => ("touch new.txt", "touch"),
        "runs" => ("sh build.sh", "sh"),
        "protected" => ("touch .git/config", "touch"),
        _ => ("rm -rf .", "rm"),
    }
}

/// The shipped policy with this mode, this rule and this hold.
fn policy(mode: Mode, (rule, program): (&str, &str), hold: &str) -> Policy {
    let list = match rule {
        "allow" => format!("allow = ['Bash({program} *)']"),
        "ask-tool" => "ask = ['Bash']".to_owned(),
        "ask-part" => format!("ask = ['Bash({program} *)']"),
        "deny" => format!("deny = ['Bash({program} *)']"),
        _ => String::new(),
    };
    let text = format!("mode = '{mode}'\n[rules]\n{list}\n");
    let mut policy = Policy::from_text(Path::new("modes.toml"), &text).unwrap();
    // On the denylist a delete would be no question.
    policy.settings.deny.remove("rm");
    policy.tier = if hold == "box" { Tier::Jail } else { Tier::Process };
    policy.shell_profile = if hold == "axes" { Profile::Strict } else { Profile::Contained };
    policy
}

/// Every cell with its name, and its line examined in each mode.
pub(crate) fn examined(mut each: impl FnMut(&str, &Path, Vec<(String, Examination)>)) {
    let project = Project::new();
    fs::create_dir_all(project.beside("work/.git")).unwrap();
    for (kind, rule, hold) in expected().into_keys() {
        let (line, program) = line(&kind);
        let cells = Mode::ALL.map(|mode| {
            let examiner = project.examiner(policy(mode, (&rule, program), &hold));
            (format!("{mode} "), examiner.examine(&ToolCall::line(line)))
        });
        each(&format!("{kind} {rule} {hold}"), &project.root(), cells.into());
    }
}

#[test]
fn every_cell_holds_for_a_line_at_the_gate() {
    let project = Project::new();
    fs::create_dir_all(project.beside("work/.git")).unwrap();
    check(|mode, kind, rule, hold| {
        let (line, program) = line(kind);
        let examiner = project.examiner(policy(mode, (rule, program), hold));
        examiner.examine(&ToolCall::line(line)).ruling.decision
    });
}

#[test]
fn what_the_axes_refuse_is_refused_in_every_cell() {
    for (kind, rule, hold) in expected().into_keys() {
        for mode in Mode::ALL {
            let refused = Situation { found: Decision::Deny, ..case(mode, &kind, &rule, &hold) };
            assert_eq!(weigh(refused).0, Decision::Deny, "{refused:?}");
        }
    }
}

/// So that a project's file can be told to be no looser.
#[test]
fn a_stricter_mode_is_nowhere_looser() {
    for (kind, rule, hold) in expected().into_keys() {
        for (loose, strict) in
            Mode::ALL.into_iter().flat_map(|one| Mode::ALL.map(|other| (one, other)))
        {
            let [loosely, strictly] =
                [loose, strict].map(|mode| weigh(case(mode, &kind, &rule, &hold)).0);
            assert!(
                strictly >= loosely || strict.partial_cmp(&loose) != Some(Ordering::Greater),
                "{kind}, {rule}, {hold}: {strict} is {strictly:?} and {loose} is {loosely:?}"
            );
        }
    }
    assert_eq!(Mode::Plan.partial_cmp(&Mode::DontAsk), None);
}

#[test]
fn a_box_and_a_rule_that_allows_never_make_it_stricter() {
    for (kind, rule, hold) in expected().into_keys() {
        for mode in Mode::ALL {
            let there = case(mode, &kind, &rule, &hold);
            let boxed = Situation { hold: Containment::Box, ..there };
            assert!(weigh(boxed).0 <= weigh(there).0, "{there:?}");
            let none = Situation { rule: None, ..there };
            let allowed = Situation { rule: Some(RuleAnswer::Allow), ..there };
            let denied = Situation { rule: Some(RuleAnswer::Deny), ..there };
            assert!(weigh(allowed).0 <= weigh(none).0, "{there:?}");
            assert_eq!(weigh(denied).0, Decision::Deny, "{there:?}");
        }
    }
}

#[test]
fn a_mode_has_the_names_of_settings_files_too() {
    for (name, mode) in [
        ("manual", Mode::Default),
        ("acceptEdits", Mode::AcceptEdits),
        ("dontAsk", Mode::DontAsk),
        ("bypassPermissions", Mode::Bypass),
    ] {
        assert_eq!(name.parse(), Ok(mode));
        assert_eq!(mode.name().parse(), Ok(mode));
    }
    assert!("yolo".parse::<Mode>().is_err());
}

#[test]
fn a_project_makes_the_mode_stricter_and_never_looser() {
    let folder = tempfile::tempdir().unwrap();
    let load = |user: &str, project: &str| {
        let [user, project] =
            [("user.toml", user), ("stockade.toml", project)].map(|(name, text)| {
                let path = folder.path().join(name);
                fs::write(&path, text).unwrap();
                Some(path)
            });
        PolicyFiles { user, managed: None, project }.load()
    };
    let mode = |user: Mode, project: Mode| {
        let text = |mode: Mode| format!("mode = '{mode}'");
        load(&text(user), &text(project)).map(|policy| policy.mode).ok()
    };
    assert_eq!(mode(Mode::Auto, Mode::Default), Some(Mode::Default));
    assert_eq!(mode(Mode::Default, Mode::Plan), Some(Mode::Plan));
    assert_eq!(mode(Mode::Plan, Mode::Plan), Some(Mode::Plan));
    assert_eq!(mode(Mode::Default, Mode::Auto), None);
    assert_eq!(mode(Mode::Auto, Mode::Bypass), None);
    assert_eq!(mode(Mode::Plan, Mode::DontAsk), None);
    assert!(load("", "questions.timeout = '5s'").is_ok());
    let longer = load("", "\nquestions.timeout = '5m'").unwrap_err().to_string();
    assert!(longer.contains("line 2") && longer.contains("`questions.timeout`"), "{longer}");
    let unknown = load("mode = 'yolo'", "").unwrap_err().to_string();
    assert!(unknown.contains("line 1") && unknown.contains("accept-edits"), "{unknown}");
}

fn document() -> String {
    let mut text = String::from(include_str!("modes.md"));
    for (kind, about) in KINDS.into_iter().zip(ABOUT) {
        let modes = Mode::ALL.map(|mode| format!("`{mode}`")).join(" | ");
        let rule_off = "|---".repeat(Mode::ALL.len() + 2);
        let (example, _) = line(kind);
        writeln!(text, "\n### {about}, such as `{example}`\n").unwrap();
        writeln!(text, "| rule | held by | {modes} |\n{rule_off}|").unwrap();
        for rule in RULES {
            let cells = |hold| -> Vec<&'static str> {
                Mode::ALL.map(|mode| weigh(case(mode, kind, rule, hold)).0.name()).to_vec()
            };
            let mut rows: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
            for hold in HOLDS {
                match rows.iter_mut().find(|(_, same)| *same == cells(hold)) {
                    Some((holds, _)) => holds.push(hold),
                    None => rows.push((vec![hold], cells(hold))),
                }
            }
            for (holds, cells) in rows {
                let holds =
                    if holds.len() == HOLDS.len() { "any".into() } else { holds.join(", ") };
                writeln!(text, "| {} | {holds} | {} |", of_rule(rule), cells.join(" | ")).unwrap();
            }
        }
    }
    text
}

const ABOUT: [&str; 5] = [
    "It changes nothing",
    "It only changes files of the work",
    "It may do anything",
    "It writes a protected path",
    "A finding asks, as a critical delete does",
];

fn of_rule(rule: &str) -> &'static str {
    match rule {
        "allow" => "`allow`",
        "ask-tool" => "`ask = [\"Bash\"]`",
        "ask-part" => "`ask` with a pattern",
        "deny" => "`deny`",
        _ => "none",
    }
}

#[test]
fn the_document_is_up_to_date() {
    written::hold("docs/modes.md", &document());
}
