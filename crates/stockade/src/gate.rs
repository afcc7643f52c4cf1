//! The only door between a call and its execution.

mod complaint;
mod examine;
mod facts;
mod line;
mod permit;
mod toolchain;
mod verdict;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use examine::Examined;
pub use examine::{Examination, Examiner};
pub use permit::Permit;
pub(crate) use permit::{Cleared, Prepared};
pub use verdict::{Refusal, Verdict};

use crate::call::ToolCall;
use crate::confine::Confinement;
use crate::inspect::{Landing, Root, View};
use crate::journal::record::{self, Event};
use crate::journal::{EntryId, Journal, JournalError, preview};
use crate::knowledge::Knowledge;
use crate::outcome::chain;
use crate::policy::{By, Decision, Ruling};

/// Judges calls by one policy and writes every verdict into one journal.
///
/// A gate is built once, by the host. Whoever can build one can build a lenient one, so the
/// agent's side only ever holds a [`ToolCall`].
#[derive(Debug)]
pub struct Gate {
    examiner: Examiner,
    journal: Journal,
    /// The journal's real path.
    journal_place: Option<PathBuf>,
}

impl Gate {
    /// A gate for one project.
    pub fn new(examiner: Examiner, journal: Journal) -> Self {
        let journal_place = place_of(journal.path());
        Self { examiner, journal, journal_place }
    }

    /// Judges a call. What comes out is in the journal: where that cannot be written, the
    /// verdict is a refusal.
    pub fn judge(&self, call: &ToolCall) -> Verdict {
        let Examined { examination, cleared, words, shown, program } = self.examiner.examined(call);
        let Examination { ruling, mut confinement, .. } = examination;
        self.protect_journal(&mut confinement);
        let entry = match self.record(call, (&words, &shown), program.as_deref(), &ruling) {
            Ok(entry) => entry,
            Err(error) => return Verdict::Refused(unrecorded(&error)),
        };
        match (ruling.decision, cleared) {
            (Decision::Allow, Ok(cleared)) => {
                let tier = self.examiner.policy().tier;
                Verdict::Allowed(Box::new(Permit::new(cleared, confinement, tier, entry, ruling)))
            }
            (_, Err(Some(failure))) => Verdict::Impossible(failure),
            (_, _) => Verdict::Refused(Refusal::from(ruling)),
        }
    }

    /// What it judges by.
    pub fn examiner(&self) -> &Examiner {
        &self.examiner
    }

    pub(crate) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Where a call can write the folder of the journal, it cannot write the journal.
    fn protect_journal(&self, confinement: &mut Confinement) {
        let Some(journal) = &self.journal_place else { return };
        let files = &mut confinement.files;
        let is_written = files.write.iter().any(|folder| journal.starts_with(folder));
        if is_written && !files.protect.contains(journal) {
            files.protect.push(journal.clone());
        }
    }

    fn record(
        &self,
        call: &ToolCall,
        (words, shown): (&[OsString], &[Vec<OsString>]),
        program: Option<&str>,
        ruling: &Ruling,
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
        }))
    }
}

/// The real path of a file in a folder that is there.
fn place_of(file: &Path) -> Option<PathBuf> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = Root::open(folder.unwrap_or(Path::new("."))).ok()?;
    Some(folder.path().join(file.file_name()?))
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
