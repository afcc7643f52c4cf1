//! The private folder of a run: where it is, who can enter it, and that it goes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use stockade::launch;

use crate::helper::Helper;
use crate::support::{Project, eventually, exec, has, marked, marker, names_in, text, unboxed};

/// The scratch folder that a script printed on its first line.
fn printed(report: &Value) -> PathBuf {
    let path = text(report, "stdout").lines().next().unwrap_or_default();
    assert!(path.starts_with('/') && path.contains("/run-"), "no scratch folder in {report}");
    PathBuf::from(path)
}

fn is_gone_without_a_note(report: &Value) {
    let scratch = printed(report);
    assert!(fs::symlink_metadata(&scratch).is_err(), "{} is still there", scratch.display());
    assert_eq!(report.get("notes"), None, "{report}");
}

#[test]
fn home_and_tmpdir_are_one_private_folder_that_goes() {
    let project = Project::new();
    let script = "echo $HOME\necho $TMPDIR\nstat -c %a $HOME\nls -A $HOME\necho x > $HOME/file\n\
                  mkdir -p $TMPDIR/a/b\necho made\n";
    let report = project.sh(unboxed(), script, &[]);
    let scratch = printed(&report).display().to_string();
    let expected = format!("{scratch}\n{scratch}\n700\nmade\n");
    assert_eq!(text(&report, "stdout"), expected, "{report}");
    is_gone_without_a_note(&report);
}

#[test]
fn two_runs_never_share_a_folder() {
    let project = Project::new();
    let first = project.sh(unboxed(), "echo $HOME\n", &[]);
    let second = project.sh(unboxed(), "echo $HOME\n", &[]);
    assert_ne!(printed(&first), printed(&second));
}

#[test]
fn goes_with_folders_in_it_that_cannot_be_read_or_written() {
    let project = Project::new();
    let script = "
import os
home = os.environ['HOME']
print(home)
for mode in (0o000, 0o100, 0o200, 0o400, 0o500, 0o555):
    outer = f'{home}/outer{mode:o}'
    os.makedirs(f'{outer}/inner/innermost')
    open(f'{outer}/inner/file', 'w').close()
    os.chmod(f'{outer}/inner/file', 0)
    os.chmod(f'{outer}/inner', mode)
    os.chmod(outer, mode)
os.symlink('/etc', f'{home}/link')
os.mkfifo(f'{home}/fifo')
os.chmod(home, 0)
";
    if has("python3") {
        let report = project.python(unboxed(), script, &[]);
        assert_eq!(report["exit_code"], 0, "{report}");
        is_gone_without_a_note(&report);
        assert!(Path::new("/etc/passwd").exists());
    }
}

#[test]
fn goes_with_three_thousand_folders_in_one_another() {
    let project = Project::new();
    let script = "
import os
print(os.environ['HOME'], flush=True)
os.chdir(os.environ['HOME'])
for n in range(3000):
    os.mkdir('nested-folder')
    os.chdir('nested-folder')
open('bottom', 'w').close()
";
    if has("python3") {
        let report = project.python(unboxed(), script, &[]);
        assert_eq!(report["exit_code"], 0, "{report}");
        is_gone_without_a_note(&report);
    }
}

#[test]
fn goes_with_many_files_and_folders_side_by_side() {
    let project = Project::new();
    let script = "
import os
home = os.environ['HOME']
print(home)
for n in range(2500):
    os.mkdir(f'{home}/empty{n}')
    os.mkdir(f'{home}/full{n}')
    open(f'{home}/full{n}/file', 'w').close()
    open(f'{home}/file{n}', 'w').close()
";
    if has("python3") {
        let report = project.python(unboxed(), script, &[]);
        assert_eq!(report["exit_code"], 0, "{report}");
        is_gone_without_a_note(&report);
    }
}

#[test]
fn goes_when_the_run_is_ended_by_its_deadline() {
    let project = Project::new();
    let policy = crate::support::within(Duration::from_millis(500));
    let report = project.sh(policy, "echo $HOME\necho x > $HOME/file\nsleep 60\n", &[]);
    assert_eq!(report["timed_out"], true, "{report}");
    is_gone_without_a_note(&report);
}

#[test]
fn goes_when_the_program_cannot_be_started() {
    let project = Project::new();
    project.script("text", "this is no program\n");
    let report = Helper::new("run", &project, &["./text"]).answer();
    assert_eq!(report["exit_code"], Value::Null, "{report}");
    assert_eq!(scratch_folders(&project), Vec::<String>::new());
}

#[test]
fn a_link_in_it_to_a_folder_outside_is_not_followed() {
    let project = Project::new();
    fs::create_dir(project.path("precious")).unwrap();
    fs::write(project.path("precious/file"), "precious").unwrap();
    let script = "echo $HOME\nln -s $PWD/precious $HOME/link\nln -s $PWD/precious/file $HOME/f\n";
    let report = project.sh(unboxed(), script, &[]);
    is_gone_without_a_note(&report);
    assert_eq!(fs::read_to_string(project.path("precious/file")).unwrap(), "precious");
}

