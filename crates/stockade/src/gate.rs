//! The only door between a call and its execution.

mod act;
mod again;
mod advice;
mod approval;
mod code;
mod complaint;
mod examine;
mod facts;
mod file;
mod foreign;
mod granted;
mod guarded;
mod hooked;
mod line;
mod named_paths;
mod own;
mod path_text;
mod permit;
mod question;
mod registered;
mod ruled;
mod search;
mod server_lines;
mod sight;
mod toolchain;
mod twins;
mod unreadable;
mod url_host;
mod vanish;
mod verdict;

use std::ffi::{OsStr, OsString};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use approval::{Answer, Approver, Settled};
use examine::Examined;
pub use examine::{Examination, Examiner};
pub(crate) use file::FileWork;
use granted::Granted;
use hooked::Hooked;
pub(crate) use hooked::permission_mode;
pub use hooked::{Rewritten, Said};
pub(crate) use permit::InlineWork;
pub use permit::Permit;
pub(crate) use permit::{Cleared, Folder, Opened, Prepared, StandardInput, Work};
pub use question::{Offer, Prompt, Question};
use ruled::Doubt;
pub use verdict::{Refusal, Verdict};

use crate::call::{Tool, ToolCall};
use crate::hooks::Hooks;
use crate::inspect::{Landing, View};
use crate::journal::record::{self, Event};
use crate::journal::{EntryId, Journal, JournalError, preview};
use crate::knowledge::Knowledge;
use crate::outcome::chain;
use crate::policy::weigh::Ground;
use crate::policy::{By, Decision, Ruling, propose};
use crate::registry::{Duplicate, Registered};

/// Judges calls by one policy and writes every verdict into one journal.
///
/// A gate is built once, by the host. Whoever can build one can build a lenient one, so the
/// agent's side only ever holds a [`ToolCall`].
#[derive(Debug)]
pub struct Gate {
    examiner: Examiner,
    journal: Journal,
    hooks: Hooks,
    /// Who is asked.
    approver: Option<Arc<dyn Approver>>,
    /// Held while a question waits: people answer one at a time.
    asking: Mutex<()>,
    granted: Mutex<Granted>,
}

impl Gate {
    /// A gate for one project.
    pub fn new(examiner: Examiner, journal: Journal) -> Self {
        let hooks = Hooks::new(examiner.policy().hooks.clone());
        let examiner = examiner.with_own_file(journal.path());
        let (asking, granted) = (Mutex::new(()), Mutex::default());
        Self { examiner, journal, hooks, approver: None, asking, granted }
    }

    /// The same gate, with one more tool.
    pub fn with_tool(mut self, tool: Registered) -> Result<Self, Duplicate> {
        self.examiner = self.examiner.with_tool(tool)?;
        Ok(self)
    }

    /// The same gate, with somebody to ask. Without, every question is a refusal.
    #[must_use]
    pub fn with_approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// The same gate with its hooks changed: something that runs them, or closures besides.
    #[must_use]
    pub fn with_hooks(mut self, change: impl FnOnce(Hooks) -> Hooks) -> Self {
        self.hooks = change(self.hooks);
        self
    }

    /// Judges a call. What comes out is in the journal: where that cannot be written, the
    /// verdict is a refusal.
    pub fn judge(&self, call: &ToolCall) -> Verdict {
        self.judge_aloud(call).0
    }

    /// The same, with what the hooks said.
    pub fn judge_aloud(&self, call: &ToolCall) -> (Verdict, Said) {
        let Hooked { call, examined, said, spent } = self.hooked(call);
        (self.verdict(&call, examined, said.rewritten.as_deref(), spent), said)
    }

