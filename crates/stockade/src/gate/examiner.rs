//! Examines calls under one policy: what each may use and touch, and how it would be judged.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::facts::CallFacts;
use super::judge::Assessment;
use super::protected_paths::OwnFiles;
use super::subject::code::CodeSubject;
use super::subject::exec::{ExecSubject, Words};
use super::subject::external::ExternalSubject;
use super::subject::file::FileSubject;
use super::subject::line::LineSubject;
use super::subject::tool::ToolSubject;
use super::{activity, complaint, toolchain};
use crate::call::{Tool, ToolCall};
use crate::catalog::Catalog;
use crate::confine::{Confinement, Files, Leftovers, OwnPath, ToolchainPath, own_within};
use crate::inspect::{
    CommandSummary, Finding, Inspector, PathResolver, ProgramInput, Programs, Root, Setting, Weight,
};
use crate::policy::decide::Containment;
use crate::policy::rules::ConsideredRule;
use crate::policy::{Mode, Policy, Profile, Ruling, Variable};
use crate::registry::{Duplicate, RegisteredTool, Registry};

/// How the gate would judge a call, and why. `check` prints it. Nothing is written or run.
#[derive(Debug)]
pub struct Examination {
    /// The decision with its grounds.
    pub ruling: Ruling,
    /// Every fact found, in the order of the axes.
    pub findings: Vec<Finding>,
    /// Every command in the call, with what it does as far as that is known.
    pub commands: Vec<CommandSummary>,
    /// Whether the call is known to change nothing, so that there is nothing to ask about.
    pub changes_nothing: bool,
    /// The limits and guarantees of the run.
    pub confinement: Confinement,
    /// Whether there would be a question without the sandbox.
    pub spared: bool,
    /// File patterns that a search by the agent's `Grep` has to exclude. The call may only run with
    /// these patterns in its field `glob`, after its own.
    pub exclude: Vec<String>,
}

/// Examines calls under one policy. Leaves no trace.
#[derive(Debug)]
pub struct Examiner {
    root: Root,
    policy: Policy,
    toolchains: Vec<ToolchainPath>,
    /// The person's home directory, for `~`.
    home: Option<PathBuf>,
    programs: Programs,
    registry: Registry,
    own: OwnFiles,
    /// Stockade's own files that a sandbox of this project would otherwise show.
    places: Arc<[OwnPath]>,
}

impl Examiner {
    /// Creates the examiner of one project.
    pub fn new(root: Root, policy: Policy) -> Self {
        let policy = policy.with_one_search_path().with_rules_in_box(root.path());
        let mut policy = policy.with_settings_protected(root.path());
        let toolchains = toolchain::found(&policy);
        toolchain::trust(&toolchains, &mut policy.settings);
        let home = std::env::home_dir();
        let registry = Registry::of(&policy.tools, root.path());
        let mut own = OwnFiles::default();
        let of_hooks = policy.hooks.iter().flat_map(|hook| hook.command.files(root.path()));
        of_hooks.for_each(|file| own.add(&file));
        registry.own_files().for_each(|file| own.add(file));
        let (programs, places) = (Programs::default(), Arc::default());
        let new = Self { root, policy, toolchains, home, programs, registry, own, places };
        Self { places: own_within(&new.files()).into(), ..new }
    }

    /// Adds a file that no call may write.
    pub(super) fn with_own_file(mut self, file: &Path) -> Self {
        self.own.add(file);
        self
    }

    /// Adds a tool.
    pub fn with_tool(mut self, tool: RegisteredTool) -> Result<Self, Duplicate> {
        tool.own_files().for_each(|file| self.own.add(file));
        self.registry = self.registry.with(tool)?;
        Ok(self)
    }

    /// The registered tools.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The project root.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Stockade's own files, which no call may write.
    pub(super) fn own_files(&self) -> &OwnFiles {
        &self.own
    }

    /// The person's home directory.
    pub(super) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// The registered tool that a call is for.
    pub fn registered(&self, call: &ToolCall) -> Option<&RegisteredTool> {
        match &call.tool {
            Tool::Unknown(foreign) => self.registry.get(&foreign.name),
            Tool::Exec(_) | Tool::Line(_) | Tool::Code(_) | Tool::File(_) | Tool::Malformed(_) => {
                None
            }
        }
    }

