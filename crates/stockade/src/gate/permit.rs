//! Proof that the gate let one call through, and what it let through.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use super::file::FileWork;
use crate::call::{Argv, CallId, Code};
use crate::confine::Confinement;
use crate::inspect::Program;
use crate::journal::EntryId;
use crate::outcome::Failure;
use crate::policy::{Decision, Ruling};
use crate::registry::Closure;
use crate::tier::Tier;

/// Proof that the gate allowed one call and wrote it into the journal, good for one run.
///
/// It has no public constructor and is neither `Clone` nor deserialisable, so holding one means
/// that [`Gate::judge`](super::Gate::judge) let this call through. It holds handles and not
/// names: what was judged is what runs.
///
/// A permit comes from a verdict alone:
///
/// ```
/// use stockade::gate::{Permit, Verdict};
/// fn from_the_gate(verdict: Verdict) -> Option<Box<Permit>> {
///     match verdict {
///         Verdict::Allowed(permit) => Some(permit),
///         Verdict::Ask(_) | Verdict::Refused(_) | Verdict::Impossible(_) => None,
///     }
/// }
/// ```
///
/// ```compile_fail,E0451
/// use stockade::gate::{Permit, Verdict};
/// fn from_the_gate(verdict: Verdict) -> Option<Box<Permit>> {
///     match verdict {
///         Verdict::Allowed(permit) => Some(Box::new(Permit { ..*permit })),
///         Verdict::Ask(_) | Verdict::Refused(_) | Verdict::Impossible(_) => None,
///     }
/// }
/// ```
///
/// and cannot be had twice:
///
/// ```compile_fail,E0599
/// use stockade::gate::{Permit, Verdict};
/// fn from_the_gate(verdict: Verdict) -> Option<Box<Permit>> {
///     match verdict {
///         Verdict::Allowed(permit) => Some(permit.clone()),
///         Verdict::Ask(_) | Verdict::Refused(_) | Verdict::Impossible(_) => None,
///     }
/// }
/// ```
///
/// An entry of the journal, which every permit carries, is made by the journal alone:
///
/// ```
/// use stockade::journal::{EntryId, Journal, JournalError, record::Event};
/// fn recorded(journal: &Journal, event: &Event) -> Result<EntryId, JournalError> {
///     journal.append(event)
/// }
/// ```
///
/// ```compile_fail,E0423
/// use stockade::journal::{EntryId, Journal, JournalError, record::Event};
/// fn recorded(journal: &Journal, event: &Event) -> Result<EntryId, JournalError> {
///     Ok(EntryId(7))
/// }
/// ```
#[derive(Debug)]
#[must_use = "a permit that is not planned runs nothing"]
pub struct Permit {
    prepared: Prepared<Work>,
    /// Whether there would have been a question without the box.
    spared: bool,
}

/// Everything in a permit, for the plan that consumes it.
#[derive(Debug)]
pub(crate) struct Prepared<W = Cleared> {
    pub(crate) cleared: W,
    pub(crate) confinement: Confinement,
    pub(crate) tier: Tier,
    pub(crate) entry: EntryId,
    pub(crate) ruling: Ruling,
    /// How much of the call's time inspection has used up.
    pub(crate) spent: Duration,
}

/// What is to be done.
#[derive(Debug)]
pub(crate) enum Work {
    /// A program runs.
    Program(Box<Cleared>),
    /// Stockade itself reads or writes files.
    Files(Box<FileWork>),
    /// A closure of the host runs.
    Inline(Box<InlineWork>),
}

/// A closure and what it is called with.
#[derive(Debug)]
pub(crate) struct InlineWork {
    pub(crate) call: CallId,
    pub(crate) closure: Closure,
    pub(crate) input: Map<String, Value>,
    pub(crate) cwd_path: PathBuf,
}

impl Work {
    /// The call it is for.
    fn call(&self) -> &CallId {
        match self {
            Self::Program(cleared) => &cleared.call,
            Self::Files(files) => &files.call,
            Self::Inline(inline) => &inline.call,
        }
    }

    /// The folder of the call, if it is known before the run.
    pub(super) fn cwd_path(&self) -> Option<&Path> {
        match self {
            Self::Program(cleared) => cleared.folder.path(),
            Self::Files(files) => Some(&files.cwd_path),
            Self::Inline(inline) => Some(&inline.cwd_path),
        }
    }

    /// Where it is done: programs in the policy's tier, the rest right here.
    pub(super) fn tier(&self, of_programs: Tier) -> Tier {
        match self {
            Self::Program(cleared) => cleared.tier.unwrap_or(of_programs),
            Self::Files(_) | Self::Inline(_) => Tier::Inline,
        }
    }
}

/// What would run, on handles.
#[derive(Debug)]
pub(crate) struct Cleared {
    pub(crate) call: CallId,
    pub(crate) argv: Argv,
    pub(crate) stdin: StandardInput,
    /// The program; none if it is only in the image.
    pub(crate) program: Option<Opened>,
    pub(crate) folder: Folder,
    /// The tier that its tool declares; the policy's if it declares none.
    pub(crate) tier: Option<Tier>,
}

