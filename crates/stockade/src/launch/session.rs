//! The sessions of a host: what their calls share, and what these have left running.
//!
//! A session begins with the first call that names it. Its namespaces and its folder are made when a
//! sandbox first joins them, and go with the session and the last sandbox in it.

mod left;
mod new_repository;
mod processes;
mod ring;
mod shared_ports;
mod working_folder;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use stockade_sandbox::{EndFolder, FolderLimits, SessionSpace};

pub(super) use self::left::LeftCalls;
pub(crate) use self::left::LeftRun;
pub use self::left::{LeftCall, LeftEnd, over_budget};
pub(super) use self::new_repository::{GuardedFolder, guarded};
pub use self::ring::LogRing;
pub(super) use self::shared_ports::admit_shared_ports;
pub(crate) use self::shared_ports::lower_network;
pub use self::working_folder::FileIdentity;
use self::working_folder::WorkingFolder;
use super::interpreters::{KeptCount, KeptInterpreters};
use super::spec::not_started;
use crate::call::{CallId, Language, SessionName};
use crate::confine::Ports;
use crate::limits::SessionLimits;
use crate::outcome::{Failure, LeftProcess, SessionUse};
use crate::plan::describe::{TEMPORARY_BYTES, TEMPORARY_FILES};

/// How many process ids lie between the first processes of two calls of a session, so that the same number
/// hardly means two processes in what the agent reads.
const PIDS_PER_CALL: u64 = 1_000;
/// Above this the process ids begin anew. The kernel's own maximum is larger on all machines that we know.
const PIDS_MAX: u64 = 30_000;

/// How much the folder of a session can hold.
pub const FOLDER_LIMITS: FolderLimits =
    FolderLimits { bytes_max: TEMPORARY_BYTES, files_max: TEMPORARY_FILES };

/// The sessions of one [`Stockade`](crate::Stockade), by name. Dropping it ends them.
#[derive(Debug, Default)]
pub struct Sessions {
    limits: SessionLimits,
    interpreters: KeptCount,
    by_name: Mutex<BTreeMap<SessionName, Arc<Session>>>,
}

/// What the calls of one session share. Dropping it ends what they have left running.
#[derive(Debug)]
pub struct Session {
    name: SessionName,
    left: Arc<LeftCalls>,
    interpreters: Arc<KeptInterpreters>,
    state: Mutex<SessionState>,
}

#[derive(Debug, Default)]
struct SessionState {
    space: Option<Arc<SessionSpace>>,
    /// How many calls it has had.
    calls: u64,
    /// How many of them run.
    running: u32,
    folder: Option<WorkingFolder>,
    ports: PortsOfOthers,
    watchers: Vec<JoinHandle<()>>,
    is_over: bool,
}

/// The ports that calls of other processes had open in the network of a session.
#[derive(Debug, Default)]
struct PortsOfOthers {
    /// How many calls the session had then.
    calls: u64,
    ports: Ports,
}

/// Why processes that a call has left running were ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeepError {
    /// Nothing could watch them.
    #[error("nothing could watch them: {0}")]
    Unwatched(#[from] io::Error),
    /// A repository has appeared.
    #[error(
        "a repository has appeared at {0:?}, whose configuration and hooks could not be protected from them; \
         start them again in a call of their own"
    )]
    Repository(PathBuf),
}

/// A call in its session, until it has ended.
#[derive(Debug)]
pub(crate) struct JoinedCall {
    session: Arc<Session>,
    pub(super) space: Arc<SessionSpace>,
    pub(super) pid_base: u32,
    /// Its place among the calls of the session, from 1.
    number: u64,
    /// Whether no other call of the session ran when it began.
    began_alone: bool,
    /// The ports that calls of other processes have open in the network of the session. Those of this process
    /// have the same policy, and open what this one opens.
    ports_of_others: Ports,
}

