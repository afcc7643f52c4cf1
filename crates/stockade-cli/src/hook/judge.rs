//! From an event to a decision: the policy of its project, the gate, and the box for shell lines.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};
use stockade::call::{CallId, ExternalCall, ShellLine, Tool};
use stockade::gate::{Examination, Gate};
use stockade::inspect::CommandSummary;
use stockade::limits::Limits;
use stockade::policy::rules::{Facts, Part, is_shell};
use stockade::policy::{By, Decision, Mode, Ruling};
use stockade::shell::{NoShellInput, ShellInput, launching_field, shell_folder};
use stockade::tier::Tier;
use stockade::{Policy, Stockade, ToolCall};

use super::answer::{Answer, DecidedAnswer, told};
use super::boxed::{FolderCarry, Wrapping, unwrapped};
use super::event::{AgentMode, ToolEvent};
use super::own_session;
use super::patch_line::{applies_patch, patch_of};
use super::person::Answerer;
use super::project::{Clues, Project};
use crate::args::{Agent, HookOptions, PersonAnswer};
use crate::print;
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

/// The tool of Codex that starts a program and goes on talking to it.
const EXEC_COMMAND: &str = "exec_command";
/// The fields of an input that put a command into the background.
const BACKGROUND: [&str; 3] = ["run_in_background", "is_background", "background"];
/// The fields of an input that give a command so many milliseconds.
const TIMEOUTS: [&str; 2] = ["timeout", "timeout_ms"];

