//! What a run sees of the world's variables: what is listed, and nothing of the supervisor's.

use std::os::unix::fs::chown;

use stockade::launch::probe;
use stockade::policy::Variable;

use crate::helper::Helper;
use crate::support::{Project, has, is_root, kept, policy, skip, text, unboxed};

const SECRET: &str = "hunter2-of-the-supervisor";

fn names(stdout: &str) -> Vec<&str> {
    let mut names: Vec<&str> =
        stdout.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.sort_unstable();
    names
}

#[test]
fn holds_the_path_the_scratch_folder_and_what_is_listed() {
    let project = Project::new();
    let policy = policy(|policy| {
        policy.environment = vec![
            Variable::Set("GIVEN".to_owned(), "a value with spaces".to_owned()),
            Variable::Inherited("STOCKADE_TEST_NOT_THERE".to_owned()),
        ];
    });
    let report = project.run_with(policy, crate::support::exec(&["env"]));
    assert_eq!(names(text(&report, "stdout")), ["GIVEN", "HOME", "PATH", "STOCKADE", "TMPDIR"]);
    assert!(text(&report, "stdout").contains("GIVEN=a value with spaces\n"));
}

#[test]
fn a_secret_of_the_supervisor_is_not_inherited() {
    let project = Project::new();
    let call = ["env"];
    let secret = |part| Helper::new(part, &project, &call).env("API_TOKEN", SECRET).answer();
    let control = secret("control");
    assert!(text(&control, "stdout").contains(SECRET), "{control}");
    let report = secret("run");
    assert_eq!(report["ok"], true, "{report}");
    assert!(!report.to_string().contains(SECRET), "{report}");
    let known = ["HOME", "LANG", "LC_ALL", "PATH", "STOCKADE", "TERM", "TMPDIR"];
    assert!(names(text(&report, "stdout")).iter().all(|name| known.contains(name)), "{report}");
}

/// Reads the supervisor's environment the way a thief would.
const THIEF: &str = "
tr '\\0' '\\n' < /proc/$1/environ
for process in /proc/[0-9]*; do
    grep -a -h API_TOKEN=hunter2 $process/environ 2>/dev/null
done
true
";

/// Whether the thief got it; where it can, the report must not call the guarantee kept.
fn steal(as_user: fn(&str, &Project, &[&str]) -> Helper) -> bool {
    let project = Project::new();
    project.script("thief.sh", THIEF);
    if is_root() {
        // Whoever plays the part has to be able to write here.
        for path in [project.beside(""), project.root(), project.beside("tmp")] {
            chown(path, Some(65534), Some(65534)).unwrap();
        }
    }
    let call = ["sh", "thief.sh", "{pid}"];
    let secret = |part| as_user(part, &project, &call).env("API_TOKEN", SECRET).answer();
    let control = secret("control");
    assert!(text(&control, "stdout").contains(SECRET), "{control}");
    let report = secret("run");
    assert_eq!(report["exit_code"], 0, "{report}");
    let is_read = text(&report, "stdout").contains(SECRET);
    assert!(!is_read || kept(&report, "environment") != "full", "not said: {report}");
    assert!(is_read || text(&report, "stderr").contains("ermission denied"), "{report}");
    is_read
}

#[test]
fn the_supervisors_own_environment_cannot_be_read_in_proc_or_the_report_says_so() {
    let is_read = steal(Helper::new);
    assert!(!is_read || !probe().signal_scope);
}

#[test]
fn the_supervisors_own_environment_cannot_be_read_in_proc_by_an_unprivileged_user() {
    if !is_root() {
        skip("root", "another user can only be tried by root");
    } else if has("setpriv") {
        let is_read = steal(Helper::as_nobody);
        assert!(!is_read || !probe().signal_scope);
    }
}

#[test]
fn nothing_but_the_three_streams_is_open() {
    let project = Project::new();
    let report = project.sh(unboxed(), "ls /proc/$$/fd\n", &[]);
    // The shell itself holds its script open, at 10 or 255.
    let open: Vec<&str> = text(&report, "stdout").split_whitespace().collect();
    let own = ["0", "1", "2", "3", "10", "255"];
    assert!(open.iter().all(|fd| own.contains(fd)), "{report}");
}

#[test]
fn no_new_privileges_can_be_had() {
    let project = Project::new();
    let report = project.sh(unboxed(), "grep NoNewPrivs /proc/self/status\n", &[]);
    assert!(text(&report, "stdout").ends_with("1\n"), "{report}");
}
