//! What is typed wrong, and what is asked for: help, manual, completions.

use std::process::{Command, Stdio};

use crate::support::{Project, skip};

#[test]
fn a_usage_error_is_125_with_help_on_standard_error() {
    let project = Project::new();
    let cases: &[(&[&str], &str)] = &[
        (&[], "Usage"),
        (&["run"], "Usage"),
        (&["run", "ls"], "--"),
        (&["run", "--"], "PROGRAM"),
        (&["bogus"], "bogus"),
        (&["run", "--bogus", "--", "ls"], "--bogus"),
        (&["run", "--timeout", "soon", "--", "ls"], "soon"),
        (&["run", "--timeout", "-1", "--", "ls"], "-1"),
        (&["run", "--timeout", "inf", "--", "ls"], "inf"),
        (&["run", "--timeout", "nan", "--", "ls"], "nan"),
        (&["run", "--memory", "12Q", "--", "ls"], "12Q"),
        (&["run", "--memory", "-1", "--", "ls"], "-1"),
        (&["run", "--memory", "99999999999999999999G", "--", "ls"], "9G"),
        (&["run", "--processes", "many", "--", "ls"], "many"),
        (&["run", "--tier", "moon", "--", "ls"], "moon"),
        (&["run", "--profile", "lax", "--", "ls"], "lax"),
        (&["run", "--net", "some", "--", "ls"], "some"),
        (&["run", "--env", "=x", "--", "ls"], "=x"),
        (&["shell"], "Usage"),
        (&["call", "--jobs", "0"], "0"),
        (&["call", "--jobs", "1000"], "1000"),
        (&["check"], "Usage"),
        (&["check", "dance"], "dance"),
        (&["audit"], "Usage"),
        (&["completions"], "Usage"),
        (&["completions", "tcl"], "tcl"),
    ];
    for (args, word) in cases {
        let told = project.stockade(args);
        assert_eq!((told.code, told.stdout.as_str()), (125, ""), "{args:?}: {told:?}");
        assert!(told.stderr.contains(word), "{args:?}: {told:?}");
    }
}

/// Seen by the first process of a namespace, which gets all orphans and reaps none of them.
#[test]
fn what_was_typed_wrong_leaves_no_process() {
    const NAME: &str = "what_was_typed_wrong_leaves_no_process";
    const LOOK: &str = "exec cat < <(for _ in 1 2 3 4 5 6 7 8; do \"$0\" \"$@\" &>/dev/null; done; \
        grep -l ^stockade /proc/[0-9]*/comm; echo looked)";
    let project = Project::new();
    let cases: [&[&str]; 4] = [
        &["run", "--bogus", "--", "ls"],
        &["shell"],
        &["run", "--help"],
        &["run", "--tier", "process", "--", "no-such-program"],
    ];
    for args in cases {
        let stockade = project.command(args);
        let mut alone = Command::new("unshare");
        alone.args(["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "bash", "-c"]);
        alone.arg(LOOK).arg(stockade.get_program()).args(stockade.get_args());
        for (name, value) in stockade.get_envs() {
            if let Some(value) = value {
                alone.env(name, value);
            }
        }
        alone.current_dir(project.path("")).stdin(Stdio::null());
        let told = match alone.output() {
            Ok(told) if told.status.success() => told,
            Ok(told) => return skip(NAME, String::from_utf8_lossy(&told.stderr).trim()),
            Err(error) => return skip(NAME, &format!("unshare: {error}")),
        };
        assert_eq!(String::from_utf8_lossy(&told.stdout), "looked\n", "{args:?}");
    }
}

#[test]
fn help_and_version_are_what_was_asked_for() {
    let project = Project::new();
    let told = project.stockade(&["--version"]);
    assert_eq!((told.code, told.stderr.as_str()), (0, ""));
    assert!(told.stdout.starts_with("stockade "));
    let commands = ["run", "shell", "call", "check", "demo", "audit", "init", "completions", "man"];
    let told = project.stockade(&["--help"]);
    assert_eq!((told.code, told.stderr.as_str()), (0, ""));
    for command in commands {
        assert!(told.stdout.contains(&format!("  {command} ")), "{command}");
        for help in ["--help", "-h"] {
            let told = project.stockade(&[command, help]);
            assert_eq!((told.code, told.stderr.as_str()), (0, ""), "{command}");
            assert!(told.stdout.contains("Usage: stockade"), "{command}");
        }
    }
    assert!(told.stdout.contains("124") && told.stdout.contains("126"), "exit statuses");
}

#[test]
fn the_manual_has_a_page_for_every_command() {
    let project = Project::new();
    let told = project.stockade(&["man"]);
    assert_eq!(told.code, 0);
    assert!(
        told.stdout.contains(".TH stockade") && told.stdout.contains("EXTRA"),
        "{}",
        told.stdout
    );
    std::fs::create_dir(project.path("man")).unwrap();
    assert_eq!(project.stockade(&["man", "--dir", "man"]).code, 0);
    for page in ["stockade.1", "stockade-run.1", "stockade-audit-verify.1"] {
        assert!(project.path("man").join(page).exists(), "{page}");
    }
    let told = project.stockade(&["man", "--dir", "not-there"]);
    assert_eq!(told.code, 125);
    assert!(told.stderr.contains("not-there"), "{told:?}");
}

#[test]
fn completions_are_scripts_that_their_shell_can_read() {
    let project = Project::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let told = project.stockade(&["completions", shell]);
        assert_eq!((told.code, told.stderr.as_str()), (0, ""));
        assert!(told.stdout.contains("max-output") && told.stdout.contains("audit"), "{shell}");
        project.write("script", &told.stdout);
        if ["elvish", "powershell"].contains(&shell) {
            continue;
        }
        let checked = Command::new(shell)
            .args(["-n"])
            .arg(project.path("script"))
            .stderr(Stdio::inherit())
            .status();
        match checked {
            Ok(status) => assert!(status.success(), "{shell}"),
            Err(_) => skip(shell, &format!("there is no {shell} here")),
        }
    }
}
