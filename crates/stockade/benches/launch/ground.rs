//! Where everything is measured: a project in a folder of its own, and Stockades opened on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use stockade::confine::Network;
use stockade::launch::PoolSize;
use stockade::tier::Tier;
use stockade::{Policy, Stockade, ToolCall};

/// What is measured wherever nothing else is said.
pub(crate) const PROGRAM: &str = "/bin/true";

/// A folder that is gone afterwards, with a project in it.
pub(crate) struct Ground {
    folder: tempfile::TempDir,
}

impl Ground {
    pub(crate) fn new() -> Self {
        // Not where a box has a private folder, as few projects are there.
        let usual = Path::new("/var/tmp");
        let folder = tempfile::Builder::new().prefix("stockade-bench-").tempdir_in(usual);
        let ground = Self { folder: folder.or_else(|_| tempfile::tempdir()).unwrap() };
        fs::create_dir(ground.project()).unwrap();
        ground
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.beside("project")
    }

    /// A path beside the project, which no box shows.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A folder beside the project.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        let folder = self.beside(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// A Stockade for the project, with a journal of this name.
    pub(crate) fn open(&self, name: &str, policy: Policy) -> Stockade {
        self.open_at(&self.project(), name, policy)
    }

    /// A Stockade for another project.
    pub(crate) fn open_at(&self, root: &Path, name: &str, policy: Policy) -> Stockade {
        Stockade::open(root, policy, &self.beside(&format!("{name}.jsonl"))).unwrap()
    }

    /// A Stockade for jails, as warm as this says.
    pub(crate) fn open_warm(&self, name: &str, pool: PoolSize) -> Stockade {
        let journal = self.beside(&format!("{name}.jsonl"));
        let builder =
            Stockade::builder(&self.project(), jailed(Network::Loopback)).journal(&journal);
        builder.pool(pool).open().unwrap()
    }
}

/// The shipped policy in another tier.
pub(crate) fn in_tier(tier: Tier) -> Policy {
    Policy { tier, ..Policy::shipped() }
}

/// The shipped policy in the jail, with this network.
pub(crate) fn jailed(network: Network) -> Policy {
    Policy { network, ..in_tier(Tier::Jail) }
}

/// One call of the program, which must end well.
pub(crate) fn call(stockade: &Stockade) {
    let report = stockade.run(ToolCall::exec([PROGRAM]));
    assert!(report.ok(), "{report:?}");
}

/// Spawns a program, silent, and waits for it; it must end well.
pub(crate) fn spawn(argv: &[impl AsRef<std::ffi::OsStr>]) {
    let (program, rest) = argv.split_first().unwrap();
    let mut command = Command::new(program);
    command.args(rest).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    assert!(command.status().unwrap().success(), "{command:?}");
}
