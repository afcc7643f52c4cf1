//! Protected paths that do not exist: refused to the sandbox, ended and renamed aside if it wins a race,
//! and left alone if somebody else creates them.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use stockade::Policy;

use crate::jail::{jailed, project};
use crate::support::{Project, eventually, exec, json, kept, names_in, text};

/// What was renamed aside in a folder, by the names it had.
fn held_in(project: &Project, folder: &str) -> Vec<String> {
    let names = names_in(&project.path(folder)).into_iter();
    let held = names.filter_map(|name| Some(name.split_once(".stockade-held-")?.0.to_owned()));
    held.collect()
}

fn notes(report: &Value) -> String {
    report["notes"].to_string()
}

/// Runs a script while the host does something, once the script has created `ready`. The script ends
/// when there is a file `done`.
fn beside(project: &Project, policy: Policy, host: impl FnOnce()) -> Value {
    let idle = "touch ready; while ! test -e done; do sleep 0.05; done; echo end\n";
    beside_script(project, policy, idle, host)
}

fn beside_script(project: &Project, policy: Policy, script: &str, host: impl FnOnce()) -> Value {
    project.script("script.sh", script);
    let stockade = project.open(policy);
    std::thread::scope(|scope| {
        let run = scope.spawn(|| json(&stockade.run(exec(&["sh", "script.sh"]))));
        assert!(eventually(Duration::from_secs(60), || project.path("ready").exists()));
        // The first process of the sandbox has to see that `touch` has ended.
        std::thread::sleep(Duration::from_millis(500));
        host();
        std::thread::sleep(Duration::from_millis(500));
        fs::write(project.path("done"), "").unwrap();
        run.join().unwrap()
    })
}

#[test]
fn a_protected_path_cannot_be_created_and_the_program_goes_on() {
    let Some(project) = project() else { return };
    fs::create_dir(project.path("ci")).unwrap();
    fs::write(project.path("file"), "").unwrap();
    let attack = "import os, socket
def attempt(name, act):
    try:
        act(); print(name, 'created')
    except OSError as error:
        print(name, error.errno)
attempt('open', lambda: open('.mcp.json', 'w').write('evil'))
attempt('append', lambda: os.open('./.envrc', os.O_CREAT | os.O_EXCL | os.O_WRONLY))
attempt('mkdir', lambda: os.mkdir('.claude'))
attempt('slash', lambda: os.mkdir('.codex/'))
attempt('rename', lambda: os.rename('file', '.bashrc'))
attempt('link', lambda: os.link('file', '.zshrc'))
attempt('symlink', lambda: os.symlink('/etc', '.profile'))
attempt('node', lambda: os.mkfifo('.zshenv'))
attempt('socket', lambda: socket.socket(socket.AF_UNIX).bind('.bash_profile'))
attempt('absolute', lambda: open(os.getcwd() + '/.mcp.json', 'w'))
attempt('climbing', lambda: open('ci/../.mcp.json', 'w'))
attempt('descriptor', lambda: os.open('.mcp.json', os.O_CREAT | os.O_WRONLY,
                                      dir_fd=os.open('.', os.O_RDONLY)))
os.symlink('.mcp.json', 'led'); attempt('through a link', lambda: open('led', 'w'))
os.mkdir('folder'); open('folder/deploy', 'w').close(); os.rmdir('ci')
attempt('moved in', lambda: os.rename('folder', 'ci'))
attempt('elsewhere', lambda: open('folder/.mcp.json', 'w'))
";
    let add = |policy: &mut Policy| policy.files.protect.push("ci/deploy".into());
    let report = project.python(jailed(add), attack, &[]);
    let expected = "open 1\nappend 1\nmkdir 1\nslash 1\nrename 1\nlink 1\nsymlink 1\nnode 1\n\
                    socket 1\nabsolute 1\nclimbing 1\ndescriptor 1\nthrough a link 1\n\
                    moved in 1\nelsewhere created\n";
    assert_eq!((text(&report, "stdout"), &report["ok"]), (expected, &true.into()), "{report}");
    // There is no `.git`, in which nothing is refused.
    assert_eq!(kept(&report, "protected"), "partial", "{report}");
    for name in [".mcp.json", ".claude", ".bashrc", ".zshenv"] {
        assert!(fs::symlink_metadata(project.path(name)).is_err(), "{name}");
    }
    let denials = report["denials"].as_array().unwrap();
    let denied = |name: &str| {
        let path = project.path(name);
        denials.iter().any(|one| one["path"] == path.to_str().unwrap())
    };
    assert!(denied(".mcp.json") && denied(".claude") && denied("ci/deploy"), "{report}");
    assert!(
        denials[0]["reason"].as_str().unwrap().contains(message!("explain.path-is-protected")),
        "{report}"
    );
    // Control: without a sandbox all of it is created.
    let mut control = std::process::Command::new("python3");
    let output = control.args(["-c", attack]).current_dir(project.root()).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("mkdir created"), "{output:?}");
}

