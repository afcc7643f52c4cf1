//! How soon our own processes get their turn where all processors are busy. They run for a moment, and
//! hand over; with turns as long as those of others each would wait until one of those is over. With
//! short ones they get no more time, but sooner.

use core::sync::atomic::{AtomicU64, Ordering};

use super::sys::Scheduling;

/// The shortest that the kernel has.
const SHORT_NS: u64 = 100_000;

/// What a program gets: that of the host. Zero is what the kernel thinks best.
static USUAL_NS: AtomicU64 = AtomicU64::new(0);

/// Takes short turns from here on, as do all that this process forks. It is a wish, which is heard since
/// Linux 6.12.
pub(crate) fn shorten() {
    let Some(given) = Scheduling::of_ordinary() else { return };
    // Whether somebody has chosen them cannot be read; so it was, if they differ from the kernel's.
    take(0);
    if Scheduling::of_ordinary().is_some_and(|kernels| kernels.turn_ns != given.turn_ns) {
        USUAL_NS.store(given.turn_ns, Ordering::Relaxed);
    }
    take(SHORT_NS);
}

/// Takes turns as the host does.
pub(crate) fn as_usual() {
    take(USUAL_NS.load(Ordering::Relaxed));
}

fn take(turn_ns: u64) {
    if let Some(mut own) = Scheduling::of_ordinary() {
        own.turn_ns = turn_ns;
        let _as_before = own.choose();
    }
}
