//! Replacing the running program, which lies in the project, for the next call.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use crate::support::{Project, Told};

/// As cargo lays it: two names of one file, and a link by which it is started.
fn with_program(project: &Project) {
    fs::create_dir_all(project.path("target/release/deps")).unwrap();
    fs::create_dir_all(project.path("bin")).unwrap();
    crate::support::copy_program(
        env!("CARGO_BIN_EXE_stockade"),
        project.path("target/release/stockade"),
    );
    let link = |from: &str, to: &str| fs::hard_link(project.path(from), project.path(to)).unwrap();
    link("target/release/stockade", "target/release/deps/stockade-0123");
    fs::create_dir_all(project.path("mid/sub")).unwrap();
    for (to, link) in [
        ("../target/release/stockade", "bin/stockade"),
        // A chain, and links to folders.
        ("target/release/stockade", "st"),
        ("../st", "bin/chained"),
        ("target/release", "tl"),
        ("sub/t", "mid/link"),
        ("../../target", "mid/sub/t"),
    ] {
        std::os::unix::fs::symlink(to, project.path(link)).unwrap();
    }
}

#[test]
fn the_running_program_cannot_be_replaced_under_any_of_its_names() {
    let forge = |name: &str| {
        format!(
            "printf '#!/bin/sh\\necho taken\\n' > n; chmod +x n; cat n > {name}; cp n m; mv -f m {name}; \
             rm -f {name}; ln -f n {name}; chmod 777 {name}; cp n {name}; \
             d=$(dirname {name}); mv $d aside; rm -rf $d; mv target moved; \
             mkdir -p $d; cp n {name}; \
             for l in st tl mid/link mid/sub/t; do rm -f $l; mkdir -p $l; cp n $l/stockade; done; true"
        )
    };
    for started in [
        "target/release/stockade",
        "bin/stockade",
        "target/release/deps/stockade-0123",
        "bin/chained",
        "tl/stockade",
        "mid/link/release/stockade",
    ] {
        for name in [started, "target/release/stockade"] {
            let project = Project::new();
            with_program(&project);
            let program = project.path(started);
            let run = |args: &[&str]| {
                let mut again = project.command(args);
                let mut command = Command::new(&program);
                command.args(args).current_dir(project.beside("work")).env_clear();
                command.envs(again.get_envs().filter_map(|(name, value)| Some((name, value?))));
                let _typed = again.stdin(Stdio::null());
                Told::from(command.output().unwrap())
            };
            let before = fs::read(project.path("target/release/stockade")).unwrap();
            fs::write(project.path("forge.sh"), forge(name)).unwrap();
            run(&["shell", "sh forge.sh"]);
            assert_eq!(run(&["shell", "echo next"]).stdout, "next\n", "{started} {name}");
            assert!(fs::read(project.path("target/release/stockade")).unwrap() == before, "{name}");
            // The control: another program is replaced.
            fs::create_dir(project.path("other")).unwrap();
            fs::write(project.path("other/program"), "x").unwrap();
            let told = run(&["shell", "cp n other/program"]);
            let other = fs::read(project.path("other/program")).unwrap();
            assert!(other.starts_with(b"#!"), "{started} {name}: {told:?}");
        }
    }
}

#[test]
fn a_name_of_the_program_that_is_not_known_is_looked_for() {
    let project = Project::new();
    crate::support::copy_program(env!("CARGO_BIN_EXE_stockade"), project.path("stockade"));
    fs::create_dir(project.path("deep")).unwrap();
    let rights = fs::Permissions::from_mode(0o755);
    fs::set_permissions(project.path("stockade"), rights).unwrap();
    fs::hard_link(project.path("stockade"), project.path("deep/elsewhere")).unwrap();
    let typed = project.command(&[]);
    let mut command = Command::new(project.path("stockade"));
    command.args([
        "shell",
        "--mode=bypass",
        "chmod 700 deep/elsewhere; rm -f deep/elsewhere; echo x > deep/other",
    ]);
    command.current_dir(project.beside("work")).env_clear();
    command.envs(typed.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let told = Told::from(command.output().unwrap());
    let now = fs::metadata(project.path("stockade")).unwrap().permissions().mode() & 0o777;
    assert_eq!(now, 0o755, "{told:?}");
    assert!(project.path("deep/elsewhere").exists(), "{told:?}");
    assert!(project.path("deep/other").exists(), "the control: {told:?}");
}

#[test]
fn a_link_by_which_a_relative_search_path_starts_the_program_cannot_be_replaced() {
    let project = Project::new();
    with_program(&project);
    project.write(
        "forge.sh",
        "echo taken > n; rm -f bin/stockade; cp n bin/stockade; mv -f n bin/stockade; true\n",
    );
    for path in ["bin:/usr/bin:/bin", "sub/../bin:/usr/bin:/bin"] {
        fs::create_dir_all(project.path("sub")).unwrap();
        let typed = project.command(&[]);
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exec stockade shell 'sh forge.sh; echo ran'"]);
        command.current_dir(project.beside("work")).env_clear();
        command.envs(typed.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let told = Told::from(command.env("PATH", path).output().unwrap());
        assert_eq!(told.stdout, "ran\n", "the control: {told:?}");
        assert!(project.path("bin/stockade").is_symlink(), "{path}: {told:?}");
    }
}

#[test]
fn a_file_tool_replaces_no_other_name_of_the_running_program() {
    let project = Project::new();
    crate::support::copy_program(env!("CARGO_BIN_EXE_stockade"), project.path("stockade"));
    fs::create_dir(project.path("deep")).unwrap();
    fs::hard_link(project.path("stockade"), project.path("deep/elsewhere")).unwrap();
    project.write("deep/other", "x");
    let write = |name: &str| {
        let input = serde_json::json!({"file_path": project.path(name), "content": "forged"});
        serde_json::json!({"tool": "Write", "input": input}).to_string()
    };
    fs::write(project.beside("calls"), [write("deep/elsewhere"), write("deep/other")].join("\n"))
        .unwrap();
    let calls = project.beside("calls");
    for mode in ["--mode=bypass", "--mode=auto"] {
        let typed = project.command(&["call", mode, calls.to_str().unwrap()]);
        let mut command = Command::new(project.path("stockade"));
        command.args(typed.get_args()).current_dir(project.beside("work")).env_clear();
        command.envs(typed.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let told = Told::from(command.output().unwrap());
        let reports = told.lines();
        assert_eq!(reports[0]["denied"], true, "{mode}: {told:?}");
        assert_eq!(reports[1]["ok"], true, "the control: {told:?}");
        assert_ne!(fs::read(project.path("deep/elsewhere")).unwrap(), b"forged", "{told:?}");
        assert_eq!(fs::read(project.path("deep/other")).unwrap(), b"forged", "the control");
    }
}
