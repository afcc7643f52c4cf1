//! Sandboxes that are made in advance hold what sandboxes hold, share nothing, and are used only
//! while they are what was asked for.

use std::fs;
use std::io::{Write, stderr};
use std::path::Path;
use std::time::{Duration, Instant};

use stockade_sandbox::{
    CgroupLimits, Ended, Jail, LostShim, Mechanism, Mount, Origin, PoolSize, PreparedSandbox,
    Program, SandboxPool, Spec, Status, Step,
};

use crate::boxes::{closed, project};
use crate::made::children_of;
use crate::roles::{command, said, say};
use crate::support::{Mark, PATIENCE, bare, finish, shell, text, within};

const LIMITS: CgroupLimits =
    CgroupLimits { memory_bytes_max: None, tasks_max: Some(100), cpu_millis_per_second: None };

fn warm(spares: usize) -> SandboxPool {
    SandboxPool::new(PoolSize::Templates { spares })
}

/// A sandbox from a pool that has had time to make some in advance.
fn prepared(pool: &SandboxPool, jail: impl Fn() -> Jail, origin: Origin) -> PreparedSandbox {
    let mut last = None;
    let came = within(PATIENCE, || {
        let ready = pool.ready(jail(), LIMITS).unwrap();
        let came = ready.origin() == origin;
        last = Some(ready);
        came
    });
    assert!(came, "{:?} instead of {origin:?}", last.map(|ready| ready.origin()));
    last.unwrap()
}

fn run(ready: PreparedSandbox, spec: Spec, cwd: &str) -> (Ended, String, String) {
    finish(&mut ready.run(Program::new(spec, c"/bin/sh", &text(cwd))).unwrap())
}

fn named(folder: &Path) -> &str {
    folder.to_str().unwrap()
}

#[test]
fn the_first_box_is_made_then_copied_and_then_one_waits() {
    let pool = warm(0);
    assert_eq!(pool.ready(closed("/bin/sh"), LIMITS).unwrap().origin(), Origin::Made);
    drop(prepared(&pool, || closed("/bin/sh"), Origin::Copied));
    let pool = warm(2);
    assert_eq!(pool.ready(closed("/bin/sh"), LIMITS).unwrap().origin(), Origin::Made);
    drop(prepared(&pool, || closed("/bin/sh"), Origin::Waiting));
    assert!(within(PATIENCE, || pool.waiting() == 2));
}

/// A pool that has a template, and no sandbox that waits.
fn with_template(jail: impl Fn() -> Jail) -> SandboxPool {
    let pool = warm(0);
    drop(prepared(&pool, jail, Origin::Copied));
    pool
}

/// Sends signals to the only template of this process.
fn signal_to_template() -> impl Fn(&str) {
    let is_template = |pid: &u32| {
        fs::read_to_string(format!("/proc/{pid}/comm"))
            .is_ok_and(|name| name.trim() == "stockade-pool")
    };
    let shims = children_of(std::process::id()).into_iter();
    let template = shims.flat_map(children_of).find(is_template).unwrap().to_string();
    move |name| assert!(bare("kill").args([name, template.as_str()]).status().unwrap().success())
}

#[test]
fn a_template_that_was_stopped_is_waited_for_once() {
    let output = command("stops-template").output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said(&told, "origin"), "Made");
    let patience: u64 = said(&told, "seconds").parse().unwrap();
    assert!((9..18).contains(&patience), "{patience} s");
}

pub(crate) fn stop_template() {
    let pool = with_template(|| closed("/bin/sh"));
    signal_to_template()("-STOP");
    let begun = Instant::now();
    let ready = pool.ready(closed("/bin/sh"), LIMITS).unwrap();
    say("origin", format!("{:?}", ready.origin()));
    say("seconds", begun.elapsed().as_secs());
}

#[test]
fn without_templates_every_sandbox_is_made() {
    let pool = SandboxPool::new(PoolSize::NoTemplates);
    for _ in 0..3 {
        let ready = pool.ready(closed("/bin/sh"), LIMITS).unwrap();
        assert_eq!(ready.origin(), Origin::Made);
        assert_eq!(run(ready, shell("exit 4"), "/").0.status, Status::Code(4));
    }
}

