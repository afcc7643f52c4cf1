//! Writers that are killed, and disks that take no more.

use std::fs;
use std::time::Duration;

use rustix::mount::{MountFlags, UnmountFlags, mount, mount_remount, unmount};
use serde_json::json;

use super::write;
use crate::helper::Helper;
use crate::support::{Project, eventually, names_in, skip, text};

#[test]
fn a_writer_that_is_killed_leaves_a_whole_file_and_what_else_it_left_is_swept() {
    let place = Project::new();
    for round in 0..20 {
        let mut writer = Helper::new("rewrite", &place, &[]).start();
        assert!(eventually(Duration::from_secs(30), || place.path("f").exists()));
        std::thread::sleep(Duration::from_millis(40 + round * 7));
        assert!(writer.is_running());
        writer.kill();
        let held = fs::read(place.path("f")).unwrap();
        assert_eq!(held.len(), 300_000);
        assert!(held.iter().all(|byte| *byte == held[0]), "half of one and half of the other");
    }
    assert_eq!(Helper::new("run", &place, &["true"]).answer()["ok"], json!(true));
    assert_eq!(names_in(&place.root()), ["f"], "a start sweeps");
    let own = format!("stockade-{}", rustix::process::geteuid().as_raw());
    let notes = names_in(&place.runtime().join(&own));
    assert!(!notes.iter().any(|name| name.starts_with("write-")), "{notes:?}");
}

#[test]
fn a_disk_that_is_full_or_read_only_changes_nothing() {
    let place = Project::new();
    let root = place.root();
    if let Err(errno) =
        mount("stockade-test", &root, "tmpfs", MountFlags::empty(), Some(c"size=64k"))
    {
        skip("mount", &format!("a disk of its own cannot be mounted here ({errno})"));
        return;
    }
    fs::write(place.path("f"), "old").unwrap();
    let large = "x".repeat(200_000);
    let full = [write(&place, "f", &large), write(&place, "new/file", &large)];
    let after_full = (names_in(&root), fs::read_to_string(place.path("f")).unwrap());
    mount_remount(&root, MountFlags::RDONLY, "").unwrap();
    let closed = [write(&place, "f", "x"), write(&place, "g", "x")];
    let after_closed = fs::read_to_string(place.path("f")).unwrap();
    unmount(&root, UnmountFlags::DETACH).unwrap();
    for report in &full {
        assert!(text(report, "stderr").contains("No space left"), "{report}");
    }
    for report in &closed {
        assert!(text(report, "stderr").contains("Read-only file system"), "{report}");
    }
    for report in full.iter().chain(&closed) {
        assert_eq!((&report["exit_code"], &report["changes"]), (&json!(1), &json!([])), "{report}");
    }
    assert_eq!((after_full.1.as_str(), after_closed.as_str()), ("old", "old"));
    assert_eq!(after_full.0, ["f"], "folders that were made for it go again");
}
