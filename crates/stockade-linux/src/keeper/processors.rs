//! The processor of the host, which a keeper keeps away from while it makes a box: some schedulers put
//! who is woken beside who wakes it, and there it would wait until that sleeps.

#![expect(clippy::as_conversions, reason = "a small number of 32 bits becomes one of 64")]

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
    const BITS: usize = u64::BITS as usize;
    let mut processors = [0_u64; sys::PROCESSOR_WORDS];
    if let (Ok(here), Ok(())) = (sys::processor(), sys::processors(&mut processors)) {
        if let Some(part) = processors.get_mut(here / BITS) {
            *part &= !(1 << (here % BITS));
        }
        if processors.iter().any(|part| *part != 0) && sys::use_processors(&processors).is_ok() {
            return;
        }
    }
    sys::step_aside();
}

/// Uses it again. If that cannot be there are only fewer to choose from.
pub(crate) fn use_all() {
    const BITS: u64 = u64::BITS as u64;
    let Some(number) = LEFT.swap(0, Ordering::Relaxed).checked_sub(1) else { return };
    let mut processors = [0_u64; sys::PROCESSOR_WORDS];
    if sys::processors(&mut processors).is_err() {
        return;
    }
    if let Some(part) = processors.get_mut((number / BITS) as usize) {
        *part |= 1 << (number % BITS);
        let _fewer = sys::use_processors(&processors);
    }
}
