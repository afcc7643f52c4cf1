//! From an event to a decision: the policy of its project, the gate, and the box for shell lines.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use stockade::call::{CallId, Foreign, Line, Tool};
use stockade::policy::rule::{Facts, Part};
use stockade::policy::{By, Decision, Mode, Ruling};
use stockade::tier::Tier;
use stockade::{Policy, Stockade, ToolCall};

use super::answer::{Answer, Decided, told};
use super::boxed::{Wrapping, unwrapped};
use super::event::{AgentMode, ToolEvent};
use super::project::Clues;
use crate::args::{Answered, HookOptions};
use crate::setup::{self, SetupError};

/// Decides about the use of a tool, and writes that into the journal.
pub(super) fn judge(event: ToolEvent, options: &HookOptions) -> Result<Answer, JudgeError> {
    let here = std::env::current_dir().map_err(JudgeError::Here)?;
    let cwd = event.cwd.as_ref().map_or_else(|| here.clone(), |cwd| here.join(cwd));
    let root = match &options.root {
        Some(root) => here.join(root),
        None => Clues::new(cwd.clone(), options.format).root(),
    };
    let policy = setup::hook_policy(options, &root)?;
    let matter = Matter { event, options, cwd, root };
    if matter.event.tool == "Bash" { matter.line(policy) } else { matter.foreign(policy) }
}

/// One event, in its project.
struct Matter<'o> {
    event: ToolEvent,
    options: &'o HookOptions,
    cwd: PathBuf,
    root: PathBuf,
}

