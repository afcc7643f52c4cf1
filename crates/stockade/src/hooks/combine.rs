//! Combines the replies of several hooks, before a call and after it. The strictest wins, and their
//! order does not matter.

use std::cmp::Reverse;

use serde_json::{Map, Value};

use super::{HookId, HookMessage, HookResult, Replacement, Reply};
use crate::policy::decide::Basis;
use crate::policy::{By, Decision, Ruling};

/// Replaces redacted text.
const REDACTED: &[u8] = b"[redacted]";

/// The combined decision of all hooks before a call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PreDecision {
    /// The strictest decision, with its hook.
    pub opinion: Option<Opinion>,
    /// The new input, with all hooks that ask for it. None if the call is refused.
    pub rewrite: Option<(Map<String, Value>, Vec<HookId>)>,
    /// The first hook by name that allows the call.
    pub allowed_by: Option<HookId>,
    /// For the agent, sorted.
    pub context: Vec<HookMessage>,
    /// For the person, sorted.
    pub messages: Vec<HookMessage>,
    /// Why the agent should stop.
    pub stop: Option<HookMessage>,
}

/// The decision of one hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opinion {
    /// The decision.
    pub decision: Decision,
    /// The hook.
    pub hook_id: HookId,
    /// The reason, naming the hook.
    pub reason: String,
    /// Whether the hook failed.
    pub is_fault: bool,
}

/// Combines the replies before a call.
pub fn pre_decision(heard: &[HookResult]) -> PreDecision {
    let mut opinions: Vec<Opinion> = heard.iter().filter_map(Opinion::of).collect();
    let mut rewrites: Vec<(&Map<String, Value>, HookId)> = replies(heard)
        .filter(|(_, reply)| reply.decision != Some(Decision::Deny))
        .filter_map(|(hook_id, reply)| Some((reply.input.as_ref()?, hook_id.clone())))
        .collect();
    rewrites.sort_by(|a, b| a.1.cmp(&b.1));
    opinions.extend(quarrel(&rewrites));
    let opinion = opinions.into_iter().min_by(|a, b| a.place().cmp(&b.place()));
    let is_refused = opinion.as_ref().is_some_and(|one| one.decision == Decision::Deny);
    let rewrite = rewrites.first().map(|(input, _)| (*input).clone());
    let authors = || rewrites.iter().map(|(_, hook_id)| hook_id.clone()).collect();
    let allows = |reply: &Reply| reply.decision == Some(Decision::Allow);
    PreDecision {
        opinion,
        rewrite: rewrite.filter(|_| !is_refused).map(|input| (input, authors())),
        allowed_by: replies(heard).filter(|(_, reply)| allows(reply)).map(|(v, _)| v.clone()).min(),
        context: spoken(heard, |reply| reply.context.as_ref()),
        messages: spoken(heard, |reply| reply.message.as_ref()),
        stop: spoken(heard, |reply| reply.stop.as_ref()).into_iter().next(),
    }
}

impl PreDecision {
    /// Adds the replies to the rewritten call. An allow from the hook that rewrote it still counts,
    /// because that hook knows the new call; other allows do not.
    #[must_use]
    pub fn then(self, second: Self) -> Self {
        let authors = self.rewrite.as_ref().map_or(&[][..], |(_, authors)| authors);
        let consent = self.allowed_by.filter(|hook_id| authors.contains(hook_id));
        let strict = |one: &Opinion| one.decision > Decision::Allow;
        let allowed_by = consent.into_iter().chain(second.allowed_by).min();
        let allowing = allowed_by.clone().map(Opinion::allow);
        let opinions = [self.opinion.filter(strict), second.opinion.filter(strict), allowing];
        let mut context = [self.context, second.context].concat();
        let mut messages = [self.messages, second.messages].concat();
        for all in [&mut context, &mut messages] {
            all.sort();
            all.dedup();
        }
        Self {
            opinion: opinions.into_iter().flatten().min_by(|a, b| a.place().cmp(&b.place())),
            rewrite: self.rewrite,
            allowed_by,
            context,
            messages,
            stop: self.stop.into_iter().chain(second.stop).min(),
        }
    }

