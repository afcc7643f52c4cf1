//! From what was typed to a Stockade: the policy with its overrides, the root, the journal.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use stockade::confine::{Network, Ports};
use stockade::gate::{Approver, ApproverAnswer, Examiner, Prompt};
use stockade::guarantee::{Guarantee, Kept};
use stockade::inspect::Root;
use stockade::launch::PoolSize;
use stockade::limits::Limits;
use stockade::policy::{Dialect, LoadError, Mode, PolicyFiles, Sources, TrustStore};
use stockade::tier::Tier;
use stockade::{Builder, OpenError, Policy, Stockade, ToolCall, default_journal};

use crate::args::{self, Agent, Common, HookOptions, Net, PersonAnswer};
use crate::ask::Terminal;
use crate::print;

/// Opens all that one run needs: nothing is made for a next one.
pub(crate) fn stockade(common: &Common, only: &[String]) -> Result<Stockade, SetupError> {
    warm_stockade(common, only, PoolSize::NoTemplates)
}

/// Opens all that runs need, with this much made in advance.
pub(crate) fn warm_stockade(
    common: &Common,
    only: &[String],
    pool_size: PoolSize,
) -> Result<Stockade, SetupError> {
    opened(common, builder(common, only)?.pool(pool_size))
}

/// Opens all that one run under this policy needs.
pub(crate) fn open(common: &Common, policy: Policy) -> Result<Stockade, SetupError> {
    opened(common, builder_of(common, policy)?.pool(PoolSize::NoTemplates))
}

fn opened(common: &Common, builder: Builder) -> Result<Stockade, SetupError> {
    let terminal = if common.no_ask { None } else { Terminal::find(own_policy(common)) };
    let builder = match terminal {
        Some(terminal) => builder.approver(Arc::new(terminal)),
        None => builder,
    };
    builder.open().map_err(SetupError::Open)
}

/// All that runs need, before it is opened.
pub(crate) fn builder(common: &Common, only: &[String]) -> Result<Builder, SetupError> {
    builder_of(common, policy(common, only)?)
}

fn builder_of(common: &Common, policy: Policy) -> Result<Builder, SetupError> {
    if !common.quiet {
        policy.notes().iter().for_each(|note| print::note(note));
    }
    let journal = journal(common.journal.as_deref())?;
    Ok(Stockade::builder(&common.sources.root, policy).journal(&journal))
}

/// Opens what a line needs that `stockade hook` has put into the box. The agent gets what it would
/// get from the line alone, so that nothing is told of the policy; the hooks of its settings have
/// been asked by the agent itself.
pub(crate) fn hooked_stockade(
    common: &Common,
    answered: PersonAnswer,
) -> Result<Stockade, SetupError> {
    let sources = Sources { agents_run_hooks: true, ..sources(&common.sources) };
    let policy = overridden(sources.load()?, common, &[])?;
    let journal = journal(common.journal.as_deref())?;
    let builder = Stockade::builder(&common.sources.root, policy).journal(&journal);
    let builder = match answered {
        PersonAnswer::Yes => builder.approver(Arc::new(AgreedPerson)),
        PersonAnswer::None => builder,
    };
    builder.pool(PoolSize::NoTemplates).open().map_err(SetupError::Open)
}

/// The person who said yes in the agent, where the hook had put the question.
#[derive(Debug)]
struct AgreedPerson;

impl Approver for AgreedPerson {
    fn name(&self) -> &'static str {
        "agent"
    }

    fn answer(&self, _prompt: &Prompt, _patience: Duration) -> ApproverAnswer {
        ApproverAnswer::Once
    }
}

/// The file of the person: the one that was named, or the usual one.
pub(crate) fn own_policy(common: &Common) -> Option<PathBuf> {
    let sources = &common.sources;
    sources.policy.clone().or_else(|| found(&sources.root).user)
}

