//! Programs of the operator's that make boxes: clients of engines, and `runsc`. They are held like
//! every other tree, and locked by nothing, because they need what locks take away.

use std::ffi::{CString, OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags};
use stockade_sandbox::{Cgroup, Jail, Rlimits, Running, Spec, Stdin, start_jailed};

use super::hook::is_script;
use super::scratch::{EngineFolder, unscratched};
use super::spec::not_started;
use super::tree::ProgramTree;
use super::watch::{End, Input, WatchLoop};
use crate::confine::fixed_runtime_folder;
use crate::limits::{ByteCount, Limits};
use crate::outcome::{Failure, FailureKind};

/// How much of an answer is read.
const ANSWER_BYTES_MAX: ByteCount = ByteCount::mib(8);
/// The variables that engines are found and configured by. None of them reaches a box.
const PASSED: [&str; 8] =
    ["PATH", "HOME", "USER", "LOGNAME", "LANG", "REGISTRY_AUTH_FILE", "SHELL", "TERM"];
const PASSED_PREFIXES: [&str; 5] = ["XDG_", "DBUS_", "DOCKER_", "CONTAINER", "RUNSC_"];

/// A variable of a client.
pub(super) type Variable = (&'static str, OsString);

/// A program that makes boxes.
#[derive(Debug)]
pub(super) struct Client {
    path: PathBuf,
    /// Its variables, if nothing of what it does may stay on the machine.
    trial: Option<Vec<Variable>>,
}

/// What a client said.
#[derive(Debug)]
pub(super) struct Answer {
    /// Its exit status; none if it was killed or did not end in time.
    pub(super) code: Option<i32>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
}

impl Client {
    /// The program of this name, in the folders of our own search path.
    pub(super) fn find(name: &str) -> Option<Self> {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let mut paths = std::env::split_paths(&folders)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(name));
        paths.find(|path| is_program(path)).map(|path| Self { path, trial: None })
    }

    /// The same program, which keeps its files in this folder only and is configured as ever, but for
    /// these variables.
    pub(super) fn on_trial(&self, folder: &Path, more: Vec<Variable>) -> Self {
        let mut variables = of_trial(folder);
        variables.extend(more);
        Self { path: self.path.clone(), trial: Some(variables) }
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs it to its end and reads its answer. Whether it did as asked, its status says.
    pub(super) fn ask<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        patience: Duration,
    ) -> Result<Answer, Failure> {
        let limits = Limits {
            wall: patience,
            memory: None,
            cpu: None,
            output: ANSWER_BYTES_MAX,
            flood: ANSWER_BYTES_MAX,
            ..Limits::EXEC
        };
        let started = Instant::now();
        let mut tree = ProgramTree::of_process(self.start(args, None)?, false);
        let seen = WatchLoop::new(&mut *tree, Input::default(), started, &limits).run(&[]);
        let code = match seen.end {
            End::Ended(ended) if seen.limit.is_none() => match ended.status {
                stockade_sandbox::Status::Code(code) => Some(code),
                stockade_sandbox::Status::Signal(_) => None,
            },
            End::Ended(_) | End::Lost => None,
        };
        Ok(Answer { code, stdout: seen.stdout.bytes, stderr: seen.stderr.bytes })
    }

    /// Starts it, held by a shim and limited by a cgroup if there is one. Its standard streams are
    /// pipes and never a device of the host: runtimes give their streams to the user of the box.
    pub(super) fn start<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        cgroup: Option<Cgroup>,
    ) -> Result<Running, Failure> {
        let program = c_string(self.path.as_os_str())?;
        let words = std::iter::once(self.path.as_os_str()).chain(args.iter().map(AsRef::as_ref));
        let handle = self.open()?;
        let spec = Spec {
            // `docker` of podman-docker is one.
            script: is_script(&handle).then(|| program.clone()),
            program: handle,
            argv: words.map(c_string).collect::<Result<_, _>>()?,
            env: self.environment()?,
            cwd: folder()?,
            stdin: Stdin::Piped,
            merges_output: false,
            rlimits: Rlimits::default(),
            processes_max: None,
            signal_scope: None,
        };
        let mut jail = Jail::unlocked(&program);
        jail.cgroup = cgroup;
        start_jailed(spec, jail).map_err(not_started)
    }

    /// What is passed on, and folders that no sandbox shows.
    fn environment(&self) -> Result<Vec<CString>, Failure> {
        let mut own = match &self.trial {
            Some(variables) => variables.clone(),
            None => of_engines().map_err(|error| unscratched(&error))?,
        };
        if self.path.file_name().is_some_and(|name| name == "runsc") {
            // Its sandbox, which is another user, mounts a root of its own over this folder. Nothing
            // is written there, because nothing is started by `runsc do`.
            own.retain(|(name, _)| *name != "TMPDIR");
            own.push(("TMPDIR", "/tmp".into()));
        }
        let is_passed = |name: &OsStr| {
            let name = name.to_string_lossy();
            PASSED.contains(&name.as_ref())
                || PASSED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        };
        let is_own = |name: &OsStr| own.iter().any(|(known, _)| name == *known);
        let inherited = std::env::vars_os().filter(|(name, _)| is_passed(name) && !is_own(name));
        let added = own.iter().map(|(name, value)| (OsString::from(name), value.clone()));
        let pairs = inherited.chain(added).filter_map(|(name, value)| {
            let pair = [name.into_vec(), value.into_vec()].join(&b'=');
            CString::new(pair).ok()
        });
        Ok(pairs.collect())
    }

    fn open(&self) -> Result<OwnedFd, Failure> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        rustix::fs::openat(CWD, &self.path, flags, Mode::empty()).map_err(|errno| {
            Failure::new(FailureKind::StartProgram, format!("{:?}: {errno}", self.path))
        })
    }
}

