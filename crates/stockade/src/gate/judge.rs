//! The one order in which every call is judged, whatever its tool is.
//!
//! | step | done by | gives |
//! |---|---|---|
//! | 1. open the resolver | [`Scene::open`] | the folder of the call, as a handle |
//! | 2. findings | [`Subject::analyse`] | [`Analysis`]: commands, findings, confinement, [`Terms`] |
//! | 3. facts | [`CallFacts::of`] | the call as rules see it, made when it is needed |
//! | 4. rules | [`Rules::decide`](crate::policy::rules::Rules::decide) | the rule that matches, if any |
//! | 5. activity | [`Subject::activity`] | reads, edits or runs; protected paths; hosts |
//! | 6. decide | [`Policy::judge_in`](crate::policy::Policy::judge_in) | the ruling with its grounds |
//! | 7. question | [`QuestionBasis`] | what a person would be asked about |
//! | 8. clear | [`Subject::clear`] | [`Work`]: handles of what would run, or [`NoWork`] |
//! | 9. permit | [`Gate::judge`](super::Gate::judge) | a permit, after hooks and the journal entry |
//!
//! A [`Subject`] is one kind of call: `exec`, `line`, `code`, `file`, `tool` and `external` in the
//! folder `subject`. It says what differs; the order is written here once.

use std::cell::LazyCell;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::examiner::{Examination, Examiner};
use super::facts::CallFacts;
use super::permit::{OpenProgram, ProgramWork, StandardInput, StartFolder, Work};
use super::{activity, complaint};
use crate::call::{Argv, ToolCall};
use crate::confine::Confinement;
use crate::inspect::{CommandSummary, Finding, PathResolver, ResolverError};
use crate::outcome::{Failure, FailureKind};
use crate::policy::decide::Basis;
use crate::policy::rules::Facts;
use crate::policy::{Activity, Decision, Judgement, Profile, Ruling};
use crate::tier::Tier;

/// One kind of call, with what judging needs to know about it.
pub(super) trait Subject: Sized {
    /// The part of the call that holds its arguments.
    type Input<'c>;

    /// The folder that the call asks to run in.
    fn folder(call: &ToolCall) -> Option<&Path> {
        call.cwd.as_deref()
    }

    /// States the facts about a call and decides nothing. An error is the finding that leaves nothing
    /// to judge: arguments that no program could be given.
    fn analyse(scene: &Scene<'_>, input: Self::Input<'_>)
    -> Result<(Self, Analysis), Box<Finding>>;

    /// What the call does, as far as the mode of the policy is concerned.
    fn activity(&self, scene: &Scene<'_>, analysis: &Analysis, facts: &LazyFacts<'_>) -> Activity {
        activity::of_commands(scene, analysis, facts)
    }

    /// Whether the call is known to change nothing, so that there is nothing to ask about.
    fn changes_nothing(&self, scene: &Scene<'_>, analysis: &Analysis, _: &Activity) -> bool {
        let Analysis { commands, findings, .. } = analysis;
        scene.examiner.changes_nothing(commands, findings, &scene.resolver)
    }

    /// The words of the call for its journal entry and for questions.
    fn preview(&self, analysis: &Analysis) -> Preview;

    /// Opens the handles of what would run. Called only where the ruling is no refusal.
    fn clear(self, scene: &Scene<'_>) -> Result<Work, NoWork>;
}

/// A call, who examines it, and the resolver of paths from its folder.
#[derive(Debug)]
pub(super) struct Scene<'a> {
    pub(super) examiner: &'a Examiner,
    pub(super) call: &'a ToolCall,
    pub(super) resolver: PathResolver<'a>,
}

/// The facts about a call before any rule is asked.
#[derive(Debug)]
pub(super) struct Analysis {
    /// Every command in the call.
    pub(super) commands: Vec<CommandSummary>,
    /// In the order of the axes.
    pub(super) findings: Vec<Finding>,
    /// What a run may use and touch.
    pub(super) confinement: Confinement,
    /// Patterns that a search by an agent's own tool has to leave out.
    pub(super) exclude: Vec<String>,
    pub(super) terms: Terms,
}

/// How strictly a call is judged.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    /// Where it would run, which decides what contains it.
    pub(super) tier: Tier,
    /// Which findings refuse it.
    pub(super) findings: Profile,
    /// What the mode trusts where there is no sandbox.
    pub(super) uncontained: Profile,
}

impl Terms {
    /// One profile for all.
    pub(super) fn of(tier: Tier, profile: Profile) -> Self {
        Self { tier, findings: profile, uncontained: profile }
    }
}

/// The facts for rules. They cost file system lookups, which most calls can do without.
pub(super) type LazyFacts<'a> = LazyCell<CallFacts, Box<dyn FnOnce() -> CallFacts + 'a>>;

/// The words of a call, for its journal entry and for questions.
#[derive(Debug, Default)]
pub(super) struct Preview {
    /// All words: the identity of the call.
    pub(super) words: Vec<OsString>,
    /// The commands that the journal shows without their secrets.
    pub(super) commands: Vec<Vec<OsString>>,
    /// The name of a program that is installed, or of a tool: it cannot be a secret.
    pub(super) program: Option<String>,
}

/// Why there is nothing to run.
#[derive(Debug)]
pub(super) enum NoWork {
    /// The call is refused.
    Refused,
    /// Another program runs the call.
    External,
    /// The program of an argument vector is not installed, which is also the ruling.
    Missing { ruling: Box<Ruling>, failure: Failure },
    /// The call may run and cannot.
    Failed(Failure),
}

