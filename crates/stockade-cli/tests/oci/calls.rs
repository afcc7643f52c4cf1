//! The same calls in both tiers: what a box gives, what it hides and protects. What every tier keeps
//! is the matrix.

use std::fs;
use std::process::Command;

use crate::support::{OWNER, Project, Tier, kept, text};

const BOTH: [Tier; 2] = [Tier::Container, Tier::Gvisor];

fn projects() -> impl Iterator<Item = Project> {
    BOTH.into_iter().filter_map(Project::new)
}

#[test]
fn a_call_runs_and_its_status_is_its_own() {
    for project in projects() {
        project.write("data", "of the project\n");
        let report = project.sh(&[], "cat data\necho complaint >&2\nexit 7\n");
        assert_eq!(text(&report, "stdout"), "of the project\n", "{report}");
        assert_eq!((&report["exit_code"], text(&report, "stderr")), (&7.into(), "complaint\n"));
        assert_eq!(text(&report, "tier"), project.tier().name());
        for guarantee in ["writes", "reads", "network", "processes", "privileges", "environment"] {
            assert_eq!(kept(&report, guarantee), "full", "{guarantee} of {report}");
        }
        let kernel = if project.tier() == Tier::Gvisor { "full" } else { "none" };
        assert_eq!(kept(&report, "kernel"), kernel);
        project.nothing_is_left("none");
    }
}

#[test]
fn a_status_that_engines_use_for_themselves_is_the_programs_if_it_ran() {
    for project in projects() {
        for status in [125, 126, 127, 128] {
            let report = project.sh(&[], &format!("exit {status}\n"));
            assert_eq!(report["exit_code"], status, "{report}");
            assert_eq!(report["failure"], serde_json::Value::Null);
        }
        let report = project.run(&["no-such-program"]);
        assert_eq!(report["exit_code"], 127, "{report}");
        assert_eq!(report["failure"]["kind"], "missing-program", "{report}");
        project.nothing_is_left("none");
    }
}

