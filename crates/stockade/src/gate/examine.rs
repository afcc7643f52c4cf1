//! From a call to a ruling and, where it may run, to the handles of what would run.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use super::{Cleared, Examined};
use crate::call::{Argv, BadArgv, Tool, ToolCall};
use crate::confine::Confinement;
use crate::inspect::{
    Axis, Command, Finding, Inspection, Inspector, NoProgram, Origin, Programs, Root, View,
    ViewError, Weight,
};
use crate::knowledge::{Knowledge, Word};
use crate::outcome::{Failure, chain};
use crate::policy::{By, Decision, Policy, Ruling, Variable};

/// What the gate would say to a call, and why: `check` shows it. Nothing is written or run.
#[derive(Debug)]
pub struct Examination {
    /// The decision with its grounds.
    pub ruling: Ruling,
    /// Every fact found, in the order of the axes.
    pub findings: Vec<Finding>,
    /// The words of every command in the call.
    pub commands: Vec<Vec<OsString>>,
    /// What would be kept of the run.
    pub confinement: Confinement,
}

/// Looks at calls by one policy, and leaves no trace.
#[derive(Debug)]
pub struct Examiner {
    root: Root,
    policy: Policy,
    programs: Programs,
}

impl Examiner {
    /// For the calls of one project.
    pub fn new(root: Root, policy: Policy) -> Self {
        Self { root, policy: policy.with_one_search_path(), programs: Programs::default() }
    }

    /// The project root that it looks from.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The policy by which it decides.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Looks at a call as [`Gate::judge`](super::Gate::judge) would.
    pub fn examine(&self, call: &ToolCall) -> Examination {
        let confinement = self.confinement(call);
        let (argv, origin, view) = match self.prepare(call) {
            Ok(prepared) => prepared,
            Err(finding) => {
                let findings = vec![finding];
                let ruling = self.policy.decide(&findings);
                return Examination { ruling, findings, commands: Vec::new(), confinement };
            }
        };
        let Inspection { commands, findings } = self.inspect(&argv, origin, &view);
        let mut ruling = self.policy.decide(&findings);
        let missing =
            matches!(commands.first().map(|first| &first.program), Some(Err(NoProgram::Missing)));
        if ruling.decision == Decision::Allow && missing {
            ruling = missing_ruling(&argv);
        }
        let words = |command: &Command<'_>| {
            command.words.iter().map(|word| word.text.to_os_string()).collect()
        };
        let commands = commands.iter().map(words).collect();
        Examination { ruling, findings, commands, confinement }
    }

    /// The same for the verdict: with handles in place of words.
    pub(super) fn examined(&self, call: &ToolCall) -> Examined {
        let raw = raw_words(&call.tool);
        let (argv, origin, view) = match self.prepare(call) {
            Ok(prepared) => prepared,
            Err(finding) => {
                let ruling = self.policy.decide(&[finding]);
                return Examined { ruling, cleared: Err(None), words: raw, program: None };
            }
        };
        let Inspection { mut commands, findings } = self.inspect(&argv, origin, &view);
        let ruling = self.policy.decide(&findings);
        let program =
            if commands.is_empty() { None } else { Some(commands.swap_remove(0).program) };
        drop(commands);
        let found = program.as_ref().is_some_and(Result::is_ok);
        let name = found.then(|| base_name(argv.program())).flatten();
        let words = argv.words().to_vec();
        if ruling.decision != Decision::Allow {
            return Examined { ruling, cleared: Err(None), words, program: name };
        }
        let Some(Ok(program)) = program else {
            let ruling = missing_ruling(&argv);
            return Examined {
                ruling,
                cleared: Err(Some(missing_failure(&argv))),
                words,
                program: name,
            };
        };
        let stdin = match &call.tool {
            Tool::Exec(exec) => exec.stdin.clone(),
            Tool::Line(_) | Tool::Unknown(_) | Tool::Malformed(_) => Vec::new(),
        };
        let script = program.script.as_ref().and_then(|_| c_path(program.found_at.as_os_str()));
        let cleared = match view.cwd().try_clone_to_owned() {
            Ok(cwd) => Ok(Cleared {
                call: call.id.clone(),
                argv,
                stdin,
                program: program.handle,
                script,
                cwd,
            }),
            Err(error) => Err(Some(Failure::new("open the working folder", error.to_string()))),
        };
        Examined { ruling, cleared, words, program: name }
    }

    /// Checks the form of a call and opens the folder in which it would run.
    fn prepare(&self, call: &ToolCall) -> Result<(Argv, Origin, View<'_>), Finding> {
        let origin = match &call.tool {
            Tool::Exec(_) => Origin::Argv,
            Tool::Line(_) if self.policy.settings.only.is_some() => Origin::Line,
            Tool::Line(_) => return Err(no_shell()),
            Tool::Unknown(name) => return Err(unknown_tool(name)),
            Tool::Malformed(why) => return Err(unreadable(why)),
        };
        let words = match &call.tool {
            Tool::Line(line) => split(&line.text).ok_or_else(|| unparseable(&line.text))?,
            Tool::Exec(_) | Tool::Unknown(_) | Tool::Malformed(_) => raw_words(&call.tool),
        };
        let argv = Argv::parse(words).map_err(|bad| malformed(&bad))?;
        let view = View::open(&self.root, call.cwd.as_deref()).map_err(|error| bad_cwd(&error))?;
        Ok((argv, origin, view))
    }

    fn inspect<'a>(&self, argv: &'a Argv, origin: Origin, view: &View<'_>) -> Inspection<'a> {
        let inspector = Inspector {
            settings: &self.policy.settings,
            programs: &self.programs,
            knowledge: Knowledge::shipped(),
        };
        inspector.inspect(Word::list(argv.words()), origin, view)
    }

    /// What a run of this call may touch and use; the caller can ask for less time only.
    pub(super) fn confinement(&self, call: &ToolCall) -> Confinement {
        let mut limits = self.policy.limits.clone();
        limits.wall = call.wall.map_or(limits.wall, |wall| wall.min(limits.wall));
        Confinement {
            limits,
            environment: environment(&self.policy),
            require: self.policy.require.clone(),
        }
    }
}

