//! Questions on a terminal, which `script` makes: every key, silence, and nobody to ask.

use std::fs;
use std::io::{Read as _, Write as _};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::support::{Project, Told, skip};

/// What the terminal ends the question with.
const ASKS: &str = " s) ";

/// `stockade` with these words on a terminal of its own.
pub(crate) struct OnTerminal {
    child: std::process::Child,
    keys: ChildStdin,
    screen: ChildStdout,
    seen: String,
}

impl OnTerminal {
    /// None, and a word on it, where there is no `script`.
    pub(crate) fn start(project: &Project, line: &str) -> Option<Self> {
        let binary = env!("CARGO_BIN_EXE_stockade");
        let mut command = Command::new("script");
        command.args(["-qec", &line.replace("stockade", binary), "/dev/null"]);
        command.current_dir(project.beside("work")).env_clear();
        for (name, folder) in [
            ("HOME", "home"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_CONFIG_HOME", "config"),
            ("TMPDIR", "tmp"),
        ] {
            command.env(name, project.beside(folder));
        }
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("TERM", "dumb");
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut child) = child else {
            skip("script", "there is no script here to make a terminal");
            return None;
        };
        let (keys, screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Some(Self { child, keys, screen, seen: String::new() })
    }

    /// Waits until the terminal shows this, as often as it says.
    pub(crate) fn until(&mut self, text: &str, times: usize) {
        let mut bytes = [0; 4096];
        while self.seen.matches(text).count() < times {
            let read = self.screen.read(&mut bytes).unwrap();
            assert!(read > 0, "it ended without {text:?}: {}", self.seen);
            self.seen.push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
    }

    pub(crate) fn types(&mut self, text: &str) {
        self.keys.write_all(text.as_bytes()).unwrap();
    }

    /// All that was shown, and the exit status.
    pub(crate) fn end(mut self) -> (String, i32) {
        let mut rest = Vec::new();
        self.screen.read_to_end(&mut rest).unwrap();
        self.seen.push_str(&String::from_utf8_lossy(&rest));
        (self.seen, self.child.wait().unwrap().code().unwrap())
    }
}

/// Answers one question, and gives what was shown with the exit status.
fn answered(project: &Project, line: &str, keys: &str) -> Option<(String, i32)> {
    let mut terminal = OnTerminal::start(project, line)?;
    terminal.until(ASKS, 1);
    terminal.types(keys);
    Some(terminal.end())
}

fn report(shown: &str) -> Value {
    let line = shown.lines().find(|line| line.starts_with('{'));
    assert!(line.is_some(), "{shown}");
    serde_json::from_str(line.unwrap()).unwrap()
}

/// The answers in the journal, which verifies.
fn recorded(project: &Project) -> Vec<Value> {
    let told = project.stockade(&["audit", "verify"]);
    assert_eq!(told.code, 0, "{told:?}");
    let told = project.stockade(&["audit", "show", "--json"]);
    told.lines().into_iter().filter(|entry| entry["event"] == "answer").collect()
}

const TOUCH: &str = "stockade run --json --mode default --tier process -- touch made";

#[test]
fn yes_runs_it_once() {
    let project = Project::new();
    let Some((shown, code)) = answered(&project, TOUCH, "y\n") else { return };
    assert!(shown.contains("touch made") && shown.contains("writes: made"), "{shown}");
    assert!(shown.contains("ask by mode/default"), "{shown}");
    assert_eq!((code, project.path("made").exists()), (0, true), "{shown}");
    let report = report(&shown);
    assert_eq!(report["decision"], "allow", "{report}");
    let wanted = serde_json::json!({"asked": 1, "spared": 0, "answer": "once", "by": "terminal"});
    assert_eq!(report["questions"], wanted, "{report}");
    let answers = recorded(&project);
    let of =
        |answer: &Value| (answer["answer"].clone(), answer["by"].clone(), answer["entry"].clone());
    let answers: Vec<_> = answers.iter().map(of).collect();
    assert_eq!(answers, [("once".into(), "terminal".into(), 1.into())]);
}

#[test]
fn no_refuses_it() {
    let project = Project::new();
    let Some((shown, code)) = answered(&project, TOUCH, "n\n") else { return };
    assert_eq!((code, project.path("made").exists()), (126, false), "{shown}");
    let report = report(&shown);
    assert_eq!((&report["denied"], &report["questions"]["answer"]), (&true.into(), &"no".into()));
    assert!(
        report["reason"].as_str().unwrap().ends_with(message!("question.person-said-no")),
        "{report}"
    );
    assert_eq!(recorded(&project).len(), 1);
}

#[test]
fn a_no_with_a_reason_tells_the_agent() {
    let project = Project::new();
    let Some(mut terminal) = OnTerminal::start(&project, TOUCH) else { return };
    terminal.until(ASKS, 1);
    terminal.types("r\n");
    terminal.until("why not?", 1);
    terminal.types("the name is made-by-hand\n");
    let (shown, code) = terminal.end();
    assert_eq!((code, project.path("made").exists()), (126, false), "{shown}");
    let reason = report(&shown)["reason"].as_str().unwrap().to_owned();
    assert!(
        reason.ends_with(message!("question.person-said-no-2", "the name is made-by-hand")),
        "{reason}"
    );
    // What a person writes is for the agent, and not for the journal.
    let journal = fs::read_to_string(project.journal()).unwrap();
    assert!(!journal.contains("made-by-hand"), "{journal}");
}

#[test]
fn silence_is_a_no_and_so_is_what_was_typed_before() {
    let project = Project::new();
    fs::write(project.beside("p.toml"), "mode = 'default'\n[questions]\ntimeout = '1s'\n").unwrap();
    let line = "sleep 0.3; stockade run --json --policy ../p.toml --tier process -- touch made";
    let Some(mut terminal) = OnTerminal::start(&project, line) else { return };
    terminal.types("y\n");
    let (shown, code) = terminal.end();
    assert_eq!((code, project.path("made").exists()), (126, false), "{shown}");
    assert!(shown.contains("no in 1 s"), "{shown}");
    let report = report(&shown);
    assert_eq!(report["questions"]["answer"], "silence", "{report}");
    assert!(
        report["reason"]
            .as_str()
            .unwrap()
            .contains(message!("question.did-not-answer-within", "1")),
        "{report}"
    );
}

#[test]
fn always_adds_a_rule_that_matches_again() {
    let project = Project::new();
    project.script("build.sh", "echo built $1\n");
    let own = project.beside("config/stockade/stockade.toml");
    fs::create_dir(own.parent().unwrap()).unwrap();
    fs::write(&own, "# mine\nmode = 'default' # careful\n").unwrap();
    let line = "stockade run --tier process -- sh build.sh one";
    let Some((shown, code)) = answered(&project, line, "a\n") else { return };
    assert!(shown.contains("always: adds Bash(sh build.sh *)"), "{shown}");
    assert!(shown.contains("built one"), "{shown}");
    assert_eq!(code, 0, "{shown}");
    assert_eq!(
        fs::read_to_string(&own).unwrap(),
        "# mine\nmode = 'default' # careful\n\n[rules]\nallow = [\"Bash(sh build.sh *)\"]\n"
    );
    let told =
        project.stockade(&["run", "--json", "--tier", "process", "--", "sh", "build.sh", "two"]);
    let report = told.json();
    assert_eq!((told.code, &report["rule"]), (0, &"Bash(sh build.sh *)".into()), "{report}");
    assert_eq!(report["questions"], serde_json::json!({"asked": 0, "spared": 0}));
    let other =
        project.stockade(&["run", "--no-ask", "--tier", "process", "--", "sh", "-x", "build.sh"]);
    assert_eq!(other.code, 126, "{other:?}");
}

#[test]
fn a_session_is_one_program() {
    let project = Project::new();
    project.script("build.sh", "echo built $1\n");
    let call = |argv: &[&str]| crate::support::call(argv);
    let calls =
        [call(&["sh", "build.sh", "a"]), call(&["sh", "build.sh", "b"]), call(&["touch", "c"])];
    fs::write(project.beside("calls"), calls.concat()).unwrap();
    // The report of one call and the question about the next may come at the same time.
    let line = "stockade call --mode default --tier process ../calls > ../reports";
    let Some(mut terminal) = OnTerminal::start(&project, line) else { return };
    terminal.until(ASKS, 1);
    terminal.types("s\n");
    terminal.until(ASKS, 2);
    terminal.types("n\n");
    let (shown, _) = terminal.end();
    assert_eq!(shown.matches(ASKS).count(), 2, "{shown}");
    let reports = fs::read_to_string(project.beside("reports")).unwrap();
    let reports: Vec<Value> =
        reports.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> = reports
        .iter()
        .map(|one| (one["ok"] == true, one["source"].as_str(), one["questions"]["asked"].as_u64()))
        .collect();
    assert_eq!(
        told,
        [(true, None, Some(1)), (true, Some("this session"), Some(0)), (false, None, Some(1))],
        "{shown}"
    );
    let again = project.stockade(&[
        "run", "--no-ask", "--mode", "default", "--tier", "process", "--", "sh", "build.sh",
    ]);
    assert_eq!(again.code, 126, "{again:?}");
}

#[test]
fn what_a_finding_asks_about_is_asked_each_time() {
    let project = Project::new();
    project.write("kept", "");
    fs::write(
        project.beside("p.toml"),
        "mode = 'bypass'\nexec.deny = []\nrules.allow = ['Bash']\n",
    )
    .unwrap();
    let line = "stockade shell --json --policy ../p.toml --tier process 'rm -rf .'";
    let Some(mut terminal) = OnTerminal::start(&project, line) else { return };
    terminal.until(ASKS, 1);
    terminal.types("s\n");
    terminal.until(ASKS, 2);
    terminal.types("n\n");
    let (shown, code) = terminal.end();
    assert!(shown.contains("[y/n/r]") && shown.contains("destroy-project"), "{shown}");
    assert_eq!((code, project.path("kept").exists()), (126, true), "{shown}");
}

#[test]
fn the_whole_line_is_shown_and_nothing_in_it_is_hidden() {
    let project = Project::new();
    let long = "x".repeat(3000);
    project.write("line", &format!("echo {long} a\u{202e}b; touch made"));
    let line = "stockade shell --json --tier process \"$(cat line)\"";
    let Some((shown, code)) = answered(&project, line, "n\n") else { return };
    // The report after it is JSON, and exact.
    let asked = shown.split(ASKS).next().unwrap();
    assert!(asked.contains("\\u{202e}") && !asked.contains('\u{202e}'), "{shown}");
    let preview = asked.split("which runs").next().unwrap();
    assert!(
        preview.replace("\r\n", "").contains(&long) && preview.contains("touch made"),
        "{shown}"
    );
    assert_eq!(code, 126, "{shown}");
}

/// Nobody says yes to what they cannot see.
#[test]
fn the_input_of_every_tool_is_shown_and_nothing_in_it_is_hidden() {
    let project = Project::new();
    let tools = "mode = 'default'\n[tool.send]\ncommand = ['cat']\nrisk = ['executes']\n";
    project.write("tools.toml", tools);
    let asked = |call: &Value| {
        project.write("call.json", &format!("{call}\n"));
        let line = "stockade call --policy tools.toml call.json";
        answered(&project, line, "n\n").map(|(shown, _)| shown)
    };
    let call = serde_json::json!({"tool": "send", "input": {"to": "a\u{202e}b", "path": "/etc/x"}});
    let Some(shown) = asked(&call) else { return };
    let before = shown.split("run it?").next().unwrap();
    assert!(before.contains(r#"{"path":"/etc/x","to":"a\u{202e}b"}"#), "{shown}");
    assert!(before.contains("mode default asks first"), "{shown}");
    let source = "import shutil\nshutil.rmtree('x')\n#\u{1b}[2J";
    let call =
        serde_json::json!({"tool": "Code", "input": {"language": "python", "source": source}});
    let shown = asked(&call).unwrap();
    let before = shown.split("run it?").next().unwrap();
    assert!(before.contains("shutil.rmtree('x')") && before.contains("python"), "{shown}");
    assert!(before.contains("\\u{1b}[2J") && !before.contains("\u{1b}[2J"), "{shown}");
    let long = serde_json::json!({"tool": "send", "input": {"to": "x".repeat(100_000)}});
    let shown = asked(&long).unwrap();
    let before = shown.split("run it?").next().unwrap();
    assert!(before.len() < 10_000 && before.contains("characters more"), "{}", before.len());
}

#[test]
fn without_a_person_it_is_refused_in_words() {
    let project = Project::new();
    let check = |told: Told| {
        assert_eq!(told.code, 126, "{told:?}");
        let report = told.json();
        assert_eq!(
            report["questions"],
            serde_json::json!({"asked": 0, "spared": 0, "answer": "nobody"})
        );
        let reason = report["reason"].as_str().unwrap();
        assert!(reason.contains(message!("question.person-allow-nobody-can")), "{reason}");
        let instead = report["instead"].as_str().unwrap();
        assert!(instead.contains("\"Bash(touch *)\" under rules.allow"), "{instead}");
        assert!(!project.path("made").exists());
    };
    let words = ["run", "--json", "--mode", "default", "--tier", "process"];
    check(project.stockade(&[&words[..], &["--no-ask", "--", "touch", "made"]].concat()));
    // A session of its own has no terminal.
    let mut command = Command::new("setsid");
    command
        .arg("--wait")
        .arg(env!("CARGO_BIN_EXE_stockade"))
        .args(words)
        .args(["--", "touch", "made"]);
    command.current_dir(project.beside("work")).env("XDG_STATE_HOME", project.beside("state"));
    command.env("XDG_CONFIG_HOME", project.beside("config")).stdin(Stdio::null());
    match command.output() {
        Ok(output) => check(Told::from(output)),
        Err(_) => skip("setsid", "there is no setsid here to leave the terminal"),
    }
    assert_eq!(recorded(&project).len(), 2);
}
