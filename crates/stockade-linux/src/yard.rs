//! Boxes made in advance, so that a program finds one waiting.
//!
//! The first box of a description is made from nothing. Then a template is made of it, and boxes are
//! copied from that; some are copied before they are asked for. A box is used once, and only for a
//! description that is equal in every point. The last few descriptions are kept; the one that was not used
//! for the longest time is thrown away for a new one, and all of them for a change of the host's mounts.

mod crew;
mod duty;
mod mounts;
mod stock;
mod wanted;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use self::crew::Office;
pub(crate) use self::duty::Duty;
use self::duty::Pile;
pub use self::mounts::MountWatch;
use self::stock::Stock;
use self::wanted::Wanted;
use crate::booting::Booting;
use crate::cgroup::{Cgroup, CgroupLimits, Hierarchies};
use crate::jail::{Attest, Jail, pack};
use crate::keeper::step::Step;
use crate::ready::{Ordered, Origin, Outlook, Ready};
use crate::start::{At, StartError};

/// Where boxes wait. Dropping it ends all that wait; those in use go on.
#[derive(Debug)]
pub struct Yard {
    stock: Arc<Stock>,
    office: Arc<Office>,
    left: Pile,
    given: [AtomicU64; 3],
}

/// What a yard keeps for later calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warmth {
    /// Nothing: every box is made from nothing, by nobody but the caller. For a process with one call.
    Cold,
    /// Templates of the last few descriptions, and this many boxes of each that wait.
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
        Self { stock, office, left: Pile::default(), given: Default::default() }
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
            let duty = Duty::Office(Arc::clone(&self.office), None);
            return Ok(ready.made_of(wanted.jail).on_duty(duty));
        }
        let ready = Self::make(&wanted)?;
        if !self.office.is_open() {
            return Ok(ready.made_of(wanted.jail).on_duty(Duty::Later(Arc::clone(&self.left))));
        }
        let model = self.stock.begin(wanted, &self.office)?;
        Ok(ready.on_duty(Duty::Office(Arc::clone(&self.office), model)))
    }

    /// A box made from nothing.
    fn make(wanted: &Wanted) -> Result<Ready, StartError> {
        let sheet = pack::pack(&wanted.jail).at(Step::PrepareBox)?;
        let cgroup = Cgroup::create_for_box(wanted.limits, Hierarchies::read());
        let outlook = Outlook::of(&wanted.jail);
        let ordered = Ordered::with(Booting::begin()?, &sheet, outlook, Some(cgroup))?;
        // Found out while the box is made.
        wanted.key()?;
        ordered.meet()
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

    /// How many boxes of the last description wait.
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
