//! `Code`: source in an isolated interpreter, in the box and in a scratch folder.

use serde_json::{Value, json};
use stockade::call::Language;
use stockade::policy::rules::Rule;
use stockade::policy::{Decision, Mode};
use stockade::{Policy, ToolCall};

use crate::jail::project;
use crate::support::{Project, has, json as report_of, skip, text, unboxed};

/// What source comes to under the shipped policy.
fn ran(project: &Project, language: Language, source: &str) -> Value {
    project.run_with(Policy::shipped(), ToolCall::code(language, source))
}

/// Source in every language that prints, looks for input, and ends with a code of its own.
const EVERY: [(Language, &str); 6] = [
    (Language::Python, "import sys\nprint('said', repr(sys.stdin.read()))\nsys.exit(7)"),
    (
        Language::Node,
        "const left = require('fs').readFileSync(0, 'utf8');\n\
         console.log('said', JSON.stringify(left).replaceAll('\"', \"'\"));\nprocess.exit(7)",
    ),
    (Language::Bash, "read -r line || line=\"''\"\n[[ x == x ]] && echo \"said $line\"\nexit 7"),
    (Language::Sh, "read -r line || line=\"''\"\necho \"said $line\"\nexit 7"),
    (Language::Perl, "my $line = <STDIN>;\nprint 'said ', $line // \"''\", \"\\n\";\nexit 7"),
    (Language::Ruby, "puts \"said '#{$stdin.read}'\"\nexit 7"),
];

#[test]
fn every_language_runs_its_source_and_finds_nothing_on_standard_input() {
    let Some(project) = project() else { return };
    for (language, source) in EVERY {
        let (program, _) = language.interpreter();
        if !has(program) {
            skip(program, "it is not on this machine");
            continue;
        }
        let report = ran(&project, language, source);
        assert_eq!(text(&report, "stdout"), "said ''\n", "{language}: {report}");
        assert_eq!((&report["exit_code"], &report["tool"]), (&json!(7), &json!("Code")));
        assert_eq!(report["tier"], "jail");
    }
}

#[test]
fn python_shows_the_lines_of_the_source_where_it_fails() {
    let Some(project) = project() else { return };
    let report = ran(&project, Language::Python, "def half(n):\n    return n / 0\n\nhalf(4)\n");
    let stderr = text(&report, "stderr");
    assert!(stderr.contains("line 2, in half") && stderr.contains("return n / 0"), "{stderr}");
    assert!(!stderr.contains("<string>"), "only its own lines are shown: {stderr}");
    let report = ran(&project, Language::Python, "x = = 1\n");
    assert!(text(&report, "stderr").contains("SyntaxError"), "{report}");
    assert_eq!(report["exit_code"], 1);
}

#[test]
fn source_of_ten_megabytes_is_handed_over_and_is_in_no_argument() {
    let Some(project) = project() else { return };
    let filler = format!("# {}\n", "x".repeat(10_000_000));
    let source = format!("{filler}print(len(open('/proc/self/cmdline').read()) < 4096)\n");
    let report = ran(&project, Language::Python, &source);
    assert_eq!(text(&report, "stdout"), "True\n", "{}", text(&report, "stderr"));
}

#[test]
fn python_is_isolated_from_the_folder_and_from_the_environment() {
    let Some(project) = project() else { return };
    std::fs::write(project.path("json.py"), "print('from the project')\n").unwrap();
    let source = "import json, os, sys\nprint(json.dumps(sorted(os.environ)), sys.flags.isolated)";
    let report = ran(&project, Language::Python, source);
    let names =
        r#"["HOME", "LANG", "LC_ALL", "LC_CTYPE", "PATH", "STOCKADE", "TERM", "TMPDIR", "TZ"]"#;
    let stdout = text(&report, "stdout");
    let (listed, isolated) = stdout.trim().rsplit_once(' ').unwrap();
    let listed: Vec<String> = serde_json::from_str(listed).unwrap();
    assert!(listed.iter().all(|name| names.contains(&format!("\"{name}\""))), "{listed:?}");
    assert_eq!(isolated, "1");
}

