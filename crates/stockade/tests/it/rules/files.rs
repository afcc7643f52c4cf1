//! Rules in policy files: both forms, their places, their examples, and what a project may add.

use std::path::{Path, PathBuf};

use stockade::policy::rules::{CommandFacts, Facts, PathFacts, Rules};
use stockade::policy::{By, Decision, LoadError, Policy, PolicyFiles, Ruling};

fn trusted(text: &str) -> Result<Policy, LoadError> {
    Policy::from_text(Path::new("own.toml"), text)
}

fn bash(line: &str) -> Facts {
    let mut facts = Facts::new("Bash", "/project");
    facts.commands.push(CommandFacts::new(line.split(' ')));
    facts
}

fn decided(rules: &Rules, line: &str) -> Option<Decision> {
    rules.decide(&bash(line)).map(|found| found.decision)
}

const BOTH_FORMS: &str = r#"
[rules]
deny = [
  "Bash(frob *)",
  { rule = "Bash(rm *)", reason = "files are moved to trash/", instead = "mv FILE trash/", match = ["rm x", "/bin/rm -rf 'a b'"], not_match = ["rmdir x"] },
]
ask = ["Bash(git push *)"]
allow = ["Bash(git *)"]
"#;

#[test]
fn both_forms_are_read_with_their_places() {
    let rules = trusted(BOTH_FORMS).unwrap().rules;
    let found = rules.decide(&bash("rm x")).unwrap();
    assert_eq!(found.decision, Decision::Deny);
    assert_eq!(found.rule, "Bash(rm *)");
    assert_eq!(found.source.as_deref(), Some("own.toml:5"));
    assert_eq!(found.reason.as_deref(), Some("files are moved to trash/"));
    assert_eq!(found.instead.as_deref(), Some("mv FILE trash/"));
    let ruling = Ruling::from(found);
    assert_eq!((ruling.by, ruling.decision), (By::Rule, Decision::Deny));
    assert_eq!(ruling.reason.as_deref(), Some("files are moved to trash/"));
    let found = rules.decide(&bash("frob ls")).unwrap();
    assert_eq!((found.source.as_deref(), found.reason), (Some("own.toml:4"), None));
    assert_eq!(decided(&rules, "git push"), Some(Decision::Ask));
    assert_eq!(decided(&rules, "git log"), Some(Decision::Allow));
    assert_eq!(decided(&rules, "ls"), None);
    let own: Vec<_> = rules.all().iter().filter(|rule| rule.name().is_none()).collect();
    assert_eq!(own.get(1).unwrap().examples().matching, ["rm x", "/bin/rm -rf 'a b'"]);
}

#[test]
fn an_example_that_does_not_hold_is_an_error_with_its_line() {
    for (rule, examples, says) in [
        ("Bash(rm *)", "match = ['rm x',\n'rmdir x']", message!("example.does-not-match")),
        ("Bash(rm *)", "not_match = ['ls',\n'rm x']", "should not"),
        ("Bash(rm *)", "match = ['rm',\n'rm x; ls']", message!("example.more-than-one-command")),
        ("Bash(rm *)", "match = ['rm',\n\"rm 'x\"]", "not closed"),
        ("Read(.env)", "match = ['.env', 'a/.env',\n'.envrc']", message!("example.does-not-match")),
        (
            "Read(~/.ssh/**)",
            "match = ['~/.ssh/id',\n'.ssh/id']",
            message!("example.does-not-match"),
        ),
        ("Read(/x)", "match = ['x',\n'y/x']", message!("example.does-not-match")),
        ("Edit(//etc)", "not_match = ['etc',\n'/etc/passwd']", "should not"),
        ("WebFetch(domain:*.a.b)", "match = ['x.a.b',\n'a.b']", message!("example.does-not-match")),
        ("mcp__a", "match = ['mcp__a__b',\n'mcp__b__c']", message!("example.does-not-match")),
        ("mcp__*__x", "not_match = ['mcp__a__y',\n'mcp__a__x']", "should not"),
        ("Agent(model:x*)", "match = ['model:xy',\n'model:y']", message!("example.does-not-match")),
        ("Agent(model:x*)", "match = ['xy',\n'y']", message!("example.does-not-match")),
    ] {
        let text = format!("[rules]\ndeny = [{{ rule = '{rule}', {examples} }}]\n");
        let error = trusted(&text).unwrap_err();
        let LoadError::Examples { failed, .. } = &error else { panic!("{text}: {error:?}") };
        let [(line, message)] = failed.as_slice() else { panic!("{text}: {error}") };
        assert!(*line == 3 && message.contains(says) && message.contains(rule), "{text}: {error}");
        let held = text.rsplit_once(",\n").unwrap().0.to_owned() + "] }]\n";
        trusted(&held).unwrap();
    }
}

#[test]
fn a_text_that_is_no_rule_is_an_error_with_its_line_and_a_suggestion() {
    for (text, line, says) in [
        ("deny = ['Bash(ls)',\n'Bsh(rm *)']", 3, message!("text.did-you-mean-bash", "rm *")),
        ("ask = [{ reason = 'x',\nrule = 'Bash(rm *' }]", 3, "write Bash(rm *)"),
        ("deny = ['Bash(command:rm)']", 2, message!("text.write-command-itself")),
        ("deny = ['Cd(/x)']", 2, message!("text.cd-command-agent-s")),
        ("allow = ['rm x']", 2, message!("text.did-you-mean-bash", "rm x")),
    ] {
        let error = trusted(&format!("[rules]\n{text}\n")).unwrap_err();
        let LoadError::Value { line: found, message, .. } = &error else { panic!("{error:?}") };
        assert!(*found == line && message.contains(says), "{text}: {error}");
    }
}

