//! The state of a pool: a template for each of the last few descriptions, sandboxes that were copied
//! from it before they are asked for, and the work that is left for the worker.
//!
//! Invariant: however many descriptions are asked for, at most [`DESCRIPTIONS_MAX`] are kept and one
//! template is being made. Each of these holds descriptors, processes and cgroups.

use std::mem::{replace, take};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit};

use super::PoolSize;
use super::mount_watch::MountWatch;
use super::template::Template;
use super::worker::{self, Task};
use crate::jail::Jail;
use crate::jail::key::Key;
use crate::mechanisms::cgroup::{Cgroup, CgroupLimits};
use crate::prepared::{Origin, PreparedSandbox, SandboxParams};
use crate::teardown::Teardown;

/// How many cgroups are made in advance.
const CGROUPS_WANTED: usize = 2;

/// The most descriptions that are kept. Agents alternate between a few kinds of calls.
const DESCRIPTIONS_MAX: usize = 4;

/// The descriptors that this process may have open for each description that is kept.
const DESCRIPTORS_FOR_EACH: u64 = 256;

/// How many ended runs may wait for the worker. Each holds descriptors, so that a caller who runs
/// without a pause removes the others itself.
const BACKLOG_MAX: usize = 4;

/// How long the first program runs before a template is made, which would compete for the processor.
const TEMPLATE_DELAY: Duration = Duration::from_millis(20);

/// The part of a pool that its worker and the cleanups of its runs share.
#[derive(Debug)]
pub(crate) struct SharedPool {
    size: PoolSize,
    descriptions_max: usize,
    state: Mutex<PoolState>,
    /// Wakes the worker.
    has_work: Condvar,
    /// Where a test has the steps of templates written down.
    #[cfg(feature = "fault-injection")]
    log: Mutex<Option<crate::step_trace::Log>>,
}

#[derive(Debug, Default)]
struct PoolState {
    /// The most recently used description is the first.
    descriptions: Vec<Description>,
    next_template: NextTemplate,
    /// True if sandboxes are to be made until enough wait.
    refills: bool,
    /// Runs that have ended.
    backlog: Vec<Teardown>,
    /// True if the worker is removing one of them.
    is_removing: bool,
    /// Descriptions whose processes are to be ended.
    discarded: Vec<Description>,
    worker: Option<JoinHandle<()>>,
    is_closed: bool,
}

/// The template that is made next. A model holds a descriptor for each folder that it shows, so that
/// there is only one.
#[derive(Debug, Default)]
enum NextTemplate {
    /// There is none.
    #[default]
    None,
    /// The first program has not been executed yet, or the template is being made.
    Reserved,
    /// It is made at this time, or earlier if nothing else runs.
    Due(Box<Model>, Instant),
}

/// A description that a template is to be made of.
#[derive(Debug)]
pub(crate) struct Model {
    jail: Jail,
    limits: CgroupLimits,
}

/// All of one description. It has no template while that is being made, or if it cannot be made.
#[derive(Debug)]
pub(super) struct Description {
    key: Key,
    limits: CgroupLimits,
    template: Option<Arc<Template>>,
    spares: Vec<PreparedSandbox>,
    /// Cgroups for the next copies, which take longer to make than to use.
    cgroups: Vec<Cgroup>,
    mounts: MountWatch,
}

impl Description {
    fn is(&self, key: &Key, limits: CgroupLimits) -> bool {
        self.key == *key && self.limits == limits
    }

    fn has(&self, template: &Arc<Template>) -> bool {
        self.template.as_ref().is_some_and(|own| Arc::ptr_eq(own, template))
    }
}

impl PoolState {
    fn has_worker(&self) -> bool {
        self.worker.as_ref().is_some_and(|thread| !thread.is_finished())
    }
}

impl SharedPool {
    pub(super) fn new(size: PoolSize) -> Self {
        let open_max = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let affordable = usize::try_from(open_max / DESCRIPTORS_FOR_EACH).unwrap_or(usize::MAX);
        let descriptions_max = affordable.min(DESCRIPTIONS_MAX);
        Self {
            size,
            descriptions_max,
            state: Mutex::default(),
            has_work: Condvar::new(),
            #[cfg(feature = "fault-injection")]
            log: Mutex::default(),
        }
    }

    #[cfg(feature = "fault-injection")]
    pub(super) fn trace_templates(&self, log: crate::step_trace::Log) {
        *self.log.lock().unwrap_or_else(PoisonError::into_inner) = Some(log);
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        // A panic leaves whole values: they are put in and taken out in one step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn makes_templates(&self) -> bool {
        self.size != PoolSize::NoTemplates
    }

    pub(super) fn has_worker(&self) -> bool {
        self.lock().has_worker()
    }

