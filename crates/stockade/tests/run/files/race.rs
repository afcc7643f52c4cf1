//! A name that is changed between the judging and the opening, thousands of times.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use stockade::report::Body;
use stockade::{Stockade, ToolCall};

use super::call;
use crate::support::{Project, unboxed};

const ROUNDS: usize = 10_000;
const SPELLINGS: usize = 200;

/// A project in which `d` is now a folder and now a link out of it, as fast as one can.
fn with_swaps<T>(place: &Project, during: impl FnOnce() -> T) -> T {
    for (folder, content) in [("work/real", "INSIDE"), ("out", "OUTSIDE")] {
        fs::create_dir_all(place.beside(folder)).unwrap();
        fs::write(place.beside(folder).join("f"), content).unwrap();
    }
    fs::write(place.beside("out/only-outside"), "OUTSIDE").unwrap();
    let (path, done) = (place.path("d"), AtomicBool::new(false));
    let swap = |target: &Path, link: &Path| {
        let next = place.path("next");
        symlink(target, &next).unwrap();
        fs::rename(&next, link).unwrap();
    };
    swap(Path::new("real"), &path);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                swap(&place.beside("out"), &path);
                swap(Path::new("real"), &path);
            }
        });
        let result = during();
        done.store(true, Ordering::Relaxed);
        result
    })
}

fn open(place: &Project) -> Stockade {
    place.open(unboxed())
}

/// Makes a call in every round: none may reach what is outside, and for that to show something both
/// ways have to be met often enough, by calls that are done inside and by calls that are refused.
///
/// The link is spelled in so many ways that no refusal is like one of late: to count these takes longer
/// than the rest.
fn stays_inside(call: impl Fn(&str) -> ToolCall) {
    let place = Project::new();
    let stockade = open(&place);
    let (mut inside, mut refused, mut outside) = (0, 0, 0);
    with_swaps(&place, || {
        for round in 0..ROUNDS {
            let link = format!(".{}d", "/".repeat(1 + round % SPELLINGS));
            let report = stockade.run(call(&link));
            inside += usize::from(report.ok());
            match report.body {
                Body::Refused(refusal) => refused += usize::from(refusal.rule == "path/outside"),
                Body::Ran(outcome) => {
                    let told = String::from_utf8_lossy(&outcome.stdout.bytes);
                    outside += usize::from(told.contains("OUTSIDE") || told.contains("only-out"));
                }
                // It led elsewhere when it was opened than when it was judged.
                Body::Failed(_) => {}
            }
        }
    });
    assert_eq!(outside, 0);
    assert!(inside > ROUNDS / 100 && refused > ROUNDS / 100, "{inside} {refused}");
    assert_eq!(fs::read_to_string(place.beside("out/f")).unwrap(), "OUTSIDE");
    assert_eq!(fs::read_dir(place.beside("out")).unwrap().count(), 2);
}

#[test]
fn control_a_name_that_is_checked_and_then_opened_leads_outside() {
    let place = Project::new();
    let root = place.root();
    let started = Instant::now();
    let is_lost = with_swaps(&place, || {
        let loses = || {
            let link = fs::read_link(place.path("d"));
            let is_inside = link.is_ok_and(|to| root.join(to).starts_with(&root));
            let read = || fs::read_to_string(place.path("d/f"));
            is_inside && read().is_ok_and(|text| text == "OUTSIDE")
        };
        while started.elapsed() < Duration::from_secs(60) {
            if loses() {
                return true;
            }
        }
        false
    });
    assert!(is_lost, "the race was never lost, so that the other tests show nothing");
}

#[test]
fn reads_never_leave_the_root_while_a_link_is_swapped() {
    stays_inside(|d| ToolCall::read(format!("{d}/f")));
}

#[test]
fn writes_never_leave_the_root_while_a_link_is_swapped() {
    stays_inside(|d| ToolCall::write(format!("{d}/f"), "INSIDE"));
}

#[test]
fn new_folders_never_leave_the_root_while_a_link_is_swapped() {
    let made = AtomicUsize::new(0);
    stays_inside(|d| {
        let number = made.fetch_add(1, Ordering::Relaxed);
        ToolCall::write(format!("{d}/new-{number}/x"), "x")
    });
}

/// What is replaced is in the file outside as well.
#[test]
fn edits_never_leave_the_root_while_a_link_is_swapped() {
    stays_inside(|d| ToolCall::edit(format!("{d}/f"), "SIDE", "SIDE+"));
}

/// What is looked for is in the file outside as well.
#[test]
fn searches_in_files_never_leave_the_root_while_a_link_is_swapped() {
    stays_inside(|d| {
        call("Grep", &json!({"pattern": "SIDE", "path": d, "output_mode": "content"}))
    });
}

#[test]
fn searches_for_names_never_leave_the_root_while_a_link_is_swapped() {
    stays_inside(|d| call("Glob", &json!({"pattern": "*", "path": d})));
}

#[test]
fn many_writers_at_once_leave_one_whole_file() {
    let place = Project::new();
    let stockade = open(&place);
    std::thread::scope(|scope| {
        for writer in ["a", "b", "c", "d"] {
            let stockade = &stockade;
            scope.spawn(move || {
                for _ in 0..50 {
                    stockade.run(ToolCall::write("f", writer.repeat(10_000)));
                }
            });
        }
        for _ in 0..200 {
            if let Ok(text) = fs::read_to_string(place.path("f")) {
                let first = text.chars().next().unwrap();
                assert!(text.len() == 10_000 && text.chars().all(|one| one == first));
            }
        }
    });
    assert_eq!(fs::read_dir(place.root()).unwrap().count(), 1, "nothing of ours is left");
}
