//! The `container` tier, applied: an engine makes a container, is asked what it has made, starts it
//! and removes it. Whatever happens here, the container is killed and removed by its name.

mod args;
mod attest;
mod build;
mod ended;
mod engine;
mod monitor;
mod reap;
mod trial;
mod warm;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use stockade_sandbox::{CgroupUsage, Ended, LostShim, Running};

use self::args::ContainerRequest;
use self::build::ContainerSetup;
use self::ended::Record;
pub(super) use self::engine::Engine;
use self::monitor::Monitor;
pub use self::reap::{engines, reap};
pub use self::warm::Containers;
use self::warm::Lease;
use super::absent::{self, Absent, Writable};
use super::client::typed;
use super::git::GitSettings;
use super::jail::{
    CreatedPaths, PathMasks, admit_shipped, admit_weaknesses, find_masks, require_kept,
};
use super::run::{Guards, SupervisedRun};
use super::scratch::{Scratch, unscratched};
use super::setup::{Setup, make_scratch};
use super::shown::{self, Bind, EmptyOverlays, System};
use super::spec::{environment, piped_input};
use super::tree::{Loss, Tree};
use crate::call::CallId;
use crate::confine::{EngineName, Network, Oci};
use crate::gate::ProgramWork;
use crate::guarantee::Enforced;
use crate::limits::{LimitHit, Limits};
use crate::outcome::{Exit, Failure, FailureKind, Outcome};
use crate::plan::{Parts, ProgramPlan, Requirements, Terms};
use crate::tier::Tier;

/// The engine's client, which is watched in place of the program, and the container.
#[derive(Debug)]
struct EngineClient {
    // Ended first when dropped, so that the container has no client any more when it is removed.
    running: Running,
    monitor: Monitor,
    within: Within,
    program: OsString,
}

/// Whose container it is.
#[derive(Debug)]
enum Within {
    /// The call's own.
    Own(Container),
    /// One that runs already.
    Warm(Box<Lease>),
}

/// A container that is removed when it is dropped.
#[derive(Debug)]
struct Container {
    engine: Arc<Engine>,
    name: String,
    is_removed: bool,
}

/// What of the machine a container shows, as it is now.
#[derive(Debug)]
struct ShownFolders {
    scratch: Scratch,
    cover: PathMasks,
    absent: Vec<Absent>,
    writable: Vec<Writable>,
    binds: Vec<Bind>,
    user: Option<(u32, u32)>,
}

/// Carries out the plan.
pub(super) fn start(plan: ProgramPlan, containers: &Containers) -> Result<SupervisedRun, Failure> {
    let Parts { cleared, description, terms, until, .. } = plan.into_parts();
    let setup = ContainerSetup::of(&description.ops)?;
    let common = &setup.common;
    if setup.oci.image.is_none() {
        return Err(no_image());
    }
    containers.reap_once(&setup.oci)?;
    shown::still_the_same(&cleared, &common.files.root)?;
    let laid = ShownFolders::of(&setup, shown::folder(&cleared), until)?;
    let call = Call { cleared, setup, terms };
    if call.setup.oci.warm.is_some() {
        return warm::start(call, description.enforcement, laid, (containers, until));
    }
    let Call { cleared, setup, terms } = &call;
    let name = name(&cleared.call);
    let wanted = ContainerRequest {
        name: &name,
        labels: labels(&cleared.call),
        user: laid.user,
        binds: &laid.binds,
        variables: Some(laid.variables(&setup.common)?),
        pidfile: laid.pidfile(),
        cwd: shown::folder(cleared),
        // Without it the engine gives the host's /dev/null to runsc, which gives it to another user.
        reads_stdin: !cleared.stdin.is_nothing() || setup.oci.has_own_kernel(),
        argv: cleared.argv.words().to_vec(),
    };
    let made = make(&wanted, (setup, &terms.require), description.enforcement, &laid.cover)?;
    let (container, enforcement) = made;
    let mut words = vec!["start", "--attach"];
    words.extend(wanted.reads_stdin.then_some("--interactive"));
    words.push(&name);
    let words = container.engine.words(&words);
    drop(wanted);
    run(call, enforcement, laid, &words, Within::Own(container))
}

/// A call and how it was planned.
#[derive(Debug)]
struct Call {
    cleared: ProgramWork,
    setup: ContainerSetup,
    terms: Terms,
}

