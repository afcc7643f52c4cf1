//! Medians and worst cases of many rounds.

use std::time::{Duration, Instant};

/// The median and the 99th part in a hundred of so many rounds.
pub(crate) fn spread(rounds: usize, mut once: impl FnMut()) -> (Duration, Duration) {
    let mut times: Vec<Duration> = (0..rounds)
        .map(|_| {
            let started = Instant::now();
            once();
            started.elapsed()
        })
        .collect();
    times.sort_unstable();
    let at = |part: usize| {
        times.get(times.len().saturating_mul(part).div_euclid(100)).copied().unwrap_or_default()
    };
    (at(50), at(99))
}

/// As a number of microseconds.
pub(crate) fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
