//! The scheduler slice of our own processes. They run briefly and hand over to each other. With a
//! slice as long as that of others, each would wait for a full slice on a busy CPU; with a short
//! one they get no more time, but get it sooner.

use core::sync::atomic::{AtomicU64, Ordering};

use super::sys::Scheduling;

/// The shortest that the kernel has.
const SHORT_NS: u64 = 100_000;

/// The slice of the host, which the program gets. Zero leaves it to the kernel.
static USUAL_NS: AtomicU64 = AtomicU64::new(0);

/// Requests short slices for this process and its children. Best effort: honoured since Linux 6.12.
pub(crate) fn set_short() {
    let Some(given) = Scheduling::of_ordinary() else { return };
    // A custom slice cannot be read as such; it is one if it differs from the kernel's default.
    take(0);
    if Scheduling::of_ordinary().is_some_and(|kernels| kernels.turn_ns != given.turn_ns) {
        USUAL_NS.store(given.turn_ns, Ordering::Relaxed);
    }
    take(SHORT_NS);
}

/// Restores the slice of the host.
pub(crate) fn restore() {
    take(USUAL_NS.load(Ordering::Relaxed));
}

fn take(turn_ns: u64) {
    if let Some(mut own) = Scheduling::of_ordinary() {
        own.turn_ns = turn_ns;
        let _as_before = own.choose();
    }
}