impl Matter<'_> {
    /// A tool of the agent: rules decide about it. What none of them is about, the agent decides as
    /// it would without us; no mode of ours allows or asks in its place.
    fn foreign(self, policy: Policy) -> Result<Answer, JudgeError> {
        let mode = policy.mode;
        let ToolEvent { tool, input, .. } = &self.event;
        let tool = Tool::Unknown(Foreign { name: tool.clone(), input: input.clone() });
        let ruling = self.ruling(policy, tool)?;
        let is_agents = match (ruling.decision, ruling.by) {
            (Decision::Deny, _) => false,
            (Decision::Allow, by) => !matches!(by, By::Rule | By::Hook),
            (Decision::Ask, By::Mode) => mode != Mode::Plan,
            (Decision::Ask, By::Rule | By::Axis | By::Hook | By::Default) => false,
        };
        if is_agents {
            return Ok(Answer::Silent);
        }
        let reason = told(&ruling);
        Ok(Answer::Decided(Decided { decision: ruling.decision, reason, input: None }))
    }

    /// A shell line: judged as `stockade shell` would, and put into the box.
    fn line(self, mut policy: Policy) -> Result<Answer, JudgeError> {
        let Some(line) = self.event.input.get("command").and_then(Value::as_str) else {
            return Err(JudgeError::NoCommand);
        };
        let asks_nobody = self.tighten(&mut policy);
        let (mode, is_boxed) = (policy.mode, policy.tier >= Tier::Jail);
        if is_boxed {
            // The line asks them when it runs.
            policy.hooks.clear();
        }
        let program = program()?;
        // Without a box the line stays as it is, and so it is judged as it is.
        let line = if is_boxed { unwrapped(line, &program) } else { line.to_owned() };
        let parameter = self.parameter_rule(&policy);
        let tool = Tool::Line(Line { text: line.clone().into() });
        let mut ruling = self.ruling(policy, tool)?;
        if let Some(parameter) = parameter.filter(|one| one.decision > ruling.decision) {
            ruling = parameter;
        }
        if ruling.decision == Decision::Ask && asks_nobody {
            ruling.decision = Decision::Deny;
        }
        let answered = match ruling.decision {
            Decision::Deny => return Ok(Answer::Decided(Decided::deny(told(&ruling)))),
            Decision::Ask => Answered::Yes,
            Decision::Allow => Answered::None,
        };
        let reason = told(&ruling);
        let input = if is_boxed {
            let (root, cwd, options) = (&self.root, &self.cwd, self.options);
            let wrapping = Wrapping { program: &program, root, cwd, mode, options };
            let wrapped = wrapping.of(&line, answered).ok_or(JudgeError::TooLong)?;
            Some(self.with_command(wrapped))
        } else {
            None
        };
        Ok(Answer::Decided(Decided { decision: ruling.decision, reason, input }))
    }

    /// The mode of the agent can make ours stricter and never looser: `plan` and `dontAsk` are
    /// restrictions that a person chose there; the others are what the policy decides about. Says
    /// whether questions are refusals besides.
    fn tighten(&self, policy: &mut Policy) -> bool {
        let agents = match self.event.mode {
            None => return false,
            Some(AgentMode::Unknown) => Mode::Default,
            Some(AgentMode::Known(mode @ (Mode::Plan | Mode::DontAsk))) => mode,
            Some(AgentMode::Known(
                Mode::Default | Mode::AcceptEdits | Mode::Auto | Mode::Bypass,
            )) => return false,
        };
        // Both at once: what one refuses is refused, and nobody is asked.
        let both = [policy.mode, agents];
        if both.contains(&Mode::Plan) && both.contains(&Mode::DontAsk) {
            policy.mode = Mode::Plan;
            return true;
        }
        if agents > policy.mode {
            policy.mode = agents;
        }
        false
    }

    /// What rules say about the other fields of the input, as `Bash(run_in_background:true)`.
    fn parameter_rule(&self, policy: &Policy) -> Option<Ruling> {
        let mut facts = Facts::new("Bash", &self.cwd);
        facts.set_parameters(&self.event.input);
        let found = policy.rules.decide(&facts)?;
        let mut ruling = match found.part {
            Part::Parameter(_) => Ruling::from(found),
            Part::Tool | Part::Command(_) | Part::Read(_) | Part::Write(_) | Part::Host(_) => {
                return None;
            }
        };
        if ruling.decision == Decision::Ask && policy.mode == Mode::DontAsk {
            ruling.decision = Decision::Deny;
        }
        Some(ruling)
    }

    fn ruling(&self, policy: Policy, tool: Tool) -> Result<Ruling, JudgeError> {
        let journal = setup::journal(self.options.journal.as_deref())?;
        let mut call = ToolCall::of(tool).in_folder(&self.cwd);
        if let Some(id) = self.event.id.as_deref().and_then(CallId::parse) {
            call.id = id;
        }
        let gate = Stockade::adviser(&self.root, policy, &journal).map_err(SetupError::Open)?;
        let examination = gate.advise(&call).map_err(JudgeError::Journal)?;
        Ok(examination.ruling)
    }

    /// The whole input, with another command.
    fn with_command(&self, command: String) -> Map<String, Value> {
        let mut input = self.event.input.clone();
        input.insert("command".to_owned(), Value::String(command));
        input
    }
}

/// Where this program is, by a path that is there.
pub(crate) fn program() -> Result<String, JudgeError> {
    let path = std::env::current_exe().map_err(JudgeError::Program)?;
    let path = path.into_os_string().into_string().map_err(|_bytes| JudgeError::ProgramName)?;
    if Path::new(&path).is_file() { Ok(path) } else { Err(JudgeError::ProgramName) }
}

/// Why nothing could be decided.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JudgeError {
    #[error("find the current folder")]
    Here(#[source] std::io::Error),
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error(transparent)]
    Journal(stockade::journal::JournalError),
    #[error("read the call: tool_input has no command that is a text")]
    NoCommand,
    #[error(
        "put the line into the box: it is too long, or a path is no text; put it into a script"
    )]
    TooLong,
    #[error("find this program")]
    Program(#[source] std::io::Error),
    #[error("find this program: it was moved, or its path is no text")]
    ProgramName,
}
