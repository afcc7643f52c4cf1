//! What "always" would add: wide enough to match again, and no wider than one task.

use stockade::policy::rules::{Facts, PathFacts, Rule, Rules, WordFacts};
use stockade::policy::{Decision, propose};

use super::call::{CWD, command};

fn rules(lists: &[(Decision, &str)]) -> Rules {
    let rule = |(list, text): &(Decision, &str)| Rule::parse(text, *list).unwrap();
    Rules::compile(lists.iter().map(rule).collect())
}

fn facts(lines: &[&str]) -> Facts {
    let mut facts = Facts::new("Bash", CWD);
    facts.commands = lines.iter().map(|line| command(line)).collect();
    facts
}

fn proposed(lines: &[&str]) -> Option<Vec<String>> {
    propose(&facts(lines), &Rules::default())
}

#[test]
fn a_task_is_proposed_and_not_a_line() {
    for (line, rule) in [
        ("cargo test --workspace -- --nocapture", "Bash(cargo test *)"),
        ("git push origin main", "Bash(git push *)"),
        ("git stash pop", "Bash(git stash pop *)"),
        ("npm run build -- --watch", "Bash(npm run build *)"),
        ("npm install left-pad", "Bash(npm install *)"),
        ("make test", "Bash(make test *)"),
        ("make", "Bash(make)"),
        ("make -j4", "Bash(make *)"),
        ("pytest tests/test_x.py -k one", "Bash(pytest *)"),
        ("python3 tools/gen.py --all", "Bash(python3 tools/gen.py *)"),
        ("python3.11 -m pytest -x", "Bash(python3.11 -m pytest *)"),
        ("bash ./build.sh", "Bash(bash ./build.sh *)"),
        ("./configure --prefix=x", "Bash(./configure *)"),
        ("docker compose up -d", "Bash(docker compose up *)"),
        ("NODE_ENV=test npm test", "Bash(npm test *)"),
    ] {
        assert_eq!(proposed(&[line]), Some(vec![rule.to_owned()]), "{line}");
    }
}

#[test]
fn nothing_is_proposed_that_would_allow_anything() {
    for line in [
        "git",
        "git -C /x status",
        "git --version",
        "python3 -c 'print(1)'",
        "python3",
        "python3 -m http.server",
        "python3 -",
        "bash -c 'ls'",
        "node -e 1",
        "perl x",
        "sudo make",
        "env make",
        "xargs make",
        "ssh host make",
        "npx tool",
        "npm exec tool",
        "docker run image",
        "docker exec box sh",
        "uv run x",
        "go run ./x",
        "rm x",
        "cp a b",
        "curl https://example.org",
        "find . -exec ls ;",
        "/usr/bin/python3 -c 1",
    ] {
        assert_eq!(proposed(&[line]), None, "{line}");
    }
    assert_eq!(proposed(&["dynamic: make test"]), None);
    assert_eq!(proposed(&["LD_PRELOAD=x make test"]), None);
    assert_eq!(proposed(&[]), None);
}

#[test]
fn what_is_proposed_covers_the_call_and_its_like() {
    let policy =
        rules(&[(Decision::Allow, "Bash(cargo build *)"), (Decision::Ask, "Bash(cargo *)")]);
    let call = facts(&["cargo build --release", "read-only: ls", "cargo test one", "make all"]);
    let added = propose(&call, &policy).unwrap();
    assert_eq!(added, ["Bash(cargo test *)", "Bash(make all *)"]);
    let texts: Vec<_> = added.iter().map(|text| (Decision::Allow, text.as_str())).collect();
    let all = rules(&[&texts[..], &[(Decision::Allow, "Bash(cargo build *)")]].concat());
    let decided = |facts: &Facts| all.decide(facts).map(|found| found.decision);
    assert_eq!(decided(&call), Some(Decision::Allow));
    assert_eq!(decided(&facts(&["cargo test two --all"])), Some(Decision::Allow));
    assert_eq!(decided(&facts(&["cargo publish"])), None);
}

#[test]
fn a_proposal_that_a_deny_would_stop_is_none() {
    let policy = rules(&[(Decision::Deny, "Bash(make *)")]);
    assert_eq!(propose(&facts(&["make test"]), &policy), None);
}

#[test]
fn more_than_five_rules_are_none() {
    let lines = ["a x", "b x", "c x", "d x", "e x", "f x"];
    assert_eq!(proposed(&lines[..5]).map(|rules| rules.len()), Some(5));
    assert_eq!(proposed(&lines), None);
}

#[test]
fn the_name_of_a_file_is_no_task() {
    let mut call = facts(&["touch made"]);
    call.writes.push(PathFacts { command: Some(0), ..PathFacts::new(format!("{CWD}/made")) });
    assert_eq!(propose(&call, &Rules::default()), Some(vec!["Bash(touch *)".to_owned()]));
    // A word that only the run shows ends what is proposed.
    let mut open = facts(&["make"]);
    open.commands[0].words.push(WordFacts::unknown("$target"));
    assert_eq!(propose(&open, &Rules::default()), Some(vec!["Bash(make *)".to_owned()]));
}
