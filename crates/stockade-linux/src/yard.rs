//! Boxes made in advance, so that a program finds one waiting.
//!
//! The first box of a description is made from nothing. Then a template is made of it, and boxes are
//! copied from that; some are copied before they are asked for. A box is used once, and only for a
//! description that is equal in every point: another one, a change of the host's mounts or a lost
//! mount, and everything that was made in advance is thrown away.

mod ahead;
mod crew;
mod duty;
mod foreseen;
mod mounts;
mod stock;
mod wanted;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::Errno;

pub use self::ahead::Expectation;
use self::ahead::{Ahead, Parts};
use self::crew::Office;
pub use self::crew::UnderWay;
pub(crate) use self::duty::Duty;
use self::duty::Pile;
use self::foreseen::Foreseen;
pub use self::mounts::MountWatch;
use self::stock::Stock;
use self::wanted::Wanted;
use crate::booting::Booting;
use crate::cgroup::{Cgroup, CgroupLimits, Limits};
use crate::handing::Program;
use crate::jail::pack::Sheet;
use crate::jail::{Attest, Jail, pack};
use crate::keeper::step::Step;
use crate::ready::{Ordered, Origin, Outlook, ProgramFor, Ready};
use crate::start::{At, StartError};
use crate::whereabouts::{Where, is_quiet};

/// Where boxes wait. Dropping it ends all that wait; those in use go on.
#[derive(Debug)]
pub struct Yard {
    stock: Arc<Stock>,
    office: Arc<Office>,
    ahead: Mutex<Option<Ahead>>,
    foreseen: Mutex<Option<Foreseen>>,
    left: Pile,
    given: [AtomicU64; 3],
}

/// What a yard keeps for later calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warmth {
    /// Nothing: every box is made from nothing, by nobody but the caller. For a process with one call.
    Cold,
    /// A template, and this many boxes that wait.
    Warm {
        /// How many wait.
        spares: usize,
    },
}

impl Yard {
    /// A yard without boxes. Nothing is started yet.
    pub fn new(warmth: Warmth) -> Self {
        let spares_wanted = match warmth {
            Warmth::Cold => 0,
            Warmth::Warm { spares } => spares,
        };
        let stock = Arc::new(Stock::new(spares_wanted));
        let office = Arc::new(Office::new(&stock, warmth));
        Self {
            stock,
            office,
            ahead: Mutex::default(),
            foreseen: Mutex::default(),
            left: Pile::default(),
            given: Default::default(),
        }
    }

    /// The same with another warmth, before any box was asked for.
    #[must_use]
    pub fn with_warmth(self, warmth: Warmth) -> Self {
        let mut other = Self::new(warmth);
        other.ahead = Mutex::new(taken(&self.ahead));
        other
    }

    /// Says that such a box will be asked for soon: what it needs whatever is in it is made meanwhile.
    pub fn expect(&self, expected: Expectation) {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        if ahead.is_none() {
            // What cannot be made now is made when it is needed.
            *ahead = Ahead::begin(expected);
        }
    }

