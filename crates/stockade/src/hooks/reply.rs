//! The reply of a hook.

use serde_json::{Map, Value};

use crate::policy::Decision;
use crate::policy::hooks::Event;

/// The most characters of any text of a hook, as in coding agents.
pub const TEXT_CHARS_MAX: usize = 10_000;

/// The reply of one hook to one call. Built by a closure, or parsed from the output of a command.
///
/// ```
/// use stockade::hooks::Reply;
/// let reply = Reply::deny("data leaves this machine").with_context("use the mirror");
/// assert_eq!(reply.reason.as_deref(), Some("data leaves this machine"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reply {
    /// The decision; none means no opinion. Only before a call.
    pub decision: Option<Decision>,
    /// The reason.
    pub reason: Option<String>,
    /// New input that replaces the whole input of the call. Only before a call.
    pub input: Option<Map<String, Value>>,
    /// For the agent.
    pub context: Option<String>,
    /// For the person.
    pub message: Option<String>,
    /// Why the agent should stop.
    pub stop: Option<String>,
    /// Replaces the output for the caller. Only after a call.
    pub output: Option<Replacement>,
    /// Text to redact from the output. Only after a call.
    pub redact: Vec<String>,
}

/// Replaces output; a stream that is not given stays.
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

    /// Allows the call if a person would be asked. It cannot lift a refusal.
    pub fn allow() -> Self {
        Self { decision: Some(Decision::Allow), ..Self::default() }
    }

    /// A person has to answer.
    pub fn ask(reason: impl Into<String>) -> Self {
        Self { decision: Some(Decision::Ask), reason: Some(reason.into()), ..Self::default() }
    }

    /// Denies the call.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self { decision: Some(Decision::Deny), reason: Some(reason.into()), ..Self::default() }
    }

    /// Replaces the input of the call.
    #[must_use]
    pub fn with_input(mut self, input: Map<String, Value>) -> Self {
        self.input = Some(input);
        self
    }

    /// Adds a message for the agent.
    #[must_use]
    pub fn with_context(mut self, text: impl Into<String>) -> Self {
        self.context = Some(text.into());
        self
    }

    /// Adds a message for the person.
    #[must_use]
    pub fn with_message(mut self, text: impl Into<String>) -> Self {
        self.message = Some(text.into());
        self
    }

    /// Tells the agent to stop.
    #[must_use]
    pub fn stopping(mut self, why: impl Into<String>) -> Self {
        self.stop = Some(why.into());
        self
    }

    /// Replaces the output.
    #[must_use]
    pub fn with_output(mut self, output: Replacement) -> Self {
        self.output = Some(output);
        self
    }

    /// Redacts this text.
    #[must_use]
    pub fn redacting(mut self, text: impl Into<String>) -> Self {
        self.redact.push(text.into());
        self
    }

    /// Checks that the reply fits the event.
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

    /// Cuts texts that are too long.
    pub(super) fn capped(mut self) -> Self {
        for text in [&mut self.reason, &mut self.context, &mut self.message, &mut self.stop] {
            *text = text.take().map(capped);
        }
        self
    }
}

/// Cuts a text that is too long, and marks the cut.
pub(super) fn capped(text: String) -> String {
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        None => text,
        Some((at, _)) => {
            let kept = text.get(..at).unwrap_or_default();
            format!("{kept}… [cut by stockade]")
        }
    }
}
