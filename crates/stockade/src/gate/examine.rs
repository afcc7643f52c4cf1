//! From a call to a ruling and, where it may run, to the handles of what would run.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::own::OwnFiles;
use super::ruled::{Doubt, Ruled};
use super::{Cleared, Folder, Opened, StandardInput, Work, act, complaint, file, toolchain};
use crate::call::{Argv, Tool, ToolCall};
use crate::confine::{Confinement, Files, OwnPath, Shown, own_within};
use crate::inspect::{
    Command, Finding, Found, Input, Inspection, Inspector, Origin, Program, Programs, Root, View,
    Weight, critical,
};
use crate::knowledge::{Knowledge, Word};
use crate::outcome::Failure;
use crate::policy::weigh::Hold;
use crate::policy::{Decision, Policy, Profile, Ruling, Variable};
use crate::registry::{Duplicate, Registered, Registry};

/// What the gate would say to a call, and why: `check` shows it. Nothing is written or run.
#[derive(Debug)]
pub struct Examination {
    /// The decision with its grounds.
    pub ruling: Ruling,
    /// Every fact found, in the order of the axes.
    pub findings: Vec<Finding>,
    /// Every command in the call, with what it does as far as that is known.
    pub commands: Vec<Found>,
    /// Whether the call can be shown to change nothing, so that there is nothing to ask about.
    pub changes_nothing: bool,
    /// What would be kept of the run.
    pub confinement: Confinement,
    /// Whether there would be a question if there were no box.
    pub spared: bool,
    /// Patterns for files that a search by the agent's `Grep` has to leave out: the call may be made only
    /// with them in its field `glob`, behind those that it has.
    pub exclude: Vec<String>,
}

/// An examination with what the verdict needs besides.
pub(super) struct Examined {
    pub(super) examination: Examination,
    /// What would run, or why it cannot: a failure where it is not a refusal.
    pub(super) cleared: Result<Work, Option<Failure>>,
    pub(super) words: Vec<OsString>,
    /// The commands that the journal shows: the call itself, or those of a line.
    pub(super) shown: Vec<Vec<OsString>>,
    /// The base name of a program that is there, which is no secret.
    pub(super) program: Option<String>,
    /// What a question would be about, where there is one.
    pub(super) question: Option<Doubt>,
}

/// Looks at calls by one policy, and leaves no trace.
#[derive(Debug)]
pub struct Examiner {
    root: Root,
    policy: Policy,
    toolchains: Vec<Shown>,
    /// The person's, by which `~` is judged.
    home: Option<PathBuf>,
    programs: Programs,
    registry: Registry,
    own: OwnFiles,
    /// Stockade's own places that a sandbox of this project would show.
    places: Arc<[OwnPath]>,
}

impl Examiner {
    /// For the calls of one project.
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

    /// The same, with one more file that no call may write.
    pub(super) fn with_own_file(mut self, file: &Path) -> Self {
        self.own.add(file);
        self
    }

    /// The same, with one more tool.
    pub fn with_tool(mut self, tool: Registered) -> Result<Self, Duplicate> {
        tool.own_files().for_each(|file| self.own.add(file));
        self.registry = self.registry.with(tool)?;
        Ok(self)
    }

    /// The tools that can be called besides ours.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The project root that it looks from.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The policy by which it decides.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The files of ours, which no call may write.
    pub(super) fn own_files(&self) -> &OwnFiles {
        &self.own
    }

    /// The home folder of the person.
    pub(super) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Looks at a call as [`Gate::judge`](super::Gate::judge) would.
    pub fn examine(&self, call: &ToolCall) -> Examination {
        match &call.tool {
            Tool::Unknown(foreign) if self.registry.get(&foreign.name).is_none() => {
                self.examined_foreign(call, foreign)
            }
            Tool::Exec(_)
            | Tool::Line(_)
            | Tool::Code(_)
            | Tool::File(_)
            | Tool::Unknown(_)
            | Tool::Malformed(_) => self.examined(call).examination,
        }
    }