/// Opens what a look needs, which leaves no trace.
pub(crate) fn examiner(common: &Common, only: &[String]) -> Result<Examiner, SetupError> {
    let policy = policy(common, only)?;
    let root = Root::open_for(&common.sources.root, &policy)
        .map_err(|error| SetupError::Open(OpenError::Root(error)))?;
    Ok(Examiner::new(root, policy))
}

/// The policy for the calls of an agent, which starts with questions.
pub(crate) fn hook_policy(options: &HookOptions, root: &Path) -> Result<Policy, SetupError> {
    let own = match options.format {
        Agent::Claude => args::Dialect::Claude,
        Agent::Codex => args::Dialect::Codex,
    };
    let typed = args::Sources {
        root: root.to_owned(),
        policy: options.policy.clone(),
        settings: options.settings.clone(),
        rules: options.rules.clone(),
        dialect: options.dialect.iter().copied().chain([own]).collect(),
    };
    let mode = Some(Mode::Default);
    let sources = Sources { mode, agents_run_hooks: true, ..sources(&typed) };
    let mut policy = sources.load()?;
    policy.tier = if options.no_box { Tier::Process } else { options.tier.unwrap_or(policy.tier) };
    choose_mode(options.mode, &mut policy)?;
    Ok(policy)
}

fn choose_mode(typed: Option<Mode>, policy: &mut Policy) -> Result<(), SetupError> {
    policy.mode = typed.unwrap_or(policy.mode);
    if policy.agent.bypass_disabled && policy.mode == Mode::Bypass {
        return Err(SetupError::Bypass);
    }
    Ok(())
}

/// The journal that was named, or the usual one.
pub(crate) fn journal(named: Option<&Path>) -> Result<PathBuf, SetupError> {
    match named {
        Some(path) => Ok(path.to_owned()),
        None => default_journal().ok_or(SetupError::NoHome),
    }
}

/// The call in the folder that was named.
pub(crate) fn placed(call: ToolCall, common: &Common) -> ToolCall {
    match &common.cwd {
        Some(cwd) => call.in_folder(cwd),
        None => call,
    }
}

/// The policy with what was typed.
pub(crate) fn policy(common: &Common, only: &[String]) -> Result<Policy, SetupError> {
    overridden(sources(&common.sources).load()?, common, only)
}

fn overridden(mut policy: Policy, common: &Common, only: &[String]) -> Result<Policy, SetupError> {
    policy.tier = common.tier.unwrap_or(policy.tier);
    policy.oci.image = common.image.clone().or(policy.oci.image);
    choose_mode(common.mode, &mut policy)?;
    policy.profile = common.profile.unwrap_or(policy.profile);
    policy.shell_profile = common.profile.unwrap_or(policy.shell_profile);
    apply_limits(common, &mut policy.limits);
    apply_limits(common, &mut policy.code_limits);
    policy.environment.extend(common.env.iter().cloned());
    apply_box(common, &mut policy)?;
    if !only.is_empty() {
        policy.settings.only =
            Some(only.iter().map(|name| name.trim().to_owned()).collect::<BTreeSet<_>>());
    }
    Ok(policy)
}

fn apply_limits(common: &Common, limits: &mut Limits) {
    limits.wall = common.timeout.unwrap_or(limits.wall);
    limits.cpu = common.cpu.or(limits.cpu);
    limits.cpus = common.cpus.or(limits.cpus);
    limits.memory = common.memory.or(limits.memory);
    limits.processes = common.processes.or(limits.processes);
    limits.file_size = common.file_size.or(limits.file_size);
    limits.disk = common.disk.or(limits.disk);
    limits.files = common.files.or(limits.files);
    limits.output = common.max_output.unwrap_or(limits.output);
}

