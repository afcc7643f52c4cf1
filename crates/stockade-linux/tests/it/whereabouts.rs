//! On which processors programs run.

use std::fs;
use std::time::Duration;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use stockade_linux::{Program, Ready, Spec, Status, Stdin, Warmth, Yard, start};

use crate::boxes::closed;
use crate::early::LIMITS;
use crate::support::{finish, shell, skip, within};

/// A box is made when the host may use some processors, and its program runs when it may use others.
#[test]
fn a_program_may_use_those_of_the_thread_that_runs_it_whenever_its_box_was_made() {
    let all = sched_getaffinity(None).unwrap();
    let numbers: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|number| all.is_set(*number)).collect();
    let [one, other, ..] = numbers[..] else { return skip("there is one processor only") };
    for spares in [0, 1] {
        let yard = Yard::new(Warmth::Warm { spares });
        // They are a thread's.
        std::thread::scope(|scope| {
            let seen = scope.spawn(|| {
                let sets = [only(one), only(other), all, only(one), all];
                // The first of them are made from nothing, and the others in all ways.
                sets.repeat(4).iter().map(|set| differs(&yard, set)).collect::<Vec<_>>()
            });
            assert_eq!(seen.join().unwrap().into_iter().flatten().collect::<Vec<_>>(), [""; 0]);
        });
    }
}

/// What ends a box is kept off this processor when its program seems to end, if nobody else waits for it.
#[test]
fn a_box_that_is_waited_for_ends_on_another_processor() {
    if sched_getaffinity(None).unwrap().count() < 2 {
        return skip("there is one processor only");
    }
    for (warmth, makes_way) in [(Warmth::Cold, true), (Warmth::Warm { spares: 0 }, false)] {
        let ready = Yard::new(warmth).ready(closed("/bin/sh"), LIMITS).unwrap();
        let first = Pid::from_raw(ready.pid());
        let cat = Spec { stdin: Stdin::Piped, ..shell("cat") };
        let mut running = ready.run(Program::new(cat, c"/bin/sh", c"/")).unwrap();
        // It may have been brought to this one for a moment.
        let all = sched_getaffinity(None).unwrap().count();
        let used = || sched_getaffinity(first).unwrap().count();
        assert!(within(Duration::from_secs(10), || used() == all), "{warmth:?}");
        // Only then it goes wherever it is sent, for which there is no sign.
        let makes_way_now = || {
            running.make_way();
            used() < all
        };
        let time = Duration::from_secs(if makes_way { 10 } else { 1 });
        assert_eq!(within(time, makes_way_now), makes_way, "{warmth:?}");
        drop(running.take_stdin());
        assert_eq!(finish(&mut running).0.status, Status::Code(0));
    }
}

fn only(number: usize) -> CpuSet {
    let mut set = CpuSet::new();
    set.set(number);
    set
}

/// What differs between this thread, which may use these, and its programs.
fn differs(yard: &Yard, set: &CpuSet) -> Vec<String> {
    sched_setaffinity(None, set).unwrap();
    let own = allowed(&fs::read_to_string("/proc/thread-self/status").unwrap());
    let ready = yard.ready(closed("/bin/sh"), LIMITS).unwrap();
    let origin = ready.origin();
    let boxed = allowed(&output(ready));
    let plain = allowed(&finish(&mut start(shell(STATUS)).unwrap()).1);
    let seen = [(format!("{origin:?}"), boxed), ("no box".to_owned(), plain)];
    let others = seen.into_iter().filter(|(_, seen)| *seen != own);
    others.map(|(way, seen)| format!("{way}: {seen:?}, and not {own:?}")).collect()
}

const STATUS: &str = "cat /proc/self/status";

fn output(ready: Ready) -> String {
    finish(&mut ready.run(Program::new(shell(STATUS), c"/bin/sh", c"/")).unwrap()).1
}

fn allowed(status: &str) -> String {
    status.lines().find(|line| line.starts_with("Cpus_allowed:")).unwrap_or("none").to_owned()
}
