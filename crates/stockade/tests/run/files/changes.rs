//! What the report of a program lists of what it changed.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use stockade::call::Language;
use stockade::confine::ListedChanges;
use stockade::launch::{Origin, PoolSize};
use stockade::policy::{Mode, Rules};
use stockade::{Policy, Stockade, ToolCall};

use crate::jail::{jailed, project};
use crate::support::{
    Project, eventually, has, is_root, json as json_of, policy, skip, text, unboxed,
};
use crate::warm::{run_warm, warmed};

fn watching(watched: ListedChanges) -> Policy {
    policy(|policy| {
        policy.files.watched = watched;
        policy.files.protect.clear();
        policy.settings.deny.clear();
        // Lines that destroy the history are asked about.
        policy.rules = Rules::default();
        policy.mode = Mode::Bypass;
    })
}

fn changes(report: &Value) -> Vec<(String, String, bool)> {
    assert!(report["changes"].is_array(), "{report}");
    let list = report["changes"].as_array().unwrap();
    let one = |change: &Value| {
        let field = |name| text(change, name).to_owned();
        (field("path"), field("kind"), change["runs_code"].is_string())
    };
    list.iter().map(one).collect()
}

fn line(place: &Project, watched: ListedChanges, line: &str) -> Value {
    let report = place.run_with(watching(watched), ToolCall::line(line));
    assert_eq!(report["ok"], json!(true), "{report}");
    report
}

fn listed(path: &str, kind: &str, runs_code: bool) -> (String, String, bool) {
    (path.to_owned(), kind.to_owned(), runs_code)
}

#[test]
fn files_from_which_code_runs_are_listed_whatever_changed_them() {
    let place = Project::new();
    fs::create_dir_all(place.path(".git/hooks")).unwrap();
    fs::write(place.path("package.json"), "{}").unwrap();
    fs::write(place.path("Makefile"), "all:").unwrap();
    fs::write(place.path(".bashrc"), "x").unwrap();
    let script = "echo x > .git/hooks/pre-commit; echo 1 >> package.json; mv .bashrc gone; \
                  touch Makefile; echo y > other";
    let report = line(&place, ListedChanges::Risky, script);
    let expected = [
        listed(".bashrc", "deleted", true),
        listed(".git/hooks/pre-commit", "created", true),
        listed("package.json", "modified", true),
    ];
    assert_eq!(changes(&report), expected);
    let package = &report["changes"][2];
    assert!(package["before"].is_string() && package["after"].is_string(), "{package}");
    assert_ne!(package["before"], package["after"]);
    assert_eq!(report["changes"][1]["size"], json!(2));
    assert_eq!(line(&place, ListedChanges::Risky, "true")["changes"], json!([]));
    assert_eq!(
        line(&place, ListedChanges::Nothing, "echo 2 >> package.json")["changes"],
        json!(null)
    );
}

#[test]
fn all_changes_are_listed_where_the_policy_asks_for_them() {
    let place = Project::new();
    fs::create_dir_all(place.path("sub/deep")).unwrap();
    for file in ["old", "sub/edited", "sub/deep/package.json", "sub/moved", "touched"] {
        fs::write(place.path(file), file).unwrap();
    }
    tick();
    let script = "echo x > sub/new; echo x >> sub/edited; echo >> sub/deep/package.json; \
                  mv sub/moved sub/deep/here; touch -d 2001-01-01 touched";
    let report = line(&place, ListedChanges::All, script);
    let kinds: Vec<(String, bool)> =
        changes(&report).into_iter().map(|(path, _, runs)| (path, runs)).collect();
    let expected = [
        ("sub/deep/here", false),
        ("sub/deep/package.json", true),
        ("sub/edited", false),
        ("sub/moved", false),
        ("sub/new", false),
        ("touched", false),
    ];
    assert_eq!(kinds, expected.map(|(path, runs)| (path.to_owned(), runs)));
    assert!(changes(&report).contains(&listed("sub/edited", "modified", false)), "{report}");
}

#[test]
fn a_link_in_the_place_of_a_folder_from_which_code_runs_is_listed() {
    let place = Project::new();
    for file in ["evil/settings.json", "v/tasks.json", "sub/x"] {
        fs::create_dir_all(place.path(file).parent().unwrap()).unwrap();
        fs::write(place.path(file), "{}").unwrap();
    }
    let report =
        line(&place, ListedChanges::Risky, "ln -s evil .claude; ln -s v .vscode; ln -s v other");
    let expected = [listed(".claude", "created", true), listed(".vscode", "created", true)];
    assert_eq!(changes(&report), expected);
    assert_eq!(changes(&line(&place, ListedChanges::Risky, "true")), []);
    tick();
    let report = line(&place, ListedChanges::All, "ln -s x sub/.zed; ln -s x sub/plain");
    let expected = [listed("sub/.zed", "created", true), listed("sub/plain", "created", false)];
    assert_eq!(changes(&report), expected);
}