/// The variables of the run: the search path and what the policy lists.
fn environment(policy: &Policy) -> Vec<(OsString, OsString)> {
    let mut built: Vec<(OsString, OsString)> = Vec::new();
    let mut set = |name: &str, value: OsString| {
        built.retain(|(known, _)| known != name);
        built.push((OsString::from(name), value));
    };
    let folders: Vec<&OsStr> = policy.settings.search_path.iter().map(|p| p.as_os_str()).collect();
    set("PATH", folders.join(OsStr::new(":")));
    for variable in &policy.environment {
        match variable {
            Variable::Inherited(name) => {
                if let Some(value) = std::env::var_os(name) {
                    set(name, value);
                }
            }
            Variable::Set(name, value) => set(name, OsString::from(value)),
        }
    }
    built
}

fn raw_words(tool: &Tool) -> Vec<OsString> {
    match tool {
        Tool::Exec(exec) => exec.argv.clone(),
        Tool::Line(line) => split(&line.text).unwrap_or_default(),
        Tool::Unknown(_) | Tool::Malformed(_) => Vec::new(),
    }
}

/// Splits a line once, by the rules of quoting that a shell has, and by none of its others.
fn split(line: &OsStr) -> Option<Vec<OsString>> {
    let words = shlex::bytes::split(line.as_bytes())?;
    Some(words.into_iter().map(OsString::from_vec).collect())
}

fn base_name(path: &OsStr) -> Option<String> {
    Path::new(path).file_name()?.to_str().map(str::to_owned)
}

fn c_path(path: &OsStr) -> Option<CString> {
    CString::new(path.as_bytes()).ok()
}

fn call_finding(rule: &'static str, text: String, instead: &str) -> Finding {
    Finding {
        axis: Axis::Call,
        rule,
        text,
        argument: None,
        instead: Some(instead.to_owned()),
        listed: None,
        weight: Weight::Always,
    }
}

fn malformed(bad: &BadArgv) -> Finding {
    let finding =
        call_finding("argv", bad.to_string(), "pass long or binary data in a file or on stdin");
    Finding { argument: bad.argument(), ..finding }
}

fn unparseable(line: &OsStr) -> Finding {
    let text = format!("unparseable command: {line:?} has an open quote or a stray backslash");
    call_finding("unparseable", text, "close every quote")
}

fn no_shell() -> Finding {
    let text = "shell lines run only from an allow list here, and the policy has none".to_owned();
    call_finding(
        "no-shell",
        text,
        "use Exec with an argv; or shell --only LIST, policy key shell.only",
    )
}

fn unknown_tool(name: &str) -> Finding {
    let text = format!("there is no tool {:?} to run", name.chars().take(64).collect::<String>());
    call_finding("unknown-tool", text, "use Exec, or Bash with a list of allowed programs")
}

fn unreadable(why: &str) -> Finding {
    let shape = r#"send {"tool":"Exec","input":{"argv":["ls","."]},"id":"…","cwd":"…"}"#;
    call_finding("malformed", why.to_owned(), shape)
}

fn bad_cwd(error: &ViewError) -> Finding {
    let text = match error {
        ViewError::CwdOutside { .. } => error.to_string(),
        ViewError::OpenRoot { .. } | ViewError::OpenCwd { .. } => {
            format!("could not {}", chain(error))
        }
    };
    let finding = call_finding("cwd", text, "name an existing folder beneath the project root");
    Finding { axis: Axis::Path, ..finding }
}

fn missing_ruling(argv: &Argv) -> Ruling {
    let failure = missing_failure(argv);
    Ruling { argument: Some(0), ..Ruling::deny(By::Axis, "name/missing", failure.message) }
        .instead("name a program that is installed; bare names are looked up in exec.search_path")
}

fn missing_failure(argv: &Argv) -> Failure {
    let message = format!("executable not found: {:?} (argument 0)", argv.program());
    let mut failure = Failure::new("find the program", message)
        .remedy("install it, or name it by its path; bare names are looked up in exec.search_path");
    failure.no_such_program = true;
    failure
}
