//! Who sees to what a run leaves behind, so that nobody waits for it.

use std::sync::{Arc, Mutex, PoisonError};

use super::crew::{Office, Work};
use super::stock::Model;
use crate::remains::Remains;

/// The duty of a yard towards a box that leaves it.
#[derive(Debug)]
pub(crate) enum Duty {
    /// A thread waits for its remains, and makes another one, and not before: two at once would be in
    /// each other's way. If there is no template yet, it is made by this description.
    Office(Arc<Office>, Option<Box<Model>>),
    /// They are put here, and waited for before the next box, or with the yard.
    Later(Pile),
}

/// What is waited for later.
pub(super) type Pile = Arc<Mutex<Vec<Remains>>>;

impl Duty {
    /// The program has begun, and nobody waits for its box any more.
    pub(crate) fn begin(&mut self) {
        match self {
            Self::Office(office, model) => {
                if let Some(model) = model.take() {
                    office.put(Work::Prepare(model));
                }
            }
            Self::Later(_) => {}
        }
    }

    /// Takes over what a run leaves behind.
    pub(crate) fn see_to(&self, remains: Remains) {
        match self {
            Self::Office(office, _) => office.see_to(remains),
            Self::Later(pile) => {
                pile.lock().unwrap_or_else(PoisonError::into_inner).push(remains);
            }
        }
    }
}

impl Drop for Duty {
    fn drop(&mut self) {
        self.begin();
        match self {
            Self::Office(office, _) => office.put(Work::Refill),
            Self::Later(_) => {}
        }
    }
}

/// Waits for all that was left.
pub(super) fn clear(pile: &Pile) {
    let left = std::mem::take(&mut *pile.lock().unwrap_or_else(PoisonError::into_inner));
    // The lock is free by now: this takes a while.
    drop(left);
}