    /// Applies the decision to a ruling. A refusal stays. A hook's allow answers only questions of
    /// the mode, as an allow rule would, and not those of an ask rule or a finding.
    pub fn applied_to(&self, ruling: Ruling, basis: Option<Basis>) -> Ruling {
        let Some(opinion) = &self.opinion else { return ruling };
        match (opinion.decision, ruling.decision) {
            (_, Decision::Deny) => ruling,
            (Decision::Deny, Decision::Ask | Decision::Allow)
            | (Decision::Ask, Decision::Allow) => opinion.ruling(),
            (Decision::Allow, Decision::Ask) if basis == Some(Basis::Mode) => opinion.ruling(),
            (Decision::Allow | Decision::Ask, Decision::Ask)
            | (Decision::Allow, Decision::Allow) => ruling,
        }
    }
}

impl Opinion {
    /// A refusal by this hook.
    pub fn refusal(hook_id: &HookId, reason: &str, is_fault: bool) -> Self {
        let name = &hook_id.name;
        let reason = match (is_fault, reason) {
            (true, why) => format!("the hook {name:?} failed, so the call was denied: {why}"),
            (false, "") => format!("the hook {name:?} refuses this"),
            (false, why) => format!("the hook {name:?} refuses this: {why}"),
        };
        Self { decision: Decision::Deny, hook_id: hook_id.clone(), reason, is_fault }
    }

    fn allow(hook_id: HookId) -> Self {
        let reason = format!("the hook {:?} allows this", hook_id.name);
        Self { decision: Decision::Allow, hook_id, reason, is_fault: false }
    }

    fn of(heard: &HookResult) -> Option<Self> {
        let reply = match &heard.result {
            Err(fault) => return Some(Self::refusal(&heard.hook_id, &fault.to_string(), true)),
            Ok(reply) => reply,
        };
        let why = reply.reason.as_deref().unwrap_or_default();
        Some(match reply.decision? {
            Decision::Deny => Self::refusal(&heard.hook_id, why, false),
            Decision::Allow => Self::allow(heard.hook_id.clone()),
            Decision::Ask => {
                let name = &heard.hook_id.name;
                let why = if why.is_empty() { String::new() } else { format!(": {why}") };
                Self {
                    decision: Decision::Ask,
                    hook_id: heard.hook_id.clone(),
                    reason: format!("the hook {name:?} wants a person to say{why}"),
                    is_fault: false,
                }
            }
        })
    }

    /// The sort key: strictest first, decisions before failures.
    fn place(&self) -> (Reverse<Decision>, bool, &HookId, &str) {
        (Reverse(self.decision), self.is_fault, &self.hook_id, &self.reason)
    }

    fn ruling(&self) -> Ruling {
        let repair = "the calls that the hook matches are denied until it is repaired or removed";
        Ruling {
            decision: self.decision,
            by: By::Hook,
            rule: Some(self.hook_id.name.clone()),
            source: self.hook_id.source.clone(),
            reason: Some(self.reason.clone()).filter(|_| self.decision > Decision::Allow),
            instead: self.is_fault.then(|| repair.to_owned()),
            argument: None,
            span: None,
        }
    }
}

/// A refusal if two hooks ask for different rewrites, because the result would depend on their
/// order.
fn quarrel(rewrites: &[(&Map<String, Value>, HookId)]) -> Option<Opinion> {
    let (first, hook_id) = rewrites.first()?;
    let (_, other) = rewrites.iter().find(|(input, _)| input != first)?;
    let why = format!("it rewrites the call, and {:?} rewrites it to something else", other.name);
    Some(Opinion::refusal(hook_id, &why, false))
}

fn replies(heard: &[HookResult]) -> impl Iterator<Item = (&HookId, &Reply)> {
    heard.iter().filter_map(|one| Some((&one.hook_id, one.result.as_ref().ok()?)))
}

/// One field of all replies, sorted.
pub(super) fn spoken(
    heard: &[HookResult],
    field: impl Fn(&Reply) -> Option<&String>,
) -> Vec<HookMessage> {
    let mut all: Vec<HookMessage> = replies(heard)
        .filter_map(|(hook_id, reply)| {
            let text = field(reply).filter(|text| !text.is_empty())?.clone();
            Some(HookMessage { hook: hook_id.name.clone(), text })
        })
        .collect();
    all.sort();
    all.dedup();
    all
}

