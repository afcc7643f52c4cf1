//! Medians and p99 of times that are taken in turn, round by round.

use std::time::{Duration, Instant};

/// The middle and the slow end of many times.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spread {
    pub(crate) median: Duration,
    pub(crate) p99: Duration,
}

impl Spread {
    pub(crate) fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |part: usize| times.get(times.len() * part / 100).copied().unwrap_or_default();
        Self { median: at(50), p99: at(99) }
    }
}

/// How many rounds, unless a part needs fewer.
pub(crate) fn rounds() -> usize {
    number("STOCKADE_BENCH_ROUNDS", 300)
}

/// How long each measurement of throughput takes.
pub(crate) fn throughput_time() -> Duration {
    Duration::from_millis(u64::try_from(number("STOCKADE_BENCH_MILLIS", 2_000)).unwrap())
}

fn number(variable: &str, usual: usize) -> usize {
    std::env::var(variable).map_or(usual, |text| text.parse().unwrap())
}

/// How long something takes.
pub(crate) fn timed(once: impl FnOnce()) -> Duration {
    let started = Instant::now();
    once();
    started.elapsed()
}

/// One time over another.
pub(crate) fn ratio(one: Duration, other: Duration) -> f64 {
    if other.is_zero() { f64::NAN } else { one.as_secs_f64() / other.as_secs_f64() }
}

/// Something that is measured in turn with others; a round of it gives one time or several.
pub(crate) struct Contestant<'a> {
    pub(crate) rows: Vec<Row>,
    pub(crate) once: Box<dyn FnMut() -> Vec<Duration> + 'a>,
}

/// One line of a table.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) target: Option<Target>,
}

/// What a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What can be reached at all.
    Floor,
    /// Stockade.
    Ours,
    /// A part of a launch, or what comes after one.
    Part,
    /// Another tool.
    Peer,
}

/// What a median must not be above.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    /// So many bare spawns.
    Bare(f64),
    /// So many runs of bubblewrap with an agent profile.
    Bubblewrap(f64),
}

impl<'a> Contestant<'a> {
    /// One with one line.
    pub(crate) fn new(
        name: impl Into<String>,
        kind: Kind,
        target: Option<Target>,
        mut once: impl FnMut() + 'a,
    ) -> Self {
        Self {
            rows: vec![Row { name: name.into(), kind, target }],
            once: Box::new(move || vec![timed(&mut once)]),
        }
    }
}

/// What one has left behind is cleared away in this time, by a yard or by the kernel, which takes a
/// network namespace apart later: the next one does not pay for it.
const REST: Duration = Duration::from_millis(5);

/// Measures all of them in turn, so that a slow moment hits each alike. A row for each line.
pub(crate) fn in_turn(contestants: &mut [Contestant<'_>], rounds: usize) -> Vec<(Row, Spread)> {
    const UNCOUNTED: usize = 5;
    let mut times: Vec<Vec<Vec<Duration>>> =
        contestants.iter().map(|one| vec![Vec::with_capacity(rounds); one.rows.len()]).collect();
    for round in 0..rounds + UNCOUNTED {
        for (contestant, times) in contestants.iter_mut().zip(&mut times) {
            std::thread::sleep(REST);
            let taken = (contestant.once)();
            assert_eq!(taken.len(), times.len());
            if round >= UNCOUNTED {
                times.iter_mut().zip(taken).for_each(|(times, time)| times.push(time));
            }
        }
    }
    let rows = contestants.iter().flat_map(|one| one.rows.iter().cloned());
    rows.zip(times.into_iter().flatten().map(Spread::of)).collect()
}
