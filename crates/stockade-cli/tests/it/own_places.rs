//! Stockade's own places are in no sandbox, wherever the project and the variables put them: scratch
//! folders with what runs from them, sockets, state, images, caches, policy, and the program itself.
//! Each attack is tried without the sandbox first, where it has to succeed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::poorer::{Caller, Poorer, can_box, lowered};
use crate::support::{Project, Told, eventually};

/// Files in places that no sandbox shows, beneath a project that holds all of them.
fn hidden() -> [String; 6] {
    let own = rustix::process::geteuid().as_raw();
    [
        format!("run/stockade-{own}/kept-other/bundle/config.json"),
        "run/stockade/session.socket".to_owned(),
        "state/stockade/sessions/x.socket".to_owned(),
        "state/stockade/other.json".to_owned(),
        "data/stockade/images/x/root/bin/sh".to_owned(),
        "cache/stockade/gvisor".to_owned(),
    ]
}

/// The same that can be read, and not written.
const READ_ONLY: &str = "config/stockade/stockade.toml";

/// A project with all folders of the person but the home folder in it.
fn project() -> Project {
    let project = Project::new();
    for name in ["run", "state", "data", "cache", "config"] {
        fs::create_dir(project.path(name)).unwrap();
    }
    fs::set_permissions(project.path("run"), fs::Permissions::from_mode(0o700)).unwrap();
    project
}