impl Sessions {
    /// None yet. What a session may leave running is bounded by these limits.
    pub(crate) fn new(limits: SessionLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionName, Arc<Session>>> {
        // Whoever panicked with it left whole values.
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The limits of each.
    pub fn limits(&self) -> SessionLimits {
        self.limits
    }

    /// The session of this name, which begins if there is none.
    pub fn get(&self, name: &SessionName) -> Arc<Session> {
        let mut sessions = self.lock();
        Arc::clone(sessions.entry(name.clone()).or_insert_with(|| Arc::new(self.begin(name))))
    }

    fn begin(&self, name: &SessionName) -> Session {
        Session::new(name.clone(), self.limits, Arc::clone(&self.interpreters))
    }

    /// A session that another process of this user keeps: what its calls share, how many there were, the
    /// working directory of the next one, which may be gone, and the ports that its calls have open in the
    /// network of the session. It replaces another of the same name.
    pub fn adopt(
        &self,
        name: &SessionName,
        space: SessionSpace,
        calls: u64,
        folder: Option<(PathBuf, FileIdentity)>,
        ports: Ports,
    ) -> Arc<Session> {
        let folder = folder.map(|(path, identity)| WorkingFolder::remembered(path, identity));
        let known = self.lock().get(name).cloned();
        if let Some(session) = known.filter(|session| session.is_in(&space)) {
            let mut state = session.lock();
            (state.calls, state.folder) = (state.calls.max(calls), folder);
            // Calls that begin at the same time may come here in another order.
            if calls >= state.ports.calls {
                state.ports = PortsOfOthers { calls, ports };
            }
            drop(state);
            return session;
        }
        let session = self.begin(name);
        *session.lock() = SessionState {
            space: Some(Arc::new(space)),
            calls,
            folder,
            ports: PortsOfOthers { calls, ports },
            ..SessionState::default()
        };
        let session = Arc::new(session);
        let _replaced = self.lock().insert(name.clone(), Arc::clone(&session));
        session
    }

    /// The sessions that there are.
    pub fn list(&self) -> Vec<Arc<Session>> {
        self.lock().values().cloned().collect()
    }

    /// Ends a session and what its calls have left running, with its interpreters; whether there was one. A
    /// call that runs in it goes on, and leaves nothing.
    pub fn end(&self, name: &SessionName) -> bool {
        let session = self.lock().remove(name);
        if let Some(session) = &session {
            session.end();
        }
        session.is_some()
    }
}

impl Session {
    fn new(name: SessionName, limits: SessionLimits, count: KeptCount) -> Self {
        let interpreters = Arc::new(KeptInterpreters::new(name.clone(), count));
        let left = Arc::new(LeftCalls::new(limits));
        Self { name, left, interpreters, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its name.
    pub fn name(&self) -> &SessionName {
        &self.name
    }

    /// Its interpreters.
    pub(super) fn interpreters(&self) -> &Arc<KeptInterpreters> {
        &self.interpreters
    }

    /// Whether this is what its calls share.
    fn is_in(&self, space: &SessionSpace) -> bool {
        let state = self.lock();
        let own = state.space.as_ref().and_then(|own| own.id().ok());
        own.is_some() && own == space.id().ok() && !state.is_over
    }

    /// The calls that have left processes running.
    pub fn left(&self) -> Vec<Arc<LeftCall>> {
        self.left.lock().clone()
    }

    /// Ends what its calls have left running, and waits for it. What later calls leave running ends with
    /// them.
    pub fn end(&self) {
        self.lock().is_over = true;
        self.interpreters.close();
        for call in self.left() {
            call.kill();
        }
        self.wait();
    }

    /// Has a thread watch what a call has left running.
    fn watch(
        &self,
        state: &mut SessionState,
        call: &Arc<LeftCall>,
        watch: impl FnOnce(&Arc<LeftCall>, &LeftCalls) + Send + 'static,
    ) -> io::Result<()> {
        let (all, own) = (Arc::clone(&self.left), Arc::clone(call));
        all.lock().push(Arc::clone(call));
        let work = move || {
            watch(&own, &all);
            all.lock().retain(|one| !Arc::ptr_eq(one, &own));
            own.set_over();
        };
        match thread::Builder::new().name("stockade-left".to_owned()).spawn(work) {
            Ok(watcher) => {
                state.watchers.retain(|watcher| !watcher.is_finished());
                state.watchers.push(watcher);
                Ok(())
            }
            Err(error) => {
                self.left.lock().retain(|one| !Arc::ptr_eq(one, call));
                Err(error)
            }
        }
    }

    /// Waits until nothing that its calls have left is running.
    pub fn wait(&self) {
        let watchers = std::mem::take(&mut self.lock().watchers);
        for watcher in watchers {
            // A panic there has been printed, and its tree is gone.
            let _panicked = watcher.join().is_err();
        }
    }

    /// The working directory of the next call, or that the last one is gone.
    pub(crate) fn folder(&self) -> Result<Option<PathBuf>, PathBuf> {
        let mut state = self.lock();
        match state.folder.take() {
            None => Ok(None),
            Some(folder) if folder.is_there() => {
                let path = folder.path().to_owned();
                state.folder = Some(folder);
                Ok(Some(path))
            }
            Some(folder) => Err(folder.path().to_owned()),
        }
    }

    /// Which directory was at the path of the working directory when it was learned.
    pub fn folder_identity(&self) -> Option<FileIdentity> {
        self.lock().folder.as_ref().map(WorkingFolder::identity)
    }

    /// Begins a call in it.
    pub(super) fn join(self: Arc<Self>) -> Result<JoinedCall, Failure> {
        let mut state = self.lock();
        let space = match &state.space {
            Some(space) => Arc::clone(space),
            None => {
                let space = Arc::new(SessionSpace::create(FOLDER_LIMITS).map_err(not_started)?);
                state.space = Some(Arc::clone(&space));
                space
            }
        };
        let base = state.calls.wrapping_mul(PIDS_PER_CALL) % PIDS_MAX;
        let began_alone = state.running == 0;
        state.calls = state.calls.saturating_add(1);
        state.running = state.running.saturating_add(1);
        let number = state.calls;
        let ports_of_others = state.ports.ports.clone();
        drop(state);
        let pid_base = u32::try_from(base).unwrap_or_default();
        Ok(JoinedCall { session: self, space, pid_base, number, began_alone, ports_of_others })
    }
}

impl JoinedCall {
    /// What the report has of the session.
    pub(crate) fn usage(&self) -> SessionUse {
        let state = self.session.lock();
        SessionUse {
            name: self.session.name.to_string(),
            new: self.number == 1,
            calls: self.number,
            alive: !state.is_over,
            cwd: None,
        }
    }

    /// Learns where a line has ended, for the next call: a directory beneath the root, by a path without
    /// symbolic links, and only if no other call of the session has run meanwhile.
    pub(crate) fn set_folder(&self, told: &EndFolder, root: &Path) -> Option<PathBuf> {
        let folder = WorkingFolder::beneath(root, told).ok()?;
        let path = folder.path().to_owned();
        let mut state = self.session.lock();
        if !self.began_alone || state.calls != self.number {
            return None;
        }
        state.folder = Some(folder);
        Some(path)
    }

    /// Takes over what the call has left running; which processes these are. `tell` learns of their end.
    /// In a session that is over they end at once, and so they do where a repository has appeared.
    pub(crate) fn keep(
        &self,
        call: &CallId,
        left: LeftRun,
        tell: impl FnOnce(LeftEnd) + Send + 'static,
    ) -> Result<Vec<LeftProcess>, KeepError> {
        let mut state = self.session.lock();
        if state.is_over {
            return Ok(Vec::new());
        }
        let repositories = left.repositories();
        if let Some(path) = repositories.appeared() {
            return Err(KeepError::Repository(path));
        }
        let call = Arc::new(LeftCall::new(call.clone(), LogRing::create()?)?);
        left.look(&call);
        let watch = move |call: &Arc<LeftCall>, all: &LeftCalls| {
            tell(left.watch(call, all, repositories));
        };
        self.session.watch(&mut state, &call, watch)?;
        Ok(call.processes())
    }

    /// Lists the interpreter in which the call has run among what is left running, by this call if no other
    /// has started it. `tell` learns of its end.
    pub(crate) fn keep_interpreter(
        &self,
        call: &CallId,
        language: Language,
        tell: impl FnOnce(LeftEnd) + Send + 'static,
    ) -> io::Result<()> {
        let kept = Arc::clone(&self.session.interpreters);
        let mut state = self.session.lock();
        let call = Arc::new(LeftCall::of_interpreter(call.clone(), LogRing::create()?)?);
        if state.is_over || !kept.list_as(language, &call) {
            return Ok(());
        }
        let watched = Arc::clone(&kept);
        let watch = move |call: &Arc<LeftCall>, all: &LeftCalls| {
            tell(watched.watch(language, call, all));
        };
        let begun = self.session.watch(&mut state, &call, watch);
        begun.inspect_err(|_unwatched| kept.end(language))
    }
}

impl Drop for JoinedCall {
    fn drop(&mut self) {
        let mut state = self.session.lock();
        state.running = state.running.saturating_sub(1);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end();
    }
}
