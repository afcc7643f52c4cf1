//! The `gvisor` tier, applied: `runsc` starts a box from a bundle that we write, on a kernel of its
//! own. Everything it leaves is in the scratch folder, and its processes are the shim's tree.

mod build;
mod bundle;
mod ended;
mod platform;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Instant;

use stockade_sandbox::{Cgroup, Running};

use self::build::GvisorSetup;
use self::bundle::Bundle;
pub use self::platform::{Gvisor, gvisor};
use super::absent::{self, Writable};
use super::client::{Client, typed};
use super::git::GitSettings;
use super::image;
use super::jail::{CreatedPaths, admit_shipped, admit_weaknesses, find_masks, require_kept};
use super::run::{Guards, SupervisedRun};
use super::scratch::Scratch;
use super::setup::make_scratch;
use super::shown::{self, EmptyOverlays, System};
use super::spec::piped_input;
use super::tree::Tree;
use crate::bounded::{self, Links};
use crate::confine::Network;
use crate::guarantee::{Enforced, Guarantee, Kept};
use crate::outcome::{Failure, FailureKind, Outcome};
use crate::plan::{Description, Parts, ProgramPlan};
use crate::tier::Tier;

/// How much of the log of runsc is read.
const LOG_BYTES_MAX: u64 = 8 << 20;

/// The processes of runsc, and what they leave.
#[derive(Debug)]
struct RunscTree {
    running: Running,
    // Removed once everything in it has ended.
    scratch: Scratch,
    log: PathBuf,
    program: OsString,
}

/// Carries out the plan.
pub(super) fn start(plan: ProgramPlan) -> Result<SupervisedRun, Failure> {
    let Parts { cleared, description, terms, until, .. } = plan.into_parts();
    let Description { ops, mut enforcement } = description;
    let setup = GvisorSetup::of(&ops)?;
    let common = &setup.common;
    let files = &common.files;
    shown::still_the_same(&cleared, &files.root)?;
    let scratch = make_scratch(common)?;
    let mut cover = find_masks(common, until)?;
    cover.leave_out_unnamed(files);
    let writable = Writable::of(files)?;
    let absent = absent::watched(&cover.unenforced(), files, &writable)?;
    let covers = EmptyOverlays::create(&scratch)?;
    let image = setup.image.as_ref().map(image::root_of).transpose()?;
    let system = if image.is_none() { System::OfMachine } else { System::OfImage };
    let binds = shown::binds(common, &cover, (&covers, shown::folder(&cleared)), system)?;
    // Without root the caller is the only user that there is, and is called root inside.
    let is_rootless = !rustix::process::geteuid().is_root();
    let has_user = setup.has_other_user && !is_rootless;
    let bundle = Bundle {
        argv: cleared.argv.words(),
        cwd: shown::folder(&cleared),
        user: if has_user { shown::user(&files.root)? } else { (0, 0) },
        binds: &binds,
        git: GitSettings::for_cover(&cover),
        image: image.as_deref(),
    };
    bundle.write(scratch.path(), &setup)?;
    let places = Places::of(scratch.path());
    let found = find(&places, common.network)?;
    let cgroup = Cgroup::create(common.cgroup);
    settle(&mut enforcement, &cgroup, common.limits.cpu.is_some(), &found.version);
    admit_weaknesses(&mut enforcement, &cover.present);
    cover.gaps.record(&mut enforcement);
    require_kept(&enforcement, &terms.require)?;
    admit_shipped(&mut enforcement, &cover.present, &cover.gaps);
    let disk = shown::disk(&binds, &common.limits)?;
    let words = words(&places, found.platform, common.network);
    let program = cleared.argv.program().to_owned();
    let input = piped_input(cleared);
    let started = Instant::now();
    let running = found.client.start(&words, Some(cgroup))?;
    Ok(SupervisedRun {
        tree: Box::new(RunscTree { running, scratch, log: places.log, program }),
        scratch: None,
        started,
        input,
        tier: Tier::Gvisor,
        enforcement,
        guards: Guards {
            since: CreatedPaths::after(files, &cover, &writable),
            covered: cover.present,
            absent,
            disk,
            ..Guards::default()
        },
        limits: setup.common.limits,
        hints: terms.hints,
        before: None,
        joined: None,
        ports: None,
    })
}

impl Tree for RunscTree {
    fn running(&self) -> &Running {
        &self.running
    }

    fn running_mut(&mut self) -> &mut Running {
        &mut self.running
    }

