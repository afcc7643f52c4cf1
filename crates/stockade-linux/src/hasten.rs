//! A keeper that is spawned before it is known what for.

use std::os::fd::AsFd;
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::booting::Booting;
use crate::control::Line;
use crate::{elsewhere, keeper};

/// The keeper, and the process that has it: a fork has none.
static HASTENED: Mutex<Option<(u32, Booting)>> = Mutex::new(None);

/// Starts a keeper, in a thread, for the first program or box that this process will ask for. For a
/// command, which has its arguments and a policy to read before it knows what that is. If it cannot be
/// had it is started when it is needed; if nobody asks, it ends with this process.
pub fn hasten() {
    let mut hastened = lock();
    if hastened.is_some() {
        return;
    }
    let Ok((control, far)) = Line::pair() else { return };
    let thread = elsewhere::begin(move || keeper::spawn(far.as_fd()));
    *hastened = thread.map(|thread| (process::id(), Booting::coming(control, thread)));
}

/// Whether there is one.
pub(crate) fn is_there() -> bool {
    lock().is_some()
}

/// The keeper, for who is the first to ask.
pub(crate) fn taken() -> Option<Booting> {
    let (owner, booting) = lock().take()?;
    if owner == process::id() {
        return Some(booting);
    }
    // It is that of the process which has forked this one, as is the thread.
    std::mem::forget(booting);
    None
}

fn lock() -> MutexGuard<'static, Option<(u32, Booting)>> {
    HASTENED.lock().unwrap_or_else(PoisonError::into_inner)
}
