//! Bad input is a clean refusal, never a panic, and never takes long.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::time::Duration;

use stockade::call::{Tool, ToolCall};
use stockade::policy::{Decision, Policy, Ruling};

use crate::project::{Project, ran};

fn ruling(call: &ToolCall) -> Ruling {
    Project::new().examiner(Policy::shipped()).examine(call).ruling
}

/// Asserts a refusal by this rule, for this argument, with these words in the reason.
fn refused(call: &ToolCall, rule: &str, argument: Option<usize>, words: &str) {
    let ruling = ruling(call);
    let found = (ruling.decision, ruling.rule.as_deref(), ruling.argument);
    assert_eq!(found, (Decision::Deny, Some(rule), argument), "{:?}", ruling.reason);
    let reason = ruling.reason.unwrap();
    assert!(reason.contains(words), "{reason}");
}

#[test]
fn refuses_an_empty_argv() {
    refused(&ToolCall::exec(Vec::<OsString>::new()), "call/argv", None, "empty argv");
}

#[test]
fn refuses_an_empty_program() {
    refused(&ToolCall::exec(["", "x"]), "call/argv", Some(0), "argument 0");
}

#[test]
fn takes_an_empty_argument() {
    assert_eq!(ruling(&ToolCall::exec(["echo", ""])).decision, Decision::Allow);
}

#[test]
fn refuses_a_nul_byte() {
    refused(&ToolCall::exec(["cat", "f.txt", "f.txt\0x"]), "call/argv", Some(2), "argument 2");
    refused(&ToolCall::exec(["r\0m", "x"]), "call/argv", Some(0), "argument 0");
}

#[test]
fn refuses_a_nul_byte_in_the_folder() {
    refused(&ToolCall::exec(["ls"]).in_folder("s\0rc"), "path/cwd", None, "s\\0rc");
}

#[test]
fn refuses_an_argument_of_two_megabytes() {
    let long = "x".repeat(2 << 20);
    refused(&ToolCall::exec(["echo", &long]), "call/argv", Some(1), "argument 1");
}

#[test]
fn takes_the_longest_argument_that_linux_takes() {
    let most = "x".repeat(131_071);
    assert_eq!(ruling(&ToolCall::exec(["echo", &most])).decision, Decision::Allow);
    let more = "x".repeat(131_072);
    refused(&ToolCall::exec(["echo", &more]), "call/argv", Some(1), "131072");
}

#[test]
fn refuses_a_path_that_is_too_long_to_follow_and_may_lead_outside() {
    let climbing = format!("{}../outside/secret.txt", "./".repeat(2100));
    refused(&ToolCall::exec(["mkdir", "-p", &climbing]), "path/unknowable", Some(2), "too long");
    let returning = format!("{}../outside/secret.txt", "src/../".repeat(600));
    refused(&ToolCall::exec(["cat", &returning]), "path/unknowable", Some(1), "too long");
    let absolute = format!("{}etc/passwd", "/".repeat(4100));
    refused(&ToolCall::exec(["cat", &absolute]), "path/unknowable", Some(1), "too long");
}

#[test]
fn takes_a_long_word_that_can_only_lead_inside() {
    for long in ["./".repeat(2100) + "f.txt", "a/b ".repeat(2000), "x...y/".repeat(1000)] {
        assert_eq!(ruling(&ToolCall::exec(["cat", &long])).decision, Decision::Allow);
    }
}

#[test]
fn refuses_more_bytes_than_linux_passes_on() {
    let words = vec!["x".repeat(100_000); 30];
    refused(&ToolCall::exec(words), "call/argv", None, "together");
}

#[test]
fn keeps_bytes_that_are_not_utf8() {
    let word = OsString::from_vec(b"a\xff\xfeb".to_vec());
    let project = Project::new();
    let stockade = project.stockade(Policy::shipped());
    let report = stockade.run(ToolCall::exec([OsString::from("echo"), "-n".into(), word.clone()]));
    assert!(report.ok(), "{report:?}");
    assert_eq!(ran(&report).stdout.bytes, word.as_bytes());
    assert_eq!(report.argv.last(), Some(&word));
}

#[test]
fn judges_a_path_that_is_not_utf8_by_its_bytes() {
    let project = Project::new();
    let name = OsString::from_vec(b"l\xffnk".to_vec());
    std::os::unix::fs::symlink("/etc/passwd", project.root().join(&name)).unwrap();
    let examiner = project.examiner(Policy::shipped());
    let refused = examiner.examine(&ToolCall::exec([OsString::from("cat"), name])).ruling;
    assert_eq!(refused.rule.as_deref(), Some("path/outside"));
    let other = OsString::from_vec(b"l\xfenk".to_vec());
    let allowed = examiner.examine(&ToolCall::exec([OsString::from("cat"), other])).ruling;
    assert_eq!(allowed.decision, Decision::Allow);
}

#[test]
fn refuses_a_program_whose_name_is_not_utf8_and_not_there() {
    let name = OsString::from_vec(b"./\xffrm".to_vec());
    refused(&ToolCall::exec([name]), "name/missing", Some(0), "not found");
}

