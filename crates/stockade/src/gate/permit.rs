//! Proof that the gate allowed one call, with everything that the run needs.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use super::subject::file::FileWork;
use crate::call::{Argv, CallId, Code, SessionName, TerminalSize, ToolCall};
use crate::confine::Confinement;
use crate::inspect::Program;
use crate::journal::EntryId;
use crate::outcome::{Failure, FailureKind};
use crate::policy::tools::Attempts;
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
    prepared: PermitContents<Work>,
    /// Whether there would have been a question without the sandbox.
    spared: bool,
    retry: Option<Retry>,
}

/// A request for another attempt at a call whose tool may run more than once. It is not a permit:
/// the gate judges the call again and journals another verdict.
///
/// ```
/// use stockade::gate::{Gate, Permit, Retry, Verdict};
/// fn again(gate: &Gate, mut permit: Permit) -> Option<Verdict> {
///     let retry: Retry = permit.take_retry()?;
///     Some(gate.retry(retry))
/// }
/// ```
///
/// It is not a permit:
///
/// ```compile_fail,E0308
/// use stockade::gate::{Gate, Permit, Retry, Verdict};
/// fn again(gate: &Gate, mut permit: Permit) -> Option<Verdict> {
///     let retry: Permit = permit.take_retry()?;
///     Some(gate.retry(retry))
/// }
/// ```
///
/// and gives no more than one:
///
/// ```compile_fail,E0382
/// use stockade::gate::{Gate, Permit, Retry, Verdict};
/// fn again(gate: &Gate, mut permit: Permit) -> Option<[Verdict; 2]> {
///     let retry: Retry = permit.take_retry()?;
///     Some([gate.retry(retry), gate.retry(retry)])
/// }
/// ```
#[derive(Debug)]
pub struct Retry {
    pub(super) call: ToolCall,
    /// The ruling that allowed the attempt before.
    pub(super) ruling: Ruling,
    /// The number of the next attempt, from 2.
    pub(super) attempt: u32,
    pub(super) attempts: Attempts,
}

impl Retry {
    /// The pause before the next attempt.
    pub fn pause(&self) -> Duration {
        self.attempts.pause_after(self.attempt.saturating_sub(1))
    }
}

/// The content of a permit, for the plan that consumes it.
#[derive(Debug)]
pub(crate) struct PermitContents<W = ProgramWork> {
    pub(crate) cleared: W,
    pub(crate) confinement: Confinement,
    pub(crate) tier: Tier,
    pub(crate) entry: EntryId,
    pub(crate) ruling: Ruling,
    /// How much of the call's time inspection has used.
    pub(crate) spent: Duration,
}

/// What runs.
#[derive(Debug)]
pub(crate) enum Work {
    /// A program.
    Program(Box<ProgramWork>),
    /// File operations by Stockade itself.
    Files(Box<FileWork>),
    /// A closure of the host.
    Inline(Box<InlineWork>),
}

/// A closure and its input.
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

    /// The working directory of the call, if it is known before the run.
    pub(super) fn cwd_path(&self) -> Option<&Path> {
        match self {
            Self::Program(cleared) => cleared.folder.path(),
            Self::Files(files) => Some(&files.cwd_path),
            Self::Inline(inline) => Some(&inline.cwd_path),
        }
    }

    /// Where it runs: programs in the policy's tier, everything else in this process.
    pub(super) fn tier(&self, of_programs: Tier) -> Tier {
        match self {
            Self::Program(cleared) => cleared.tier.unwrap_or(of_programs),
            Self::Files(_) | Self::Inline(_) => Tier::Inline,
        }
    }
}

/// A program and its arguments, on handles.
#[derive(Debug)]
pub(crate) struct ProgramWork {
    pub(crate) call: CallId,
    pub(crate) argv: Argv,
    pub(crate) stdin: StandardInput,
    /// Whether standard output and standard error are one pipe.
    pub(crate) merges_output: bool,
    /// The size of the terminal that all streams are, if they are one.
    pub(crate) terminal: Option<TerminalSize>,
    /// The session of the call.
    pub(crate) session: Option<SessionName>,
    /// The program; none if only the image has it.
    pub(crate) program: Option<OpenProgram>,
    pub(crate) folder: StartFolder,
    /// The tier that the tool declares; none means the policy's.
    pub(crate) tier: Option<Tier>,
}