/// What is left in a helper's own runtime folder.
fn scratch_folders(project: &Project) -> Vec<String> {
    let bases = names_in(project.runtime());
    bases.iter().flat_map(|base| names_in(&project.runtime().join(base))).collect()
}

#[test]
fn what_a_killed_supervisor_left_is_swept_and_what_the_living_have_stays() {
    let project = Project::new();
    let (doomed, living) = (marker(), marker());
    let script = "mkdir -p $HOME/in/side\nchmod 500 $HOME/in\nchmod 0 $HOME\nsleep $1\n";
    project.script("stay.sh", script);
    let mut killed = Helper::new("run", &project, &["sh", "stay.sh", &doomed]).start();
    assert!(eventually(Duration::from_secs(60), || marked(&doomed).len() > 1), "never started");
    let left = scratch_folders(&project);
    assert_eq!(left.len(), 1, "{left:?}");
    killed.kill();
    assert_eq!(scratch_folders(&project), left);

    let mut alive = Helper::new("run", &project, &["sh", "stay.sh", &living]).start();
    assert!(eventually(Duration::from_secs(60), || marked(&living).len() > 1), "never started");
    let now = scratch_folders(&project);
    assert_eq!(now.len(), 1, "{now:?}");
    assert_ne!(now, left);

    let report = Helper::new("run", &project, &["echo", "a third"]).answer();
    assert_eq!(report["ok"], true);
    assert_eq!(scratch_folders(&project), now);
    assert!(alive.is_running());
    alive.kill();
    assert!(eventually(Duration::from_secs(60), || marked(&living).is_empty()));
    Helper::new("run", &project, &["echo", "a fourth"]).answer();
    assert_eq!(scratch_folders(&project), Vec::<String>::new());
}

/// A start sweeps while other starts make their folders: neither may disturb the other.
#[test]
fn a_sweep_never_takes_a_folder_that_is_being_made() {
    let project = Project::new();
    let stockade = project.open(unboxed());
    let done = AtomicBool::new(false);
    let broken: Vec<Value> = std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    launch::sweep().unwrap();
                }
            });
        }
        let runs = (0..150).map(|_| crate::support::json(&stockade.run(exec(&["true"]))));
        // A folder that was taken from it is one that it cannot remove, which is a note.
        let broken = runs.filter(|report| report["ok"] != true || report.get("notes").is_some());
        let broken = broken.collect();
        done.store(true, Ordering::Relaxed);
        broken
    });
    assert_eq!(broken.first(), None, "{} of 150", broken.len());
}

#[test]
fn the_folder_of_all_scratch_folders_is_private() {
    let project = Project::new();
    let report = project.sh(unboxed(), "echo $HOME\n", &[]);
    let base = printed(&report).parent().unwrap().to_owned();
    assert_eq!(fs::metadata(base).unwrap().permissions().mode() & 0o7777, 0o700);
}

#[test]
fn a_folder_of_that_name_that_others_can_enter_is_not_used() {
    let project = Project::new();
    let uid = rustix::process::geteuid().as_raw();
    let base = project.runtime().join(format!("stockade-{uid}"));
    fs::create_dir(&base).unwrap();
    fs::set_permissions(&base, fs::Permissions::from_mode(0o777)).unwrap();
    let script = "echo $HOME; stat -c %a $HOME/..\n";
    project.script("where.sh", script);
    let answer = Helper::new("run", &project, &["sh", "where.sh"]).answer();
    let told = text(&answer, "stdout").to_owned();
    assert!(!told.starts_with(base.to_str().unwrap()), "it ran in a folder of others: {told}");
    assert!(told.ends_with("\n700\n"), "another place is taken: {answer}");
    assert_eq!(names_in(&base), Vec::<String>::new());
}

/// A folder that a killed supervisor left, and that someone still writes into.
#[test]
fn a_start_does_not_wait_for_who_writes_into_what_was_left() {
    let project = Project::new();
    let uid = rustix::process::geteuid().as_raw();
    let base = project.runtime().join(format!("stockade-{uid}"));
    let left = base.join("run-left");
    for folder in [&base, &left] {
        fs::create_dir(folder).unwrap();
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
    }
    let done = AtomicBool::new(false);
    let has_run = std::thread::scope(|scope| {
        for writer in 0..2 {
            let (left, done) = (&left, &done);
            scope.spawn(move || write_until(left, writer, done));
        }
        let mut host = Helper::new("run", &project, &["true"]).start();
        let answer = project.beside("answer.json");
        let has_run = eventually(Duration::from_secs(60), || answer.exists());
        done.store(true, Ordering::Relaxed);
        host.kill();
        has_run
    });
    assert!(has_run, "it still removes what is still written");
}

fn write_until(left: &Path, writer: u32, done: &AtomicBool) {
    for number in 0_u64.. {
        // A part of it may go at any time; the folder itself is not made again.
        let folder = left.join(format!("{writer}-{number}"));
        let made = fs::create_dir(&folder).and_then(|()| fs::create_dir(folder.join("in")));
        if done.load(Ordering::Relaxed) || (made.is_err() && !left.exists()) {
            return;
        }
    }
}