    fn dies_at_once(&self) -> bool {
        false
    }

    /// Reads the log of runsc, and removes all that it left.
    fn release(self: Box<Self>, outcome: Outcome, was_killed: bool) -> Result<Outcome, Failure> {
        drop(self.running);
        let log = bounded::read(&self.log, Links::Refused, LOG_BYTES_MAX).unwrap_or_default();
        let left = self.scratch.remove().err();
        let left = left.map(|error| format!("the scratch folder could not be removed: {error}"));
        let mut outcome = if was_killed || outcome.limit.is_some() {
            outcome
        } else {
            ended::settle(outcome, &log, &self.program)?
        };
        outcome.notes.extend(left);
        Ok(outcome)
    }
}

/// Where runsc finds and leaves things, all in the scratch folder.
#[derive(Debug)]
struct Places {
    /// Machine-wide, for runsc listens on a socket that is called so.
    name: OsString,
    bundle: PathBuf,
    state: PathBuf,
    log: PathBuf,
}

impl Places {
    fn of(scratch: &Path) -> Self {
        let name = scratch.file_name().unwrap_or(OsStr::new("run")).to_owned();
        Self {
            name,
            bundle: scratch.join("bundle"),
            state: scratch.join("state"),
            log: scratch.join("runsc.log"),
        }
    }
}

/// A runsc that works here.
struct FoundRunsc {
    client: Client,
    platform: &'static str,
    /// What its kernel calls itself.
    version: String,
}

fn find(places: &Places, network: Option<Network>) -> Result<FoundRunsc, Failure> {
    let Some(client) = Client::find("runsc") else {
        let words = words(places, "systrap", network);
        let command = typed("runsc", &words);
        let message = format!("runsc is not in a folder of PATH; it would have run: {command}");
        return Err(kernel_failure(FailureKind::FindRunsc, message).with_remedy(
            "install gVisor (apt-get install runsc, or https://gvisor.dev/docs/user_guide/install), \
             or use --tier jail, which shares the machine's kernel",
        ));
    };
    match platform::of(&client) {
        Ok((platform, version)) => Ok(FoundRunsc { client, platform, version }),
        Err(why) => Err(kernel_failure(
            FailureKind::FindPlatform,
            format!("runsc starts nothing here: {why}"),
        )
        .with_remedy(
            "see what `runsc --network=none do true` says; a filter of system calls, as in \
             containers, may forbid ptrace and user namespaces",
        )),
    }
}

fn kernel_failure(kind: FailureKind, message: String) -> Failure {
    Failure::new(kind, message).with_guarantee(Guarantee::Kernel)
}

/// All words of the command but its name.
fn words(places: &Places, platform: &str, network: Option<Network>) -> Vec<OsString> {
    let with = |name: &str, path: &Path| {
        let mut word = OsString::from(name);
        word.push(path);
        word
    };
    let mut words = vec![with("--root=", &places.state), with("--log=", &places.log)];
    words.extend(platform::globals(platform).map(OsString::from));
    words.extend(network.map(|network| match network {
        // There is a loopback in any case.
        Network::None | Network::Loopback => OsString::from("--network=none"),
        Network::Host => OsString::from("--network=host"),
    }));
    words.extend([OsString::from("run"), with("--bundle=", &places.bundle)]);
    words.push(places.name.clone());
    words
}

/// Says what the cgroups keep, and what the kernel of the box calls itself.
fn settle(enforcement: &mut [Enforced], cgroup: &Cgroup, counts_cpu: bool, version: &str) {
    let missing: Vec<String> = cgroup
        .missing()
        .iter()
        .map(|(one, errno)| format!("no cgroup for {one}: {errno}"))
        .collect();
    let is_rootless = !rustix::process::geteuid().is_root();
    let uncounted = counts_cpu && cgroup.cpu().is_none();
    for line in enforcement {
        if is_rootless {
            line.by.retain(|by| *by != "other-user");
        }
        if line.guarantee == Guarantee::Kernel && line.kept == Kept::Full {
            line.note = Some(format!("it calls itself {version}"));
        }
        if line.guarantee == Guarantee::TreeLimits {
            *line = if missing.is_empty() && !uncounted {
                Enforced::full(Guarantee::TreeLimits, &["cgroup"])
            } else {
                let why = missing.join("; ");
                let note = format!("memory and time are looked at in samples only ({why})");
                Enforced::partial(Guarantee::TreeLimits, &["sampling"], &note)
            };
        }
    }
}
