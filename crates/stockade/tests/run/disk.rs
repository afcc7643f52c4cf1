//! What a run may add to the disk: every way to take room ends in the limit, the same program under
//! a higher limit does not, and nobody is blamed for the room that another takes.

use std::fs;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use stockade::limits::ByteCount;

use crate::jail::{jailed, project};
use crate::support::{Project, eventually, exec, has, json, kept, text};

const MIB: u64 = 1 << 20;

/// Runs a program that takes 160 MiB and waits to be ended, with little and with enough room.
#[track_caller]
fn ends_by_disk_limit(project: &Project, taking: &str) -> Value {
    let script = format!("{PRELUDE}{taking}\nprint('taken', flush=True)\nwait()\n");
    let run = |most: u64, waits: &str| {
        let policy = jailed(|policy| policy.limits.disk = Some(ByteCount::bytes(most)));
        project.python(policy, &script, &[waits])
    };
    let enough = run(4096 * MIB, "0.5");
    assert_eq!((text(&enough, "stdout"), &enough["limit"]), ("taken\n", &Value::Null), "{enough}");
    // Room that another gives back in the same moment can hide what is taken: then once more.
    let mut tries = (0..3).map(|_| {
        clear(project);
        run(64 * MIB, "5")
    });
    let little = tries.find(|report| !report["limit"].is_null()).unwrap_or_default();
    assert_eq!((&little["limit"], &little["signal"]), (&"disk".into(), &9.into()), "{little}");
    assert_eq!(kept(&little, "disk"), "partial");
    clear(project);
    assert_eq!(project.run_with(jailed(|_| {}), exec(&["true"]))["ok"], true);
    little
}

const PRELUDE: &str = "
import array, ctypes, mmap, os, socket, sys, time
MIB = 1 << 20
def fill(file, mib):
    for _ in range(mib):
        os.write(file, b'x' * MIB)
def wait():
    time.sleep(float(sys.argv[1]))
";

/// Takes away what a run has left.
fn clear(project: &Project) {
    use std::os::unix::fs::PermissionsExt as _;
    for entry in fs::read_dir(project.root()).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o755)).unwrap();
            fs::remove_dir_all(entry.path()).unwrap();
        } else {
            fs::remove_file(entry.path()).unwrap();
        }
    }
}

fn ready() -> Option<Project> {
    project().filter(|_| has("python3"))
}

#[test]
fn many_files_that_are_each_small_enough() {
    let Some(project) = ready() else { return };
    ends_by_disk_limit(
        &project,
        "for n in range(16):\n    fill(os.open(f'f{n}', os.O_CREAT | os.O_WRONLY), 10)",
    );
}

#[test]
fn a_file_that_is_written_through_a_map() {
    let Some(project) = ready() else { return };
    let taking = "
file = os.open('mapped', os.O_CREAT | os.O_RDWR)
os.ftruncate(file, 160 * MIB)
seen = mmap.mmap(file, 160 * MIB)
for at in range(0, 160 * MIB, 4096):
    seen[at] = 1";
    ends_by_disk_limit(&project, taking);
}

#[test]
fn files_that_have_no_name_any_more() {
    let Some(project) = ready() else { return };
    let taking = "
file = os.open('gone', os.O_CREAT | os.O_WRONLY)
os.unlink('gone')
fill(file, 80)
fill(os.open('.', os.O_TMPFILE | os.O_WRONLY), 80)";
    ends_by_disk_limit(&project, taking);
}

#[test]
fn a_file_that_nothing_but_a_map_holds() {
    let Some(project) = ready() else { return };
    let taking = "
file = os.open('gone', os.O_CREAT | os.O_RDWR)
fill(file, 160)
seen = mmap.mmap(file, 4096)
os.unlink('gone')
os.close(file)";
    ends_by_disk_limit(&project, taking);
}

#[test]
fn a_file_that_is_on_its_way_through_a_socket() {
    let Some(project) = ready() else { return };
    let taking = "
near, far = socket.socketpair(socket.AF_UNIX)
file = os.open('gone', os.O_CREAT | os.O_WRONLY)
fill(file, 160)
near.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [file]))])
os.unlink('gone')
os.close(file)";
    ends_by_disk_limit(&project, taking);
}

#[test]
fn files_of_children_that_nobody_waited_for() {
    let Some(project) = ready() else { return };
    let taking = "
import signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for n in range(16):
    if os.fork() == 0:
        fill(os.open(f'f{n}', os.O_CREAT | os.O_WRONLY), 10)
        os._exit(0)
try:
    os.wait()
except ChildProcessError:
    pass";
    ends_by_disk_limit(&project, taking);
}