#[test]
fn what_has_no_form_of_a_rule_is_a_syntax_error_with_its_place() {
    for text in [
        "deny = [1]",
        "deny = 'Bash'",
        "deny = [{ reason = 'x' }]",
        "deny = [{ rule = 'Bash', resaon = 'x' }]",
        "deny = [{ rule = 'Bash', match = 'ls' }]",
        "denies = []",
    ] {
        let error = trusted(&format!("[rules]\n{text}\n")).unwrap_err();
        assert!(matches!(error, LoadError::Syntax { .. }), "{text}: {error:?}");
        assert!(error.to_string().contains("line 2"), "{text}: {error}");
    }
}

#[test]
fn what_a_person_should_know_is_noted() {
    for (rules, says) in [
        ("deny = ['Raed']", message!("text.did-you-mean", "Read")),
        ("ask = ['Frobnicate']", message!("text.no-tool-known-name")),
        ("allow = ['mcp__*']", "mcp__SERVER__"),
        ("allow = ['Write(src/**)']", "write Edit(src/**)"),
        ("allow = ['Bash(cd x && make)']", message!("text.write-rule-each")),
        ("deny = ['Write(src/**)']", "taken as Edit(src/**)"),
        ("deny = ['Read(*.{pem,key})']", "braces"),
        ("deny = ['Read(/etc/passwd)']", "write //etc/passwd"),
    ] {
        let policy = trusted(&format!("[rules]\n{rules}\n")).unwrap();
        let [note] = policy.rules.notes() else { panic!("{rules}: {:?}", policy.rules.notes()) };
        assert!(note.message.contains(says), "{rules}: {}", note.message);
        assert_eq!(note.source.as_ref().unwrap().to_string(), "own.toml:2");
    }
    for rules in ["deny = ['my_tool', 'mcp__*', 'Read(/src/x)', 'Read(a{b})']", "allow = ['X']"] {
        let policy = trusted(&format!("[rules]\n{rules}\n")).unwrap();
        assert_eq!(policy.rules.notes(), [], "{rules}");
    }
    assert!(trusted(BOTH_FORMS).unwrap().rules.notes().is_empty());
}

/// A folder with a file of the user, of the machine and of the project.
fn loaded(user: &str, managed: &str, project: &str) -> (tempfile::TempDir, Policy) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| -> Option<PathBuf> {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        Some(path)
    };
    let files = PolicyFiles {
        user: file("user.toml", user),
        managed: file("managed.toml", managed),
        project: file("stockade.toml", project),
    };
    let policy = files.load().unwrap();
    (folder, policy)
}

#[test]
fn the_lists_of_all_files_are_united() {
    let (_folder, policy) = loaded(
        "rules.allow = ['Bash(git *)', 'Bash(make *)']\nrules.deny = ['Bash(a)']",
        "rules.deny = ['Bash(git push *)']",
        "rules.deny = ['Bash(make clean)']\nrules.ask = ['Bash(git pull)']",
    );
    for (line, expected) in [
        ("git log", Some(Decision::Allow)),
        ("git push", Some(Decision::Deny)),
        ("git pull", Some(Decision::Ask)),
        ("make all", Some(Decision::Allow)),
        ("make clean", Some(Decision::Deny)),
        ("a", Some(Decision::Deny)),
        ("b", None),
    ] {
        assert_eq!(decided(&policy.rules, line), expected, "{line}");
    }
    let pushed = policy.rules.decide(&bash("git push")).unwrap();
    assert!(pushed.source.unwrap().ends_with("managed.toml:1"));
}

#[test]
fn a_project_allows_nothing_and_is_told_so() {
    let (_folder, policy) =
        loaded("rules.allow = ['Bash(a)']", "", "rules.allow = ['Bash(b)']\nrules.deny = ['Read']");
    assert_eq!(decided(&policy.rules, "a"), Some(Decision::Allow));
    assert_eq!(decided(&policy.rules, "b"), None);
    let [note] = policy.rules.notes() else { panic!("{:?}", policy.rules.notes()) };
    assert!(note.left_out && note.rule == "Bash(b)" && note.message.contains("only tighten"));
    assert!(note.source.as_ref().unwrap().to_string().ends_with("stockade.toml:1"));
}

#[test]
fn a_slash_in_front_is_the_folder_of_the_file() {
    let (folder, policy) = loaded("", "", "rules.deny = ['Read(/keys/**)']");
    let mut facts = Facts::new("Read", "/elsewhere");
    facts.reads.push(PathFacts::new(folder.path().join("keys/a")));
    assert_eq!(policy.rules.decide(&facts).unwrap().decision, Decision::Deny);
    facts.reads = vec![PathFacts::new("/elsewhere/keys/a")];
    assert_eq!(policy.rules.decide(&facts), None);
}

#[test]
fn the_folder_of_the_session_is_known_by_both_of_its_names() {
    let rules = trusted("rules.deny = ['Read(.env)']\nrules.allow = ['Read(src/**)']").unwrap();
    let mut facts = Facts::new("Read", "/link");
    facts.cwd.real = "/real".into();
    let mut path = PathFacts::new("/link/src/a");
    path.real = Some("/real/src/a".into());
    facts.reads = vec![path];
    assert_eq!(rules.rules.decide(&facts).unwrap().decision, Decision::Allow);
    facts.reads = vec![PathFacts::new("/real/.env")];
    assert_eq!(rules.rules.decide(&facts).unwrap().decision, Decision::Deny);
}
