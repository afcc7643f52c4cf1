//! Nothing runs that is not on record: a journal that cannot be written refuses.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::Value;
use stockade::Stockade;
use stockade::journal::audit;

use crate::support::{Project, exec, is_root, json, skip, text, unboxed};

#[test]
fn each_run_has_an_entry_before_and_one_after() {
    let project = Project::new();
    project.script("look.sh", "wc -l < $1\n");
    let stockade = project.open(unboxed());
    // The journal lies outside the root, so the script finds it by a link.
    fs::copy(project.path("look.sh"), project.path("copy.sh")).unwrap();
    fs::write(project.path("look.sh"), format!("wc -l < {}\n", project.journal().display()))
        .unwrap();
    let report = json(&stockade.run(exec(&["sh", "look.sh"])));
    assert_eq!(text(&report, "stdout").trim(), "1", "{report}");
    assert_eq!(audit::verify(&project.journal()).unwrap().entries, 2);
    stockade.run(exec(&["rm", "x"]));
    assert_eq!(audit::verify(&project.journal()).unwrap().entries, 3);
    stockade.run(exec(&["not-there-at-all"]));
    let summary = audit::verify(&project.journal()).unwrap();
    assert!(summary.entries >= 4);
}

#[test]
fn a_secret_in_arguments_input_or_environment_is_in_no_byte_of_it() {
    use stockade::policy::Variable;
    let project = Project::new();
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let policy = crate::support::policy(|policy| {
        policy.environment.push(Variable::Set("TOKEN".to_owned(), secret.to_owned()));
    });
    let argument = format!("--token={secret}");
    let call = exec(&["echo", &argument]).with_stdin(secret);
    let report = project.run_with(policy, call);
    assert!(text(&report, "stdout").contains(secret), "{report}");
    let journal = fs::read_to_string(project.journal()).unwrap();
    assert!(!journal.contains(secret), "{journal}");
}

/// The call is refused by the journal, and its program leaves no mark.
#[track_caller]
fn refuses(project: &Project, stockade: &Stockade) {
    project.script("mark.sh", "touch spawned\n");
    let report = json(&stockade.run(exec(&["sh", "mark.sh"])));
    assert_eq!(
        (&report["exit_code"], &report["denied"]),
        (&(-100).into(), &true.into()),
        "{report}"
    );
    assert_eq!(report["rule"], "journal/unwritable", "{report}");
    assert!(text(&report, "reason").contains("journal"), "{report}");
    assert!(report["instead"].is_string());
    assert!(!project.path("spawned").exists(), "it ran without a record");
}

#[test]
fn a_full_disk_refuses() {
    use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
    let project = Project::new();
    let disk = project.beside("disk");
    fs::create_dir(&disk).unwrap();
    let size = Some(c"size=16k");
    if let Err(errno) = mount("stockade-test", &disk, "tmpfs", MountFlags::empty(), size) {
        skip("mount", &format!("a disk of its own cannot be mounted here ({errno})"));
        return;
    }
    let result = std::panic::catch_unwind(|| {
        let journal = disk.join("journal.jsonl");
        let stockade = Stockade::open(&project.root(), unboxed(), &journal).unwrap();
        let ran = json(&stockade.run(exec(&["true"])));
        assert_eq!(ran["ok"], true, "the control half: {ran}");
        fs::write(disk.join("ballast"), vec![0; 12 << 10]).unwrap();
        // What is left of the journal's own page goes first.
        let full =
            (0..100).any(|_| stockade.run(exec(&["rm"])).reason().unwrap().contains("journal"));
        assert!(full, "the disk never filled up");
        refuses(&project, &stockade);
        fs::remove_file(disk.join("ballast")).unwrap();
        assert!(stockade.run(exec(&["true"])).ok(), "room again");
        audit::verify(&journal).unwrap();
    });
    unmount(&disk, UnmountFlags::DETACH).unwrap();
    if let Err(panic) = result {
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn a_device_that_is_always_full_refuses() {
    let project = Project::new();
    let opened = Stockade::open(&project.root(), unboxed(), "/dev/full".as_ref());
    if let Ok(stockade) = opened {
        refuses(&project, &stockade);
    }
}

#[test]
fn a_folder_in_its_place_is_an_error_at_the_start() {
    let project = Project::new();
    fs::create_dir(project.journal()).unwrap();
    let error = Stockade::open(&project.root(), unboxed(), &project.journal()).unwrap_err();
    assert!(error.to_string().contains("journal"), "{error}");
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error_at_the_start() {
    if is_root() {
        skip("non-root", "folder modes do not bind root");
        return;
    }
    let project = Project::new();
    let locked = project.beside("locked");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o500)).unwrap();
    let journal = locked.join("journal.jsonl");
    let opened = Stockade::open(&project.root(), unboxed(), &journal);
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(opened.is_err());
}

#[test]
fn a_journal_that_was_tampered_with_refuses() {
    let project = Project::new();
    let stockade = project.open(unboxed());
    for _ in 0..3 {
        assert!(stockade.run(exec(&["true"])).ok());
    }
    drop(stockade);
    let tampered = fs::read_to_string(project.journal()).unwrap();
    let last = tampered.lines().last().unwrap();
    assert!(last.contains("\"exit_code\":0"), "{last}");
    let changed = tampered.replace(last, &last.replace("\"exit_code\":0", "\"exit_code\":1"));
    assert_ne!(changed, tampered);
    fs::write(project.journal(), changed).unwrap();
    match Stockade::open(&project.root(), unboxed(), &project.journal()) {
        Ok(stockade) => refuses(&project, &stockade),
        Err(error) => assert!(error.to_string().contains("journal"), "{error}"),
    }
}

#[test]
fn a_journal_that_vanishes_or_becomes_a_link_under_way_is_noticed() {
    let project = Project::new();
    let stockade = project.open(unboxed());
    assert!(stockade.run(exec(&["true"])).ok());
    fs::remove_file(project.journal()).unwrap();
    let elsewhere = project.beside("elsewhere");
    fs::write(&elsewhere, "precious\n").unwrap();
    symlink(&elsewhere, project.journal()).unwrap();
    let report = json(&stockade.run(exec(&["true"])));
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "precious\n", "{report}");
    assert!(
        report["ok"] == Value::Bool(true) || report["rule"] == "journal/unwritable",
        "{report}"
    );
}