/// The combined replies of all hooks after a call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PostResult {
    /// For the agent, sorted.
    pub context: Vec<HookMessage>,
    /// For the person, sorted.
    pub messages: Vec<HookMessage>,
    /// Why the agent should stop.
    pub stop: Option<HookMessage>,
    /// The hooks that change the output, sorted.
    pub redacted_by: Vec<HookId>,
    /// Why the output is withheld: a hook failed, or two hooks disagree.
    pub withheld: Option<String>,
    /// The replacement of the output.
    pub output: Replacement,
    /// Text to redact.
    pub redact: Vec<String>,
}

/// Combines the replies after a call.
pub fn post_result(heard: &[HookResult]) -> PostResult {
    let changes = |reply: &Reply| reply.output.is_some() || !reply.redact.is_empty();
    let mut redacted_by: Vec<HookId> = heard
        .iter()
        .filter(|one| one.result.as_ref().map_or(true, changes))
        .map(|one| one.hook_id.clone())
        .collect();
    redacted_by.sort();
    redacted_by.dedup();
    let replies = || heard.iter().filter_map(|one| one.result.as_ref().ok());
    let outputs = || replies().filter_map(|reply| reply.output.as_ref());
    let stdout = agreed(outputs().filter_map(|output| output.stdout.as_ref()));
    let stderr = agreed(outputs().filter_map(|output| output.stderr.as_ref()));
    let faults = heard.iter().filter_map(|one| {
        let fault = one.result.as_ref().err()?;
        Some(format!("the hook {:?} failed: {fault}", one.hook_id.name))
    });
    let quarrel = || "two hooks replace the output with different text".to_owned();
    let disagree = [&stdout, &stderr].into_iter().any(Result::is_err).then(quarrel);
    let withheld = faults.chain(disagree).min();
    let output =
        Replacement { stdout: stdout.unwrap_or_default(), stderr: stderr.unwrap_or_default() };
    PostResult {
        context: spoken(heard, |reply| reply.context.as_ref()),
        messages: spoken(heard, |reply| reply.message.as_ref()),
        stop: spoken(heard, |reply| reply.stop.as_ref()).into_iter().next(),
        redacted_by,
        withheld,
        output,
        redact: replies().flat_map(|reply| reply.redact.clone()).collect(),
    }
}

impl PostResult {
    /// The two streams as the caller gets them.
    pub fn passed(&self, stdout: &[u8], stderr: &[u8]) -> (Vec<u8>, Vec<u8>) {
        if let Some(why) = &self.withheld {
            return (format!("[stockade: output withheld: {why}]\n").into_bytes(), Vec::new());
        }
        let pass = |written: &[u8], new: &Option<String>| {
            redacted(new.as_ref().map_or(written, |text| text.as_bytes()), &self.redact)
        };
        (pass(stdout, &self.output.stdout), pass(stderr, &self.output.stderr))
    }
}

/// Redacts these texts, overlapping ones included.
pub fn redacted(bytes: &[u8], texts: &[String]) -> Vec<u8> {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for text in texts.iter().map(String::as_bytes).filter(|text| !text.is_empty()) {
        let found = bytes.windows(text.len()).enumerate().filter(|(_, window)| *window == text);
        ranges.extend(found.map(|(at, _)| (at, at.saturating_add(text.len()))));
    }
    ranges.sort_unstable();
    let mut kept = Vec::with_capacity(bytes.len());
    let mut from = 0_usize;
    let mut last_end = None;
    for (start, end) in ranges {
        if last_end.is_none_or(|last| start > last) {
            kept.extend_from_slice(bytes.get(from..start).unwrap_or_default());
            kept.extend_from_slice(REDACTED);
        }
        from = from.max(end);
        last_end = Some(last_end.map_or(end, |last: usize| last.max(end)));
    }
    kept.extend_from_slice(bytes.get(from..).unwrap_or_default());
    kept
}

/// The text that all replies agree on, if any gives one.
fn agreed<'t>(mut texts: impl Iterator<Item = &'t String>) -> Result<Option<String>, ()> {
    let Some(first) = texts.next() else { return Ok(None) };
    texts.all(|text| text == first).then(|| Some(first.clone())).ok_or(())
}
