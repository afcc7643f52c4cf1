//! The `gvisor` tier, applied: `runsc` starts a box from a bundle that we write, on a kernel of its
//! own. Everything it leaves is in the scratch folder, and its processes are the keeper's tree.

mod bundle;
mod ended;
mod platform;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Instant;

use stockade_linux::{Cgroup, CgroupLimits};

use self::bundle::Bundle;
pub use self::platform::{Gvisor, gvisor};
use super::absent::{self, Writable};
use super::client::{Client, typed};
use super::git::GitSettings;
use super::held::Held;
use super::image;
use super::jail::{
    MadeSince, admit_shipped, admit_weaknesses, look_at_covered, require_kept, tasks_max,
};
use super::scratch::{Room, Scratch, unscratched};
use super::shown::{self, Covers, System};
use super::subject::Subject;
use crate::bounded::{self, Links};
use crate::confine::{Confinement, Network};
use crate::gate::Prepared;
use crate::guarantee::{Enforced, Guarantee, Kept};
use crate::limits::{ByteCount, Processors};
use crate::outcome::{Failure, Outcome};
use crate::plan::ProgramPlan;
use crate::tier::Description;

/// How much of the log of runsc is read.
const LOG_BYTES_MAX: u64 = 8 << 20;
/// The threads of the user-space kernel itself.
const OWN_TASKS: u32 = 256;
/// The memory of the user-space kernel itself.
const OWN_MEMORY_BYTES: u64 = 128 << 20;

/// A call that runs on a kernel of its own.
#[derive(Debug)]
pub(super) struct Sandboxed {
    pub(super) held: Held,
    // Removed once everything in it has ended.
    scratch: Scratch,
    log: PathBuf,
    program: OsString,
}

/// Does the steps of the plan, in their order.
pub(super) fn start(plan: ProgramPlan) -> Result<Sandboxed, Failure> {
    let until = plan.until();
    let (prepared, Description { mut enforcement, .. }, _) = plan.into_parts();
    let Prepared { cleared, confinement, tier, .. } = prepared;
    let files = &confinement.files;
    shown::still_the_same(&cleared, &files.root)?;
    let scratch = Scratch::make(Room::Little, Some(files)).map_err(|error| unscratched(&error))?;
    let mut cover = look_at_covered(files, until)?;
    cover.leave_out_unnamed(files);
    let writable = Writable::of(files)?;
    let absent = absent::watched(&cover.unenforced(), files, &writable)?;
    let covers = Covers::create(&scratch)?;
    let image = confinement.oci.image.as_ref().map(image::root_of).transpose()?;
    let system = if image.is_none() { System::OfMachine } else { System::OfImage };
    let binds = shown::binds(&confinement, &cover, (&covers, shown::folder(&cleared)), system)?;
    let is_rootless = !rustix::process::geteuid().is_root();
    let bundle = Bundle {
        argv: cleared.argv.words(),
        cwd: shown::folder(&cleared),
        // Without root the caller is the only user that there is, and is called root inside.
        user: if is_rootless { (0, 0) } else { shown::user(&confinement)? },
        binds: &binds,
        git: GitSettings::for_cover(&cover),
        image: image.as_deref(),
    };
    bundle.write(scratch.path(), &confinement)?;
    let places = Places::of(scratch.path());
    let found = find(&places, &confinement)?;
    let cgroup = Cgroup::create(limits(&confinement));
    settle(&mut enforcement, &cgroup, &confinement, &found.version);
    admit_weaknesses(&mut enforcement, &cover.present);
    cover.gaps.admit(&mut enforcement);
    require_kept(&enforcement, &confinement)?;
    admit_shipped(&mut enforcement, &cover.present, &cover.gaps);
    let disk = shown::disk(&binds, &confinement)?;
    let words = words(&places, found.platform, &confinement);
    let program = cleared.argv.program().to_owned();
    let bytes = cleared.stdin.into_bytes();
    let started = Instant::now();
    let running = found.client.start(&words, Some(cgroup))?;
    let held = Held {
        subject: Subject::from(running),
        scratch: None,
        started,
        stdin: bytes,
        tier,
        enforcement,
        since: MadeSince::after(&confinement.files, &cover, &writable),
        covered: cover.present,
        absent,
        disk,
        confinement,
        dies_at_once: false,
        eye: None,
    };
    Ok(Sandboxed { held, scratch, log: places.log, program })
}

impl Sandboxed {
    /// Watches the run to its end.
    pub(super) fn wait(self) -> Result<Outcome, Failure> {
        let (outcome, was_killed) = self.held.wait_told();
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
struct Found {
    client: Client,
    platform: &'static str,
    /// What its kernel calls itself.
    version: String,
}

fn find(places: &Places, confinement: &Confinement) -> Result<Found, Failure> {
    let Some(client) = Client::find("runsc") else {
        let words = words(places, "systrap", confinement);
        let command = typed("runsc", &words);
        let message = format!("runsc is not in a folder of PATH; it would have run: {command}");
        return Err(kernel_failure("find runsc", message).remedy(
            "install gVisor (apt-get install runsc, or https://gvisor.dev/docs/user_guide/install), \
             or use --tier jail, which shares the machine's kernel",
        ));
    };
    match platform::of(&client) {
        Ok((platform, version)) => Ok(Found { client, platform, version }),
        Err(why) => Err(kernel_failure(
            "find a platform for runsc",
            format!("runsc starts nothing here: {why}"),
        )
        .remedy(
            "see what `runsc --network=none do true` says; a filter of system calls, as in \
             containers, may forbid ptrace and user namespaces",
        )),
    }
}

fn kernel_failure(step: &str, message: String) -> Failure {
    let mut failure = Failure::new(step, message);
    failure.guarantee = Some(Guarantee::Kernel.to_string());
    failure
}

/// All words of the command but its name.
fn words(places: &Places, platform: &str, confinement: &Confinement) -> Vec<OsString> {
    let with = |name: &str, path: &Path| {
        let mut word = OsString::from(name);
        word.push(path);
        word
    };
    let mut words = vec![with("--root=", &places.state), with("--log=", &places.log)];
    words.extend(platform::globals(platform).map(OsString::from));
    words.push(match confinement.network {
        Network::None => "--network=none".into(),
        Network::Host => "--network=host".into(),
    });
    words.extend([OsString::from("run"), with("--bundle=", &places.bundle)]);
    words.push(places.name.clone());
    words
}

/// The limits of the whole sandbox, its kernel included.
fn limits(confinement: &Confinement) -> CgroupLimits {
    let limits = &confinement.limits;
    let memory = limits.memory.map(ByteCount::get);
    CgroupLimits {
        memory_bytes_max: memory.map(|bytes| bytes.saturating_add(OWN_MEMORY_BYTES)),
        tasks_max: tasks_max(limits).map(|most| most.saturating_add(OWN_TASKS)),
        cpu_millis_per_second: limits.cpus.map(Processors::thousandths),
    }
}

/// Says what the cgroups keep, and what the kernel of the box calls itself.
fn settle(enforcement: &mut [Enforced], cgroup: &Cgroup, confinement: &Confinement, version: &str) {
    let missing: Vec<String> = cgroup
        .missing()
        .iter()
        .map(|(one, errno)| format!("no cgroup for {one}: {errno}"))
        .collect();
    let is_rootless = !rustix::process::geteuid().is_root();
    let uncounted = confinement.limits.cpu.is_some() && cgroup.cpu().is_none();
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
