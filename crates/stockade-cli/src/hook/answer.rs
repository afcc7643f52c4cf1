//! What an agent is told: exactly the keys of its protocol, and an exit status of 0 or 2.

use serde::Serialize;
use serde_json::{Map, Value};
use stockade::policy::{Decision, Ruling};

use super::event::Kind;
use crate::args::Agent;
use crate::print::escape;

/// Agents cut longer texts (10,000 characters).
const REASON_MAX: usize = 8_000;

/// What is answered to an event.
#[derive(Debug, PartialEq)]
pub(super) enum Answer {
    /// Nothing: the agent goes on as it would without us.
    Silent,
    /// What was decided.
    Decided(DecidedAnswer),
}

/// A decision, with what the agent or its person reads.
#[derive(Debug, PartialEq)]
pub(super) struct DecidedAnswer {
    pub(super) decision: Decision,
    pub(super) reason: String,
    /// The whole input, rewritten.
    pub(super) input: Option<Map<String, Value>>,
}

impl DecidedAnswer {
    pub(super) fn deny(reason: String) -> Self {
        Self { decision: Decision::Deny, reason, input: None }
    }
}

/// What was decided and by what, a line each: the call, the rule, what would be accepted.
pub(super) fn told(ruling: &Ruling) -> String {
    let verb = match ruling.decision {
        Decision::Allow => "allowed",
        Decision::Ask => "stockade asks",
        Decision::Deny => "refused",
    };
    let escape = |text: &str| escape(text).replace('\n', " ");
    let reason = ruling.reason.as_deref().unwrap_or("nothing speaks against it");
    let mut lines = vec![format!("{verb}: {}", escape(reason))];
    if let Some(rule) = &ruling.rule {
        let source = ruling.source.as_ref().map(|source| format!(" ({source})"));
        lines.push(format!("rule: {}{}", escape(rule), escape(&source.unwrap_or_default())));
    }
    if let Some(instead) = &ruling.instead {
        lines.push(format!("instead: {}", escape(instead)));
    }
    lines.join("\n")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AnswerOutput {
    hook_specific_output: Output,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Output {
    hook_event_name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_decision_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_input: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<Permission>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Permission {
    behavior: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_input: Option<Map<String, Value>>,
}

impl Answer {
    /// The same, with something that the person should know.
    pub(super) fn with_note(mut self, note: &str) -> Self {
        if let Self::Decided(decided) = &mut self {
            decided.reason = format!("{}\nnote: {}", decided.reason, escape(note));
        }
        self
    }

    /// The object that is printed, if any. What the agent's protocol cannot say comes out as the
    /// nearest stricter thing, or as nothing where its own flow asks by itself.
    pub(super) fn wire(self, kind: Kind, agent: Agent) -> Option<impl Serialize> {
        let Self::Decided(DecidedAnswer { decision, reason, input }) = self else { return None };
        let reason: String = reason.chars().take(REASON_MAX).collect();
        let output = match kind {
            Kind::PreToolUse => before_use((decision, reason, input), agent)?,
            Kind::PermissionRequest => requested((decision, reason, input), agent)?,
        };
        Some(AnswerOutput { hook_specific_output: output })
    }
}

type AnswerParts = (Decision, String, Option<Map<String, Value>>);

fn before_use((decision, reason, input): AnswerParts, agent: Agent) -> Option<Output> {
    let (decision, reason, input) = match (agent, decision, input) {
        // Its hooks cannot ask, and an answer that it does not know would let the call run.
        (Agent::Codex, Decision::Ask, _) => {
            (Decision::Deny, reason.replacen("stockade asks: ", "refused: ", 1), None)
        }
        // It takes an allow only with an input; without one its own flow is what remains.
        (Agent::Codex, Decision::Allow, None) => return None,
        (_, decision, input) => (decision, reason, input),
    };
    Some(Output {
        hook_event_name: "PreToolUse",
        permission_decision: Some(decision.name()),
        permission_decision_reason: Some(reason),
        updated_input: input,
        decision: None,
    })
}

fn requested((decision, reason, input): AnswerParts, agent: Agent) -> Option<Output> {
    let permission = match (agent, decision, input) {
        (_, Decision::Deny, _) => {
            Permission { behavior: "deny", message: Some(reason), updated_input: None }
        }
        // The person is about to be asked, which is what it needs.
        (_, Decision::Ask, _) => return None,
        // It refuses an answer that rewrites the input, and without that there is no box.
        (Agent::Codex, Decision::Allow, Some(_)) => return None,
        (_, Decision::Allow, input) => {
            Permission { behavior: "allow", message: None, updated_input: input }
        }
    };
    Some(Output {
        hook_event_name: "PermissionRequest",
        permission_decision: None,
        permission_decision_reason: None,
        updated_input: None,
        decision: Some(permission),
    })
}

#[cfg(test)]
mod tests;
