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
mod wanted;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::Errno;

pub use self::ahead::Expectation;
use self::ahead::{Ahead, Parts};
pub use self::crew::UnderWay;
use self::crew::{Crew, Office, Work};
pub(crate) use self::duty::Duty;
use self::duty::Pile;
use self::foreseen::Foreseen;
pub use self::mounts::MountWatch;
use self::wanted::Wanted;
use crate::booting::Booting;
use crate::cgroup::{Cgroup, CgroupLimits, Limits};
use crate::jail::key::Key;
use crate::jail::pack::Sheet;
use crate::jail::{Attest, Jail, pack};
use crate::keeper::step::Step;
use crate::ready::{Ordered, Origin, Outlook, Ready};
use crate::start::{At, StartError};
use crate::template::Template;

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

/// How many cgroups are made in advance.
const CGROUPS_WANTED: usize = 2;

/// What is kept, shared with the thread that sees to it.
#[derive(Debug)]
struct Stock {
    kept: Mutex<Kept>,
    spares_wanted: usize,
}

/// All of one description, or nothing.
#[derive(Debug, Default)]
struct Kept {
    key: Key,
    limits: CgroupLimits,
    template: Option<Arc<Template>>,
    spares: Vec<Ready>,
    /// Cgroups for the next copies, which take longer to make than to use.
    cgroups: Vec<Cgroup>,
    mounts: Option<MountWatch>,
    /// Whether the template is being made, or cannot be.
    is_begun: bool,
}

impl Yard {
    /// A yard without boxes. Nothing is started yet.
    pub fn new(warmth: Warmth) -> Self {
        let spares_wanted = match warmth {
            Warmth::Cold => 0,
            Warmth::Warm { spares } => spares,
        };
        let stock = Arc::new(Stock { kept: Mutex::default(), spares_wanted });
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

    /// Says that such a box will be asked for soon: what it needs whatever is in it is made meanwhile,
    /// in a thread.
    pub fn expect(&self, expected: Expectation) {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        if ahead.is_none() {
            // Without a thread it is made when it is needed.
            *ahead = Ahead::begin(expected);
        }
    }

    /// Says that a call is under way, until this is dropped: what its box leaves behind, and the next
    /// box, are seen to afterwards.
    pub fn under_way(&self) -> UnderWay<'_> {
        UnderWay::begin(&self.office)
    }