    pub(super) fn waiting(&self) -> usize {
        self.lock().descriptions.first().map_or(0, |last| last.spares.len())
    }

    /// Starts the worker if there is none. Without one nothing is prepared.
    fn start_worker(self: &Arc<Self>, state: &mut PoolState) -> bool {
        if state.is_closed || !self.makes_templates() {
            return false;
        }
        if state.worker.is_none() {
            let shared = Arc::clone(self);
            let thread = thread::Builder::new().name("stockade-pool".to_owned());
            state.worker = thread.spawn(move || worker::serve(&shared)).ok();
        }
        state.has_worker()
    }

    /// A waiting sandbox or a copy; none if there is nothing of this description.
    pub(super) fn take(&self, key: &Key, limits: CgroupLimits) -> Option<PreparedSandbox> {
        let (spare, template, cgroup) = {
            let mut state = self.lock();
            let at = state.descriptions.iter().position(|known| known.is(key, limits))?;
            // All of them copied the same mounts.
            if state.descriptions.iter().any(|known| known.mounts.saw_change()) {
                let old = take(&mut state.descriptions);
                self.discard(state, old);
                return None;
            }
            let used = state.descriptions.remove(at);
            state.descriptions.insert(0, used);
            let last = state.descriptions.first_mut()?;
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
        } else {
            // Without a template it is still being made, or cannot be.
            let template = template.as_ref()?;
            let limited = || Cgroup::create_for_box(limits, template.hierarchies());
            if let Some(copied) = copy(template, cgroup.unwrap_or_else(limited)) {
                return Some(copied.by(Origin::Copied));
            }
        }
        // If a copy lacks something, the template does.
        let is_bad = |known: &Description| template.as_ref().is_some_and(|bad| known.has(bad));
        let mut state = self.lock();
        let old = state.descriptions.iter().position(is_bad);
        let old = old.map(|at| state.descriptions.remove(at));
        self.discard(state, old);
        None
    }

    /// Lets the worker end the processes of descriptions.
    fn discard(
        &self,
        mut state: MutexGuard<'_, PoolState>,
        old: impl IntoIterator<Item = Description>,
    ) {
        state.discarded.extend(old);
        drop(state);
        self.has_work.notify_one();
    }

    /// Keeps a description, and gives its model for the template. Gives none if the description is
    /// known, or while another template is being made.
    pub(super) fn keep(&self, jail: Jail, key: Key, limits: CgroupLimits) -> Option<Box<Model>> {
        let mut state = self.lock();
        let is_known = state.descriptions.iter().any(|known| known.is(&key, limits));
        if is_known
            || self.descriptions_max == 0
            || !matches!(state.next_template, NextTemplate::None)
        {
            return None;
        }
        // Watched from before the template is made, so that no change is missed.
        let mounts = MountWatch::begin().ok()?;
        let (template, spares, cgroups) = (None, Vec::new(), Vec::new());
        let new = Description { key, limits, template, spares, cgroups, mounts };
        state.descriptions.insert(0, new);
        state.next_template = NextTemplate::Reserved;
        let kept = state.descriptions.len().min(self.descriptions_max);
        let old = state.descriptions.split_off(kept);
        self.discard(state, old);
        Some(Box::new(Model { jail, limits }))
    }

    /// Lets the worker make a template soon.
    pub(super) fn prepare_soon(self: &Arc<Self>, model: Box<Model>) {
        let mut state = self.lock();
        if self.start_worker(&mut state) {
            let at = Instant::now().checked_add(TEMPLATE_DELAY).unwrap_or_else(Instant::now);
            state.next_template = NextTemplate::Due(model, at);
            self.has_work.notify_one();
        } else {
            state.next_template = NextTemplate::None;
            drop(state);
            drop(model);
        }
    }

    /// Lets the worker make sandboxes until enough wait.
    pub(super) fn refill_soon(&self) {
        let mut state = self.lock();
        if state.has_worker() {
            state.refills = true;
            self.has_work.notify_one();
        }
    }

    /// Removes what an ended run has left: by the worker, or without templates before the next sandbox.
    pub(super) fn remove(self: &Arc<Self>, teardown: Teardown) {
        let mut state = self.lock();
        let backlog = state.backlog.len().saturating_add(usize::from(state.is_removing));
        let waits = match self.size {
            PoolSize::NoTemplates => !state.is_closed,
            PoolSize::Templates { .. } => backlog < BACKLOG_MAX && self.start_worker(&mut state),
        };
        if waits {
            state.backlog.push(teardown);
            self.has_work.notify_one();
        } else {
            drop(state);
            drop(teardown);
        }
    }

