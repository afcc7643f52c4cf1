//! File tools: judged by the rules about what they read and write, and carried out on the handles
//! that were judged.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::external::{activity_of_input, placed};
use crate::call::CallId;
use crate::call::file::{Edit, FileCall, Write};
use crate::confine::{Files, OwnProgram};
use crate::files::Visibility;
use crate::gate::activity::{all_protected, lands_in};
use crate::gate::examiner::Examiner;
use crate::gate::facts::home_place;
use crate::gate::judge::{Analysis, LazyFacts, NoWork, Preview, Scene, Subject, Terms};
use crate::gate::permit::Work;
use crate::gate::visibility::RuleVisibility;
use crate::inspect::{Axis, Finding, ResolveError, ResolvedPath, Weight, stat_of};
use crate::outcome::{Failure, FailureKind};
use crate::policy::decide::CallKind;
use crate::policy::rules::{Facts, PathFacts, Reach};
use crate::policy::{Activity, Decision, Mode, Profile};
use crate::shell::state::lexical;
use crate::tier::Tier;

/// A file operation, on handles.
#[derive(Debug)]
pub(crate) struct FileWork {
    pub(crate) call: CallId,
    pub(crate) file: FileCall,
    pub(crate) place: ResolvedPath,
    pub(crate) sight: Box<dyn Visibility>,
    pub(crate) root: OwnedFd,
    pub(crate) root_path: PathBuf,
    pub(crate) cwd_path: PathBuf,
    /// The protected paths that the call writes, as judged.
    pub(crate) protected: Vec<PathBuf>,
}

/// A call of a file tool, with its resolved path.
pub(in crate::gate) struct FileSubject {
    file: FileCall,
    place: Result<ResolvedPath, ResolveError>,
    sight: RuleVisibility,
    /// The protected paths that it writes.
    protected: Vec<PathBuf>,
}

impl Subject for FileSubject {
    type Input<'c> = &'c FileCall;

    fn analyse(scene: &Scene<'_>, file: &FileCall) -> Result<(Self, Analysis), Box<Finding>> {
        let Scene { examiner, call, resolver } = scene;
        let path = placed(&target(file), resolver.cwd_path(), examiner.home());
        let confinement = examiner.confinement(call);
        let place = resolver.locate(path.as_os_str());
        let protected = protected_by(file, &path, &place, &confinement.files);
        let sight = sight(scene, file, &confinement.files);
        let subject = Self { file: file.clone(), place, sight, protected };
        let mut findings = subject.findings(examiner, &path, &confinement.files);
        findings.extend(subject.hidden_link(&path));
        // No sandbox contains it, and no axis has inspected the content that it writes.
        let (tier, uncontained) = (Tier::Process, Profile::Contained);
        let terms = Terms { tier, findings: Profile::Strict, uncontained };
        let (commands, exclude) = (Vec::new(), Vec::new());
        Ok((subject, Analysis { commands, findings, confinement, exclude, terms }))
    }

    fn activity(&self, _: &Scene<'_>, analysis: &Analysis, facts: &LazyFacts<'_>) -> Activity {
        let files = &analysis.confinement.files;
        let activity = activity_of_input(self.file.name(), &facts.facts, files);
        Activity { protected: self.protected.first().cloned(), ..activity }
    }

    fn changes_nothing(&self, _: &Scene<'_>, _: &Analysis, activity: &Activity) -> bool {
        activity.kind == CallKind::Reads
    }

    fn preview(&self, _: &Analysis) -> Preview {
        let name = self.file.name();
        Preview {
            words: words(&self.file),
            commands: vec![vec![name.into(), target(&self.file).into()]],
            program: Some(name.to_owned()),
        }
    }

    fn clear(self, scene: &Scene<'_>) -> Result<Work, NoWork> {
        let Self { file, place, sight, protected } = self;
        // A path that could not be resolved has been refused by a finding.
        let Ok(place) = place else { return Err(NoWork::Refused) };
        let top = scene.examiner.root();
        let root = top.handle().try_clone_to_owned();
        let root = root.map_err(|error| Failure::new(FailureKind::OpenRoot, error.to_string()))?;
        Ok(Work::Files(Box::new(FileWork {
            call: scene.call.id.clone(),
            file,
            place,
            sight: Box::new(sight),
            root,
            root_path: top.path().to_owned(),
            cwd_path: scene.resolver.cwd_path().to_owned(),
            protected,
        })))
    }
}

