//! What a yard keeps: a template for each of the last few descriptions, and boxes that were copied from it
//! before they are asked for.
//!
//! Invariant: however many descriptions are asked for, at most [`DESCRIPTIONS_MAX`] are kept and one
//! template is being made. Each of these holds descriptors, processes and cgroups.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Resource, getrlimit};

use super::crew::{Crew, Office, Work};
use super::mounts::MountWatch;
use super::wanted::Wanted;
use crate::cgroup::{Cgroup, CgroupLimits};
use crate::jail::Jail;
use crate::jail::key::Key;
use crate::ready::{Origin, Outlook, Ready};
use crate::start::StartError;
use crate::template::Template;

/// How many cgroups are made in advance.
const CGROUPS_WANTED: usize = 2;

/// The most descriptions that are kept. Agents alternate between a few kinds of calls.
const DESCRIPTIONS_MAX: usize = 4;

/// The descriptors that this process may have open for each description that is kept.
const DESCRIPTORS_FOR_EACH: u64 = 256;

/// What is kept, shared with the thread that sees to it.
#[derive(Debug)]
pub(super) struct Stock {
    /// The most recently used description is the first.
    kept: Mutex<Vec<Kept>>,
    descriptions_max: usize,
    is_preparing: Arc<AtomicBool>,
    spares_wanted: usize,
}

/// A description that a template is to be made of.
#[derive(Debug)]
pub(crate) struct Model {
    jail: Jail,
    limits: CgroupLimits,
    _turn: Turn,
}

/// The right to have a template made: there is one. A description holds a descriptor for each folder
/// that it shows, so that many of them must not wait in the queue of the thread.
#[derive(Debug)]
struct Turn(Arc<AtomicBool>);

