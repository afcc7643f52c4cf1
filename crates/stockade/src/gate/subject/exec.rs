//! `Exec`: an argument vector. Also a shell line if the policy lists the only programs that may
//! run: such a line is split into words, and no shell runs it.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use super::split;
use crate::call::{Argv, Exec, ShellLine};
use crate::catalog::Word;
use crate::gate::complaint;
use crate::gate::judge::{Analysis, NoWork, Preview, Scene, Subject, Terms};
use crate::gate::permit::{OpenProgram, StandardInput, Work};
use crate::gate::toolchain;
use crate::inspect::{
    Command, CommandSummary, Finding, Inspection, Origin, Program, ProgramError, ProgramInput,
    critical,
};

/// The words of a call.
pub(in crate::gate) enum Words<'c> {
    Sent(&'c Exec),
    Split(&'c ShellLine),
}

/// A program with its handle, or why there is none.
type FoundProgram = Result<(Arc<Program>, Option<OwnedFd>), ProgramError>;

/// An argument vector with the program that was found for it.
pub(in crate::gate) struct ExecSubject {
    argv: Argv,
    stdin: StandardInput,
    /// None if inspection found no command.
    program: Option<FoundProgram>,
}

impl Subject for ExecSubject {
    type Input<'c> = Words<'c>;

    fn analyse(scene: &Scene<'_>, words: Words<'_>) -> Result<(Self, Analysis), Box<Finding>> {
        let Scene { examiner, call, resolver } = scene;
        let (words, stdin, origin) = match words {
            Words::Sent(Exec { argv, stdin }) => {
                let stdin = stdin.clone();
                let is_open = call.has_open_stdin();
                let piped = if is_open { StandardInput::Open } else { StandardInput::Piped };
                (argv.clone(), piped(stdin), Origin::Argv)
            }
            Words::Split(line) => {
                let words = split(&line.text).ok_or_else(|| complaint::unparseable(&line.text))?;
                (words, StandardInput::Piped(Vec::new()), Origin::Line)
            }
        };
        let argv = Argv::parse(words).map_err(|bad| complaint::malformed(&bad))?;
        let input = if stdin.is_nothing() { ProgramInput::Nothing } else { ProgramInput::Given };
        let words = Word::list(argv.words());
        let Inspection { mut commands, mut findings } =
            examiner.inspector().inspect(words, origin, input, resolver);
        let found = |command: &Command<'_>| CommandSummary::of(command, resolver.cwd_path());
        let listed: Vec<CommandSummary> = commands.iter().map(found).collect();
        let ground = critical::CriticalCheck { resolver, home: examiner.home() };
        findings.extend(listed.iter().flat_map(|found| ground.findings(found)));
        findings.extend(ground.together(&listed));
        let confinement = examiner.confinement(call);
        findings.extend(examiner.vanishing(&listed, resolver, &confinement.files));
        findings.sort_by_key(|finding| finding.axis);
        let program = (!commands.is_empty()).then(|| {
            let first = commands.swap_remove(0);
            first.program.map(|program| (program, first.handle))
        });
        drop(commands);
        let policy = examiner.policy();
        let terms = Terms::of(policy.tier, policy.profile);
        let exclude = Vec::new();
        let analysis = Analysis { commands: listed, findings, confinement, exclude, terms };
        Ok((Self { argv, stdin, program }, analysis))
    }

    fn preview(&self, _: &Analysis) -> Preview {
        let words = self.argv.words().to_vec();
        let program = match &self.program {
            Some(Ok(_)) => base_name(self.argv.program()),
            Some(Err(_)) | None => None,
        };
        Preview { commands: vec![words.clone()], words, program }
    }

    fn clear(self, scene: &Scene<'_>) -> Result<Work, NoWork> {
        let Self { argv, stdin, program } = self;
        let program = match program {
            Some(Ok((program, Some(handle)))) => Some(OpenProgram::of(handle, &program)),
            Some(Ok((_, None)) | Err(_)) | None if scene.examiner.policy().runs_image() => None,
            Some(Ok((_, None)) | Err(_)) | None => {
                let failure = complaint::missing_failure(&argv);
                let failure = toolchain::offered(failure, argv.program());
                let ruling = Box::new(complaint::missing_ruling(&argv));
                return Err(NoWork::Missing { ruling, failure });
            }
        };
        Ok(Work::Program(Box::new(scene.cleared(argv, program, stdin)?)))
    }
}

fn base_name(path: &OsStr) -> Option<String> {
    Path::new(path).file_name()?.to_str().map(str::to_owned)
}
