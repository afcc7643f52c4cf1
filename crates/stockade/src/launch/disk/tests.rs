//! Who is blamed for a full disk, and when somebody is asked again.

use super::*;

const MOST: Growth = Growth { bytes: 1000, files: 10 };

fn disk() -> Disk {
    let limits = Limits { disk: Some(ByteCount::bytes(1000)), files: Some(10), ..Limits::EXEC };
    Disk::before(std::iter::empty(), &limits).unwrap().unwrap()
}

fn made(bytes: u64, files: u64) -> RunUsage {
    RunUsage { made: Growth { bytes, files }, ..RunUsage::default() }
}

#[test]
fn nobody_is_watched_without_a_limit() {
    let limits = Limits { disk: None, files: None, ..Limits::EXEC };
    assert!(Disk::before(std::iter::empty(), &limits).unwrap().is_none());
}

#[test]
fn the_run_is_blamed_for_what_it_has_added_and_for_what_cannot_be_seen() {
    let disk = disk();
    let over = Growth { bytes: 1001, files: 11 };
    assert_eq!(disk.judge(made(1001, 0), Growth::default()), Some(LimitHit::Disk));
    assert_eq!(disk.judge(made(0, 11), Growth::default()), Some(LimitHit::Files));
    let changed = RunUsage { changed_bytes: 400, ..made(700, 5) };
    assert_eq!(disk.judge(changed, over), Some(LimitHit::Disk));
    let unseen = RunUsage { doubt: true, ..RunUsage::default() };
    assert_eq!(disk.judge(unseen, over), Some(LimitHit::Disk));
    assert_eq!(disk.judge(unseen, Growth { bytes: 0, files: 11 }), Some(LimitHit::Files));
    // Another has filled it; or nothing has grown, though much was changed or cannot be seen.
    assert_eq!(disk.judge(made(1000, 10), over), None);
    assert_eq!(disk.judge(RunUsage { changed_bytes: 5000, ..made(0, 0) }, MOST), None);
    assert_eq!(disk.judge(unseen, MOST), None);
}

#[test]
fn the_next_question_comes_when_the_run_could_be_over_its_limit() {
    let grown = Growth { bytes: 7000, files: 70 };
    let due = disk().room_after(RunUsage { changed_bytes: 100, ..made(300, 9) }, grown);
    assert_eq!(due, Growth { bytes: 7600, files: 71 });
}