impl From<Failure> for NoWork {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// What judging a call comes to, before hooks.
#[derive(Debug)]
pub(super) struct Assessment {
    pub(super) examination: Examination,
    pub(super) work: Result<Work, NoWork>,
    pub(super) preview: Preview,
    /// What a person would be asked about; none where there is no question.
    pub(super) question: Option<QuestionBasis>,
}

/// What a question is about.
#[derive(Debug)]
pub(super) struct QuestionBasis {
    /// What made it a question.
    pub(super) basis: Basis,
    /// The call as rules see it.
    pub(super) facts: Facts,
}

impl Examiner {
    /// Judges a call: steps 1 to 8 of the table above.
    pub(super) fn judge<S: Subject>(&self, call: &ToolCall, input: S::Input<'_>) -> Assessment {
        let scene = match Scene::open(self, call, S::folder(call)) {
            Ok(scene) => scene,
            Err(error) => return self.unprepared(call, complaint::bad_cwd(&error)),
        };
        let (subject, mut analysis) = match S::analyse(&scene, input) {
            Ok(analysed) => analysed,
            Err(finding) => return self.unprepared(call, *finding),
        };
        let policy = self.policy();
        let facts = scene.facts(&analysis);
        // Without rules there is nothing that the facts could match.
        let matched = (!policy.rules.all().is_empty()).then(|| policy.rules.decide(&facts.facts));
        let matched = matched.flatten().map(|found| {
            let ruling = facts.ruling(found.clone(), &analysis.findings);
            (found, ruling)
        });
        let activity = subject.activity(&scene, &analysis, &facts);
        let Terms { tier, findings, uncontained } = analysis.terms;
        let found = policy.found(&analysis.findings, findings);
        let Judgement { mut ruling, basis, spared, looks } =
            policy.judge_in(tier, found, matched, &activity, uncontained);
        let question = (ruling.decision == Decision::Ask)
            .then(|| QuestionBasis { basis, facts: facts.facts.clone() });
        drop(facts);
        if looks {
            analysis.confinement.files.deny_writes();
        }
        let changes_nothing = subject.changes_nothing(&scene, &analysis, &activity);
        let preview = subject.preview(&analysis);
        let mut work = match ruling.decision {
            Decision::Deny => Err(NoWork::Refused),
            Decision::Ask | Decision::Allow => subject.clear(&scene),
        };
        if let Err(NoWork::Missing { ruling: missing, failure }) = work {
            ruling = *missing;
            work = Err(NoWork::Failed(failure));
        }
        // The agent asks about its own tools.
        let question = question.filter(|_| !matches!(work, Err(NoWork::External)));
        let Analysis { commands, findings, confinement, exclude, .. } = analysis;
        let examination = Examination {
            ruling,
            findings,
            commands,
            changes_nothing,
            confinement,
            spared,
            exclude,
        };
        Assessment { examination, work, preview, question }
    }

    /// The refusal of a call that cannot be judged any further.
    pub(super) fn unprepared(&self, call: &ToolCall, finding: Finding) -> Assessment {
        let findings = vec![finding];
        let words = super::subject::raw_words(&call.tool);
        let examination = Examination {
            ruling: self.policy().found(&findings, self.policy().profile),
            findings,
            commands: Vec::new(),
            changes_nothing: false,
            confinement: self.confinement(call),
            spared: false,
            exclude: Vec::new(),
        };
        let preview = Preview { commands: vec![words.clone()], words, program: None };
        Assessment { examination, work: Err(NoWork::Refused), preview, question: None }
    }
}

impl<'a> Scene<'a> {
    /// The call in its folder, which has to be beneath the root.
    pub(super) fn open(
        examiner: &'a Examiner,
        call: &'a ToolCall,
        folder: Option<&Path>,
    ) -> Result<Self, ResolverError> {
        Ok(Self { examiner, call, resolver: PathResolver::open(examiner.root(), folder)? })
    }

    fn facts<'s>(&'s self, analysis: &'s Analysis) -> LazyFacts<'s> {
        let Analysis { commands, findings, .. } = analysis;
        let home = self.examiner.home();
        LazyCell::new(Box::new(move || {
            CallFacts::of(self.call, commands, &self.resolver, home).with_findings(findings)
        }))
    }

    /// Finds and opens the program that a tool runs. In a tier that runs an image, a program that is
    /// not installed here may be in the image.
    pub(super) fn open_program(
        &self,
        name: &OsStr,
        tier: Tier,
        missing: impl FnOnce() -> Failure,
    ) -> Result<Option<OpenProgram>, Failure> {
        let (inspector, policy) = (self.examiner.inspector(), self.examiner.policy());
        let knowledge = inspector.knowledge;
        match inspector.programs.open(name, &self.resolver, &policy.settings, knowledge) {
            Ok((handle, program)) => Ok(Some(OpenProgram::of(handle, &program))),
            Err(_) if policy.runs_image_in(tier) => Ok(None),
            Err(_) => Err(missing()),
        }
    }

    /// A program that would run in the folder of the call.
    pub(super) fn cleared(
        &self,
        argv: Argv,
        program: Option<OpenProgram>,
        stdin: StandardInput,
    ) -> Result<ProgramWork, Failure> {
        let handle = self
            .resolver
            .cwd()
            .try_clone_to_owned()
            .map_err(|error| Failure::new(FailureKind::OpenWorkingFolder, error.to_string()))?;
        Ok(ProgramWork {
            call: self.call.id.clone(),
            argv,
            stdin,
            merges_output: self.call.streams.merged,
            terminal: self.call.streams.terminal,
            session: self.call.session.clone(),
            program,
            folder: StartFolder::Open { handle, path: self.resolver.cwd_path().to_owned() },
            tier: None,
        })
    }
}
