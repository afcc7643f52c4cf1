//! The interpreters that wait for any call of one policy, and the thread that makes them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use stockade_linux::{Warmth, Yard};

use super::interpreter::Interpreter;
use super::place::Place;
use super::recipe::{Key, Recipe};
use crate::call::Language;

/// A call this late in an interpreter's life gets a new one: what the kernel or Python keep of
/// earlier calls does not add up without end.
const CALLS_MAX: u64 = 1000;

/// After so many that nobody could use, as where an interpreter does not survive its start, no more
/// are made.
const WASTED_MAX: u32 = 5;

/// What waits.
#[derive(Debug)]
pub(super) struct Stock {
    most: usize,
    shelves: Mutex<Shelves>,
    lent: AtomicU64,
}

#[derive(Debug, Default)]
struct Shelves {
    by_language: BTreeMap<Language, Shelf>,
    is_closed: bool,
    at_work: Vec<JoinHandle<()>>,
}

/// All of one language: those of one key, or none.
#[derive(Debug, Default)]
struct Shelf {
    recipe: Option<Arc<Recipe>>,
    idle: Vec<Interpreter>,
    /// Those that wait, work or are being made.
    there: usize,
    /// How many in a row were of no use to any call.
    wasted: u32,
}

impl Stock {
    pub(super) fn new(most: usize) -> Self {
        Self { most, shelves: Mutex::default(), lent: AtomicU64::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, Shelves> {
        // Whoever panicked with it left whole values.
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing will ever wait here.
    pub(super) fn is_closed_to_all(&self) -> bool {
        self.most == 0
    }

    pub(super) fn waiting(&self, language: Language) -> usize {
        self.lock().by_language.get(&language).map_or(0, |shelf| shelf.idle.len())
    }

    pub(super) fn lent(&self) -> u64 {
        self.lent.load(Ordering::Relaxed)
    }

    /// One that waits for such a call and can take it, with the place that it comes back to.
    pub(super) fn take(stock: &Arc<Self>, key: &Key) -> Option<(Interpreter, Place)> {
        let language = key.kind.language();
        let mut unfit = Vec::new();
        let found = loop {
            let mut shelves = stock.lock();
            let Some(shelf) = shelves.by_language.get_mut(&language) else { break None };
            if shelf.recipe.as_ref().is_some_and(|recipe| recipe.key != *key) {
                // No more of those; the call that finds none tells what is wanted now.
                shelf.recipe = None;
            }
            let Some(mut one) = shelf.idle.pop() else { break None };
            drop(shelves);
            let place = Place::in_stock(stock, language);
            if one.key != *key || one.has_retired() || !one.is_fit() {
                unfit.push((one, place));
            } else if one.is_ready_soon() {
                break Some((one, place));
            } else if one.has_retired() {
                unfit.push((one, place));
            } else {
                // It still removes what the last call left.
                place.fill(one);
                break None;
            }
        };
        stock.note(language, unfit.len(), found.is_some());
        if !unfit.is_empty() {
            // Their end takes a while, and others are made in their places.
            stock.work(move || drop(unfit));
        }
        let found = found?;
        stock.lent.fetch_add(1, Ordering::Relaxed);
        Some(found)
    }

    /// Remembers how many were of no use.
    fn note(&self, language: Language, unfit: usize, is_found: bool) {
        if let Some(shelf) = self.lock().by_language.get_mut(&language) {
            let more = u32::try_from(unfit).unwrap_or(u32::MAX);
            shelf.wasted = if is_found { 0 } else { shelf.wasted.saturating_add(more) };
        }
    }

    /// Puts one back after its call.
    pub(super) fn put_back(stock: &Arc<Self>, one: Interpreter) {
        let language = one.key.kind.language();
        let mut shelves = stock.lock();
        let is_closed = shelves.is_closed;
        let shelf = shelves.by_language.entry(language).or_default();
        if one.calls < CALLS_MAX && !is_closed {
            shelf.idle.push(one);
            return;
        }
        drop(shelves);
        let place = Place::in_stock(stock, language);
        stock.work(move || drop((one, place)));
    }

    /// One that was lent does not come back: another is made.
    pub(super) fn lose(stock: &Arc<Self>, language: Language) {
        let mut shelves = stock.lock();
        let Some(shelf) = shelves.by_language.get_mut(&language) else { return };
        shelf.there = shelf.there.saturating_sub(1);
        let recipe = shelf.recipe.clone();
        drop(shelves);
        if let Some(recipe) = recipe {
            Self::make(stock, recipe);
        }
    }

    /// Makes one for the calls after this one, if there is room.
    pub(super) fn prepare(stock: &Arc<Self>, recipe: Recipe) {
        let language = recipe.key.kind.language();
        let recipe = Arc::new(recipe);
        let mut shelves = stock.lock();
        let shelf = shelves.by_language.entry(language).or_default();
        let is_new = shelf.recipe.as_ref().is_none_or(|known| known.key != recipe.key);
        if is_new {
            shelf.recipe = Some(Arc::clone(&recipe));
            shelf.wasted = 0;
        }
        drop(shelves);
        Self::make(stock, recipe);
    }

    /// Makes one in a thread, if there is room for it.
    fn make(stock: &Arc<Self>, recipe: Arc<Recipe>) {
        let language = recipe.key.kind.language();
        let mut shelves = stock.lock();
        let (is_closed, most) = (shelves.is_closed, stock.most);
        let shelf = shelves.by_language.entry(language).or_default();
        if is_closed || shelf.there >= most || shelf.wasted > WASTED_MAX {
            return;
        }
        shelf.there = shelf.there.saturating_add(1);
        drop(shelves);
        let home = Arc::clone(stock);
        stock.work(move || {
            let made = Interpreter::make(&recipe, &Yard::new(Warmth::Cold));
            let mut shelves = home.lock();
            let is_closed = shelves.is_closed;
            let shelf = shelves.by_language.entry(language).or_default();
            match made {
                Ok(one) if !is_closed => shelf.idle.push(one),
                // Calls go on without; the next one that finds none tries again.
                Ok(_) | Err(_) => shelf.there = shelf.there.saturating_sub(1),
            }
        });
    }

    /// Does something in a thread that is waited for at the end.
    fn work(&self, work: impl FnOnce() + Send + 'static) {
        let thread = thread::Builder::new().name("stockade-warm".to_owned());
        let Ok(handle) = thread.spawn(work) else { return };
        let mut shelves = self.lock();
        shelves.at_work.retain(|one| !one.is_finished());
        shelves.at_work.push(handle);
    }

    /// Ends all that wait, and waits for what is being made.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        loop {
            let mut shelves = self.lock();
            let idle: Vec<Interpreter> =
                shelves.by_language.values_mut().flat_map(|shelf| shelf.idle.drain(..)).collect();
            let next = shelves.at_work.pop();
            drop(shelves);
            drop(idle);
            let Some(next) = next else { return };
            // A thread that panicked has nothing more to give.
            let _panicked = next.join();
        }
    }
}