    /// Examines a call as [`Gate::judge`](super::Gate::judge) would, or as
    /// [`Gate::advise`](super::Gate::advise) would if the tool is external.
    pub fn examine(&self, call: &ToolCall) -> Examination {
        self.assess_for_agent(call).examination
    }

    /// The rules that are about a call, each with how it relates to the facts of the call.
    pub fn consider(&self, call: &ToolCall, examination: &Examination) -> Vec<ConsideredRule<'_>> {
        let Ok(resolver) = PathResolver::open(self.root(), call.cwd.as_deref()) else {
            return Vec::new();
        };
        let facts = CallFacts::of(call, &examination.commands, &resolver, self.home());
        let facts = facts.with_findings(&examination.findings);
        self.policy().rules.consider(&facts.facts)
    }

    /// Judges a call that an agent runs by itself. The agent's own tools are external tools.
    pub(super) fn assess_for_agent(&self, call: &ToolCall) -> Assessment {
        match &call.tool {
            Tool::Unknown(foreign) if self.registry.get(&foreign.name).is_none() => {
                self.judge::<ExternalSubject<'_>>(call, ExternalSubject(foreign))
            }
            Tool::Exec(_)
            | Tool::Line(_)
            | Tool::Code(_)
            | Tool::File(_)
            | Tool::Unknown(_)
            | Tool::Malformed(_) => self.assess(call),
        }
    }

    /// Judges a call that Stockade would run.
    pub(super) fn assess(&self, call: &ToolCall) -> Assessment {
        match &call.tool {
            Tool::Exec(exec) => self.judge::<ExecSubject>(call, Words::Sent(exec)),
            Tool::Line(line) if self.policy.settings.only.is_some() => {
                self.judge::<ExecSubject>(call, Words::Split(line))
            }
            Tool::Line(line) => self.judge::<LineSubject>(call, line),
            Tool::Code(code) => self.judge::<CodeSubject>(call, code),
            Tool::File(file) => self.judge::<FileSubject>(call, file),
            Tool::Unknown(input) => match self.registry.get(&input.name) {
                Some(tool) => self.judge::<ToolSubject<'_>>(call, ToolSubject { input, tool }),
                None => self.unprepared(call, complaint::unknown_tool(&input.name, &self.registry)),
            },
            Tool::Malformed(why) => self.unprepared(call, complaint::unreadable(why)),
        }
    }

    /// Whether every command only reads and prints. A program that may run what the project's
    /// configuration names counts if the sandbox contains it, or if the configuration names
    /// nothing.
    pub(super) fn changes_nothing(
        &self,
        commands: &[CommandSummary],
        findings: &[Finding],
        resolver: &PathResolver<'_>,
    ) -> bool {
        let stops = |finding: &Finding| {
            let weighs = matches!(finding.weight, Weight::Always | Weight::Ask | Weight::Ruled);
            weighs || finding.is_dynamic()
        };
        let is_boxed = self.policy.hold(Profile::Contained, false) == Containment::Box;
        let reads = |found: &CommandSummary| activity::reads(found, resolver, is_boxed);
        !commands.is_empty() && !findings.iter().any(stops) && commands.iter().all(reads)
    }

    /// The policy's lists and the program catalog, for inspection.
    pub(super) fn inspector(&self) -> Inspector<'_> {
        Inspector {
            settings: &self.policy.settings,
            programs: &self.programs,
            knowledge: Catalog::shipped(),
        }
    }

    /// The variables of the shell before a line runs, as far as they are known.
    pub(super) fn setting(&self) -> Setting {
        let mut variables = Vec::new();
        if let Some(home) = self.home().and_then(Path::to_str) {
            variables.push(("HOME".to_owned(), home.to_owned()));
        }
        let folders = self.policy().settings.search_path.iter().map(|p| p.as_os_str());
        let path: Vec<&OsStr> = folders.collect();
        if let Ok(path) = path.join(OsStr::new(":")).into_string() {
            variables.push(("PATH".to_owned(), path));
        }
        variables.push((SANDBOXED.to_owned(), "1".to_owned()));
        let mut inherited = vec![SESSION.to_owned()];
        for variable in &self.policy().environment {
            match variable {
                Variable::Set(name, value) => variables.push((name.clone(), value.clone())),
                Variable::Inherited(name) => inherited.push(name.clone()),
            }
        }
        let home = self.home().map(Path::to_owned);
        Setting { variables, inherited, home, input: ProgramInput::Nothing }
    }

    /// The confinement of a run.
    pub(super) fn confinement(&self, call: &ToolCall) -> Confinement {
        let mut limits = self.policy.limits.clone();
        limits.ask_for(call.wall);
        Confinement {
            limits,
            environment: environment(&self.policy, call),
            require: self.policy.required(),
            shared_network: self.policy.required_of_shared_network(),
            files: self.files(),
            network: self.policy.network,
            ports: self.policy.ports.clone(),
            oci: self.policy.oci.clone(),
            session: call.session.as_ref().map(|_| leftovers(&self.policy)),
            hints: Vec::new(),
        }
    }

    /// The policy's paths as absolute paths. Relative ones start at the root.
    fn files(&self) -> Files {
        let root = self.root.path();
        let place = |path: &PathBuf| {
            if path == Path::new(".") { root.to_owned() } else { root.join(path) }
        };
        let placed = |paths: &[PathBuf]| paths.iter().map(place).collect();
        let policy = &self.policy.files;
        let mut files = Files {
            root: root.to_owned(),
            write: placed(&policy.write),
            read: placed(&policy.read),
            toolchains: self.toolchains.clone(),
            agent: policy.agent.clone(),
            hide: placed(&policy.hide),
            protect: placed(&policy.protect),
            untrusted: Vec::new(),
            watched: policy.watched,
            sought: Arc::clone(&policy.sought),
            unkept: Arc::clone(&policy.unkept),
            own: Arc::clone(&self.places),
        };
        files.cover_own();
        self.own.protect(&mut files);
        let mut trusted: Vec<PathBuf> = policy.protected_by_trusted().map(place).collect();
        trusted.extend_from_slice(self.own_files().all());
        let named: Vec<PathBuf> = policy.untrusted.iter().map(place).collect();
        files.leave_to_project(&named, &trusted);
        files
    }
}

