//! Decides: findings in, one decision out. Rules, modes and the configuration.
//!
//! Files are read by `load` and within bounds; nothing else here touches the system, and nothing starts
//! a process.
#![forbid(unsafe_code)]

#[cfg(test)]
#[macro_use]
#[path = "../../stockade/tests/shared/messages.rs"]
mod messages;

pub mod agents;
mod config;
pub mod decide;
pub mod hooks;
mod judgement;
mod model;
mod reach;
pub mod rules;
pub mod tools;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use config::agent::{Agent, AgentHooks, AgentMode, Remark};
pub use config::box_table::BoxPattern;
pub use config::folders::{path_of, real_folder};
pub use config::load::{LoadError, PolicyFiles};
pub use config::nearest::nearest;
pub use config::project::{Content, FileFormat, ProjectFile};
pub use config::replace::replace;
pub use config::require::Require;
pub use config::schema::schema;
pub use config::sources::{Dialect, Sources};
pub use config::trust::{Trust, TrustStore, TrustedFile};
pub use config::{bounded, json};
pub use hooks::Hook;
pub use judgement::{Activity, Judgement, silenced};
pub use model::decision::{By, Decision, Ruling};
pub use model::durability::Durability;
pub use model::finding::{Axis, Finding, RULED, Weight};
pub use model::mode::Mode;
pub use model::settings::{DENY, INTERPRETERS, Settings};
pub use model::tier::{Tier, UnknownTier};
pub use model::{confine, decision, guarantee, limits, mode, own};
pub use reach::RuleReach;
pub use rules::Rules;
pub use rules::propose::propose;
pub use tools::PolicyTool;

use sha2::{Digest as _, Sha256};

use crate::confine::{
    AgentFolder, Keep, ListedChanges, Network, Oci, Origin, PathPattern, Ports, Toolchain,
};
use crate::guarantee::{Guarantee, Kept};
use crate::limits::{Limits, SessionLimits};

/// What is allowed, and in which box. Built by the host from files it trusts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Policy {
    /// How much is done without a question.
    pub mode: Mode,
    /// Approval timeout. No answer means no.
    pub patience: Duration,
    /// The project root may be a home directory of the user, or contain one. Project files cannot
    /// set this.
    pub project_home: bool,
    /// The lists that inspection checks a call against.
    pub settings: Settings,
    /// Which of the built-in refusals apply to calls of one program.
    pub profile: Profile,
    /// The same for shell lines.
    pub shell_profile: Profile,
    /// The box.
    pub tier: Tier,
    /// Time, memory, processes and bytes.
    pub limits: Limits,
    /// Lower limits for a run of source code.
    pub code_limits: Limits,
    /// How many interpreters of each language may wait for code.
    pub code_warm: usize,
    /// The limits of a session.
    pub session: SessionLimits,
    /// The variables of the environment besides `PATH`, `HOME` and `TMPDIR`.
    pub environment: Vec<Variable>,
    /// Guarantees without which nothing runs, and how strictly each is enforced.
    pub require: Require,
    /// Which files a box shows and lets be written.
    pub files: FilesPolicy,
    /// The network of a box.
    pub network: Network,
    /// The ports that lead out of a box with a loopback, and into it.
    pub ports: Ports,
    /// The image and who makes the box, in tiers that have either.
    pub oci: Oci,
    /// When the journal reaches the disk.
    pub durability: Durability,
    /// Rules that deny, ask or allow.
    pub rules: Rules,
    /// Commands that run before and after calls.
    pub hooks: Vec<Hook>,
    /// Tools besides the built-in ones.
    pub tools: Vec<PolicyTool>,
    /// Where a denied name comes from, for those that are not shipped.
    pub sources: BTreeMap<String, String>,
    /// What settings of coding agents say besides.
    pub agent: Agent,
    /// Notes about the files that were read, for the user.
    pub remarks: Vec<Remark>,
}

/// Two profiles of the built-in refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Profile {
    /// Only what the box does not contain is refused.
    Contained,
    /// All four axes refuse.
    Strict,
}