#[test]
fn every_mechanism_is_seen_in_a_copy_too() {
    let folder = tempfile::tempdir().unwrap();
    let jail = || covered(folder.path());
    covered_project(folder.path());
    for origin in [Origin::Copied, Origin::Waiting] {
        let pool = warm(usize::from(origin == Origin::Waiting));
        let ready = prepared(&pool, jail, origin);
        let seen = ready.attested().unwrap();
        assert_eq!((&seen.missing, seen.capabilities), (&Vec::new(), 0));
        for mechanism in [
            Mechanism::UserNamespace,
            Mechanism::NetworkNamespace,
            Mechanism::UtsNamespace,
            Mechanism::ProtectedPaths,
            Mechanism::HiddenPaths,
            Mechanism::Landlock,
            Mechanism::Filter,
        ] {
            assert!(seen.kept.contains(&mechanism), "{mechanism}: {seen:?}");
        }
    }
}

fn covered_project(folder: &Path) {
    fs::create_dir(folder.join(".git")).unwrap();
    fs::write(folder.join(".git/config"), "good\n").unwrap();
    fs::write(folder.join("secret"), "secret\n").unwrap();
}

fn covered(folder: &Path) -> Jail {
    let mut jail = project(folder);
    let in_project = |name: &str| text(&format!("{}/{name}", named(folder)));
    jail.root.as_mut().unwrap().extend([
        Mount::Pin { target: in_project(".git") },
        Mount::Hide { target: in_project("secret") },
        Mount::Protect { target: in_project(".git/config") },
    ]);
    jail
}

/// The project lies beneath the sandbox's private `/tmp`, so it is taken aside and put back.
#[test]
fn a_copy_writes_its_project_and_nothing_that_is_covered() {
    let folder = tempfile::tempdir().unwrap();
    covered_project(folder.path());
    let line = "echo new > new; echo evil > .git/config; cat secret; mv .git g; id -u";
    for spares in [0, 1] {
        let pool = warm(spares);
        let origin = if spares == 0 { Origin::Copied } else { Origin::Waiting };
        let ready = prepared(&pool, || covered(folder.path()), origin);
        let (_, out, err) = run(ready, shell(line), named(folder.path()));
        assert_eq!(fs::read_to_string(folder.path().join("new")).unwrap(), "new\n");
        assert_eq!(fs::read_to_string(folder.path().join(".git/config")).unwrap(), "good\n");
        let uid = stockade_sandbox::Identity::of_caller().inner_uid;
        assert_eq!(out, format!("{uid}\n"), "{err}");
    }
}

#[test]
fn a_copy_hides_what_is_in_its_own_proc() {
    let hiding = || {
        let mut jail = closed("/bin/sh");
        jail.root.as_mut().unwrap().push(Mount::Hide { target: c"/proc/version".to_owned() });
        jail
    };
    let pool = warm(0);
    let (_, out, err) =
        run(prepared(&pool, hiding, Origin::Copied), shell("cat /proc/version"), "/");
    let denied = "cat: /proc/version: Permission denied\n";
    assert_eq!((out.as_str(), err.as_str()), ("", denied));
}

#[test]
fn boxes_of_one_template_share_no_memory_no_process_and_no_message() {
    let pool = warm(2);
    let write = "echo 1 > /tmp/x; echo 1 > /dev/shm/x; ipcmk -Q; sleep 1000";
    let mut first = prepared(&pool, || closed("/bin/sh"), Origin::Waiting)
        .run(Program::new(shell(write), c"/bin/sh", c"/"))
        .unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let look = "ls -A /tmp /dev/shm; ls -d /proc/[0-9]*; tail -n +2 /proc/sysvipc/msg; echo done";
    let (_, out, _) = run(prepared(&pool, || closed("/bin/sh"), Origin::Waiting), shell(look), "/");
    let expected = ["/dev/shm:", "", "/tmp:", "/proc/1", "/proc/2", "done"];
    let seen: Vec<&str> = out.lines().filter(|line| !line.starts_with("/proc/3")).collect();
    // `hidepid` hides init.
    let seen: Vec<&str> = seen.into_iter().filter(|line| *line != "/proc/1").collect();
    assert_eq!(seen, expected.into_iter().filter(|line| *line != "/proc/1").collect::<Vec<_>>());
    first.kill().unwrap();
    first.wait().unwrap();
}

