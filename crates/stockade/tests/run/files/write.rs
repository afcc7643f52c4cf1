//! `Write`: whole or not at all, and the file stays what it was but for what is in it.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use serde_json::{Value, json};
use stockade::limits::ByteCount;

use super::{run_with, write};
use crate::support::{Project, policy, skip, text, unboxed};

const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
/// Of `x`.
const X: &str = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";

fn change(report: &Value) -> &Value {
    assert_eq!(report["changes"].as_array().map(Vec::len), Some(1), "{report}");
    &report["changes"][0]
}

fn names(place: &Project) -> Vec<String> {
    let entries = fs::read_dir(place.root()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn makes_a_file_and_its_folders_and_says_so() {
    let place = Project::new();
    let report = write(&place, "a/b/c.txt", "x");
    assert_eq!(fs::read_to_string(place.path("a/b/c.txt")).unwrap(), "x");
    assert_eq!(
        change(&report),
        &json!({"path": "a/b/c.txt", "kind": "created", "size": 1, "before": null, "after": X,
                "runs_code": null})
    );
    assert_eq!(text(&report, "stdout"), "made a/b/c.txt, 1 bytes\n");
    assert_eq!(names(&place), ["a"]);
}

#[test]
fn replaces_a_file_and_keeps_its_mode_attributes_and_line_ends() {
    let place = Project::new();
    let file = place.path("run.sh");
    fs::write(&file, "").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o750)).unwrap();
    let keeps_attributes =
        rustix::fs::setxattr(&file, "user.note", b"n", rustix::fs::XattrFlags::empty()).is_ok();
    let before = fs::metadata(&file).unwrap();
    let report = write(&place, "run.sh", "x");
    let after = fs::metadata(&file).unwrap();
    assert_eq!(
        (change(&report)["before"].as_str(), change(&report)["after"].as_str()),
        (Some(EMPTY), Some(X))
    );
    assert_eq!(change(&report)["kind"], json!("modified"));
    assert_eq!((after.mode(), after.uid()), (before.mode(), before.uid()));
    assert_ne!(after.ino(), before.ino(), "another file takes its place");
    if keeps_attributes {
        let mut value = [0; 8];
        let long = rustix::fs::getxattr(&file, "user.note", &mut value[..]).unwrap();
        assert_eq!(&value[..long], b"n");
    } else {
        skip("xattr", "this file system has no extended attributes");
    }
    fs::write(&file, "a\r\nb\r\n").unwrap();
    write(&place, "run.sh", "c\nd\n");
    assert_eq!(fs::read_to_string(&file).unwrap(), "c\r\nd\r\n");
    fs::write(&file, "a\nb\r\n").unwrap();
    write(&place, "run.sh", "c\nd\n");
    assert_eq!(fs::read_to_string(&file).unwrap(), "c\nd\n", "there was no one kind to keep");
    assert_eq!(names(&place), ["run.sh"], "nothing of ours is left");
}

