//! Sandboxes prepared in advance, so that a program finds one waiting.
//!
//! The first sandbox of a description is made from nothing. Then a template is made of it, and later
//! sandboxes are copied from that; some are copied before they are asked for. A sandbox is used once,
//! and only for a description that is equal in every point. The last few descriptions are kept. A new
//! one replaces the one that was not used for the longest time; a change of the host's mounts discards
//! all of them.

mod mount_watch;
mod state;
pub(crate) mod template;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use self::mount_watch::MountWatch;
use self::state::SharedPool;
pub(crate) use self::worker::Cleanup;
use crate::jail::key::Key;
use crate::jail::{Attest, Jail, encode};
use crate::mechanisms::cgroup::{Cgroup, CgroupLimits, Hierarchies};
use crate::prepared::{Origin, PendingSandbox, PreparedSandbox, SandboxParams};
use crate::protocol::step::Step;
use crate::spawn::StartingShim;
use crate::start::{At, StartError};

/// Where sandboxes wait for programs. Dropping it ends all that wait; those in use go on.
#[derive(Debug)]
pub struct SandboxPool {
    shared: Arc<SharedPool>,
    given: [AtomicU64; 3],
}

/// The sandboxes that a pool prepares for later calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolSize {
    /// Nothing: every sandbox is made from nothing, by the caller. For a process with one call.
    NoTemplates,
    /// Templates of the last few descriptions, and this many waiting sandboxes of each.
    Templates {
        /// How many sandboxes wait.
        spares: usize,
    },
}

impl SandboxPool {
    /// An empty pool. It starts its thread when there is something to prepare.
    pub fn new(size: PoolSize) -> Self {
        Self { shared: Arc::new(SharedPool::new(size)), given: Default::default() }
    }

    /// A sandbox of this description with these limits for all its processes together, waiting or made
    /// now, and attested. [`Jail::cgroup`], [`Jail::program`], [`Jail::cwd`] and [`Jail::attest`] are
    /// not used.
    pub fn ready(&self, jail: Jail, limits: CgroupLimits) -> Result<PreparedSandbox, StartError> {
        let ready = self.find(jail, limits)?;
        self.given_by(ready.origin()).fetch_add(1, Ordering::Relaxed);
        Ok(ready)
    }

    fn find(&self, mut jail: Jail, limits: CgroupLimits) -> Result<PreparedSandbox, StartError> {
        jail.attest = Attest::BeforeExecution;
        self.shared.finish_cleanup();
        if jail.session.is_some() {
            // Each call of a session has process ids of its own, so that no two are alike.
            let ready = Self::start(&jail, limits)?.wait()?.keeping(jail);
            return Ok(ready.with_cleanup(Cleanup::new(&self.shared, None)));
        }
        // Without a worker nothing was prepared.
        let mut key = None;
        if self.shared.has_worker() {
            let known = Key::of(&jail).at(Step::PrepareBox)?;
            if let Some(ready) = self.shared.take(&known, limits) {
                return Ok(ready.keeping(jail).with_cleanup(Cleanup::new(&self.shared, None)));
            }
            key = Some(known);
        }
        let pending = Self::start(&jail, limits)?;
        if !self.shared.makes_templates() {
            let ready = pending.wait()?.keeping(jail);
            return Ok(ready.with_cleanup(Cleanup::new(&self.shared, None)));
        }
        // Computed while the sandbox is being made.
        let key = key.map_or_else(|| Key::of(&jail).at(Step::PrepareBox), Ok)?;
        let ready = pending.wait()?;
        let model = self.shared.keep(jail, key, limits);
        Ok(ready.with_cleanup(Cleanup::new(&self.shared, model)))
    }

    /// Starts to make a sandbox from nothing.
    fn start(jail: &Jail, limits: CgroupLimits) -> Result<PendingSandbox, StartError> {
        let plan = encode::encode(jail).at(Step::PrepareBox)?;
        let cgroup = Cgroup::create_for_box(limits, Hierarchies::read());
        let params = SandboxParams::of(jail);
        PendingSandbox::with(StartingShim::begin()?, &plan, params, Some(cgroup))
    }

    /// How many sandboxes of this origin were given out.
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

    /// Lets the templates that are made from now on, and what is copied from them, write their steps down.
    #[cfg(feature = "fault-injection")]
    pub(crate) fn trace_templates(&self, log: crate::step_trace::Log) {
        self.shared.trace_templates(log);
    }

    /// How many sandboxes of the last description wait.
    pub fn waiting(&self) -> usize {
        self.shared.waiting()
    }
}

impl Drop for SandboxPool {
    fn drop(&mut self) {
        self.shared.close();
    }
}
