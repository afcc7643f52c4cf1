//! `Code`: source for an interpreter in the sandbox. Reading it does not tell what it does.
//!
//! Only the language is known; for a shell script, also every command.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use crate::call::{Argv, Code, ToolCall};
use crate::confine::{Confinement, Leftovers};
use crate::gate::complaint;
use crate::gate::examiner::Examiner;
use crate::gate::judge::{Analysis, NoWork, Preview, Scene, Subject, Terms};
use crate::gate::permit::{ProgramWork, StandardInput, StartFolder, Work};
use crate::inspect::{Finding, LineInspection};
use crate::outcome::{Failure, FailureKind};
use crate::policy::Activity;

/// Source text and its language.
pub(in crate::gate) struct CodeSubject(Code);

impl Subject for CodeSubject {
    type Input<'c> = &'c Code;

    /// Code runs in its scratch folder, so a script is inspected as if it started in the root.
    fn folder(_: &ToolCall) -> Option<&Path> {
        None
    }

    fn analyse(scene: &Scene<'_>, code: &Code) -> Result<(Self, Analysis), Box<Finding>> {
        let LineInspection { commands, findings } = script(scene, code)?;
        let confinement = confinement(scene.examiner, scene.call);
        let policy = scene.examiner.policy();
        let terms = Terms::of(policy.tier, policy.shell_profile);
        let exclude = Vec::new();
        Ok((Self(code.clone()), Analysis { commands, findings, confinement, exclude, terms }))
    }

    fn changes_nothing(&self, _: &Scene<'_>, _: &Analysis, _: &Activity) -> bool {
        false
    }

    fn preview(&self, _: &Analysis) -> Preview {
        let Self(code) = self;
        let (program, _) = code.language.interpreter();
        let source = OsString::from_vec(code.source.clone());
        Preview {
            words: vec!["Code".into(), code.language.name().into(), source],
            commands: vec![vec![program.into()]],
            program: Some(program.to_owned()),
        }
    }

    fn clear(self, scene: &Scene<'_>) -> Result<Work, NoWork> {
        let Self(code) = self;
        let (name, arguments) = code.language.interpreter();
        let words = std::iter::once(name).chain(arguments.iter().copied());
        let argv = Argv::parse(words.map(OsString::from).collect())
            .map_err(|bad| Failure::new(FailureKind::StartInterpreter, bad.to_string()))?;
        let missing = || complaint::no_interpreter(code.language, name);
        let tier = scene.examiner.policy().tier;
        let program = scene.open_program(OsStr::new(name), tier, missing)?;
        Ok(Work::Program(Box::new(ProgramWork {
            call: scene.call.id.clone(),
            argv,
            stdin: StandardInput::Sealed(code),
            merges_output: scene.call.streams.merged,
            terminal: None,
            session: scene.call.session.clone(),
            program,
            folder: StartFolder::Scratch,
            tier: None,
        })))
    }
}

/// The commands of a shell script. For other languages no command is known.
fn script(scene: &Scene<'_>, code: &Code) -> Result<LineInspection, Box<Finding>> {
    if !code.language.is_shell() {
        return Ok(LineInspection { commands: Vec::new(), findings: Vec::new() });
    }
    let text = std::str::from_utf8(&code.source).ok().filter(|text| !text.contains('\0'));
    let text = text.ok_or_else(complaint::no_text)?;
    let examiner = scene.examiner;
    Ok(examiner.inspector().inspect_line(text, &examiner.setting(), &scene.resolver))
}

/// Like the confinement of other calls, but only the scratch folder can be written.
fn confinement(examiner: &Examiner, call: &ToolCall) -> Confinement {
    let mut confinement = examiner.confinement(call);
    let mut limits = examiner.policy().code_limits.strictest(&confinement.limits);
    limits.ask_for(call.wall);
    confinement.limits = limits;
    confinement.files.write = Vec::new();
    // What an interpreter has started ends with it.
    confinement.session = confinement.session.map(|_| Leftovers::End);
    confinement
}
