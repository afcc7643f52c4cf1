//! Programs of the operator's that make boxes: clients of engines, and `runsc`. They are held like
//! every other tree, and locked by nothing, because they need what locks take away.

use std::ffi::{CString, OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags};
use stockade_linux::{Cgroup, Jail, Rlimits, Running, Spec, Stdin, start_jailed};

use super::spec::not_started;
use super::subject::Subject;
use super::watch::{End, Watch};
use crate::limits::{ByteCount, Limits};
use crate::outcome::Failure;

/// How much of an answer is read.
const ANSWER_BYTES_MAX: ByteCount = ByteCount::mib(8);
/// The variables that engines are found and configured by. None of them reaches a box.
const PASSED: [&str; 9] =
    ["PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "REGISTRY_AUTH_FILE", "SHELL", "TERM"];
const PASSED_PREFIXES: [&str; 5] = ["XDG_", "DBUS_", "DOCKER_", "CONTAINER", "RUNSC_"];

/// A program that makes boxes.
#[derive(Debug)]
pub(super) struct Client {
    path: PathBuf,
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
        paths.find(|path| is_program(path)).map(|path| Self { path })
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
        let running = self.start(args, None)?;
        let watched = Watch::new(Subject::from(running), &[], started, &limits).run(&[]);
        let code = match watched.end {
            End::Ended(ended) if watched.limit.is_none() => match ended.status {
                stockade_linux::Status::Code(code) => Some(code),
                stockade_linux::Status::Signal(_) => None,
            },
            End::Ended(_) | End::Lost => None,
        };
        Ok(Answer { code, stdout: watched.stdout.bytes, stderr: watched.stderr.bytes })
    }

    /// Starts it, held by a keeper and limited by a cgroup if there is one. Its standard streams are
    /// pipes and never a device of the host: runtimes give their streams to the user of the box.
    pub(super) fn start<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        cgroup: Option<Cgroup>,
    ) -> Result<Running, Failure> {
        let program = c_string(self.path.as_os_str())?;
        let words = std::iter::once(self.path.as_os_str()).chain(args.iter().map(AsRef::as_ref));
        let spec = Spec {
            program: self.open()?,
            script: None,
            argv: words.map(c_string).collect::<Result<_, _>>()?,
            env: environment(),
            cwd: folder()?,
            stdin: Stdin::Piped,
            rlimits: Rlimits::default(),
            processes_max: None,
            signal_scope: None,
        };
        let mut jail = Jail::unlocked(&program);
        jail.cgroup = cgroup;
        start_jailed(spec, jail).map_err(not_started)
    }

    fn open(&self) -> Result<OwnedFd, Failure> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        rustix::fs::openat(CWD, &self.path, flags, Mode::empty())
            .map_err(|errno| Failure::new("start the program", format!("{:?}: {errno}", self.path)))
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
    let quoted = |word: &S| {
        let text = word.as_ref().to_string_lossy().into_owned();
        shlex::try_quote(&text).map_or_else(|_nul| text.clone(), std::borrow::Cow::into_owned)
    };
    let words = std::iter::once(program.to_owned()).chain(args.iter().map(quoted));
    words.collect::<Vec<_>>().join(" ")
}

/// A text as the kernel takes it.
pub(super) fn c_string(text: &OsStr) -> Result<CString, Failure> {
    CString::new(text.as_bytes())
        .map_err(|_nul| Failure::new("start the program", "its words hold a NUL byte"))
}

fn environment() -> Vec<CString> {
    let is_passed = |name: &OsString| {
        let name = name.to_string_lossy();
        PASSED.contains(&name.as_ref()) || PASSED_PREFIXES.iter().any(|one| name.starts_with(one))
    };
    let pair = |(name, value): (OsString, OsString)| {
        let mut pair = name.into_vec();
        pair.push(b'=');
        pair.extend(value.into_vec());
        CString::new(pair).ok()
    };
    std::env::vars_os().filter(|(name, _)| is_passed(name)).filter_map(pair).collect()
}

fn folder() -> Result<OwnedFd, Failure> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, "/", flags, Mode::empty())
        .map_err(|errno| Failure::new("open the working folder", errno.to_string()))
}

fn is_program(path: &Path) -> bool {
    let is_file = rustix::fs::statat(CWD, path, AtFlags::empty())
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile);
    is_file && rustix::fs::accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}
