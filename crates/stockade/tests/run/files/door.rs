//! The file tools pass the same door as everything else: rules, modes, protected and hidden paths,
//! questions and the journal.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use stockade::gate::{Approver, ApproverAnswer, Prompt};
use stockade::policy::Mode;
use stockade::{Policy, Stockade};

use super::{call, read, run, run_with, write};
use crate::support::{Project, json as as_json, policy, text, unboxed};

fn ruled(text: &str) -> Policy {
    let text = format!("{text}\n[box]\ntier = \"process\"\n");
    Policy::from_text(Path::new("stockade.toml"), &text).unwrap()
}

fn refused(report: &Value, rule: &str) {
    assert_eq!((&report["denied"], text(report, "rule")), (&json!(true), rule), "{report}");
    assert_eq!(report["exit_code"], json!(-100));
}

#[test]
fn what_leads_outside_is_refused() {
    let place = Project::new();
    fs::write(place.beside("secret"), "secret").unwrap();
    symlink(place.beside("secret"), place.path("link")).unwrap();
    symlink(place.beside("."), place.path("up")).unwrap();
    let secret = place.beside("secret");
    for path in ["../secret", "link", "up/secret", "/etc/passwd", secret.to_str().unwrap()] {
        refused(&read(&place, path), "path/outside");
        refused(&write(&place, path, "x"), "path/outside");
        refused(&run(&place, "Grep", &json!({"pattern": "s", "path": path})), "path/outside");
    }
    refused(&read(&place, "/proc/self/environ"), "path/unknowable");
    refused(&read(&place, "/proc/self/cwd/x"), "path/unknowable");
    refused(&run(&place, "Glob", &json!({"pattern": "../*"})), "path/outside");
    refused(&write(&place, "../new", "x"), "path/outside");
    assert_eq!(fs::read_to_string(secret).unwrap(), "secret");
    assert!(!place.beside("new").exists());
}

