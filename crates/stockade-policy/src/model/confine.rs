//! What a run may touch and use, as data: the policy's answer, before any tier is asked.

mod agent;
mod oci;
mod own;
mod path_pattern;
mod ports;
mod toolchain;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use self::agent::{AgentFolder, AgentPart};
pub use self::oci::{EngineName, ImageName, NotAnImage, Oci, Pull, UnknownEngine, UnknownPull};
pub use self::own::{
    OwnKind, OwnProgram, SYSTEM, all as own_places, cache_folder, data_folder,
    fixed_runtime_folder, real, scratch_bases, within as own_within,
};
pub use self::own::{OwnPath, runtime_folder, state_folder};
pub use self::path_pattern::{Keep, PACKAGE_FOLDERS, PathMatch, PathPattern};
pub use self::ports::Ports;
pub use self::toolchain::{Toolchain, ToolchainPath, UnknownToolchain, program_folders};
use crate::guarantee::{Guarantee, Kept};
use crate::limits::Limits;

/// The confinement of one run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Confinement {
    /// Time, memory, processes and bytes.
    pub limits: Limits,
    /// The whole environment of the run but `HOME` and `TMPDIR`, which are its scratch folder.
    pub environment: Vec<(OsString, OsString)>,
    /// The guarantees without which the call must not run, and how well each has to be kept.
    pub require: BTreeMap<Guarantee, Kept>,
    /// How well the network has to be kept in a session where another call has opened ports.
    pub shared_network: Option<Kept>,
    /// The files it may see and write, where the tier keeps that.
    pub files: Files,
    /// The network it has, where the tier keeps that.
    pub network: Network,
    /// The ports that lead out of a network of its own, and into it.
    pub ports: Ports,
    /// The image and who makes the box, in tiers that have either.
    pub oci: Oci,
    /// What becomes of processes that the program leaves running, if the call is one of a session.
    pub session: Option<Leftovers>,
    /// What the report says if the program fails.
    pub hints: Vec<String>,
}

/// What becomes of processes that a program of a session leaves running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Leftovers {
    /// They end with it.
    End,
    /// They stay in their sandbox, with its limits.
    Stay,
}

/// Which files a run may see and write. All paths are absolute and real.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Files {
    /// The project root, which can always be read.
    pub root: PathBuf,
    /// Folders that can be written.
    pub write: Vec<PathBuf>,
    /// Files and folders besides the system's that can be read.
    pub read: Vec<PathBuf>,
    /// What toolchains have in the home folder, to be read.
    pub toolchains: Vec<ToolchainPath>,
    /// What an agent that runs in the sandbox has of the home folder.
    pub agent: Option<AgentFolder>,
    /// Paths beneath these that cannot be opened.
    pub hide: Vec<PathBuf>,
    /// Paths beneath these that cannot be written, renamed or removed.
    pub protect: Vec<PathBuf>,
    /// Those of `protect` that only an untrusted project file names. A file that appears there is
    /// reported and never touched.
    pub untrusted: Vec<PathBuf>,
    /// What is to be hidden or protected by a pattern, and is looked for when the box is made.
    pub sought: Arc<[PathPattern]>,
    /// What rules deny that no box can keep, each in words.
    pub unkept: Arc<[(Keep, Origin, String)]>,
    /// Stockade's own places among what is shown, each of them also hidden or protected.
    pub own: Arc<[OwnPath]>,
    /// Which changes to what can be written are told.
    pub watched: ListedChanges,
}

/// Folders that stay writable in a protected folder, if they exist. Agents keep working trees there.
const WRITABLE_IN_PROTECTED: [(&str, &str); 1] = [(".claude", "worktrees")];

/// The paths of these folders in a project, each with that of the protected folder.
pub fn writable_in_protected(root: &Path) -> impl Iterator<Item = (PathBuf, PathBuf)> {
    WRITABLE_IN_PROTECTED.into_iter().map(|(folder, inner)| {
        let folder = root.join(folder);
        let inner = folder.join(inner);
        (folder, inner)
    })
}

impl Files {
    /// Who names a protected path.
    pub fn origin_of(&self, path: &Path) -> Origin {
        let is_it = |untrusted: &PathBuf| untrusted == path;
        if self.untrusted.iter().any(is_it) { Origin::Project } else { Origin::Trusted }
    }

    /// Leaves those paths to the untrusted file that names them which no trusted origin protects: not
    /// under another name either, for a path has many spellings.
    pub fn leave_to_project(&mut self, named: &[PathBuf], trusted: &[PathBuf]) {
        if named.is_empty() {
            return;
        }
        let own = self.own.iter().map(|own| &own.path);
        let trusted: Vec<PathBuf> =
            trusted.iter().chain(own).map(|path| entry_place(path)).collect();
        let left = named.iter().map(|path| (path, entry_place(path)));
        let left = left.filter(|(_, place)| !trusted.contains(place));
        // Whoever finds the path behind links knows it by its real name.
        self.untrusted = left.flat_map(|(path, place)| [path.clone(), place]).collect();
    }

    /// Leaves nothing that can be written; what could be can still be read.
    pub fn deny_writes(&mut self) {
        let root = &self.root;
        self.read.extend(self.write.drain(..).filter(|folder| folder != root));
        for part in self.agent.iter_mut().flat_map(|agent| &mut agent.parts) {
            part.is_written = false;
        }
    }
}

/// The real path of a name, which itself may be a link.
fn entry_place(path: &Path) -> PathBuf {
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => real(folder).join(name),
        _ => real(path),
    }
}

/// Who wrote a rule, and so how much is done for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// Stockade ships it. It must not make a project unusable that it does not fit.
    Shipped,
    /// The user, the machine's administrator, or a project file that the user trusts.
    Trusted,
    /// A project file that nobody trusts.
    Project,
}

/// Which of the files that a program changes are listed in the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ListedChanges {
    /// None.
    Nothing,
    /// Those from which code runs later, where they are at the top of a folder.
    Risky,
    /// All among the first names of the folders, which bounds what it costs.
    Bounded,
    /// All, which costs a walk through the folders before and after each run.
    All,
}

impl ListedChanges {
    /// The name in policy files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "none",
            Self::Risky => "risky",
            Self::Bounded => "bounded",
            Self::All => "all",
        }
    }

    /// All there are, from the least to the most.
    pub const ALL: [Self; 4] = [Self::Nothing, Self::Risky, Self::Bounded, Self::All];

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// The network of a run, the strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Network {
    /// None at all: not even loopback.
    None,
    /// A loopback interface of its own. Nothing else can be reached, the machine's loopback included.
    Loopback,
    /// The machine's own.
    Host,
}

impl Network {
    /// All of them, the strictest first.
    pub const ALL: [Self; 3] = [Self::None, Self::Loopback, Self::Host];

    /// Its name in policy files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Loopback => "loopback",
            Self::Host => "host",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Whether a program can reach nothing outside of its sandbox.
    pub fn is_own(self) -> bool {
        self != Self::Host
    }
}