    /// Says that a call is under way, until this is dropped: what its box leaves behind, and the next
    /// box, are seen to afterwards.
    pub fn under_way(&self) -> UnderWay<'_> {
        UnderWay::begin(&self.office)
    }

    /// Says that a box like the last one may be asked for: a copy is made meanwhile, if none waits.
    pub fn anticipate(&self) {
        let calls = self.office.calls();
        if self.stock.lacks(calls) {
            // Several keep all processors busy by themselves.
            let place = if calls > 1 { Where::Anywhere } else { Where::Elsewhere };
            self.stock.order(place);
        }
    }

    /// Whether a box is expected of which nothing more is known.
    pub fn is_expecting(&self) -> bool {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Says that the box that is expected may be this one: it is made meanwhile. It is given only to
    /// who asks for one that is equal in every point; until then nothing runs in it.
    pub fn foresee(&self, jail: &mut Jail, limits: CgroupLimits) {
        jail.attest = Attest::BeforeExecution;
        let sheet = self.sheet(jail);
        let order = |ahead| Foreseen::order(ahead, &sheet.ok()?, jail, limits);
        let foreseen = taken(&self.ahead).and_then(order);
        *self.foreseen.lock().unwrap_or_else(PoisonError::into_inner) = foreseen;
    }

    /// A box of this description with these limits for all its processes, made or found waiting, and
    /// looked at from outside. [`Jail::cgroup`], [`Jail::program`], [`Jail::cwd`] and
    /// [`Jail::attest`] are not used.
    pub fn ready(&self, jail: Jail, limits: CgroupLimits) -> Result<Ready, StartError> {
        self.ready_for(jail, limits, &|_| None)
    }

    /// The same for a program that is known. If the box is only just being made, or copied, it gets its program
    /// before it is looked at, and executes it on a word: [`Ready::is_handed`] tells, and [`Ready::go`]
    /// gives that. The program may be asked for several times, and is asked for the limits of its box.
    pub fn ready_for(
        &self,
        jail: Jail,
        limits: CgroupLimits,
        program: &dyn Fn(Option<&Cgroup>) -> Option<Program>,
    ) -> Result<Ready, StartError> {
        let ready = self.find(jail, limits, program)?;
        self.given_by(ready.origin()).fetch_add(1, Ordering::Relaxed);
        Ok(ready)
    }

    fn find(
        &self,
        mut jail: Jail,
        limits: CgroupLimits,
        program: ProgramFor<'_>,
    ) -> Result<Ready, StartError> {
        jail.attest = Attest::BeforeExecution;
        duty::clear(&self.left);
        let wanted = Wanted::new(jail, limits);
        // Before there is a thread nothing can wait.
        if let Some(crew) = self.office.crew_so_far()
            && let Some(ready) = self.stock.take(wanted.key()?, limits, crew, program)
        {
            let duty = Duty::Office(Arc::clone(&self.office), None);
            return Ok(ready.made_of(wanted.jail).on_duty(duty));
        }
        let ready = self.make(&wanted, program)?;
        if !self.office.is_open() {
            return Ok(ready.made_of(wanted.jail).on_duty(Duty::Later(Arc::clone(&self.left))));
        }
        let model = self.stock.begin(wanted, &self.office)?;
        Ok(ready.on_duty(Duty::Office(Arc::clone(&self.office), model)))
    }

    /// A box made from nothing: the one that was foreseen, or with what was made ahead of it if it was
    /// expected.
    fn make(&self, wanted: &Wanted, program: ProgramFor<'_>) -> Result<Ready, StartError> {
        if let Some(foreseen) = taken(&self.foreseen)
            && let Some(ready) = foreseen.finish(wanted.key()?, wanted.limits, program)
        {
            return Ok(ready);
        }
        let sheet = self.sheet(&wanted.jail)?;
        let from = |keeper, limits| {
            let ordered = Ordered::with(keeper, &sheet, Outlook::of(&wanted.jail), limits)?;
            let ordered = ordered.hand(program);
            // There is time for that now.
            wanted.key()?;
            ordered.meet()
        };
        let expected = taken(&self.ahead).and_then(|it| it.finish(&wanted.jail, wanted.limits));
        match expected.map(|Parts { keeper, limits, .. }| from(keeper, limits)) {
            // Somebody killed it while it waited.
            None | Some(Err(StartError { errno: Errno::PIPE, .. })) => {
                from(Booting::begin()?, Limits::of_new_box(wanted.limits))
            }
            Some(made) => made,
        }
    }

    /// A description, written down. Where no thread sees to what a box leaves behind, who uses it waits.
    fn sheet<'a>(&self, jail: &'a Jail) -> Result<Sheet<'a>, StartError> {
        let sheet = pack::pack(jail).at(Step::PrepareBox)?;
        if self.office.is_open() {
            return Ok(sheet);
        }
        // To get a turn where others want one takes more than to be brought there.
        Ok(if is_quiet() { sheet.awaited().brought() } else { sheet.awaited() })
    }

    /// How many boxes were given that came to be in this way.
    pub fn given(&self, origin: Origin) -> u64 {
        self.given_by(origin).load(Ordering::Relaxed)
    }

    fn given_by(&self, origin: Origin) -> &AtomicU64 {
        let [made, copied, waiting] = &self.given;
        match origin {
            Origin::Made => made,
            Origin::Copied => copied,
            Origin::Waiting => waiting,
        }
    }

    /// How many boxes wait, or were ordered and will.
    pub fn waiting(&self) -> usize {
        self.stock.waiting()
    }
}

impl Drop for Yard {
    fn drop(&mut self) {
        drop(self.stock.empty());
        self.office.close();
        // What the thread had in hand when it was told.
        drop(self.stock.empty());
    }
}

/// What is in there, which is empty then.
fn taken<T>(place: &Mutex<Option<T>>) -> Option<T> {
    place.lock().unwrap_or_else(PoisonError::into_inner).take()
}
