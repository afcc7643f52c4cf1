//! Runs the command of a hook in the `process` tier.
//!
//! It is the one thing that is started without a permit: it comes from the policy, which the host
//! trusts, and never from a call.

use std::ffi::{CString, OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags};
use stockade_sandbox::{Spec, Stdin};

use super::git::GitSettings;
use super::machine::probe;
use super::process;
use super::run::{Guards, SupervisedRun};
use super::setup::make_scratch;
use super::spec::{added, not_started};
use super::tree::ProgramTree;
use super::watch::Input;
use crate::bounded;
use crate::confine::{Confinement, Files, ListedChanges, Network, Oci, Ports};
use crate::hooks::{CommandExit, CommandOutput, HookFault, Runner};
use crate::inspect::FileSnapshot;
use crate::limits::{ByteCount, LimitHit, Limits};
use crate::outcome::{Exit, Failure, FailureKind, Outcome};
use crate::plan;
use crate::policy::hooks::HookCommand;
use crate::policy::{Policy, Variable};
use crate::tier::Tier;

/// What is read of each stream of a hook.
const OUTPUT_MAX: ByteCount = ByteCount::mib(1);

/// Runs hooks for one project.
#[derive(Debug)]
pub(crate) struct HookRunner {
    root: PathBuf,
    search_path: Vec<PathBuf>,
    /// The files of hooks as they were when the policy was read.
    files: FileSnapshot,
}

impl HookRunner {
    /// For the hooks of a policy. Their files are looked at now: if one of them changes, its hook
    /// fails, for what it would run then is not what a person put there.
    pub(crate) fn new(root: &Path, policy: &Policy) -> Self {
        let paths = policy.hooks.iter().flat_map(|hook| hook.command.files(root));
        Self {
            root: root.to_owned(),
            search_path: policy.settings.search_path.clone(),
            files: FileSnapshot::of(paths.collect()),
        }
    }

    /// That the files of a command are as they were.
    fn check(&self, command: &HookCommand) -> Result<(), HookFault> {
        let own = command.files(&self.root);
        match self.files.changed(|path| own.iter().any(|file| file == path)) {
            Some(path) => Err(HookFault::Changed(format!("{path:?}"))),
            None => Ok(()),
        }
    }

    fn start(
        &self,
        command: &HookCommand,
        stdin: Vec<u8>,
        wall: Duration,
    ) -> Result<SupervisedRun, Failure> {
        let words = command.words();
        let name = words.first().map(OsString::as_os_str).unwrap_or_default();
        let (program, path) = self.open(name)?;
        let confinement = self.confinement(command, wall);
        let description = plan::describe(Tier::Process, &confinement, probe())?;
        let setup = process::setup(&description.ops)?;
        let scratch = make_scratch(&setup)?;
        let added = added(&setup, Some(scratch.path()), &GitSettings::default(), None)?;
        let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let cwd = rustix::fs::openat(CWD, &self.root, folder, Mode::empty())
            .map_err(|errno| Failure::new(FailureKind::OpenProject, errno.to_string()))?;
        let spec = Spec {
            script: is_script(&program).then(|| c_string(path.as_os_str())).transpose()?,
            program,
            argv: words.iter().map(|word| c_string(word)).collect::<Result<_, _>>()?,
            env: added.env,
            cwd,
            stdin: Stdin::Piped,
            merges_output: false,
            rlimits: added.rlimits,
            processes_max: added.processes_max,
            signal_scope: added.signal_scope,
        };
        let is_scoped = spec.signal_scope.is_some();
        let started = Instant::now();
        let running = stockade_sandbox::start(spec).map_err(not_started)?;
        Ok(SupervisedRun {
            tree: ProgramTree::of_process(running, is_scoped),
            scratch: Some(scratch),
            started,
            input: Input { bytes: stdin, is_open: false },
            limits: setup.limits,
            hints: Vec::new(),
            tier: Tier::Process,
            enforcement: description.enforcement,
            guards: Guards::default(),
            before: None,
            joined: None,
            ports: None,
        })
    }

    /// The program of this name: by its path, or in the folders of the search path.
    fn open(&self, name: &OsStr) -> Result<(OwnedFd, PathBuf), Failure> {
        let missing =
            |why: &str| Failure::new(FailureKind::MissingProgram, format!("{name:?}: {why}"));
        let candidates: Vec<PathBuf> = if name.as_bytes().contains(&b'/') {
            vec![PathBuf::from(name)]
        } else {
            self.search_path.iter().map(|folder| folder.join(name)).collect()
        };
        let mut why = "there is no such program";
        for path in candidates {
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            let Ok(handle) = rustix::fs::openat(CWD, &path, flags, Mode::empty()) else { continue };
            if is_executable(&handle, &path) {
                return Ok((handle, path));
            }
            why = "it is no file that can be executed";
        }
        Err(missing(why))
    }

