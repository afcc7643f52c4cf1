//! What is started, written down for the shim: the same for every tier, but for a few things.

use std::ffi::{CString, OsStr};
use std::io::{Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, MemfdFlags, Mode, OFlags, SealFlags};
use stockade_sandbox::{Cgroup, Controller, Rlimits, Spec, StartError, Stdin};

use super::git::GitSettings;
use super::remedy;
use super::setup::Setup;
use super::watch::Input;
use crate::gate::{ProgramWork, StandardInput, StartFolder};
use crate::guarantee::Guarantee;
use crate::outcome::{Failure, FailureKind, chain};
use crate::plan::ops::Rlimit;

/// What a tier adds to a call that was cleared.
pub(super) struct TierAdditions {
    pub(super) env: Vec<CString>,
    pub(super) rlimits: Rlimits,
    pub(super) processes_max: Option<u32>,
    pub(super) signal_scope: Option<OwnedFd>,
    /// The scratch folder on this machine; a box has its own, and takes no folder from outside.
    pub(super) scratch: PathBuf,
}

/// Everything about one run, but for what is written to its standard input.
pub(super) fn spec(cleared: &ProgramWork, added: TierAdditions) -> Result<Spec, Failure> {
    let program = cleared.opened()?;
    let stdin = match (&cleared.stdin, cleared.terminal) {
        (StandardInput::Piped(_) | StandardInput::Open(_), Some(size)) => Stdin::Terminal(size),
        (StandardInput::Piped(bytes), None) if bytes.is_empty() => Stdin::Empty,
        (StandardInput::Piped(_) | StandardInput::Open(_), None) => Stdin::Piped,
        (StandardInput::Sealed(code), _) => Stdin::Given(sealed(&code.source)?),
    };
    let again = |handle: &OwnedFd| {
        let fail =
            |error: std::io::Error| Failure::new(FailureKind::SendProgram, error.to_string());
        handle.try_clone().map_err(fail)
    };
    let cwd = match &cleared.folder {
        StartFolder::Open { handle, .. } => again(handle)?,
        StartFolder::Scratch => opened(&added.scratch)?,
    };
    Ok(Spec {
        program: again(&program.handle)?,
        script: program.script.clone(),
        argv: cleared.argv.to_c_strings(),
        env: added.env,
        cwd,
        stdin,
        merges_output: cleared.merges_output,
        rlimits: added.rlimits,
        processes_max: added.processes_max,
        signal_scope: added.signal_scope,
    })
}

/// What is written to the standard input of a run.
pub(super) fn input(cleared: ProgramWork) -> Input {
    match cleared.stdin {
        StandardInput::Piped(bytes) => Input { bytes, is_open: false },
        StandardInput::Open(bytes) => Input { bytes, is_open: true },
        StandardInput::Sealed(_) => Input::default(),
    }
}

/// The same for a sandbox that takes source through a pipe, too.
pub(super) fn piped_input(cleared: ProgramWork) -> Input {
    match cleared.stdin {
        StandardInput::Sealed(code) => Input { bytes: code.source, is_open: false },
        StandardInput::Piped(_) | StandardInput::Open(_) => input(cleared),
    }
}

/// A memory file with these bytes, which nobody can change from here on.
pub(super) fn sealed(bytes: &[u8]) -> Result<OwnedFd, Failure> {
    let fail = |error: std::io::Error| Failure::new(FailureKind::SendSource, error.to_string());
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = rustix::fs::memfd_create("source", flags).map_err(|errno| fail(errno.into()))?;
    let mut file = std::fs::File::from(file);
    file.write_all(bytes).and_then(|()| file.rewind()).map_err(fail)?;
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    rustix::fs::fcntl_add_seals(&file, seals).map_err(|errno| fail(errno.into()))?;
    Ok(OwnedFd::from(file))
}

fn opened(folder: &Path) -> Result<OwnedFd, Failure> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, folder, flags, Mode::empty())
        .map_err(|errno| Failure::new(FailureKind::OpenScratch, errno.to_string()))
}