#[test]
fn more_files_than_are_looked_at_are_said_to_be_there() {
    let place = Project::new();
    fs::create_dir(place.path(".claude")).unwrap();
    for number in 0..2500 {
        fs::write(place.path(".claude").join(number.to_string()), "").unwrap();
    }
    let report = line(&place, ListedChanges::Risky, "true");
    let unseen = report["unseen"].to_string();
    assert!(
        unseen.contains(message!("{}: .claude" => "unseen.not-looked-into-beyond-2", "2000")),
        "{report}"
    );
    assert_eq!(line(&place, ListedChanges::Bounded, "true")["unseen"], json!(null));
}

#[test]
fn hooks_of_repositories_further_down_are_listed_with_all() {
    let place = Project::new();
    for folder in [".git/hooks", ".git/modules/m/hooks", "sub/.git/hooks", "sub/.git/objects"] {
        fs::create_dir_all(place.path(folder)).unwrap();
    }
    let script = "for d in .git .git/modules/m sub/.git; do echo > $d/hooks/pre-commit; \
                  echo > $d/config; echo > $d/HEAD; done; echo > sub/.git/objects/x";
    let report = line(&place, ListedChanges::All, script);
    let expected = [
        ".git/config",
        ".git/hooks/pre-commit",
        ".git/modules/m/config",
        ".git/modules/m/hooks/pre-commit",
        "sub/.git/config",
        "sub/.git/hooks/pre-commit",
    ];
    assert_eq!(changes(&report), expected.map(|path| listed(path, "created", true)));
}

/// Longer than a tick of the clock for files, which is coarse: what was written just now is not told
/// from what follows.
fn tick() {
    std::thread::sleep(Duration::from_millis(50));
}

#[test]
fn every_kind_of_change_is_listed_by_default() {
    let place = Project::new();
    fs::create_dir_all(place.path("sub/gone/deep")).unwrap();
    for file in ["same", "edited", "over", "by", "twin", "sub/gone/deep/x", "sub/setup.py"] {
        fs::write(place.path(file), "0123456789").unwrap();
    }
    tick();
    let script = "touch -r edited stamp; printf 9876543210 > edited; touch -r stamp edited; \
                  rm stamp; mv by over; ln twin other; ln -s same link; mkdir -p new/er; \
                  echo > new/er/file; rm -r sub/gone; echo >> sub/setup.py; cat same";
    let report = line(&place, ListedChanges::Bounded, script);
    let expected = [
        listed("by", "deleted", false),
        listed("edited", "modified", false),
        listed("link", "created", false),
        listed("new/er/file", "created", false),
        listed("other", "created", false),
        listed("over", "modified", false),
        listed("sub/gone/deep/x", "deleted", false),
        listed("sub/setup.py", "modified", true),
        listed("twin", "modified", false),
    ];
    assert_eq!(changes(&report), expected);
    let edited = &report["changes"][1];
    assert_eq!(edited["size"], json!(10), "{edited}");
    assert!(edited["after"].is_string() && edited["before"].is_null(), "{edited}");
    assert!(report["changes"][7]["before"].is_string(), "{report}");
    assert_eq!(Policy::shipped().files.watched, ListedChanges::Bounded);
}

