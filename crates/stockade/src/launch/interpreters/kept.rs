//! The interpreters of one session, which keep what its calls leave: one for each language. Between calls
//! they are what the call that has started them has left running.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use stockade_sandbox::{PoolSize, SandboxPool};

use super::interpreter::{Interpreter, InterpreterKind};
use super::owner::Owner;
use super::recipe::{InterpreterKey, Recipe};
use super::{code_of, leased_run};
use crate::call::{Language, SessionName};
use crate::launch::run::SupervisedRun;
use crate::launch::session::{LeftCall, LeftCalls, LeftEnd, Session, admit_shared_ports};
use crate::launch::{jail, snapshot};
use crate::limits::LimitHit;
use crate::outcome::{Failure, FailureKind};
use crate::plan::ProgramPlan;
use crate::tier::Tier;

/// How many there may be at once, in all sessions of one Stockade.
const INTERPRETERS_MAX: usize = 16;
/// Why there is a new one.
const ENDED: &str = "the last one has ended";
/// How often one that waits is looked at.
const LOOK_PAUSE: Duration = Duration::from_millis(100);

/// How many interpreters the sessions of one Stockade keep together.
pub(in crate::launch) type KeptCount = Arc<AtomicUsize>;

/// The interpreters of one session.
#[derive(Debug)]
pub(in crate::launch) struct KeptInterpreters {
    session: SessionName,
    count: KeptCount,
    slots: Mutex<KeptSlots>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct KeptSlots {
    by_language: BTreeMap<Language, KeptSlot>,
    /// Those that have ended between two calls, which the next call has to be told.
    lost: BTreeSet<Language>,
    /// Whether the session is over.
    is_closed: bool,
}

#[derive(Debug)]
struct KeptSlot {
    /// None while a call has it.
    idle: Option<Box<Interpreter>>,
    /// How it is listed and ended, once the call that has started it is over.
    left: Option<Arc<LeftCall>>,
    #[expect(dead_code, reason = "it counts as long as it is there")]
    counted: CountGuard,
}

/// One interpreter among all that are counted.
#[derive(Debug)]
struct CountGuard(KeptCount);

impl CountGuard {
    fn new(count: &KeptCount) -> Option<Self> {
        let add = |there: usize| (there < INTERPRETERS_MAX).then(|| there.saturating_add(1));
        let added = count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, add);
        added.is_ok().then(|| Self(Arc::clone(count)))
    }
}

