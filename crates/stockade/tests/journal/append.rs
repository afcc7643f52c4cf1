//! What is opened, what is refused, and what becomes of entries.

use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, FlockOperation, Mode, flock, mknodat};
use stockade::journal::{Durability, Journal, JournalError};

use crate::sample::{Folder, lines_of, open, verdict, verified};

#[test]
fn the_file_and_its_folders_are_for_the_owner_alone() {
    let folder = Folder::new();
    let path = folder.path().join("state/stockade/journal.jsonl");
    open(&path).append(&verdict("one")).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&folder.path().join("state")), 0o700);
    assert_eq!(mode(&folder.path().join("state/stockade")), 0o700);
}

#[test]
fn refuses_what_is_not_a_regular_file() {
    let folder = Folder::new();
    let target = folder.journal_of(1);
    let at = |name: &str| folder.path().join(name);
    symlink(&target, at("link")).unwrap();
    symlink(at("nothing"), at("dangling")).unwrap();
    std::fs::create_dir(at("folder")).unwrap();
    mknodat(CWD, at("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    assert!(std::fs::metadata(at("fifo")).unwrap().file_type().is_fifo());
    let full = Path::new("/dev/full").to_owned();
    for path in [at("link"), at("dangling"), at("folder"), at("fifo"), full] {
        let error = Journal::open(&path, Durability::default()).unwrap_err();
        assert!(matches!(error, JournalError::NotAFile { .. }), "{error:?}");
    }
    assert_eq!(verified(&target).entries, 1);
    assert!(!at("nothing").exists());
}

#[test]
fn a_file_where_a_folder_must_be_is_an_error_that_names_the_path() {
    let folder = Folder::new();
    let path = folder.journal_of(1).join("journal.jsonl");
    let error = Journal::open(&path, Durability::default()).unwrap_err();
    assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
}

#[test]
fn a_removed_file_is_begun_anew_and_a_moved_one_is_left_alone() {
    let folder = Folder::new();
    let journal = open(&folder.journal());
    journal.append(&verdict("one")).unwrap();
    std::fs::remove_file(folder.journal()).unwrap();
    assert_eq!(journal.append(&verdict("two")).unwrap().seq(), 1);
    let moved = folder.path().join("moved.jsonl");
    std::fs::rename(folder.journal(), &moved).unwrap();
    assert_eq!(journal.append(&verdict("three")).unwrap().seq(), 1);
    assert_eq!(journal.append(&verdict("four")).unwrap().seq(), 2);
    assert_eq!((verified(&moved).entries, verified(&folder.journal()).entries), (1, 2));
}

#[test]
fn a_file_replaced_by_a_symlink_is_refused() {
    let folder = Folder::new();
    let journal = open(&folder.journal());
    journal.append(&verdict("one")).unwrap();
    let moved = folder.path().join("moved.jsonl");
    std::fs::rename(folder.journal(), &moved).unwrap();
    symlink(&moved, folder.journal()).unwrap();
    let error = journal.append(&verdict("two")).unwrap_err();
    assert!(matches!(error, JournalError::NotAFile { .. }), "{error:?}");
    assert_eq!(verified(&moved).entries, 1);
}

#[test]
fn threads_share_a_journal_and_two_journals_share_a_file() {
    let folder = Folder::new();
    let journals = [open(&folder.journal()), open(&folder.journal())];
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let journal = journals.get(thread % 2).unwrap();
            scope.spawn(move || {
                for number in 0..50 {
                    journal.append(&verdict(&format!("{thread}-{number}"))).unwrap();
                }
            });
        }
    });
    assert_eq!(verified(&folder.journal()).entries, 400);
}

#[test]
fn entries_are_in_the_file_when_append_returns() {
    let window = Duration::from_hours(1);
    for durability in [Durability::Each, Durability::Batched { window }] {
        let folder = Folder::new();
        let journal = Journal::open(&folder.journal(), durability).unwrap();
        for number in 1..=3 {
            assert_eq!(journal.append(&verdict("call")).unwrap().seq(), number);
            assert_eq!(verified(&folder.journal()).entries, number);
        }
        journal.sync().unwrap();
    }
}

#[test]
fn an_entry_that_no_reader_would_accept_is_refused() {
    let folder = Folder::new();
    let journal = open(&folder.journal());
    let error = journal.append(&verdict(&"x".repeat(1 << 20))).unwrap_err();
    assert!(matches!(error, JournalError::TooLong { .. }), "{error:?}");
    assert_eq!(journal.append(&verdict("one")).unwrap().seq(), 1);
}

#[test]
fn a_stuck_holder_of_the_lock_makes_an_error_and_not_an_endless_wait() {
    let folder = Folder::new();
    let path = folder.journal_of(1);
    let holder = std::fs::File::open(&path).unwrap();
    flock(&holder, FlockOperation::LockExclusive).unwrap();
    let started = Instant::now();
    let error = open(&path).append(&verdict("two")).unwrap_err();
    assert!(matches!(error, JournalError::Busy { .. }), "{error:?}");
    assert!(started.elapsed() < Duration::from_secs(120));
    drop(holder);
    assert_eq!(lines_of(&path).len(), 1);
}
