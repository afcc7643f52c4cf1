//! Disks that are full or read-only.

use std::path::Path;

use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_remount, unmount};
use stockade::journal::{Durability, Journal, JournalError};

use crate::sample::{Folder, open, skip, verdict, verified};

/// A small disk of its own, for as long as this lives.
struct Disk<'a>(&'a Path);

impl<'a> Disk<'a> {
    fn mount(at: &'a Path) -> Option<Self> {
        match mount("stockade-test", at, "tmpfs", MountFlags::empty(), Some(c"size=16k")) {
            Ok(()) => Some(Self(at)),
            Err(errno) => {
                skip("mount", &format!("a disk of its own cannot be mounted here ({errno})"));
                None
            }
        }
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        unmount(self.0, UnmountFlags::DETACH).unwrap();
    }
}

#[test]
fn a_full_disk_is_an_error_and_leaves_a_whole_journal() {
    let folder = Folder::new();
    let Some(_disk) = Disk::mount(folder.path()) else { return };
    let journal = open(&folder.journal());
    let ballast = folder.path().join("ballast");
    std::fs::write(&ballast, [0; 4096]).unwrap();
    let mut written = 0;
    let error = loop {
        match journal.append(&verdict("call")) {
            Ok(entry) => written = entry.seq(),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, JournalError::Write { source: Errno::NOSPC, .. }), "{error:?}");
    assert!(written > 10);
    assert_eq!(verified(&folder.journal()).entries, written);
    std::fs::remove_file(&ballast).unwrap();
    assert_eq!(journal.append(&verdict("room")).unwrap().seq(), written + 1);
    assert_eq!(verified(&folder.journal()).entries, written + 1);
}

#[test]
fn a_repair_on_a_full_disk_is_put_on_record_when_there_is_room() {
    let folder = Folder::new();
    let Some(_disk) = Disk::mount(folder.path()) else { return };
    let path = folder.journal_of(20);
    let ballast = folder.path().join("ballast");
    let whole = std::fs::read(&path).unwrap();
    let pages = whole.len().div_ceil(4096);
    // The torn line ends where its page ends, so that cutting it frees no room for two entries.
    let mut torn = whole.clone();
    torn.extend_from_slice(br#"{"v":1,"seq":21,"#);
    torn.resize(pages * 4096, b' ');
    std::fs::write(&path, &torn).unwrap();
    std::fs::write(&ballast, vec![0; 16384 - pages * 4096]).unwrap();
    let journal = open(&path);
    let long = verdict(&"x".repeat(5000));
    assert!(matches!(journal.append(&long).unwrap_err(), JournalError::Write { .. }));
    assert_eq!(std::fs::read(&path).unwrap(), whole);
    std::fs::remove_file(&ballast).unwrap();
    assert_eq!(journal.append(&long).unwrap().seq(), 22);
    assert_eq!(verified(&path).entries, 22);
}

#[test]
fn a_read_only_folder_is_an_error_that_names_the_journal() {
    let folder = Folder::new();
    let Some(_disk) = Disk::mount(folder.path()) else { return };
    mount_remount(folder.path(), MountFlags::RDONLY, "").unwrap();
    let error = Journal::open(&folder.journal(), Durability::default()).unwrap_err();
    assert!(matches!(error, JournalError::Open { source: Errno::ROFS, .. }), "{error:?}");
    assert!(error.to_string().contains(folder.journal().to_str().unwrap()));
    let below = folder.path().join("state/journal.jsonl");
    let error = Journal::open(&below, Durability::default()).unwrap_err();
    assert!(matches!(error, JournalError::CreateFolder { .. }), "{error:?}");
}

#[test]
fn a_folder_that_may_not_be_written_is_an_error() {
    use std::os::unix::fs::PermissionsExt as _;
    if rustix::process::geteuid().is_root() {
        skip("non-root", "folder modes do not bind root");
        return;
    }
    let folder = Folder::new();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o500)).unwrap();
    let error = Journal::open(&folder.journal(), Durability::default()).unwrap_err();
    assert!(matches!(error, JournalError::Open { source: Errno::ACCESS, .. }), "{error:?}");
}