/// An open program file of this machine.
#[derive(Debug)]
pub(crate) struct OpenProgram {
    pub(crate) handle: OwnedFd,
    /// For a script, the path by which its interpreter opens it.
    pub(crate) script: Option<CString>,
    /// The real path, under which a sandbox shows it.
    pub(crate) path: PathBuf,
    /// The path at which it was found, which may be a link.
    pub(crate) found_at: PathBuf,
}

impl OpenProgram {
    pub(crate) fn try_clone(&self) -> std::io::Result<Self> {
        let handle = self.handle.try_clone()?;
        let (script, path, found_at) =
            (self.script.clone(), self.path.clone(), self.found_at.clone());
        Ok(Self { handle, script, path, found_at })
    }

    /// A program with its handle.
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

impl ProgramWork {
    /// The program, for a tier that runs programs of this machine.
    pub(crate) fn opened(&self) -> Result<&OpenProgram, Failure> {
        self.program.as_ref().ok_or_else(|| self.not_here())
    }

    fn not_here(&self) -> Failure {
        let program = self.argv.program();
        Failure::new(FailureKind::FindProgram, format!("{program:?} is not on this machine"))
    }
}

/// The standard input of a program.
#[derive(Debug)]
pub(crate) enum StandardInput {
    /// Bytes through a pipe.
    Piped(Vec<u8>),
    /// These bytes, and then what the caller writes while the program runs.
    Open(Vec<u8>),
    /// Source code in a sealed memory file.
    Sealed(Code),
}

impl StandardInput {
    /// Whether there is nothing to read.
    pub(crate) fn is_nothing(&self) -> bool {
        match self {
            Self::Piped(bytes) => bytes.is_empty(),
            Self::Open(_) => false,
            Self::Sealed(code) => code.source.is_empty(),
        }
    }
}

/// The folder in which a program starts.
#[derive(Debug)]
pub(crate) enum StartFolder {
    /// An open folder; a sandbox shows it under its real path.
    Open { handle: OwnedFd, path: PathBuf },
    /// The scratch folder, which is created for the run.
    Scratch,
}

impl StartFolder {
    /// The real path, if it is known before the run.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Open { path, .. } => Some(path),
            Self::Scratch => None,
        }
    }
}

impl Permit {
    /// Only the gate creates permits, after the verdict is in the journal.
    pub(super) fn new(
        cleared: Work,
        confinement: Confinement,
        tier: Tier,
        entry: EntryId,
        ruling: Ruling,
    ) -> Self {
        let spent = Duration::ZERO;
        let prepared = PermitContents { cleared, confinement, tier, entry, ruling, spent };
        Self { prepared, spared: false, retry: None }
    }

    /// Records whether the sandbox made a question unnecessary.
    pub(super) fn with_spared(mut self, spared: bool) -> Self {
        self.spared = spared;
        self
    }

    /// Records how long inspection took.
    pub(super) fn with_spent(mut self, spent: Duration) -> Self {
        self.prepared.spent = spent;
        self
    }

    /// Adds the request for another attempt, if the tool may make one after this. Only programs are
    /// started again.
    pub(super) fn with_retry(mut self, call: &ToolCall, attempt: u32, attempts: Attempts) -> Self {
        if attempt < attempts.most && matches!(self.prepared.cleared, Work::Program(_)) {
            let (call, ruling) = (call.clone(), self.prepared.ruling.clone());
            self.retry = Some(Retry { call, ruling, attempt: attempt.saturating_add(1), attempts });
        }
        self
    }

    /// Turns the permit of a question into one that allows, after a yes.
    pub(super) fn allowed(mut self: Box<Self>) -> Box<Self> {
        let retried = self.retry.as_mut().map(|retry| &mut retry.ruling);
        for ruling in retried.into_iter().chain([&mut self.prepared.ruling]) {
            ruling.decision = Decision::Allow;
        }
        self
    }

    /// Whether there would have been a question without the sandbox.
    pub fn is_spared(&self) -> bool {
        self.spared
    }

    /// The journal's entry that allows the call.
    pub fn entry(&self) -> EntryId {
        self.prepared.entry
    }

    /// Why it was allowed.
    pub fn ruling(&self) -> &Ruling {
        &self.prepared.ruling
    }

    /// The call it is for.
    pub fn call(&self) -> &CallId {
        self.prepared.cleared.call()
    }

    /// Takes the request for another attempt, if the tool may run again. It can be taken once.
    pub fn take_retry(&mut self) -> Option<Retry> {
        self.retry.take()
    }

    /// Spends the permit.
    pub(crate) fn spend(self) -> PermitContents<Work> {
        self.prepared
    }
}