/// Makes a container and has the engine say what it has made; nothing runs yet.
fn make(
    wanted: &ContainerRequest<'_>,
    (setup, require): (&ContainerSetup, &Requirements),
    mut enforcement: Vec<Enforced>,
    cover: &PathMasks,
) -> Result<(Container, Vec<Enforced>), Failure> {
    let oci = &setup.oci;
    let network = setup.common.network.unwrap_or(Network::Host);
    let Some(engine) = Engine::find(oci, network) else {
        let name = oci.engine.unwrap_or(EngineName::Podman);
        return Err(engine::none(oci, network, &args::create(name, wanted, setup)));
    };
    let engine = Arc::new(engine);
    let create = args::create(engine.name, wanted, setup);
    // Also for one that was made though its maker did not live to tell.
    let container = Container::named(engine.clone(), wanted.name.to_owned());
    let answer = engine.ask(&create)?;
    if !answer.is_good() {
        return Err(not_made(&engine, &create, &answer.complaint(), oci));
    }
    let Some(seen) = engine.inspect(wanted.name)? else {
        let message = "the engine does not know the container that it has made";
        return Err(Failure::new(FailureKind::InspectContainer, message));
    };
    attest::settle(engine.name, &seen, wanted, setup, &mut enforcement);
    admit_weaknesses(&mut enforcement, &cover.present);
    cover.gaps.record(&mut enforcement);
    require_kept(&enforcement, require)?;
    admit_shipped(&mut enforcement, &cover.present, &cover.gaps);
    Ok((container, enforcement))
}

/// Starts the engine's client, which is watched in place of the program.
fn run(
    call: Call,
    enforcement: Vec<Enforced>,
    laid: ShownFolders,
    words: &[OsString],
    within: Within,
) -> Result<SupervisedRun, Failure> {
    let Call { cleared, setup, terms } = call;
    let (limits, has_own_kernel) = (setup.common.limits, setup.oci.has_own_kernel());
    let disk = shown::disk(&laid.binds, &limits)?;
    let (engine, monitor) = match &within {
        Within::Own(container) => {
            (container.engine.clone(), Monitor::new(laid.pidfile(), &limits, has_own_kernel))
        }
        Within::Warm(lease) => (lease.engine(), lease.monitor(&limits, has_own_kernel)),
    };
    // The container's cgroup and its monitor enforce these; the client's own are not the program's.
    let limits = Limits { memory: None, cpu: None, ..limits };
    let program = cleared.argv.program().to_owned();
    let input = piped_input(cleared);
    let started = Instant::now();
    let running = engine.client().start(words, None)?;
    Ok(SupervisedRun {
        tree: Box::new(EngineClient { running, monitor, within, program }),
        scratch: Some(laid.scratch),
        started,
        input,
        tier: Tier::Container,
        enforcement,
        guards: Guards {
            since: CreatedPaths::after(&setup.common.files, &laid.cover, &laid.writable),
            covered: laid.cover.present,
            absent: laid.absent,
            disk,
            ..Guards::default()
        },
        limits,
        hints: terms.hints,
        before: None,
        joined: None,
        ports: None,
    })
}

impl Tree for EngineClient {
    fn running(&self) -> &Running {
        &self.running
    }

    fn running_mut(&mut self) -> &mut Running {
        &mut self.running
    }

    /// The engine kills the container, and its client ends by itself.
    fn dies_at_once(&self) -> bool {
        false
    }

    /// What the client itself used says nothing of its container.
    fn try_ended(&mut self) -> Result<Option<Ended>, LostShim> {
        let ended = self.running.try_ended()?;
        Ok(ended.map(|ended| Ended { cpu: Duration::ZERO, peak_rss_bytes: 0, ..ended }))
    }

    fn usage(&self) -> Option<CgroupUsage> {
        // Whether the kernel killed for want of memory is in the engine's record.
        let usage = self.monitor.usage()?;
        Some(CgroupUsage { oom_kills: None, forks_refused: None, ..usage })
    }

    fn check(&mut self) -> Option<LimitHit> {
        self.monitor.check()
    }

    fn losses(&self) -> Vec<Loss> {
        let lost = self.monitor.lost().iter().cloned();
        lost.map(|(guarantee, why)| Loss::Guarantee(guarantee, why)).collect()
    }

    /// Often, for the counts of a container go with it.
    fn check_pause(&self) -> Option<Duration> {
        Some(monitor::PAUSE)
    }

    /// Removes the container, or gives it back, after the engine's record of it was read.
    fn release(
        self: Box<Self>,
        mut outcome: Outcome,
        was_killed: bool,
    ) -> Result<Outcome, Failure> {
        let Self { running, within, program, .. } = *self;
        drop(running);
        match within {
            Within::Own(container) if was_killed => {
                outcome.notes.extend(container.remove().err());
                Ok(outcome)
            }
            // Dropped, it is killed and removed.
            Within::Warm(_) if was_killed => Ok(outcome),
            Within::Own(container) => container.end(outcome, &program),
            Within::Warm(lease) => lease.end(outcome),
        }
    }
}

impl Container {
    fn named(engine: Arc<Engine>, name: String) -> Self {
        Self { engine, name, is_removed: false }
    }

    fn end(self, outcome: Outcome, program: &OsStr) -> Result<Outcome, Failure> {
        let record = match (outcome.limit, outcome.exit) {
            // A run that a limit ended says nothing more, and no engine fails with success.
            (Some(_), _) => Record::Unknown,
            (None, Exit::Code(0)) => Record::Ended { code: 0, is_out_of_memory: false },
            (None, _) => Record::of(self.seen()?.as_ref()),
        };
        let engine = self.engine.clone();
        let removed = self.remove();
        let mut outcome = ended::settle(outcome, record, engine.name, program)?;
        outcome.notes.extend(removed.err());
        Ok(outcome)
    }

