//! Calls of the file tools: judged by the rules for what they read and write, on the handles with
//! which they are carried out.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::act::{all_protected, lands_in};
use super::examine::{Examination, Examined, Examiner};
use super::foreign::{act, shown};
use super::path_text::placed;
use super::ruled::Doubt;
use super::sight::RuledSight;
use super::{Work, complaint};
use crate::call::file::{Edit, FileCall, Write};
use crate::call::{CallId, ToolCall};
use crate::confine::Files;
use crate::files::Sight;
use crate::inspect::{Axis, Finding, Misplaced, Placed, View, Weight, stat_of};
use crate::outcome::Failure;
use crate::policy::rule::{Facts, PathFacts, Reach};
use crate::policy::weigh::Kind;
use crate::policy::{Decision, Judgement, Mode, Profile, Ruling};
use crate::shell::state::lexical;
use crate::tier::Tier;

/// What a file tool may do, on handles.
#[derive(Debug)]
pub(crate) struct FileWork {
    pub(crate) call: CallId,
    pub(crate) file: FileCall,
    pub(crate) place: Placed,
    pub(crate) sight: Box<dyn Sight>,
    pub(crate) root: OwnedFd,
    pub(crate) root_path: PathBuf,
    pub(crate) cwd_path: PathBuf,
    /// The protected paths that the call was judged to write.
    pub(crate) protected: Vec<PathBuf>,
}

impl Examiner {
    /// Looks at a call of a file tool, and clears what it would be carried out on.
    pub(super) fn examined_file(&self, call: &ToolCall, file: &FileCall) -> Examined {
        let view = match View::open(self.root(), call.cwd.as_deref()) {
            Ok(view) => view,
            Err(error) => return self.unprepared(call, complaint::bad_cwd(&error)),
        };
        let path = placed(&target(file), view.cwd_path(), self.home());
        let place = view.place(path.as_os_str());
        let confinement = self.confinement(call);
        let shown = shown(call, &[], &view, self.home());
        let mut act = act(file.name(), &shown, &confinement.files);
        let protected = protected_by(file, &path, &place, &confinement.files);
        act.protected = protected.first().cloned();
        let sight = self.sight(file, &shown.facts, &confinement.files);
        let mut findings =
            self.found_in(file, &path, &place, (&confinement.files, protected.first()));
        findings.extend(twin(&place, &path, &sight));
        let policy = self.policy();
        let found = policy.found(&findings, Profile::Strict);
        let rule = policy.rules.decide(&shown.facts);
        let rule = rule.map(|found| (found.clone(), Ruling::from(found)));
        // No box holds it, and no axis has looked at what it writes.
        let Judgement { ruling, ground, .. } =
            policy.judge_in(Tier::Process, found, rule, &act, Profile::Contained);
        let cleared = match place {
            Ok(place) if ruling.decision != Decision::Deny => self
                .cleared_files(call, file, place, (&view, protected), Box::new(sight))
                .map_err(Some),
            Ok(_) | Err(_) => Err(None),
        };
        let question =
            (ruling.decision == Decision::Ask).then_some(Doubt { ground, facts: shown.facts });
        let (commands, spared) = (Vec::new(), false);
        let changes_nothing = act.kind == Kind::Reads;
        let examination = Examination {
            ruling,
            findings,
            commands,
            changes_nothing,
            confinement,
            spared,
            exclude: Vec::new(),
        };
        let program = Some(file.name().to_owned());
        let preview = vec![OsString::from(file.name()), target(file).into()];
        Examined {
            examination,
            cleared,
            words: words(file),
            shown: vec![preview],
            program,
            question,
        }
    }