    /// Whether a box is expected of which nothing more is known.
    pub fn is_expecting(&self) -> bool {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Says that the box that is expected may be this one: it is made meanwhile. It is given only to
    /// who asks for one that is equal in every point; until then nothing runs in it.
    pub fn foresee(&self, mut jail: Jail, limits: CgroupLimits) {
        jail.attest = Attest::BeforeExecution;
        let sheet = self.sheet(&jail);
        let order = |ahead| Foreseen::order(ahead, &sheet.ok()?, &jail, limits);
        let foreseen = taken(&self.ahead).and_then(order);
        *self.foreseen.lock().unwrap_or_else(PoisonError::into_inner) = foreseen;
    }

    /// A box of this description with these limits for all its processes, made or found waiting, and
    /// looked at from outside. [`Jail::cgroup`], [`Jail::program`], [`Jail::cwd`] and
    /// [`Jail::attest`] are not used.
    pub fn ready(&self, jail: Jail, limits: CgroupLimits) -> Result<Ready, StartError> {
        let ready = self.find(jail, limits)?;
        self.given_by(ready.origin()).fetch_add(1, Ordering::Relaxed);
        Ok(ready)
    }

    fn find(&self, mut jail: Jail, limits: CgroupLimits) -> Result<Ready, StartError> {
        jail.attest = Attest::BeforeExecution;
        duty::clear(&self.left);
        let wanted = Wanted::new(jail, limits);
        // Before there is a thread nothing can wait.
        if let Some(crew) = self.office.crew_so_far()
            && let Some(ready) = self.stock.take(wanted.key()?, limits, crew)
        {
            return Ok(ready.on_duty(Duty::Office(Arc::clone(&self.office), None)));
        }
        let ready = self.make(&wanted)?;
        if !self.office.is_open() {
            return Ok(ready.on_duty(Duty::Later(Arc::clone(&self.left))));
        }
        let model = self.stock.begin(wanted, &self.office)?;
        Ok(ready.on_duty(Duty::Office(Arc::clone(&self.office), model)))
    }

    /// A box made from nothing: the one that was foreseen, or with what was made ahead of it if it was
    /// expected.
    fn make(&self, wanted: &Wanted) -> Result<Ready, StartError> {
        if let Some(foreseen) = taken(&self.foreseen)
            && let Some(ready) = foreseen.finish(wanted.key()?, wanted.limits)
        {
            return Ok(ready);
        }
        let sheet = self.sheet(&wanted.jail)?;
        let from = |keeper, limits| {
            let ordered = Ordered::with(keeper, &sheet, Outlook::of(&wanted.jail), limits)?;
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
        Ok(if self.office.is_open() { sheet } else { sheet.awaited() })
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

    /// How many boxes wait.
    pub fn waiting(&self) -> usize {
        self.stock.lock().spares.len()
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

impl Stock {
    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        // Whoever panicked with it left whole values: they are put in and taken out in one step.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Throws away all that is kept; dropping what this gives takes a while.
    fn empty(&self) -> Kept {
        std::mem::take(&mut *self.lock())
    }

    /// A box that waits, or a copy; none if there is nothing of this description.
    fn take(&self, key: &Key, limits: CgroupLimits, crew: &Crew) -> Option<Ready> {
        let (spare, template, cgroup) = {
            let mut kept = self.lock();
            let is_stale = kept.mounts.as_ref().is_some_and(MountWatch::saw_change);
            if is_stale || kept.key != *key || kept.limits != limits {
                let old = std::mem::take(&mut *kept);
                drop(kept);
                crew.put(Work::Forget(Box::new(old)));
                return None;
            }
            let spare = kept.spares.pop();
            let cgroup = if spare.is_none() { kept.cgroups.pop() } else { None };
            (spare, kept.template.clone(), cgroup)
        };
        if let Some(spare) = spare {
            // The host may have undone a mount while it waited, or somebody killed it.
            if spare.lost().is_ok_and(|lost| lost.is_empty()) {
                return Some(spare.by(Origin::Waiting));
            }
            drop(spare);
        } else if let Some(template) = template {
            let limited = || Cgroup::create_for_box(limits, template.hierarchies());
            let cgroup = cgroup.unwrap_or_else(limited);
            let copied = copy(&template, cgroup).map(|ready| ready.by(Origin::Copied));
            if copied.is_some() {
                return copied;
            }
        } else {
            // It is still being made, or cannot be.
            return None;
        }
        // A copy that lacks something tells of a template that does.
        crew.put(Work::Forget(Box::new(self.empty())));
        None
    }

    /// Notes that this description is the one to keep, and gives it back for the template; none if it is
    /// known. What was kept before goes once the lock is free.
    fn begin(&self, wanted: Wanted, office: &Office) -> Result<Option<Box<Jail>>, StartError> {
        let (jail, key, limits) = wanted.into_parts()?;
        let mut kept = self.lock();
        if kept.is_begun && kept.key == key && kept.limits == limits {
            return Ok(None);
        }
        // Watched from before the template is made, so that no change is missed.
        let mounts = MountWatch::begin().ok();
        let is_begun = mounts.is_some();
        let new = Kept { key, limits, mounts, is_begun, ..Kept::default() };
        let old = std::mem::replace(&mut *kept, new);
        drop(kept);
        if old.is_begun {
            office.put(Work::Forget(Box::new(old)));
        }
        Ok(is_begun.then(|| Box::new(jail)))
    }

    /// Makes the template, unless another description is wanted by now.
    fn prepare(&self, jail: &Jail) {
        let Ok(key) = Key::of(jail) else { return };
        // A description that cannot be copied is made from nothing each time.
        let Ok(Some(template)) = Template::make(jail, Outlook::of(jail)) else { return };
        let template = Arc::new(template);
        let mut kept = self.lock();
        if kept.is_begun && kept.key == key {
            kept.template = Some(Arc::clone(&template));
        }
    }

    /// Makes boxes until enough wait.
    fn refill(&self) {
        loop {
            let (template, limits, lacks_spare) = {
                let kept = self.lock();
                let Some(template) = &kept.template else { return };
                let lacks_spare = kept.spares.len() < self.spares_wanted;
                if !lacks_spare && kept.cgroups.len() >= CGROUPS_WANTED {
                    return;
                }
                (Arc::clone(template), kept.limits, lacks_spare)
            };
            let cgroup = Cgroup::create_for_box(limits, template.hierarchies());
            let (spare, cgroup) =
                if lacks_spare { (copy(&template, cgroup), None) } else { (None, Some(cgroup)) };
            if lacks_spare && spare.is_none() {
                return;
            }
            let mut kept = self.lock();
            if kept.template.as_ref().is_some_and(|now| Arc::ptr_eq(now, &template)) {
                kept.spares.extend(spare);
                kept.cgroups.extend(cgroup);
            } else {
                // What was made for another description goes once nobody waits for the lock.
                drop(kept);
                return;
            }
        }
    }
}

/// What is in there, which is empty then.
fn taken<T>(place: &Mutex<Option<T>>) -> Option<T> {
    place.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// A copy that has all that was asked for.
fn copy(template: &Arc<Template>, cgroup: Cgroup) -> Option<Ready> {
    template.copy(cgroup).ok().filter(Ready::is_whole)
}
