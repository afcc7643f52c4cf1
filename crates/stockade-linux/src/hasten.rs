//! A keeper that is spawned before it is known what for.

use std::io;
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use crate::booting::Booting;
use crate::cgroup::Hierarchies;
use crate::identity::Identity;
use crate::jail::Network;
use crate::jail::pack::namespaces_with;
use crate::yard::MountWatch;

static HASTENED: Mutex<Option<Unclaimed>> = Mutex::new(None);

/// The keeper that nobody has asked for yet, and what it was told.
struct Unclaimed {
    /// The process that has it: a fork has none.
    owner: u32,
    keeper: Booting,
    begun: Option<Begun>,
}

/// The box whose namespaces it makes, and how the host was before it was told.
struct Begun {
    namespaces: u64,
    identity: Identity,
    before: Before,
}

/// The host before its mounts were copied: who does that takes locks that whoever reads this would wait
/// for.
#[derive(Debug)]
pub(crate) struct Before {
    pub(crate) mounts: MountWatch,
    pub(crate) hierarchies: Result<Hierarchies, Errno>,
}

impl Before {
    /// How the host is now.
    pub(crate) fn now() -> io::Result<Self> {
        let mounts = MountWatch::begin()?;
        let hierarchies = Hierarchies::among(|| mounts.list());
        Ok(Self { mounts, hierarchies })
    }

    /// Whether a box is cloned into its cgroup, which has to be there first.
    pub(crate) fn is_unified(&self) -> bool {
        self.hierarchies.as_ref().is_ok_and(Hierarchies::is_unified)
    }
}

/// Holds a keeper that was hastened, until somebody asks for it. Dropping it ends one that nobody has
/// asked for.
#[derive(Debug)]
#[must_use = "dropping it ends the keeper"]
pub struct Hastened(());

/// Starts a keeper for the first program or box that this process will ask for, and does not wait for
/// it. For a command, which has its arguments and a policy to read before it knows what that is. If it
/// cannot be had it is started when it is needed.
pub fn hasten() -> Hastened {
    let mut hastened = lock();
    if hastened.is_none() {
        let unclaimed = |keeper| Unclaimed { owner: process::id(), keeper, begun: None };
        *hastened = Booting::elsewhere().map(unclaimed);
    }
    Hastened(())
}

impl Hastened {
    /// Says that the first to ask will most likely want a box with this network, whose namespaces are
    /// made meanwhile. Who wants anything else gets another keeper. Does nothing where a box is cloned
    /// into its cgroup, which has to be there first.
    pub fn for_box(&self, network: Network) {
        let mut hastened = lock();
        let Some(unclaimed) = hastened.as_mut().filter(|one| one.can_be_told()) else { return };
        let Ok(before) = Before::now() else { return };
        if before.is_unified() {
            return;
        }
        let (namespaces, identity) = (namespaces_with(network), Identity::of_caller());
        if unclaimed.keeper.begin_early(namespaces, identity, None).is_ok() {
            unclaimed.begun = Some(Begun { namespaces, identity, before });
        }
    }
}

impl Drop for Hastened {
    fn drop(&mut self) {
        drop(taken_if(|_| true));
    }
}

impl Unclaimed {
    fn can_be_told(&self) -> bool {
        self.owner == process::id() && self.begun.is_none()
    }
}

/// The keeper, for who is the first to ask, if it was told nothing yet.
pub(crate) fn taken() -> Option<Booting> {
    taken_if(|one| one.begun.is_none()).map(|one| one.keeper)
}

/// The keeper for a box that has these namespaces, and if it makes them already, how the host was before.
pub(crate) fn taken_for(namespaces: u64, identity: Identity) -> Option<(Booting, Option<Before>)> {
    let suits = |begun: &Begun| begun.namespaces == namespaces && begun.identity == identity;
    let unclaimed = taken_if(|one| one.begun.as_ref().is_none_or(suits))?;
    Some((unclaimed.keeper, unclaimed.begun.map(|begun| begun.before)))
}

fn taken_if(suits: impl FnOnce(&Unclaimed) -> bool) -> Option<Unclaimed> {
    let unclaimed = lock().take_if(|one| one.owner != process::id() || suits(one))?;
    if unclaimed.owner == process::id() {
        return Some(unclaimed);
    }
    // It is that of the process which has forked this one.
    unclaimed.keeper.leave_to_its_owner();
    None
}

fn lock() -> MutexGuard<'static, Option<Unclaimed>> {
    HASTENED.lock().unwrap_or_else(PoisonError::into_inner)
}