#[test]
fn refuses_what_is_no_program() {
    for (program, rule) in [
        ("./src", "name/folder"),
        ("./plain", "name/not-executable"),
        ("./fifo", "name/not-a-file"),
        ("./dangling", "name/missing"),
        ("./loop", "name/unreadable"),
        ("nowhere-on-any-path", "name/missing"),
    ] {
        refused(&ToolCall::exec([program]), rule, Some(0), "argument 0");
    }
}

#[test]
fn refuses_a_folder_that_is_outside_or_none() {
    let project = Project::new();
    let examiner = project.examiner(Policy::shipped());
    let judge = |cwd: &str| {
        let call = ToolCall::exec(["ls"]).in_folder(project.filled(cwd));
        examiner.examine(&call).ruling
    };
    for cwd in [
        "$BESIDE/outside",
        "/",
        "..",
        "out-dir",
        "$BESIDE/work-evil",
        "nowhere",
        "f.txt",
        "loop",
        "/proc/self/cwd",
    ] {
        let ruling = judge(cwd);
        assert_eq!(ruling.rule.as_deref(), Some("path/cwd"), "{cwd}");
        assert!(ruling.reason.is_some_and(|reason| reason.contains(&project.filled(cwd))), "{cwd}");
    }
    for cwd in ["$ROOT", "src", "in-dir", "src/..", "$ROOT/src/deep", "$BESIDE/link-to-work/src"] {
        assert_eq!(judge(cwd).decision, Decision::Allow, "{cwd}");
    }
}

#[test]
fn refuses_a_folder_that_vanished() {
    let project = Project::new();
    let stockade = project.stockade(Policy::shipped());
    let call = || ToolCall::exec(["ls"]).in_folder(project.root().join("src/deep"));
    ran(&stockade.run(call()));
    fs::remove_dir(project.root().join("src/deep")).unwrap();
    let report = stockade.run(call());
    assert!(report.denied());
    assert!(report.reason().unwrap().contains("src/deep"));
}

#[test]
fn refuses_when_the_root_itself_vanished() {
    let project = Project::new();
    let examiner = project.examiner(Policy::shipped());
    fs::remove_dir_all(project.root()).unwrap();
    let ruling = examiner.examine(&ToolCall::exec(["ls"]).in_folder("src")).ruling;
    assert_eq!(ruling.rule.as_deref(), Some("path/cwd"));
}

#[test]
fn refuses_tools_that_are_none() {
    let unknown = ToolCall::of(Tool::Unknown("Fetch".into()));
    assert_eq!(ruling(&unknown).decision, Decision::Ask, "rules may say something about it");
    let report = Project::new().stockade(Policy::shipped()).run(unknown);
    assert!(report.denied() && report.reason().unwrap().contains("Fetch"), "{report:?}");
    refused(&ToolCall::of(Tool::Malformed("no argv".into())), "call/malformed", None, "no argv");
    refused(&ToolCall::line(OsString::from_vec(b"ls \xff".to_vec())), "call/line", None, "UTF-8");
    refused(&ToolCall::line("ls \0"), "call/line", None, "NUL");
}

#[test]
fn refuses_a_maze_of_wrappers() {
    let deep = [vec!["env"; 40], vec!["ls"]].concat();
    let ruling = ruling(&ToolCall::exec(deep));
    assert_eq!(ruling.rule.as_deref(), Some("argv/too-deep"));
    let shallow = [vec!["env"; 10], vec!["ls"]].concat();
    assert_eq!(self::ruling(&ToolCall::exec(shallow)).decision, Decision::Allow);
}

/// What this thread has computed so far, which a busy machine does not stretch.
pub(crate) fn cpu_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

/// Judging four times as many arguments takes about four times as long, not sixteen.
fn grows_linearly(program: &[&str], argument: &str) {
    let project = Project::new();
    let examiner = project.examiner(Policy::shipped());
    let judge = |count: usize| {
        let call = ToolCall::exec([program, &vec![argument; count]].concat());
        let start = cpu_time();
        let _examination = examiner.examine(&call);
        cpu_time().saturating_sub(start)
    };
    judge(1000);
    let quarter = judge(25_000).max(judge(25_000));
    let whole = judge(100_000);
    let most = quarter.saturating_mul(9).max(Duration::from_millis(200));
    assert!(whole < most, "{program:?} {argument:?}: {quarter:?} and then {whole:?}");
    assert!(whole < Duration::from_secs(120), "{program:?} {argument:?}: {whole:?}");
}

#[test]
fn judges_a_hundred_thousand_arguments_in_linear_time() {
    grows_linearly(&["cat"], "f.txt");
    grows_linearly(&["echo"], "a;b");
}

#[test]
fn judges_a_hundred_thousand_hazards_in_linear_time() {
    grows_linearly(&["find", "."], "-delete");
    grows_linearly(&["env"], "LD_A=b");
    grows_linearly(&["sort"], "-ox");
}

#[test]
fn judges_a_hundred_thousand_options_in_linear_time() {
    grows_linearly(&["git", "log"], "-Sa");
    grows_linearly(&["xargs", "ls"], "-x");
}
