//! Decides about one call from findings, rules, the mode and the sandbox.
//!
//! Everything that matters is in [`Situation`], so that `docs/modes.md` can list every one of them.

use super::{Decision, Mode};

/// Everything that the decision about one call depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Situation {
    /// How much is done without a question.
    pub mode: Mode,
    /// What the call does.
    pub kind: CallKind,
    /// Whether it writes what nobody should write by the way.
    pub reach: Reach,
    /// What inspection made of it: nothing, a question, or a refusal.
    pub found: Decision,
    /// What the rules say.
    pub rule: Option<RuleAnswer>,
    /// What holds it while it runs.
    pub hold: Containment,
}

/// What a call does, as far as that can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    /// It changes nothing.
    Reads,
    /// It makes, changes, moves or removes files in the folders of the work, and nothing else.
    Edits,
    /// Anything: it runs programs of which that cannot be shown.
    Runs,
}

/// Where its writes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Nowhere special.
    Usual,
    /// To a protected path: what is written there runs later, outside of any box.
    Protected,
}

/// What the rules say about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleAnswer {
    /// All of it is allowed.
    Allow,
    /// Every call of the tool is asked about: `Bash` in the list, without a pattern.
    AskTool,
    /// Something that it does is asked about: `Bash(git push *)`.
    AskPart,
    /// Some of it is refused.
    Deny,
}

/// What holds a call while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Containment {
    /// A box that has to be kept, or nothing runs.
    Box,
    /// No box, and the strict profile: the axes refused all that they know to be dangerous.
    Axes,
    /// Neither.
    Nothing,
}

/// What a decision rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// What inspection found.
    Finding,
    /// A rule.
    Rule,
    /// Writes to a protected path.
    Protected,
    /// The mode.
    Mode,
    /// A hook that wants a person to say. Hooks are asked after all else is weighed.
    Hook,
}

/// Weighs a call. Deny, then ask, then allow; what none of them settles, the mode does.
pub fn weigh(case: Situation) -> (Decision, Basis) {
    let (decision, basis) = before_silence(case);
    match (decision, case.mode) {
        // Nobody is asked in this mode.
        (Decision::Ask, Mode::DontAsk) => (Decision::Deny, basis),
        (decision, _) => (decision, basis),
    }
}

/// Whether a question was spared because a box holds the call.
pub fn is_spared(case: Situation, without_box: Containment) -> bool {
    let asked = || weigh(Situation { hold: without_box, ..case }).0 == Decision::Ask;
    case.hold == Containment::Box && weigh(case).0 == Decision::Allow && asked()
}

/// Whether a call is allowed only because it changes nothing: it would not be if it might.
pub fn rests_on_reading(case: Situation) -> bool {
    let allows = |kind| weigh(Situation { kind, ..case }).0 == Decision::Allow;
    case.kind == CallKind::Reads && allows(CallKind::Reads) && !allows(CallKind::Runs)
}

fn before_silence(case: Situation) -> (Decision, Basis) {
    let by_mode = by_mode(case);
    match (case.found, case.rule) {
        (_, Some(RuleAnswer::Deny)) => (Decision::Deny, Basis::Rule),
        (Decision::Deny, _) => (Decision::Deny, Basis::Finding),
        // In a mode for looking around an edit is refused, whatever allows it elsewhere.
        _ if by_mode == Decision::Deny && case.mode == Mode::Plan => (Decision::Deny, Basis::Mode),
        (Decision::Ask, _) => (Decision::Ask, Basis::Finding),
        (Decision::Allow, Some(RuleAnswer::AskPart)) => (Decision::Ask, Basis::Rule),
        (Decision::Allow, Some(RuleAnswer::AskTool)) if !skips_whole_tools(case) => {
            (Decision::Ask, Basis::Rule)
        }
        _ if asks_for_protected(case) => (Decision::Ask, Basis::Protected),
        (Decision::Allow, Some(RuleAnswer::Allow)) => (Decision::Allow, Basis::Rule),
        (Decision::Allow, Some(RuleAnswer::AskTool) | None) => (by_mode, Basis::Mode),
    }
}

/// A rule that asks about every call of a tool was written by somebody who had no box.
fn skips_whole_tools(case: Situation) -> bool {
    match case.mode {
        Mode::Auto => case.hold == Containment::Box,
        Mode::Bypass => true,
        Mode::Default | Mode::AcceptEdits | Mode::Plan | Mode::DontAsk => false,
    }
}

/// Rules that allow do not mean these paths. A box keeps them as they are, whatever it lets run.
fn asks_for_protected(case: Situation) -> bool {
    let lets = match case.mode {
        Mode::Auto => case.hold == Containment::Box,
        Mode::Bypass => true,
        Mode::Default | Mode::AcceptEdits | Mode::Plan | Mode::DontAsk => false,
    };
    case.reach == Reach::Protected && !lets
}

/// What the mode says where nothing else does.
fn by_mode(case: Situation) -> Decision {
    let Situation { mode, kind, hold, .. } = case;
    match (mode, kind) {
        (_, CallKind::Reads) => Decision::Allow,
        (Mode::Bypass, _) => Decision::Allow,
        (Mode::Plan, CallKind::Edits) => Decision::Deny,
        (Mode::AcceptEdits | Mode::Auto, CallKind::Edits) => Decision::Allow,
        (Mode::Auto, CallKind::Runs) if hold != Containment::Nothing => Decision::Allow,
        (Mode::Default | Mode::AcceptEdits | Mode::Plan | Mode::Auto | Mode::DontAsk, _) => {
            Decision::Ask
        }
    }
}