    /// What keeps a call from being carried out, whatever the rules say.
    fn found_in(
        &self,
        file: &FileCall,
        path: &Path,
        place: &Result<Placed, Misplaced>,
        (files, protected): (&Files, Option<&PathBuf>),
    ) -> Vec<Finding> {
        if file.path().is_some_and(|path| path.to_str().is_none()) {
            // Rules are text, and what they are held against has to be the path that is opened.
            let text = format!("{path:?} is no text (UTF-8)");
            return vec![finding("unknowable", text, "give the file another name")];
        }
        let place = match place {
            Ok(place) => place,
            Err(Misplaced::Outside(real)) => {
                let text = format!("{path:?} leads to {real:?}, outside of the project root");
                let instead = "name a path beneath the project root";
                return vec![finding("outside", text, instead)];
            }
            Err(Misplaced::Unknowable(errno)) => {
                let text = format!("it cannot be told where {path:?} leads: {errno}");
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
            let text = format!("{path:?} is in no folder that can be written (box.write)");
            found.push(finding("read-only", text, "write in a folder that box.write lists"));
        }
        if file.writes() && is_in(self.own_files().all()) {
            let text = format!("{path:?} is the journal, or runs for a hook or a tool");
            found.push(finding("own", text, "ask the person to change it"));
        }
        // A box would keep them in this mode, and here there is none.
        if let Some(protected) = protected.filter(|_| self.policy().mode == Mode::Bypass) {
            let text =
                format!("{protected:?} is protected: code runs from it later, outside of any box");
            found.push(finding("protected", text, "ask the person to change it"));
        }
        found
    }

    fn sight(&self, file: &FileCall, facts: &Facts, files: &Files) -> RuledSight {
        let mut facts = facts.clone();
        facts.reads.clear();
        facts.writes.clear();
        // Of a file that is named, the question was put; another one's name was never in it.
        let bar = match file {
            FileCall::Glob(_) | FileCall::Grep(_) => Decision::Ask,
            FileCall::Read(_) | FileCall::Write(_) | FileCall::Edit(_) => Decision::Deny,
        };
        let (rules, hide) = (self.policy().rules.clone(), files.hide.clone());
        let root = self.root().path().to_owned();
        RuledSight { rules, facts, hide, root, bar, twins: OnceCell::new() }
    }

    fn cleared_files(
        &self,
        call: &ToolCall,
        file: &FileCall,
        place: Placed,
        (view, protected): (&View<'_>, Vec<PathBuf>),
        sight: Box<dyn Sight>,
    ) -> Result<Work, Failure> {
        let root = self.root().handle().try_clone_to_owned();
        let root = root.map_err(|error| Failure::new("open the root", error.to_string()))?;
        Ok(Work::Files(Box::new(FileWork {
            call: call.id.clone(),
            file: file.clone(),
            place,
            sight,
            root,
            root_path: self.root().path().to_owned(),
            cwd_path: view.cwd_path().to_owned(),
            protected,
        })))
    }
}

/// Whether a file is shown by this name that another one hides.
fn twin(place: &Result<Placed, Misplaced>, path: &Path, sight: &RuledSight) -> Option<Finding> {
    let stat = stat_of(place.as_ref().ok()?.file.as_ref()?.as_fd()).ok()?;
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    (is_file && sight.hides_twin(&stat)).then(|| {
        let text = format!(
            "{path:?} has other names (hard links), of which the policy hides one, or not all could \
             be looked for"
        );
        finding("hidden", text, "do without it, or ask the person for what is in it")
    })
}

/// The protected paths that a call writes, by its own path and by where that leads. A file in the
/// place of a folder above one would take it along. What is git's in a repository further down is held
/// as it would be at the top: git runs it when it is called there.
fn protected_by(
    file: &FileCall,
    path: &Path,
    place: &Result<Placed, Misplaced>,
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

/// A path in the folder of git of some repository below the root, as it would be in the root's.
fn gits_own(real: &Path, root: &Path) -> Option<PathBuf> {
    let below = real.strip_prefix(root).ok()?;
    let names: Vec<_> = below.components().collect();
    let at = names.iter().rposition(|name| name.as_os_str() == ".git").filter(|at| *at > 0)?;
    Some(root.join(names.get(at..)?.iter().collect::<PathBuf>()))
}

/// The file or folder that a call is about.
fn target(file: &FileCall) -> String {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    match file {
        FileCall::Glob(glob) => text(&glob.split().0),
        FileCall::Read(_) | FileCall::Write(_) | FileCall::Edit(_) | FileCall::Grep(_) => {
            file.path().map_or_else(|| ".".to_owned(), text)
        }
    }
}

/// All that was asked for, in words.
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
    Finding {
        axis: Axis::Path,
        rule,
        text,
        argument: None,
        instead: Some(instead.to_owned()),
        listed: None,
        weight: Weight::Always,
        span: None,
    }
}
