//! Containers that are started once and used by many calls of one policy, one call at a time.

use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use stockade_sandbox::Running;

use super::args::ContainerRequest;
use super::build::ContainerSetup;
use super::monitor::{self, Monitor};
use super::{Call, Container, Engine, ShownFolders, Within, labels, make, name, reap, run};
use crate::confine::Oci;
use crate::guarantee::Enforced;
use crate::launch::run::SupervisedRun;
use crate::launch::shown;
use crate::limits::Limits;
use crate::outcome::{Exit, Failure, FailureKind, Outcome};
use crate::plan::Requirements;

/// What holds a container open: longer than any supervisor lives.
const SLEEPER: [&str; 2] = ["sleep", "2147483647"];
/// How long a container may take until it runs.
const START_MAX: Duration = Duration::from_secs(60);
const START_PAUSE: Duration = Duration::from_millis(25);

/// Containers that wait for calls. Dropping it ends and removes them.
///
/// One is only ever used for calls under the same confinement, on the same hidden and protected
/// files; after a limit, a process left over or its number of calls it is replaced.
#[derive(Debug, Clone, Default)]
pub struct Containers {
    waiting: Arc<Mutex<Vec<Warm>>>,
    /// What came of the look for what dead supervisors have left.
    reaped: Arc<OnceLock<Result<usize, Failure>>>,
}

/// A container that runs and waits.
#[derive(Debug)]
struct Warm {
    // Ended first when dropped, so that the container has no client any more when it is removed.
    client: Running,
    container: Container,
    laid: ShownFolders,
    /// What it was made for.
    setup: ContainerSetup,
    require: Requirements,
    enforcement: Vec<Enforced>,
    /// How many processes it has without a call.
    idle: u32,
    calls_left: u32,
}

/// A container lent to one call.
#[derive(Debug)]
pub(super) struct Lease {
    warm: Warm,
    home: Containers,
}

/// Starts the call in a container that waits, or in a new one.
pub(super) fn start(
    call: Call,
    enforcement: Vec<Enforced>,
    laid: ShownFolders,
    (containers, until): (&Containers, Instant),
) -> Result<SupervisedRun, Failure> {
    let setup = comparable(&call.setup);
    let warm = match containers.take((&setup, &call.terms.require), &laid) {
        Some(warm) => warm,
        None => Warm::make(&call, setup, enforcement, until)?,
    };
    let cleared = &call.cleared;
    let mut words: Vec<OsString> = vec!["exec".into()];
    if let Some((uid, gid)) = laid.user {
        words.extend(["--user".into(), format!("{uid}:{gid}").into()]);
    }
    words.extend((!cleared.stdin.is_nothing()).then(|| "--interactive".into()));
    words.extend(["--env-file".into(), laid.variables(&call.setup.common)?.into_os_string()]);
    words.extend(["--workdir".into(), shown::folder(cleared).into()]);
    words.push(warm.container.name.clone().into());
    words.extend(cleared.argv.words().iter().cloned());
    let words = warm.container.engine.words(&words);
    let enforcement = warm.enforcement.clone();
    let lease = Lease { warm, home: containers.clone() };
    run(call, enforcement, laid, &words, Within::Warm(Box::new(lease)))
}

/// A call may have less time than another, which changes nothing about the container.
fn comparable(setup: &ContainerSetup) -> ContainerSetup {
    let mut setup = setup.clone();
    setup.common.limits.wall = Duration::ZERO;
    setup
}

impl Containers {
    /// Removes what dead supervisors have left, the first time that it is called. Whoever runs calls
    /// in containers does so before the first of them.
    pub fn reap_once(&self, oci: &Oci) -> Result<(), Failure> {
        self.reaped.get_or_init(|| reap(oci)).clone().map(|_reaped| ())
    }

