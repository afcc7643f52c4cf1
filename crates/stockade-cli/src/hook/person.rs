//! Whether a question that a hook asks reaches a person. Where it may not, the answer is a refusal: an
//! agent that drops the question makes the call.

use std::ffi::OsStr;

use stockade::policy::{Decision, Mode, Ruling};

use super::event::{AgentMode, Kind};
use crate::args::Agent;

/// Who would answer a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answerer {
    /// A person, in the agent's own dialog.
    Person,
    /// Nobody, or nobody knows who, for this reason.
    Nobody(&'static str),
}

/// What becomes of a question, for each agent, event and mode. What is not in the table is not known,
/// and then nobody is asked.
///
/// `ask` of a hook was approved without a dialog by Claude Code in `bypassPermissions`
/// (anthropics/claude-code#77212) and by the classifier of `auto` (#51255, #53824); in `dontAsk` it is
/// a refusal. Codex knows no `ask` before a tool is used. A `PermissionRequest` comes right before the
/// agent's own dialog, and is left to it.
const TABLE: [(Agent, Kind, Mode, Answerer); 14] = [
    (Agent::Claude, Kind::PreToolUse, Mode::Default, Answerer::Person),
    (Agent::Claude, Kind::PreToolUse, Mode::AcceptEdits, Answerer::Person),
    (Agent::Claude, Kind::PreToolUse, Mode::Plan, Answerer::Person),
    (Agent::Claude, Kind::PreToolUse, Mode::Auto, Answerer::Nobody(CLASSIFIER)),
    (Agent::Claude, Kind::PreToolUse, Mode::DontAsk, Answerer::Nobody(SILENT)),
    (Agent::Claude, Kind::PreToolUse, Mode::Bypass, Answerer::Nobody(BYPASS)),
    (Agent::Claude, Kind::PermissionRequest, Mode::Default, Answerer::Person),
    (Agent::Claude, Kind::PermissionRequest, Mode::AcceptEdits, Answerer::Person),
    (Agent::Claude, Kind::PermissionRequest, Mode::Plan, Answerer::Person),
    (Agent::Claude, Kind::PermissionRequest, Mode::Auto, Answerer::Nobody(CLASSIFIER)),
    (Agent::Codex, Kind::PermissionRequest, Mode::Default, Answerer::Person),
    (Agent::Codex, Kind::PermissionRequest, Mode::AcceptEdits, Answerer::Person),
    (Agent::Codex, Kind::PermissionRequest, Mode::Plan, Answerer::Person),
    (Agent::Codex, Kind::PermissionRequest, Mode::Bypass, Answerer::Nobody(BYPASS)),
];

const BYPASS: &str = "the agent's mode bypassPermissions asks nobody";
const CLASSIFIER: &str = "the agent's mode auto lets a model answer";
const SILENT: &str = "the agent's mode dontAsk asks nobody";
const CODEX: &str = "a hook of this agent cannot ask";
const HEADLESS: &str = "the agent runs without a person (-p, or from a program)";
const UNKNOWN: &str = "it is not known that the agent asks one in its mode";

impl Answerer {
    /// About an event of this agent.
    pub(super) fn of(agent: Agent, kind: Kind, mode: Option<AgentMode>) -> Self {
        Self::started_by(std::env::var_os("CLAUDE_CODE_ENTRYPOINT").as_deref(), agent, kind, mode)
    }

    /// The same where Claude Code says how it was started: `cli` in a terminal, `sdk-cli` for `-p`, and
    /// `sdk-…` from a program.
    fn started_by(
        entrypoint: Option<&OsStr>,
        agent: Agent,
        kind: Kind,
        mode: Option<AgentMode>,
    ) -> Self {
        if (agent, kind) == (Agent::Codex, Kind::PreToolUse) {
            return Self::Nobody(CODEX);
        }
        let is_program =
            entrypoint.and_then(OsStr::to_str).is_some_and(|name| name.starts_with("sdk-"));
        if agent == Agent::Claude && is_program {
            return Self::Nobody(HEADLESS);
        }
        let Some(AgentMode::Known(mode)) = mode else { return Self::Nobody(UNKNOWN) };
        let row = TABLE.into_iter().find(|row| (row.0, row.1, row.2) == (agent, kind, mode));
        row.map_or(Self::Nobody(UNKNOWN), |row| row.3)
    }

    /// A ruling whose question reaches a person, or is a refusal.
    pub(super) fn settle(self, mut ruling: Ruling) -> Ruling {
        if let (Self::Nobody(why), Decision::Ask) = (self, ruling.decision) {
            let reason = ruling.reason.unwrap_or_default();
            let reason = format!("{reason}; a person would have to allow it, and {why}");
            ruling.reason = Some(reason);
            ruling.decision = Decision::Deny;
            let instead = "use what the rules allow, or ask the person for a rule, for the hook's mode \
                           auto, or to do it themselves";
            ruling.instead = Some(instead.to_owned());
        }
        ruling
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::{Agent, AgentMode, Answerer, Kind, Mode};

    const KINDS: [Kind; 2] = [Kind::PreToolUse, Kind::PermissionRequest];

    fn is_person(agent: Agent, kind: Kind, mode: Option<AgentMode>) -> bool {
        Answerer::started_by(None, agent, kind, mode) == Answerer::Person
    }

    #[test]
    fn only_modes_that_are_known_to_ask_ask() {
        for mode in Mode::ALL {
            let asks = matches!(mode, Mode::Default | Mode::AcceptEdits | Mode::Plan);
            let known = Some(AgentMode::Known(mode));
            for kind in KINDS {
                assert_eq!(is_person(Agent::Claude, kind, known), asks, "{mode} {kind:?}");
            }
            assert!(!is_person(Agent::Codex, Kind::PreToolUse, known), "{mode}");
            assert_eq!(is_person(Agent::Codex, Kind::PermissionRequest, known), asks, "{mode}");
        }
        for agent in [Agent::Claude, Agent::Codex] {
            for kind in KINDS {
                assert!(!is_person(agent, kind, None));
                assert!(!is_person(agent, kind, Some(AgentMode::Unknown)));
            }
        }
    }

    #[test]
    fn a_program_that_runs_the_agent_is_no_person() {
        for (entrypoint, expected) in
            [("cli", true), ("claude-vscode", true), ("sdk-cli", false), ("sdk-ts", false)]
        {
            let mode = Some(AgentMode::Known(Mode::Default));
            let asked = Answerer::started_by(
                Some(OsStr::new(entrypoint)),
                Agent::Claude,
                Kind::PreToolUse,
                mode,
            );
            assert_eq!(asked == Answerer::Person, expected, "{entrypoint}");
        }
    }
}
