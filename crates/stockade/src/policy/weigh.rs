//! One call, one decision: findings, rules, the mode and the box weighed against each other.
//!
//! Everything that matters is in [`Case`], so that `docs/modes.md` can list every one of them.

use super::{Decision, Mode};

/// All that the decision about one call depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// How much is done without a question.
    pub mode: Mode,
    /// What the call does.
    pub kind: Kind,
    /// Whether it writes what nobody should write by the way.
    pub reach: Reach,
    /// What inspection made of it: nothing, a question, or a refusal.
    pub found: Decision,
    /// What the rules say.
    pub rule: Option<Said>,
    /// What holds it while it runs.
    pub hold: Hold,
}

/// What a call does, as far as that can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
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
pub enum Said {
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
pub enum Hold {
    /// A box that has to be kept, or nothing runs.
    Box,
    /// No box, and the strict profile: the axes refused all that they know to be dangerous.
    Axes,
    /// Neither.
    Nothing,
}

/// What a decision rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
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
pub fn weigh(case: Case) -> (Decision, Ground) {
    let (decision, ground) = before_silence(case);
    match (decision, case.mode) {
        // Nobody is asked in this mode.
        (Decision::Ask, Mode::DontAsk) => (Decision::Deny, ground),
        (decision, _) => (decision, ground),
    }
}

/// Whether a question was spared because a box holds the call.
pub fn is_spared(case: Case, without_box: Hold) -> bool {
    let asked = || weigh(Case { hold: without_box, ..case }).0 == Decision::Ask;
    case.hold == Hold::Box && weigh(case).0 == Decision::Allow && asked()
}

/// Whether a call is allowed only because it changes nothing: it would not be if it might.
pub fn rests_on_reading(case: Case) -> bool {
    let allows = |kind| weigh(Case { kind, ..case }).0 == Decision::Allow;
    case.kind == Kind::Reads && allows(Kind::Reads) && !allows(Kind::Runs)
}

fn before_silence(case: Case) -> (Decision, Ground) {
    let by_mode = by_mode(case);
    match (case.found, case.rule) {
        (_, Some(Said::Deny)) => (Decision::Deny, Ground::Rule),
        (Decision::Deny, _) => (Decision::Deny, Ground::Finding),
        // In a mode for looking around an edit is refused, whatever allows it elsewhere.
        _ if by_mode == Decision::Deny && case.mode == Mode::Plan => (Decision::Deny, Ground::Mode),
        (Decision::Ask, _) => (Decision::Ask, Ground::Finding),
        (Decision::Allow, Some(Said::AskPart)) => (Decision::Ask, Ground::Rule),
        (Decision::Allow, Some(Said::AskTool)) if !skips_whole_tools(case) => {
            (Decision::Ask, Ground::Rule)
        }
        _ if asks_for_protected(case) => (Decision::Ask, Ground::Protected),
        (Decision::Allow, Some(Said::Allow)) => (Decision::Allow, Ground::Rule),
        (Decision::Allow, Some(Said::AskTool) | None) => (by_mode, Ground::Mode),
    }
}

/// A rule that asks about every call of a tool was written by somebody who had no box.
fn skips_whole_tools(case: Case) -> bool {
    match case.mode {
        Mode::Auto => case.hold == Hold::Box,
        Mode::Bypass => true,
        Mode::Default | Mode::AcceptEdits | Mode::Plan | Mode::DontAsk => false,
    }
}

/// Rules that allow do not mean these paths. A box keeps them as they are, whatever it lets run.
fn asks_for_protected(case: Case) -> bool {
    let lets = match case.mode {
        Mode::Auto => case.hold == Hold::Box,
        Mode::Bypass => true,
        Mode::Default | Mode::AcceptEdits | Mode::Plan | Mode::DontAsk => false,
    };
    case.reach == Reach::Protected && !lets
}

/// What the mode says where nothing else does.
fn by_mode(case: Case) -> Decision {
    let Case { mode, kind, hold, .. } = case;
    match (mode, kind) {
        (_, Kind::Reads) => Decision::Allow,
        (Mode::Bypass, _) => Decision::Allow,
        (Mode::Plan, Kind::Edits) => Decision::Deny,
        (Mode::AcceptEdits | Mode::Auto, Kind::Edits) => Decision::Allow,
        (Mode::Auto, Kind::Runs) if hold != Hold::Nothing => Decision::Allow,
        (Mode::Default | Mode::AcceptEdits | Mode::Plan | Mode::Auto | Mode::DontAsk, _) => {
            Decision::Ask
        }
    }
}
