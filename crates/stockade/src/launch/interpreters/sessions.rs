//! Interpreters with a name, which keep what their calls leave.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use stockade_sandbox::{PoolSize, SandboxPool};

use super::interpreter::{Interpreter, InterpreterKind};
use super::owner::Owner;
use super::recipe::{InterpreterKey, Recipe};
use super::{code_of, leased_run, limits_of};
use crate::call::{Language, SessionName};
use crate::launch::run::SupervisedRun;
use crate::launch::{jail, snapshot};
use crate::outcome::{Failure, FailureKind};
use crate::plan::ProgramPlan;
use crate::tier::Tier;

/// How many sessions there may be at once.
pub(super) const SESSIONS_MAX: usize = 16;

/// The sessions of one Stockade.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    slots: Mutex<BTreeMap<SessionName, Slot>>,
    freed: Condvar,
}

#[derive(Debug)]
enum Slot {
    /// A call has it.
    Busy,
    Idle(Box<Interpreter>),
}

impl Sessions {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionName, Slot>> {
        // Whoever panicked with it left whole values.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a call in its session, which is made if it is not there.
    pub(super) fn start(
        self: &Arc<Self>,
        plan: ProgramPlan,
        name: &SessionName,
        language: Language,
    ) -> Result<SupervisedRun, Failure> {
        let kind = InterpreterKind::session(language).ok_or_else(|| {
            refused(format!("there are no sessions in {language}"))
                .with_remedy("python and node have sessions; leave the session out for others")
        })?;
        if plan.tier() != Tier::Jail {
            return Err(refused(format!("the tier {} keeps no sessions", plan.tier()))
                .with_remedy("use the tier jail, or leave the session out"));
        }
        let around = jail::path_state(&plan.description().ops, plan.until())?;
        let key = InterpreterKey::of(&plan, kind, &around.stamp)?;
        let until = plan.description().deadline().and_then(|wall| Instant::now().checked_add(wall));
        let (found, owner) = self.claim(name, until)?;
        let mut remark = None;
        let fit = match found {
            Some(one) if one.key.kind != kind => {
                let other = one.key.kind.language();
                owner.take_back(*one);
                let message = format!("the session {name} is one of {other}");
                return Err(
                    refused(message).with_remedy("choose another name, or end that session")
                );
            }
            Some(mut one) => {
                remark = why_not(&mut one, &key);
                remark.is_none().then_some(*one)
            }
            None => None,
        };
        let mut interpreter = match fit {
            Some(one) => one,
            None => Interpreter::make(
                &Recipe::of(&plan, key)?,
                &SandboxPool::new(PoolSize::NoTemplates),
            )?,
        };
        interpreter.remark = remark.map(|why| format!("the session {name} begins anew: {why}"));
        let code = code_of(&plan).ok_or_else(|| refused("there is no code".to_owned()))?;
        let before = snapshot(&plan);
        let kept = around.admit(interpreter.enforcement.clone(), &plan.terms().require)?;
        let limits = limits_of(&plan)?;
        let lent = interpreter.lend(owner, code, &limits)?;
        Ok(leased_run((plan, limits), lent, kept, (around, before)))
    }

    /// Takes a session for a call, or the name for a new one. Calls of one session wait for each
    /// other.
    fn claim(
        self: &Arc<Self>,
        name: &SessionName,
        until: Option<Instant>,
    ) -> Result<(Option<Box<Interpreter>>, Owner), Failure> {
        let mut slots = self.lock();
        loop {
            let there = slots.len();
            match slots.insert(name.clone(), Slot::Busy) {
                Some(Slot::Idle(one)) => {
                    return Ok((Some(one), Owner::of_session(self, name.clone())));
                }
                None if there < SESSIONS_MAX => {
                    return Ok((None, Owner::of_session(self, name.clone())));
                }
                None => {
                    slots.remove(name);
                    let message =
                        format!("there are {SESSIONS_MAX} sessions, and no room for more");
                    return Err(refused(message).with_remedy("end one"));
                }
                Some(Slot::Busy) => {}
            }
            let rest = until.map(|until| until.saturating_duration_since(Instant::now()));
            let rest = rest.filter(|rest| !rest.is_zero()).ok_or_else(|| {
                refused(format!("the session {name} is busy with another call"))
                    .with_remedy("wait for that call, or use another session")
            })?;
            let waited = self.freed.wait_timeout(slots, rest);
            slots = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Puts one back after its call.
    pub(super) fn put_back(&self, name: SessionName, one: Interpreter) {
        self.lock().insert(name, Slot::Idle(Box::new(one)));
        self.freed.notify_all();
    }

    /// The session is there no more.
    pub(super) fn vacate(&self, name: &SessionName) {
        self.lock().remove(name);
        self.freed.notify_all();
    }

    /// Ends a session that has no call; whether there was one.
    pub(super) fn end(&self, name: &SessionName) -> bool {
        let mut slots = self.lock();
        match slots.remove(name) {
            Some(Slot::Busy) => {
                slots.insert(name.clone(), Slot::Busy);
                false
            }
            ended @ Some(Slot::Idle(_)) => {
                drop(slots);
                drop(ended);
                true
            }
            None => false,
        }
    }

    /// Ends all that have no call.
    pub(super) fn close(&self) {
        let slots = std::mem::take(&mut *self.lock());
        drop(slots);
    }
}

/// Why a session that is there cannot go on.
fn why_not(one: &mut Interpreter, key: &InterpreterKey) -> Option<&'static str> {
    if one.key != *key {
        // Its box would be another today, and is not what the policy asks for any more.
        Some("what its box has to hide or to protect has changed since it was made")
    } else if !one.is_whole() || !one.is_ready_soon() {
        Some("its interpreter has ended since the last call")
    } else {
        None
    }
}

fn refused(message: String) -> Failure {
    Failure::new(FailureKind::UseSession, message)
}
