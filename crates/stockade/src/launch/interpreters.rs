//! Interpreters that are there before the code: each waits in a box that is like any other, and is
//! given code only with a plan.
//!
//! Python waits in a driver that forks once for every call; Node cannot fork, and one that waits is
//! used once. Those of sessions keep what a call leaves. Where none can be had, code is run as any other
//! program is.

mod driver;
mod interpreter;
mod kept;
mod leased;
mod protocol;
mod owner;
mod recipe;
mod pool;

use std::sync::Arc;
use std::time::Instant;

use self::interpreter::InterpreterKind;
pub(super) use self::kept::{KeptCount, KeptInterpreters};
use self::owner::Owner;
use self::pool::InterpreterPool;
use self::recipe::{InterpreterKey, Recipe};
use super::jail::{self, PathState};
use super::run::{Guards, SupervisedRun};
use super::session::Sessions;
use super::snapshot;
use super::tree::Tree;
use super::watch::Input;
use crate::call::{Code, Language};
use crate::files::changes::Snapshot;
use crate::gate::StandardInput;
use crate::guarantee::Enforced;
use crate::limits::Limits;
use crate::outcome::Failure;
use crate::plan::{Parts, ProgramPlan};
use crate::tier::Tier;

/// The interpreters of one policy and one project that wait for any call. Dropping it ends them all.
#[derive(Debug)]
pub struct Interpreters {
    pool: Arc<InterpreterPool>,
}

impl Interpreters {
    /// At most this many of each language wait or work; with none every call starts its own.
    /// Nothing is started yet.
    pub fn new(most: usize) -> Self {
        Self { pool: Arc::new(InterpreterPool::new(most)) }
    }

    /// Starts what was planned: in an interpreter that waits if it is code and there is one, in its
    /// session if it names one, and otherwise afresh.
    pub(super) fn start(
        &self,
        plan: ProgramPlan,
        sessions: &Sessions,
        afresh: impl FnOnce(ProgramPlan) -> Result<SupervisedRun, Failure>,
    ) -> Result<SupervisedRun, Failure> {
        let Some(code) = code_of(&plan) else { return afresh(plan) };
        if let Some(name) = &plan.cleared().session {
            let (session, language) = (sessions.get(name), code.language);
            return kept::start(plan, &session, language);
        }
        let Some(kind) =
            InterpreterKind::waiting(code.language).filter(|_| plan.tier() == Tier::Jail)
        else {
            return afresh(plan);
        };
        // Ports are of one sandbox, and others would wait beside it.
        if self.pool.is_closed_to_all() || plan.description().opens_ports() {
            return afresh(plan);
        }
        // What cannot be looked at now is told by the start of a box of its own.
        let Ok(around) = jail::path_state(&plan.description().ops, plan.until()) else {
            return afresh(plan);
        };
        let key = InterpreterKey::of(&plan, kind, &around.stamp)?;
        let before = snapshot(&plan);
        if let Some((interpreter, owner)) = InterpreterPool::take(&self.pool, &key)
            && let Ok(kept) = around.admit(interpreter.enforcement.clone(), &plan.terms().require)
            && let Ok(limits) = limits_of(&plan)
            && let Ok(lent) = interpreter.lend(owner, code, &limits)
        {
            return Ok(leased_run((plan, limits), lent, kept, (around, before)));
        }
        let recipe = Recipe::of(&plan, key)?;
        let running = afresh(plan)?;
        InterpreterPool::prepare(&self.pool, recipe);
        Ok(running)
    }

    /// How many wait for code of a language.
    pub fn waiting(&self, language: Language) -> usize {
        self.pool.waiting(language)
    }

    /// How many calls were run by interpreters that had waited.
    pub fn lent(&self) -> u64 {
        self.pool.lent()
    }
}

impl Drop for Interpreters {
    fn drop(&mut self) {
        self.pool.close();
    }
}

/// Spends the plan on a call in an interpreter that already has it.
fn leased_run(
    (plan, limits): (ProgramPlan, Limits),
    (tree, input): (Box<dyn Tree>, Input),
    enforcement: Vec<Enforced>,
    (around, before): (PathState, Option<Snapshot>),
) -> SupervisedRun {
    let tier = plan.tier();
    let Parts { terms, .. } = plan.into_parts();
    let PathState { covered, absent, since, .. } = around;
    SupervisedRun {
        tree,
        scratch: None,
        started: Instant::now(),
        input,
        limits,
        hints: terms.hints,
        tier,
        enforcement,
        // Nothing of the disk can be written by code.
        guards: Guards { covered, absent, since, ..Guards::default() },
        before,
        joined: None,
        ports: None,
    }
}

/// The limits that the supervisor enforces for a call.
fn limits_of(plan: &ProgramPlan) -> Result<Limits, Failure> {
    Ok(jail::JailSetup::of(&plan.description().ops)?.common.limits)
}

/// The code that is to run, if it is that.
fn code_of(plan: &ProgramPlan) -> Option<&Code> {
    match &plan.cleared().stdin {
        StandardInput::Sealed(code) => Some(code),
        StandardInput::Piped(_) | StandardInput::Open(_) => None,
    }
}
