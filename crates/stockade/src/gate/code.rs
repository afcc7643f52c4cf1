//! `Code`: source that nobody can judge by reading it, for an interpreter in the box.
//!
//! What is known of it is the language; of a shell script, every command too.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;

use super::act::act;
use super::complaint;
use super::examine::{Examination, Examined, Examiner};
use super::facts::Shown;
use super::permit::{Cleared, Folder, Opened, StandardInput, Work};
use super::ruled::Doubt;
use crate::call::{Argv, Code, ToolCall};
use crate::confine::Confinement;
use crate::inspect::{LineInspection, View};
use crate::outcome::Failure;
use crate::policy::{Act, Decision, Judgement};

impl Examiner {
    /// Looks at source, and clears the interpreter that would run it.
    pub(super) fn examined_code(&self, call: &ToolCall, code: &Code) -> Examined {
        let view = match View::open(self.root(), None) {
            Ok(view) => view,
            Err(error) => return self.unprepared(call, complaint::bad_cwd(&error)),
        };
        let LineInspection { commands, findings } = match self.script(code, &view) {
            Ok(inspection) => inspection,
            Err(finding) => return self.unprepared(call, *finding),
        };
        let policy = self.policy();
        let confinement = self.confinement_of_code(call);
        let profile = policy.shell_profile;
        let found = policy.found(&findings, profile);
        let shown = Shown::new(call.tool.name(), &commands, &view, self.home());
        let mut shown = shown.with_findings(&findings);
        let language = code.language.name().to_owned();
        shown.facts.parameters.insert("language".to_owned(), language.clone());
        let rule = policy.rules.decide(&shown.facts);
        let rule = rule.map(|found| (found.clone(), shown.ruling(found, &findings)));
        let hold = |reaches_out| policy.hold(profile, reaches_out);
        let act: Act =
            act(&commands, &findings, (Some(&shown.facts), &view), &confinement.files, hold);
        let Judgement { ruling, ground, spared, .. } = policy.judge(found, rule, &act, profile);
        let question = (ruling.decision == Decision::Ask)
            .then(|| Doubt { ground, facts: shown.facts.clone() });
        let cleared = if ruling.decision == Decision::Deny {
            Err(None)
        } else {
            let cleared = self.cleared_code(call, code, &view).map_err(Some);
            cleared.map(|cleared| Work::Program(Box::new(cleared)))
        };
        let (program, _) = code.language.interpreter();
        let words = ["Code".into(), language.into(), OsString::from_vec(code.source.clone())];
        let examination = Examination {
            ruling,
            findings,
            changes_nothing: false,
            commands,
            confinement,
            spared,
            exclude: Vec::new(),
        };
        let shown = vec![vec![program.into()]];
        let program = Some(program.to_owned());
        Examined { examination, cleared, words: words.to_vec(), shown, program, question }
    }

    /// The commands of a shell script; nothing is known of what other languages do.
    fn script(
        &self,
        code: &Code,
        view: &View<'_>,
    ) -> Result<LineInspection, Box<crate::inspect::Finding>> {
        if !code.language.is_shell() {
            return Ok(LineInspection { commands: Vec::new(), findings: Vec::new() });
        }
        let text = std::str::from_utf8(&code.source).ok().filter(|text| !text.contains('\0'));
        let text = text.ok_or_else(|| Box::new(complaint::no_text()))?;
        Ok(self.inspector().inspect_line(text, &self.setting(), view))
    }

    /// The same as for other calls, but nothing of the project can be written: the scratch folder is
    /// all that code has.
    fn confinement_of_code(&self, call: &ToolCall) -> Confinement {
        let mut confinement = self.confinement(call);
        let mut limits = self.policy().code_limits.strictest(&confinement.limits);
        limits.wall = call.wall.map_or(limits.wall, |wall| wall.min(limits.wall));
        confinement.limits = limits;
        confinement.files.write = Vec::new();
        confinement
    }

    /// The handles of the interpreter.
    fn cleared_code(
        &self,
        call: &ToolCall,
        code: &Code,
        view: &View<'_>,
    ) -> Result<Cleared, Failure> {
        let (name, arguments) = code.language.interpreter();
        let words = std::iter::once(name).chain(arguments.iter().copied());
        let argv = Argv::parse(words.map(OsString::from).collect())
            .map_err(|bad| Failure::new("start the interpreter", bad.to_string()))?;
        let inspector = self.inspector();
        let settings = &self.policy().settings;
        let opened = inspector.programs.open(OsStr::new(name), view, settings, inspector.knowledge);
        let program = match opened {
            Ok((handle, program)) => Some(Opened::of(handle, &program)),
            Err(_missing) if self.policy().runs_image() => None,
            Err(_missing) => return Err(complaint::no_interpreter(code.language, name)),
        };
        Ok(Cleared {
            call: call.id.clone(),
            argv,
            stdin: StandardInput::Sealed(code.clone()),
            program,
            folder: Folder::Scratch,
            tier: None,
        })
    }
}
