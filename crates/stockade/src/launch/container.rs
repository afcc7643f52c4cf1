//! The `container` tier, applied: an engine makes a container, is asked what it has made, starts it
//! and removes it. Whatever happens here, the container is killed and removed by its name.

mod args;
mod attest;
mod ended;
mod engine;
mod eye;
mod reap;
mod warm;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;

use self::args::Wanted;
use self::ended::Record;
pub(super) use self::engine::Engine;
pub(super) use self::eye::Eye;
pub use self::reap::{engines, reap};
pub use self::warm::Containers;
use self::warm::Lease;
use super::absent::{self, Absent, Writable};
use super::client::typed;
use super::git::GitSettings;
use super::held::Held;
use super::jail::{
    Cover, MadeSince, admit_shipped, admit_weaknesses, look_at_covered, require_kept,
};
use super::scratch::{Room, Scratch, unscratched};
use super::shown::{self, Bind, Covers, System, TEMPORARY};
use super::spec::environment;
use super::subject::Subject;
use crate::call::CallId;
use crate::confine::{Confinement, EngineName};
use crate::gate::Prepared;
use crate::guarantee::Enforced;
use crate::limits::Limits;
use crate::outcome::{Exit, Failure, Outcome};
use crate::plan::ProgramPlan;
use crate::tier::Description;