/// Decides about the use of a tool, and writes that into the journal.
pub(super) fn judge(event: ToolEvent, options: &HookOptions) -> Result<Answer, JudgeError> {
    let here = std::env::current_dir().map_err(JudgeError::Here)?;
    let cwd = event.cwd.as_ref().map_or_else(|| here.clone(), |cwd| here.join(cwd));
    let Project { root, note } = match &options.root {
        Some(root) => Project { root: here.join(root), note: None },
        None => Clues::new(cwd.clone(), options.format).project(),
    };
    let policy = setup::hook_policy(options, &root)?;
    let asked = Answerer::of(options.format, event.kind, event.mode);
    let is_line = is_shell(&event.tool) && !event.tool.starts_with(OF_SERVER);
    let matter = Matter { event, options, cwd, root, asked };
    let answer = if is_line { matter.line(policy)? } else { matter.foreign(policy)? };
    Ok(match note {
        Some(note) => {
            print::note(&note);
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
    asked: Answerer,
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
        let foreign = ExternalCall { name, input: std::mem::take(input) };
        self.left_or_decided(policy, (mode, foreign), &self.cwd)
    }

    /// What is said of a tool of the agent in this folder.
    fn left_or_decided(
        &self,
        policy: Policy,
        (mode, foreign): (Mode, ExternalCall),
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
                Ok(Answer::Decided(DecidedAnswer { decision: Decision::Allow, reason, input }))
            }
            (false, input) => {
                let input = input.filter(|_| ruling.decision != Decision::Deny);
                let reason = told(&ruling);
                Ok(Answer::Decided(DecidedAnswer { decision: ruling.decision, reason, input }))
            }
        }
    }

    /// A shell line: judged as `stockade shell` would, and put into the box.
    fn line(mut self, mut policy: Policy) -> Result<Answer, JudgeError> {
        let asks_nobody = self.tighten(&mut policy);
        let (mode, tier) = (policy.mode, policy.tier);
        let is_boxed = tier >= Tier::Jail;
        if is_boxed {
            // The line asks them when it runs.
            policy.hooks.clear();
        }
        let parameter = self.parameter_rule(&policy);
        let deadline = deadline(&self.event, &policy.limits);
        let program = program()?;
        let is_bash = self.event.tool == BASH;
        let find = if is_bash { ShellInput::find_text } else { ShellInput::find };
        let shell = find(&self.event.input).map_err(JudgeError::NoCommand)?;
        if let Some(field) = launching_field(&self.event.input) {
            return Err(JudgeError::Launching(field));
        }
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
        // What is typed goes to a program that runs, which no command can take the place of.
        let own = (!is_typed).then(|| self.own_session_command(tier, &line, &program)).flatten();
        if let Some(command) = own {
            let settle = |ruling| self.settled(ruling, parameter, asks_nobody);
            let ruling = self.own_session_ruling(policy, line, settle)?;
            return Ok(self.run_outside(&ruling, (shell, command)));
        }
        let tool = Tool::Line(ShellLine { text: line.clone().into() });
        let patch_policy = (self.options.format == Agent::Codex).then(|| policy.clone());
        let settle = |ruling| self.settled(ruling, parameter, asks_nobody);
        let (Examination { ruling, commands, .. }, _) =
            self.examined(policy, tool, &self.cwd, settle)?;
        if let Some(policy) = patch_policy
            && commands.iter().any(applies_patch)
        {
            return self.patch_line(&line, &commands, (policy, mode));
        }
        let answered = match ruling.decision {
            Decision::Deny => return Ok(Answer::Decided(DecidedAnswer::deny(told(&ruling)))),
            Decision::Ask => PersonAnswer::Yes,
            Decision::Allow => PersonAnswer::None,
        };
        if is_typed && ruling.decision == Decision::Allow {
            // The program that reads it was put into the sandbox when it was started.
            return Ok(Answer::Silent);
        }
        let reason = told(&ruling);
        let input = if is_boxed && !is_typed {
            let (root, cwd, options) = (&self.root, &self.cwd, self.options);
            let (session, folder) = (self.event.session.as_ref(), self.folder_carry());
            let session = session.filter(|_| tier == Tier::Jail);
            let program = &program;
            let wrapping =
                Wrapping { program, root, cwd, mode, options, deadline, session, folder };
            let wrapped = wrapping.of(&line, answered).ok_or(JudgeError::TooLong)?;
            shell.replace(&mut self.event.input, wrapped);
            Some(self.event.input)
        } else {
            None
        };
        Ok(Answer::Decided(DecidedAnswer { decision: ruling.decision, reason, input }))
    }

    /// A line about the agent's own session, as a command outside of the sandbox.
    fn own_session_command(&self, tier: Tier, line: &str, program: &str) -> Option<String> {
        let session = self.event.session.as_ref().filter(|_| tier == Tier::Jail)?;
        own_session::command(line, program, session, &self.root)
    }

    /// What is decided about such a line: the modes restrict what runs in a sandbox, so that only a rule, a
    /// finding or a hook is against it.
    fn own_session_ruling(
        &self,
        policy: Policy,
        line: String,
        settle: impl FnOnce(Ruling) -> Ruling,
    ) -> Result<Ruling, JudgeError> {
        let tool = Tool::Line(ShellLine { text: line.into() });
        let (gate, call) = self.adviser(policy, tool, &self.cwd)?;
        let settle = |found: Ruling| {
            settle(if found.by == By::Mode { own_session::ruling() } else { found })
        };
        let examination = gate.advise_beside_mode(&call, settle).map_err(JudgeError::Journal)?;
        Ok(examination.ruling)
    }

    fn run_outside(mut self, ruling: &Ruling, (shell, command): (ShellInput, String)) -> Answer {
        if ruling.decision == Decision::Deny {
            return Answer::Decided(DecidedAnswer::deny(told(ruling)));
        }
        shell.replace(&mut self.event.input, command);
        let (decision, reason) = (ruling.decision, told(ruling));
        Answer::Decided(DecidedAnswer { decision, reason, input: Some(self.event.input) })
    }

    /// The ruling on a line with what else is against it, and with who would answer a question.
    fn settled(&self, mut ruling: Ruling, parameter: Option<Ruling>, asks_nobody: bool) -> Ruling {
        if let Some(parameter) = parameter.filter(|one| one.decision > ruling.decision) {
            ruling = parameter;
        }
        if ruling.decision == Decision::Ask && asks_nobody {
            ruling.decision = Decision::Deny;
        }
        self.asked.settle(ruling)
    }

    /// How the directory in which the line ends is carried over. Claude Code asks its shell where it is;
    /// others name a directory for each line.
    fn folder_carry(&self) -> FolderCarry {
        if is_in_background(&self.event) {
            FolderCarry::None
        } else if self.options.format == Agent::Claude && self.event.tool == BASH {
            FolderCarry::ToShell
        } else {
            FolderCarry::InSession
        }
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
        commands: &[CommandSummary],
        (policy, mode): (Policy, Mode),
    ) -> Result<Answer, JudgeError> {
        let Some((patch, folder)) = patch_of(line, commands) else {
            let reason = "refused: a line that applies a patch together with other commands, or with a \
                          patch that is not written in it, cannot be judged\nrule: path/patch\ninstead: \
                          send the patch alone, as apply_patch <<'EOF' … EOF";
            return Ok(Answer::Decided(DecidedAnswer::deny(reason.to_owned())));
        };
        let input = Map::from_iter([("command".to_owned(), Value::String(patch))]);
        let foreign = ExternalCall { name: "apply_patch".to_owned(), input };
        self.left_or_decided(policy, (mode, foreign), &folder)
    }

    fn examined(
        &self,
        policy: Policy,
        tool: Tool,
        folder: &Path,
        settle: impl FnOnce(Ruling) -> Ruling,
    ) -> Result<(Examination, ToolCall), JudgeError> {
        let (gate, call) = self.adviser(policy, tool, folder)?;
        let examination = gate.advise_and(&call, settle).map_err(JudgeError::Journal)?;
        Ok((examination, call))
    }

    /// The gate for a call in this folder.
    fn adviser(
        &self,
        policy: Policy,
        tool: Tool,
        folder: &Path,
    ) -> Result<(Gate, ToolCall), JudgeError> {
        let journal = setup::journal(self.options.journal.as_deref())?;
        let mut call = ToolCall::of(tool).in_folder(folder);
        if let Some(id) = self.event.id.as_deref().and_then(CallId::parse) {
            call.id = id;
        }
        let gate = Stockade::adviser(&self.root, policy, &journal).map_err(SetupError::Open)?;
        Ok((gate, call))
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
    #[error(
        "hold the line in the sandbox: tool_input.{0} chooses the program that runs it, or its \
         environment; leave that field out, set variables in the line itself, or name a shell of the \
         system such as /bin/bash"
    )]
    Launching(String),
    #[error("find this program")]
    Program(#[source] std::io::Error),
    #[error("find this program: it was moved, or its path is no text")]
    ProgramName,
}

/// Whether an agent goes on while the line runs.
fn is_in_background(event: &ToolEvent) -> bool {
    let is_set = |field: &str| event.input.get(field).and_then(Value::as_bool) == Some(true);
    // Codex talks to such a program for as long as it runs.
    let is_kept = event.tool.eq_ignore_ascii_case(EXEC_COMMAND);
    is_kept || BACKGROUND.iter().any(|field| is_set(field))
}

/// The deadline that an agent gives a line: its own time-out, in milliseconds, or none of its own for a
/// command in the background.
fn deadline(event: &ToolEvent, limits: &Limits) -> Option<Duration> {
    let input = &event.input;
    if is_in_background(event) {
        return Some(limits.background_max);
    }
    let asked = TIMEOUTS.iter().find_map(|field| input.get(*field)?.as_u64());
    asked.map(|millis| Duration::from_millis(millis).min(limits.wall_max))
}
