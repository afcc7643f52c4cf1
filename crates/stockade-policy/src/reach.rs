//! How rules reach into the box: what they deny by name is hidden or protected there, so that no
//! program gets round what the gate saw.

use std::path::{Component, Path, PathBuf};

use super::Policy;
use super::rules::{DeniedPaths, Effect, Rule, Unkept};
use crate::config::folders::real_folder;
use crate::confine::{self, Keep, Origin, PathPattern};
use stockade_shell::state::lexical;

/// A rule that denies a path, and what the box makes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleReach<'p> {
    /// The rule.
    pub rule: &'p Rule,
    /// What is kept of it, or why nothing is.
    pub denied: DeniedPaths,
}

impl Policy {
    /// What the box of this project makes of the rules that deny paths.
    pub fn reached(&self, root: &Path) -> Vec<RuleReach<'_>> {
        let home = std::env::home_dir();
        let reached = |rule| {
            let denied = Rule::denied_path(rule, root, home.as_deref())?;
            Some(RuleReach { rule, denied })
        };
        self.rules.all().iter().filter_map(reached).collect()
    }

    /// The same policy with what its rules deny among what the box hides and protects.
    #[must_use]
    pub fn with_rules_in_box(mut self, root: &Path) -> Self {
        let unread = self.take_patterns(root);
        let BoxedRules { hide, protect, of_project, read_only, sought, mut unkept } =
            self.boxed(root);
        unkept.extend(unread);
        let files = &mut self.files;
        files
            .write
            .retain(|folder| !read_only.iter().any(|all| root.join(folder).starts_with(all)));
        (files.sought, files.unkept) = (sought.into(), unkept.into());
        // The exception is for the lists; a rule means all that is in the folder.
        let meant = |path: &PathBuf| protect.contains(path) || of_project.contains(path);
        let whole: Vec<PathBuf> = confine::writable_in_protected(root)
            .filter_map(|(folder, inner)| meant(&folder).then_some(inner))
            .collect();
        let protect: Vec<PathBuf> = protect.into_iter().chain(whole).collect();
        for path in hide {
            if !files.hide.iter().any(|known| root.join(known) == path) {
                files.hide.push(path);
            }
        }
        for path in protect {
            if !files.protected_by_trusted().any(|known| root.join(known) == path) {
                files.protect_for_trusted(path);
            }
        }
        let is_known = |path: &PathBuf| files.protect.iter().any(|known| root.join(known) == *path);
        let new: Vec<PathBuf> = of_project.into_iter().filter(|path| !is_known(path)).collect();
        files.protect_for_project(new);
        self
    }

    /// Makes rules of the patterns of `box.hide` and `box.protect`, so that the gate knows them too.
    /// Says which could not be read, for which nothing runs.
    fn take_patterns(&mut self, root: &Path) -> Vec<(Keep, Origin, String)> {
        let (mut rules, mut unread) = (Vec::new(), Vec::new());
        for pattern in std::mem::take(&mut self.files.patterns) {
            match pattern.rule(root) {
                Ok(rule) => rules.push(rule),
                Err(error) => unread.push((pattern.keep(), Origin::Trusted, error.to_string())),
            }
        }
        self.rules = self.rules.and(rules);
        unread
    }

    /// Whether the sandbox of this project shows something at or beneath a path, or around it, besides
    /// the system's folders.
    fn shows(&self, root: &Path, path: &Path) -> bool {
        let listed = self.files.write.iter().chain(&self.files.read);
        let mut shown = listed.map(|folder| root.join(folder)).chain([root.to_owned()]);
        let path = lexical(Path::new("/"), path);
        let is_everything = path == Path::new("/");
        !is_everything && shown.any(|folder| folder.starts_with(&path) || path.starts_with(folder))
    }

    /// What its rules come to in a box.
    fn boxed(&self, root: &Path) -> BoxedRules {
        let mut boxed = BoxedRules::default();
        for RuleReach { rule, mut denied } in self.reached(root) {
            // The home folder may be spelled with dots, by which it would seem to be in the project.
            denied.path = denied.path.map(without_dots);
            // A shipped rule is not worth a mount where nothing is shown of what it means.
            let place = denied.path.as_deref().or(denied.sought.as_ref().map(PathPattern::folder));
            if rule.origin() == Origin::Shipped
                && !place.is_some_and(|place| self.shows(root, place))
            {
                continue;
            }
            let is_projects = rule.origin() == Origin::Project;
            match (denied.path, denied.effect) {
                // The pattern of a shipped rule finds the path where it is there. Where it is not, a program
                // may create it: `cp .env.example .env` is a usual step.
                (Some(_), Effect::Read)
                    if rule.origin() == Origin::Shipped && denied.sought.is_some() => {}
                (Some(path), Effect::Read) => boxed.hide.push(path),
                (Some(path), Effect::Write) if root.starts_with(&path) => {
                    boxed.read_only.push(path);
                }
                // A sandbox writes beneath the project only, or where a trusted file allows it; a
                // path elsewhere is the gate's to refuse.
                (Some(path), Effect::Write) if is_projects => {
                    boxed.of_project.extend(path.starts_with(root).then_some(path));
                }
                (Some(path), Effect::Write) => boxed.protect.push(path),
                (None, _) => {}
            }
            boxed.sought.extend(match denied.sought {
                // A repository does not decide what is done elsewhere.
                Some(sought) if is_projects && denied.effect == Effect::Write => {
                    let folder = real_folder(sought.folder());
                    let folder = folder.unwrap_or_else(|_| sought.folder().to_owned());
                    sought.beneath(&folder, root)
                }
                sought => sought.into_iter().collect(),
            });
            // A rule about a tool is the gate's; one about paths was meant for all that opens them.
            let unkept = denied.unkept.filter(|why| *why != Unkept::EveryPath);
            let said = unkept.map(|why| format!("the rule {}: {}", rule.text(), why.name()));
            boxed.unkept.extend(said.map(|said| (denied.effect.keep(), rule.origin(), said)));
        }
        boxed
    }
}

/// What rules come to in a box.
#[derive(Default)]
struct BoxedRules {
    hide: Vec<PathBuf>,
    protect: Vec<PathBuf>,
    /// Those that a rule of an untrusted project file names, in the project.
    of_project: Vec<PathBuf>,
    /// Folders in which nothing is written, the project among it.
    read_only: Vec<PathBuf>,
    sought: Vec<PathPattern>,
    unkept: Vec<(Keep, Origin, String)>,
}

/// The place that a path with `..` in it leads to; any other path as it is.
fn without_dots(path: PathBuf) -> PathBuf {
    let has_dots = path.components().any(|part| part == Component::ParentDir);
    if has_dots { confine::real(&path) } else { path }
}
