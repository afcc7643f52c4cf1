//! A call that a person has to allow: what they are shown, and the permit that it would become.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use super::examine::Examination;
use super::permit::Permit;
use super::ruled::Doubt;
use crate::call::CallId;

/// A call about which a person has to be asked.
///
/// It owns the permit that the call would become, and gives it to nobody:
/// [`Gate::settle`](super::Gate::settle) alone turns it into that permit, if the approver that the
/// host installed says yes.
///
/// ```
/// use stockade::gate::{Prompt, Question};
/// fn what_is_asked(question: &Question) -> &Prompt {
///     question.prompt()
/// }
/// ```
///
/// ```compile_fail,E0616
/// use stockade::gate::{Prompt, Question};
/// fn what_is_asked(question: &Question) -> &Prompt {
///     &question.permit
/// }
/// ```
#[derive(Debug)]
#[must_use = "a question that nobody settles lets nothing run"]
pub struct Question {
    prompt: Arc<Prompt>,
    permit: Box<Permit>,
    doubt: Doubt,
}

/// What a person is shown to decide by. Plain data: nothing can be run with it.
#[derive(Debug)]
pub struct Prompt {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// The words of the call; a shell line is one word.
    pub words: Vec<OsString>,
    /// Where it would run.
    pub cwd: PathBuf,
    /// What asks and why, and all that was found.
    pub examination: Examination,
    /// What can be answered besides once and no.
    pub offer: Offer,
}

/// The answers that last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Offer {
    /// None: such a call is asked about each time.
    Once,
    /// For the session: calls that these rules would allow, or this very call where there are none.
    Session(Vec<String>),
    /// The same, or for good: these rules would go into the person's own policy file.
    Always(Vec<String>),
}

impl Question {
    /// Asked by the gate alone, after the verdict is in the journal.
    pub(super) fn new(prompt: Prompt, permit: Box<Permit>, doubt: Doubt) -> Self {
        Self { prompt: Arc::new(prompt), permit, doubt }
    }

    /// What a person is shown.
    pub fn prompt(&self) -> &Prompt {
        &self.prompt
    }

    pub(super) fn into_parts(self) -> (Arc<Prompt>, Box<Permit>, Doubt) {
        (self.prompt, self.permit, self.doubt)
    }
}