impl Turn {
    fn take(is_taken: &Arc<AtomicBool>) -> Option<Self> {
        let was_taken = is_taken.swap(true, Ordering::AcqRel);
        (!was_taken).then(|| Self(Arc::clone(is_taken)))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// All of one description. Without a template it is being made, or cannot be.
#[derive(Debug, Default)]
pub(super) struct Kept {
    key: Key,
    limits: CgroupLimits,
    template: Option<Arc<Template>>,
    spares: Vec<Ready>,
    /// Cgroups for the next copies, which take longer to make than to use.
    cgroups: Vec<Cgroup>,
    mounts: Option<MountWatch>,
}

impl Kept {
    fn has(&self, template: &Arc<Template>) -> bool {
        self.template.as_ref().is_some_and(|own| Arc::ptr_eq(own, template))
    }
}

impl Stock {
    /// Nothing yet.
    pub(super) fn new(spares_wanted: usize) -> Self {
        let open_max = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let affordable = usize::try_from(open_max / DESCRIPTORS_FOR_EACH).unwrap_or(usize::MAX);
        let descriptions_max = affordable.min(DESCRIPTIONS_MAX);
        let is_preparing = Arc::default();
        Self { kept: Mutex::default(), descriptions_max, is_preparing, spares_wanted }
    }

    /// How many boxes of the last description wait.
    pub(super) fn waiting(&self) -> usize {
        self.lock().first().map_or(0, |last| last.spares.len())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Kept>> {
        // Whoever panicked with it left whole values: they are put in and taken out in one step.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Throws away all that is kept; dropping what this gives takes a while.
    pub(super) fn empty(&self) -> Vec<Kept> {
        std::mem::take(&mut *self.lock())
    }

    /// A box that waits, or a copy; none if there is nothing of this description.
    pub(super) fn take(&self, key: &Key, limits: CgroupLimits, crew: &Crew) -> Option<Ready> {
        let (spare, template, cgroup) = {
            let mut kept = self.lock();
            let at = kept.iter().position(|one| one.key == *key && one.limits == limits)?;
            // All of them copied the same mounts.
            if kept.iter().any(|one| one.mounts.as_ref().is_some_and(MountWatch::saw_change)) {
                let old = std::mem::take(&mut *kept);
                drop(kept);
                crew.put(Work::Forget(old));
                return None;
            }
            let used = kept.remove(at);
            kept.insert(0, used);
            let last = kept.first_mut()?;
            let spare = last.spares.pop();
            let cgroup = if spare.is_some() { None } else { last.cgroups.pop() };
            (spare, last.template.clone(), cgroup)
        };
        if let Some(spare) = spare {
            // The host may have undone a mount while it waited, or somebody killed it.
            if spare.lost().is_ok_and(|lost| lost.is_empty()) {
                return Some(spare.by(Origin::Waiting));
            }
            drop(spare);
        } else if let Some(template) = &template {
            let limited = || Cgroup::create_for_box(limits, template.hierarchies());
            if let Some(copied) = copy(template, cgroup.unwrap_or_else(limited)) {
                return Some(copied.by(Origin::Copied));
            }
        } else {
            // It is still being made, or cannot be.
            return None;
        }
        // A copy that lacks something tells of a template that does.
        let is_bad = |one: &Kept| template.as_ref().is_some_and(|template| one.has(template));
        let mut kept = self.lock();
        let old = kept.iter().position(is_bad).map(|at| kept.remove(at));
        drop(kept);
        crew.put(Work::Forget(old.into_iter().collect()));
        None
    }

    /// Notes that this description is one to keep, and gives it back for the template; none if it is
    /// known, or while another template is being made. The description that was not used for the longest
    /// time goes once the lock is free.
    pub(super) fn begin(
        &self,
        wanted: Wanted,
        office: &Office,
    ) -> Result<Option<Box<Model>>, StartError> {
        let (jail, key, limits) = wanted.into_parts()?;
        let mut kept = self.lock();
        let is_known = kept.iter().any(|one| one.key == key && one.limits == limits);
        if is_known || self.descriptions_max == 0 {
            return Ok(None);
        }
        let Some(turn) = Turn::take(&self.is_preparing) else { return Ok(None) };
        // Watched from before the template is made, so that no change is missed.
        let Ok(mounts) = MountWatch::begin() else { return Ok(None) };
        kept.insert(0, Kept { key, limits, mounts: Some(mounts), ..Kept::default() });
        let after = kept.len().min(self.descriptions_max);
        let old = kept.split_off(after);
        drop(kept);
        if !old.is_empty() {
            office.put(Work::Forget(old));
        }
        Ok(Some(Box::new(Model { jail, limits, _turn: turn })))
    }

    /// Makes the template, unless its description is no longer kept.
    pub(super) fn prepare(&self, Model { jail, limits, _turn }: &Model) {
        let Ok(key) = Key::of(jail) else { return };
        // A description that cannot be copied is made from nothing each time.
        let Ok(Some(template)) = Template::make(jail, Outlook::of(jail)) else { return };
        let template = Arc::new(template);
        let mut kept = self.lock();
        if let Some(one) = kept.iter_mut().find(|one| one.key == key && one.limits == *limits) {
            one.template = Some(Arc::clone(&template));
        }
    }

    /// Makes boxes until enough of each description wait.
    pub(super) fn refill(&self) {
        let templates: Vec<Arc<Template>> =
            self.lock().iter().filter_map(|one| one.template.clone()).collect();
        for template in templates {
            self.refill_from(&template);
        }
    }

    fn refill_from(&self, template: &Arc<Template>) {
        loop {
            let (limits, lacks_spare) = {
                let kept = self.lock();
                let Some(one) = kept.iter().find(|one| one.has(template)) else { return };
                let lacks_spare = one.spares.len() < self.spares_wanted;
                if !lacks_spare && one.cgroups.len() >= CGROUPS_WANTED {
                    return;
                }
                (one.limits, lacks_spare)
            };
            let cgroup = Cgroup::create_for_box(limits, template.hierarchies());
            let (spare, cgroup) =
                if lacks_spare { (copy(template, cgroup), None) } else { (None, Some(cgroup)) };
            if lacks_spare && spare.is_none() {
                return;
            }
            let mut kept = self.lock();
            if let Some(one) = kept.iter_mut().find(|one| one.has(template)) {
                one.spares.extend(spare);
                one.cgroups.extend(cgroup);
            } else {
                // What was made for another description goes once nobody waits for the lock.
                drop(kept);
                return;
            }
        }
    }
}

/// A copy that has all that was asked for.
fn copy(template: &Arc<Template>, cgroup: Cgroup) -> Option<Ready> {
    template.copy(cgroup).ok().filter(Ready::is_whole)
}
