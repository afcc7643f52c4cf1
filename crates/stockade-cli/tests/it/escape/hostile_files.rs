//! Files that a call laid for the next one: pipes, devices and files without end in the place of files
//! that Stockade reads itself, outside of any sandbox.

use std::fs;
use std::process::Command;

use crate::support::{Project, Told};

/// Far more than a call takes, and less than for ever.
const PATIENCE: &str = "60";
/// Far more memory than a call takes, in KiB; `/dev/zero` fills any.
const MEMORY_KIB: &str = "4000000";

/// Runs `stockade` so that a hang or a flood ends with the test, with 124 or a signal.
fn bounded(project: &Project, args: &[&str]) -> Told {
    let inner = project.command(args);
    let mut outer = Command::new("/usr/bin/timeout");
    outer.args(["--signal=KILL", PATIENCE, "/bin/sh", "-c"]);
    outer.arg(format!("ulimit -v {MEMORY_KIB}; exec \"$@\"")).arg("sh");
    outer.arg(inner.get_program()).args(inner.get_args()).env_clear();
    outer.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    outer.current_dir(project.beside("work"));
    Told::from(outer.output().unwrap())
}

/// Lays files by a script in the sandbox, as an attack would: the gate reads no script.
fn lay(project: &Project, line: &str) {
    fs::write(project.path("lay.sh"), line).unwrap();
    let told = project.stockade(&["shell", "sh lay.sh"]);
    assert_eq!(told.code, 0, "the control: a sandboxed program can make it: {told:?}");
}

/// Reads a file whole, in a little time and memory.
fn reads_whole(project: &Project, name: &str, seconds: &str) -> bool {
    let mut reader = Command::new("/usr/bin/timeout");
    reader.args(["--signal=KILL", seconds, "/bin/sh", "-c"]);
    reader.arg("ulimit -v 1000000; exec /usr/bin/python3 -c 'open(\"'$0'\", \"rb\").read()'");
    reader.arg(name).current_dir(project.beside("work"));
    reader.output().unwrap().status.success()
}

#[test]
fn no_file_that_a_call_laid_makes_the_next_one_hang_or_grow() {
    for (attack, read) in [
        ("echo 'gitdir: g' > .git; mkdir g; mkfifo g/commondir", "g/commondir"),
        ("echo 'gitdir: g' > .git; mkdir g; ln -s /dev/zero g/commondir", "g/commondir"),
        ("echo 'gitdir: g' > .git; mkdir g; ln -s ../pipe g/commondir; mkfifo pipe", "g/commondir"),
        ("truncate -s 3G .git", ".git"),
        ("echo 'gitdir: g' > .git; mkdir g; truncate -s 3G g/commondir", "g/commondir"),
        ("mkfifo .git", ".git"),
        ("ln -s /dev/zero .git", ".git"),
        (
            "mkdir -p .git/modules; mkfifo .git/modules/config .git/worktrees .git/config",
            ".git/config",
        ),
        ("mkdir -p .git; ln -s /dev/zero .git/config", ".git/config"),
        ("mkfifo .ignore .gitignore; mkdir .codex; ln -s /dev .codex/rules", ".ignore"),
    ] {
        let project = Project::new();
        let mut bare = Command::new("/bin/sh");
        bare.args(["-c", attack]).current_dir(project.beside("work"));
        assert!(bare.status().unwrap().success(), "{attack}");
        assert!(!reads_whole(&project, read, "2"), "the control: {attack}");
        let told = bounded(&project, &["shell", "--timeout", "20s", "echo next"]);
        assert_eq!(told.stdout, "next\n", "{attack}: {told:?}");
        // The process tier looks at the configuration of git in the gate alone.
        let line = ["check", "shell", "--tier", "process", "git status"];
        let told = bounded(&project, &line);
        assert!([0, 3, 126].contains(&told.code), "{attack}: {told:?}");
        let told = bounded(&project, &["run", "--", "true"]);
        assert_eq!(told.code, 0, "{attack}: {told:?}");
    }
}

/// What a file of git leads to is still protected where it is one, and it is said where it is not.
#[test]
fn a_git_file_is_followed_if_it_is_one_and_told_if_it_is_not() {
    let project = Project::new();
    project.write("plain", "x");
    assert!(reads_whole(&project, "plain", PATIENCE), "the control of the controls");
    let protection = |project: &Project| {
        let told = bounded(project, &["run", "--json", "--", "true"]);
        let report = told.json();
        let lines = report["enforcement"].as_array().unwrap().clone();
        lines.into_iter().find(|line| line["guarantee"] == "protected").unwrap()
    };
    lay(&project, "mkdir -p g/hooks; touch g/config; echo 'gitdir: g' > .git");
    let told = project.stockade(&["shell", "echo x >> g/config"]);
    assert_ne!(told.code, 0, "{told:?}");
    let line = protection(&project);
    assert!(!line["note"].to_string().contains("commondir"), "the control: {line}");
    fs::remove_file(project.path(".git")).unwrap();
    lay(&project, "mkfifo g/commondir; echo 'gitdir: g' > .git");
    let line = protection(&project);
    assert!(line["note"].to_string().contains("commondir"), "{line}");
    assert!(line["note"].to_string().contains("not a regular file"), "{line}");
    assert_ne!(line["kept"], "full", "{line}");
}

/// A folder without end is not listed to its end.
#[test]
fn a_folder_of_many_names_is_not_read_to_its_end() {
    let project = Project::new();
    fs::create_dir_all(project.path(".git/modules")).unwrap();
    for number in 0..10_001 {
        fs::create_dir(project.path(&format!(".git/modules/{number}"))).unwrap();
    }
    let told = bounded(&project, &["run", "--json", "--", "true"]);
    let report = told.json();
    let note = report["enforcement"].to_string();
    assert!(note.contains("not all submodules and worktrees"), "{report}");
    assert_eq!(report["ok"], true, "{report}");
}
