//! Whether a launch costs a large host more than a small one.

use std::time::Duration;

use crate::ground::Ground;
use crate::launches::{bare, library};
use crate::stats::{Row, Spread, in_turn, ratio, rounds};
use crate::table::{Table, at_most, millis};

const BALLAST_BYTES: usize = 1 << 30;
const MOST: f64 = 1.2;
/// The host grows and shrinks so often, so that a slow moment does not hit one size alone.
const TURNS: usize = 4;

pub(crate) fn measure(ground: &Ground) -> String {
    let mut rows = vec![bare()];
    rows.extend(library(ground));
    let rounds = rounds().div_ceil(TURNS);
    let (mut small, mut large) = (Vec::new(), Vec::new());
    for _turn in 0..TURNS {
        small.push(in_turn(&mut rows, rounds));
        let ballast = std::hint::black_box(vec![1_u8; BALLAST_BYTES]);
        large.push(in_turn(&mut rows, rounds));
        drop(ballast);
    }
    let head =
        ["launch", "small host, ms", "p99, ms", "1 GiB resident, ms", "p99, ms", "small = 1", ""];
    let mut table = Table::new(&head);
    for (at, contestant) in rows.iter().enumerate() {
        let (small, large) = (middle(&small, at), middle(&large, at));
        let times = ratio(large.median, small.median);
        let name = &contestant.rows[0].name;
        table.row([
            name.clone(),
            millis(small.median),
            millis(small.p99),
            millis(large.median),
            millis(large.p99),
            format!("{times:.2}"),
            format!("≤ {MOST}: {}", at_most(times, MOST)),
        ]);
    }
    table.to_string()
}

/// One row over all turns: the middle of the medians, the middle of the p99s.
fn middle(turns: &[Vec<(Row, Spread)>], at: usize) -> Spread {
    let of = |part: fn(&Spread) -> Duration| {
        Spread::of(turns.iter().map(|turn| part(&turn[at].1)).collect()).median
    };
    Spread { median: of(|spread| spread.median), p99: of(|spread| spread.p99) }
}
