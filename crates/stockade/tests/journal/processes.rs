//! Several processes on one journal, and one that is killed.

use std::time::{Duration, Instant};

use stockade::journal::audit;

use crate::child;
use crate::sample::{Folder, lines_of, open, tell, verdict, verified};

#[test]
fn eight_processes_append_two_hundred_entries_each_without_a_gap() {
    let folder = Folder::new();
    let started = Instant::now();
    let mut running: Vec<_> = (0..8).map(|_| child::start("200", &folder.journal())).collect();
    let mut reads = 0;
    while !running.is_empty() {
        running.retain_mut(|child| match child.ended() {
            Some(well) => {
                assert!(well);
                false
            }
            None => true,
        });
        // A reader among the writers never sees a line that is half written.
        if folder.journal().exists() {
            verified(&folder.journal());
            reads += 1;
        }
    }
    tell(&format!("8 processes x 200 entries: {:?}, verified {reads} times", started.elapsed()));
    assert_eq!(verified(&folder.journal()).entries, 1600);
}

#[test]
fn a_killed_process_costs_at_most_the_line_it_was_writing() {
    let folder = Folder::new();
    for round in 0..10 {
        let before = if round == 0 { 0 } else { lines_of(&folder.journal()).len() };
        let child = child::start("endless", &folder.journal());
        while !folder.journal().exists() || lines_of(&folder.journal()).len() < before + 20 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let seen = std::fs::read(folder.journal()).unwrap();
        child.kill();
        open(&folder.journal()).append(&verdict("after")).unwrap();
        let whole = seen.iter().rposition(|byte| *byte == b'\n').unwrap();
        let after = std::fs::read(folder.journal()).unwrap();
        assert!(after.starts_with(seen.get(..whole).unwrap()));
        verified(&folder.journal());
    }
    assert!(audit::read(&folder.journal()).unwrap().all(|record| record.is_ok()));
}

#[test]
fn a_process_at_its_file_size_limit_gets_an_error_and_leaves_a_whole_journal() {
    let folder = Folder::new();
    assert!(child::start("limited", &folder.journal()).wait());
}
