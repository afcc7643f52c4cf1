//! Interpreters that are there before the code: each waits in a box that is like any other, and is
//! given code only with a plan.
//!
//! Python waits in a driver that forks once for every call; Node cannot fork, and one that waits is
//! used once. Sessions are interpreters with a name that keep what a call leaves. Where none can be
//! had, code is run as any other program is.

mod driver;
mod interpreter;
mod lent;
mod line;
mod place;
mod recipe;
mod sessions;
mod stock;

use std::sync::Arc;
use std::time::Instant;

use self::interpreter::Kind;
pub(super) use self::lent::Lent;
use self::place::Place;
use self::recipe::{Key, Recipe};
use self::sessions::Sessions;
use self::stock::Stock;
use super::held::Held;
use super::jail::{self, Surroundings};
use super::subject::Subject;
use super::{Running, look_before};
use crate::call::{Code, Language, SessionName};
use crate::files::survey::Before;
use crate::gate::{Prepared, StandardInput};
use crate::guarantee::Enforced;
use crate::outcome::Failure;
use crate::plan::ProgramPlan;
use crate::tier::Tier;

/// The interpreters of one policy and one project. Dropping it ends them all.
#[derive(Debug)]
pub struct Interpreters {
    stock: Arc<Stock>,
    sessions: Arc<Sessions>,
}

impl Interpreters {
    /// At most this many of each language wait or work; with none every call starts its own.
    /// Nothing is started yet.
    pub fn new(most: usize) -> Self {
        Self { stock: Arc::new(Stock::new(most)), sessions: Arc::new(Sessions::default()) }
    }

    /// Starts what was planned: in an interpreter that waits if it is code and there is one, in its
    /// session if it names one, and otherwise afresh.
    pub(super) fn start(
        &self,
        plan: ProgramPlan,
        afresh: impl FnOnce(ProgramPlan) -> Result<Running, Failure>,
    ) -> Result<Running, Failure> {
        let Some(code) = code_of(&plan) else { return afresh(plan) };
        if let Some(name) = &code.session {
            let (name, language) = (name.clone(), code.language);
            return self.sessions.start(plan, &name, language);
        }
        let Some(kind) = Kind::waiting(code.language).filter(|_| plan.tier() == Tier::Jail) else {
            return afresh(plan);
        };
        if self.stock.is_closed_to_all() {
            return afresh(plan);
        }
        // What cannot be looked at now is told by the start of a box of its own.
        let Ok(around) = jail::surroundings(&plan.prepared().confinement, plan.until()) else {
            return afresh(plan);
        };
        let key = Key::of(&plan, kind, &around.stamp)?;
        let before = look_before(&plan);
        if let Some((interpreter, place)) = Stock::take(&self.stock, &key)
            && let Ok(kept) = around.admit(interpreter.enforcement.clone(), plan.confinement())
            && let Ok(loan) = interpreter.lend(place, code, &plan.confinement().limits)
        {
            return Ok(held(plan, loan, kept, (around, before)));
        }
        let recipe = Recipe::of(&plan, key)?;
        let running = afresh(plan)?;
        Stock::prepare(&self.stock, recipe);
        Ok(running)
    }

    /// How many wait for code of a language.
    pub fn waiting(&self, language: Language) -> usize {
        self.stock.waiting(language)
    }

    /// How many calls were run by interpreters that had waited.
    pub fn lent(&self) -> u64 {
        self.stock.lent()
    }

    /// Ends a session that runs nothing; whether there was one.
    pub fn end_session(&self, name: &SessionName) -> bool {
        self.sessions.end(name)
    }
}

impl Drop for Interpreters {
    fn drop(&mut self) {
        self.stock.close();
        self.sessions.close();
    }
}

/// What was lent: a subject to watch, and what is written to it.
struct Loan {
    subject: Subject,
    stdin: Vec<u8>,
    dies_at_once: bool,
}

/// Spends the plan on a call in an interpreter that already has it.
fn held(
    plan: ProgramPlan,
    loan: Loan,
    enforcement: Vec<Enforced>,
    (around, before): (Surroundings, Option<Before>),
) -> Running {
    let (Prepared { confinement, tier, .. }, _, _) = plan.into_parts();
    let held = Held {
        subject: loan.subject,
        scratch: None,
        started: Instant::now(),
        stdin: loan.stdin,
        confinement,
        tier,
        enforcement,
        covered: around.covered,
        absent: around.absent,
        since: around.since,
        // Nothing of the disk can be written by code.
        disk: None,
        eye: None,
        dies_at_once: loan.dies_at_once,
    };
    Running(super::Kind::Held(Box::new(held), before))
}

/// The code that is to run, if it is that.
fn code_of(plan: &ProgramPlan) -> Option<&Code> {
    match &plan.prepared().cleared.stdin {
        StandardInput::Sealed(code) => Some(code),
        StandardInput::Piped(_) => None,
    }
}