#[test]
fn standard_input_reaches_the_program() {
    for project in projects() {
        use std::io::Write as _;
        let mut args = project.run_args(&["--stdin"], &["cat"]);
        args.retain(|word| word != "--json");
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut command = project.command(&args);
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all("x".repeat(200_000).as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        // More than is kept of a stream went through; its two ends are kept.
        let shown = String::from_utf8(output.stdout).unwrap().matches('x').count();
        assert!(shown > 60_000, "{shown}");
    }
}

#[test]
fn its_user_is_not_root_and_its_environment_is_what_is_listed() {
    for project in projects() {
        let report = project.run(&["id", "-u"]);
        let expected =
            if rustix::process::geteuid().is_root() { OWNER.to_string() } else { String::new() };
        assert!(text(&report, "stdout").trim() == expected || expected.is_empty(), "{report}");
        let args = project.run_args(&["--env", "LISTED=yes"], &["env"]);
        let mut command = project.command(&args.iter().map(String::as_str).collect::<Vec<_>>());
        command.env("A_SECRET", "of the supervisor");
        let report = crate::support::report(command);
        let stdout = text(&report, "stdout");
        assert!(stdout.contains("LISTED=yes") && !stdout.contains("A_SECRET"), "{stdout}");
        let known =
            ["LISTED", "PATH", "HOME", "TMPDIR", "HOSTNAME", "LANG", "LC_ALL", "TERM", "STOCKADE"];
        let names = stdout.lines().filter_map(|line| line.split('=').next());
        let unknown: Vec<&str> = names.filter(|name| !known.contains(name)).collect();
        assert_eq!(unknown, Vec::<&str>::new());
    }
}

/// Each line is an attack that says so if it works.
const ATTACKS: &str = "grep KEY .env >/dev/null && echo read hidden file\n\
    cat secrets/key >/dev/null && echo read hidden folder\n\
    echo x > .git/hooks/pre-commit && echo wrote protected\n\
    mv .git/hooks .git/aside && echo moved protected\n\
    mv .git aside && echo moved the folder above\n\
    exit 0\n";

fn laid_out(project: &Project) {
    project.write(".env", "KEY=hidden\n");
    project.write("secrets/key", "hidden\n");
    project.write(".git/hooks/sample", "#!/bin/sh\n");
    project.write("attack.sh", ATTACKS);
    project.policy("hide = [\".env\", \"secrets\"]");
}

#[test]
fn what_is_hidden_and_protected_is_out_of_reach() {
    for project in projects() {
        laid_out(&project);
        let report = project.run_with(&["--profile", "contained"], &["sh", "attack.sh"]);
        assert_eq!(text(&report, "stdout"), "", "{}: {report}", project.tier().name());
        assert_eq!(report["exit_code"], 0);
        assert!(project.root().join(".git/hooks/sample").exists());
        // The control half: without a box all of it works.
        let mut bare = Command::new("sh");
        bare.arg("attack.sh").current_dir(project.root());
        let bare = bare.output().unwrap();
        let stdout = String::from_utf8(bare.stdout).unwrap();
        for line in [
            "read hidden file",
            "read hidden folder",
            "wrote protected",
            "moved protected",
            "moved the folder above",
        ] {
            assert!(stdout.contains(line), "{line}: {stdout}");
        }
    }
}

#[test]
fn a_hidden_file_or_folder_cannot_be_opened_and_is_never_empty() {
    for project in projects() {
        laid_out(&project);
        // The image has hardly any programs.
        let script = "cat .env && echo opened; cat secrets/key && echo opened\n\
                      [ -s .env ] && echo sized\n\
                      echo $GIT_CONFIG_COUNT $GIT_CONFIG_KEY_0=$GIT_CONFIG_VALUE_0\n";
        let report = project.sh(&[], script);
        let printed = "sized\n1 core.checkStat=minimal\n";
        assert_eq!(text(&report, "stdout"), printed, "{report}");
        let denied = text(&report, "stderr").matches("Permission denied").count();
        assert_eq!(denied, 2, "{}: {report}", project.tier().name());
        for guarantee in ["reads", "environment"] {
            assert_eq!(kept(&report, guarantee), "full", "{guarantee} of {report}");
        }
        project.nothing_is_left("none");
    }
}

#[test]
fn the_project_can_be_written_where_the_policy_says_so() {
    for project in projects() {
        let report = project.sh(&[], "echo made > made\necho scratch > /tmp/x && cat /tmp/x\n");
        assert_eq!(text(&report, "stdout"), "scratch\n", "{report}");
        assert_eq!(fs::read_to_string(project.root().join("made")).unwrap(), "made\n");
        project.policy("write = []");
        let report = project.sh(&[], "echo again > made || echo refused\n");
        assert_eq!(text(&report, "stdout"), "refused\n", "{report}");
        assert_eq!(fs::read_to_string(project.root().join("made")).unwrap(), "made\n");
    }
}

#[test]
fn a_protected_path_that_is_made_ends_the_call_and_is_moved_away() {
    for project in projects() {
        let report = project.sh(&[], "echo x > .envrc\nsleep 60\n");
        assert_eq!(kept(&report, "protected"), "detected", "{report}");
        assert!(report["duration_ms"].as_f64().unwrap() < 30_000.0, "{report}");
        assert!(!project.root().join(".envrc").exists());
        project.nothing_is_left("none");
    }
}

#[test]
fn the_limit_on_processor_time_ends_it_and_is_named() {
    for project in projects() {
        let report = project.sh(&["--cpu", "1s"], "while :; do :; done\n");
        assert_eq!(report["limit"], "cpu", "{}: {report}", project.tier().name());
        project.nothing_is_left("none");
    }
}

#[test]
fn source_and_shell_lines_run_in_the_box() {
    for project in projects() {
        let (policy, journal) = (project.beside("policy.toml"), project.beside("journal"));
        let own = ["--json", "--policy", policy.to_str().unwrap(), "--journal"];
        let own = [own.as_slice(), &[journal.to_str().unwrap()]].concat();
        let code = ["code", "--lang", "bash", "-e", "pwd; echo made > made; cat made"];
        let report = crate::support::report(project.command(&[code.as_slice(), &own].concat()));
        assert_eq!(text(&report, "stdout"), "/tmp\nmade\n", "{report}");
        assert!(!project.root().join("made").exists());
        let line = ["shell", "echo one | cat && echo two > made"];
        let report = crate::support::report(project.command(&[line.as_slice(), &own].concat()));
        assert_eq!(
            (text(&report, "stdout"), &report["exit_code"]),
            ("one\n", &0.into()),
            "{report}"
        );
        assert_eq!(fs::read_to_string(project.root().join("made")).unwrap(), "two\n");
    }
}