#[test]
fn a_folder_that_nobody_may_look_into() {
    let Some(project) = ready() else { return };
    let taking = "
os.mkdir('closed')
fill(os.open('closed/file', os.O_CREAT | os.O_WRONLY), 160)
os.chmod('closed', 0)";
    ends_by_disk_limit(&project, taking);
}

#[test]
fn folders_within_folders() {
    let Some(project) = ready() else { return };
    let taking = "
for _ in range(200):
    os.mkdir('d')
    os.chdir('d')
fill(os.open('deep', os.O_CREAT | os.O_WRONLY), 160)";
    ends_by_disk_limit(&project, taking);
}

#[test]
fn a_file_that_was_there_and_grows() {
    let Some(project) = ready() else { return };
    let taking = "
file = os.open('old', os.O_WRONLY | os.O_APPEND)
for _ in range(32):
    fill(file, 5)
    time.sleep(0.02)";
    fs::write(project.path("old"), "old\n").unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let script = format!("{PRELUDE}{taking}\nwait()\n");
    let policy = jailed(|policy| policy.limits.disk = Some(ByteCount::bytes(64 * MIB)));
    let report = project.python(policy, &script, &["10"]);
    assert_eq!(report["limit"], "disk", "{report}");
    assert!(fs::read(project.path("old")).unwrap().starts_with(b"old\n"), "what was there is kept");
}

#[test]
fn room_that_is_taken_without_writing_is_refused_and_programs_do_without() {
    let Some(project) = ready() else { return };
    let report = ends_by_disk_limit(
        &project,
        "os.posix_fallocate(os.open('f', os.O_CREAT | os.O_RDWR), 0, 160 * MIB)",
    );
    assert_eq!(text(&report, "stderr"), "", "{report}");
    let raw = "
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
file = os.open('f', os.O_CREAT | os.O_RDWR)
for mode in (0, 1, 0x10):
    given = libc.fallocate(file, mode, ctypes.c_long(0), ctypes.c_long(1 << 20))
    print(given, os.strerror(ctypes.get_errno()) if given else '')
print(os.fstat(file).st_blocks)
os.write(file, b'x' * 65536)
print(libc.fallocate(file, 3, ctypes.c_long(0), ctypes.c_long(65536)))
";
    let refused = "-1 Operation not supported\n";
    let report = project.python(jailed(|_| {}), raw, &[]);
    assert_eq!(text(&report, "stdout"), format!("{}0\n0\n", refused.repeat(3)), "{report}");
    let control = Command::new("python3").arg("script.py").current_dir(project.root()).output();
    assert!(control.unwrap().stdout.starts_with(b"0 \n0 \n"), "without a box it is given");
}

#[test]
fn files_are_counted_too_with_all_that_has_a_name() {
    let Some(project) = ready() else { return };
    let script = format!(
        "{PRELUDE}os.mkdir('many')\nfor n in range(700):\n    os.symlink('x', f'many/l{{n}}')\n    \
         open(f'many/f{{n}}', 'w').close()\nwait()\n"
    );
    let run = |most: u64, waits: &str| {
        let policy = jailed(|policy| policy.limits.files = Some(most));
        let report = project.python(policy, &script, &[waits]);
        clear(&project);
        report
    };
    let report = run(100_000, "0.5");
    assert_eq!((&report["ok"], &report["limit"]), (&true.into(), &Value::Null), "{report}");
    let report = run(1000, "60");
    assert_eq!((&report["limit"], &report["signal"]), (&"files".into(), &9.into()), "{report}");
}

#[test]
fn what_another_writes_beside_it_is_not_blamed_on_the_run() {
    let Some(project) = ready() else { return };
    let script = format!(
        "{PRELUDE}fill(os.open('own', os.O_CREAT | os.O_WRONLY), 8)\nopen('ready', 'w').close()\n\
         while not os.path.exists('go'):\n    time.sleep(0.02)\nwait()\nprint('whole')\n"
    );
    project.script("script.py", &script);
    let policy = jailed(|policy| {
        policy.limits.disk = Some(ByteCount::bytes(64 * MIB));
        policy.limits.files = Some(500);
    });
    let stockade = project.open(policy);
    let report = std::thread::scope(|scope| {
        let run = scope.spawn(|| json(&stockade.run(exec(&["python3", "script.py", "1"]))));
        assert!(eventually(Duration::from_secs(60), || project.path("ready").exists()));
        fs::create_dir(project.beside("other")).unwrap();
        for number in 0..1000 {
            let size = if number < 4 { 40 << 20 } else { 0 };
            fs::write(project.beside("other").join(number.to_string()), vec![b'x'; size]).unwrap();
        }
        fs::write(project.path("go"), "").unwrap();
        run.join().unwrap()
    });
    assert_eq!((text(&report, "stdout"), &report["limit"]), ("whole\n", &Value::Null), "{report}");
}
