//! Registered tools: their input has to fit its schema, and what runs is what was declared.

use std::collections::BTreeMap;
use std::ffi::OsString;

use serde_json::Value;

use crate::call::{Argv, ExternalCall, ToolCall};
use crate::confine::{Confinement, Network};
use crate::gate::complaint;
use crate::gate::examiner::Examiner;
use crate::gate::judge::{Analysis, LazyFacts, NoWork, Preview, Scene, Subject, Terms};
use crate::gate::permit::{InlineWork, StandardInput, Work};
use crate::inspect::Finding;
use crate::outcome::{Failure, FailureKind};
use crate::policy::decide::CallKind;
use crate::policy::tools::{Declaration, Risk};
use crate::policy::{Activity, Profile};
use crate::registry::{RegisteredTool, ToolWork};

/// A call of a registered tool.
pub(in crate::gate) struct ToolSubject<'c> {
    pub(in crate::gate) input: &'c ExternalCall,
    pub(in crate::gate) tool: &'c RegisteredTool,
}

impl Subject for ToolSubject<'_> {
    type Input<'c> = Self;

    fn analyse(scene: &Scene<'_>, subject: Self) -> Result<(Self, Analysis), Box<Finding>> {
        let declaration = &subject.tool.declaration;
        let wrong = declaration.input.check(&Value::Object(subject.input.input.clone()));
        if !wrong.is_empty() {
            return Err(complaint::bad_input(&declaration.name, &wrong).into());
        }
        let analysis = Analysis {
            commands: Vec::new(),
            findings: Vec::new(),
            confinement: confinement(scene.examiner, scene.call, subject.tool),
            exclude: Vec::new(),
            // Whoever declares a program in their own file has decided that it may run.
            terms: Terms::of(declaration.tier, Profile::Strict),
        };
        Ok((subject, analysis))
    }

    fn activity(&self, _: &Scene<'_>, _: &Analysis, _: &LazyFacts<'_>) -> Activity {
        activity(&self.tool.declaration)
    }

    fn changes_nothing(&self, _: &Scene<'_>, _: &Analysis, _: &Activity) -> bool {
        false
    }

    fn preview(&self, _: &Analysis) -> Preview {
        let name = self.tool.declaration.name.to_string();
        Preview {
            words: vec![OsString::from(&name), self.input.input_text().into()],
            commands: vec![vec![OsString::from(&name)]],
            program: Some(name),
        }
    }

    fn clear(self, scene: &Scene<'_>) -> Result<Work, NoWork> {
        let Self { input, tool } = self;
        let words = match &tool.works {
            ToolWork::Inline(closure) => {
                return Ok(Work::Inline(Box::new(InlineWork {
                    call: scene.call.id.clone(),
                    closure: closure.clone(),
                    input: input.input.clone(),
                    cwd_path: scene.resolver.cwd_path().to_owned(),
                })));
            }
            ToolWork::Program { words, .. } => words,
        };
        if let Some(path) = tool.changed_file() {
            return Err(complaint::changed_tool(tool, path).into());
        }
        let argv = Argv::parse(words.clone())
            .map_err(|bad| Failure::new(FailureKind::StartTool, bad.to_string()))?;
        let tier = tool.declaration.tier;
        let missing = || complaint::no_tool_program(tool);
        let program = scene.open_program(argv.program(), tier, missing)?;
        let mut stdin = input.input_text().into_bytes();
        stdin.push(b'\n');
        let mut cleared = scene.cleared(argv, program, StandardInput::Piped(stdin))?;
        cleared.tier = Some(tier);
        Ok(Work::Program(Box::new(cleared)))
    }
}

/// The confinement of a tool: no more than its declared risks need.
fn confinement(examiner: &Examiner, call: &ToolCall, tool: &RegisteredTool) -> Confinement {
    let Declaration { tier, limits, risks, .. } = &tool.declaration;
    let mut confinement = examiner.confinement(call);
    confinement.limits = limits.clone();
    confinement.session = None;
    let wall = call.wall.unwrap_or(limits.wall);
    confinement.limits.wall = limits.wall.min(wall);
    // Requirements on sandboxes do not apply to the host's own code.
    confinement.require = match &tool.works {
        ToolWork::Inline(_) => BTreeMap::new(),
        ToolWork::Program { .. } => examiner.policy().required_in(*tier),
    };
    if !risks.contains(&Risk::Network) {
        confinement.network = Network::None;
    }
    if !risks.contains(&Risk::Writes) && !risks.contains(&Risk::Executes) {
        confinement.files.write = Vec::new();
    }
    if let ToolWork::Program { reads, .. } = &tool.works {
        let beside = reads.iter().filter(|path| !path.starts_with(examiner.root().path()));
        confinement.files.read.extend(beside.cloned());
    }
    confinement
}

/// What a tool does, by its declared risks.
fn activity(declaration: &Declaration) -> Activity {
    let risks = &declaration.risks;
    let kind = if risks.contains(&Risk::Executes) || risks.contains(&Risk::Network) {
        CallKind::Runs
    } else if risks.contains(&Risk::Writes) {
        CallKind::Edits
    } else {
        CallKind::Reads
    };
    Activity { kind, protected: None, reaches_out: risks.contains(&Risk::Network) }
}
