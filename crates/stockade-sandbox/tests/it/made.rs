//! A sandbox that is made from nothing: whose it is, where it is limited, and which step has
//! failed.

use std::fs;
use std::os::fd::AsRawFd;
use std::path::Path;

use stockade_sandbox::{
    CgroupLimits, Errno, Identity, PoolSize, PreparedSandbox, Program, SandboxPool, StartError,
    Step, landlock_abi,
};

use crate::attest::{everything, steps};
use crate::boxes::closed;
use crate::roles::{command, said, say};
use crate::support::{Mark, shell, skip};

pub(crate) const LIMITS: CgroupLimits = CgroupLimits {
    memory_bytes_max: Some(256 << 20),
    tasks_max: Some(100),
    cpu_millis_per_second: None,
};

/// Whoever owns the namespace pays for what its processes take of the kernel, such as inotify
/// instances and pending signals: of root's share a sandbox would take what the machine needs.
#[test]
fn its_namespace_belongs_to_its_own_user_and_not_to_root() {
    let ready = SandboxPool::new(PoolSize::NoTemplates).ready(closed("/bin/sh"), LIMITS).unwrap();
    assert_eq!(owner_of_namespace(&ready), Identity::of_caller().outer_uid);
}

fn owner_of_namespace(ready: &PreparedSandbox) -> u32 {
    const NS_GET_OWNER_UID: libc::Ioctl = 0xb704;
    let namespace = fs::File::open(format!("/proc/{}/ns/user", ready.pid())).unwrap();
    let mut owner = u32::MAX;
    // SAFETY: the kernel writes one number.
    let asked = unsafe { libc::ioctl(namespace.as_raw_fd(), NS_GET_OWNER_UID, &raw mut owner) };
    assert_eq!(asked, 0, "{}", std::io::Error::last_os_error());
    owner
}

#[test]
fn a_step_that_fails_ends_in_an_error_that_names_it() {
    for step in steps() {
        let (folder, mut jail) = everything();
        jail.faults.fail_at = Some(step);
        jail.processes_max = Some(100);
        let mark = Mark::new();
        let program = Program::new(mark.on(shell("touch ran")), &jail.program, &jail.cwd);
        let ready = SandboxPool::new(PoolSize::NoTemplates).ready(jail, LIMITS);
        let run = ready.and_then(|ready| ready.run(program));
        assert_eq!(run.map(drop).map_err(|error| error.step), Err(step));
        assert!(!folder.path().join("ran").exists(), "{step:?}");
        assert_eq!(mark.found(), [], "{step:?}");
    }
}

/// Where a machine refuses the ids, callers go on without namespaces, by this very error.
#[test]
fn ids_that_are_refused_are_told() {
    if landlock_abi().is_none() {
        skip("this kernel has no Landlock");
        return;
    }
    let output = command("refused-ids").output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}");
    let refused = StartError { step: Step::MapIds, errno: Errno::ACCESS };
    assert_eq!(said(&told, "refused"), format!("{refused:?}"));
}

/// Opens no file for writing any more but in `/dev`, and asks for a sandbox.
pub(crate) fn ask_with_refused_ids() {
    const WRITE_FILE: u64 = 2;
    let attributes = [WRITE_FILE];
    let (at, len) = (attributes.as_ptr(), size_of_val(&attributes));
    // SAFETY: the kernel reads the one word of the attributes.
    let ruleset = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, at, len, 0) };
    let devices = fs::File::open("/dev").unwrap();
    // struct landlock_path_beneath_attr, which is packed: the rights, then the descriptor.
    let rule = [WRITE_FILE, u64::try_from(devices.as_raw_fd()).unwrap()];
    let at = rule.as_ptr();
    // SAFETY: the kernel reads twelve bytes of the rule.
    let added = unsafe { libc::syscall(libc::SYS_landlock_add_rule, ruleset, 1, at, 0) };
    assert_eq!(added, 0);
    // SAFETY: this takes numbers only.
    unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY: likewise.
    let locked = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0) };
    assert_eq!(locked, 0);
    let refused =
        SandboxPool::new(PoolSize::NoTemplates).ready(closed("/bin/sh"), LIMITS).unwrap_err();
    say("refused", format!("{refused:?}"));
}

pub(crate) fn children_of(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.map(|thread| fs::read_to_string(thread.path().join("children")));
    let lists: String = lists.map(Result::unwrap_or_default).collect();
    lists.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

#[test]
fn it_is_limited_where_the_host_is_when_it_asks() {
    let output = command("moves").output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    if told.contains("skipped") {
        return skip("moving needs root, and cgroups of version 1 for memory");
    }
    assert_eq!(said(&told, "is_beneath"), "true", "{told}");
}

/// Moves to another cgroup, and asks for a sandbox.
pub(crate) fn move_and_ask() {
    let own = format!("it-moves-{}", std::process::id());
    let there = Path::new("/sys/fs/cgroup/memory").join(&own);
    if !Path::new("/sys/fs/cgroup/memory/tasks").exists() || fs::create_dir(&there).is_err() {
        return say("skipped", true);
    }
    let pool = SandboxPool::new(PoolSize::NoTemplates);
    let enter = |folder: &Path| fs::write(folder.join("cgroup.procs"), "0").unwrap();
    enter(&there);
    let ready = pool.ready(closed("/bin/sh"), LIMITS).unwrap();
    let cgroups = fs::read_to_string(format!("/proc/{}/cgroup", ready.pid())).unwrap();
    let memory = cgroups.lines().find(|line| line.contains(":memory:")).unwrap();
    say("is_beneath", memory.contains(&format!(":/{own}/stockade-")));
    drop(ready);
    drop(pool);
    enter(there.parent().unwrap());
    fs::remove_dir(there).unwrap();
}