/// What was typed about files and the network is also required to hold.
fn apply_box(common: &Common, policy: &mut Policy) -> Result<(), SetupError> {
    // Where they lead is found out at the launch, which follows no link of the project.
    let absolute = |paths: &[PathBuf]| -> Result<Vec<PathBuf>, SetupError> {
        let one = |path: &PathBuf| {
            std::path::absolute(path)
                .map_err(|source| SetupError::Path { path: path.clone(), source })
        };
        paths.iter().map(one).collect()
    };
    if !common.write.is_empty() {
        policy.files.write = absolute(&common.write)?;
        policy.require.insert(Guarantee::Writes, Kept::Full);
    }
    if !common.read.is_empty() {
        policy.files.read.extend(absolute(&common.read)?);
        policy.require.insert(Guarantee::Reads, Kept::Full);
    }
    policy.files.toolchains.extend(&common.toolchain);
    if let Some(net) = common.net {
        policy.network = match net {
            Net::None => Network::None,
            Net::Loopback => Network::Loopback,
            Net::Host => Network::Host,
        };
    }
    add_ports(common, policy)?;
    if common.net.is_some() && policy.network.is_own() {
        let is_open = policy.ports.open_in(policy.network);
        let kept = if is_open { Kept::Partial } else { Kept::Full };
        policy.require.insert(Guarantee::Network, kept);
    }
    Ok(())
}

/// Ports that were typed are added to those of the policy.
fn add_ports(common: &Common, policy: &mut Policy) -> Result<(), SetupError> {
    let ports = &mut policy.ports;
    for (option, typed, list) in [
        ("--publish", &common.publish, &mut ports.publish),
        ("--host-port", &common.host_port, &mut ports.host),
    ] {
        if !typed.is_empty() && policy.network == Network::None {
            return Err(SetupError::PortWithoutNetwork { option });
        }
        for port in typed {
            if !list.contains(port) {
                list.push(*port);
            }
        }
        if list.len() > Ports::MAX {
            return Err(SetupError::Ports { option });
        }
    }
    Ok(())
}

/// All files that the policy comes from.
pub(crate) fn sources(typed: &args::Sources) -> Sources {
    let dialect = |one: &args::Dialect| match one {
        args::Dialect::Claude => Dialect::Claude,
        args::Dialect::Codex => Dialect::Codex,
    };
    Sources {
        root: typed.root.clone(),
        home: std::env::home_dir(),
        files: found(&typed.root),
        named: typed.policy.clone(),
        dialects: typed.dialect.iter().map(dialect).collect(),
        settings: typed.settings.clone(),
        rules: typed.rules.clone(),
        trust: TrustStore::default_path(),
        mode: None,
        agents_run_hooks: false,
    }
}

/// The policy of the machine and the user, where no project has a say.
pub(crate) fn policy_outside_projects(named: Option<&Path>) -> Result<Policy, SetupError> {
    let typed = args::Sources {
        root: PathBuf::from("/"),
        policy: named.map(Path::to_owned),
        settings: Vec::new(),
        rules: Vec::new(),
        dialect: Vec::new(),
    };
    let found = sources(&typed);
    let files = PolicyFiles { project: None, ..found.files };
    Ok(Sources { files, ..found }.load()?)
}

/// The policy files that are found by themselves.
pub(crate) fn found(root: &Path) -> PolicyFiles {
    let config =
        std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let config = config.or_else(|| Some(std::env::home_dir()?.join(".config")));
    PolicyFiles {
        user: config.map(|folder| folder.join("stockade/stockade.toml")),
        managed: Some(PathBuf::from("/etc/stockade/stockade.toml")),
        project: Some(root.join("stockade.toml")),
    }
}

/// Why nothing could be set up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SetupError {
    #[error(transparent)]
    Policy(#[from] LoadError),
    #[error(transparent)]
    Open(OpenError),
    #[error("read the path {path:?}")]
    Path {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("use {option}: there is no network to open ports of; hint: add --net loopback")]
    PortWithoutNetwork { option: &'static str },
    #[error("use {option}: at most {} ports can be open", Ports::MAX)]
    Ports { option: &'static str },
    #[error("use mode bypass: settings that apply here forbid it (disableBypassPermissionsMode)")]
    Bypass,
    #[error("find a place for the journal: there is no home folder; name it with --journal")]
    NoHome,
}