/// A second process changes the path while the call waits for its answer.
const RACE: &str = "import ctypes, mmap, os, time
libc = ctypes.CDLL(None, use_errno=True)
memory = mmap.mmap(-1, 4096)
memory[:10] = b'xmcp.json\\0'
path = ctypes.addressof(ctypes.c_char.from_buffer(memory))
if os.fork() == 0:
    while True:
        memory[0] = 46
        memory[0] = 120
until = time.time() + 60
while time.time() < until and not os.path.lexists('.mcp.json'):
    fd = libc.open(ctypes.c_void_p(path), os.O_CREAT | os.O_WRONLY, 0o644)
    if fd >= 0: os.close(fd)
time.sleep(60)
";

#[test]
fn a_program_that_wins_a_race_is_ended_and_its_file_is_renamed_aside() {
    let Some(project) = project() else { return };
    let report = project.python(jailed(|_| {}), RACE, &[]);
    assert_eq!((&report["signal"], &report["limit"]), (&9.into(), &Value::Null), "{report}");
    assert!(!project.path(".mcp.json").exists(), "{report}");
    assert_eq!(held_in(&project, "."), [".mcp.json"], "{report}");
    assert!(notes(&report).contains(".mcp.json.stockade-held-"), "{report}");
    assert!(
        notes(&report)
            .contains(message!("run.sandbox-ended", message!("run.protected-path-created"))),
        "{report}"
    );
    assert_eq!(kept(&report, "protected"), "detected", "{report}");
}

