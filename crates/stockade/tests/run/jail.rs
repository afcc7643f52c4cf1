//! The jail through the whole pipeline. Each attack has a control half that succeeds without it.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use stockade::guarantee::{Guarantee, Kept};
use stockade::launch::{Origin, PoolSize};
use stockade::limits::ByteCount;
use stockade::policy::{FilesPolicy, Profile, Rules};
use stockade::tier::Tier;
use stockade::{Policy, Stockade};

use crate::support::{
    Project, eventually, exec, has, is_root, json, kept, marked, marker, policy, skip, text,
    unboxed, within,
};

/// The shipped policy in the jail, with changes.
pub(crate) fn jailed(change: impl FnOnce(&mut Policy)) -> Policy {
    policy(|policy| {
        policy.tier = Tier::Jail;
        // What is shipped hides files by name; tests hide their own.
        policy.rules = Rules::default();
        change(policy);
    })
}

/// A project for boxes, if this machine can make one.
pub(crate) fn project() -> Option<Project> {
    let project = Project::new();
    let report = project.run_with(jailed(|_| {}), exec(&["true"]));
    if report["failure"]["message"].as_str().is_some_and(|why| why.contains("namespace")) {
        skip("userns", "user namespaces are forbidden here");
        return None;
    }
    assert_eq!(report["ok"], true, "{report}");
    Some(project)
}