    /// The same for the verdict: with the handles of what would run.
    pub(super) fn examined(&self, call: &ToolCall) -> Examined {
        if let (Tool::Line(line), None) = (&call.tool, &self.policy.settings.only) {
            return self.examined_line(call, &line.text);
        }
        if let Tool::Code(code) = &call.tool {
            return self.examined_code(call, code);
        }
        if let (Tool::Unknown(foreign), Some(tool)) = (&call.tool, self.registered(call)) {
            return self.examined_registered(call, foreign, tool);
        }
        if let Tool::File(file) = &call.tool {
            return self.examined_file(call, file);
        }
        let (argv, origin, view) = match self.prepare(call) {
            Ok(prepared) => prepared,
            Err(finding) => return self.unprepared(call, *finding),
        };
        let Inspection { mut commands, mut findings } = self.inspect(call, &argv, origin, &view);
        let found = |command: &Command<'_>| Found::of(command, view.cwd_path());
        let listed: Vec<Found> = commands.iter().map(found).collect();
        let ground = critical::Ground { view: &view, home: self.home() };
        findings.extend(listed.iter().flat_map(|found| ground.findings(found)));
        findings.extend(ground.together(&listed));
        let mut confinement = self.confinement(call);
        findings.extend(self.vanishing(&listed, &view, &confinement.files));
        findings.sort_by_key(|finding| finding.axis);
        let profile = self.policy.profile;
        let Ruled { mut ruling, spared, looks, question } =
            self.ruled(call, (&listed, &findings), &view, (&confinement.files, profile));
        if looks {
            confinement.files.deny_writes();
        }
        let program = if commands.is_empty() {
            None
        } else {
            let first = commands.swap_remove(0);
            Some(first.program.map(|program| (program, first.handle)))
        };
        drop(commands);
        let words = argv.words().to_vec();
        let name = match &program {
            Some(Ok(_)) => base_name(argv.program()),
            Some(Err(_)) | None => None,
        };
        let cleared = match program {
            _ if ruling.decision == Decision::Deny => Err(None),
            Some(Ok((program, Some(handle)))) => clear(call, argv, Some((handle, &program)), &view)
                .map(|cleared| Work::Program(Box::new(cleared)))
                .map_err(Some),
            Some(Ok((_, None)) | Err(_)) | None if self.policy.runs_image() => {
                clear(call, argv, None, &view)
                    .map(|cleared| Work::Program(Box::new(cleared)))
                    .map_err(Some)
            }
            Some(Ok((_, None)) | Err(_)) | None => {
                ruling = complaint::missing_ruling(&argv);
                Err(Some(toolchain::offered(complaint::missing_failure(&argv), argv.program())))
            }
        };
        let changes_nothing = self.changes_nothing(&listed, &findings, &view);
        let examination = Examination {
            ruling,
            findings,
            commands: listed,
            changes_nothing,
            confinement,
            spared,
            exclude: Vec::new(),
        };
        let shown = vec![words.clone()];
        Examined { examination, cleared, words, shown, program: name, question }
    }

    pub(super) fn unprepared(&self, call: &ToolCall, finding: Finding) -> Examined {
        let findings = vec![finding];
        let ruling = self.policy.found(&findings, self.policy.profile);
        let confinement = self.confinement(call);
        let (commands, changes_nothing, spared) = (Vec::new(), false, false);
        let examination = Examination {
            ruling,
            findings,
            commands,
            changes_nothing,
            confinement,
            spared,
            exclude: Vec::new(),
        };
        let words = raw_words(&call.tool);
        let shown = vec![words.clone()];
        Examined { examination, cleared: Err(None), words, shown, program: None, question: None }
    }

    /// Checks the form of a call and opens the folder in which it would run.
    fn prepare(&self, call: &ToolCall) -> Result<(Argv, Origin, View<'_>), Box<Finding>> {
        let origin = match &call.tool {
            Tool::Exec(_) => Origin::Argv,
            Tool::Line(_) | Tool::File(_) => Origin::Line,
            Tool::Unknown(foreign) => {
                return Err(complaint::unknown_tool(&foreign.name, &self.registry).into());
            }
            Tool::Malformed(why) => return Err(complaint::unreadable(why).into()),
            // It has no words of its own.
            Tool::Code(_) => return Err(complaint::no_text().into()),
        };
        let words = match &call.tool {
            Tool::Line(line) => {
                split(&line.text).ok_or_else(|| complaint::unparseable(&line.text))?
            }
            Tool::Exec(_)
            | Tool::Code(_)
            | Tool::File(_)
            | Tool::Unknown(_)
            | Tool::Malformed(_) => raw_words(&call.tool),
        };
        let argv = Argv::parse(words).map_err(|bad| complaint::malformed(&bad))?;
        let view = View::open(&self.root, call.cwd.as_deref())
            .map_err(|error| complaint::bad_cwd(&error))?;
        Ok((argv, origin, view))
    }

