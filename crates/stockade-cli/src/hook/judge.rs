//! From an event to a decision: the policy of its project, the gate, and the box for shell lines.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use stockade::call::{CallId, Foreign, Line, Tool};
use stockade::gate::Examination;
use stockade::inspect::Found;
use stockade::policy::rule::{Facts, Part, is_shell};
use stockade::policy::{By, Decision, Mode, Ruling};
use stockade::shell::{NoShellInput, ShellInput, shell_folder};
use stockade::tier::Tier;
use stockade::{Policy, Stockade, ToolCall};

use super::answer::{Answer, Decided, told};
use super::boxed::{Wrapping, unwrapped};
use super::event::{AgentMode, ToolEvent};
use super::patch_line::{applies_patch, patch_of};
use super::person::Asked;
use super::project::{Clues, Project};
use crate::args::{Agent, Answered, HookOptions};
use crate::render;
use crate::setup::{self, SetupError};

/// How the names of tools begin that a server runs. It may be on another machine, so that its command
/// lines are judged and not put into a sandbox of this one.
const OF_SERVER: &str = "mcp__";
/// The tool that runs lines by its name in Claude Code, and in what Codex tells hooks.
const BASH: &str = "Bash";
/// The tool of Codex that types into a program which an earlier call has started.
const WRITE_STDIN: &str = "write_stdin";
/// The tool of Claude Code that searches files.
const GREP: &str = "Grep";

/// Decides about the use of a tool, and writes that into the journal.
pub(super) fn judge(event: ToolEvent, options: &HookOptions) -> Result<Answer, JudgeError> {
    let here = std::env::current_dir().map_err(JudgeError::Here)?;
    let cwd = event.cwd.as_ref().map_or_else(|| here.clone(), |cwd| here.join(cwd));
    let Project { root, note } = match &options.root {
        Some(root) => Project { root: here.join(root), note: None },
        None => Clues::new(cwd.clone(), options.format).project(),
    };
    let policy = setup::hook_policy(options, &root)?;
    let asked = Asked::of(options.format, event.kind, event.mode);
    let is_line = is_shell(&event.tool) && !event.tool.starts_with(OF_SERVER);
    let matter = Matter { event, options, cwd, root, asked };
    let answer = if is_line { matter.line(policy)? } else { matter.foreign(policy)? };
    Ok(match note {
        Some(note) => {
            render::note(&note);
            answer.with_note(&note)
        }
        None => answer,
    })
}

/// One event, in its project.
struct Matter<'o> {
    event: ToolEvent,
    options: &'o HookOptions,
    cwd: PathBuf,
    root: PathBuf,
    /// Who would answer a question.
    asked: Asked,
}

