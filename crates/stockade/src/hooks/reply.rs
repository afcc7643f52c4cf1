//! What a hook says.

use serde_json::{Map, Value};

use crate::policy::Decision;
use crate::policy::hook::Event;

/// What is kept of any text that a hook says, as in coding agents.
pub const TEXT_CHARS_MAX: usize = 10_000;

/// What one hook says about one call. Built by a closure, or read from what a command printed.
///
/// ```
/// use stockade::hooks::Reply;
/// let reply = Reply::deny("data leaves this machine").with_context("use the mirror");
/// assert_eq!(reply.reason.as_deref(), Some("data leaves this machine"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reply {
    /// What it would decide; none where it has no opinion. Only before a call.
    pub decision: Option<Decision>,
    /// Why.
    pub reason: Option<String>,
    /// The whole input that the call should have instead. Only before a call.
    pub input: Option<Map<String, Value>>,
    /// What the agent should know.
    pub context: Option<String>,
    /// What the person should see.
    pub message: Option<String>,
    /// Why the agent should stop altogether.
    pub stop: Option<String>,
    /// What the caller gets as the output. Only after a call.
    pub output: Option<Replacement>,
    /// Text that the caller must not get. Only after a call.
    pub redact: Vec<String>,
}

/// Output in place of what a program wrote; a stream that is not given stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Replacement {
    /// Standard output.
    pub stdout: Option<String>,
    /// Standard error.
    pub stderr: Option<String>,
}

impl Reply {
    /// No opinion.
    pub fn silent() -> Self {
        Self::default()
    }

    /// Yes, where a person would be asked. It lifts no refusal.
    pub fn allow() -> Self {
        Self { decision: Some(Decision::Allow), ..Self::default() }
    }

    /// A person should say.
    pub fn ask(reason: impl Into<String>) -> Self {
        Self { decision: Some(Decision::Ask), reason: Some(reason.into()), ..Self::default() }
    }

    /// No.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self { decision: Some(Decision::Deny), reason: Some(reason.into()), ..Self::default() }
    }

    /// The same, with another input for the call.
    #[must_use]
    pub fn with_input(mut self, input: Map<String, Value>) -> Self {
        self.input = Some(input);
        self
    }

    /// The same, with something that the agent should know.
    #[must_use]
    pub fn with_context(mut self, text: impl Into<String>) -> Self {
        self.context = Some(text.into());
        self
    }

    /// The same, with something that the person should see.
    #[must_use]
    pub fn with_message(mut self, text: impl Into<String>) -> Self {
        self.message = Some(text.into());
        self
    }

    /// The same, and the agent should stop.
    #[must_use]
    pub fn stopping(mut self, why: impl Into<String>) -> Self {
        self.stop = Some(why.into());
        self
    }

    /// The same, with this output for the caller.
    #[must_use]
    pub fn with_output(mut self, output: Replacement) -> Self {
        self.output = Some(output);
        self
    }

    /// The same, and the caller must not get this text.
    #[must_use]
    pub fn redacting(mut self, text: impl Into<String>) -> Self {
        self.redact.push(text.into());
        self
    }

    /// The same, if it says nothing that cannot be said of this event.
    pub(super) fn fitting(self, event: Event) -> Result<Self, String> {
        let decides = self.decision.is_some() || self.input.is_some();
        let changes_output = self.output.is_some() || !self.redact.is_empty();
        match event {
            Event::Pre if changes_output => Err("there is no output yet".to_owned()),
            Event::Post if decides => Err("the call has run".to_owned()),
            Event::Pre if self.stop.is_some() => {
                let reason = self.reason.or_else(|| self.stop.clone());
                Ok(Self { decision: Some(Decision::Deny), reason, ..self })
            }
            Event::Pre | Event::Post => Ok(self),
        }
    }

    /// The same with no text longer than is kept.
    pub(super) fn capped(mut self) -> Self {
        for text in [&mut self.reason, &mut self.context, &mut self.message, &mut self.stop] {
            *text = text.take().map(capped);
        }
        self
    }
}

/// A text, cut with a mark if it is too long.
pub(super) fn capped(text: String) -> String {
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        None => text,
        Some((at, _)) => {
            let kept = text.get(..at).unwrap_or_default();
            format!("{kept}… [cut by stockade]")
        }
    }
}
