//! Many sessions: what they cost while they are idle, and that nothing of them is left.
//!
//! `ci/long` runs the same with 1,000 sessions.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::process::Pid;

use crate::conversation::{Scene, eventually, unseen};
use crate::many::cgroups_of;
use crate::support::{marked, marker};

/// How many are opened and ended, unless `STOCKADE_SESSIONS` says otherwise.
const SESSIONS: usize = 100;

/// What sessions could leave behind.
#[derive(Debug, PartialEq, Eq)]
struct Traces {
    /// Open descriptors of the host, where they can be counted.
    descriptors: Option<usize>,
    /// Files of the folder of the host's socket, and of the folder of the journal.
    files: BTreeSet<PathBuf>,
    scratch_folders: Vec<String>,
    mounts: usize,
}

impl Traces {
    fn find(scene: &Scene) -> Self {
        let host = scene.host().map(Pid::as_raw_nonzero);
        let open = |host| fs::read_dir(format!("/proc/{host}/fd")).unwrap().count();
        let mut files = BTreeSet::new();
        for folder in [scene.0.runtime(), &scene.0.beside("state")] {
            collect(folder, &mut files);
        }
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let is_ours = |line: &&str| line.contains("stockade");
        Self {
            descriptors: host.map(open),
            files,
            scratch_folders: scene.0.scratch_folders(),
            mounts: mounts.lines().filter(is_ours).count(),
        }
    }
}

fn collect(folder: &Path, files: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().unwrap().is_dir() {
            collect(&entry.path(), files);
        }
        files.insert(entry.path());
    }
}

/// The processes that were called with a word that ends like this.
fn called_with(end: &str) -> Vec<u32> {
    let numbers = fs::read_dir("/proc").unwrap().flatten();
    let pids = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_called = |pid: &u32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).any(|one| one.ends_with(end.as_bytes()))
    };
    pids.filter(is_called).collect()
}

#[test]
#[expect(clippy::print_stderr, reason = "ci/long shows the figures")]
fn sessions_that_were_opened_and_ended_leave_nothing() {
    let sessions: usize =
        std::env::var("STOCKADE_SESSIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(SESSIONS);
    let scene = Scene::new();
    // The journal and the host are there from the first call on.
    assert_eq!(scene.shell_in("first", "true").code, 0);
    assert_eq!(scene.0.stockade(&["kill", "first"]).code, 0);
    let before = Traces::find(&scene);
    let (mark, begun) = (marker(), Instant::now());
    let suffix = format!("-{}", mark.replace('.', "-"));
    let mut supervisors = BTreeSet::new();
    for number in 0..sessions {
        let name = format!("s{number}{suffix}");
        // A directory, a file in memory, and a process that is left running; every tenth an interpreter.
        let line = format!("echo x > /tmp/x; cd src; sleep {mark} & :");
        let told = scene.shell_in(&name, &line);
        assert_eq!(told.code, 0, "{told:?}");
        if number % 10 == 0 {
            let code = ["code", "--lang", "python", "--session", &name, "-e", "x = 1"];
            let told = scene.0.stockade(&code);
            assert_eq!(told.code, 0, "{told:?}");
        }
        let called = called_with(&name);
        assert!(!called.is_empty(), "a supervisor stays for what is left running");
        supervisors.extend(called);
        let told = scene.0.stockade(&["kill", &name]);
        assert!(told.stdout.contains("ended, with "), "{told:?}");
    }
    assert_eq!((scene.ps().len(), marked(&mark)), (0, 0));
    let are_gone =
        || called_with(&suffix).is_empty() && supervisors.iter().all(|pid| cgroups_of(*pid) == 0);
    assert!(eventually(are_gone), "processes or cgroups are left");
    let mut after = Traces::find(&scene);
    let is_as_before = eventually(|| {
        after = Traces::find(&scene);
        after == before
    });
    assert!(is_as_before, "{before:?}\n{after:?}");
    let took = begun.elapsed();
    eprintln!("{sessions} sessions opened and ended in {took:.1?}; before and after: {after:?}");
    if before.descriptors.is_none() {
        unseen();
    }
}

/// Kibibytes of a process, as the kernel counts them in `/proc/PID/status`.
fn kib_of(host: Pid, field: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", host.as_raw_nonzero())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
#[expect(clippy::print_stderr, reason = "ci/long shows the figures")]
fn sessions_are_bounded_in_number_and_cost_little() {
    let scene = Scene::new();
    let open = |number: usize| {
        let told = scene.shell_in(&format!("s{number}"), "true");
        assert_eq!(told.code, 0, "{told:?}");
    };
    open(0);
    let one = scene.host().map(|host| (kib_of(host, "RssAnon"), kib_of(host, "VmRSS")));
    (1..64).for_each(open);
    let told = scene.shell_in("more", "true");
    assert!(told.code == 125 && told.stderr.contains("64 sessions"), "{told:?}");
    assert!(told.stderr.contains("stockade ps"), "{told:?}");
    let Some(((own, all), host)) = one.zip(scene.host()) else { return unseen() };
    // With one session: the memory of its own. The pages of the program file, which are of the same size
    // again, are shared with every other command, and the kernel takes them back.
    assert!(own <= (8 + 1) << 10, "{own} KiB with one session");
    // With 64: all that is resident, the program file included.
    let (own64, all64) = (kib_of(host, "RssAnon"), kib_of(host, "VmRSS"));
    assert!(all64 <= (8 + 64) << 10, "{all64} KiB with 64 sessions");
    eprintln!(
        "the session host, KiB of its own and in all: {own} and {all} with 1 session, {own64} and \
         {all64} with 64"
    );
    assert_eq!(scene.0.stockade(&["kill", "s0"]).stdout, "session s0 ended\n");
    assert_eq!(scene.shell_in("more", "true").code, 0);
}
