//! A torn last line is cut off and put on record, and nothing else is lost.

use stockade::journal::audit;
use stockade::journal::chain::hash_of;
use stockade::journal::record::{Event, Repair};

use crate::sample::{Folder, lines_of, open, verdict, verified};

#[test]
fn a_line_torn_at_any_byte_is_repaired_by_the_next_entry() {
    let folder = Folder::new();
    let path = folder.journal_of(3);
    let whole = std::fs::read(&path).unwrap();
    let kept = lines_of(&path).iter().take(2).map(|line| line.len() + 1).sum::<usize>();
    for end in kept + 1..whole.len() {
        std::fs::write(&path, whole.get(..end).unwrap()).unwrap();
        let entry = open(&path).append(&verdict("after")).unwrap();
        let fragment = whole.get(kept..end).unwrap();
        let expected = Repair {
            dropped_bytes: u64::try_from(fragment.len()).unwrap(),
            dropped_sha256: hash_of(fragment),
        };
        let events: Vec<Event> =
            audit::read(&path).unwrap().map(|record| record.unwrap().event).collect();
        let after =
            [verdict("call-0"), verdict("call-1"), Event::Repaired(expected), verdict("after")];
        assert_eq!((entry.seq(), events.as_slice()), (4, after.as_slice()), "torn at {end}");
        assert!(std::fs::read(&path).unwrap().starts_with(whole.get(..kept).unwrap()));
    }
}

#[test]
fn a_torn_first_line_is_repaired() {
    let folder = Folder::new();
    let path = folder.journal_of(1);
    let whole = std::fs::read(&path).unwrap();
    for end in [1, 5, 20, whole.len() - 1] {
        std::fs::write(&path, whole.get(..end).unwrap()).unwrap();
        assert_eq!(open(&path).append(&verdict("after")).unwrap().seq(), 2);
        assert_eq!(verified(&path).entries, 2);
    }
    std::fs::write(&path, [0; 300]).unwrap();
    assert_eq!(open(&path).append(&verdict("after")).unwrap().seq(), 2);
}

#[test]
fn an_open_journal_repairs_what_another_process_tore() {
    let folder = Folder::new();
    let journal = open(&folder.journal());
    journal.append(&verdict("one")).unwrap();
    let mut bytes = std::fs::read(folder.journal()).unwrap();
    bytes.extend_from_slice(br#"{"v":1,"seq":2,"ti"#);
    std::fs::write(folder.journal(), bytes).unwrap();
    assert_eq!(journal.append(&verdict("two")).unwrap().seq(), 3);
    assert_eq!(verified(&folder.journal()).entries, 3);
}

#[test]
fn a_last_line_longer_than_one_read_is_found() {
    for length in [4_000, 5_000, 70_000, 900_000] {
        let folder = Folder::new();
        open(&folder.journal()).append(&verdict("short")).unwrap();
        open(&folder.journal()).append(&verdict(&"x".repeat(length))).unwrap();
        assert_eq!(open(&folder.journal()).append(&verdict("short")).unwrap().seq(), 3);
        assert_eq!(verified(&folder.journal()).entries, 3);
    }
}
