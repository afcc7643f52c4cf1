//! Where a box runs. It keeps away from the host's processor while it is made: some schedulers put who is
//! woken beside who wakes it, and there it would wait until that sleeps. Its program runs where the host
//! may.

#![expect(clippy::as_conversions, reason = "the number of a processor is small")]

use core::sync::atomic::{AtomicU64, Ordering};

use super::sys;
use super::wire::PROCESSOR_WORDS;

pub(crate) type Processors = [u64; PROCESSOR_WORDS];

/// All that this process may use, and all that it forks; none if nothing was left.
static ALL: [AtomicU64; PROCESSOR_WORDS] = [const { AtomicU64::new(0) }; PROCESSOR_WORDS];

/// The processor of the host when it started the keeper, plus one; zero if it is not known.
static LEFT: AtomicU64 = AtomicU64::new(0);

/// Notes the processors of this process, and the one that it was told to leave, plus one; zero if there
/// is none.
pub(crate) fn note_left(number_plus_one: u64) {
    if let Some(left) = number_plus_one.checked_sub(1)
        && let Some(mut all) = own()
    {
        let (at, bit) = place_of(left);
        if let Some(part) = all.get_mut(at) {
            *part |= bit;
        }
        LEFT.store(number_plus_one, Ordering::Relaxed);
        note(&all);
    }
}

/// Notes the processors of this process, which others may have it leave for a while.
pub(crate) fn note_all() {
    if let Some(all) = own() {
        note(&all);
    }
}

/// Notes the processors of this process if none are noted: it was not told to leave any, and others are
/// about to have it leave some.
pub(crate) fn note_all_once() {
    if !is_any(&noted()) {
        note_all();
    }
}

/// Uses all that were noted.
pub(crate) fn use_all() {
    use_these(&noted());
}

fn noted() -> Processors {
    ALL.each_ref().map(|part| part.load(Ordering::Relaxed))
}

/// Uses these, if there are any. If that cannot be it stays with those that it has.
pub(crate) fn use_these(processors: &Processors) {
    if is_any(processors) {
        let _as_before = sys::use_processors(processors);
    }
}

/// Goes to the processor of the host, which it had to leave, and from there wherever it is sent. Not if it
/// goes before others: one like it could keep it from running there.
pub(crate) fn go_to_host() {
    let left = own().map(|own| without(&noted(), &own));
    if let Some(left) = left.filter(is_any).filter(|_| sys::is_scheduled_normally()) {
        // One that is gone by now is no loss.
        let _stays = sys::use_processors(&left);
        use_all();
    }
}

/// Lets the host run if it waits for this processor, and goes on at another if there is one.
pub(crate) fn leave_to_host() {
    let here = sys::processor().ok().map(|here| here as u64);
    if of_host().is_some_and(|of_host| Some(of_host) != here) {
        return;
    }
    let others = here.and_then(others_than);
    if others.is_none_or(|others| sys::use_processors(&others).is_err()) {
        sys::step_aside();
    }
}

fn of_host() -> Option<u64> {
    LEFT.load(Ordering::Relaxed).checked_sub(1)
}

/// The processors that this process may use, without this one; none if none is left.
fn others_than(number: u64) -> Option<Processors> {
    let mut others = own()?;
    let (at, bit) = place_of(number);
    *others.get_mut(at)? &= !bit;
    is_any(&others).then_some(others)
}

fn own() -> Option<Processors> {
    let mut processors = [0; PROCESSOR_WORDS];
    sys::processors(&mut processors).ok().map(|()| processors)
}

fn note(all: &Processors) {
    for (place, part) in ALL.iter().zip(all) {
        place.store(*part, Ordering::Relaxed);
    }
}

fn without(all: &Processors, some: &Processors) -> Processors {
    let mut rest = *all;
    for (part, taken) in rest.iter_mut().zip(some) {
        *part &= !taken;
    }
    rest
}

fn is_any(processors: &Processors) -> bool {
    processors.iter().any(|part| *part != 0)
}

fn place_of(number: u64) -> (usize, u64) {
    const BITS: u64 = u64::BITS as u64;
    ((number / BITS) as usize, 1 << (number % BITS))
}