    /// What the engine knows of it.
    fn seen(&self) -> Result<Option<Value>, Failure> {
        self.engine.inspect(&self.name)
    }

    /// Kills and removes it; an error says what is left.
    fn remove(mut self) -> Result<(), String> {
        self.is_removed = true;
        self.remove_now()
    }

    fn remove_now(&self) -> Result<(), String> {
        let force: &[&str] = match self.engine.name {
            // Unless told, Podman asks first, and waits ten seconds for those that do not listen.
            EngineName::Podman => &["rm", "--force", "--volumes", "--time", "0", &self.name],
            EngineName::Docker => &["rm", "--force", "--volumes", &self.name],
        };
        let mut why = String::new();
        for words in [force, &["rm", "--force", &self.name]] {
            match self.engine.ask(words) {
                Ok(answer) if answer.is_good() => return Ok(()),
                Ok(answer) => why = answer.complaint(),
                Err(failure) => failure.message().clone_into(&mut why),
            }
            if matches!(self.seen(), Ok(None)) {
                return Ok(());
            }
        }
        Err(format!("the container {} could not be removed: {why}", self.name))
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        if !self.is_removed {
            // What cannot be removed now is found by its label at the next start.
            let _left = self.remove_now();
        }
    }
}

impl ShownFolders {
    fn of(setup: &ContainerSetup, cwd: &Path, until: Instant) -> Result<Self, Failure> {
        let common = &setup.common;
        let files = &common.files;
        let scratch = make_scratch(common)?;
        let mut cover = find_masks(common, until)?;
        cover.leave_out_unnamed(files);
        let writable = Writable::of(files)?;
        let absent = absent::watched(&cover.unenforced(), files, &writable)?;
        let covers = EmptyOverlays::create(&scratch)?;
        let binds = shown::binds(common, &cover, (&covers, cwd), System::OfImage)?;
        let user = setup.has_other_user.then(|| shown::user(&files.root)).transpose()?;
        Ok(Self { scratch, cover, absent, writable, binds, user })
    }

    fn pidfile(&self) -> PathBuf {
        self.scratch.path().join("pid")
    }

    /// Writes the variables of the run down: in arguments every user of the machine could read them.
    fn variables(&self, setup: &Setup) -> Result<PathBuf, Failure> {
        let mut text = Vec::new();
        let git = GitSettings::for_cover(&self.cover);
        for pair in environment(setup, None, &git)? {
            let pair = pair.into_bytes();
            if pair.contains(&b'\n') {
                let name =
                    String::from_utf8_lossy(&pair).split('=').next().unwrap_or("").to_owned();
                let message = format!("the variable {name:?} holds a line break");
                return Err(Failure::new(FailureKind::BuildEnvironment, message)
                    .with_remedy("engines take no such value: leave it out of box.env"));
            }
            text.extend(pair);
            text.push(b'\n');
        }
        let path = self.scratch.path().join("variables");
        std::fs::write(&path, text).map_err(|error| unscratched(&error))?;
        Ok(path)
    }
}

/// The name of the container of a call. A caller may use the name of a call again.
fn name(call: &CallId) -> String {
    let chance = CallId::new();
    let chance: String = chance.as_str().chars().rev().take(8).collect();
    format!("stockade-{}-{chance}", call.as_str().replace(':', "_"))
}

fn labels(call: &CallId) -> Vec<String> {
    vec![format!("{}={}", reap::CALL, call), format!("{}={}", reap::SUPERVISOR, reap::own_mark())]
}

fn no_image() -> Failure {
    Failure::new(
        FailureKind::FindImage,
        "the tier container needs an image, and the policy names none",
    )
    .with_remedy(
        "name one (box.image, or --image NAME); stockade image import DIR NAME makes one of a \
             local folder",
    )
}

/// Why there is no container: nothing has run.
fn not_made(engine: &Engine, create: &[OsString], why: &str, oci: &Oci) -> Failure {
    let image = oci.image.as_ref().map_or("", |image| image.as_str());
    if matches!(engine.has_image(image), Ok(false)) {
        let message = format!("{} has no image {image:?}: {why}", engine.name.name());
        return Failure::new(FailureKind::FindImage, message).with_remedy(format!(
            "stockade image import DIR {image} makes one of a local folder or a tar file; \
             box.pull = \"missing\" lets the engine fetch it"
        ));
    }
    let command = typed(engine.name.name(), &engine.words(create));
    let name = engine.name.name();
    let mut remedy = format!("see what `{name} info` says of this machine");
    if engine.name == EngineName::Podman && !rustix::process::geteuid().is_root() {
        remedy.push_str(
            "; without root podman needs newuidmap (the package uidmap) and ranges for this user in \
             /etc/subuid and /etc/subgid",
        );
    }
    Failure::new(FailureKind::MakeContainer, format!("{why}; the command was: {command}"))
        .with_remedy(remedy)
}
