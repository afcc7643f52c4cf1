//! Each way to change a journal is named, with the first line where it shows.

use std::time::SystemTime;

use stockade::journal::JournalError;
use stockade::journal::audit;
use stockade::journal::chain::{self, Link};
use stockade::journal::record::Record;

use crate::sample::{Folder, first_bad, kind, lines_of, open, verdict, verified, write_lines};

#[test]
fn an_untouched_chain_verifies() {
    let folder = Folder::new();
    let path = folder.journal_of(20);
    let summary = verified(&path);
    let last: Record = serde_json::from_str(lines_of(&path).last().unwrap()).unwrap();
    assert_eq!((summary.entries, summary.head), (20, last.hash));
}

#[test]
fn a_changed_byte_is_named_wherever_it_is() {
    let folder = Folder::new();
    let path = folder.journal_of(5);
    let whole = std::fs::read(&path).unwrap();
    let start = lines_of(&path).iter().take(2).map(|line| line.len() + 1).sum::<usize>();
    let length = lines_of(&path).get(2).unwrap().len();
    for at in start..start + length {
        let mut changed = whole.clone();
        *changed.get_mut(at).unwrap() ^= 1;
        std::fs::write(&path, &changed).unwrap();
        assert_eq!(first_bad(&path).0, 3, "byte {at}");
    }
}