    fn verdict(
        &self,
        call: &ToolCall,
        examined: Examined,
        rewritten: Option<&Rewritten>,
        spent: Duration,
    ) -> Verdict {
        let Examined { mut examination, cleared, words, shown, program, question } = examined;
        if let Some(doubt) = &question
            && let Some(granted) = self.granted().ruling(doubt, &shown_words(call, &words))
        {
            examination.ruling = granted;
        }
        let ruling = examination.ruling.clone();
        let spared = examination.spared && ruling.decision == Decision::Allow;
        let said = (spared, rewritten);
        let recorded = self.record(call, (&words, &shown), program.as_deref(), &ruling, said);
        let entry = match recorded {
            Ok(entry) => entry,
            Err(error) => return Verdict::Refused(unrecorded(&error)),
        };
        let tier = |work: &Work| work.tier(self.examiner.policy().tier);
        match (ruling.decision, cleared, question) {
            (Decision::Allow, Ok(cleared), _) => {
                let tier = tier(&cleared);
                let permit = Permit::new(cleared, examination.confinement, tier, entry, ruling);
                let permit = permit.with_spared(examination.spared).with_spent(spent);
                Verdict::Allowed(Box::new(permit))
            }
            (Decision::Ask, Ok(cleared), Some(doubt)) => {
                let confinement = examination.confinement.clone();
                let prompt = Prompt {
                    call: call.id.clone(),
                    tool: call.tool.name().to_owned(),
                    words: shown_words(call, &words),
                    cwd: cleared.cwd_path().unwrap_or(self.examiner.root().path()).to_owned(),
                    examination,
                    offer: self.offer(&doubt),
                };
                let tier = tier(&cleared);
                let permit = Permit::new(cleared, confinement, tier, entry, ruling);
                let permit = permit.with_spent(spent);
                Verdict::Ask(Box::new(Question::new(prompt, Box::new(permit), doubt)))
            }
            (_, Err(Some(failure)), _) => Verdict::Impossible(failure),
            (_, _, _) => Verdict::Refused(self.again(Refusal::from(ruling), entry)),
        }
    }

    /// The answers that a person can give. What a rule that asks is about is changed where that
    /// rule is written, and not by one that allows, which would never be reached.
    fn offer(&self, doubt: &Doubt) -> Offer {
        let rules = || propose(&doubt.facts, &self.examiner.policy().rules);
        match doubt.ground {
            Ground::Finding | Ground::Protected | Ground::Hook => Offer::Once,
            Ground::Rule => Offer::Session(rules().unwrap_or_default()),
            Ground::Mode => match rules() {
                Some(rules) => Offer::Always(rules),
                None => Offer::Session(Vec::new()),
            },
        }
    }

    fn granted(&self) -> MutexGuard<'_, Granted> {
        self.granted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it judges by.
    pub fn examiner(&self) -> &Examiner {
        &self.examiner
    }

    /// Who is asked before calls are decided about, and told after.
    pub fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    pub(crate) fn journal(&self) -> &Journal {
        &self.journal
    }

    fn record(
        &self,
        call: &ToolCall,
        (words, shown): (&[OsString], &[Vec<OsString>]),
        program: Option<&str>,
        ruling: &Ruling,
        (spared, rewritten): (bool, Option<&Rewritten>),
    ) -> Result<EntryId, JournalError> {
        let deny = &self.examiner.policy().settings.deny;
        let known = |word: &str| {
            program == Some(word) || deny.contains(word) || Knowledge::shipped().is_word(word)
        };
        let view = View::open(self.examiner.root(), call.cwd.as_deref()).ok();
        let exists = |word: &OsStr| {
            let landing = view.as_ref().map(|view| view.land(word));
            matches!(landing, Some(Landing::Inside { exists: true, .. }))
        };
        self.journal.append(&Event::Verdict(record::Verdict {
            call: call.id.to_string(),
            tool: tool_name(call),
            preview: preview::preview_all(shown, &known, &exists),
            sha256: preview::digest(words),
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
            rewritten: rewritten.map(|one| record::Rewritten {
                by: one.by.name.clone(),
                sha256: preview::digest(&one.words),
            }),
        }))
    }
}

/// The words that a person is shown: a line is shown as it was written.
fn shown_words(call: &ToolCall, words: &[OsString]) -> Vec<OsString> {
    match &call.tool {
        Tool::Line(line) => vec![line.text.clone()],
        Tool::Exec(_) | Tool::Code(_) | Tool::File(_) | Tool::Unknown(_) | Tool::Malformed(_) => {
            words.to_vec()
        }
    }
}

/// The tool's name for the journal: a stranger's name may hold anything.
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
