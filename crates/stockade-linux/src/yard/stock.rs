//! What a yard keeps: a template, and boxes that were copied from it before they are asked for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use super::crew::{Crew, Office, Work};
use super::mounts::MountWatch;
use super::wanted::Wanted;
use crate::cgroup::{Cgroup, CgroupLimits};
use crate::jail::Jail;
use crate::jail::key::Key;
use crate::ready::{Ordered, Origin, Outlook, ProgramFor, Ready};
use crate::start::StartError;
use crate::template::Template;
use crate::whereabouts::Where;

/// How many cgroups are made in advance.
const CGROUPS_WANTED: usize = 2;

/// What is kept, shared with the thread that sees to it.
#[derive(Debug)]
pub(super) struct Stock {
    kept: Mutex<Kept>,
    spares_wanted: usize,
}

/// All of one description, or nothing.
#[derive(Debug, Default)]
pub(super) struct Kept {
    key: Key,
    limits: CgroupLimits,
    template: Option<Arc<Template>>,
    spares: Vec<Ready>,
    /// Copies that were ordered for calls of which it is not yet known whether they may run.
    ordered: Vec<Ordered>,
    /// Cgroups for the next copies, which take longer to make than to use.
    cgroups: Vec<Cgroup>,
    mounts: Option<MountWatch>,
    /// Whether the template is being made, or cannot be.
    is_begun: bool,
}

impl Kept {
    fn waiting(&self) -> usize {
        self.spares.len().saturating_add(self.ordered.len())
    }
}

impl Stock {
    /// Nothing yet.
    pub(super) fn new(spares_wanted: usize) -> Self {
        Self { kept: Mutex::default(), spares_wanted }
    }

    /// How many boxes wait, or were ordered and will.
    pub(super) fn waiting(&self) -> usize {
        self.lock().waiting()
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // Whoever panicked with it left whole values: they are put in and taken out in one step.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Throws away all that is kept; dropping what this gives takes a while.
    pub(super) fn empty(&self) -> Kept {
        std::mem::take(&mut *self.lock())
    }

    /// Whether there is a template, and fewer boxes than calls.
    pub(super) fn lacks(&self, calls: usize) -> bool {
        let kept = self.lock();
        kept.template.is_some() && kept.waiting() < calls
    }

    /// Lets a copy be made. What goes wrong is told when one is asked for.
    pub(super) fn order(&self, place: Where) {
        let (template, limits, cgroup) = {
            let mut kept = self.lock();
            let Some(template) = kept.template.clone() else { return };
            (template, kept.limits, kept.cgroups.pop())
        };
        let limited = || Cgroup::create_for_box(limits, template.hierarchies());
        let ordered = template.order(cgroup.unwrap_or_else(limited), place);
        let mut kept = self.lock();
        if kept.template.as_ref().is_some_and(|now| Arc::ptr_eq(now, &template)) {
            kept.ordered.extend(ordered.ok());
        } else {
            // What was made for another description goes once nobody waits for the lock.
            drop(kept);
        }
    }

    /// A box that waits, or a copy; none if there is nothing of this description.
    pub(super) fn take(
        &self,
        key: &Key,
        limits: CgroupLimits,
        crew: &Crew,
        program: ProgramFor<'_>,
    ) -> Option<Ready> {
        let (spare, ordered, template, cgroup) = {
            let mut kept = self.lock();
            let is_stale = kept.mounts.as_ref().is_some_and(MountWatch::saw_change);
            if is_stale || kept.key != *key || kept.limits != limits {
                let old = std::mem::take(&mut *kept);
                drop(kept);
                crew.put(Work::Forget(Box::new(old)));
                return None;
            }
            let spare = kept.spares.pop();
            let ordered = if spare.is_none() { kept.ordered.pop() } else { None };
            let has_one = spare.is_some() || ordered.is_some();
            let cgroup = if has_one { None } else { kept.cgroups.pop() };
            (spare, ordered, kept.template.clone(), cgroup)
        };
        if let Some(spare) = spare {
            // The host may have undone a mount while it waited, or somebody killed it.
            if spare.lost().is_ok_and(|lost| lost.is_empty()) {
                return Some(spare.by(Origin::Waiting));
            }
            drop(spare);
        } else if let Some(template) = template {
            let limited = || Cgroup::create_for_box(limits, template.hierarchies());
            let copied = match ordered.map(|ordered| ordered.hand(program).meet()) {
                Some(Ok(ready)) if ready.is_whole() => Some(ready),
                // Who is silent would be asked in vain for another.
                Some(Err(StartError { errno: Errno::TIMEDOUT, .. })) => None,
                // Somebody may have killed the one that was ordered, or its program be a wrong one, which
                // is told when that is to run in the next.
                Some(_) | None => copy(&template, cgroup.unwrap_or_else(limited)),
            };
            if let Some(copied) = copied {
                return Some(copied.by(Origin::Copied));
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
    pub(super) fn begin(
        &self,
        wanted: Wanted,
        office: &Office,
    ) -> Result<Option<Box<Jail>>, StartError> {
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
    pub(super) fn prepare(&self, jail: &Jail) {
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
    pub(super) fn refill(&self) {
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

/// A copy that has all that was asked for.
fn copy(template: &Arc<Template>, cgroup: Cgroup) -> Option<Ready> {
    template.copy(cgroup).ok().filter(Ready::is_whole)
}