#[test]
fn a_path_that_is_no_text_is_refused_and_no_other_is_taken_for_it() {
    use std::os::unix::ffi::OsStrExt as _;
    let place = Project::new();
    let odd = Path::new(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    for call in [stockade::ToolCall::read(odd), stockade::ToolCall::write(odd, "x")] {
        refused(&place.run_with(unboxed(), call), "path/unknowable");
    }
    assert_eq!(fs::read_dir(place.root()).unwrap().count(), 0);
}

#[test]
fn rules_hold_for_the_link_and_for_what_it_leads_to() {
    let place = Project::new();
    fs::write(place.path(".env"), "secret").unwrap();
    symlink(".env", place.path("harmless")).unwrap();
    fs::write(place.path("b.txt"), "b").unwrap();
    symlink("b.txt", place.path("denied-by-name")).unwrap();
    let rules =
        ruled("[rules]\ndeny = [\"Read(.env)\", \"Read(denied-by-name)\", \"Edit(src/**)\"]");
    for path in [".env", "harmless", "denied-by-name", "./x/../.env"] {
        let report = run_with(&place, rules.clone(), "Read", &json!({"file_path": path}));
        assert_eq!(report["denied"], json!(true), "{path}: {report}");
    }
    let input = json!({"file_path": "src/x", "content": ""});
    refused(&run_with(&place, rules.clone(), "Write", &input), "Edit(src/**)");
    let report = run_with(&place, rules, "Read", &json!({"file_path": "b.txt"}));
    assert_eq!(text(&report, "stdout"), "b");
}

#[test]
fn modes_say_what_needs_a_question() {
    let place = Project::new();
    fs::write(place.path("a"), "a").unwrap();
    let edit = json!({"file_path": "a", "old_string": "a", "new_string": "b"});
    for (mode, edits) in [
        (Mode::Default, "mode/default"),
        (Mode::Plan, "mode/plan"),
        (Mode::DontAsk, "mode/dont-ask"),
        (Mode::AcceptEdits, ""),
        (Mode::Auto, ""),
        (Mode::Bypass, ""),
    ] {
        fs::write(place.path("a"), "a").unwrap();
        let policy = policy(|policy| policy.mode = mode);
        let report = run_with(&place, policy.clone(), "Read", &json!({"file_path": "a"}));
        assert_eq!(text(&report, "stdout"), "a", "{mode}");
        let report = run_with(&place, policy, "Edit", &edit);
        let is_edited = fs::read_to_string(place.path("a")).unwrap() == "b";
        assert_eq!(
            (text(&report, "rule"), is_edited),
            (edits, edits.is_empty()),
            "{mode} {report}"
        );
    }
}

#[test]
fn protected_hidden_and_closed_paths_stay_as_they_are_in_every_mode() {
    let place = Project::new();
    fs::create_dir_all(place.path(".git/hooks")).unwrap();
    fs::create_dir(place.path("closed")).unwrap();
    fs::write(place.path("hidden"), "secret").unwrap();
    symlink(".git/hooks", place.path("h")).unwrap();
    for mode in
        [Mode::Default, Mode::AcceptEdits, Mode::Plan, Mode::Auto, Mode::DontAsk, Mode::Bypass]
    {
        let policy = policy(|policy| {
            policy.mode = mode;
            policy.files.hide.push("hidden".into());
            policy.files.write = vec![".git".into(), "h".into(), ".bashrc".into(), "hidden".into()];
        });
        for path in [
            ".git/hooks/pre-commit",
            "h/pre-commit",
            ".bashrc",
            "closed/x",
            "hidden",
            ".git/config",
        ] {
            let input = json!({"file_path": path, "content": "x"});
            let report = run_with(&place, policy.clone(), "Write", &input);
            assert_eq!(report["denied"], json!(true), "{mode} {path} {report}");
        }
        let report = run_with(&place, policy, "Read", &json!({"file_path": "hidden"}));
        refused(&report, "path/hidden");
    }
    assert_eq!(fs::read_dir(place.path(".git/hooks")).unwrap().count(), 0);
    assert_eq!(fs::read_to_string(place.path("hidden")).unwrap(), "secret");
    assert!(!place.path("closed/x").exists());
}

/// Says yes, and remembers what was asked.
#[derive(Debug, Default)]
struct Yes(std::sync::Mutex<Vec<String>>);

impl Approver for Yes {
    fn name(&self) -> &'static str {
        "test"
    }

    fn answer(&self, prompt: &Prompt, _patience: std::time::Duration) -> ApproverAnswer {
        let words: Vec<String> =
            prompt.words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        self.0.lock().unwrap().push(words.join(" "));
        ApproverAnswer::Once
    }
}

#[test]
fn a_person_may_say_yes_and_is_shown_all_of_it() {
    let place = Project::new();
    let yes = Arc::new(Yes::default());
    let policy = policy(|policy| policy.mode = Mode::Default);
    let stockade = place.builder(policy).approver(Arc::<Yes>::clone(&yes)).open().unwrap();
    for path in ["a", ".bashrc"] {
        let report =
            as_json(&stockade.run(call("Write", &json!({"file_path": path, "content": "x"}))));
        assert_eq!(report["ok"], json!(true), "{report}");
    }
    assert_eq!(*yes.0.lock().unwrap(), ["Write a x", "Write .bashrc x"]);
}

#[test]
fn the_journal_has_every_call_and_is_never_written_by_one() {
    let place = Project::new();
    let journal = place.path("journal.jsonl");
    let stockade = Stockade::open(&place.root(), unboxed(), &journal).unwrap();
    stockade.run(call("Write", &json!({"file_path": "a", "content": "s3cret"})));
    let report = as_json(
        &stockade.run(call("Write", &json!({"file_path": "journal.jsonl", "content": ""}))),
    );
    assert_eq!(report["rule"], json!("path/own"), "{report}");
    drop(stockade);
    let text = fs::read_to_string(&journal).unwrap();
    assert!(!text.contains("s3cret"), "{text}");
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let tools: Vec<&Value> = events.iter().filter_map(|event| event.get("tool")).collect();
    assert!(tools.contains(&&json!("Write")), "{text}");
}

