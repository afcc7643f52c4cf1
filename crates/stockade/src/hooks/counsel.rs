//! What several hooks say together: the strictest wins, and their order does not matter.

use std::cmp::Reverse;

use serde_json::{Map, Value};

use super::{Heard, Reply, Spoken, Voice};
use crate::policy::weigh::Ground;
use crate::policy::{By, Decision, Ruling};

/// What hooks say about a call before it is decided about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counsel {
    /// The strictest decision, and whose it is.
    pub opinion: Option<Opinion>,
    /// The new input, and all hooks that want it. None where the call is refused anyway.
    pub rewrite: Option<(Map<String, Value>, Vec<Voice>)>,
    /// Who would allow the call, the first by name.
    pub allowed_by: Option<Voice>,
    /// What the agent should know, sorted.
    pub context: Vec<Spoken>,
    /// What the person should see, sorted.
    pub messages: Vec<Spoken>,
    /// Why the agent should stop.
    pub stop: Option<Spoken>,
}

/// One decision of one hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opinion {
    /// What it decides.
    pub decision: Decision,
    /// Which hook.
    pub voice: Voice,
    /// Why, in words that name the hook.
    pub reason: String,
    /// Whether it is what a failure amounts to.
    pub is_fault: bool,
}

/// Brings together what hooks said before a call.
pub fn counsel(heard: &[Heard]) -> Counsel {
    let mut opinions: Vec<Opinion> = heard.iter().filter_map(Opinion::of).collect();
    let mut rewrites: Vec<(&Map<String, Value>, Voice)> = replies(heard)
        .filter(|(_, reply)| reply.decision != Some(Decision::Deny))
        .filter_map(|(voice, reply)| Some((reply.input.as_ref()?, voice.clone())))
        .collect();
    rewrites.sort_by(|a, b| a.1.cmp(&b.1));
    opinions.extend(quarrel(&rewrites));
    let opinion = opinions.into_iter().min_by(|a, b| a.place().cmp(&b.place()));
    let is_refused = opinion.as_ref().is_some_and(|one| one.decision == Decision::Deny);
    let rewrite = rewrites.first().map(|(input, _)| (*input).clone());
    let authors = || rewrites.iter().map(|(_, voice)| voice.clone()).collect();
    let allows = |reply: &Reply| reply.decision == Some(Decision::Allow);
    Counsel {
        opinion,
        rewrite: rewrite.filter(|_| !is_refused).map(|input| (input, authors())),
        allowed_by: replies(heard).filter(|(_, reply)| allows(reply)).map(|(v, _)| v.clone()).min(),
        context: spoken(heard, |reply| reply.context.as_ref()),
        messages: spoken(heard, |reply| reply.message.as_ref()),
        stop: spoken(heard, |reply| reply.stop.as_ref()).into_iter().next(),
    }
}

impl Counsel {
    /// What is said about a call that the first round rewrote, by those who were asked about the
    /// new one. Whoever writes a call knows it, so their consent goes along; nobody else's does.
    #[must_use]
    pub fn then(self, second: Self) -> Self {
        let authors = self.rewrite.as_ref().map_or(&[][..], |(_, authors)| authors);
        let consent = self.allowed_by.filter(|voice| authors.contains(voice));
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

    /// The ruling on a call with what hooks say to it. A refusal stays. A question is answered if it
    /// is one that a rule which allows would answer, too: what the mode asks, and not what a rule
    /// asks about, nor inspection, as for deletes that nobody takes back.
    pub fn heeded(&self, ruling: Ruling, ground: Option<Ground>) -> Ruling {
        let Some(opinion) = &self.opinion else { return ruling };
        match (opinion.decision, ruling.decision) {
            (_, Decision::Deny) => ruling,
            (Decision::Deny, Decision::Ask | Decision::Allow)
            | (Decision::Ask, Decision::Allow) => opinion.ruling(),
            (Decision::Allow, Decision::Ask) if ground == Some(Ground::Mode) => opinion.ruling(),
            (Decision::Allow | Decision::Ask, Decision::Ask)
            | (Decision::Allow, Decision::Allow) => ruling,
        }
    }
}

impl Opinion {
    /// A refusal in the name of this hook.
    pub fn refusal(voice: &Voice, reason: &str, is_fault: bool) -> Self {
        let name = &voice.name;
        let reason = match (is_fault, reason) {
            (true, why) => format!("the hook {name:?} failed, and then it is no: {why}"),
            (false, "") => format!("the hook {name:?} refuses this"),
            (false, why) => format!("the hook {name:?} refuses this: {why}"),
        };
        Self { decision: Decision::Deny, voice: voice.clone(), reason, is_fault }
    }

    fn allow(voice: Voice) -> Self {
        let reason = format!("the hook {:?} allows this", voice.name);
        Self { decision: Decision::Allow, voice, reason, is_fault: false }
    }

    fn of(heard: &Heard) -> Option<Self> {
        let reply = match &heard.result {
            Err(fault) => return Some(Self::refusal(&heard.voice, &fault.to_string(), true)),
            Ok(reply) => reply,
        };
        let why = reply.reason.as_deref().unwrap_or_default();
        Some(match reply.decision? {
            Decision::Deny => Self::refusal(&heard.voice, why, false),
            Decision::Allow => Self::allow(heard.voice.clone()),
            Decision::Ask => {
                let name = &heard.voice.name;
                let why = if why.is_empty() { String::new() } else { format!(": {why}") };
                Self {
                    decision: Decision::Ask,
                    voice: heard.voice.clone(),
                    reason: format!("the hook {name:?} wants a person to say{why}"),
                    is_fault: false,
                }
            }
        })
    }

    /// Where it stands among others: the strictest first, what was meant before what failed.
    fn place(&self) -> (Reverse<Decision>, bool, &Voice, &str) {
        (Reverse(self.decision), self.is_fault, &self.voice, &self.reason)
    }

    fn ruling(&self) -> Ruling {
        let repair = "nothing that the hook is for runs until it is repaired, or taken out";
        Ruling {
            decision: self.decision,
            by: By::Hook,
            rule: Some(self.voice.name.clone()),
            source: self.voice.source.clone(),
            reason: Some(self.reason.clone()).filter(|_| self.decision > Decision::Allow),
            instead: self.is_fault.then(|| repair.to_owned()),
            argument: None,
            span: None,
        }
    }
}

/// Two hooks that want different calls: neither gets its way, or their order would matter.
fn quarrel(rewrites: &[(&Map<String, Value>, Voice)]) -> Option<Opinion> {
    let (first, voice) = rewrites.first()?;
    let (_, other) = rewrites.iter().find(|(input, _)| input != first)?;
    let why = format!("it rewrites the call, and {:?} rewrites it to something else", other.name);
    Some(Opinion::refusal(voice, &why, false))
}

fn replies(heard: &[Heard]) -> impl Iterator<Item = (&Voice, &Reply)> {
    heard.iter().filter_map(|one| Some((&one.voice, one.result.as_ref().ok()?)))
}

/// What hooks say in one of their fields, sorted.
pub(super) fn spoken(heard: &[Heard], field: impl Fn(&Reply) -> Option<&String>) -> Vec<Spoken> {
    let mut all: Vec<Spoken> = replies(heard)
        .filter_map(|(voice, reply)| {
            let text = field(reply).filter(|text| !text.is_empty())?.clone();
            Some(Spoken { hook: voice.name.clone(), text })
        })
        .collect();
    all.sort();
    all.dedup();
    all
}