#[test]
fn the_root_that_boxes_share_cannot_be_written() {
    let pool = warm(0);
    let line = "echo 1 > /x; echo 1 > /dev/x; mkdir /y; echo 1 > /etc/x; rm /dev/null; ls / /dev";
    let before =
        run(prepared(&pool, || closed("/bin/sh"), Origin::Copied), shell("ls / /dev"), "/");
    let after = run(prepared(&pool, || closed("/bin/sh"), Origin::Copied), shell(line), "/");
    assert_eq!(before.1, after.1);
}

#[test]
fn another_description_gets_another_box() {
    let folder = tempfile::tempdir().unwrap();
    let pool = warm(1);
    drop(prepared(&pool, || closed("/bin/sh"), Origin::Waiting));
    let ready = pool.ready(project(folder.path()), LIMITS).unwrap();
    assert_eq!(ready.origin(), Origin::Made);
    assert_eq!(run(ready, shell("touch ok"), named(folder.path())).0.status, Status::Code(0));
    drop(prepared(&pool, || project(folder.path()), Origin::Waiting));
    let mut stamped = project(folder.path());
    stamped.stamp = b"other".to_vec();
    assert_eq!(pool.ready(stamped, LIMITS).unwrap().origin(), Origin::Made);
    drop(prepared(&pool, || project(folder.path()), Origin::Waiting));
    let limits = CgroupLimits { tasks_max: Some(99), ..LIMITS };
    assert_eq!(pool.ready(project(folder.path()), limits).unwrap().origin(), Origin::Made);
}

/// Four descriptions are kept, so that calls of a few kinds in turn find theirs; a fifth takes the place of
/// the one that was not used for the longest time.
#[test]
fn the_last_few_descriptions_are_kept_and_no_more() {
    let pool = warm(0);
    let stamped = |stamp: u8| {
        let mut jail = closed("/bin/sh");
        jail.stamp = vec![stamp];
        jail
    };
    for stamp in 0..4 {
        drop(prepared(&pool, || stamped(stamp), Origin::Copied));
    }
    for stamp in [0, 1, 2, 3, 3, 2, 1, 0] {
        assert_eq!(pool.ready(stamped(stamp), LIMITS).unwrap().origin(), Origin::Copied, "{stamp}");
    }
    drop(prepared(&pool, || stamped(4), Origin::Copied));
    assert_eq!(pool.ready(stamped(0), LIMITS).unwrap().origin(), Origin::Copied);
    assert_eq!(pool.ready(stamped(3), LIMITS).unwrap().origin(), Origin::Made);
}

/// A host program that renames another file over a protected one takes the mount away, in the
/// template too.
#[test]
fn a_box_that_lost_a_mount_while_it_waited_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    covered_project(folder.path());
    for origin in [Origin::Copied, Origin::Waiting] {
        let pool = warm(usize::from(origin == Origin::Waiting));
        drop(prepared(&pool, || covered(folder.path()), origin));
        fs::write(folder.path().join("other"), "good\n").unwrap();
        fs::rename(folder.path().join("other"), folder.path().join(".git/config")).unwrap();
        let ready = pool.ready(covered(folder.path()), LIMITS).unwrap();
        assert_eq!(ready.origin(), Origin::Made);
        let (_, out, _) =
            run(ready, shell("echo evil > .git/config || echo no"), named(folder.path()));
        assert_eq!(out, "no\n");
    }
}

#[test]
fn a_box_that_was_killed_while_it_waited_runs_nothing() {
    let pool = warm(1);
    let ready = prepared(&pool, || closed("/bin/sh"), Origin::Waiting);
    assert!(bare("kill").args(["-9", &ready.pid().to_string()]).status().unwrap().success());
    match ready.run(Program::new(shell("exit 3"), c"/bin/sh", c"/")) {
        Err(error) => {
            assert!(matches!(error.step, Step::SendRequest | Step::AwaitInit), "{error:?}");
        }
        // It was still dying when it was asked.
        Ok(mut run) => assert_eq!(run.wait(), Err(LostShim)),
    }
}

#[test]
fn waiting_boxes_that_were_killed_are_passed_over() {
    let output = command("pool-killed").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said(&text, "status"), "Code(3)");
}

