//! Whose an interpreter is while a call has it.

use std::sync::Arc;

use super::interpreter::Interpreter;
use super::pool::InterpreterPool;
use super::sessions::Sessions;
use crate::call::{Language, SessionName};

/// Whom an interpreter goes back to. When this is dropped, it will not come back.
#[derive(Debug)]
pub(super) struct Owner(Option<Home>);

#[derive(Debug)]
enum Home {
    InterpreterPool(Arc<InterpreterPool>, Language),
    Session(Arc<Sessions>, SessionName),
}

impl Owner {
    pub(super) fn in_pool(pool: &Arc<InterpreterPool>, language: Language) -> Self {
        Self(Some(Home::InterpreterPool(Arc::clone(pool), language)))
    }

    pub(super) fn of_session(sessions: &Arc<Sessions>, name: SessionName) -> Self {
        Self(Some(Home::Session(Arc::clone(sessions), name)))
    }

    /// The session's name, if it is one.
    pub(super) fn session(&self) -> Option<&SessionName> {
        match &self.0 {
            Some(Home::Session(_, name)) => Some(name),
            Some(Home::InterpreterPool(..)) | None => None,
        }
    }

    /// Gives the interpreter back.
    pub(super) fn take_back(mut self, interpreter: Interpreter) {
        match self.0.take() {
            Some(Home::InterpreterPool(pool, _)) => InterpreterPool::put_back(&pool, interpreter),
            Some(Home::Session(sessions, name)) => sessions.put_back(name, interpreter),
            None => {}
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        match self.0.take() {
            Some(Home::InterpreterPool(pool, language)) => InterpreterPool::lose(&pool, language),
            Some(Home::Session(sessions, name)) => sessions.vacate(&name),
            None => {}
        }
    }
}