/// Nothing keeps a sandbox that runs already from a file that the host creates, so the report says it.
#[test]
fn a_file_of_the_host_that_changes_during_the_run_is_named() {
    let Some(project) = project() else { return };
    // Opening a file that is there is not notified, unless it may create it.
    let attack = "import os, time
open('ready', 'w').close()
while not os.path.exists('go'): time.sleep(0.05)
for name in ['.mcp.json', '.claude/settings.json']:
    try:
        os.write(os.open(name, os.O_WRONLY | os.O_APPEND), b'evil\\n')
    except OSError as error:
        print(error.strerror)
print('end')
";
    project.script("attack.py", attack);
    let run = |names: &[&str]| {
        let stockade = project.open(jailed(|_| {}));
        std::thread::scope(|scope| {
            let run = scope.spawn(|| json(&stockade.run(exec(&["python3", "attack.py"]))));
            assert!(eventually(Duration::from_secs(60), || project.path("ready").exists()));
            // The first process of the sandbox has to see that `touch` has ended.
            std::thread::sleep(Duration::from_millis(500));
            for name in names {
                fs::create_dir_all(project.path(name).parent().unwrap()).unwrap();
                fs::write(project.path(name), "host\n").unwrap();
            }
            // The watch looks ten times a second.
            std::thread::sleep(Duration::from_secs(1));
            fs::write(project.path("go"), "").unwrap();
            run.join().unwrap()
        })
    };
    let report = run(&[".mcp.json", ".claude/settings.json", ".envrc"]);
    assert_eq!(text(&report, "stdout"), "end\n", "{report}");
    assert_eq!(fs::read_to_string(project.path(".mcp.json")).unwrap(), "host\nevil\n", "the gap");
    assert_eq!(kept(&report, "protected"), "lost", "{report}");
    let notes: Vec<&str> =
        report["notes"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for (name, is_changed) in [("/.mcp.json\"", true), ("/.claude\"", true), ("/.envrc\"", false)] {
        let note = notes.iter().find(|note| note.contains(name)).unwrap();
        assert_eq!(
            note.contains(message!("absent.changed-first-seen-cannot")),
            is_changed,
            "{note}"
        );
    }
    // The next call protects them.
    for name in ["ready", "go"] {
        fs::remove_file(project.path(name)).unwrap();
    }
    let report = run(&[]);
    let refused = "Read-only file system\nRead-only file system\nend\n";
    assert_eq!((text(&report, "stdout"), kept(&report, "protected")), (refused, "partial"));
    assert_eq!(fs::read_to_string(project.path(".mcp.json")).unwrap(), "host\nevil\n");
}

#[test]
fn a_file_that_the_host_creates_ends_nothing_and_stays() {
    let Some(project) = project() else { return };
    fs::create_dir(project.path(".claude")).unwrap();
    let created = [".mcp.json", ".claude/settings.local.json", ".envrc"];
    let report = beside(&project, jailed(|_| {}), || {
        for name in created {
            fs::write(project.path(name), "host").unwrap();
        }
    });
    assert_eq!((text(&report, "stdout"), &report["ok"]), ("end\n", &true.into()), "{report}");
    for name in created {
        assert_eq!(fs::read_to_string(project.path(name)).unwrap(), "host", "{report}");
    }
    assert!(held_in(&project, ".").is_empty(), "{report}");
    assert!(notes(&report).contains(message!("absent.created-outside-sandbox-during")), "{report}");
}

/// A sandbox that has created files before, and rests.
#[test]
fn a_file_that_the_host_creates_between_two_of_the_sandbox_ends_nothing_and_stays() {
    let Some(project) = project() else { return };
    let busy = "for i in 1 2 3; do echo x > f$i; mv f$i moved; mkdir -p d/$i; done; touch ready; \
                while ! test -e done; do sleep 0.05; done; echo y > f4; echo end\n";
    let report = beside_script(&project, jailed(|_| {}), busy, || {
        fs::create_dir(project.path(".claude")).unwrap();
        fs::write(project.path(".claude/settings.local.json"), "host").unwrap();
        fs::write(project.path(".mcp.json"), "host").unwrap();
    });
    assert_eq!((text(&report, "stdout"), &report["ok"]), ("end\n", &true.into()), "{report}");
    for name in [".mcp.json", ".claude/settings.local.json"] {
        assert_eq!(fs::read_to_string(project.path(name)).unwrap(), "host", "{report}");
    }
    assert!(held_in(&project, ".").is_empty(), "{report}");
    assert!(notes(&report).contains(message!("absent.created-outside-sandbox-during")), "{report}");
}

/// One that never rests cannot be told from one that has won a race, and is taken for it.
#[test]
fn a_path_that_appears_while_the_sandbox_creates_files_counts_as_its_own() {
    let Some(project) = project() else { return };
    let busy = "touch ready; while :; do echo x > f; done\n";
    let report = beside_script(&project, jailed(|_| {}), busy, || {
        fs::write(project.path(".mcp.json"), "host").unwrap();
    });
    assert_eq!(report["signal"], 9, "{report}");
    assert!(!project.path(".mcp.json").exists(), "{report}");
    assert_eq!(held_in(&project, "."), [".mcp.json"], "{report}");
}

#[test]
fn a_path_that_no_sandbox_can_write_is_neither_watched_nor_touched() {
    let Some(project) = project() else { return };
    let outside = project.beside("outside");
    fs::create_dir(&outside).unwrap();
    let new = outside.join("new");
    let add = |policy: &mut Policy| policy.files.protect.push(new.clone());
    let report = beside(&project, jailed(add), || fs::write(&new, "host").unwrap());
    assert_eq!((text(&report, "stdout"), &report["ok"]), ("end\n", &true.into()), "{report}");
    assert_eq!(fs::read_to_string(&new).unwrap(), "host");
    assert_eq!(names_in(&outside), ["new"]);
}

/// What an untrusted project file names is reported, and stays where it is.
#[test]
fn a_name_of_an_untrusted_project_is_never_renamed() {
    let Some(project) = project() else { return };
    let path: PathBuf = ".mcp.json".into();
    let policy = jailed(|policy| {
        policy.files.protect = vec![path.clone()];
        policy.files.untrusted = vec![path.clone()];
    });
    let report = project.python(policy, RACE, &[]);
    assert_eq!(report["signal"], 9, "{report}");
    assert!(project.path(".mcp.json").exists() && held_in(&project, ".").is_empty(), "{report}");
    assert!(notes(&report).contains(message!("absent.created-left-because-only")), "{report}");
    assert_eq!(kept(&report, "protected"), "lost", "{report}");
}

/// A built-in name stays one, by whatever spelling a repository names the path too.
#[test]
fn a_name_that_an_untrusted_project_spells_in_another_way_is_renamed_aside_as_ever() {
    for spelling in [".mcp.json", "link/.mcp.json"] {
        let Some(project) = project() else { return };
        let beside = project.beside("link");
        std::os::unix::fs::symlink(project.root(), &beside).unwrap();
        let path = match spelling.strip_prefix("link/") {
            Some(rest) => beside.join(rest),
            None => project.path(spelling),
        };
        let policy = jailed(|policy| {
            policy.files.protect.push(path.clone());
            policy.files.untrusted.push(path.clone());
        });
        let report = project.python(policy, RACE, &[]);
        assert_eq!(report["signal"], 9, "{spelling}: {report}");
        assert!(!project.path(".mcp.json").exists(), "{spelling}: {report}");
        assert_eq!(held_in(&project, "."), [".mcp.json"], "{spelling}: {report}");
    }
}