/// A call that runs in a container.
#[derive(Debug)]
pub(super) struct Contained {
    // Ended first when dropped, so that the container has no client any more when it is removed.
    pub(super) held: Held,
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
struct Laid {
    scratch: Scratch,
    cover: Cover,
    absent: Vec<Absent>,
    writable: Vec<Writable>,
    binds: Vec<Bind>,
    user: (u32, u32),
}

/// Does the steps of the plan, in their order.
pub(super) fn start(plan: ProgramPlan, containers: &Containers) -> Result<Contained, Failure> {
    let until = plan.until();
    let (prepared, Description { enforcement, .. }, _) = plan.into_parts();
    let confinement = &prepared.confinement;
    if confinement.oci.image.is_none() {
        return Err(no_image());
    }
    containers.reap_once(&confinement.oci)?;
    shown::still_the_same(&prepared.cleared, &confinement.files.root)?;
    let laid = Laid::of(confinement, shown::folder(&prepared.cleared), until)?;
    if confinement.oci.warm.is_some() {
        return warm::start(prepared, enforcement, laid, (containers, until));
    }
    let name = name(&prepared.cleared.call);
    let wanted = Wanted {
        name: &name,
        labels: labels(&prepared.cleared.call),
        user: laid.user,
        binds: &laid.binds,
        variables: Some(laid.variables(confinement)?),
        pidfile: laid.pidfile(),
        cwd: shown::folder(&prepared.cleared),
        // Without it the engine gives the host's /dev/null to runsc, which gives it to another user.
        reads_stdin: !prepared.cleared.stdin.bytes().is_empty()
            || prepared.confinement.oci.has_own_kernel(),
        argv: prepared.cleared.argv.words().to_vec(),
    };
    let (container, enforcement) = make(&wanted, confinement, enforcement, &laid.cover)?;
    let mut words = vec!["start", "--attach"];
    words.extend(wanted.reads_stdin.then_some("--interactive"));
    words.push(&name);
    let words = container.engine.words(&words);
    drop(wanted);
    run(prepared, enforcement, laid, &words, Within::Own(container))
}

/// Makes a container and has the engine say what it has made; nothing runs yet.
fn make(
    wanted: &Wanted<'_>,
    confinement: &Confinement,
    mut enforcement: Vec<Enforced>,
    cover: &Cover,
) -> Result<(Container, Vec<Enforced>), Failure> {
    let name = confinement.oci.engine.unwrap_or(EngineName::Podman);
    let Some(engine) = Engine::of(confinement) else {
        let create = args::create(name, wanted, confinement);
        return Err(engine::none(&confinement.oci, confinement.network, &create));
    };
    let engine = Arc::new(engine);
    let create = args::create(engine.name, wanted, confinement);
    // Also for one that was made though its maker did not live to tell.
    let container = Container::named(engine.clone(), wanted.name.to_owned());
    let answer = engine.ask(&create)?;
    if !answer.is_good() {
        return Err(not_made(&engine, &create, &answer.complaint(), confinement));
    }
    let Some(seen) = engine.inspect(wanted.name)? else {
        let message = "the engine does not know the container that it has made";
        return Err(Failure::new("look at the container", message));
    };
    attest::settle(engine.name, &seen, wanted, confinement, &mut enforcement);
    admit_weaknesses(&mut enforcement, &cover.present);
    cover.gaps.admit(&mut enforcement);
    require_kept(&enforcement, confinement)?;
    admit_shipped(&mut enforcement, &cover.present, &cover.gaps);
    Ok((container, enforcement))
}

/// Starts the engine's client, which is watched in place of the program.
fn run(
    prepared: Prepared,
    enforcement: Vec<Enforced>,
    laid: Laid,
    words: &[OsString],
    within: Within,
) -> Result<Contained, Failure> {
    let Prepared { cleared, mut confinement, tier, .. } = prepared;
    let disk = shown::disk(&laid.binds, &confinement)?;
    let (engine, eye) = match &within {
        Within::Own(container) => {
            (container.engine.clone(), Eye::new(laid.pidfile(), &confinement))
        }
        Within::Warm(lease) => (lease.engine(), lease.eye(&confinement)),
    };
    // The container's cgroup and its eye hold these; the client's own are not the program's.
    confinement.limits = Limits { memory: None, cpu: None, ..confinement.limits };
    let program = cleared.argv.program().to_owned();
    let bytes = cleared.stdin.into_bytes();
    let started = Instant::now();
    let running = engine.client().start(words, None)?;
    let held = Held {
        subject: Subject::from(running),
        scratch: Some(laid.scratch),
        started,
        stdin: bytes,
        tier,
        enforcement,
        since: MadeSince::after(&confinement.files, &laid.cover, &laid.writable),
        covered: laid.cover.present,
        absent: laid.absent,
        disk,
        confinement,
        dies_at_once: false,
        eye: Some(eye),
    };
    Ok(Contained { held, within, program })
}

impl Contained {
    /// Watches the run to its end, and removes the container.
    pub(super) fn wait(self) -> Result<Outcome, Failure> {
        let Self { held, within, program } = self;
        let (mut outcome, was_killed) = held.wait_told();
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
                Err(failure) => why = failure.message,
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

impl Laid {
    fn of(confinement: &Confinement, cwd: &Path, until: Instant) -> Result<Self, Failure> {
        let files = &confinement.files;
        let scratch =
            Scratch::make(Room::Little, Some(files)).map_err(|error| unscratched(&error))?;
        let mut cover = look_at_covered(files, until)?;
        cover.leave_out_unnamed(files);
        let writable = Writable::of(files)?;
        let absent = absent::watched(&cover.unenforced(), files, &writable)?;
        let covers = Covers::create(&scratch)?;
        let binds = shown::binds(confinement, &cover, (&covers, cwd), System::OfImage)?;
        let user = shown::user(confinement)?;
        Ok(Self { scratch, cover, absent, writable, binds, user })
    }

    fn pidfile(&self) -> PathBuf {
        self.scratch.path().join("pid")
    }

    /// Writes the variables of the run down: in arguments every user of the machine could read them.
    fn variables(&self, confinement: &Confinement) -> Result<PathBuf, Failure> {
        let own_folder = OsStr::new(TEMPORARY);
        let mut text = Vec::new();
        let git = GitSettings::for_cover(&self.cover);
        for pair in environment(confinement, own_folder, own_folder, &git)? {
            let pair = pair.into_bytes();
            if pair.contains(&b'\n') {
                let name =
                    String::from_utf8_lossy(&pair).split('=').next().unwrap_or("").to_owned();
                let message = format!("the variable {name:?} holds a line break");
                return Err(Failure::new("build the environment", message)
                    .remedy("engines take no such value: leave it out of box.env"));
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
    Failure::new("find the image", "the tier container needs an image, and the policy names none")
        .remedy(
            "name one (box.image, or --image NAME); stockade image import DIR NAME makes one of a \
             local folder",
        )
}

/// Why there is no container: nothing has run.
fn not_made(engine: &Engine, create: &[OsString], why: &str, confinement: &Confinement) -> Failure {
    let image = confinement.oci.image.as_ref().map_or("", |image| image.as_str());
    if matches!(engine.has_image(image), Ok(false)) {
        let message = format!("{} has no image {image:?}: {why}", engine.name.name());
        return Failure::new("find the image", message).remedy(format!(
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
    Failure::new("make the container", format!("{why}; the command was: {command}")).remedy(remedy)
}
