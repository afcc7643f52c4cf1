//! Runs per second with several in flight.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use stockade::launch::PoolSize;
use stockade::tier::Tier;

use crate::floor::Floor;
use crate::ground::{Ground, PROGRAM, call, in_tier, spawn};
use crate::peers::{self, BUBBLEWRAP};
use crate::stats::throughput_time;
use crate::table::Table;

const IN_FLIGHT: [usize; 3] = [2, 8, 32];
/// Each time is taken in pieces, in turn with the others.
const PIECES: u32 = 4;
/// Judged, recorded and watched, but in no box: what is left if a box cost nothing.
const UNBOXED: &str = "library, process tier: no box";

/// Something that is done over and over, so many at once and so long: how often in a second.
type Doing<'a> = (String, Box<dyn Fn(usize, Duration) -> f64 + 'a>);

pub(crate) fn measure(ground: &Ground) -> String {
    let warm = |name: &str, spares| ground.open_warm(name, PoolSize::Templates { spares });
    let (copied, waiting) = (warm("flight-copied", 0), warm("flight-waiting", 2));
    let unboxed = ground.open("flight-unboxed", in_tier(Tier::Process));
    let mut doings: Vec<Doing<'_>> = vec![
        from_threads("bare spawn", || spawn(&[PROGRAM])),
        from_threads(UNBOXED, || call(&unboxed)),
        from_threads("**library, copies of the template**", || call(&copied)),
        from_threads("**library, two boxes wait**", || call(&waiting)),
    ];
    doings.extend(Floor::build(ground).ok().map(|floor| -> Doing<'_> {
        let name = "the floor: boxes in C that share an empty network".to_owned();
        (name, Box::new(move |in_flight, time| floor.per_second(in_flight, time)))
    }));
    let bubblewrap = peers::found(ground).0.into_iter().find(|peer| peer.name == BUBBLEWRAP);
    doings.extend(bubblewrap.map(|peer| from_threads(peer.name, move || spawn(&peer.argv))));
    let head = ["runs per second", "2 in flight", "8 in flight", "32 in flight", "bwrap = 1"];
    let mut table = Table::new(&head);
    let figures: Vec<Vec<f64>> = IN_FLIGHT.map(|width| in_pieces(&doings, width)).into();
    let peer = doings.iter().position(|(name, _)| name == BUBBLEWRAP);
    for (at, (name, _)) in doings.iter().enumerate() {
        let one = |width: usize| format!("{:.0}", figures[width][at]);
        let against: Option<Vec<f64>> =
            peer.map(|peer| figures.iter().map(|figures| figures[at] / figures[peer]).collect());
        let shown = against.iter().flatten().map(|times| format!("{times:.1}"));
        let shown: Vec<String> = shown.collect();
        table.row([name.clone(), one(0), one(1), one(2), shown.join(", ")]);
    }
    table.to_string()
}

/// Runs per second of each, in pieces that take turns.
fn in_pieces(doings: &[Doing<'_>], in_flight: usize) -> Vec<f64> {
    let mut all = vec![0.0; doings.len()];
    for _piece in 0..PIECES {
        for (sum, (_, per_second)) in all.iter_mut().zip(doings) {
            *sum += per_second(in_flight, throughput_time() / PIECES) / f64::from(PIECES);
        }
    }
    all
}

/// What each of many threads does over and over.
fn from_threads<'a>(name: &str, once: impl Fn() + Sync + 'a) -> Doing<'a> {
    let per_second = move |in_flight, time| per_second(in_flight, time, &once);
    (name.to_owned(), Box::new(per_second))
}

fn per_second(in_flight: usize, time: Duration, once: &(dyn Fn() + Sync)) -> f64 {
    let (done, begun) = (AtomicU32::new(0), Instant::now());
    thread::scope(|scope| {
        for _thread in 0..in_flight {
            scope.spawn(|| {
                while begun.elapsed() < time {
                    once();
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    f64::from(done.into_inner()) / begun.elapsed().as_secs_f64()
}