    fn confinement(&self, command: &HookCommand, wall: Duration) -> Confinement {
        let limits = Limits {
            wall,
            // It is a person's own program; some of them reserve more addresses than memory.
            memory: None,
            output: OUTPUT_MAX,
            flood: ByteCount::mib(16),
            ..Limits::EXEC
        };
        Confinement {
            limits,
            environment: self.environment(command),
            require: std::collections::BTreeMap::new(),
            shared_network: None,
            files: Files {
                root: self.root.clone(),
                write: Vec::new(),
                read: Vec::new(),
                toolchains: Vec::new(),
                agent: None,
                hide: Vec::new(),
                protect: Vec::new(),
                untrusted: Vec::new(),
                watched: ListedChanges::Nothing,
                sought: Arc::default(),
                unkept: Arc::default(),
                own: Arc::default(),
            },
            network: Network::Host,
            ports: Ports::default(),
            oci: Oci::default(),
            session: None,
            hints: Vec::new(),
        }
    }

    /// All that a hook has of the environment, besides `HOME` and `TMPDIR`.
    fn environment(&self, command: &HookCommand) -> Vec<(OsString, OsString)> {
        let folders: Vec<&OsStr> = self.search_path.iter().map(|path| path.as_os_str()).collect();
        let mut built = vec![
            (OsString::from("PATH"), folders.join(OsStr::new(":"))),
            (OsString::from("CLAUDE_PROJECT_DIR"), self.root.clone().into_os_string()),
            (OsString::from("STOCKADE_HOOK_DIR"), command.folder.clone().into_os_string()),
        ];
        let usual = ["LANG", "LC_ALL"].map(|name| Variable::Inherited(name.to_owned()));
        for variable in usual.iter().chain(&command.environment) {
            let value = match variable {
                Variable::Inherited(name) => std::env::var_os(name),
                Variable::Set(_, value) => Some(OsString::from(value)),
            };
            if let Some(value) = value {
                built.retain(|(name, _)| name != variable.name());
                built.push((OsString::from(variable.name()), value));
            }
        }
        built
    }
}

impl Runner for HookRunner {
    fn run(
        &self,
        command: &HookCommand,
        stdin: Vec<u8>,
        wall: Duration,
    ) -> Result<CommandOutput, HookFault> {
        self.check(command)?;
        let outcome = self.start(command, stdin, wall).and_then(|run| run.wait(None));
        let outcome = outcome
            .map(|finished| finished.outcome)
            .map_err(|failure| HookFault::NotStarted(failure.message().to_owned()))?;
        Ok(ran(outcome, wall))
    }
}

fn ran(outcome: Outcome, wall: Duration) -> CommandOutput {
    let ended = match (outcome.limit, outcome.exit) {
        (Some(LimitHit::Wall), _) => CommandExit::TimedOut(wall),
        (Some(limit), _) => CommandExit::Limit(limit),
        (None, Exit::Code(code)) => CommandExit::Code(code),
        (None, Exit::Signal(signal)) => CommandExit::Signal(signal),
        (None, Exit::Unknown) => CommandExit::Lost,
    };
    let is_cut = outcome.stdout.dropped > 0 || outcome.stderr.dropped > 0;
    CommandOutput { ended, stdout: outcome.stdout.bytes, stderr: outcome.stderr.bytes, is_cut }
}

fn is_executable(handle: &OwnedFd, path: &Path) -> bool {
    let stat = rustix::fs::fstat(handle.as_fd());
    let is_file = |mode| FileType::from_raw_mode(mode) == FileType::RegularFile;
    stat.is_ok_and(|stat| is_file(stat.st_mode))
        && rustix::fs::accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}

pub(super) fn is_script(handle: &OwnedFd) -> bool {
    bounded::read_head(handle.as_fd(), 2).is_ok_and(|start| start == *b"#!")
}

fn c_string(text: &OsStr) -> Result<CString, Failure> {
    CString::new(text.as_bytes())
        .map_err(|_nul| Failure::new(FailureKind::StartProgram, "its words hold a NUL byte"))
}
