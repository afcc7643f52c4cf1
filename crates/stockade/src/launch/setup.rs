//! What the operations of a plan add up to, as far as tiers have it in common. Each tier reads the
//! list by one exhaustive match, and takes nothing from elsewhere.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stockade_sandbox::CgroupLimits;

use super::scratch::{self, Room, unscratched};
use crate::confine::{
    Files, Keep, ListedChanges, Network, Origin, OwnPath, PathPattern, ToolchainPath,
};
use crate::limits::{ByteCount, Limits};
use crate::outcome::{Failure, FailureKind};
use crate::plan::ops::{Access, Content, Environment, Mount, Op, Rlimit, Scratch, Target, Watch};
use crate::tier::Tier;

/// The parts of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setup {
    /// The files that the sandbox shows, hides and protects.
    pub(super) files: Files,
    /// Directories in protected ones that stay writable.
    pub(super) exceptions: Vec<PathBuf>,
    /// Everything that is mounted, in order.
    pub(super) mounts: Vec<Mount>,
    /// The limits that the supervisor holds.
    pub(super) limits: Limits,
    pub(super) rlimits: Vec<Rlimit>,
    pub(super) cgroup: CgroupLimits,
    pub(super) environment: Option<Environment>,
    pub(super) scratch: Option<Scratch>,
    pub(super) signal_scope: bool,
    pub(super) network: Option<Network>,
    pub(super) host_name: Option<&'static str>,
    patterns: Vec<PathPattern>,
    unenforced: Vec<(Keep, Origin, String)>,
    own: Vec<OwnPath>,
}

/// No limit at all.
const UNLIMITED: Limits = Limits {
    wall: Limits::NO_DEADLINE,
    wall_max: Limits::NO_DEADLINE,
    background_max: Limits::NO_DEADLINE,
    cpu: None,
    cpus: None,
    memory: None,
    processes: None,
    file_size: None,
    disk: None,
    files: None,
    open_files: u64::MAX,
    output: ByteCount::bytes(u64::MAX),
    flood: ByteCount::bytes(u64::MAX),
};

impl Setup {
    /// What an empty list of operations adds up to.
    pub(super) fn empty() -> Self {
        Self {
            files: Files {
                root: PathBuf::new(),
                write: Vec::new(),
                read: Vec::new(),
                toolchains: Vec::new(),
                agent: None,
                hide: Vec::new(),
                protect: Vec::new(),
                untrusted: Vec::new(),
                sought: Arc::default(),
                unkept: Arc::default(),
                own: Arc::default(),
                // Changes are looked for before any tier starts.
                watched: ListedChanges::Nothing,
            },
            exceptions: Vec::new(),
            mounts: Vec::new(),
            limits: UNLIMITED,
            rlimits: Vec::new(),
            cgroup: CgroupLimits::default(),
            environment: None,
            scratch: None,
            signal_scope: false,
            network: None,
            host_name: None,
            patterns: Vec::new(),
            unenforced: Vec::new(),
            own: Vec::new(),
        }
    }

    /// The same, once all operations were read.
    pub(super) fn complete(mut self) -> Self {
        self.files.sought = self.patterns.drain(..).collect();
        self.files.unkept = self.unenforced.drain(..).collect();
        self.files.own = self.own.drain(..).collect();
        self
    }

    pub(super) fn guard_own(&mut self, own: &OwnPath) {
        self.own.push(own.clone());
    }

    pub(super) fn leave_unenforced(&mut self, keep: Keep, origin: Origin, what: &str) {
        self.unenforced.push((keep, origin, what.to_owned()));
    }

    pub(super) fn mount(&mut self, mount: &Mount) {
        match mount {
            Mount::Project(path, access) => self.project(path, *access),
            Mount::Path(path, access) => self.path(path, *access),
            Mount::Exception(path) => self.exceptions.push(path.clone()),
            Mount::Toolchain(shown) => self.toolchain(shown),
            Mount::Agent(folder) => self.files.agent = Some(folder.clone()),
            Mount::System(_)
            | Mount::Devices { .. }
            | Mount::Proc
            | Mount::HideInProc(_)
            | Mount::Memory { .. }
            | Mount::Session { .. }
            | Mount::Home(_)
            | Mount::Pins => {}
        }
        self.mounts.push(mount.clone());
    }

    /// The project, which can always be read.
    pub(super) fn project(&mut self, path: &Path, access: Access) {
        path.clone_into(&mut self.files.root);
        if access == Access::Writable {
            self.files.write.push(path.to_owned());
        }
    }

    pub(super) fn path(&mut self, path: &Path, access: Access) {
        let list = match access {
            Access::ReadOnly => &mut self.files.read,
            Access::Writable => &mut self.files.write,
        };
        list.push(path.to_owned());
    }

    pub(super) fn toolchain(&mut self, shown: &ToolchainPath) {
        self.files.toolchains.push(shown.clone());
    }

    pub(super) fn keep(&mut self, keep: Keep, target: &Target) {
        match (keep, target) {
            (_, Target::Pattern(pattern)) => self.patterns.push(pattern.clone()),
            (Keep::Hidden, Target::Path(path, _)) => self.files.hide.push(path.clone()),
            (Keep::Protected, Target::Path(path, origin)) => {
                self.files.protect.push(path.clone());
                let untrusted = (*origin == Origin::Project).then(|| path.clone());
                self.files.untrusted.extend(untrusted);
            }
        }
    }

    pub(super) fn rlimit(&mut self, limit: Rlimit) {
        if let Rlimit::FileSize(most) = limit {
            self.limits.file_size = Some(ByteCount::bytes(most));
        }
        self.rlimits.push(limit);
    }

    pub(super) fn watch(&mut self, watch: Watch) {
        let limits = &mut self.limits;
        match watch {
            Watch::Processes(most) => limits.processes = Some(most),
            Watch::Usage { cpu, memory } => (limits.cpu, limits.memory) = (cpu, memory),
            Watch::Disk { bytes, files } => (limits.disk, limits.files) = (bytes, files),
            Watch::Deadline(wall) => limits.wall = wall,
            Watch::Output { kept, flood } => (limits.output, limits.flood) = (kept, flood),
        }
    }
}

/// The private directory that a tier was planned with.
pub(super) fn make_scratch(setup: &Setup) -> Result<scratch::Scratch, Failure> {
    let planned = setup.scratch.as_ref();
    let planned = planned
        .ok_or_else(|| Failure::new(FailureKind::Plan, "no scratch directory is planned"))?;
    let room = match planned.content {
        Content::OfProgram => Room::Much,
        Content::OfLaunch => Room::Little,
    };
    scratch::Scratch::make(room, &planned.outside).map_err(|error| unscratched(&error))
}

/// An operation that a tier cannot carry out, which ends the launch.
pub(super) fn misplaced(op: &Op, tier: Tier) -> Failure {
    Failure::new(FailureKind::Plan, format!("the tier {tier} cannot do this: {op}"))
}

/// Refuses a list that lacks one of these, which a tier does whatever the list says.
pub(super) fn has_all(ops: &[Op], always: &[Op], tier: Tier) -> Result<(), Failure> {
    match always.iter().find(|op| !ops.contains(op)) {
        None => Ok(()),
        Some(op) => {
            let message = format!("the tier {tier} always does this, which is not planned: {op}");
            Err(Failure::new(FailureKind::Plan, message))
        }
    }
}

#[cfg(test)]
pub(super) mod testing;
