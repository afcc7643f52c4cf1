//! How rules reach into the box: what they deny by name is hidden or protected there, so that no
//! program gets round what the gate saw.

use std::path::{Path, PathBuf};

use super::rule::{Denied, Effect, Rule, Unkept};
use super::{Policy, TrustStore};
use crate::confine::{Keep, Sought};
use crate::inspect::real_folder;

/// A rule that denies a path, and what the box makes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached<'p> {
    /// The rule.
    pub rule: &'p Rule,
    /// What is kept of it, or why nothing is.
    pub denied: Denied,
}

/// Where Stockade keeps what it decides by besides the project's file: the person's policy, and which
/// files they trust. A call that could write there would decide for itself.
fn own_folders() -> Vec<PathBuf> {
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let config = config.filter(|path| path.is_absolute());
    let config = config.or_else(|| Some(std::env::home_dir()?.join(".config")));
    let policy = config.map(|folder| folder.join("stockade"));
    let store = TrustStore::default_path().and_then(|path| path.parent().map(Path::to_owned));
    let real = |folder: PathBuf| match (folder.parent(), folder.file_name()) {
        (Some(above), Some(name)) => {
            real_folder(above).map_or(folder.clone(), |above| above.join(name))
        }
        _ => folder,
    };
    policy.into_iter().chain(store).map(real).collect()
}

impl Policy {
    /// What the box of this project makes of the rules that deny paths.
    pub fn reached(&self, root: &Path) -> Vec<Reached<'_>> {
        let home = std::env::home_dir();
        let reached = |rule| {
            let denied = Rule::denied_path(rule, root, home.as_deref())?;
            Some(Reached { rule, denied })
        };
        self.rules.all().iter().filter_map(reached).collect()
    }

    /// The same policy with what its rules deny among what the box hides and protects, and what it
    /// is itself made of, where a call could write that.
    #[must_use]
    pub fn with_rules_in_box(mut self, root: &Path) -> Self {
        let Boxed { hide, mut protect, read_only, sought, unkept } = self.boxed(root);
        let files = &mut self.files;
        files
            .write
            .retain(|folder| !read_only.iter().any(|all| root.join(folder).starts_with(all)));
        (files.sought, files.unkept) = (sought.into(), unkept.into());
        let written: Vec<PathBuf> = files.write.iter().map(|folder| root.join(folder)).collect();
        let is_written = |path: &PathBuf| written.iter().any(|folder| path.starts_with(folder));
        protect.extend(own_folders().into_iter().filter(is_written));
        for (more, paths) in [(hide, &mut files.hide), (protect, &mut files.protect)] {
            for path in more {
                let is_there = paths.iter().any(|known| root.join(known) == path);
                if !is_there {
                    paths.push(path);
                }
            }
        }
        self
    }

    /// What its rules come to in a box.
    fn boxed(&self, root: &Path) -> Boxed {
        let mut boxed = Boxed::default();
        for Reached { rule, denied } in self.reached(root) {
            match (denied.path, denied.effect) {
                (Some(path), Effect::Read) => boxed.hide.push(path),
                (Some(path), Effect::Write) if root.starts_with(&path) => {
                    boxed.read_only.push(path);
                }
                (Some(path), Effect::Write) => boxed.protect.push(path),
                (None, _) => {}
            }
            boxed.sought.extend(denied.sought);
            // A rule about a tool is the gate's; one about paths was meant for all that opens them.
            let unkept = denied.unkept.filter(|why| *why != Unkept::EveryPath);
            let said = unkept.map(|why| format!("the rule {}: {}", rule.text(), why.name()));
            boxed.unkept.extend(said.map(|said| (denied.effect.keep(), said)));
        }
        boxed
    }
}

/// What rules come to in a box.
#[derive(Default)]
struct Boxed {
    hide: Vec<PathBuf>,
    protect: Vec<PathBuf>,
    /// Folders in which nothing is written, the project among it.
    read_only: Vec<PathBuf>,
    sought: Vec<Sought>,
    unkept: Vec<(Keep, String)>,
}
