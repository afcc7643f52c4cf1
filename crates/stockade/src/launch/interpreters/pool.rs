//! The interpreters that wait for any call of one policy, and the thread that makes them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use stockade_sandbox::{PoolSize, SandboxPool};

use super::interpreter::Interpreter;
use super::owner::Owner;
use super::recipe::{InterpreterKey, Recipe};
use crate::call::Language;

/// A call this late in an interpreter's life gets a new one: what the kernel or Python keep of
/// earlier calls does not add up without end.
const CALLS_MAX: u64 = 1000;

/// After so many that nobody could use, as where an interpreter does not survive its start, no more
/// are made.
const WASTED_MAX: u32 = 5;

/// What waits.
#[derive(Debug)]
pub(super) struct InterpreterPool {
    most: usize,
    state: Mutex<PoolState>,
    lent: AtomicU64,
}

#[derive(Debug, Default)]
struct PoolState {
    by_language: BTreeMap<Language, LanguagePool>,
    is_closed: bool,
    at_work: Vec<JoinHandle<()>>,
}

/// All of one language: those of one key, or none.
#[derive(Debug, Default)]
struct LanguagePool {
    recipe: Option<Arc<Recipe>>,
    idle: Vec<Interpreter>,
    /// Those that wait, work or are being made.
    there: usize,
    /// How many in a row were of no use to any call.
    wasted: u32,
}

impl InterpreterPool {
    pub(super) fn new(most: usize) -> Self {
        Self { most, state: Mutex::default(), lent: AtomicU64::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        // Whoever panicked with it left whole values.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing will ever wait here.
    pub(super) fn is_closed_to_all(&self) -> bool {
        self.most == 0
    }

    pub(super) fn waiting(&self, language: Language) -> usize {
        self.lock().by_language.get(&language).map_or(0, |of_language| of_language.idle.len())
    }

    pub(super) fn lent(&self) -> u64 {
        self.lent.load(Ordering::Relaxed)
    }

    /// One that waits for such a call and can take it, with the owner that it goes back to.
    pub(super) fn take(pool: &Arc<Self>, key: &InterpreterKey) -> Option<(Interpreter, Owner)> {
        let language = key.kind.language();
        let mut unfit = Vec::new();
        let found = loop {
            let mut state = pool.lock();
            let Some(of_language) = state.by_language.get_mut(&language) else { break None };
            if of_language.recipe.as_ref().is_some_and(|recipe| recipe.key != *key) {
                // No more of those; the call that finds none tells what is wanted now.
                of_language.recipe = None;
            }
            let Some(mut one) = of_language.idle.pop() else { break None };
            drop(state);
            let owner = Owner::in_pool(pool, language);
            if one.key != *key || one.has_retired() || !one.is_fit() {
                unfit.push((one, owner));
            } else if one.is_ready_soon() {
                break Some((one, owner));
            } else if one.has_retired() {
                unfit.push((one, owner));
            } else {
                // It still removes what the last call left.
                owner.take_back(one);
                break None;
            }
        };
        pool.note(language, unfit.len(), found.is_some());
        if !unfit.is_empty() {
            // Their end takes a while, and others are made in their places.
            pool.work(move || drop(unfit));
        }
        let found = found?;
        pool.lent.fetch_add(1, Ordering::Relaxed);
        Some(found)
    }

    /// Remembers how many were of no use.
    fn note(&self, language: Language, unfit: usize, is_found: bool) {
        if let Some(of_language) = self.lock().by_language.get_mut(&language) {
            let more = u32::try_from(unfit).unwrap_or(u32::MAX);
            of_language.wasted = if is_found { 0 } else { of_language.wasted.saturating_add(more) };
        }
    }

    /// Puts one back after its call.
    pub(super) fn put_back(pool: &Arc<Self>, one: Interpreter) {
        let language = one.key.kind.language();
        let mut state = pool.lock();
        let is_closed = state.is_closed;
        let of_language = state.by_language.entry(language).or_default();
        if one.calls < CALLS_MAX && !is_closed {
            of_language.idle.push(one);
            return;
        }
        drop(state);
        let owner = Owner::in_pool(pool, language);
        pool.work(move || drop((one, owner)));
    }

    /// One that was lent does not come back: another is made.
    pub(super) fn lose(pool: &Arc<Self>, language: Language) {
        let mut state = pool.lock();
        let Some(of_language) = state.by_language.get_mut(&language) else { return };
        of_language.there = of_language.there.saturating_sub(1);
        let recipe = of_language.recipe.clone();
        drop(state);
        if let Some(recipe) = recipe {
            Self::make(pool, recipe);
        }
    }

    /// Makes one for the calls after this one, if there is room.
    pub(super) fn prepare(pool: &Arc<Self>, recipe: Recipe) {
        let language = recipe.key.kind.language();
        let recipe = Arc::new(recipe);
        let mut state = pool.lock();
        let of_language = state.by_language.entry(language).or_default();
        let is_new = of_language.recipe.as_ref().is_none_or(|known| known.key != recipe.key);
        if is_new {
            of_language.recipe = Some(Arc::clone(&recipe));
            of_language.wasted = 0;
        }
        drop(state);
        Self::make(pool, recipe);
    }

    /// Makes one in a thread, if there is room for it.
    fn make(pool: &Arc<Self>, recipe: Arc<Recipe>) {
        let language = recipe.key.kind.language();
        let mut state = pool.lock();
        let (is_closed, most) = (state.is_closed, pool.most);
        let of_language = state.by_language.entry(language).or_default();
        if is_closed || of_language.there >= most || of_language.wasted > WASTED_MAX {
            return;
        }
        of_language.there = of_language.there.saturating_add(1);
        drop(state);
        let home = Arc::clone(pool);
        pool.work(move || {
            let made = Interpreter::make(&recipe, &SandboxPool::new(PoolSize::NoTemplates), None);
            let mut state = home.lock();
            let is_closed = state.is_closed;
            let of_language = state.by_language.entry(language).or_default();
            match made {
                Ok(one) if !is_closed => of_language.idle.push(one),
                // Calls go on without; the next one that finds none tries again.
                Ok(_) | Err(_) => of_language.there = of_language.there.saturating_sub(1),
            }
        });
    }

    /// Does something in a thread that is waited for at the end.
    fn work(&self, work: impl FnOnce() + Send + 'static) {
        let thread = thread::Builder::new().name("stockade-warm".to_owned());
        let Ok(handle) = thread.spawn(work) else { return };
        let mut state = self.lock();
        state.at_work.retain(|one| !one.is_finished());
        state.at_work.push(handle);
    }

    /// Ends all that wait, and waits for what is being made.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        loop {
            let mut state = self.lock();
            let idle: Vec<Interpreter> = state
                .by_language
                .values_mut()
                .flat_map(|of_language| of_language.idle.drain(..))
                .collect();
            let next = state.at_work.pop();
            drop(state);
            drop(idle);
            let Some(next) = next else { return };
            // A thread that panicked has nothing more to give.
            let _panicked = next.join();
        }
    }
}