/// Kills every sandbox that waits, in a process of its own, and asks for one.
pub(crate) fn killed_while_waiting() {
    let pool = warm(1);
    drop(prepared(&pool, || closed("/bin/sh"), Origin::Waiting));
    assert!(within(PATIENCE, || pool.waiting() == 1));
    let waiting = processes_named("stockade-init", std::process::id());
    // Init, and the one that would become the program.
    assert_eq!(waiting.len(), 2);
    // The end of the first is that of the other, which may be gone before it is its turn.
    let _one_may_be_gone = bare("kill").arg("-9").args(&waiting).status().unwrap();
    let is_gone = || processes_named("stockade-init", std::process::id()).is_empty();
    assert!(within(PATIENCE, is_gone));
    let ready = pool.ready(closed("/bin/sh"), LIMITS).unwrap();
    assert_ne!(ready.origin(), Origin::Waiting);
    say("status", format!("{:?}", run(ready, shell("exit 3"), "/").0.status));
}

/// Processes with this name that descend from another.
fn processes_named(name: &str, ancestor: u32) -> Vec<String> {
    let field = |pid: &str, key: &str| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        line.unwrap_or_default().to_owned()
    };
    let descends = |pid: &String| {
        let mut at = pid.clone();
        while !matches!(at.as_str(), "" | "0" | "1") {
            if at == ancestor.to_string() {
                return true;
            }
            at = field(&at, "PPid:");
        }
        false
    };
    let entries = fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    pids.filter(|pid| field(pid, "Name:") == name).filter(descends).collect()
}

#[test]
fn nothing_is_left_of_a_copy_that_ends_or_is_killed_or_dropped() {
    let pool = warm(1);
    let next = || prepared(&pool, || closed("/bin/sh"), Origin::Waiting);
    let mark = Mark::new();
    let line = "setsid sleep 1000 & (setsid sh -c 'trap \"\" TERM; sleep 1000' &); exit 6";
    let (ended, _, _) = run(next(), mark.on(shell(line)), "/");
    assert_eq!((ended.status, mark.found()), (Status::Code(6), vec![]));
    assert!(ended.leftovers >= 2, "{ended:?}");
    let mut run = next()
        .run(Program::new(mark.on(shell("sleep 1000 & sleep 1000")), c"/bin/sh", c"/"))
        .unwrap();
    mark.await_found(2);
    run.kill().unwrap();
    assert_eq!(run.wait().unwrap().status, Status::Signal(9));
    assert_eq!(mark.found(), []);
    let run = next()
        .run(Program::new(mark.on(shell("sleep 1000 & sleep 1000")), c"/bin/sh", c"/"))
        .unwrap();
    mark.await_found(2);
    drop(run);
    assert!(within(PATIENCE, || mark.found().is_empty()));
}

#[test]
fn a_sandbox_outlives_its_pool_and_waiting_ones_do_not() {
    let pool = warm(1);
    let mark = Mark::new();
    let ready = prepared(&pool, || closed("/bin/sh"), Origin::Waiting);
    let mut run =
        ready.run(Program::new(mark.on(shell("sleep 0.2; exit 8")), c"/bin/sh", c"/")).unwrap();
    drop(pool);
    assert_eq!(run.wait().unwrap().status, Status::Code(8));
}

#[test]
fn a_waiting_box_takes_less_than_a_mebibyte() {
    let pool = warm(1);
    let ready = prepared(&pool, || closed("/bin/sh"), Origin::Waiting);
    let resident = |pid: &str| -> u64 {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    };
    let first = ready.pid().to_string();
    let children = fs::read_to_string(format!("/proc/{first}/task/{first}/children")).unwrap();
    assert_eq!(children.split_whitespace().count(), 1);
    let all = children.split_whitespace().map(resident).sum::<u64>() + resident(&first);
    writeln!(stderr(), "a waiting box: {all} KiB resident").unwrap();
    assert!((1..=1024).contains(&all), "{all} KiB");
}

/// Who runs one sandbox after the other is kept waiting by what the runs leave, and never out of
/// descriptors by it.
#[test]
fn runs_without_a_pause_leave_no_more_than_is_removed() {
    let output = command("pool-flooded").output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
}

/// Eight at once, with room for little more than they need themselves.
pub(crate) fn run_without_a_pause() {
    const ROOM: u64 = 400;
    let rlimit = rustix::process::Rlimit { current: Some(ROOM), maximum: Some(ROOM) };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, rlimit).unwrap();
    let pool = warm(2);
    drop(prepared(&pool, || closed("/bin/sh"), Origin::Waiting));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..60 {
                    let ready = pool.ready(closed("/bin/sh"), LIMITS).unwrap();
                    assert_eq!(run(ready, shell("exit 4"), "/").0.status, Status::Code(4));
                }
            });
        }
    });
}
