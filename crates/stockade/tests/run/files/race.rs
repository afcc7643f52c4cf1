//! A name that is changed between the judging and the opening, ten thousand times.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use stockade::{Stockade, ToolCall};

use super::call;
use crate::support::{Project, json as as_json, text, unboxed};

const ROUNDS: usize = 10_000;

/// A project in which `d` is now a folder and now a link out of it, as fast as one can.
fn with_swaps<T>(place: &Project, during: impl FnOnce() -> T) -> T {
    for (folder, content) in [("work/real", "inside"), ("out", "OUTSIDE")] {
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

/// How often something was seen, of all rounds.
fn count(rounds: usize, mut seen: impl FnMut(usize) -> bool) -> usize {
    (0..rounds).filter(|round| seen(*round)).count()
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
    let place = Project::new();
    let stockade = open(&place);
    let (mut inside, mut refused) = (0, 0);
    let outside = with_swaps(&place, || {
        count(ROUNDS, |_| {
            let report = as_json(&stockade.run(ToolCall::read("d/f")));
            inside += usize::from(text(&report, "stdout") == "inside");
            refused += usize::from(text(&report, "rule") == "path/outside");
            text(&report, "stdout") == "OUTSIDE"
        })
    });
    assert_eq!(outside, 0);
    assert!(inside > ROUNDS / 100 && refused > ROUNDS / 100, "{inside} {refused}");
}

#[test]
fn writes_edits_and_searches_never_leave_the_root_while_a_link_is_swapped() {
    let place = Project::new();
    let stockade = open(&place);
    let mut done = 0;
    let left = with_swaps(&place, || {
        count(ROUNDS / 10, |round| {
            let calls = [
                ToolCall::write("d/f", format!("inside {round}")),
                ToolCall::edit("d/f", "inside", "INSIDE"),
                ToolCall::write(format!("d/new-{round}/x"), "x"),
                call("Grep", &json!({"pattern": "OUTSIDE", "path": "d"})),
                call("Glob", &json!({"pattern": "only-outside", "path": "d"})),
            ];
            calls.into_iter().any(|call| {
                let report = as_json(&stockade.run(call));
                done += usize::from(report["ok"] == json!(true));
                let is_search = report["tool"] == json!("Grep") || report["tool"] == json!("Glob");
                is_search && !text(&report, "stdout").is_empty()
            })
        })
    });
    assert_eq!(left, 0);
    assert!(done > ROUNDS / 100, "{done}");
    assert_eq!(fs::read_to_string(place.beside("out/f")).unwrap(), "OUTSIDE");
    assert_eq!(fs::read_dir(place.beside("out")).unwrap().count(), 2);
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
