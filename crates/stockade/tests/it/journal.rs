//! Refusals are on record like runs, and the record holds no secret.

use stockade::call::ToolCall;
use stockade::journal::audit;
use stockade::policy::{Policy, Variable};
use stockade::{Report, Stockade};

use crate::project::{Project, ran};

const TOKEN: &str = "sk-Planted9f8e7d6c5b4a3210";

fn planted(stockade: &Stockade) -> Vec<Report> {
    let url = format!("https://user:{TOKEN}@example.com/");
    let calls: [&[&str]; 12] = [
        &["echo", TOKEN],
        &["echo", &format!("--token={TOKEN}")],
        &["curl", "-H", &format!("Authorization: Bearer {TOKEN}"), &url],
        &["rm", &format!("/x/{TOKEN}")],
        &["bash", "-c", &format!("echo {TOKEN}")],
        &["cat", &format!("/etc/{TOKEN}")],
        &["echo", &format!("a;{TOKEN}")],
        &[TOKEN],
        &[&format!("./{TOKEN}"), "x"],
        &["env", &format!("LD_PRELOAD={TOKEN}"), "ls"],
        &["ls", &format!("--{TOKEN}")],
        &["cat"],
    ];
    calls.iter().map(|argv| stockade.run(ToolCall::exec(*argv).with_stdin(TOKEN))).collect()
}

#[test]
fn a_token_is_in_no_byte_of_the_journal() {
    let project = Project::new();
    let mut policy = Policy::shipped();
    policy.environment.push(Variable::Set("API_KEY".to_owned(), TOKEN.to_owned()));
    let stockade = project.stockade(policy);
    let reports = planted(&stockade);
    stockade.run(ToolCall::exec(["ls"]).in_folder(format!("/nowhere/{TOKEN}")));
    stockade.run(ToolCall::line(TOKEN));
    assert!(reports.iter().any(Report::ok) && reports.iter().any(Report::denied));
    drop(stockade);
    let bytes = std::fs::read(project.journal()).unwrap();
    assert!(bytes.len() > 1000);
    for secret in [TOKEN, "Planted9f8e7d6c", "c2stUGxhbnRlZ"] {
        let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!found, "{secret} is in {}", String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn a_refused_call_is_on_record() {
    let project = Project::new();
    let stockade = project.stockade(Policy::shipped());
    stockade.run(ToolCall::exec(["rm", "f.txt"]));
    stockade.run(ToolCall::exec(["cat", "/etc/passwd"]));
    stockade.run(ToolCall::exec(Vec::<String>::new()));
    stockade.run(ToolCall::exec(["nowhere-on-any-path"]));
    drop(stockade);
    assert_eq!(audit::verify(&project.journal()).unwrap().entries, 4);
    let text = std::fs::read_to_string(project.journal()).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let rules: Vec<_> = lines.iter().map(|line| find(line, "rule")).collect();
    let expected = ["name/denylist", "path/outside", "call/argv", "name/missing"];
    assert_eq!(rules, expected.map(|rule| Some(rule.to_owned())));
    assert!(lines.iter().all(|line| find(line, "decision").as_deref() == Some("deny")));
}

/// The text under a key, however deep.
fn find(value: &serde_json::Value, key: &str) -> Option<String> {
    let object = value.as_object()?;
    let here = object.get(key).and_then(|found| found.as_str()).map(str::to_owned);
    here.or_else(|| object.values().find_map(|inner| find(inner, key)))
}

#[test]
fn a_call_that_ran_has_two_entries() {
    let project = Project::new();
    ran(&project.run(&["cat", "f.txt"]));
    assert_eq!(audit::verify(&project.journal()).unwrap().entries, 2);
}

#[test]
fn a_journal_that_cannot_be_written_refuses() {
    let project = Project::new();
    let stockade = project.stockade(Policy::shipped());
    ran(&stockade.run(ToolCall::exec(["touch", "first"])));
    std::fs::write(project.journal(), "not a journal\n").unwrap();
    let report = stockade.run(ToolCall::exec(["touch", "second"]));
    assert!(report.denied(), "{report:?}");
    assert!(report.reason().unwrap().contains("journal"));
    assert!(!project.root().join("second").exists());
}
