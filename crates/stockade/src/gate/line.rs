//! Shell lines: judged command by command, and run by a real bash.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::examine::{Examination, Examined, Examiner, clear};
use super::ruled::Ruled;
use super::{Cleared, Work, complaint};
use crate::call::{Argv, ToolCall};
use crate::inspect::{LineInspection, Setting, View};
use crate::outcome::Failure;
use crate::policy::{Decision, Variable};

/// The shell that runs lines.
const SHELL: &str = "bash";

impl Examiner {
    /// Looks at a shell line, and clears the shell that would run it.
    pub(super) fn examined_line(&self, call: &ToolCall, line: &OsStr) -> Examined {
        let Some(text) = line.to_str().filter(|text| !text.contains('\0')) else {
            return self.unprepared(call, complaint::no_text());
        };
        let view = match View::open(self.root(), call.cwd.as_deref()) {
            Ok(view) => view,
            Err(error) => return self.unprepared(call, complaint::bad_cwd(&error)),
        };
        let inspector = self.inspector();
        let LineInspection { commands, mut findings } =
            inspector.inspect_line(text, &self.setting(), &view);
        let policy = self.policy();
        let mut confinement = self.confinement(call);
        findings.extend(self.vanishing(&commands, &view, &confinement.files));
        let profile = policy.shell_profile;
        let Ruled { ruling, spared, looks, question } =
            self.ruled(call, (&commands, &findings), &view, (&confinement.files, profile));
        if looks {
            confinement.files.deny_writes();
        }
        confinement.hints = self.hints(call, &commands, &view, &confinement.files);
        let words = [SHELL, "-c", text].map(OsString::from).to_vec();
        let cleared = if ruling.decision == Decision::Deny {
            Err(None)
        } else {
            match Argv::parse(words.clone()) {
                Err(bad) => return self.unprepared(call, complaint::malformed(&bad)),
                Ok(argv) => self
                    .cleared_shell(call, argv, &view)
                    .map(|cleared| Work::Program(Box::new(cleared)))
                    .map_err(Some),
            }
        };
        let outer = commands.iter().filter(|found| found.via.is_empty());
        let shown = outer.map(|found| found.words.clone()).collect();
        let changes_nothing = self.changes_nothing(&commands, &findings, &view);
        let examination = Examination {
            ruling,
            findings,
            commands,
            changes_nothing,
            confinement,
            spared,
            exclude: Vec::new(),
        };
        let program = Some(SHELL.to_owned());
        Examined { examination, cleared, words, shown, program, question }
    }

    /// The handles of the shell that runs lines.
    fn cleared_shell(
        &self,
        call: &ToolCall,
        argv: Argv,
        view: &View<'_>,
    ) -> Result<Cleared, Failure> {
        let (inspector, settings) = (self.inspector(), &self.policy().settings);
        let knowledge = inspector.knowledge;
        match inspector.programs.open(OsStr::new(SHELL), view, settings, knowledge) {
            Ok((handle, program)) => clear(call, argv, Some((handle, &program)), view),
            Err(_) if self.policy().runs_image() => clear(call, argv, None, view),
            Err(_) => Err(complaint::no_bash()),
        }
    }

    /// What the shell starts with, as far as it is known.
    pub(super) fn setting(&self) -> Setting {
        let mut variables = Vec::new();
        if let Some(home) = self.home().and_then(Path::to_str) {
            variables.push(("HOME".to_owned(), home.to_owned()));
        }
        let folders = self.policy().settings.search_path.iter().map(|p| p.as_os_str());
        let path: Vec<&OsStr> = folders.collect();
        if let Ok(path) = path.join(OsStr::new(":")).into_string() {
            variables.push(("PATH".to_owned(), path));
        }
        let mut inherited = Vec::new();
        for variable in &self.policy().environment {
            match variable {
                Variable::Set(name, value) => variables.push((name.clone(), value.clone())),
                Variable::Inherited(name) => inherited.push(name.clone()),
            }
        }
        Setting { variables, inherited, home: self.home().map(Path::to_owned) }
    }
}
