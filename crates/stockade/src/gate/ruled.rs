//! Findings, rules and the mode of one call, brought to one ruling.

use super::act::{act, writes};
use super::examine::Examiner;
use super::facts::Shown;
use crate::call::ToolCall;
use crate::confine::Files;
use crate::inspect::{Finding, Found, View};
use crate::policy::rule::Facts;
use crate::policy::weigh::Ground;
use crate::policy::{Decision, Judgement, Profile, Ruling};

/// The ruling on one call.
pub(super) struct Ruled {
    pub(super) ruling: Ruling,
    /// Whether there would be a question without the box.
    pub(super) spared: bool,
    /// Whether it may run only because it changes nothing, so that it gets no folder to write.
    pub(super) looks: bool,
    /// Set where there is a question.
    pub(super) question: Option<Doubt>,
}

/// What a question is about.
#[derive(Debug)]
pub(super) struct Doubt {
    /// What made it one.
    pub(super) ground: Ground,
    /// The call as rules see it.
    pub(super) facts: Facts,
}

impl Examiner {
    /// The ruling on a call with these commands and findings, held to this profile.
    pub(super) fn ruled(
        &self,
        call: &ToolCall,
        (commands, findings): (&[Found], &[Finding]),
        view: &View<'_>,
        (files, profile): (&Files, Profile),
    ) -> Ruled {
        let policy = self.policy();
        let found = policy.found(findings, profile);
        let show =
            || Shown::new(call.tool.name(), commands, view, self.home()).with_findings(findings);
        let has_rules = !policy.rules.all().is_empty();
        // The facts of a call cost looks at the disk, which most calls can do without.
        let shown = (has_rules || writes(commands)).then(show);
        let rule = shown.as_ref().and_then(|shown| {
            let found = policy.rules.decide(&shown.facts)?;
            let ruling = shown.ruling(found.clone(), findings);
            Some((found, ruling))
        });
        let facts = shown.as_ref().map(|shown| &shown.facts);
        let hold = |reaches_out| policy.hold(profile, reaches_out);
        let act = act(commands, findings, (facts, view), files, hold);
        let Judgement { ruling, ground, spared, looks } = policy.judge(found, rule, &act, profile);
        let question = (ruling.decision == Decision::Ask)
            .then(|| Doubt { ground, facts: shown.unwrap_or_else(show).facts });
        Ruled { ruling, spared, looks, question }
    }
}
