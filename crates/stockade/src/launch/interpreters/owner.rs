//! Whose an interpreter is while a call has it.

use std::sync::Arc;

use super::interpreter::Interpreter;
use super::kept::KeptInterpreters;
use super::pool::InterpreterPool;
use crate::call::{Language, SessionName};
use crate::limits::LimitHit;

/// Whom an interpreter goes back to. When this is dropped, it will not come back.
#[derive(Debug)]
pub(super) struct Owner(Option<Home>);

#[derive(Debug)]
enum Home {
    InterpreterPool(Arc<InterpreterPool>, Language),
    Session(Arc<KeptInterpreters>, Language),
}

impl Owner {
    pub(super) fn in_pool(pool: &Arc<InterpreterPool>, language: Language) -> Self {
        Self(Some(Home::InterpreterPool(Arc::clone(pool), language)))
    }

    pub(super) fn of_session(kept: &Arc<KeptInterpreters>, language: Language) -> Self {
        Self(Some(Home::Session(Arc::clone(kept), language)))
    }

    /// The session's name, if it is one.
    pub(super) fn session(&self) -> Option<&SessionName> {
        match &self.0 {
            Some(Home::Session(kept, _)) => Some(kept.session()),
            Some(Home::InterpreterPool(..)) | None => None,
        }
    }

    /// The limit for which the interpreter has to end, if it was told to.
    pub(super) fn ordered(&self) -> Option<LimitHit> {
        match &self.0 {
            Some(Home::Session(kept, language)) => kept.ordered(*language),
            Some(Home::InterpreterPool(..)) | None => None,
        }
    }

    /// Gives the interpreter back.
    pub(super) fn take_back(mut self, interpreter: Interpreter) {
        match self.0.take() {
            Some(Home::InterpreterPool(pool, _)) => InterpreterPool::put_back(&pool, interpreter),
            Some(Home::Session(kept, language)) => kept.put_back(language, interpreter),
            None => {}
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        match self.0.take() {
            Some(Home::InterpreterPool(pool, language)) => InterpreterPool::lose(&pool, language),
            Some(Home::Session(kept, language)) => kept.vacate(language),
            None => {}
        }
    }
}