/// The files of a box as the policy writes them: beneath the root, or absolute.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FilesPolicy {
    /// Folders that can be written.
    pub write: Vec<PathBuf>,
    /// Files and folders besides the system's that can be read.
    pub read: Vec<PathBuf>,
    /// Toolchains and caches of the home folder that can be read.
    pub toolchains: BTreeSet<Toolchain>,
    /// What an agent that runs in the sandbox has of the home folder. No file can set this.
    pub agent: Option<AgentFolder>,
    /// Where the program of that agent is installed, to be read and run.
    pub agent_programs: Vec<PathBuf>,
    /// Paths that look empty in the sandbox.
    pub hide: Vec<PathBuf>,
    /// Paths that cannot be written, renamed or removed.
    pub protect: Vec<PathBuf>,
    /// Those of `protect` that only an untrusted project file names.
    pub untrusted: Vec<PathBuf>,
    /// Patterns of what is to be hidden or protected, which become rules in a project: see
    /// [`Policy::with_rules_in_box`].
    pub patterns: Vec<BoxPattern>,
    /// Which changes are reported.
    pub watched: ListedChanges,
    /// What rules deny by a pattern: see [`Policy::with_rules_in_box`].
    pub sought: Arc<[PathPattern]>,
    /// What rules deny that no box can keep, each in words.
    pub unkept: Arc<[(Keep, Origin, String)]>,
}

/// What makes code run outside of a box later, if it is changed inside.
///
/// A folder that exists is protected with everything in it, so that folders are better than names.
const PROTECT: [&str; 25] = [
    ".git/hooks",
    ".git/info",
    ".git/config",
    ".git/config.worktree",
    ".git/commondir",
    ".gitconfig",
    ".gitmodules",
    ".husky",
    ".github/workflows",
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
    ".mcp.json",
    ".vscode",
    ".idea",
    ".envrc",
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".ripgreprc",
    "stockade.toml",
];

impl Default for FilesPolicy {
    fn default() -> Self {
        Self {
            write: vec![PathBuf::from(".")],
            read: Vec::new(),
            toolchains: BTreeSet::new(),
            agent: None,
            agent_programs: Vec::new(),
            hide: Vec::new(),
            protect: PROTECT.iter().map(PathBuf::from).collect(),
            untrusted: Vec::new(),
            patterns: Vec::new(),
            watched: ListedChanges::Bounded,
            sought: Arc::default(),
            unkept: Arc::default(),
        }
    }
}

impl FilesPolicy {
    /// Protects a path for a trusted origin, which it has whatever else names the path.
    pub(crate) fn protect_for_trusted(&mut self, path: PathBuf) {
        self.untrusted.retain(|known| *known != path);
        if !self.protect.contains(&path) {
            self.protect.push(path);
        }
    }

    /// The paths that a trusted origin protects, as they are written.
    pub fn protected_by_trusted(&self) -> impl Iterator<Item = &PathBuf> {
        self.protect.iter().filter(|path| !self.untrusted.contains(path))
    }

    /// Protects paths that an untrusted project file names. A path that a trusted file names as well
    /// stays that file's; whether it does by another spelling is known in a project only.
    pub(crate) fn protect_for_project(&mut self, paths: Vec<PathBuf>) {
        for path in paths {
            if !self.protect.contains(&path) {
                self.untrusted.push(path.clone());
                self.protect.push(path);
            }
        }
    }
}

/// One variable of the environment of a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Variable {
    /// Copied from the supervisor's environment if it is set there.
    Inherited(String),
    /// With this value.
    Set(String, String),
}

/// Collects what is hashed by SHA-256.
struct Fingerprint(Sha256);

impl Hasher for Fingerprint {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let digest = self.0.clone().finalize();
        digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

impl Policy {
    /// A number that is equal for equal policies, and different for others.
    pub fn fingerprint(&self) -> u64 {
        let mut fingerprint = Fingerprint(Sha256::new());
        self.hash(&mut fingerprint);
        fingerprint.finish()
    }

    /// What applies where there is no file: the same as `policies/default.toml`, which a test holds.
    pub fn shipped() -> Self {
        let inherited = ["LANG", "LC_ALL", "TERM"].map(|name| Variable::Inherited(name.to_owned()));
        Self {
            mode: Mode::default(),
            patience: Duration::from_secs(60),
            project_home: false,
            settings: Settings::default(),
            profile: Profile::Strict,
            shell_profile: Profile::Contained,
            tier: Tier::Jail,
            limits: Limits::EXEC,
            code_limits: Limits::CODE,
            code_warm: 1,
            session: SessionLimits::default(),
            environment: inherited.to_vec(),
            require: Require::default(),
            files: FilesPolicy::default(),
            network: Network::Loopback,
            ports: Ports::default(),
            oci: Oci::default(),
            durability: Durability::default(),
            rules: config::named::shipped(),
            hooks: Vec::new(),
            tools: Vec::new(),
            sources: BTreeMap::new(),
            agent: Agent::default(),
            remarks: Vec::new(),
        }
    }

    /// Whether what runs is in an image, where this machine's own programs say nothing.
    pub fn runs_image(&self) -> bool {
        self.runs_image_in(self.tier)
    }

