//! What is started, written down for the keeper: the same for every tier, but for a few things.

use std::ffi::{CString, OsStr};
use std::io::{Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, MemfdFlags, Mode, OFlags, SealFlags};
use stockade_linux::{Errno, Rlimits, Spec, StartError, Stdin};

use super::git::GitSettings;
use super::remedy;
use crate::confine::Confinement;
use crate::gate::{Cleared, Folder, StandardInput};
use crate::guarantee::Guarantee;
use crate::limits::ByteCount;
use crate::outcome::{Failure, chain};
use crate::tier::Step;
use crate::tier::process::{CORE_BYTES, cpu_seconds};

/// What a tier adds to a call that was cleared.
pub(super) struct Added {
    pub(super) env: Vec<CString>,
    pub(super) rlimits: Rlimits,
    pub(super) processes_max: Option<u32>,
    pub(super) signal_scope: Option<OwnedFd>,
    /// The scratch folder on this machine; a box has its own, and takes no folder from outside.
    pub(super) scratch: PathBuf,
}

/// Everything about one run, but for what is written to its standard input.
pub(super) fn spec(cleared: &Cleared, added: Added) -> Result<Spec, Failure> {
    let program = cleared.opened()?;
    let stdin = match &cleared.stdin {
        StandardInput::Piped(bytes) if bytes.is_empty() => Stdin::Empty,
        StandardInput::Piped(_) => Stdin::Piped,
        StandardInput::Sealed(code) => Stdin::Given(sealed(&code.source)?),
    };
    let again = |handle: &OwnedFd| {
        let fail = |error: std::io::Error| Failure::new("hand over the program", error.to_string());
        handle.try_clone().map_err(fail)
    };
    let cwd = match &cleared.folder {
        Folder::Opened { handle, .. } => again(handle)?,
        Folder::Scratch => opened(&added.scratch)?,
    };
    Ok(Spec {
        program: again(&program.handle)?,
        script: program.script.clone(),
        argv: cleared.argv.to_c_strings(),
        env: added.env,
        cwd,
        stdin,
        rlimits: added.rlimits,
        processes_max: added.processes_max,
        signal_scope: added.signal_scope,
    })
}

/// What is written to the standard input of a run.
pub(super) fn input(cleared: Cleared) -> Vec<u8> {
    match cleared.stdin {
        StandardInput::Piped(bytes) => bytes,
        StandardInput::Sealed(_) => Vec::new(),
    }
}

/// A memory file with these bytes, which nobody can change from here on.
pub(super) fn sealed(bytes: &[u8]) -> Result<OwnedFd, Failure> {
    let fail = |error: std::io::Error| Failure::new("hand over the source", error.to_string());
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
        .map_err(|errno| Failure::new("open the scratch folder", errno.to_string()))
}

/// The scope that signals cannot leave, if the plan has one.
pub(super) fn signal_scope(steps: &[Step]) -> Result<Option<OwnedFd>, Failure> {
    if !steps.contains(&Step::SignalScope) {
        return Ok(None);
    }
    stockade_linux::signal_scope().map_err(|error| {
        let mut failure = Failure::new("keep signals within the tree", error.to_string());
        failure.guarantee = Some(Guarantee::Processes.to_string());
        failure
    })
}

/// The variables of the run, with its own folder as `HOME` and `TMPDIR` unless they are listed, and
/// with settings for git.
pub(super) fn environment(
    confinement: &Confinement,
    home: &OsStr,
    temporary: &OsStr,
    git: &GitSettings,
) -> Result<Vec<CString>, Failure> {
    let own = [(OsStr::new("HOME"), home), (OsStr::new("TMPDIR"), temporary)];
    let mut listed = confinement.environment.clone();
    git.add_to(&mut listed);
    let is_listed = |name: &OsStr| confinement.environment.iter().any(|(known, _)| known == name);
    own.into_iter()
        .filter(|(name, _)| !is_listed(name))
        .chain(listed.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str())))
        .map(|(name, value)| {
            let bytes = [name.as_bytes(), b"=", value.as_bytes()].concat();
            CString::new(bytes).map_err(|_nul| {
                Failure::new(
                    "build the environment",
                    format!("the variable {name:?} holds a NUL byte"),
                )
            })
        })
        .collect()
}

/// The limits of each process, as the kernel takes them, without a namespace of its own.
pub(super) fn rlimits(confinement: &Confinement) -> Result<Rlimits, Failure> {
    let processes = confinement.limits.processes.map(process_ceiling).transpose()?;
    Ok(Rlimits { processes, ..rlimits_of_each(confinement) })
}

/// The limits of each process, but for their number.
pub(super) fn rlimits_of_each(confinement: &Confinement) -> Rlimits {
    let limits = &confinement.limits;
    Rlimits {
        cpu_seconds: limits.cpu.map(cpu_seconds),
        address_space_bytes: limits.memory.map(ByteCount::get),
        file_size_bytes: limits.file_size.map(ByteCount::get),
        processes: None,
        open_files: Some(limits.open_files),
        core_bytes: Some(CORE_BYTES),
        stack_bytes: None,
    }
}

/// The kernel's limit counts all processes of the user on the machine, so it can only be a
/// ceiling: what is there now and the whole allowance on top. The keeper's count is the exact one.
fn process_ceiling(most: u32) -> Result<u64, Failure> {
    let now = stockade_linux::tasks_on_machine().map_err(|error| {
        Failure::new("count the machine's processes", error.to_string()).remedy("mount /proc")
    })?;
    Ok(now.saturating_add(u64::from(most)))
}

/// What a machine may be short of, and have again.
const SHORT_OF: [Errno; 6] =
    [Errno::AGAIN, Errno::NOMEM, Errno::MFILE, Errno::NFILE, Errno::TXTBSY, Errno::BUSY];

/// Why nothing was started.
pub(super) fn not_started(error: StartError) -> Failure {
    let message = format!("could not {}", chain(&error));
    let mut failure = Failure::new("start the program", message).remedy(remedy::for_step(error));
    failure.guarantee = remedy::guarantee_of(error.step).map(|one| one.to_string());
    failure.transient = SHORT_OF.contains(&error.errno);
    failure
}
