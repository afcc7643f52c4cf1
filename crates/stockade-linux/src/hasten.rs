//! A keeper that is spawned before it is known what for.

use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::booting::Booting;

/// The keeper, and the process that has it: a fork has none.
static HASTENED: Mutex<Option<(u32, Booting)>> = Mutex::new(None);

/// Holds a keeper that was hastened, until somebody asks for it. Dropping it ends one that nobody has
/// asked for.
#[derive(Debug)]
#[must_use = "dropping it ends the keeper"]
pub struct Hastened(());

/// Starts a keeper for the first program or box that this process will ask for, and does not wait for
/// it. For a command, which has its arguments and a policy to read before it knows what that is. If it
/// cannot be had it is started when it is needed.
pub fn hasten() -> Hastened {
    let mut hastened = lock();
    if hastened.is_none() {
        *hastened = Booting::elsewhere().map(|booting| (process::id(), booting));
    }
    Hastened(())
}

impl Drop for Hastened {
    fn drop(&mut self) {
        drop(taken());
    }
}

/// The keeper, for who is the first to ask.
pub(crate) fn taken() -> Option<Booting> {
    let (owner, booting) = lock().take()?;
    if owner == process::id() {
        return Some(booting);
    }
    // It is that of the process which has forked this one.
    booting.leave_to_its_owner();
    None
}

fn lock() -> MutexGuard<'static, Option<(u32, Booting)>> {
    HASTENED.lock().unwrap_or_else(PoisonError::into_inner)
}