#[test]
fn a_changed_decision_is_a_hash_mismatch() {
    let folder = Folder::new();
    let path = folder.journal_of(5);
    let mut lines = lines_of(&path);
    let line = lines.get_mut(2).unwrap();
    *line = line.replace(r#""decision":"allow""#, r#""decision":"deny""#);
    write_lines(&path, &lines);
    assert_eq!(first_bad(&path), (3, "hash mismatch"));
}

#[test]
fn a_deleted_line_is_a_gap() {
    for deleted in 0..4 {
        let folder = Folder::new();
        let path = folder.journal_of(5);
        let mut lines = lines_of(&path);
        lines.remove(deleted);
        write_lines(&path, &lines);
        let line = u64::try_from(deleted).unwrap() + 1;
        assert_eq!(first_bad(&path), (line, "sequence gap"));
    }
}

#[test]
fn two_swapped_lines_are_a_gap() {
    let folder = Folder::new();
    let path = folder.journal_of(5);
    let mut lines = lines_of(&path);
    lines.swap(1, 3);
    write_lines(&path, &lines);
    assert_eq!(first_bad(&path), (2, "sequence gap"));
}

#[test]
fn an_inserted_line_is_named() {
    let cases = [
        ("hello".to_owned(), "not json"),
        (String::new(), "not json"),
        (r#"{"v":2,"seq":3}"#.to_owned(), "unknown version"),
        (r#"{"v":1,"seq":3}"#.to_owned(), "not json"),
    ];
    for (inserted, expected) in cases {
        let folder = Folder::new();
        let path = folder.journal_of(5);
        let mut lines = lines_of(&path);
        lines.insert(2, inserted);
        write_lines(&path, &lines);
        assert_eq!(first_bad(&path), (3, expected));
    }
    let folder = Folder::new();
    let path = folder.journal_of(5);
    let mut lines = lines_of(&path);
    lines.insert(2, lines.get(1).unwrap().clone());
    write_lines(&path, &lines);
    assert_eq!(first_bad(&path), (3, "sequence gap"));
}

#[test]
fn a_line_that_was_forged_with_its_hash_shows_in_the_next() {
    let folder = Folder::new();
    let path = folder.journal_of(5);
    let mut lines = lines_of(&path);
    let before: Record = serde_json::from_str(lines.get(1).unwrap()).unwrap();
    let link = Link { seq: before.seq, hash: before.hash };
    let forged = chain::line_after(&link, SystemTime::now(), &verdict("forged")).unwrap().0;
    *lines.get_mut(2).unwrap() = String::from_utf8(forged).unwrap();
    write_lines(&path, &lines);
    assert_eq!(first_bad(&path), (4, "prev mismatch"));
}

#[test]
fn a_torn_last_line_is_named() {
    let folder = Folder::new();
    let path = folder.journal_of(5);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, whole.get(..whole.len() - 1).unwrap()).unwrap();
    assert_eq!(first_bad(&path), (5, "torn"));
}

/// What a chain cannot show; the docs say so.
#[test]
fn a_tail_that_was_cut_between_lines_verifies_with_another_head() {
    let folder = Folder::new();
    let path = folder.journal_of(5);
    let head = verified(&path).head;
    let mut lines = lines_of(&path);
    lines.truncate(3);
    write_lines(&path, &lines);
    let summary = verified(&path);
    assert_eq!(summary.entries, 3);
    assert_ne!(summary.head, head);
}

#[test]
fn a_line_beyond_the_cap_is_named_and_the_rest_is_read() {
    let folder = Folder::new();
    let path = folder.journal_of(3);
    let mut lines = lines_of(&path);
    lines.insert(1, "x".repeat(3 << 20));
    write_lines(&path, &lines);
    assert_eq!(first_bad(&path), (2, "too long"));
    let read: Vec<bool> = audit::read(&path).unwrap().map(|record| record.is_ok()).collect();
    assert_eq!(read, [true, false, true, true]);
}

#[test]
fn reading_goes_on_after_a_bad_line() {
    let folder = Folder::new();
    let path = folder.journal_of(5);
    let mut lines = lines_of(&path);
    *lines.get_mut(1).unwrap() = "hello".to_owned();
    lines.remove(3);
    write_lines(&path, &lines);
    let read: Vec<Option<u64>> =
        audit::read(&path).unwrap().map(|record| record.ok().map(|record| record.seq)).collect();
    assert_eq!(read, [Some(1), None, Some(3), None]);
}

#[test]
fn nothing_is_appended_to_an_end_that_does_not_verify() {
    let folder = Folder::new();
    let path = folder.journal_of(3);
    let mut lines = lines_of(&path);
    let line = lines.get_mut(2).unwrap();
    *line = line.replace("allow", "deny");
    write_lines(&path, &lines);
    let error = open(&path).append(&verdict("late")).unwrap_err();
    assert!(error.to_string().contains(message!("sink.append-journal-end-changed")), "{error}");
    assert!(
        matches!(error, JournalError::Tampered { source, .. } if kind(&source) == "hash mismatch")
    );
    assert_eq!(lines_of(&path), lines);
}

#[test]
fn an_open_journal_notices_lines_that_do_not_follow_from_its_own() {
    let folder = Folder::new();
    let journal = open(&folder.journal());
    journal.append(&verdict("one")).unwrap();
    let mut lines = lines_of(&folder.journal());
    lines.push(lines.first().unwrap().clone());
    write_lines(&folder.journal(), &lines);
    let error = journal.append(&verdict("two")).unwrap_err();
    assert!(
        matches!(error, JournalError::Tampered { source, .. } if kind(&source) == "sequence gap")
    );
}

#[test]
fn an_open_journal_notices_a_cut_tail() {
    let folder = Folder::new();
    let journal = open(&folder.journal());
    journal.append(&verdict("one")).unwrap();
    journal.append(&verdict("two")).unwrap();
    let mut lines = lines_of(&folder.journal());
    lines.pop();
    write_lines(&folder.journal(), &lines);
    let error = journal.append(&verdict("three")).unwrap_err();
    assert!(matches!(error, JournalError::Shrunk { .. }), "{error:?}");
    assert_eq!(lines_of(&folder.journal()), lines);
}

#[test]
fn a_file_that_is_no_journal_is_left_as_it_is() {
    for notes in ["my notes", "my notes\n", "{\"v\":1,\"sequel\"", "\n"] {
        let folder = Folder::new();
        std::fs::write(folder.journal(), notes).unwrap();
        let error = open(&folder.journal()).append(&verdict("one")).unwrap_err();
        assert!(matches!(error, JournalError::Tampered { .. }), "{error:?}");
        assert_eq!(std::fs::read_to_string(folder.journal()).unwrap(), notes);
    }
}