    fn take(
        &self,
        (setup, require): (&ContainerSetup, &Requirements),
        laid: &ShownFolders,
    ) -> Option<Warm> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = laid.cover.stamp();
        let fits = |warm: &Warm| {
            warm.setup == *setup
                && warm.require == *require
                && warm.laid.cover.stamp() == stamp
                && warm.laid.user == laid.user
        };
        let at = waiting.iter().position(fits)?;
        Some(waiting.swap_remove(at))
    }

    fn give_back(&self, warm: Warm) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(warm);
    }
}

impl Warm {
    fn make(
        call: &Call,
        setup: ContainerSetup,
        enforcement: Vec<Enforced>,
        until: Instant,
    ) -> Result<Self, Failure> {
        // A folder of its own, which lives as long as the container. Calls start in different directories, so
        // that none is left open for them.
        let laid = ShownFolders::of(&setup, Path::new("/"), until)?;
        let name = name(&call.cleared.call);
        let wanted = ContainerRequest {
            name: &name,
            labels: labels(&call.cleared.call),
            user: laid.user,
            binds: &laid.binds,
            variables: None,
            pidfile: laid.pidfile(),
            cwd: Path::new("/"),
            reads_stdin: false,
            argv: SLEEPER.map(Into::into).to_vec(),
        };
        let require = call.terms.require.clone();
        let made = make(&wanted, (&setup, &require), enforcement, &laid.cover)?;
        let (container, enforcement) = made;
        let words = container.engine.words(&["start", "--attach", &name]);
        let mut client = container.engine.client().start(&words, None)?;
        drop(client.take_stdin());
        await_start(&container, &mut client)?;
        let idle = monitor::processes(&laid.pidfile()).unwrap_or(1);
        let calls_left = setup.oci.warm.map_or(1, std::num::NonZeroU32::get);
        Ok(Self { client, container, laid, setup, require, enforcement, idle, calls_left })
    }
}

/// Waits until the container runs, or says why it does not.
fn await_start(container: &Container, client: &mut Running) -> Result<(), Failure> {
    let started = Instant::now();
    while started.elapsed() < START_MAX {
        let seen = container.seen()?;
        let state = seen.as_ref().and_then(|seen| seen.pointer("/State/Running"));
        if state.and_then(serde_json::Value::as_bool) == Some(true) {
            return Ok(());
        }
        if !matches!(client.try_ended(), Ok(None)) {
            break;
        }
        std::thread::sleep(START_PAUSE);
    }
    Err(Failure::new(
        FailureKind::PrepareContainer,
        "it does not run: its image may have no program sleep",
    )
    .with_remedy("choose an image that has sleep, or box.warm = 0, which makes one for each call"))
}

impl Lease {
    pub(super) fn engine(&self) -> Arc<Engine> {
        self.warm.container.engine.clone()
    }

    pub(super) fn monitor(&self, limits: &Limits, has_own_kernel: bool) -> Monitor {
        Monitor::new(self.warm.laid.pidfile(), limits, has_own_kernel).on_running(self.warm.idle)
    }

    /// Gives the container back if nothing of the call is left in it, and ends it otherwise.
    pub(super) fn end(mut self, mut outcome: Outcome) -> Result<Outcome, Failure> {
        const OF_ENGINE: [i32; 3] = [125, 126, 127];
        let name = self.warm.container.engine.name;
        if outcome.limit.is_some() {
            return Ok(outcome);
        }
        let client_lives = matches!(self.warm.client.try_ended(), Ok(None));
        let Exit::Code(code) = outcome.exit else {
            return Err(super::ended::died(outcome.exit, &outcome, name));
        };
        if !client_lives {
            return Err(super::ended::died(outcome.exit, &outcome, name));
        }
        if OF_ENGINE.contains(&code) {
            outcome.notes.push(format!(
                "status {code} may be that of {}, which could not start the program in the image",
                name.name()
            ));
        }
        self.warm.calls_left = self.warm.calls_left.saturating_sub(1);
        let is_clear = monitor::comes_to_rest(&self.warm.laid.pidfile(), self.warm.idle);
        if self.warm.calls_left > 0 && is_clear {
            self.home.give_back(self.warm);
        }
        Ok(outcome)
    }
}