/// An access control list: the owner all, user 1234 to read and write, the group and others to read.
fn rights() -> Vec<u8> {
    let none = u32::MAX;
    let lines: [(u16, u16, u32); 5] =
        [(1, 7, none), (2, 6, 1234), (4, 5, none), (16, 7, none), (32, 5, none)];
    let of = |(tag, bits, id): (u16, u16, u32)| {
        [tag.to_le_bytes().as_slice(), &bits.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    [2_u32.to_le_bytes().to_vec(), lines.map(of).concat()].concat()
}

#[test]
fn a_file_gets_no_rights_from_its_folder_that_it_did_not_have() {
    let place = Project::new();
    let file = place.path("a");
    fs::write(&file, "old").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let none = rustix::fs::XattrFlags::empty();
    let root = place.root();
    if rustix::fs::setxattr(&root, "system.posix_acl_default", &rights(), none).is_err() {
        skip("acl", "this file system has no access control lists");
        return;
    }
    write(&place, "b", "control");
    write(&place, "a", "new");
    let has = |name: &str| {
        let mut value = [0; 256];
        let path = place.path(name);
        rustix::fs::getxattr(path, "system.posix_acl_access", &mut value[..]).is_ok()
    };
    assert_eq!((has("a"), has("b")), (false, true), "a new file has them");
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o640);
    let own = rights();
    rustix::fs::setxattr(&file, "system.posix_acl_access", &own, none).unwrap();
    let mode = fs::metadata(&file).unwrap().mode();
    write(&place, "a", "newer");
    assert_eq!((has("a"), fs::metadata(&file).unwrap().mode()), (true, mode));
}

#[test]
fn what_is_there_already_is_not_written_again() {
    let place = Project::new();
    fs::write(place.path("a"), "x").unwrap();
    let inode = fs::metadata(place.path("a")).unwrap().ino();
    let report = write(&place, "a", "x");
    assert_eq!((&report["changes"], &report["exit_code"]), (&json!([]), &json!(0)));
    assert_eq!(fs::metadata(place.path("a")).unwrap().ino(), inode);
}

#[test]
fn a_link_stays_a_link_and_what_it_leads_to_is_written() {
    let place = Project::new();
    fs::create_dir(place.path("d")).unwrap();
    fs::write(place.path("d/real"), "old").unwrap();
    symlink("d/real", place.path("link")).unwrap();
    let report = write(&place, "link", "new");
    assert_eq!(change(&report)["path"], json!("d/real"));
    assert_eq!(fs::read_to_string(place.path("d/real")).unwrap(), "new");
    assert!(fs::symlink_metadata(place.path("link")).unwrap().is_symlink());
}

#[test]
fn another_name_of_the_file_keeps_what_it_held() {
    let place = Project::new();
    fs::write(place.beside("outside"), "old").unwrap();
    fs::hard_link(place.beside("outside"), place.path("inside")).unwrap();
    let report = write(&place, "inside", "new");
    assert_eq!(fs::read_to_string(place.beside("outside")).unwrap(), "old");
    assert!(text(&report, "stderr").contains("hard links"), "{report}");
}

#[test]
fn a_file_that_is_too_large_is_not_written() {
    let place = Project::new();
    let small = policy(|policy| policy.limits.file_size = Some(ByteCount::bytes(3)));
    let input = json!({"file_path": "a", "content": "four"});
    let report = run_with(&place, small, "Write", &input);
    assert_eq!((&report["limit"], &report["ok"]), (&json!("file_size"), &json!(false)), "{report}");
    assert_eq!(names(&place), Vec::<String>::new());
}

#[test]
fn a_file_that_cannot_be_written_is_not_replaced() {
    if rustix::process::geteuid().is_root() {
        skip("unprivileged", "root can write every file");
        return;
    }
    let place = Project::new();
    fs::write(place.path("a"), "old").unwrap();
    fs::set_permissions(place.path("a"), fs::Permissions::from_mode(0o444)).unwrap();
    let report = write(&place, "a", "new");
    assert_eq!(report["exit_code"], json!(1), "{report}");
    assert_eq!(fs::read_to_string(place.path("a")).unwrap(), "old");
}

#[test]
fn files_from_which_code_runs_are_flagged() {
    let place = Project::new();
    let report = write(&place, "package.json", "{}");
    let why = change(&report)["runs_code"].as_str().unwrap();
    assert!(why.contains("package manager"), "{why}");
    let report = write(&place, "src/lib.rs", "");
    assert_eq!(change(&report)["runs_code"], json!(null));
}

#[test]
fn what_a_killed_writer_left_is_swept_at_the_next_start() {
    let place = Project::new();
    drop(place.open(unboxed()));
    let own = rustix::process::geteuid().as_raw();
    let notes = std::path::Path::new("/tmp").join(format!("stockade-{own}"));
    let left = format!(".stockade-{}.tmp", stockade::call::CallId::new());
    fs::write(place.path(&left), "half").unwrap();
    fs::write(place.path("mine"), "x").unwrap();
    let root = place.root();
    let folder = stockade::inspect::Root::open(&root).unwrap();
    let note = [left.as_bytes(), b"\0", folder.path().as_os_str().as_encoded_bytes()].concat();
    fs::write(notes.join(format!("write-{left}")), note).unwrap();
    drop(place.open(unboxed()));
    assert_eq!(names(&place), ["mine"]);
    assert!(!notes.join(format!("write-{left}")).exists());
}