#[test]
fn a_call_from_a_folder_names_paths_from_there() {
    let place = Project::new();
    fs::create_dir(place.path("sub")).unwrap();
    fs::write(place.path("sub/a"), "a").unwrap();
    let report =
        place.run_with(unboxed(), call("Read", &json!({"file_path": "a"})).in_folder("sub"));
    assert_eq!(text(&report, "stdout"), "a");
    let report = place.run_with(unboxed(), call("Glob", &json!({"pattern": "*"})).in_folder("sub"));
    assert_eq!(text(&report, "stdout"), "a\n");
}

/// A policy with one hook before writes, which says this.
fn hooked(place: &Project, line: &str) -> Policy {
    let text = format!(
        "[[hook]]\nname = 'guard'\nevent = 'pre'\nmatch = 'Write'\nshell = '''cat >/dev/null; {line}'''\n"
    );
    let hooks = Policy::from_text(&place.beside("own.toml"), &text).unwrap().hooks;
    Policy { hooks, ..unboxed() }
}

#[test]
fn hooks_are_asked_and_what_they_rewrite_is_judged_again() {
    let place = Project::new();
    fs::write(place.path("a"), "a").unwrap();
    let input = json!({"file_path": "a", "content": "x"});
    let report = run_with(&place, hooked(&place, "echo never >&2; exit 2"), "Write", &input);
    assert_eq!((&report["denied"], &report["by"]), (&json!(true), &json!("hook")), "{report}");
    let report = run_with(&place, hooked(&place, "exit 2"), "Read", &json!({"file_path": "a"}));
    assert_eq!(text(&report, "stdout"), "a", "the hook is about writes");
    let to = |path: &str, content: &str| {
        let input = json!({"file_path": path, "content": content});
        let said = json!({"hookSpecificOutput": {"updatedInput": input}}).to_string();
        hooked(&place, &format!("printf %s \"{}\"", said.replace('"', "\\\"")))
    };
    let report = run_with(&place, to("b", "y"), "Write", &input);
    assert_eq!(report["changes"][0]["path"], json!("b"), "{report}");
    assert_eq!(fs::read_to_string(place.path("b")).unwrap(), "y");
    for path in ["../out", ".git/hooks/pre-commit", ".bashrc"] {
        let report = run_with(&place, to(path, "y"), "Write", &input);
        assert_eq!(report["denied"], json!(true), "{path}: {report}");
    }
    assert_eq!(fs::read_to_string(place.path("a")).unwrap(), "a");
}

#[test]
fn a_file_in_the_place_of_a_folder_with_protected_files_is_protected_too() {
    let place = Project::new();
    let report = write(&place, ".git", "gitdir: elsewhere");
    refused(&report, "path/protected");
    assert!(!place.path(".git").exists());
    assert_eq!(write(&place, ".gitignore", "x")["ok"], json!(true), "the nearest that is not");
}

#[test]
fn what_git_runs_in_a_repository_further_down_is_protected_too() {
    let place = Project::new();
    fs::create_dir_all(place.path("sub/.git/hooks")).unwrap();
    for path in ["sub/.git/hooks/pre-commit", "sub/.git/config", "a/b/.git", "sub/.git/config/x"] {
        refused(&write(&place, path, "x"), "path/protected");
    }
    assert_eq!(write(&place, "sub/.git/description", "x")["ok"], json!(true), "not of the list");
    assert_eq!(write(&place, "sub/hooks/pre-commit", "x")["ok"], json!(true), "not git's");
    let report = run(&place, "Read", &json!({"file_path": "sub/.git/description"}));
    assert_eq!(text(&report, "stdout"), "x");
}
