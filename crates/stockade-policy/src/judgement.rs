//! From what was found, what the rules say and what the mode is to one ruling with its grounds.

use std::path::PathBuf;

use super::decide::{
    Basis, CallKind, Containment, Reach, RuleAnswer, Situation, is_spared, rests_on_reading, weigh,
};
use super::rules::{Match, Part};
use super::{By, Decision, Mode, Policy, Profile, Ruling};
use crate::confine::Origin;
use crate::guarantee::{Guarantee, Kept};
use crate::model::tier::Tier;

/// What a call does, as the mode sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activity {
    /// Whether it changes nothing, files of the work, or anything.
    pub kind: CallKind,
    /// A protected path that it writes.
    pub protected: Option<PathBuf>,
    /// Whether it names a host.
    pub reaches_out: bool,
}

/// A ruling, and what is to be known of it besides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// What was decided.
    pub ruling: Ruling,
    /// On what grounds.
    pub basis: Basis,
    /// Whether there would have been a question without the box.
    pub spared: bool,
    /// Whether it is allowed only because it changes nothing.
    pub looks: bool,
}

/// What keeps a call from the rest of the machine, if all of it has to be kept.
const CONTAINS: [Guarantee; 4] =
    [Guarantee::Writes, Guarantee::Reads, Guarantee::Processes, Guarantee::Privileges];

impl Policy {
    /// What holds a call of this profile. A call that names a host is not held by a box with the
    /// machine's own network.
    pub fn hold(&self, profile: Profile, reaches_out: bool) -> Containment {
        self.hold_in(self.tier, profile, reaches_out)
    }

    fn hold_in(&self, tier: Tier, profile: Profile, reaches_out: bool) -> Containment {
        if self.contains(tier) && (self.network.is_own() || !reaches_out) {
            Containment::Box
        } else {
            without_box(profile)
        }
    }

    /// Whether there is a box, and nothing runs unless it is kept.
    fn contains(&self, tier: Tier) -> bool {
        let required = self.required_in(tier);
        let is_kept = |guarantee: &Guarantee| {
            required.get(guarantee).is_some_and(|kept| *kept >= Kept::Partial)
        };
        let network = !self.network.is_own() || is_kept(&Guarantee::Network);
        tier >= Tier::Jail && network && CONTAINS.iter().all(is_kept)
    }

    /// Decides about a call: `found` is what inspection came to, `rule` what the rules say.
    pub fn judge(
        &self,
        found: Ruling,
        rule: Option<(Match, Ruling)>,
        act: &Activity,
        profile: Profile,
    ) -> Judgement {
        self.judge_in(self.tier, found, rule, act, profile)
    }

    /// The same about a call that runs in this tier.
    pub fn judge_in(
        &self,
        tier: Tier,
        found: Ruling,
        rule: Option<(Match, Ruling)>,
        act: &Activity,
        profile: Profile,
    ) -> Judgement {
        // Of two refusals, the one that names the argument says more than a shipped rule.
        let is_said =
            |found: &Match| found.origin == Origin::Shipped && found.decision == Decision::Deny;
        let is_refused = found.decision == Decision::Deny;
        let rule = rule.filter(|(found, _)| !(is_refused && is_said(found)));
        let said = rule.as_ref().map(|(found, _)| said(found));
        let reach = if act.protected.is_some() { Reach::Protected } else { Reach::Usual };
        let hold = self.hold_in(tier, profile, act.reaches_out);
        let (mode, kind) = (self.mode, act.kind);
        let case = Situation { mode, kind, reach, found: found.decision, rule: said, hold };
        let (decision, basis) = weigh(case);
        // A rule that rests on a finding asks each time, as the finding itself would.
        let is_found =
            rule.as_ref().is_some_and(|(found, _)| matches!(found.part, Part::Finding(_)));
        let on_finding = basis == Basis::Rule && is_found;
        let ruling = match (basis, rule) {
            (Basis::Rule, Some((_, ruling))) => ruling,
            (Basis::Finding, _) => found,
            (Basis::Protected, _) => protected(act),
            (Basis::Mode | Basis::Rule | Basis::Hook, _) => by_mode(case, decision),
        };
        let spared = is_spared(case, without_box(profile));
        let looks = rests_on_reading(case);
        let basis = if on_finding { Basis::Finding } else { basis };
        Judgement { ruling: silenced(ruling, decision, mode), basis, spared, looks }
    }
}

fn without_box(profile: Profile) -> Containment {
    match profile {
        Profile::Strict => Containment::Axes,
        Profile::Contained => Containment::Nothing,
    }
}

fn said(found: &Match) -> RuleAnswer {
    match (found.decision, &found.part) {
        (Decision::Deny, _) => RuleAnswer::Deny,
        (Decision::Ask, Part::Tool) => RuleAnswer::AskTool,
        (Decision::Ask, _) => RuleAnswer::AskPart,
        (Decision::Allow, _) => RuleAnswer::Allow,
    }
}

/// A question that nobody is asked.
pub fn silenced(mut ruling: Ruling, decision: Decision, mode: Mode) -> Ruling {
    if decision == Decision::Deny && ruling.decision == Decision::Ask {
        let reason = ruling.reason.unwrap_or_default();
        ruling.reason =
            Some(format!("{reason}; a person would have to allow it, and mode {mode} asks nobody"));
    }
    ruling.decision = decision;
    ruling
}

fn protected(act: &Activity) -> Ruling {
    let path = act.protected.clone().unwrap_or_default();
    let reason = format!(
        "it writes {path:?}, which is protected: code runs from it later, outside of any box"
    );
    let ruling = Ruling::deny(By::Axis, "path/protected", reason);
    Ruling { decision: Decision::Ask, ..ruling }
        .instead("leave the file as it is, or ask the person to change it")
}

fn by_mode(case: Situation, decision: Decision) -> Ruling {
    let mode = case.mode;
    if decision == Decision::Allow {
        return Ruling::allow(By::Mode);
    }
    let (reason, instead) = match (mode, case.kind) {
        (Mode::Plan, CallKind::Edits) => (
            "it changes files, and mode plan is for looking only".to_owned(),
            "read what is needed, and say what would be changed",
        ),
        (Mode::DontAsk, _) => (
            "no rule allows it, and mode dont-ask runs nothing else that may change something"
                .to_owned(),
            "use what the rules allow, or ask the person for a rule",
        ),
        (Mode::Auto, _) => (
            "no box contains it, so mode auto asks first".to_owned(),
            "use commands that only read, or ask the person to run it in the jail",
        ),
        (_, CallKind::Edits) => (
            format!("it changes files, and mode {mode} asks first"),
            "use commands that only read, or ask the person to allow it",
        ),
        (_, CallKind::Reads | CallKind::Runs) => (
            format!("it cannot be shown to change nothing, and mode {mode} asks first"),
            "use commands that only read, or ask the person to allow it",
        ),
    };
    let ruling = Ruling::deny(By::Mode, &format!("mode/{mode}"), reason).instead(instead);
    Ruling { decision, ..ruling }
}