/// A program of this machine.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) handle: OwnedFd,
    /// For a script, the path by which its interpreter has to find it.
    pub(crate) script: Option<CString>,
    /// Its real path, by which a box shows it.
    pub(crate) path: PathBuf,
    /// The path at which it was found, which may be a link.
    pub(crate) found_at: PathBuf,
}

impl Opened {
    pub(crate) fn try_clone(&self) -> std::io::Result<Self> {
        let handle = self.handle.try_clone()?;
        let (script, path, found_at) =
            (self.script.clone(), self.path.clone(), self.found_at.clone());
        Ok(Self { handle, script, path, found_at })
    }

    /// A program that was found, by its handle.
    pub(crate) fn of(handle: OwnedFd, program: &Program) -> Self {
        let script = || CString::new(program.found_at.as_os_str().as_bytes()).ok();
        Self {
            handle,
            script: program.is_script.then(script).flatten(),
            path: program.real.clone(),
            found_at: program.found_at.clone(),
        }
    }
}

impl Cleared {
    /// The same once more, for another attempt.
    fn try_clone(&self) -> std::io::Result<Self> {
        let folder = match &self.folder {
            Folder::Opened { handle, path } => {
                Folder::Opened { handle: handle.try_clone()?, path: path.clone() }
            }
            Folder::Scratch => Folder::Scratch,
        };
        let stdin = match &self.stdin {
            StandardInput::Piped(bytes) => StandardInput::Piped(bytes.clone()),
            StandardInput::Sealed(code) => StandardInput::Sealed(code.clone()),
        };
        Ok(Self {
            call: self.call.clone(),
            argv: self.argv.clone(),
            stdin,
            program: self.program.as_ref().map(Opened::try_clone).transpose()?,
            folder,
            tier: self.tier,
        })
    }

    /// The program, for a tier that runs what this machine has.
    pub(crate) fn opened(&self) -> Result<&Opened, Failure> {
        self.program.as_ref().ok_or_else(|| self.not_here())
    }

    fn not_here(&self) -> Failure {
        let program = self.argv.program();
        Failure::new("find the program", format!("{program:?} is not on this machine"))
    }
}

/// What a program finds on standard input.
#[derive(Debug)]
pub(crate) enum StandardInput {
    /// These bytes, through a pipe; an end at once if there are none.
    Piped(Vec<u8>),
    /// The source, in a memory file that nobody can change.
    Sealed(Code),
}

impl StandardInput {
    /// The bytes, for a box that takes them through a pipe whatever they are.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Piped(bytes) => bytes,
            Self::Sealed(code) => &code.source,
        }
    }

    /// The same, taken out.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Piped(bytes) => bytes,
            Self::Sealed(code) => code.source,
        }
    }
}

/// Where a program starts.
#[derive(Debug)]
pub(crate) enum Folder {
    /// In this folder; a box shows it by its real path.
    Opened { handle: OwnedFd, path: PathBuf },
    /// In its scratch folder, which is made for the run.
    Scratch,
}

impl Folder {
    /// The real path, if it is known before the run.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Opened { path, .. } => Some(path),
            Self::Scratch => None,
        }
    }
}

impl Permit {
    /// Minted by the gate alone, after the verdict is in the journal.
    pub(super) fn new(
        cleared: Work,
        confinement: Confinement,
        tier: Tier,
        entry: EntryId,
        ruling: Ruling,
    ) -> Self {
        let spent = Duration::ZERO;
        let prepared = Prepared { cleared, confinement, tier, entry, ruling, spent };
        Self { prepared, spared: false }
    }

    /// The same permit, for a call that the box spared a question.
    pub(super) fn with_spared(mut self, spared: bool) -> Self {
        self.spared = spared;
        self
    }

    /// The same permit, for a call whose inspection took so long.
    pub(super) fn with_spent(mut self, spent: Duration) -> Self {
        self.prepared.spent = spent;
        self
    }

    /// The same permit, after a yes.
    pub(super) fn allowed(mut self: Box<Self>) -> Box<Self> {
        self.prepared.ruling.decision = Decision::Allow;
        self
    }

    /// Whether there would have been a question without the box.
    pub fn is_spared(&self) -> bool {
        self.spared
    }

    /// The journal's entry that allows the call.
    pub fn entry(&self) -> EntryId {
        self.prepared.entry
    }

    /// On what grounds it was allowed.
    pub fn ruling(&self) -> &Ruling {
        &self.prepared.ruling
    }

    /// The call it is for.
    pub fn call(&self) -> &CallId {
        self.prepared.cleared.call()
    }

    /// A permit for another attempt at the same call, for tools that may run twice; none for work
    /// that is no program.
    pub(crate) fn for_another_attempt(&self) -> std::io::Result<Option<Self>> {
        let Work::Program(cleared) = &self.prepared.cleared else { return Ok(None) };
        let cleared = Work::Program(Box::new(cleared.try_clone()?));
        let Prepared { confinement, tier, entry, ruling, .. } = &self.prepared;
        let (confinement, ruling) = (confinement.clone(), ruling.clone());
        let (tier, entry, spent) = (*tier, *entry, Duration::ZERO);
        let prepared = Prepared { cleared, confinement, tier, entry, ruling, spent };
        Ok(Some(Self { prepared, spared: self.spared }))
    }

    /// Spends the permit.
    pub(crate) fn spend(self) -> Prepared<Work> {
        self.prepared
    }
}