impl Matter<'_> {
    /// A tool of the agent: rules decide about it. What none of them is about, the agent decides as
    /// it would without us; no mode of ours allows or asks in its place.
    fn foreign(mut self, policy: Policy) -> Result<Answer, JudgeError> {
        let mode = policy.mode;
        // The input may be large, and nothing else needs it.
        let ToolEvent { tool, input, .. } = &mut self.event;
        let mut name = tool.clone();
        if name == GREP && self.options.format != Agent::Claude {
            // A tool of this name is not known to leave files out.
            name = name.to_lowercase();
        }
        let foreign = Foreign { name, input: std::mem::take(input) };
        self.left_or_decided(policy, (mode, foreign), &self.cwd)
    }

    /// What is said of a tool of the agent in this folder.
    fn left_or_decided(
        &self,
        policy: Policy,
        (mode, foreign): (Mode, Foreign),
        folder: &Path,
    ) -> Result<Answer, JudgeError> {
        let settle = |ruling: Ruling| {
            if is_agents(&ruling, mode) { ruling } else { self.asked.settle(ruling) }
        };
        let (Examination { ruling, exclude, .. }, call) =
            self.examined(policy, Tool::Unknown(foreign), folder, settle)?;
        let input = if let Tool::Unknown(foreign) = call.tool
            && !exclude.is_empty()
        {
            Some(leaving_out(foreign.input, &exclude))
        } else {
            None
        };
        match (is_agents(&ruling, mode), input) {
            (true, None) => Ok(Answer::Silent),
            // The agent lets a search of the project pass without a question, too.
            (true, Some(input)) => {
                let reason = format!("allowed: the search leaves out {}", exclude.join(" "));
                let input = Some(input);
                Ok(Answer::Decided(Decided { decision: Decision::Allow, reason, input }))
            }
            (false, input) => {
                let input = input.filter(|_| ruling.decision != Decision::Deny);
                let reason = told(&ruling);
                Ok(Answer::Decided(Decided { decision: ruling.decision, reason, input }))
            }
        }
    }

    /// A shell line: judged as `stockade shell` would, and put into the box.
    fn line(mut self, mut policy: Policy) -> Result<Answer, JudgeError> {
        let asks_nobody = self.tighten(&mut policy);
        let (mode, is_boxed) = (policy.mode, policy.tier >= Tier::Jail);
        if is_boxed {
            // The line asks them when it runs.
            policy.hooks.clear();
        }
        let parameter = self.parameter_rule(&policy);
        let program = program()?;
        let is_bash = self.event.tool == BASH;
        let find = if is_bash { ShellInput::find_text } else { ShellInput::find };
        let shell = find(&self.event.input).map_err(JudgeError::NoCommand)?;
        // The line may be large: it is moved out of the input, and `replace` puts one back.
        let line = shell.take(&mut self.event.input);
        if let Some(folder) = shell_folder(&self.event.input).filter(|_| !is_bash) {
            self.cwd = self.cwd.join(folder);
        }
        let is_typed = self.event.tool.eq_ignore_ascii_case(WRITE_STDIN);
        if is_typed && line.chars().all(char::is_control) {
            return Ok(Answer::Silent);
        }
        // Without a box the line stays as it is, and so it is judged as it is.
        let line = if is_boxed { unwrapped(line, &program) } else { line };
        let tool = Tool::Line(Line { text: line.clone().into() });
        let patch_policy = (self.options.format == Agent::Codex).then(|| policy.clone());
        let settle = |mut ruling: Ruling| {
            if let Some(parameter) = parameter.filter(|one| one.decision > ruling.decision) {
                ruling = parameter;
            }
            if ruling.decision == Decision::Ask && asks_nobody {
                ruling.decision = Decision::Deny;
            }
            self.asked.settle(ruling)
        };
        let (Examination { ruling, commands, .. }, _) =
            self.examined(policy, tool, &self.cwd, settle)?;
        if let Some(policy) = patch_policy
            && commands.iter().any(applies_patch)
        {
            return self.patch_line(&line, &commands, (policy, mode));
        }
        let answered = match ruling.decision {
            Decision::Deny => return Ok(Answer::Decided(Decided::deny(told(&ruling)))),
            Decision::Ask => Answered::Yes,
            Decision::Allow => Answered::None,
        };
        if is_typed && ruling.decision == Decision::Allow {
            // The program that reads it was put into the sandbox when it was started.
            return Ok(Answer::Silent);
        }
        let reason = told(&ruling);
        let input = if is_boxed && !is_typed {
            let (root, cwd, options) = (&self.root, &self.cwd, self.options);
            let wrapping = Wrapping { program: &program, root, cwd, mode, options };
            let wrapped = wrapping.of(&line, answered).ok_or(JudgeError::TooLong)?;
            shell.replace(&mut self.event.input, wrapped);
            Some(self.event.input)
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
            Part::Tool
            | Part::Command(_)
            | Part::Read(_)
            | Part::Write(_)
            | Part::Host(_)
            | Part::Finding(_) => return None,
        };
        if ruling.decision == Decision::Ask && policy.mode == Mode::DontAsk {
            ruling.decision = Decision::Deny;
        }
        Some(ruling)
    }

    /// A line by which Codex applies a patch. Codex takes such a line for a call of its tool, whatever
    /// a box would make of it, so that it is judged as one and stays as it is.
    fn patch_line(
        &self,
        line: &str,
        commands: &[Found],
        (policy, mode): (Policy, Mode),
    ) -> Result<Answer, JudgeError> {
        let Some((patch, folder)) = patch_of(line, commands) else {
            let reason = "refused: a line that applies a patch together with other commands, or with a \
                          patch that is not written in it, cannot be judged\nrule: path/patch\ninstead: \
                          send the patch alone, as apply_patch <<'EOF' … EOF";
            return Ok(Answer::Decided(Decided::deny(reason.to_owned())));
        };
        let input = Map::from_iter([("command".to_owned(), Value::String(patch))]);
        let foreign = Foreign { name: "apply_patch".to_owned(), input };
        self.left_or_decided(policy, (mode, foreign), &folder)
    }

    fn examined(
        &self,
        policy: Policy,
        tool: Tool,
        folder: &Path,
        settle: impl FnOnce(Ruling) -> Ruling,
    ) -> Result<(Examination, ToolCall), JudgeError> {
        let journal = setup::journal(self.options.journal.as_deref())?;
        let mut call = ToolCall::of(tool).in_folder(folder);
        if let Some(id) = self.event.id.as_deref().and_then(CallId::parse) {
            call.id = id;
        }
        let gate = Stockade::adviser(&self.root, policy, &journal).map_err(SetupError::Open)?;
        let examination = gate.advise_and(&call, settle).map_err(JudgeError::Journal)?;
        Ok((examination, call))
    }
}

/// The input of a search with patterns for what it leaves out. The last pattern that fits a file decides,
/// so that nothing which the agent wrote selects it again.
fn leaving_out(mut input: Map<String, Value>, exclude: &[String]) -> Map<String, Value> {
    let given = input.get("glob").and_then(Value::as_str).unwrap_or_default();
    let given = Some(given.trim()).filter(|given| !given.is_empty());
    let all: Vec<&str> = given.into_iter().chain(exclude.iter().map(String::as_str)).collect();
    input.insert("glob".to_owned(), Value::String(all.join(" ")));
    input
}

/// Whether the agent decides as it would without us: no rule and no finding is about the call.
fn is_agents(ruling: &Ruling, mode: Mode) -> bool {
    match (ruling.decision, ruling.by) {
        (Decision::Deny, _) => false,
        (Decision::Allow, by) => !matches!(by, By::Rule | By::Hook),
        (Decision::Ask, By::Mode) => mode != Mode::Plan,
        (Decision::Ask, By::Rule | By::Axis | By::Hook | By::Default) => false,
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
    #[error("read the call")]
    NoCommand(#[source] NoShellInput),
    #[error(
        "put the line into the box: it is too long, or a path is no text; put it into a script"
    )]
    TooLong,
    #[error("find this program")]
    Program(#[source] std::io::Error),
    #[error("find this program: it was moved, or its path is no text")]
    ProgramName,
}