impl Answer {
    /// Whether it did as asked.
    pub(super) fn is_good(&self) -> bool {
        self.code == Some(0)
    }

    /// What it printed, without the line's end.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim_end().to_owned()
    }

    /// The last thing that it complained about.
    pub(super) fn complaint(&self) -> String {
        complaint(&self.stderr)
    }
}

/// The last line of what a client complained about.
pub(super) fn complaint(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    last.trim().trim_start_matches("Error: ").chars().take(500).collect()
}

/// A command as a person would type it.
pub(super) fn typed<S: AsRef<OsStr>>(program: &str, args: &[S]) -> String {
    let args = args.iter().map(|arg| arg.as_ref().to_string_lossy());
    format!("{program} {}", crate::shell::quoted_line(args))
}

/// A text as the kernel takes it.
pub(super) fn c_string(text: &OsStr) -> Result<CString, Failure> {
    CString::new(text.as_bytes())
        .map_err(|_nul| Failure::new(FailureKind::StartProgram, "its words hold a NUL byte"))
}

/// The folders of clients. A sandbox that shows `TMPDIR`, or a folder that `XDG_RUNTIME_DIR` names, could
/// change what they keep there: a bundle of `runsc do`, or the state of a container, whose hooks run
/// outside of every sandbox.
fn of_engines() -> std::io::Result<Vec<Variable>> {
    let runtime = fixed_runtime_folder().map_or_else(|| EngineFolder::Runtime.make(), Ok)?;
    let temporary = EngineFolder::Temporary.make()?;
    Ok(vec![("TMPDIR", temporary.into()), ("XDG_RUNTIME_DIR", runtime.into())])
}

/// Folders of a trial, all in one that is removed. The configuration is read where it is.
fn of_trial(folder: &Path) -> Vec<Variable> {
    let mut all = vec![("XDG_CONFIG_HOME", config_home().into())];
    // Podman fails where there is no file in it, Docker finds its daemon there.
    let docker = named_or_in_home("DOCKER_CONFIG", ".docker");
    if docker.join("config.json").is_file() {
        all.push(("DOCKER_CONFIG", docker.into()));
    }
    let own =
        ["HOME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"];
    all.extend(own.map(|name| (name, folder.as_os_str().to_owned())));
    all
}

/// The folder of a user for configuration.
pub(super) fn config_home() -> PathBuf {
    named_or_in_home("XDG_CONFIG_HOME", ".config")
}

fn named_or_in_home(variable: &str, usual: &str) -> PathBuf {
    let in_home = || std::env::home_dir().unwrap_or_default().join(usual);
    std::env::var_os(variable).map_or_else(in_home, PathBuf::from)
}

fn folder() -> Result<OwnedFd, Failure> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, "/", flags, Mode::empty())
        .map_err(|errno| Failure::new(FailureKind::OpenWorkingFolder, errno.to_string()))
}

fn is_program(path: &Path) -> bool {
    let is_file = rustix::fs::statat(CWD, path, AtFlags::empty())
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile);
    is_file && rustix::fs::accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}