    /// Without templates: removes what earlier runs have left.
    pub(super) fn finish_cleanup(&self) {
        if !self.makes_templates() {
            let backlog = take(&mut self.lock().backlog);
            // The lock is free by now: this takes a while.
            drop(backlog);
        }
    }

    /// Waits for the next task of the worker; none once the pool is closed and what has ended is
    /// removed.
    pub(super) fn next_task(&self) -> Option<Task> {
        let mut state = self.lock();
        state.is_removing = false;
        loop {
            if !state.discarded.is_empty() {
                return Some(Task::Discard(take(&mut state.discarded)));
            }
            if !state.backlog.is_empty() {
                state.is_removing = true;
                return Some(Task::Remove(state.backlog.remove(0)));
            }
            if state.is_closed {
                return None;
            }
            // A run that has ended wants a refill, and nothing competes with the template then.
            let now = Instant::now();
            if let NextTemplate::Due(_, at) = state.next_template
                && at > now
                && !state.refills
            {
                let left = at.saturating_duration_since(now);
                let woken = self.has_work.wait_timeout(state, left);
                state = woken.unwrap_or_else(PoisonError::into_inner).0;
            } else if let NextTemplate::Due(model, _) = take_due(&mut state.next_template) {
                return Some(Task::Prepare(model));
            } else if take(&mut state.refills) {
                return Some(Task::Refill);
            } else {
                state = self.has_work.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Makes a template, unless its description is no longer kept.
    pub(super) fn prepare(&self, Model { jail, limits }: &Model) {
        let key = Key::of(jail);
        #[cfg(feature = "fault-injection")]
        if let Some(log) = &*self.log.lock().unwrap_or_else(PoisonError::into_inner) {
            log.use_in_this_thread();
        }
        // A description that cannot be copied is made from nothing each time.
        let template = Template::make(jail, SandboxParams::of(jail));
        let mut state = self.lock();
        state.next_template = NextTemplate::None;
        let (Ok(key), Ok(Some(template))) = (key, template) else { return };
        let template = Arc::new(template);
        if let Some(known) = state.descriptions.iter_mut().find(|known| known.is(&key, *limits)) {
            known.template = Some(Arc::clone(&template));
        }
        // One that is not kept ends here, and its end takes a while.
        drop(state);
    }

    /// Makes sandboxes until enough of each description wait.
    pub(super) fn refill(&self) {
        let templates: Vec<Arc<Template>> =
            self.lock().descriptions.iter().filter_map(|known| known.template.clone()).collect();
        for template in templates {
            self.refill_from(&template);
        }
    }

    fn refill_from(&self, template: &Arc<Template>) {
        let PoolSize::Templates { spares } = self.size else { return };
        loop {
            let (limits, lacks_spare) = {
                let state = self.lock();
                let mut known = state.descriptions.iter();
                let Some(known) = known.find(|known| known.has(template)) else { return };
                let lacks_spare = known.spares.len() < spares;
                if !lacks_spare && known.cgroups.len() >= CGROUPS_WANTED {
                    return;
                }
                (known.limits, lacks_spare)
            };
            let cgroup = Cgroup::create_for_box(limits, template.hierarchies());
            let (spare, cgroup) =
                if lacks_spare { (copy(template, cgroup), None) } else { (None, Some(cgroup)) };
            if lacks_spare && spare.is_none() {
                return;
            }
            let mut state = self.lock();
            if let Some(known) = state.descriptions.iter_mut().find(|known| known.has(template)) {
                known.spares.extend(spare);
                known.cgroups.extend(cgroup);
            } else {
                // A sandbox made for a discarded description ends once the lock is free.
                drop(state);
                return;
            }
        }
    }

    /// Prepares nothing more, and waits for the worker and for all that waits.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        let (descriptions, worker) = (take(&mut state.descriptions), state.worker.take());
        drop(state);
        self.has_work.notify_one();
        drop(descriptions);
        // A worker that panicked has ended, which is what is wanted here.
        let _ended = worker.map(JoinHandle::join);
        // The model that the worker did not come to, and without a worker what has ended.
        let closed = PoolState { is_closed: true, ..PoolState::default() };
        let rest = replace(&mut *self.lock(), closed);
        drop(rest);
    }
}

/// Takes a template that is due, and reserves its place while it is made.
fn take_due(next: &mut NextTemplate) -> NextTemplate {
    match next {
        NextTemplate::Due(..) => replace(next, NextTemplate::Reserved),
        NextTemplate::None | NextTemplate::Reserved => NextTemplate::None,
    }
}

/// A copy that has all that was asked for.
fn copy(template: &Arc<Template>, cgroup: Cgroup) -> Option<PreparedSandbox> {
    template.copy(cgroup).ok().filter(PreparedSandbox::is_whole)
}