/// Set in every sandbox, so that programs can tell where they are.
const SANDBOXED: &str = "STOCKADE";
/// The name of the session, in the sandbox of a call that has one.
const SESSION: &str = "STOCKADE_SESSION";

/// Whether processes that a call of a session leaves running may stay.
fn leftovers(policy: &Policy) -> Leftovers {
    match policy.mode {
        // The folder of an agent goes with the agent.
        _ if policy.files.agent.is_some() => Leftovers::End,
        Mode::Plan => Leftovers::End,
        Mode::Default | Mode::AcceptEdits | Mode::Auto | Mode::DontAsk | Mode::Bypass => {
            Leftovers::Stay
        }
    }
}

/// The environment variables of the run: the search path, what the policy lists, and what tells of the
/// sandbox.
fn environment(policy: &Policy, call: &ToolCall) -> Vec<(OsString, OsString)> {
    let mut built: Vec<(OsString, OsString)> = Vec::new();
    let mut set = |name: &str, value: OsString| {
        built.retain(|(known, _)| known != name);
        built.push((OsString::from(name), value));
    };
    let folders: Vec<&OsStr> = policy.settings.search_path.iter().map(|p| p.as_os_str()).collect();
    set("PATH", folders.join(OsStr::new(":")));
    for variable in &policy.environment {
        match variable {
            Variable::Inherited(name) => {
                if let Some(value) = std::env::var_os(name) {
                    set(name, value);
                }
            }
            Variable::Set(name, value) => set(name, OsString::from(value)),
        }
    }
    set(SANDBOXED, OsString::from("1"));
    if let Some(session) = &call.session {
        set(SESSION, OsString::from(session.as_str()));
    }
    built
}
