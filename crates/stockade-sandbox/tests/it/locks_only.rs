//! The form of a sandbox where namespaces are forbidden: Landlock, the filter and the shim alone.

use std::ffi::CStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use stockade_sandbox::{
    Attest, Cgroup, CgroupLimits, Errno, Jail, Landlock, Mechanism, Network, Rule, StartError,
    Status, Step, landlock_abi, rights, start_jailed,
};
use tempfile::TempDir;

use crate::support::{Mark, bare, finish, shell, shell_in, text};

pub(crate) fn folder() -> TempDir {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// Locks around a shell that may write one folder.
pub(crate) fn locked(folder: &TempDir) -> Jail {
    let path = text(folder.path().to_str().unwrap());
    let system: [&CStr; 6] = [c"/usr", c"/bin", c"/lib", c"/lib64", c"/etc", c"/proc"];
    // What is a link to another of them is allowed by that.
    let is_folder = |path: &&CStr| {
        fs::symlink_metadata(path.to_str().unwrap()).is_ok_and(|found| found.is_dir())
    };
    let read = |path: &CStr| Rule { path: path.to_owned(), rights: rights::READ };
    let mut rules: Vec<_> = system.into_iter().filter(is_folder).map(read).collect();
    rules.push(Rule { path, rights: rights::READ | rights::WRITE });
    rules.push(Rule { path: c"/dev/null".to_owned(), rights: rights::READ | rights::WRITE });
    Jail::locks_only(c"/bin/sh", Landlock { rules })
}

#[test]
fn files_outside_can_be_neither_read_nor_written() {
    if landlock_abi().is_none() {
        return;
    }
    let (inside, outside) = (folder(), folder());
    fs::write(outside.path().join("canary"), "secret").unwrap();
    fs::set_permissions(outside.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let canary = outside.path().display();
    let attack = format!(
        "cat {canary}/canary; ls {canary}; echo x > {canary}/new; mv {canary}/canary ./stolen; \
         ln {canary}/canary ./link; ln -s {canary}/canary s; cat s; echo fine > mine; cat mine"
    );
    let (_, out, err) =
        finish(&mut start_jailed(shell_in(inside.path(), &attack), locked(&inside)).unwrap());
    assert_eq!(out, "fine\n", "{err}");
    assert!(outside.path().join("canary").exists() && !outside.path().join("new").exists());
    let control = bare("/bin/sh").args(["-c", &attack]).current_dir(&inside).output().unwrap();
    let control = String::from_utf8(control.stdout).unwrap();
    assert!(control.contains("secret") && outside.path().join("new").exists(), "{control}");
}

#[test]
fn the_locks_are_on_and_seen() {
    if landlock_abi().is_none_or(|abi| abi < 6) {
        return;
    }
    let folder = folder();
    let mut jail = locked(&folder);
    jail.attest = Attest::BeforeExecution;
    let mut run = start_jailed(shell("cat /proc/self/status; exit 6"), jail).unwrap();
    let (ended, out, err) = finish(&mut run);
    assert_eq!(ended.status, Status::Code(6), "{err}");
    for line in ["NoNewPrivs:\t1\n", "Seccomp:\t2\n", "CapEff:\t0000000000000000\n"] {
        assert!(out.contains(line), "{out}");
    }
    let seen = run.attested().unwrap();
    let kept = [
        Mechanism::NoCapabilities,
        Mechanism::NoNewPrivileges,
        Mechanism::Landlock,
        Mechanism::Filter,
    ];
    assert_eq!((seen.kept.as_slice(), seen.missing.as_slice()), (kept.as_slice(), [].as_slice()));

    let mut jail = locked(&folder);
    jail.attest = Attest::BeforeExecution;
    jail.faults.left_out.push(Mechanism::Landlock);
    let mut run = start_jailed(shell("exit 0"), jail).unwrap();
    run.wait().unwrap();
    assert_eq!(run.attested().unwrap().missing, [Mechanism::Landlock]);
}

#[test]
fn nothing_is_left_and_the_shim_cannot_be_killed() {
    if landlock_abi().is_none_or(|abi| abi < 6) {
        return;
    }
    let (folder, mark) = (folder(), Mark::new());
    let line = "kill -9 $PPID && exit 1; (setsid sh -c 'sleep 1000 & sleep 1000' &); \
                setsid sleep 1000 & exit 5";
    let ended = start_jailed(mark.on(shell(line)), locked(&folder)).unwrap().wait().unwrap();
    assert_eq!((ended.status, ended.survivors), (Status::Code(5), 0));
    assert_eq!(mark.found(), []);
}

#[test]
fn what_needs_namespaces_is_refused_not_dropped() {
    let folder = folder();
    let refused = |change: fn(&mut Jail)| {
        let mut jail = locked(&folder);
        change(&mut jail);
        start_jailed(shell("exit 0"), jail).unwrap_err()
    };
    let impossible = StartError { step: Step::PrepareBox, errno: Errno::INVAL };
    assert_eq!(refused(|jail| jail.network = Network::None), impossible);
    assert_eq!(refused(|jail| jail.root = Some(Vec::new())), impossible);
}

#[test]
fn a_whole_tree_is_limited_where_there_are_cgroups() {
    if landlock_abi().is_none() {
        return;
    }
    let folder = folder();
    let mut jail = locked(&folder);
    let limits = CgroupLimits { tasks_max: Some(10), ..CgroupLimits::default() };
    let cgroup = Cgroup::create(limits);
    if cgroup.kept().is_empty() {
        return;
    }
    jail.cgroup = Some(cgroup);
    jail.attest = Attest::BeforeExecution;
    let line = "for n in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 1000 & done; echo all";
    let mut run = start_jailed(shell(line), jail).unwrap();
    let (_, out, err) = finish(&mut run);
    assert!(out.is_empty() && err.contains("fork"), "{out}{err}");
    assert!(run.attested().unwrap().kept.contains(&Mechanism::Cgroup));
}

#[test]
fn a_rule_does_not_follow_a_link() {
    if landlock_abi().is_none() {
        return;
    }
    let (inside, outside) = (folder(), folder());
    std::os::unix::fs::symlink(outside.path(), inside.path().join("link")).unwrap();
    for path in [inside.path().join("link"), inside.path().join("link/beneath")] {
        let mut jail = locked(&inside);
        let path = text(path.to_str().unwrap());
        jail.landlock.as_mut().unwrap().rules.push(Rule { path, rights: rights::READ });
        let error = start_jailed(shell("exit 0"), jail).unwrap_err();
        assert_eq!(error, StartError { step: Step::PrepareBox, errno: Errno::LOOP });
    }
}