#[test]
fn a_folder_that_cannot_be_read_is_said_to_be_unseen() {
    use std::os::unix::fs::PermissionsExt as _;
    if is_root() {
        skip("unprivileged", "root reads every folder");
        return;
    }
    let place = Project::new();
    fs::create_dir(place.path("closed")).unwrap();
    let mode = |mode| {
        fs::set_permissions(place.path("closed"), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0o000);
    let report = line(&place, ListedChanges::Bounded, "true");
    mode(0o700);
    assert_eq!(
        report["unseen"],
        json!([message!("{}: closed" => "unseen.could-not-read")]),
        "{report}"
    );
}

#[test]
fn a_folder_that_is_too_deep_to_be_opened_is_said_to_be_unseen() {
    let place = Project::new();
    let script =
        "n=$(printf %0200d 0); for i in $(seq 25); do mkdir $n; cd $n; done; echo > .envrc";
    let report = place.sh(watching(ListedChanges::Bounded), script, &[]);
    assert!(
        report["unseen"].to_string().contains(message!("{}: 0000" => "unseen.could-not-read")),
        "{report}"
    );
}

#[test]
fn changes_are_listed_whichever_box_the_program_finds() {
    let Some(place) = project() else { return };
    let watching = || jailed(|policy| policy.files.watched = ListedChanges::Bounded);
    let changed = |stockade: &Stockade, number: usize| {
        let report = json_of(&stockade.run(ToolCall::line(format!("echo > f{number}"))));
        let expected = [listed(&format!("f{number}"), "created", false)];
        tick();
        assert_eq!(changes(&report), expected, "{report}");
    };
    let cold = place.builder(watching()).pool(PoolSize::NoTemplates).open().unwrap();
    changed(&cold, 0);
    let copied = PoolSize::Templates { spares: 0 };
    let copied = place.builder(watching()).pool(copied).open().unwrap();
    let spare = place.open(watching());
    for (stockade, origin, at) in [(&copied, Origin::Copied, 100), (&spare, Origin::Waiting, 200)] {
        let mut number = at;
        let is_given = || {
            number += 1;
            changed(stockade, number);
            stockade.pool().given(origin) > 0
        };
        assert!(eventually(Duration::from_secs(60), is_given), "{origin:?}");
    }
}

#[test]
fn a_write_through_a_mapping_is_listed_in_a_later_call() {
    let Some(place) = project() else { return };
    if !has("python3") {
        return;
    }
    fs::create_dir(place.path("sub")).unwrap();
    let stockade = place.open(jailed(|policy| policy.files.watched = ListedChanges::Bounded));
    let script = "import mmap, os\nf = os.open('sub/x', os.O_RDWR)\nm = mmap.mmap(f, 1)\n\
                  os.close(f)\nm[0] = ord('y')\n";
    fs::write(place.path("map.py"), script).unwrap();
    for _ in 0..4 {
        fs::write(place.path("sub/x"), "x").unwrap();
        tick();
        let report = json_of(&stockade.run(ToolCall::exec(["python3", "map.py"])));
        assert_eq!(changes(&report), [listed("sub/x", "modified", false)], "{report}");
    }
}

#[test]
fn code_changes_nothing_where_a_box_keeps_it_and_is_told_where_none_does() {
    let source = "try:\n  open('ROOT/made', 'w')\nexcept OSError:\n  print('no')\n";
    let Some(place) = project() else { return };
    if !has("python3") {
        return;
    }
    let source = source.replace("ROOT", place.root().to_str().unwrap());
    let code = || ToolCall::code(Language::Python, source.as_str());
    let warm = warmed(&place, Language::Python, Policy::shipped());
    let reports = [
        place.run_with(Policy { code_warm: 0, ..Policy::shipped() }, code()),
        run_warm(&warm, Language::Python, &source),
        json_of(&warm.run(code().in_session("work".parse().unwrap()))),
    ];
    for report in reports {
        assert_eq!((text(&report, "stdout"), &report["changes"]), ("no\n", &json!([])), "{report}");
    }
    assert!(!place.path("made").exists());
    let report = place.run_with(policy(|policy| policy.mode = Mode::Bypass), code());
    assert_eq!(changes(&report), [listed("made", "created", false)], "{report}");
}

#[test]
fn without_a_box_all_of_the_project_is_looked_at() {
    let place = Project::new();
    fs::create_dir(place.path("sub")).unwrap();
    let mut policy = watching(ListedChanges::Bounded);
    policy.files.write = vec!["sub".into()];
    let report = place.run_with(policy, ToolCall::line("echo > beside; echo > sub/x"));
    let expected = [listed("beside", "created", false), listed("sub/x", "created", false)];
    assert_eq!(changes(&report), expected, "{report}");
}

#[test]
fn a_jailed_program_is_looked_at_too() {
    let place = Project::new();
    let mut policy = Policy { tier: stockade::tier::Tier::Jail, ..unboxed() };
    policy.files.watched = ListedChanges::All;
    let report = place.run_with(policy, ToolCall::line("echo {} > package.json; echo > x"));
    if report["failure"].is_object() {
        skip("jail", &format!("no box here: {}", report["failure"]["message"]));
        return;
    }
    let paths: Vec<String> = changes(&report).into_iter().map(|(path, ..)| path).collect();
    assert_eq!(paths, ["package.json", "x"], "{report}");
}