/// What the plan adds to a call: in a private directory of this machine, or with directories of the
/// sandbox's own.
pub(super) fn added(
    setup: &Setup,
    scratch: Option<&Path>,
    git: &GitSettings,
    cgroup: Option<&Cgroup>,
) -> Result<TierAdditions, Failure> {
    Ok(TierAdditions {
        env: environment(setup, scratch, git)?,
        rlimits: rlimits(&setup.rlimits, cgroup)?,
        processes_max: setup.limits.processes,
        signal_scope: if setup.signal_scope { signal_scope()? } else { None },
        scratch: scratch.unwrap_or(Path::new("/")).to_owned(),
    })
}

/// The scope that signals cannot leave, if the kernel has one.
fn signal_scope() -> Result<Option<OwnedFd>, Failure> {
    stockade_sandbox::signal_scope().map_err(|error| {
        Failure::new(FailureKind::ScopeSignals, error.to_string())
            .with_guarantee(Guarantee::Processes)
    })
}

/// The variables of the run, with its own folder as `HOME` and `TMPDIR` unless they are listed, and
/// with settings for git.
pub(super) fn environment(
    setup: &Setup,
    scratch: Option<&Path>,
    git: &GitSettings,
) -> Result<Vec<CString>, Failure> {
    let Some(planned) = &setup.environment else { return Ok(Vec::new()) };
    let own = match (planned.home, scratch) {
        (Some([home, temporary]), _) => Some([OsStr::new(home), OsStr::new(temporary)]),
        (None, scratch) => scratch.map(|scratch| [scratch.as_os_str(); 2]),
    };
    let is_listed = |name: &str| planned.variables.iter().any(|(known, _)| known == name);
    let own = ["HOME", "TMPDIR"].into_iter().zip(own.into_iter().flatten());
    let own = own.filter(|(name, _)| !is_listed(name));
    let mut variables: Vec<_> = own.map(|(name, value)| (name.into(), value.to_owned())).collect();
    let mut listed = planned.variables.clone();
    git.add_to(&mut listed);
    variables.extend(listed);
    let mut pairs = Vec::new();
    for (name, value) in variables {
        let bytes = [name.as_bytes(), b"=", value.as_bytes()].concat();
        pairs.push(CString::new(bytes).map_err(|_nul| {
            let message = format!("the variable {name:?} holds a NUL byte");
            Failure::new(FailureKind::BuildEnvironment, message)
        })?);
    }
    Ok(pairs)
}

/// The limits of each process, as the kernel takes them.
fn rlimits(planned: &[Rlimit], cgroup: Option<&Cgroup>) -> Result<Rlimits, Failure> {
    let keeps = |controller| cgroup.is_some_and(|cgroup| cgroup.kept().contains(&controller));
    let mut limits = Rlimits::default();
    for limit in planned {
        match *limit {
            Rlimit::Cpu(seconds) => limits.cpu_seconds = Some(seconds),
            Rlimit::FileSize(bytes) => limits.file_size_bytes = Some(bytes),
            Rlimit::Core(bytes) => limits.core_bytes = Some(bytes),
            Rlimit::Tasks { most, above_cgroup } => {
                let above = if keeps(Controller::Tasks) { above_cgroup } else { 0 };
                limits.processes = Some(most.saturating_add(above));
            }
            Rlimit::MoreTasks(more) => limits.processes = Some(process_ceiling(more)?),
            Rlimit::OpenFiles(most) => limits.open_files = Some(most),
            Rlimit::AddressSpace { unless_cgroup: true, .. } if keeps(Controller::Memory) => {}
            Rlimit::AddressSpace { bytes, .. } => limits.address_space_bytes = Some(bytes),
        }
    }
    Ok(limits)
}

/// The kernel's limit counts all processes of the user on the machine, so it can only be a
/// ceiling: what is there now and the whole allowance on top. The shim's count is the exact one.
fn process_ceiling(most: u32) -> Result<u64, Failure> {
    let now = stockade_sandbox::tasks_on_machine().map_err(|error| {
        Failure::new(FailureKind::CountProcesses, error.to_string()).with_remedy("mount /proc")
    })?;
    Ok(now.saturating_add(u64::from(most)))
}

/// Why nothing was started.
pub(super) fn not_started(error: StartError) -> Failure {
    let message = format!("could not {}", chain(&error));
    Failure::new(FailureKind::Start(error), message)
        .with_remedy(remedy::for_step(error))
        .with_guarantee(remedy::guarantee_of(error.step))
}
