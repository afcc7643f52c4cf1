//! The thread of a pool, which makes templates and sandboxes and removes ended runs, so that no caller
//! waits for that.

use std::sync::Arc;

use super::state::{Description, Model, SharedPool};
use crate::teardown::Teardown;

/// A task of the worker.
pub(super) enum Task {
    /// Ends the processes of old descriptions.
    Discard(Vec<Description>),
    /// Waits for the end of a run, and removes its cgroups.
    Remove(Teardown),
    /// Makes a template, and sandboxes from it.
    Prepare(Box<Model>),
    /// Makes sandboxes until enough wait.
    Refill,
}

/// Does the work of a pool until it is closed.
pub(super) fn serve(shared: &SharedPool) {
    while let Some(task) = shared.next_task() {
        match task {
            Task::Discard(old) => drop(old),
            Task::Remove(teardown) => drop(teardown),
            Task::Prepare(model) => {
                shared.prepare(&model);
                drop(model);
                shared.refill();
            }
            Task::Refill => shared.refill(),
        }
    }
}

/// The pool's cleanup for a sandbox that has left it. Dropping it lets the pool prepare another
/// one, and not before: two at once would compete for the processor.
#[derive(Debug)]
pub(crate) struct Cleanup {
    pool: Arc<SharedPool>,
    model: Option<Box<Model>>,
}

impl Cleanup {
    /// For a sandbox of this pool; with the model of a template that is to be made.
    pub(super) fn new(pool: &Arc<SharedPool>, model: Option<Box<Model>>) -> Self {
        Self { pool: Arc::clone(pool), model }
    }

    /// The program runs, and the caller waits for nothing else: lets the pool make the template.
    pub(crate) fn program_started(&mut self) {
        if let Some(model) = self.model.take() {
            self.pool.prepare_soon(model);
        }
    }

    /// Takes over what an ended run has left.
    pub(crate) fn remove(&self, teardown: Teardown) {
        self.pool.remove(teardown);
    }
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        self.program_started();
        self.pool.refill_soon();
    }
}