    /// The same in another tier.
    pub fn runs_image_in(&self, tier: Tier) -> bool {
        match tier {
            Tier::Container => true,
            Tier::Gvisor => self.oci.image.is_some(),
            Tier::Inline | Tier::Process | Tier::Jail | Tier::Microvm | Tier::Cluster => false,
        }
    }

    /// All that is required to be kept, in the tier that this policy chooses.
    pub fn required(&self) -> BTreeMap<Guarantee, Kept> {
        self.required_in(self.tier)
    }

    /// The same in another tier.
    pub fn required_in(&self, tier: Tier) -> BTreeMap<Guarantee, Kept> {
        self.require.in_tier(tier, self.network, &self.ports)
    }

    /// How well the network has to be kept in a session where another call has opened ports.
    pub fn required_of_shared_network(&self) -> Option<Kept> {
        self.require.of_shared_network(self.tier)
    }

    /// What a person should know about the files and rules that were read, a line each.
    pub fn notes(&self) -> Vec<String> {
        let about = |note: &rules::Note| {
            let place = note.source.as_ref().map(|source| format!("{source}: "));
            format!("{}the rule {:?}: {}", place.unwrap_or_default(), note.rule, note.message)
        };
        let remarks = self.remarks.iter().map(ToString::to_string);
        let ports = (self.network == Network::Host && !self.ports.is_empty()).then(|| {
            "box.publish and box.host_ports do nothing with box.net = \"host\": the sandbox has the \
             machine's network"
                .to_owned()
        });
        remarks.chain(ports).chain(self.rules.notes().iter().map(about)).collect()
    }

    /// What the findings come to: the first that refuses, in the order of the axes, else the first
    /// that asks. Findings come in that order from inspection.
    pub fn found(&self, findings: &[Finding], profile: Profile) -> Ruling {
        let refusal = findings.iter().find(|finding| self.refuses(finding, profile));
        let question = findings.iter().find(|finding| finding.weight == Weight::Ask);
        let by_finding = |finding: &Finding, decision| Ruling {
            decision,
            by: By::Axis,
            rule: Some(finding.rule_id()),
            source: self.source_of(finding),
            reason: Some(finding.text.clone()),
            instead: finding.instead.clone(),
            argument: finding.argument,
            span: finding.span,
        };
        match (refusal, question) {
            (Some(finding), _) => by_finding(finding, Decision::Deny),
            (None, Some(finding)) => by_finding(finding, Decision::Ask),
            (None, None) => Ruling::allow(By::Mode),
        }
    }

    /// The same policy with one search path: where the environment lists `PATH`, that is also where
    /// the gate looks, so that what it judges is what a program in the run would find.
    #[must_use]
    pub fn with_one_search_path(mut self) -> Self {
        let value = |variable: &Variable| match variable {
            Variable::Inherited(name) => std::env::var_os(name),
            Variable::Set(_, value) => Some(value.into()),
        };
        let listed = self.environment.iter().rev().find(|variable| variable.name() == "PATH");
        if let Some(path) = listed.and_then(value) {
            self.settings.search_path = std::env::split_paths(&path).collect();
        }
        self.environment.retain(|variable| variable.name() != "PATH");
        self
    }

    fn refuses(&self, finding: &Finding, profile: Profile) -> bool {
        // A name that somebody put on the list is meant, whatever a box contains.
        let is_meant = finding.listed.as_ref().is_some_and(|name| self.sources.contains_key(name));
        match finding.weight {
            _ if is_meant => true,
            Weight::Always => true,
            Weight::Boxed => profile == Profile::Strict || self.tier < Tier::Jail,
            Weight::Strict => profile == Profile::Strict,
            Weight::Ask | Weight::Ruled | Weight::Note => false,
        }
    }

    fn source_of(&self, finding: &Finding) -> Option<String> {
        if finding.axis != Axis::Name {
            return None;
        }
        let listed = finding.listed.as_ref()?;
        Some(self.sources.get(listed).cloned().unwrap_or_else(|| "shipped policy".to_owned()))
    }
}

impl std::str::FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "strict" => Ok(Self::Strict),
            "contained" => Ok(Self::Contained),
            _ => Err(UnknownProfile(text.to_owned())),
        }
    }
}

/// A text that names no profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown profile {0:?}; expected strict or contained")]
pub struct UnknownProfile(String);

impl Variable {
    /// Reads `NAME` or `NAME=VALUE`.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        if name.is_empty() || text.contains('\0') {
            return None;
        }
        Some(match value {
            Some(value) => Self::Set(name.to_owned(), value.to_owned()),
            None => Self::Inherited(name.to_owned()),
        })
    }

    /// The variable's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Inherited(name) | Self::Set(name, _) => name,
        }
    }
}