impl Drop for CountGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl KeptInterpreters {
    /// None yet.
    pub(in crate::launch) fn new(session: SessionName, count: KeptCount) -> Self {
        Self { session, count, slots: Mutex::default(), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, KeptSlots> {
        // Whoever panicked with it left whole values.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The name of the session.
    pub(super) fn session(&self) -> &SessionName {
        &self.session
    }

    /// Takes an interpreter for a call, or the place of a new one. Calls in one interpreter wait for each
    /// other.
    fn claim(
        self: &Arc<Self>,
        language: Language,
        until: Option<Instant>,
    ) -> Result<(Option<Box<Interpreter>>, Owner), Failure> {
        let mut slots = self.lock();
        loop {
            if slots.is_closed {
                return Err(refused(format!("the session {} was ended", self.session)));
            }
            match slots.by_language.get_mut(&language) {
                None => {
                    let counted = CountGuard::new(&self.count).ok_or_else(|| {
                        let message = format!(
                            "there are {INTERPRETERS_MAX} interpreters in sessions, and no room for more"
                        );
                        refused(message).with_remedy("end a session")
                    })?;
                    slots
                        .by_language
                        .insert(language, KeptSlot { idle: None, left: None, counted });
                    return Ok((None, Owner::of_session(self, language)));
                }
                Some(slot) => {
                    if let Some(one) = slot.idle.take() {
                        one.log_output(slot.left.as_deref());
                        return Ok((Some(one), Owner::of_session(self, language)));
                    }
                }
            }
            let rest = until.map(|until| until.saturating_duration_since(Instant::now()));
            let rest = rest.filter(|rest| !rest.is_zero()).ok_or_else(|| {
                refused(format!("the session {} is busy with another call", self.session))
                    .with_remedy("wait for that call, or use another session")
            })?;
            let waited = self.changed.wait_timeout(slots, rest);
            slots = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether the last one has ended between two calls, the first time that it is asked.
    fn take_lost(&self, language: Language) -> bool {
        self.lock().lost.remove(&language)
    }

    /// Puts one back after its call.
    pub(super) fn put_back(&self, language: Language, one: Interpreter) {
        let mut slots = self.lock();
        if !slots.is_closed
            && let Some(slot) = slots.by_language.get_mut(&language)
        {
            slot.idle = Some(Box::new(one));
            drop(slots);
        } else {
            slots.by_language.remove(&language);
            drop((slots, one));
        }
        self.changed.notify_all();
    }

    /// The one of a call is there no more.
    pub(super) fn vacate(&self, language: Language) {
        self.lock().by_language.remove(&language);
        self.changed.notify_all();
    }

    /// The limit for which a call has to end with its interpreter, which was told to.
    pub(super) fn ordered(&self, language: Language) -> Option<LimitHit> {
        self.lock().by_language.get(&language)?.left.as_ref()?.ordered()
    }

    /// Ends all that have no call; the others end with theirs.
    pub(in crate::launch) fn close(&self) {
        let mut slots = self.lock();
        slots.is_closed = true;
        let idle: Vec<_> =
            slots.by_language.extract_if(.., |_, slot| slot.idle.is_some()).collect();
        drop(slots);
        drop(idle);
        self.changed.notify_all();
    }

    /// Ends one that nothing can watch.
    pub(in crate::launch) fn end(&self, language: Language) {
        let ended = self.lock().by_language.remove(&language);
        drop(ended);
        self.changed.notify_all();
    }

    /// Lists it as this from now on; false if it is listed already or is there no more.
    pub(in crate::launch) fn list_as(&self, language: Language, left: &Arc<LeftCall>) -> bool {
        let mut slots = self.lock();
        let slot = slots.by_language.get_mut(&language).filter(|slot| slot.left.is_none());
        slot.is_some_and(|slot| {
            if let Some(one) = &slot.idle {
                left.look(&one.running);
            }
            slot.left = Some(Arc::clone(left));
            true
        })
    }

    /// Watches one between its calls until it is there no more: it ends when it is told to, when all that
    /// the session has left running uses too much, and when its sandbox is not as it was.
    pub(in crate::launch) fn watch(
        &self,
        language: Language,
        left: &Arc<LeftCall>,
        all: &LeftCalls,
    ) -> LeftEnd {
        let begun = Instant::now();
        let mut used = LeftEnd::default();
        let mut slots = self.lock();
        loop {
            let slot = slots.by_language.get_mut(&language);
            let slot =
                slot.filter(|slot| slot.left.as_ref().is_some_and(|one| Arc::ptr_eq(one, left)));
            let Some(slot) = slot else { break };
            if let Some(one) = &mut slot.idle {
                one.log_output(Some(left));
                left.look_if_due(&one.running);
                let sample = one.running.sample();
                used.cpu = used.cpu.max(sample.cpu);
                used.peak_memory_bytes = used.peak_memory_bytes.max(Some(sample.resident_bytes));
                used.limit = left.ordered().or_else(|| all.exceeded_by(left));
                used.is_breach = used.limit.is_none() && one.has_lost_locks();
                if used.limit.is_some() || used.is_breach || !one.is_whole() {
                    let ended = slots.by_language.remove(&language);
                    slots.lost.insert(language);
                    drop(slots);
                    drop(ended);
                    slots = self.lock();
                    break;
                }
            }
            let waited = self.changed.wait_timeout(slots, LOOK_PAUSE);
            slots = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(slots);
        self.changed.notify_all();
        LeftEnd { limit: used.limit.or_else(|| left.ordered()), wall: begun.elapsed(), ..used }
    }
}

/// Starts a call in the interpreter of its session, which is made if it is not there.
pub(super) fn start(
    plan: ProgramPlan,
    session: &Arc<Session>,
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
    let joined = Arc::clone(session).join()?;
    let until = plan.description().deadline().and_then(|wall| Instant::now().checked_add(wall));
    let (found, owner) = session.interpreters().claim(language, until)?;
    let was_lost = found.is_none() && session.interpreters().take_lost(language);
    let mut remark = was_lost.then_some(ENDED);
    let fit = found.and_then(|mut one| {
        remark = why_not(&mut one, &key);
        remark.is_none().then_some(*one)
    });
    let mut interpreter = match fit {
        Some(one) => one,
        None => Interpreter::make(
            &Recipe::of(&plan, key)?,
            &SandboxPool::new(PoolSize::NoTemplates),
            Some(&joined),
        )?,
    };
    interpreter.remark =
        remark.map(|why| format!("the interpreter of the session begins anew: {why}"));
    let code = code_of(&plan).ok_or_else(|| refused("there is no code".to_owned()))?;
    let before = snapshot(&plan);
    let mut kept = around.admit(interpreter.enforcement.clone(), &plan.terms().require)?;
    let setup = jail::JailSetup::of(&plan.description().ops)?;
    admit_shared_ports(&mut kept, plan.terms().shared_network, &setup, &joined)?;
    let limits = setup.common.limits;
    let lent = interpreter.lend(owner, code, &limits)?;
    let run = leased_run((plan, limits), lent, kept, (around, before));
    Ok(SupervisedRun { joined: Some(joined), ..run })
}

/// Why an interpreter that is there cannot go on.
fn why_not(one: &mut Interpreter, key: &InterpreterKey) -> Option<&'static str> {
    if one.key != *key {
        // Its box would be another today, and is not what the policy asks for any more.
        Some("what its box has to hide or to protect has changed since it was made")
    } else if !one.is_whole() || !one.is_ready_soon() {
        Some(ENDED)
    } else {
        None
    }
}

fn refused(message: String) -> Failure {
    Failure::new(FailureKind::UseSession, message)
}