    fn inspect<'a>(
        &self,
        call: &ToolCall,
        argv: &'a Argv,
        origin: Origin,
        view: &View<'_>,
    ) -> Inspection<'a> {
        let input = match &call.tool {
            Tool::Exec(exec) if !exec.stdin.is_empty() => Input::Given,
            Tool::Exec(_)
            | Tool::Line(_)
            | Tool::Code(_)
            | Tool::File(_)
            | Tool::Unknown(_)
            | Tool::Malformed(_) => Input::Nothing,
        };
        self.inspector().inspect(Word::list(argv.words()), origin, input, view)
    }

    /// Whether every command reads and prints and does no more. Those that may run what the
    /// configuration of the project names do so in a box that contains it, or where it names none.
    pub(super) fn changes_nothing(
        &self,
        commands: &[Found],
        findings: &[Finding],
        view: &View<'_>,
    ) -> bool {
        let stops = |finding: &Finding| {
            let weighs = matches!(finding.weight, Weight::Always | Weight::Ask | Weight::Ruled);
            weighs || finding.is_dynamic()
        };
        let is_boxed = self.policy.hold(Profile::Contained, false) == Hold::Box;
        let reads = |found: &Found| act::reads(found, view, is_boxed);
        !commands.is_empty() && !findings.iter().any(stops) && commands.iter().all(reads)
    }

    /// What calls are held against.
    pub(super) fn inspector(&self) -> Inspector<'_> {
        Inspector {
            settings: &self.policy.settings,
            programs: &self.programs,
            knowledge: Knowledge::shipped(),
        }
    }

    /// What a run of this call may touch and use; the caller can ask for less time only.
    pub(super) fn confinement(&self, call: &ToolCall) -> Confinement {
        let mut limits = self.policy.limits.clone();
        limits.wall = call.wall.map_or(limits.wall, |wall| wall.min(limits.wall));
        Confinement {
            limits,
            environment: environment(&self.policy),
            require: self.policy.required(),
            files: self.files(),
            network: self.policy.network,
            oci: self.policy.oci.clone(),
            hints: Vec::new(),
        }
    }

    /// The policy's paths as they are here: beneath the root unless they are absolute.
    fn files(&self) -> Files {
        let root = self.root.path();
        let placed = |paths: &[PathBuf]| {
            let place = |path: &PathBuf| {
                if path == Path::new(".") { root.to_owned() } else { root.join(path) }
            };
            paths.iter().map(place).collect()
        };
        let policy = &self.policy.files;
        let mut files = Files {
            root: root.to_owned(),
            write: placed(&policy.write),
            read: placed(&policy.read),
            toolchains: self.toolchains.clone(),
            hide: placed(&policy.hide),
            protect: placed(&policy.protect),
            untrusted: placed(&policy.untrusted),
            watched: policy.watched,
            sought: Arc::clone(&policy.sought),
            unkept: Arc::clone(&policy.unkept),
            own: Arc::clone(&self.places),
        };
        files.cover_own();
        self.own.protect(&mut files);
        files
    }
}

/// Gathers the handles of what would run.
pub(super) fn clear(
    call: &ToolCall,
    argv: Argv,
    program: Option<(OwnedFd, &Program)>,
    view: &View<'_>,
) -> Result<Cleared, Failure> {
    let stdin = match &call.tool {
        Tool::Exec(exec) => exec.stdin.clone(),
        Tool::Line(_) | Tool::Code(_) | Tool::File(_) | Tool::Unknown(_) | Tool::Malformed(_) => {
            Vec::new()
        }
    };
    let program = program.map(|(handle, program)| Opened::of(handle, program));
    let opened = view.cwd().try_clone_to_owned();
    let cwd = opened.map_err(|error| Failure::new("open the working folder", error.to_string()))?;
    Ok(Cleared {
        call: call.id.clone(),
        argv,
        stdin: StandardInput::Piped(stdin),
        program,
        folder: Folder::Opened { handle: cwd, path: view.cwd_path().to_owned() },
        tier: None,
    })
}

/// The variables of the run: the search path and what the policy lists.
fn environment(policy: &Policy) -> Vec<(OsString, OsString)> {
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
    built
}

fn raw_words(tool: &Tool) -> Vec<OsString> {
    match tool {
        Tool::Exec(exec) => exec.argv.clone(),
        Tool::Line(line) => split(&line.text).unwrap_or_default(),
        Tool::File(file) => file::words(file),
        Tool::Code(_) | Tool::Unknown(_) | Tool::Malformed(_) => Vec::new(),
    }
}

/// Splits a line once, by the rules of quoting that a shell has, and by none of its others.
fn split(line: &OsStr) -> Option<Vec<OsString>> {
    let words = shlex::bytes::split(line.as_bytes())?;
    Some(words.into_iter().map(OsString::from_vec).collect())
}

fn base_name(path: &OsStr) -> Option<String> {
    Path::new(path).file_name()?.to_str().map(str::to_owned)
}
