//! `Bash`: a shell line, judged command by command, and run by a real bash.

use std::ffi::{OsStr, OsString};

use crate::call::{ARGUMENT_BYTES_MAX, Argv, ShellLine};
use crate::gate::complaint;
use crate::gate::judge::{Analysis, NoWork, Preview, Scene, Subject, Terms};
use crate::gate::permit::{StandardInput, Work};
use crate::inspect::{Finding, LineInspection, ProgramInput};

/// The shell that runs lines.
const SHELL: &str = "bash";

/// A line as an argument of the shell.
pub(in crate::gate) struct LineSubject(Argv);

impl Subject for LineSubject {
    type Input<'c> = &'c ShellLine;

    fn analyse(scene: &Scene<'_>, line: &ShellLine) -> Result<(Self, Analysis), Box<Finding>> {
        let Scene { examiner, call, resolver } = scene;
        let text = line.text.to_str().filter(|text| !text.contains('\0'));
        let text = text.ok_or_else(complaint::no_text)?;
        if text.len() >= ARGUMENT_BYTES_MAX {
            return Err(complaint::long_line(text.len()).into());
        }
        let argv = Argv::parse([SHELL, "-c", text].map(OsString::from).to_vec())
            .map_err(|bad| complaint::malformed(&bad))?;
        let mut setting = examiner.setting();
        if call.has_open_stdin() {
            setting.input = ProgramInput::Given;
        }
        let LineInspection { commands, mut findings } =
            examiner.inspector().inspect_line(text, &setting, resolver);
        let mut confinement = examiner.confinement(call);
        findings.extend(examiner.vanishing(&commands, resolver, &confinement.files));
        confinement.hints = examiner.hints(scene, &commands, &confinement.files);
        let policy = examiner.policy();
        let terms = Terms::of(policy.tier, policy.shell_profile);
        let exclude = Vec::new();
        Ok((Self(argv), Analysis { commands, findings, confinement, exclude, terms }))
    }

    fn preview(&self, analysis: &Analysis) -> Preview {
        let outer = analysis.commands.iter().filter(|found| found.via.is_empty());
        Preview {
            words: self.0.words().to_vec(),
            commands: outer.map(|found| found.words.clone()).collect(),
            program: Some(SHELL.to_owned()),
        }
    }

    fn clear(self, scene: &Scene<'_>) -> Result<Work, NoWork> {
        let tier = scene.examiner.policy().tier;
        let shell = scene.open_program(OsStr::new(SHELL), tier, complaint::no_bash)?;
        let is_open = scene.call.has_open_stdin();
        let stdin = if is_open { StandardInput::Open } else { StandardInput::Piped };
        Ok(Work::Program(Box::new(scene.cleared(self.0, shell, stdin(Vec::new()))?)))
    }
}
