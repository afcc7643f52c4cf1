//! Runs the tables in `cases/`: each line is a call that is refused beside its nearest neighbour
//! that passes.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;
use stockade::call::ToolCall;
use stockade::gate::{Examination, Examiner};
use stockade::policy::{Decision, Policy};

use crate::golden::shown::quoted;
use crate::project::{Project, contained};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    group: Vec<Group>,
}

/// Pairs that are judged alike.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    about: String,
    /// The rule that refuses, for the pairs that name none.
    rule: Option<String>,
    #[serde(default)]
    profile: Profile,
    /// Where the calls run, below the root.
    cwd: Option<String>,
    /// What the calls read on standard input.
    #[serde(default)]
    stdin: String,
    pair: Vec<Pair>,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Profile {
    #[default]
    Strict,
    Contained,
    /// The strict profile without curl and wget on the denylist.
    Network,
}

/// A refused call and its nearest neighbours that pass.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    no: Vec<String>,
    /// The argument that the refusal is about; none where it is about the call as a whole.
    at: Option<usize>,
    rule: Option<String>,
    yes: Vec<String>,
}

const TABLES: [(&str, &str); 5] = [
    ("name", include_str!("cases/name.toml")),
    ("argv", include_str!("cases/argv.toml")),
    ("structure", include_str!("cases/structure.toml")),
    ("path", include_str!("cases/path.toml")),
    ("profile", include_str!("cases/profile.toml")),
];

/// How many calls a table judged.
#[derive(Debug, Default)]
struct Count {
    refused: usize,
    passed: usize,
}

fn check(table: &str, least: usize) {
    let table: Table = toml::from_str(table).unwrap();
    let project = Project::new();
    let [strict, contained, network] = [Profile::Strict, Profile::Contained, Profile::Network]
        .map(|profile| project.examiner(policy(profile)));
    let mut wrong = Vec::new();
    let mut count = Count::default();
    for group in &table.group {
        let examiner = match group.profile {
            Profile::Strict => &strict,
            Profile::Contained => &contained,
            Profile::Network => &network,
        };
        for pair in &group.pair {
            wrong.extend(refuses(&project, examiner, group, pair));
            wrong.extend(passes(&project, examiner, group, pair));
            count.refused += 1;
            count.passed += 1;
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count.refused + count.passed >= least, "{count:?}");
}

fn policy(profile: Profile) -> Policy {
    let mut policy = match profile {
        Profile::Strict | Profile::Network => Policy::shipped(),
        Profile::Contained => contained(),
    };
    if matches!(profile, Profile::Network) {
        policy.settings.deny.retain(|name| name != "curl" && name != "wget");
    }
    policy
}

fn examine(project: &Project, examiner: &Examiner, group: &Group, argv: &[String]) -> Examination {
    let argv: Vec<OsString> = argv.iter().map(|word| project.filled(word).into()).collect();
    let mut call = ToolCall::exec(argv).with_stdin(group.stdin.as_bytes());
    call.cwd = group.cwd.as_ref().map(|cwd| project.root().join(cwd));
    examiner.examine(&call)
}

/// Every call of every table with its name, examined.
pub(crate) fn examined(mut each: impl FnMut(&str, &Path, Examination)) {
    let project = Project::new();
    for (name, text) in TABLES {
        let table: Table = toml::from_str(text).unwrap();
        for group in &table.group {
            let examiner = project.examiner(policy(group.profile));
            for argv in group.pair.iter().flat_map(|pair| [&pair.no, &pair.yes]) {
                let Group { profile, stdin, cwd, .. } = group;
                let profile = format!("{profile:?}").to_lowercase();
                let words: Vec<String> = argv.iter().map(|word| quoted(word)).collect();
                let mut called = format!("{name} {profile} {}", words.join(" "));
                if let Some(cwd) = cwd {
                    write!(called, " cwd={cwd}").unwrap();
                }
                if !stdin.is_empty() {
                    write!(called, " stdin={}", quoted(stdin)).unwrap();
                }
                each(&called, &project.root(), examine(&project, &examiner, group, argv));
            }
        }
    }
}

fn refuses(project: &Project, examiner: &Examiner, group: &Group, pair: &Pair) -> Option<String> {
    let ruling = examine(project, examiner, group, &pair.no).ruling;
    let (about, no) = (&group.about, &pair.no);
    let rule = pair.rule.as_ref().or(group.rule.as_ref());
    if ruling.decision != Decision::Deny || ruling.rule.as_ref() != rule {
        let found = (ruling.decision, ruling.rule, ruling.reason);
        return Some(format!("{about}: {no:?} should be refused by {rule:?}: {found:?}"));
    }
    if ruling.argument != pair.at {
        let (found, at) = (ruling.argument, pair.at);
        return Some(format!(
            "{about}: {no:?} should be refused for argument {at:?}, not {found:?}"
        ));
    }
    let reason = ruling.reason.unwrap_or_default();
    if pair.at.is_some_and(|at| !reason.contains(&format!("argument {at}"))) {
        return Some(format!("{about}: {no:?}: the reason names no argument: {reason}"));
    }
    if ruling.instead.is_none_or(|instead| instead.is_empty()) {
        return Some(format!("{about}: {no:?}: nothing is offered instead"));
    }
    None
}

/// A program that is not on this machine has passed the axes all the same.
fn passes(project: &Project, examiner: &Examiner, group: &Group, pair: &Pair) -> Option<String> {
    let ruling = examine(project, examiner, group, &pair.yes).ruling;
    let missing = ruling.rule.as_deref() == Some("name/missing");
    let passed = ruling.decision == Decision::Allow || missing;
    let found = (ruling.rule, ruling.reason);
    (!passed).then(|| format!("{}: {:?} should pass: {found:?}", group.about, pair.yes))
}

#[test]
fn the_name_axis_goes_by_identity() {
    check(include_str!("cases/name.toml"), 90);
}

#[test]
fn the_argv_axis_knows_what_arguments_do() {
    check(include_str!("cases/argv.toml"), 150);
}

#[test]
fn the_structure_axis_tells_shell_syntax_from_data() {
    check(include_str!("cases/structure.toml"), 30);
}

#[test]
fn the_path_axis_goes_by_where_a_path_lands() {
    check(include_str!("cases/path.toml"), 80);
}

#[test]
fn the_profiles_differ_in_what_a_box_contains() {
    check(include_str!("cases/profile.toml"), 10);
}