/// What a script prints in the project without any box.
fn control(project: &Project, script: &str) -> String {
    project.script("control.sh", script);
    let output = Command::new("sh").arg("control.sh").current_dir(project.root()).output().unwrap();
    fs::remove_file(project.path("control.sh")).unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn boxed(project: &Project, script: &str) -> Value {
    project.sh(jailed(|_| {}), script, &[])
}

#[test]
fn files_outside_are_neither_read_nor_written() {
    let Some(project) = project() else { return };
    let canary = project.beside("canary");
    fs::write(&canary, "secret\n").unwrap();
    let path = canary.display();
    let attack =
        format!("cat {path}; cat ../canary; cat /proc/self/root{path}; ls ..; echo x >> {path}\n");
    let report = boxed(&project, &attack);
    assert!(!text(&report, "stdout").contains("secret"), "{report}");
    assert!(!text(&report, "stdout").contains("canary"), "{report}");
    assert_eq!(fs::read_to_string(&canary).unwrap(), "secret\n");
    assert_eq!((kept(&report, "writes"), kept(&report, "reads")), ("full", "full"));
    assert!(control(&project, &attack).contains("secret"));
    assert_eq!(fs::read_to_string(&canary).unwrap(), "secret\nx\n");
}

#[test]
fn the_project_is_written_and_its_files_keep_their_owner() {
    let Some(project) = project() else { return };
    let report = boxed(&project, "echo made > made; mkdir -p a/b; echo deep > a/b/c; cat made\n");
    assert_eq!(text(&report, "stdout"), "made\n", "{report}");
    let owner = fs::metadata(project.root()).unwrap().uid();
    for path in ["made", "a", "a/b/c"] {
        assert_eq!(fs::metadata(project.path(path)).unwrap().uid(), owner, "{path}");
    }
}

#[test]
fn a_project_that_is_not_listed_as_writable_is_read_only() {
    let Some(project) = project() else { return };
    fs::create_dir(project.path("out")).unwrap();
    let policy = jailed(|policy| policy.files.write = vec!["out".into()]);
    let report = project.sh(policy, "echo x > out/x && echo one; echo x > y || echo two\n", &[]);
    assert_eq!(text(&report, "stdout"), "one\ntwo\n", "{report}");
}

/// The folder of a call is compared with the one that was judged, and a hidden one is another.
#[test]
fn a_call_works_in_its_folder_and_in_a_hidden_one() {
    let Some(project) = project() else { return };
    for name in ["deep/er", "hidden"] {
        fs::create_dir_all(project.path(name)).unwrap();
        fs::write(project.path(name).join("file"), "").unwrap();
    }
    std::os::unix::fs::symlink("deep/er", project.path("link")).unwrap();
    let listed = |cwd: &str| {
        let policy = jailed(|policy| policy.files.hide = vec!["hidden".into()]);
        let mut call = exec(&["ls"]);
        call.cwd = Some(cwd.into());
        let report = project.run_with(policy, call);
        assert_eq!(report["ok"], true, "{cwd}: {report}");
        text(&report, "stdout").to_owned()
    };
    assert_eq!(["deep/er", "link", "hidden"].map(listed), ["file\n", "file\n", ""]);
}

#[test]
fn git_commits_while_its_hooks_and_configuration_cannot_be_changed() {
    let Some(project) = project() else { return };
    if !has("git") {
        return;
    }
    let set_up = "git init -q . && git config user.email a@b && git config user.name c\n";
    control(&project, set_up);
    let config = fs::read_to_string(project.path(".git/config")).unwrap();
    let attack = "echo '[alias]x=!id' >> .git/config && echo configured
        echo id > .git/hooks/pre-commit && echo hooked
        mv .git moved && echo moved; mv .git/hooks h && echo moved
        ln -f /bin/true .git/config && echo linked; rm -rf .git/hooks 2>/dev/null && echo removed
        true\n";
    let commit = "echo x > file && git add file && git commit -qm one && git log --format=%s\n";
    let report = boxed(&project, &format!("{commit}{attack}"));
    assert_eq!(text(&report, "stdout"), "one\n", "{report}");
    assert_eq!(fs::read_to_string(project.path(".git/config")).unwrap(), config);
    assert_eq!(kept(&report, "protected"), "detected");
    let told = control(&project, "git status --porcelain --untracked-files=no\n");
    assert_eq!(told, "", "nothing of ours is left in the tree");
    assert!(control(&project, attack).contains("configured\nhooked\nmoved"));
}

#[test]
fn later_calls_find_a_box_that_was_made_in_advance() {
    let Some(project) = project() else { return };
    let stockade = project.open(jailed(|_| {}));
    let waits = || {
        let report = json(&stockade.run(exec(&["true"])));
        assert_eq!(report["ok"], true, "{report}");
        stockade.pool().given(Origin::Waiting) >= 5
    };
    assert!(eventually(Duration::from_secs(60), waits));
    // The template takes a moment.
    assert!(stockade.pool().given(Origin::Made) <= 3, "{:?}", stockade.pool());
    let other = project.builder(jailed(|_| {})).pool(PoolSize::Templates { spares: 0 });
    let other = other.open().unwrap();
    let is_copied = || other.run(exec(&["true"])).ok() && other.pool().given(Origin::Copied) >= 5;
    assert!(eventually(Duration::from_secs(60), is_copied));
}

#[test]
fn a_change_of_what_is_protected_gets_another_box() {
    let Some(project) = project() else { return };
    fs::create_dir(project.path(".git")).unwrap();
    let stockade = project.open(jailed(|_| {}));
    project.script("attack.sh", "#!/bin/sh\necho evil > .git/config; cat .git/config\n");
    let run = |program: &str| json(&stockade.run(exec(&[program])));
    assert!(eventually(Duration::from_secs(60), || run("true")["ok"] == true
        && stockade.pool().waiting() > 0));
    fs::write(project.path(".git/config"), "good\n").unwrap();
    let report = run("./attack.sh");
    assert_eq!(text(&report, "stdout"), "good\n", "{report}");
    assert!(eventually(Duration::from_secs(60), || run("true")["ok"] == true
        && stockade.pool().waiting() > 0));
    fs::write(project.path("new"), "better\n").unwrap();
    fs::rename(project.path("new"), project.path(".git/config")).unwrap();
    let report = run("./attack.sh");
    assert_eq!(text(&report, "stdout"), "better\n", "{report}");
}

#[test]
fn a_journal_in_the_project_cannot_be_written_by_a_call() {
    let Some(project) = project() else { return };
    let journal = project.path("state/journal.jsonl");
    fs::create_dir(project.path("state")).unwrap();
    let attack = "echo '{}' >> state/journal.jsonl && echo added; mv state s && echo moved; true\n";
    project.script("attack.sh", &format!("#!/bin/sh\n{attack}"));
    let stockade = Stockade::open(&project.root(), jailed(|_| {}), &journal).unwrap();
    for _ in 0..2 {
        let report = json(&stockade.run(exec(&["./attack.sh"])));
        assert_eq!((&report["ok"], text(&report, "stdout")), (&true.into(), ""), "{report}");
    }
    drop(stockade);
    let lines = fs::read_to_string(&journal).unwrap();
    assert!(lines.lines().count() >= 4 && !lines.contains("\n{}"), "{lines}");
    assert_eq!(control(&project, attack), "added\nmoved\n");
}

#[test]
fn a_hidden_path_cannot_be_opened_or_moved_aside() {
    let Some(project) = project() else { return };
    fs::create_dir(project.path("secrets")).unwrap();
    fs::write(project.path("secrets/key"), "secret\n").unwrap();
    fs::write(project.path("secrets/.env"), "secret\n").unwrap();
    let attack = "cat secrets/.env secrets/key; mv secrets s2 && cat s2/.env\n";
    let policy = jailed(|policy| policy.files.hide = vec!["secrets/.env".into()]);
    let report = project.sh(policy, attack, &[]);
    assert_eq!(text(&report, "stdout"), "secret\n", "the key only: {report}");
    assert_eq!(control(&project, attack), "secret\nsecret\nsecret\n");
}

#[test]
fn there_is_no_network() {
    let Some(project) = project() else { return };
    if !has("python3") {
        return;
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!(
        "import socket\ntry:\n    socket.create_connection(('127.0.0.1', {port}), 2)\n    \
         print('connected')\nexcept OSError as error:\n    print('refused')\n"
    );
    let report = project.python(jailed(|_| {}), &script, &[]);
    assert_eq!(text(&report, "stdout"), "refused\n", "{report}");
    assert_eq!(kept(&report, "network"), "full");
    let report = project.python(unboxed(), &script, &[]);
    assert_eq!(text(&report, "stdout"), "connected\n", "the process tier keeps none: {report}");
    let host = jailed(|policy| policy.network = stockade::confine::Network::Host);
    let report = project.python(host, &script, &[]);
    assert_eq!(text(&report, "stdout"), "connected\n", "{report}");
    assert_eq!(kept(&report, "network"), "none");
}

#[test]
fn each_sandbox_has_a_loopback_of_its_own_and_reaches_nothing_else() {
    let Some(project) = project() else { return };
    if !has("python3") {
        return;
    }
    let outside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = outside.local_addr().unwrap().port();
    // A low port and the same port as outside, over both families; then what is not its own.
    let script = format!(
        "import socket\n\
         def serve(family, address):\n    \
             server = socket.create_server(address, family=family)\n    \
             client = socket.create_connection(server.getsockname()[:2], 2)\n    \
             server.accept()[0].sendall(b'own'); print(client.recv(3).decode()); return server\n\
         def fails(address):\n    \
             try:\n        socket.create_connection(address, 2); print('reached', address)\n    \
             except OSError as error: print(error.errno)\n\
         fails(('127.0.0.1', {port}))\n\
         kept = [serve(socket.AF_INET, ('127.0.0.1', {port})), serve(socket.AF_INET, ('0.0.0.0', 80)), \
         serve(socket.AF_INET6, ('::1', 8080))]\n\
         fails(('192.0.2.1', 80)); fails(('169.254.169.254', 80))\n"
    );
    for _ in 0..2 {
        let report = project.python(jailed(|_| {}), &script, &[]);
        assert_eq!(text(&report, "stdout"), "111\nown\nown\nown\n101\n101\n", "{report}");
        assert_eq!(kept(&report, "network"), "full", "{report}");
    }
    // The control: the machine's network reaches the port.
    let host = jailed(|policy| policy.network = stockade::confine::Network::Host);
    let script = format!(
        "import socket; socket.create_connection(('127.0.0.1', {port}), 2); print('reached')"
    );
    let report = project.python(host, &script, &[]);
    assert_eq!(text(&report, "stdout"), "reached\n", "{report}");
    // Without any network there is not even a socket.
    let none = jailed(|policy| policy.network = stockade::confine::Network::None);
    let report = project.python(none, "import socket; socket.socket()", &[]);
    assert!(text(&report, "stderr").contains("Address family not supported"), "{report}");
}

#[test]
fn other_processes_are_not_seen_and_there_are_no_privileges() {
    let Some(project) = project() else { return };
    let own = std::process::id();
    let script = format!(
        "test -e /proc/{own}/comm && echo seen; kill -0 {own} 2>/dev/null && echo signalled
         grep -E 'NoNewPrivs|^Seccomp:|CapEff|CapBnd' /proc/self/status | tr -d '\\t'\n"
    );
    let report = boxed(&project, &script);
    let expected = "CapEff:0000000000000000\nCapBnd:0000000000000000\nNoNewPrivs:1\nSeccomp:2\n";
    assert_eq!(text(&report, "stdout"), expected, "{report}");
    assert!(control(&project, &script).starts_with("seen\nsignalled\n"));
}

#[test]
fn temporary_folders_are_private_and_gone() {
    let Some(project) = project() else { return };
    let script = "echo x > /tmp/stockade-test-mine; echo y > $HOME/z; ls /tmp $HOME; ls -A / | tr '\\n' ' '\n";
    let report = boxed(&project, script);
    assert!(text(&report, "stdout").contains("stockade-test-mine"), "{report}");
    assert!(!text(&report, "stdout").contains("home "), "no /home: {report}");
    assert!(!std::path::Path::new("/tmp/stockade-test-mine").exists());
}

#[test]
fn the_tree_is_ended_with_the_program_and_by_the_deadline() {
    let Some(project) = project() else { return };
    let mark = marker();
    let script = format!("setsid sleep {mark} & sleep {mark} &\necho started\n");
    let report = boxed(&project, &script);
    assert_eq!(text(&report, "stdout"), "started\n", "{report}");
    assert!(eventually(Duration::from_secs(60), || marked(&mark).is_empty()));
    let slow = Policy { tier: Tier::Jail, ..within(Duration::from_millis(300)) };
    let started = Instant::now();
    let report =
        project.sh(slow, &format!("trap '' TERM; setsid sleep {mark} & sleep {mark}\n"), &[]);
    assert_eq!((&report["timed_out"], &report["exit_code"]), (&true.into(), &(-101).into()));
    assert!(started.elapsed() < Duration::from_secs(120));
    assert!(eventually(Duration::from_secs(60), || marked(&mark).is_empty()));
}

#[test]
fn exit_codes_signals_and_output_are_as_in_the_process_tier() {
    let Some(project) = project() else { return };
    let report = boxed(&project, "echo out; echo err >&2; exit 7\n");
    assert_eq!((&report["exit_code"], text(&report, "stderr")), (&7.into(), "err\n"));
    let report = boxed(&project, "kill -9 $$\n");
    assert_eq!((&report["signal"], &report["limit"]), (&9.into(), &Value::Null), "{report}");
    let call = exec(&["cat"]).with_stdin(vec![b'x'; 1 << 20]);
    let report = project.run_with(jailed(|_| {}), call);
    assert_eq!(report["ok"], true, "{report}");
    assert_eq!(report["tier"], "jail");
}

#[test]
fn what_a_box_contains_is_not_refused_in_the_contained_profile() {
    let Some(project) = project() else { return };
    let contained = || jailed(|policy| policy.profile = Profile::Contained);
    let report = project.run_with(
        contained(),
        exec(&["sh", "-c", "echo inline; cat /etc/hostname >/dev/null && echo read"]),
    );
    assert_eq!(text(&report, "stdout"), "inline\nread\n", "{report}");
    let report = project.run_with(contained(), exec(&["cat", "/proc/self/status"]));
    assert!(text(&report, "stdout").contains("NoNewPrivs:\t1"), "{report}");
    // The denylist is the person's word, and strict is strict.
    assert_eq!(project.run_with(contained(), exec(&["rm", "x"]))["denied"], true);
    assert_eq!(project.run_with(jailed(|_| {}), exec(&["sh", "-c", "id"]))["denied"], true);
    let process = policy(|policy| policy.profile = Profile::Contained);
    assert_eq!(project.run_with(process, exec(&["sh", "-c", "id"]))["denied"], true);
}

#[test]
fn a_box_that_cannot_be_made_is_a_failure_and_nothing_runs() {
    let Some(project) = project() else { return };
    project.script("mark.sh", "touch spawned\n");
    let policy = jailed(|policy| policy.files.read = vec!["/no/such/folder".into()]);
    let report = project.run_with(policy, exec(&["sh", "mark.sh"]));
    assert_eq!(report["failure"]["guarantee"], "writes", "{report}");
    assert!(report["failure"]["remedy"].is_string());
    assert!(!project.path("spawned").exists());
}

#[test]
fn memory_is_bounded_for_the_whole_tree_where_there_are_cgroups() {
    let Some(project) = project() else { return };
    if !has("python3") {
        return;
    }
    let script = "import os\nfor _ in range(4):\n    if os.fork() == 0:\n        \
                  b = bytearray(100 << 20); os.read(0, 1); os._exit(0)\n\
                  b = bytearray(100 << 20)\nprint('all had it')\n";
    let policy = jailed(|policy| policy.limits.memory = Some(ByteCount::mib(300)));
    let report = project.python(policy, script, &[]);
    if kept(&report, "tree_limits") != "full" {
        skip("cgroup", "there is no cgroup for this user");
        return;
    }
    assert!(report["usage"]["peak_memory_bytes"].as_u64().unwrap() <= 300 << 20, "{report}");
    assert!(report["usage"]["processes"].as_u64().unwrap() >= 2, "{report}");
    let eater = "b = bytearray(600 << 20)\nprint('had it')\n";
    let policy = jailed(|policy| policy.limits.memory = Some(ByteCount::mib(200)));
    let report = project.python(policy, eater, &[]);
    let hit = (&report["limit"], &report["signal"]);
    assert_eq!(hit, (&"memory".into(), &9.into()), "{report}");
    // A program that only says so has hit nothing.
    let report = boxed(&project, "kill -9 $$\n");
    assert_eq!(report["limit"], Value::Null, "{report}");
}

#[test]
fn a_fork_bomb_ends_by_its_limit_and_the_next_call_works() {
    let Some(project) = project() else { return };
    let policy = jailed(|policy| policy.limits.processes = Some(40));
    let report = project.sh(policy, "bomb() { bomb | bomb & }; bomb; sleep 60\n", &[]);
    assert_eq!(report["limit"], "processes", "{report}");
    assert_eq!(project.run_with(jailed(|_| {}), exec(&["true"]))["ok"], true);
}

#[test]
fn a_tree_that_the_kernel_refuses_more_tasks_is_ended() {
    let Some(project) = project() else { return };
    let policy = || jailed(|policy| policy.limits.processes = Some(20));
    let threads = |count| {
        format!(
            "import threading, time\nfor n in range({count}):\n  \
             threading.Thread(target=time.sleep, args=(0.5 if {count} < 90 else 60,)).start()\n"
        )
    };
    let report = project.python(policy(), &threads(80), &[]);
    assert_eq!((&report["ok"], &report["limit"]), (&true.into(), &Value::Null), "{report}");
    if kept(&report, "tree_limits") != "full" {
        skip("cgroup", "there is no cgroup for this user");
        return;
    }
    let report = project.python(policy(), &threads(200), &[]);
    assert_eq!(report["limit"], "processes", "{report}");
    assert!(report["duration_ms"].as_f64().unwrap() < 55_000.0, "{report}");
}

#[test]
fn limits_for_the_tree_can_be_required() {
    let Some(project) = project() else { return };
    let policy = jailed(|policy| {
        policy.require.insert(Guarantee::TreeLimits, Kept::Full);
    });
    let report = project.run_with(policy, exec(&["true"]));
    let is_kept = report["ok"] == true && kept(&report, "tree_limits") == "full";
    let is_refused = report["failure"]["guarantee"] == "tree_limits";
    assert!(is_kept || is_refused, "{report}");
}

#[test]
fn a_protection_that_the_host_undoes_ends_the_box_and_is_said() {
    let Some(project) = project() else { return };
    control(&project, "mkdir -p .git/hooks; echo '[core]' > .git/config\n");
    let attack = "touch ready; while ! echo x >> .git/config; do sleep 0.05; done 2>/dev/null\n\
                  touch wrote; sleep 60\n";
    project.script("script.sh", attack);
    let stockade = project.open(jailed(|_| {}));
    let report = std::thread::scope(|scope| {
        let run = scope.spawn(|| json(&stockade.run(exec(&["sh", "script.sh"]))));
        assert!(eventually(Duration::from_secs(60), || project.path("ready").exists()));
        // As git config does: another file takes the name of the protected one.
        fs::write(project.path("new"), "[core]\n").unwrap();
        fs::rename(project.path("new"), project.path(".git/config")).unwrap();
        run.join().unwrap()
    });
    assert_eq!(kept(&report, "protected"), "lost", "{report}");
    assert_eq!((&report["signal"], &report["limit"]), (&9.into(), &Value::Null), "{report}");
}

#[test]
fn a_link_that_a_call_laid_does_not_widen_the_next_box() {
    let Some(project) = project() else { return };
    let outside = project.beside("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "secret\n").unwrap();
    let report = boxed(&project, &format!("ln -s {} build && echo laid\n", outside.display()));
    assert_eq!(text(&report, "stdout"), "laid\n", "{report}");
    let widened: [(&str, &[&str], &[&str]); 3] = [
        ("write", &[".", "build"], &[]),
        ("read", &["."], &["build"]),
        ("file", &["."], &["build/secret"]),
    ];
    for (name, write, read) in widened {
        let files = FilesPolicy {
            write: write.iter().map(Into::into).collect(),
            read: read.iter().map(Into::into).collect(),
            ..FilesPolicy::default()
        };
        let policy = jailed(|policy| policy.files = files);
        let report = project.sh(policy, &format!("echo {name}; cat build/secret\n"), &[]);
        let why = report["failure"]["message"].as_str().unwrap_or_default();
        assert!(why.contains(message!("root.link-project-call-may")), "{report}");
    }
}

#[test]
fn a_folder_that_cannot_be_entered_does_not_end_protection() {
    if is_root() {
        skip("non-root", "folder modes do not bind root");
        return;
    }
    let Some(project) = project() else { return };
    control(&project, "mkdir -p .git/hooks; echo '[core]' > .git/config\n");
    boxed(&project, "chmod 0 .git\n");
    let report = boxed(&project, "chmod 755 .git; echo x >> .git/config && echo wrote\n");
    // Who looks for what was made takes the right to enter back; else the launch fails.
    let is_refused = text(&report, "stderr").contains("Read-only file system");
    assert!(report["failure"]["message"].is_string() || is_refused, "{report}");
    control(&project, "chmod 755 .git\n");
    assert_eq!(fs::read_to_string(project.path(".git/config")).unwrap(), "[core]\n");
}

#[test]
fn a_replaced_file_is_said_to_be_lost_however_quick_the_program_was() {
    let Some(project) = project() else { return };
    fs::write(project.path(".env"), "old\n").unwrap();
    project.script("script.sh", "touch ready; until cat .env 2>/dev/null; do :; done\n");
    let stockade = project.open(jailed(|policy| policy.files.hide = vec![".env".into()]));
    let report = std::thread::scope(|scope| {
        let run = scope.spawn(|| json(&stockade.run(exec(&["sh", "script.sh"]))));
        assert!(eventually(Duration::from_secs(60), || project.path("ready").exists()));
        fs::write(project.path("new"), "new\n").unwrap();
        fs::rename(project.path("new"), project.path(".env")).unwrap();
        run.join().unwrap()
    });
    assert_eq!(kept(&report, "reads"), "lost", "{report}");
}

#[test]
fn a_git_file_submodules_and_worktrees_are_protected_too() {
    let Some(project) = project() else { return };
    control(
        &project,
        "mkdir -p .git/modules/a/b/hooks .git/worktrees/w .git/hooks; echo x > .git/config
         echo x > .git/modules/a/b/config; echo x > .git/worktrees/w/commondir\n",
    );
    let attack =
        "for f in .git/modules/a/b/config .git/modules/a/b/hooks/x .git/worktrees/w/commondir
        do echo y >> $f && echo wrote $f; done; true\n";
    assert_eq!(text(&boxed(&project, attack), "stdout"), "");
    control(
        &project,
        "rm -rf .git; mkdir -p real/hooks; echo x > real/config; echo 'gitdir: real' > .git\n",
    );
    let attack = "echo 'gitdir: evil' > .git && echo moved; mv .git g && echo moved
        echo y >> real/config && echo wrote; echo y > real/hooks/x && echo wrote; true\n";
    assert_eq!(text(&boxed(&project, attack), "stdout"), "");
    assert!(control(&project, attack).contains("moved"));
}

#[test]
fn a_protected_file_is_protected_by_all_of_its_names() {
    let Some(project) = project() else { return };
    control(&project, "echo x > stockade.toml; mkdir d .git; ln stockade.toml d/other\n");
    fs::write(project.path("stockade.toml"), "").unwrap();
    let attack = "echo y > d/other && echo wrote; true\n";
    let report = boxed(&project, attack);
    assert_eq!((kept(&report, "protected"), text(&report, "stdout")), ("detected", ""), "{report}");
    assert_eq!(control(&project, attack), "wrote\n");
}

#[test]
fn a_folder_that_every_sandbox_has_of_its_own_is_refused_with_a_hint() {
    let Some(project) = project() else { return };
    for folder in ["/tmp", "/", "/tmp/."] {
        let report =
            project.sh(jailed(|policy| policy.files.read = vec![folder.into()]), "ls\n", &[]);
        let message = text(&report["failure"], "message");
        assert!(
            message.contains(message!("root.cannot-shown-sandbox-folder")),
            "{folder}: {report}"
        );
        assert!(text(&report["failure"], "remedy").contains("box.read"), "{folder}: {report}");
    }
}
