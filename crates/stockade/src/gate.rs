//! The only door between a call and its execution.

mod activity;
mod complaint;
mod examiner;
mod facts;
mod hooks;
mod judge;
mod permit;
mod protected_paths;
mod question;
mod subject;
mod toolchain;
mod vanish;
mod verdict;
mod visibility;

use std::ffi::{OsStr, OsString};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use examiner::{Examination, Examiner};
use hooks::HookOutcome;
pub(crate) use hooks::permission_mode;
pub use hooks::{HookMessages, RewrittenCall};
use judge::{Assessment, NoWork, Preview, QuestionBasis};
pub(crate) use permit::InlineWork;
pub(crate) use permit::{
    OpenProgram, PermitContents, ProgramWork, StandardInput, StartFolder, Work,
};
pub use permit::{Permit, Retry};
use question::SessionGrants;
pub use question::{Approver, ApproverAnswer, Offer, Prompt, Question, Settlement};
pub(crate) use subject::file::FileWork;
pub use verdict::{Refusal, Verdict};

use crate::call::{Tool, ToolCall};
use crate::catalog::Catalog;
use crate::hooks::Hooks;
use crate::inspect::{PathResolver, Resolution};
use crate::journal::record::{self, Event};
use crate::journal::{EntryId, Journal, JournalError, preview};
use crate::outcome::chain;
use crate::policy::decide::Basis;
use crate::policy::tools::Attempts;
use crate::policy::{By, Decision, Ruling, propose};
use crate::registry::{Duplicate, RegisteredTool};

/// Judges calls by one policy and writes every verdict into one journal.
///
/// A gate is built once, by the host. Whoever can build one can build a lenient one, so the
/// agent's side only ever holds a [`ToolCall`].
#[derive(Debug)]
pub struct Gate {
    examiner: Examiner,
    journal: Journal,
    hooks: Hooks,
    /// Answers questions.
    approver: Option<Arc<dyn Approver>>,
    /// Held while a question waits, because people answer one question at a time.
    asking: Mutex<()>,
    granted: Mutex<SessionGrants>,
}

impl Gate {
    /// Creates the gate of one project.
    pub fn new(examiner: Examiner, journal: Journal) -> Self {
        let hooks = Hooks::new(examiner.policy().hooks.clone());
        let examiner = examiner.with_own_file(journal.path());
        let (asking, granted) = (Mutex::new(()), Mutex::default());
        Self { examiner, journal, hooks, approver: None, asking, granted }
    }

    /// Adds a tool.
    pub fn with_tool(mut self, tool: RegisteredTool) -> Result<Self, Duplicate> {
        self.examiner = self.examiner.with_tool(tool)?;
        Ok(self)
    }

    /// Sets who answers questions. Without an approver, every question is a refusal.
    #[must_use]
    pub fn with_approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// Changes the hooks: sets the runner of their commands, or adds closures.
    #[must_use]
    pub fn with_hooks(mut self, change: impl FnOnce(Hooks) -> Hooks) -> Self {
        self.hooks = change(self.hooks);
        self
    }

    /// Judges a call and writes the verdict into the journal. If the journal cannot be written, the
    /// verdict is a refusal.
    pub fn judge(&self, call: &ToolCall) -> Verdict {
        self.judge_with_messages(call).0
    }

    /// Judges a call, and also returns what the hooks said.
    pub fn judge_with_messages(&self, call: &ToolCall) -> (Verdict, HookMessages) {
        let HookOutcome { call, examined, said, spent } = self.consult_hooks(call);
        let rewritten = said.rewritten.as_deref();
        let verdict = self.verdict(&call, examined, History { rewritten, spent, attempt: 1 });
        (verdict, said)
    }

    /// Judges another attempt at a call that was permitted. The answers of hooks and of a person to
    /// the first attempt still count; any new reason to refuse the call refuses this attempt. The
    /// verdict is a journal entry of its own.
    pub fn retry(&self, retry: Retry) -> Verdict {
        let Retry { call, ruling, attempt, .. } = retry;
        let begun = Instant::now();
        let mut examined = self.examiner.assess(&call);
        if examined.examination.ruling.decision == Decision::Ask {
            examined.examination.ruling = ruling;
        }
        let spent = begun.elapsed();
        self.verdict(&call, examined, History { rewritten: None, spent, attempt })
    }

