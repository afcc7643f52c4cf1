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
use stockade_linux::{Spec, Stdin};

use super::git::GitSettings;
use super::held::Held;
use super::machine::probe;
use super::scratch::{Room, Scratch};
use super::spec::{environment, not_started, rlimits, signal_scope};
use super::subject::Subject;
use crate::bounded;
use crate::confine::{Confinement, Files, Network, Oci, Watched};
use crate::hooks::{Ended, Fault, Ran, Runner};
use crate::inspect::Seen;
use crate::limits::{ByteCount, LimitHit, Limits};
use crate::outcome::{Exit, Failure, Outcome};
use crate::policy::hook::HookCommand;
use crate::policy::{Policy, Variable};
use crate::tier::{Tier, process};

/// What is read of each stream of a hook.
const OUTPUT_MAX: ByteCount = ByteCount::mib(1);

/// Runs hooks for one project.
#[derive(Debug)]
pub(crate) struct HookRunner {
    root: PathBuf,
    search_path: Vec<PathBuf>,
    /// The files of hooks as they were when the policy was read.
    files: Seen,
}

impl HookRunner {
    /// For the hooks of a policy. Their files are looked at now: if one of them changes, its hook
    /// fails, for what it would run then is not what a person put there.
    pub(crate) fn new(root: &Path, policy: &Policy) -> Self {
        let paths = policy.hooks.iter().flat_map(|hook| hook.command.files(root));
        Self {
            root: root.to_owned(),
            search_path: policy.settings.search_path.clone(),
            files: Seen::of(paths.collect()),
        }
    }

    /// That the files of a command are as they were.
    fn check(&self, command: &HookCommand) -> Result<(), Fault> {
        let own = command.files(&self.root);
        match self.files.changed(|path| own.iter().any(|file| file == path)) {
            Some(path) => Err(Fault::Changed(format!("{path:?}"))),
            None => Ok(()),
        }
    }

    fn held(&self, command: &HookCommand, stdin: Vec<u8>, wall: Duration) -> Result<Held, Failure> {
        let words = command.words();
        let name = words.first().map(OsString::as_os_str).unwrap_or_default();
        let (program, path) = self.open(name)?;
        let confinement = self.confinement(command, wall);
        let description = process::describe(&confinement, probe());
        let scratch =
            Scratch::make(Room::Much, None).map_err(|error| super::scratch::unscratched(&error))?;
        let own_folder = scratch.path().as_os_str();
        let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let cwd = rustix::fs::openat(CWD, &self.root, folder, Mode::empty())
            .map_err(|errno| Failure::new("open the project", errno.to_string()))?;
        let spec = Spec {
            script: is_script(&program).then(|| c_string(path.as_os_str())).transpose()?,
            program,
            argv: words.iter().map(|word| c_string(word)).collect::<Result<_, _>>()?,
            env: environment(&confinement, own_folder, own_folder, &GitSettings::default())?,
            cwd,
            stdin: Stdin::Piped,
            rlimits: rlimits(&confinement)?,
            processes_max: confinement.limits.processes,
            signal_scope: signal_scope(&description.steps)?,
        };
        let dies_at_once = spec.signal_scope.is_some();
        let started = Instant::now();
        let running = stockade_linux::start(spec).map_err(not_started)?;
        Ok(Held {
            subject: Subject::from(running),
            scratch: Some(scratch),
            started,
            stdin,
            confinement,
            tier: Tier::Process,
            enforcement: description.enforcement,
            covered: Vec::new(),
            since: None,
            absent: Vec::new(),
            disk: None,
            dies_at_once,
            eye: None,
        })
    }

    /// The program of this name: by its path, or in the folders of the search path.
    fn open(&self, name: &OsStr) -> Result<(OwnedFd, PathBuf), Failure> {
        let missing = |why: &str| {
            let mut failure = Failure::new("find the program", format!("{name:?}: {why}"));
            failure.no_such_program = true;
            failure
        };
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
            files: Files {
                root: self.root.clone(),
                write: Vec::new(),
                read: Vec::new(),
                toolchains: Vec::new(),
                hide: Vec::new(),
                protect: Vec::new(),
                untrusted: Vec::new(),
                watched: Watched::Nothing,
                sought: Arc::default(),
                unkept: Arc::default(),
                own: Arc::default(),
            },
            network: Network::Host,
            oci: Oci::default(),
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
    fn run(&self, command: &HookCommand, stdin: Vec<u8>, wall: Duration) -> Result<Ran, Fault> {
        self.check(command)?;
        let held = self.held(command, stdin, wall);
        let held = held.map_err(|failure| Fault::NotStarted(failure.message))?;
        Ok(ran(held.wait(), wall))
    }
}

fn ran(outcome: Outcome, wall: Duration) -> Ran {
    let ended = match (outcome.limit, outcome.exit) {
        (Some(LimitHit::Wall), _) => Ended::TimedOut(wall),
        (Some(limit), _) => Ended::Limit(limit),
        (None, Exit::Code(code)) => Ended::Code(code),
        (None, Exit::Signal(signal)) => Ended::Signal(signal),
        (None, Exit::Unknown) => Ended::Lost,
    };
    let is_cut = outcome.stdout.dropped > 0 || outcome.stderr.dropped > 0;
    Ran { ended, stdout: outcome.stdout.bytes, stderr: outcome.stderr.bytes, is_cut }
}

fn is_executable(handle: &OwnedFd, path: &Path) -> bool {
    let stat = rustix::fs::fstat(handle.as_fd());
    let is_file = |mode| FileType::from_raw_mode(mode) == FileType::RegularFile;
    stat.is_ok_and(|stat| is_file(stat.st_mode))
        && rustix::fs::accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}

fn is_script(handle: &OwnedFd) -> bool {
    bounded::read_head(handle.as_fd(), 2).is_ok_and(|start| start == *b"#!")
}

fn c_string(text: &OsStr) -> Result<CString, Failure> {
    CString::new(text.as_bytes())
        .map_err(|_nul| Failure::new("start the program", "its words hold a NUL byte"))
}