impl FileSubject {
    /// Findings that refuse a call, whatever the rules say.
    fn findings(&self, examiner: &Examiner, path: &Path, files: &Files) -> Vec<Finding> {
        let Self { file, place, protected, .. } = self;
        if file.path().is_some_and(|path| path.to_str().is_none()) {
            // Rules are text, so the path that is opened has to be text as well.
            let text = format!("{path:?} is not valid UTF-8");
            return vec![finding("unknowable", text, "give the file another name")];
        }
        let place = match place {
            Ok(place) => place,
            Err(ResolveError::Outside(real)) => {
                let text = format!("{path:?} leads to {real:?}, which is outside the project root");
                let instead = "name a path beneath the project root";
                return vec![finding("outside", text, instead)];
            }
            Err(ResolveError::Unknowable(errno)) => {
                let text = format!("cannot resolve {path:?}: {errno}");
                return vec![finding("unknowable", text, "name the file by its own path")];
            }
        };
        let named = lexical(Path::new("/"), path);
        let is_in = |folders: &[PathBuf]| {
            folders.iter().any(|one| place.real.starts_with(one) || named.starts_with(one))
        };
        let mut found = Vec::new();
        if is_in(&files.hide) {
            let text = format!("{path:?} is hidden by the policy (box.hide, or a rule for Read)");
            found.push(finding(
                "hidden",
                text,
                "do without it, or ask the person for what is in it",
            ));
        }
        if file.writes() && !lands_in(&PathFacts::new(&place.real), &files.write) {
            let text = format!("{path:?} is outside the folders that can be written (box.write)");
            found.push(finding("read-only", text, "write in a folder that box.write lists"));
        }
        if file.writes() && is_in(examiner.own_files().all()) {
            let text = format!("{path:?} is the journal, or runs for a hook or a tool");
            found.push(finding("own", text, "ask the person to change it"));
        }
        if file.writes() && is_program(place) {
            let text = format!("{path:?} is the program that decides about later calls");
            found.push(finding("own", text, "ask the person to replace it"));
        }
        // A sandbox would protect them in this mode, but there is none here.
        if let Some(protected) =
            protected.first().filter(|_| examiner.policy().mode == Mode::Bypass)
        {
            let text =
                format!("{protected:?} is protected: code runs from it later, outside of any box");
            found.push(finding("protected", text, "ask the person to change it"));
        }
        found
    }

    /// The refusal of a file that has a hidden hard link.
    fn hidden_link(&self, path: &Path) -> Option<Finding> {
        let stat = stat_of(self.place.as_ref().ok()?.file.as_ref()?.as_fd()).ok()?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        (is_file && self.sight.hides_link(&stat)).then(|| {
            let text = format!(
                "{path:?} has other names (hard links), of which the policy hides one, or not all could \
                 be looked for"
            );
            finding("hidden", text, "do without it, or ask the person for what is in it")
        })
    }
}

/// Whether a path leads to the file of the running program, which has this name if it has another one too.
fn is_program(place: &ResolvedPath) -> bool {
    let stat = place.file.as_ref().and_then(|file| stat_of(file.as_fd()).ok());
    stat.is_some_and(|stat| OwnProgram::find().identity == Some((stat.st_dev, stat.st_ino)))
}

/// Which files the call may see, by the rules.
fn sight(scene: &Scene<'_>, file: &FileCall, files: &Files) -> RuleVisibility {
    let Scene { examiner, resolver, .. } = scene;
    let mut facts = Facts::new(file.name(), resolver.cwd_path());
    facts.home = home_place(resolver, examiner.home());
    facts.set_parameters(&file.input());
    // The question about a named file was asked; another name of the same file was not part of it.
    let bar = match file {
        FileCall::Glob(_) | FileCall::Grep(_) => Decision::Ask,
        FileCall::Read(_) | FileCall::Write(_) | FileCall::Edit(_) => Decision::Deny,
    };
    let (rules, hide) = (examiner.policy().rules.clone(), files.hide.clone());
    let root = examiner.root().path().to_owned();
    RuleVisibility { rules, facts, hide, root, bar, twins: OnceCell::new() }
}

/// The protected paths that a call writes, as written and as resolved. A write also replaces
/// everything below its path. The `.git` of an inner repository is protected like the one at the
/// top, because git runs its hooks as well.
fn protected_by(
    file: &FileCall,
    path: &Path,
    place: &Result<ResolvedPath, ResolveError>,
    files: &Files,
) -> Vec<PathBuf> {
    let Some(place) = place.as_ref().ok().filter(|_| file.writes()) else { return Vec::new() };
    let tree = |path, real| PathFacts { real, reach: Reach::Tree, ..PathFacts::new(path) };
    let written = tree(lexical(Path::new("/"), path), Some(place.real.clone()));
    let inner = gits_own(&place.real, &files.root).map(|path| tree(path, None));
    let mut found: Vec<PathBuf> = all_protected(&written, &files.protect).cloned().collect();
    for path in inner.iter().flat_map(|inner| all_protected(inner, &files.protect)) {
        if !found.contains(path) {
            found.push(path.clone());
        }
    }
    found
}

/// A path inside the `.git` of an inner repository, moved to the `.git` of the root.
fn gits_own(real: &Path, root: &Path) -> Option<PathBuf> {
    let below = real.strip_prefix(root).ok()?;
    let names: Vec<_> = below.components().collect();
    let at = names.iter().rposition(|name| name.as_os_str() == ".git").filter(|at| *at > 0)?;
    Some(root.join(names.get(at..)?.iter().collect::<PathBuf>()))
}

/// The file or folder of a call.
fn target(file: &FileCall) -> String {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    match file {
        FileCall::Glob(glob) => text(&glob.split().0),
        FileCall::Read(_) | FileCall::Write(_) | FileCall::Edit(_) | FileCall::Grep(_) => {
            file.path().map_or_else(|| ".".to_owned(), text)
        }
    }
}

/// The arguments of a call as words.
pub(super) fn words(file: &FileCall) -> Vec<OsString> {
    let path = file.path().map(|path| path.as_os_str().to_owned());
    let pattern = file.pattern().map(OsString::from);
    let content: Vec<OsString> = match file {
        FileCall::Write(Write { content, .. }) => vec![content.into()],
        FileCall::Edit(Edit { old, new, .. }) => vec![old.into(), new.into()],
        FileCall::Read(_) | FileCall::Glob(_) | FileCall::Grep(_) => Vec::new(),
    };
    [OsString::from(file.name())].into_iter().chain(path).chain(pattern).chain(content).collect()
}

fn finding(rule: &'static str, text: String, instead: &str) -> Finding {
    Finding::new(Axis::Path, Weight::Always, rule, text).instead(instead)
}