/// Without the box the same source writes there, so that its failure in the box means something.
#[test]
fn code_writes_its_scratch_folder_and_nothing_of_the_project() {
    let Some(project) = project() else { return };
    let target = project.path("made.txt");
    let source = format!(
        "open('here.txt', 'w').write('x')\nimport os\nprint(os.listdir('.'))\n\
         open({:?}, 'w').write('x')\n",
        target.to_str().unwrap()
    );
    let report = ran(&project, Language::Python, &source);
    assert!(text(&report, "stdout").contains("here.txt"), "{report}");
    assert!(text(&report, "stderr").contains("Read-only file system"), "{report}");
    assert!(!target.exists());
    let bare = Policy { mode: Mode::Bypass, ..unboxed() };
    let report = project.run_with(bare, ToolCall::code(Language::Python, source));
    assert_eq!((report["exit_code"].clone(), target.exists()), (json!(0), true), "{report}");
    assert!(!project.path("here.txt").exists(), "the scratch folder is not the project");
}

#[test]
fn rules_are_about_the_tool_its_language_and_the_commands_of_scripts() {
    let Some(project) = project() else { return };
    let denied = |rule: &str, language: Language, source: &str| {
        let mut policy = Policy::shipped();
        policy.rules = policy.rules.and(vec![Rule::parse(rule, Decision::Deny).unwrap()]);
        project.run_with(policy, ToolCall::code(language, source))["denied"] == true
    };
    let python = |rule| denied(rule, Language::Python, "print(1)");
    assert!(python("Code") && python("Code(language:python)"));
    assert!(!python("Code(language:node)") && !python("Bash"));
    let script = |rule| denied(rule, Language::Bash, "echo one\nif true; then touch x; fi");
    assert!(script("Bash(touch *)") && script("Code(language:bash)"));
    assert!(!script("Bash(rm *)"));
}

#[test]
fn a_script_that_deletes_everything_is_refused_as_a_line_is() {
    let Some(project) = project() else { return };
    let report = ran(&project, Language::Bash, "true\nrm -rf /");
    assert_eq!(
        (&report["denied"], &report["rule"]),
        (&json!(true), &json!("Finding(delete-root)"))
    );
}

#[test]
fn code_has_limits_of_its_own() {
    let project = Project::new();
    let mut policy = Policy::shipped();
    policy.code_limits.wall = std::time::Duration::from_millis(300);
    let report = project.run_with(policy, ToolCall::code(Language::Python, "while True: pass"));
    assert_eq!(
        (&report["timed_out"], &report["limit"]),
        (&json!(true), &json!("wall")),
        "{report}"
    );
    let source = "x = bytearray(2 * 1024**3)\nprint(len(x))";
    let report = ran(&project, Language::Python, source);
    assert_ne!(report["exit_code"], 0, "512 MiB are not enough: {report}");
}

#[test]
fn an_interpreter_that_is_not_there_is_named_with_a_remedy() {
    let project = Project::new();
    let mut policy = Policy::shipped();
    policy.settings.search_path = vec![project.path("nothing")];
    let report = report_of(&project.open(policy).run(ToolCall::code(Language::Python, "1")));
    assert_eq!(report["exit_code"], 127, "{report}");
    let failure = &report["failure"];
    assert_eq!(text(failure, "kind"), "missing-interpreter", "{failure}");
    assert!(
        text(failure, "message").starts_with(message!("{} " => "install.not-2", "python3")),
        "{failure}"
    );
    assert!(text(failure, "remedy").contains("install python3"), "{failure}");
}

#[test]
fn hooks_see_source_and_scripts() {
    let Some(project) = project() else { return };
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let note = std::sync::Arc::clone(&seen);
    let builder = project.builder(Policy::shipped()).pre_hook("look", move |event| {
        note.lock().unwrap().push((event.tool_name.clone(), event.tool_input.clone()));
        stockade::hooks::Reply::silent()
    });
    builder.open().unwrap().run(ToolCall::code(Language::Python, "print(1)"));
    let seen = seen.lock().unwrap();
    assert_eq!(seen[0].0, "Code");
    assert_eq!(json!(seen[0].1), json!({"language": "python", "source": "print(1)"}));
}
