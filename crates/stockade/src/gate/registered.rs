//! Registered tools: their input is held to its schema, and what runs is what was declared.

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::Value;

use super::complaint;
use super::examine::{Examination, Examined, Examiner};
use super::foreign::shown;
use super::permit::{Cleared, Folder, InlineWork, Opened, StandardInput, Work};
use super::ruled::Doubt;
use crate::call::{Argv, Foreign, Tool, ToolCall};
use crate::confine::{Confinement, Network};
use crate::inspect::View;
use crate::outcome::Failure;
use crate::policy::tool::{Declaration, Risk};
use crate::policy::weigh::Kind;
use crate::policy::{Act, Decision, Judgement, Profile, Ruling};
use crate::registry::{Registered, Works};

impl Examiner {
    /// The registered tool that a call is for.
    pub fn registered(&self, call: &ToolCall) -> Option<&Registered> {
        match &call.tool {
            Tool::Unknown(foreign) => self.registry().get(&foreign.name),
            Tool::Exec(_) | Tool::Line(_) | Tool::Code(_) | Tool::File(_) | Tool::Malformed(_) => {
                None
            }
        }
    }

    /// Looks at a call of a registered tool, and clears what would run.
    pub(super) fn examined_registered(
        &self,
        call: &ToolCall,
        foreign: &Foreign,
        tool: &Registered,
    ) -> Examined {
        let declaration = &tool.declaration;
        let wrong = declaration.input.check(&Value::Object(foreign.input.clone()));
        if !wrong.is_empty() {
            return self.unprepared(call, complaint::bad_input(&declaration.name, &wrong));
        }
        let view = match View::open(self.root(), call.cwd.as_deref()) {
            Ok(view) => view,
            Err(error) => return self.unprepared(call, complaint::bad_cwd(&error)),
        };
        let policy = self.policy();
        let shown = shown(call, &[], &view, self.home());
        let rule = policy.rules.decide(&shown.facts);
        let rule = rule.map(|found| (found.clone(), Ruling::from(found)));
        // Who declares a program in a file of their own has decided that it may run.
        let profile = Profile::Strict;
        let found = policy.found(&[], profile);
        let judged = policy.judge_in(declaration.tier, found, rule, &act(declaration), profile);
        let Judgement { ruling, ground, spared, .. } = judged;
        let question =
            (ruling.decision == Decision::Ask).then_some(Doubt { ground, facts: shown.facts });
        let cleared = if ruling.decision == Decision::Deny {
            Err(None)
        } else {
            self.work(call, foreign, tool, &view).map_err(Some)
        };
        let examination = Examination {
            ruling,
            findings: Vec::new(),
            commands: Vec::new(),
            changes_nothing: false,
            confinement: self.confinement_of_tool(call, tool),
            spared,
            exclude: Vec::new(),
        };
        let name = OsString::from(declaration.name.as_str());
        let input = OsString::from(foreign.input_text());
        let shown = vec![vec![name.clone()]];
        let program = Some(declaration.name.to_string());
        Examined { examination, cleared, words: vec![name, input], shown, program, question }
    }

    /// What a tool may touch and use: no more than its risks say.
    fn confinement_of_tool(&self, call: &ToolCall, tool: &Registered) -> Confinement {
        let Declaration { tier, limits, risks, .. } = &tool.declaration;
        let mut confinement = self.confinement(call);
        confinement.limits = limits.clone();
        let wall = call.wall.unwrap_or(limits.wall);
        confinement.limits.wall = limits.wall.min(wall);
        // What is required of boxes says nothing about the host's own code.
        confinement.require = match &tool.works {
            Works::Inline(_) => std::collections::BTreeMap::new(),
            Works::Program { .. } => self.policy().required_in(*tier),
        };
        if !risks.contains(&Risk::Network) {
            confinement.network = Network::None;
        }
        if !risks.contains(&Risk::Writes) && !risks.contains(&Risk::Executes) {
            confinement.files.write = Vec::new();
        }
        if let Works::Program { reads, .. } = &tool.works {
            let beside = reads.iter().filter(|path| !path.starts_with(self.root().path()));
            confinement.files.read.extend(beside.cloned());
        }
        confinement
    }

    fn work(
        &self,
        call: &ToolCall,
        foreign: &Foreign,
        tool: &Registered,
        view: &View<'_>,
    ) -> Result<Work, Failure> {
        let words = match &tool.works {
            Works::Inline(closure) => {
                return Ok(Work::Inline(Box::new(InlineWork {
                    call: call.id.clone(),
                    closure: closure.clone(),
                    input: foreign.input.clone(),
                    cwd_path: view.cwd_path().to_owned(),
                })));
            }
            Works::Program { words, .. } => words,
        };
        if let Some(path) = tool.changed_file() {
            return Err(complaint::changed_tool(tool, path));
        }
        let argv = Argv::parse(words.clone())
            .map_err(|bad| Failure::new("start the tool", bad.to_string()))?;
        let (inspector, settings) = (self.inspector(), &self.policy().settings);
        let opened = inspector.programs.open(argv.program(), view, settings, inspector.knowledge);
        let program = match opened {
            Ok((handle, program)) => Some(Opened::of(handle, &program)),
            Err(_missing) if self.policy().runs_image_in(tool.declaration.tier) => None,
            Err(_missing) => return Err(complaint::no_tool_program(tool)),
        };
        let folder = view
            .cwd()
            .try_clone_to_owned()
            .map_err(|error| Failure::new("open the working folder", error.to_string()))?;
        let mut input = foreign.input_text().into_bytes();
        input.push(b'\n');
        let path: PathBuf = view.cwd_path().to_owned();
        Ok(Work::Program(Box::new(Cleared {
            call: call.id.clone(),
            argv,
            stdin: StandardInput::Piped(input),
            program,
            folder: Folder::Opened { handle: folder, path },
            tier: Some(tool.declaration.tier),
        })))
    }
}

/// What a tool does, as the mode sees it.
fn act(declaration: &Declaration) -> Act {
    let risks = &declaration.risks;
    let kind = if risks.contains(&Risk::Executes) || risks.contains(&Risk::Network) {
        Kind::Runs
    } else if risks.contains(&Risk::Writes) {
        Kind::Edits
    } else {
        Kind::Reads
    };
    Act { kind, protected: None, reaches_out: risks.contains(&Risk::Network) }
}
