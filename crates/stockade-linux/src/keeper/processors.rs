//! The processor of the host, which a box keeps away from while it is made: some schedulers put who is
//! woken beside who wakes it, and there it would wait until that sleeps.

#![expect(clippy::as_conversions, reason = "the number of a processor is small")]

use core::sync::atomic::{AtomicU64, Ordering};

use super::sys;

/// Its number, plus one; zero if there is none.
static LEFT: AtomicU64 = AtomicU64::new(0);

/// Notes the processor that this process has left, for itself and for all that it forks.
pub(crate) fn note_left(number_plus_one: u64) {
    LEFT.store(number_plus_one, Ordering::Relaxed);
}

/// Lets others run that wait for this processor, and goes on at another if there is one.
pub(crate) fn leave() {
    let others = sys::processor().ok().and_then(|here| others_than(here as u64));
    if others.is_none_or(|others| sys::use_processors(&others).is_err()) {
        sys::step_aside();
    }
}

/// Uses the processor again that was left. If that cannot be there are only fewer to choose from.
pub(crate) fn use_all() {
    let Some(number) = LEFT.load(Ordering::Relaxed).checked_sub(1) else { return };
    let mut processors = [0; sys::PROCESSOR_WORDS];
    if sys::processors(&mut processors).is_ok() {
        let (at, bit) = place_of(number);
        if let Some(part) = processors.get_mut(at) {
            *part |= bit;
        }
        let _fewer = sys::use_processors(&processors);
    }
}

/// The processors that this process may use, without this one; none if none is left.
fn others_than(number: u64) -> Option<[u64; sys::PROCESSOR_WORDS]> {
    let mut processors = [0; sys::PROCESSOR_WORDS];
    sys::processors(&mut processors).ok()?;
    let (at, bit) = place_of(number);
    *processors.get_mut(at)? &= !bit;
    processors.iter().any(|part| *part != 0).then_some(processors)
}

fn place_of(number: u64) -> (usize, u64) {
    const BITS: u64 = u64::BITS as u64;
    ((number / BITS) as usize, 1 << (number % BITS))
}