    /// Inspects a call that another program will run, asks the hooks, and journals the decision.
    /// External tools are judged by rules, as in [`Examiner::examine`].
    pub fn advise(&self, call: &ToolCall) -> Result<Examination, JournalError> {
        self.advise_and(call, |ruling| ruling)
    }

    /// Like [`Gate::advise`], for a caller that may make the ruling stricter, for example when
    /// nobody would answer a question. The stricter ruling is the one in the journal.
    pub fn advise_and(
        &self,
        call: &ToolCall,
        settle: impl FnOnce(Ruling) -> Ruling,
    ) -> Result<Examination, JournalError> {
        self.advise_with(call, |found| {
            let before = found.decision;
            let settled = settle(found);
            Ruling { decision: settled.decision.max(before), ..settled }
        })
    }

    /// The same for a call that the caller answers itself, so that the mode has nothing to restrict: `settle`
    /// may also allow what only the mode refuses or asks about.
    pub fn advise_beside_mode(
        &self,
        call: &ToolCall,
        settle: impl FnOnce(Ruling) -> Ruling,
    ) -> Result<Examination, JournalError> {
        self.advise_with(call, |found| {
            let is_of_mode = found.by == By::Mode;
            let before = if is_of_mode { Decision::Allow } else { found.decision };
            let settled = settle(found);
            Ruling { decision: settled.decision.max(before), ..settled }
        })
    }

    fn advise_with(
        &self,
        call: &ToolCall,
        settle: impl FnOnce(Ruling) -> Ruling,
    ) -> Result<Examination, JournalError> {
        let assessment = self.consult_hooks_for_agent(call, self.examiner.assess_for_agent(call));
        let Assessment { mut examination, preview, .. } = assessment;
        examination.ruling = settle(examination.ruling);
        let ruling = &examination.ruling;
        let entry = self.record(&JudgedCall {
            call,
            preview: &preview,
            ruling,
            spared: false,
            history: History::FIRST,
        })?;
        if ruling.decision == Decision::Deny {
            let refusal = self.again(Refusal::from(ruling.clone()), entry);
            examination.ruling.reason = Some(refusal.reason);
        }
        Ok(examination)
    }

    fn verdict(&self, call: &ToolCall, examined: Assessment, history: History<'_>) -> Verdict {
        let Assessment { mut examination, work, preview, question } = examined;
        if let Some(doubt) = &question
            && let Some(granted) = self.granted().ruling(doubt, &shown_words(call, &preview.words))
        {
            examination.ruling = granted;
        }
        let ruling = examination.ruling.clone();
        let spared = examination.spared && ruling.decision == Decision::Allow;
        let judged = JudgedCall { call, preview: &preview, ruling: &ruling, spared, history };
        let entry = match self.record(&judged) {
            Ok(entry) => entry,
            Err(error) => return Verdict::Refused(unrecorded(&error)),
        };
        let registered = self.examiner.registered(call);
        let attempts = registered.map_or(Attempts::ONE, |tool| tool.declaration.attempts);
        let permit = |work: Work, confinement, ruling| {
            let tier = work.tier(self.examiner.policy().tier);
            let permit = Permit::new(work, confinement, tier, entry, ruling);
            permit.with_spent(history.spent).with_retry(call, history.attempt, attempts)
        };
        match (ruling.decision, work, question) {
            (Decision::Allow, Ok(work), _) => {
                let permit = permit(work, examination.confinement, ruling);
                Verdict::Allowed(Box::new(permit.with_spared(examination.spared)))
            }
            (Decision::Ask, Ok(work), Some(doubt)) => {
                let confinement = examination.confinement.clone();
                let prompt = Prompt {
                    call: call.id.clone(),
                    tool: call.tool.name().to_owned(),
                    words: shown_words(call, &preview.words),
                    cwd: work.cwd_path().unwrap_or(self.examiner.root().path()).to_owned(),
                    examination,
                    offer: self.offer(&doubt),
                };
                let permit = permit(work, confinement, ruling);
                Verdict::Ask(Box::new(Question::new(prompt, Box::new(permit), doubt)))
            }
            (_, Err(NoWork::Failed(failure)), _) => Verdict::Impossible(failure),
            (_, _, _) => Verdict::Refused(self.again(Refusal::from(ruling), entry)),
        }
    }

