//! Where an interpreter belongs while it is lent.

use std::sync::Arc;

use super::interpreter::Interpreter;
use super::sessions::Sessions;
use super::stock::Stock;
use crate::call::{Language, SessionName};

/// A place that is kept free for an interpreter; dropped, nobody will come back to it.
#[derive(Debug)]
pub(super) struct Place(Option<Whose>);

#[derive(Debug)]
enum Whose {
    Stock(Arc<Stock>, Language),
    Session(Arc<Sessions>, SessionName),
}

impl Place {
    pub(super) fn in_stock(stock: &Arc<Stock>, language: Language) -> Self {
        Self(Some(Whose::Stock(Arc::clone(stock), language)))
    }

    pub(super) fn of_session(sessions: &Arc<Sessions>, name: SessionName) -> Self {
        Self(Some(Whose::Session(Arc::clone(sessions), name)))
    }

    /// The session's name, if it is one.
    pub(super) fn session(&self) -> Option<&SessionName> {
        match &self.0 {
            Some(Whose::Session(_, name)) => Some(name),
            Some(Whose::Stock(..)) | None => None,
        }
    }

    /// Puts the interpreter back.
    pub(super) fn fill(mut self, interpreter: Interpreter) {
        match self.0.take() {
            Some(Whose::Stock(stock, _)) => Stock::put_back(&stock, interpreter),
            Some(Whose::Session(sessions, name)) => sessions.put_back(name, interpreter),
            None => {}
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        match self.0.take() {
            Some(Whose::Stock(stock, language)) => Stock::lose(&stock, language),
            Some(Whose::Session(sessions, name)) => sessions.vacate(&name),
            None => {}
        }
    }
}