fn command(project: &Project, program: &Path, args: &[&str]) -> Command {
    let typed = project.command(args);
    let mut command = Command::new(program);
    command.args(args).current_dir(project.beside("work")).env_clear();
    command.envs(typed.get_envs().filter_map(|(name, value)| Some((name, value?))));
    for (variable, folder) in [
        ("XDG_RUNTIME_DIR", "run"),
        ("XDG_STATE_HOME", "state"),
        ("XDG_DATA_HOME", "data"),
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_CONFIG_HOME", "config"),
        ("TMPDIR", "run"),
    ] {
        command.env(variable, project.path(folder));
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn stockade(project: &Project, args: &[&str]) -> Told {
    let program = Path::new(env!("CARGO_BIN_EXE_stockade"));
    Told::from(command(project, program, args).output().unwrap())
}

fn plant(project: &Project, name: &str) {
    fs::create_dir_all(project.path(name).parent().unwrap()).unwrap();
    let mut folder = project.path(name);
    while folder.pop() && folder != project.path("run") && folder.starts_with(project.path("")) {
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    }
    fs::write(project.path(name), "secret").unwrap();
}

/// A line that reads a file, and then changes it in every way there is.
fn attack(name: &str) -> String {
    let top = Path::new(name).iter().next().unwrap().to_str().unwrap().to_owned();
    let folder = Path::new(name).parent().unwrap().display();
    format!(
        "cat {name}; mkdir -p {folder}; echo forged > {name}; echo forged > new; mv -f new {name}; \
         ln -f new {name}; rm -f {name}; mv {folder} aside; mv {top} moved; mkdir -p {folder}; \
         echo forged > {name}; true"
    )
}

#[test]
fn what_is_stockades_own_is_neither_seen_nor_changed_in_the_jail() {
    for name in hidden() {
        let bare = project();
        plant(&bare, &name);
        let mut control = Command::new("/bin/sh");
        control.args(["-c", &attack(&name)]).current_dir(bare.beside("work"));
        let output = control.output().unwrap();
        assert_eq!(output.stdout, b"secret", "the control");
        assert_eq!(fs::read_to_string(bare.path(&name)).unwrap(), "forged\n", "the control");

        let project = project();
        plant(&project, &name);
        let told = stockade(&project, &["shell", "--mode=bypass", &attack(&name)]);
        assert!(!told.stdout.contains("secret"), "{name}: {told:?}");
        assert_eq!(
            fs::read_to_string(project.path(&name)).ok().as_deref(),
            Some("secret"),
            "{told:?}"
        );
        // The same for code, whose interpreter may wait for it.
        let code = format!("print(open({:?}).read())", project.path(&name));
        let told = stockade(&project, &["code", "python", "-e", &code]);
        assert!(!told.stdout.contains("secret"), "{name}: {told:?}");
    }
}

#[test]
fn what_is_not_there_yet_cannot_be_made_by_a_call() {
    for name in hidden().iter().map(String::as_str).chain([READ_ONLY]) {
        let project = project();
        stockade(&project, &["shell", "--mode=bypass", &attack(name)]);
        assert!(!project.path(name).exists(), "{name}");
        let told = stockade(&project, &["shell", "echo next"]);
        assert_eq!(told.stdout, "next\n", "{name}: {told:?}");
    }
    // The control.
    let project = project();
    let told = stockade(&project, &["shell", "mkdir -p run/other; echo x > run/other/file"]);
    assert!(project.path("run/other/file").exists(), "{told:?}");
}

#[test]
fn the_policy_can_be_read_and_not_written() {
    let project = project();
    plant(&project, READ_ONLY);
    fs::write(project.path(READ_ONLY), "# mine\n").unwrap();
    let mine = format!("cat {READ_ONLY}");
    let told = stockade(&project, &["shell", "--mode=bypass", &mine]);
    assert!(told.stdout.contains("# mine"), "the control: {told:?}");
    // A script, whose text the gate does not read.
    fs::write(project.path("attack.sh"), attack(READ_ONLY)).unwrap();
    let told = stockade(&project, &["shell", "--mode=bypass", "sh attack.sh; echo ran"]);
    assert!(told.stdout.contains("ran"), "the control: {told:?}");
    assert_eq!(fs::read_to_string(project.path(READ_ONLY)).unwrap(), "# mine\n");
}

/// The folder comes to be, and is filled, while a sandbox runs that was there first.
#[test]
fn a_sandbox_that_was_there_first_does_not_see_what_comes_later() {
    let project = project();
    let line = "touch ready; while [ ! -e go ]; do sleep 0.05; done; \
                cat run/stockade*/run-*/x; echo forged > run/stockade-0/run-later/x; ls run/*/ | wc -l";
    let program = Path::new(env!("CARGO_BIN_EXE_stockade"));
    let args = ["shell", "--mode=bypass", "--timeout", "60s", line];
    let child = command(&project, program, &args).spawn().unwrap();
    assert!(eventually(Duration::from_secs(30), || project.path("ready").exists()));
    let own = rustix::process::geteuid().as_raw();
    let later = format!("run/stockade-{own}/run-later/x");
    plant(&project, &later);
    fs::write(project.path("go"), "").unwrap();
    let told = Told::from(child.wait_with_output().unwrap());
    assert!(!told.stdout.contains("secret"), "{told:?}");
    assert_eq!(fs::read_to_string(project.path(&later)).unwrap(), "secret");
    // The control: what comes later elsewhere is seen.
    assert!(project.path("go").exists());
}

#[test]
fn file_tools_read_and_list_none_of_it() {
    for name in hidden() {
        let project = project();
        plant(&project, &name);
        plant(&project, "run/other/file");
        let path = project.path(&name);
        let calls = [
            serde_json::json!({"tool": "Read", "input": {"file_path": path}}),
            serde_json::json!({"tool": "Write", "input": {"file_path": path, "content": "forged"}}),
            serde_json::json!({"tool": "Glob", "input": {"pattern": "**/*"}}),
            serde_json::json!({"tool": "Grep", "input": {"pattern": "secret", "path": "."}}),
            serde_json::json!({"tool": "Read", "input": {"file_path": project.path("run/other/file")}}),
        ];
        let lines: Vec<String> = calls.iter().map(ToString::to_string).collect();
        fs::write(project.beside("calls"), lines.join("\n")).unwrap();
        let file = project.beside("calls");
        let told = stockade(&project, &["call", "--mode=bypass", file.to_str().unwrap()]);
        let reports = told.lines();
        let place = Path::new(&name).file_name().unwrap().to_str().unwrap();
        assert_eq!(
            (&reports[0]["denied"], &reports[1]["denied"]),
            (&true.into(), &true.into()),
            "{name}: {told:?}"
        );
        for report in &reports[2..4] {
            assert!(!report["stdout"].to_string().contains(place), "{name}: {report}");
            assert!(
                report["stdout"].to_string().contains("run/other/file"),
                "the control: {report}"
            );
        }
        assert!(reports[4]["stdout"].to_string().contains("secret"), "the control: {}", reports[4]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "secret");
    }
}

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

/// The session of a user may have no such folder yet. Whoever makes it would have the scratch folders of
/// later calls in it.
#[test]
fn a_runtime_folder_that_is_not_there_cannot_be_made_by_a_sandbox() {
    let own = rustix::process::geteuid().as_raw();
    let line = format!(
        "mkdir -m 700 run; mkdir -p run/stockade-{own}/x; echo x > run/stockade-{own}/x/f && echo wrote; \
         mv run other && echo moved; echo ran"
    );
    let project = project();
    fs::remove_dir(project.path("run")).unwrap();
    // The control: without a sandbox it can.
    let bare = command(&project, Path::new("/bin/sh"), &["-c", &line]).output().unwrap();
    assert_eq!(Told::from(bare).stdout, "wrote\nmoved\nran\n");
    fs::remove_dir_all(project.path("other")).unwrap();
    let told = stockade(&project, &["shell", "--mode=bypass", &line]);
    assert_eq!(told.stdout, "ran\n", "{told:?}");
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
fn where_a_place_cannot_be_kept_nothing_runs() {
    // A link that the sandbox could replace.
    let project = project();
    fs::create_dir(project.path("elsewhere")).unwrap();
    fs::remove_dir(project.path("config")).unwrap();
    std::os::unix::fs::symlink("elsewhere", project.path("config")).unwrap();
    let told = stockade(&project, &["shell", "echo ran"]);
    assert_eq!((told.code, told.stdout.as_str()), (125, ""), "{told:?}");
    assert!(told.stderr.contains("goes through the link"), "{told:?}");
    assert!(told.stderr.contains("remedy"), "{told:?}");
    // A project within a place of ours.
    let project = self::project();
    let inside = project.path("state/stockade/project");
    fs::create_dir_all(&inside).unwrap();
    let root = inside.to_str().unwrap();
    let told = stockade(&project, &["shell", "--root", root, "echo ran"]);
    assert_eq!((told.code, told.stdout.as_str()), (125, ""), "{told:?}");
    assert!(told.stderr.contains("one of Stockade's own folders"), "{told:?}");
}

/// Landlock hides nothing in a folder that it allows.
#[test]
fn without_namespaces_a_project_that_holds_such_a_place_is_refused() {
    if !can_box() {
        return;
    }
    let poorer = Poorer::new(Caller::ordinary());
    // The root of this test holds its home folder.
    let text = fs::read_to_string(lowered()).unwrap() + "\n[project]\nhome = true\n";
    let policy = poorer.project.beside("lowered.toml");
    fs::write(&policy, text).unwrap();
    let policy = policy.to_str().unwrap().to_owned();
    let run = |options: &[&str]| {
        let words = ["run", "--json", "--policy", &policy];
        let words = [&words, options, &["--", "echo", "ran"]].concat();
        poorer.told("EPERM", "namespaces", &words).json()
    };
    let report = run(&[]);
    assert_eq!(report["stdout"], "ran\n", "the control: {report}");
    let root = poorer.project.beside("");
    let report = run(&["--root", root.to_str().unwrap()]);
    assert_eq!(report["ok"], false, "{report}");
    assert!(report["failure"].to_string().contains("Stockade's own"), "{report}");
    assert!(report["failure"]["remedy"].is_string(), "{report}");
}

/// A sandbox that was started without the variables would show a scratch folder in its project, and with
/// it the bundle of another call.
#[test]
fn scratch_folders_are_in_no_place_that_another_sandbox_could_show() {
    let project = project();
    let line = ["shell", "--tier=process", "--mode=bypass", "echo $HOME"];
    let home = project.path("").display().to_string();
    // The supervisor of another project, which may be the one that comes second.
    let other = project.beside("other");
    fs::create_dir(&other).unwrap();
    let mut elsewhere = command(&project, Path::new(env!("CARGO_BIN_EXE_stockade")), &line);
    for told in
        [stockade(&project, &line), Told::from(elsewhere.current_dir(&other).output().unwrap())]
    {
        assert!(told.stdout.contains("/run-"), "the control: {told:?}");
        assert!(!told.stdout.starts_with(&home), "{told:?}");
    }
    // Nor through a link to a folder that is known, which could be replaced.
    let own = rustix::process::geteuid().as_raw();
    std::os::unix::fs::symlink(project.runtime(), project.path("linked")).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_stockade"));
    let mut linked = command(&project, program, &line);
    linked.env("XDG_RUNTIME_DIR", project.path("linked"));
    let told = Told::from(linked.output().unwrap());
    let real = project.runtime().join(format!("stockade-{own}"));
    assert!(told.stdout.starts_with(real.to_str().unwrap()), "the control: {told:?}");
}

/// A project may be the folder that holds all scratch folders.
#[test]
fn a_project_that_holds_all_scratch_folders_shows_none() {
    let project = Project::new();
    fs::write(project.runtime().join("secret"), "secret").unwrap();
    let own = rustix::process::geteuid().as_raw();
    let line =
        format!("ls /tmp/stockade-{own}; cat {}/secret; echo ran", project.runtime().display());
    let told = project.stockade(&["shell", "--mode=bypass", "--root=/tmp", &line]);
    assert!(told.stdout.ends_with("ran\n") || told.code == 125, "{told:?}");
    assert!(!told.stdout.contains("secret") && !told.stdout.contains("test-"), "{told:?}");
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