    /// The answers that a person can give. An `ask` rule can only be changed where it is written:
    /// an `allow` rule beside it would never be reached.
    fn offer(&self, doubt: &QuestionBasis) -> Offer {
        let rules = || propose(&doubt.facts, &self.examiner.policy().rules);
        match doubt.basis {
            Basis::Finding | Basis::Protected | Basis::Hook => Offer::Once,
            Basis::Rule => Offer::Session(rules().unwrap_or_default()),
            Basis::Mode => match rules() {
                Some(rules) => Offer::Always(rules),
                None => Offer::Session(Vec::new()),
            },
        }
    }

    fn granted(&self) -> MutexGuard<'_, SessionGrants> {
        self.granted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The examiner that it judges with.
    pub fn examiner(&self) -> &Examiner {
        &self.examiner
    }

    /// The hooks that run before and after calls.
    pub fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    pub(crate) fn journal(&self) -> &Journal {
        &self.journal
    }

    fn record(&self, judged: &JudgedCall<'_>) -> Result<EntryId, JournalError> {
        let JudgedCall { call, preview: of_call, ruling, spared, history } = *judged;
        let program = of_call.program.as_deref();
        let deny = &self.examiner.policy().settings.deny;
        let known = |word: &str| {
            program == Some(word) || deny.contains(word) || Catalog::shipped().is_word(word)
        };
        let resolver = PathResolver::open(self.examiner.root(), call.cwd.as_deref()).ok();
        let exists = |word: &OsStr| {
            let resolution = resolver.as_ref().map(|resolver| resolver.resolve(word));
            matches!(resolution, Some(Resolution::Inside { exists: true, .. }))
        };
        self.journal.append(&Event::Verdict(record::Verdict {
            call: call.id.to_string(),
            tool: tool_name(call),
            preview: preview::preview_all(&of_call.commands, &known, &exists),
            sha256: preview::digest(&of_call.words),
            root: self.examiner.root().path().to_string_lossy().into_owned(),
            decision: match ruling.decision {
                Decision::Allow => record::Decision::Allow,
                Decision::Ask => record::Decision::Ask,
                Decision::Deny => record::Decision::Deny,
            },
            by: ruling.by.name().to_owned(),
            rule: ruling.rule.clone(),
            argument: ruling.argument,
            source: ruling.source.clone(),
            spared,
            attempt: Some(history.attempt).filter(|attempt| *attempt > 1),
            rewritten: history.rewritten.map(|one| record::Rewrite {
                by: one.by.name.clone(),
                sha256: preview::digest(&one.words),
            }),
        }))
    }
}

/// A ruling on a call, for its journal entry.
#[derive(Clone, Copy)]
struct JudgedCall<'a> {
    call: &'a ToolCall,
    preview: &'a Preview,
    ruling: &'a Ruling,
    /// Whether there would have been a question without the sandbox.
    spared: bool,
    history: History<'a>,
}

/// How a call came to be judged.
#[derive(Clone, Copy)]
struct History<'a> {
    /// Set where a hook rewrote it.
    rewritten: Option<&'a RewrittenCall>,
    /// How long inspection took.
    spent: Duration,
    /// The number of this attempt, from 1.
    attempt: u32,
}

impl History<'_> {
    /// The first attempt at a call as it was sent.
    const FIRST: Self = Self { rewritten: None, spent: Duration::ZERO, attempt: 1 };
}

/// The words that a person is shown. A shell line is shown as it was written.
fn shown_words(call: &ToolCall, words: &[OsString]) -> Vec<OsString> {
    match &call.tool {
        Tool::Line(line) => vec![line.text.clone()],
        Tool::Exec(_) | Tool::Code(_) | Tool::File(_) | Tool::Unknown(_) | Tool::Malformed(_) => {
            words.to_vec()
        }
    }
}

/// The tool's name for the journal. The name of an unknown tool may hold anything.
fn tool_name(call: &ToolCall) -> String {
    let plain = |c: &char| c.is_ascii_alphanumeric() || "_-.:".contains(*c);
    call.tool.name().chars().filter(plain).take(64).collect()
}

fn unrecorded(error: &JournalError) -> Refusal {
    let reason =
        format!("the journal cannot be written, so nothing runs: could not {}", chain(error));
    let instead = "make room or repair it (stockade audit verify), or name another with --journal";
    Refusal::from(Ruling::deny(By::Default, "journal/unwritable", reason).instead(instead))
}
