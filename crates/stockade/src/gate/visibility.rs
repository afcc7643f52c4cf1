//! Which files a call may see: by the rules, by hidden paths, and by other names of hidden files.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::activity::writes;
use super::examiner::Examiner;
use super::facts::{CallFacts, home_place, is_absent};
use super::judge::Scene;
use crate::confine::Files;
use crate::files::Visibility;
use crate::inspect::{CommandSummary, Identity, PathResolver};
use crate::policy::Decision;
use crate::policy::rules::{Facts, Part, PathFacts, Rules};
use crate::tier::Tier;

/// The rules and the hidden paths of one call.
#[derive(Debug)]
pub(super) struct RuleVisibility {
    pub(super) rules: Rules,
    /// The facts of the call without its reads and writes.
    pub(super) facts: Facts,
    pub(super) hide: Vec<PathBuf>,
    pub(super) root: PathBuf,
    /// The decision from which on another name of the same file hides it.
    pub(super) bar: Decision,
    /// Searched for when the first file with several links is met.
    pub(super) twins: OnceCell<HardLinks>,
}

impl Visibility for RuleVisibility {
    fn sees(&self, path: &Path) -> bool {
        self.of(path) == Decision::Allow
    }

    fn hides_link(&self, stat: &Stat) -> bool {
        let hides_none = self.rules.all().is_empty() && self.hide.is_empty();
        if stat.st_nlink < 2 || hides_none {
            return false;
        }
        let look = || HardLinks::look(&self.root, &self.hide, |path| self.of(path) < self.bar);
        self.twins.get_or_init(look).may_hold(stat)
    }
}

impl RuleVisibility {
    fn of(&self, path: &Path) -> Decision {
        if self.hide.iter().any(|hidden| path.starts_with(hidden)) {
            return Decision::Deny;
        }
        if self.rules.all().is_empty() {
            return Decision::Allow;
        }
        let read = PathFacts { free: true, ..PathFacts::new(path) };
        let facts = Facts { reads: vec![read], ..self.facts.clone() };
        match self.rules.decide(&facts) {
            None => Decision::Allow,
            // The question about the tool was asked before the search.
            Some(found) if found.decision == Decision::Ask && found.part == Part::Tool => {
                Decision::Allow
            }
            Some(found) => found.decision,
        }
    }
}

/// The most names that are read, and the time limit.
const NAMES_MAX: usize = 500_000;
const TIME_MAX: Duration = Duration::from_secs(2);

/// Files with several hard links of which at least one is hidden.
#[derive(Debug)]
pub(super) struct HardLinks {
    hidden: HashSet<Identity>,
    names_left: usize,
    until: Option<Instant>,
    is_whole: bool,
}

/// Whether everything in a folder is hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    ByName,
    Hidden,
}

impl HardLinks {
    /// Searches the root, and hidden folders outside it.
    pub(super) fn look(root: &Path, hide: &[PathBuf], sees: impl Fn(&Path) -> bool) -> Self {
        let until = Instant::now().checked_add(TIME_MAX);
        let (hidden, names_left) = (HashSet::new(), NAMES_MAX);
        let mut twins = Self { hidden, names_left, until, is_whole: true };
        let mut todo = vec![(root.to_owned(), Inside::ByName)];
        for path in hide.iter().filter(|path| !path.starts_with(root)) {
            twins.note(path);
            todo.push((path.clone(), Inside::Hidden));
        }
        while let Some((folder, inside)) = todo.pop() {
            if twins.names_left == 0 || twins.until.is_none_or(|until| Instant::now() >= until) {
                twins.is_whole = false;
                break;
            }
            match twins.folder(&folder, inside, &sees, &mut todo) {
                // It was removed, is not a folder, or is not readable and not known to hide
                // anything.
                Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(Errno::ACCESS) if inside == Inside::ByName => {}
                Err(_) => twins.is_whole = false,
            }
        }
        twins
    }

    /// Whether a file may have a hidden link.
    pub(super) fn may_hold(&self, stat: &Stat) -> bool {
        !self.is_whole || self.hidden.contains(&Identity::of(stat))
    }

    fn folder(
        &mut self,
        folder: &Path,
        inside: Inside,
        sees: &impl Fn(&Path) -> bool,
        todo: &mut Vec<(PathBuf, Inside)>,
    ) -> Result<(), Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(CWD, folder, flags, Mode::empty())?;
        for entry in Dir::new(handle)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let Some(left) = self.names_left.checked_sub(1) else { break };
            self.names_left = left;
            let path = folder.join(name);
            let is_hidden = inside == Inside::Hidden || !sees(&path);
            let below = if is_hidden { Inside::Hidden } else { Inside::ByName };
            let may_be_folder =
                matches!(entry.file_type(), FileType::Directory | FileType::Unknown);
            if is_hidden && entry.file_type() != FileType::Directory {
                self.note(&path);
            }
            if may_be_folder {
                todo.push((path, below));
            }
        }
        Ok(())
    }

    /// Records a file that has several links.
    fn note(&mut self, path: &Path) {
        match rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if stat.st_nlink > 1 => {
                self.hidden.insert(Identity::of(&stat));
            }
            Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(_) => self.is_whole = false,
        }
    }
}

/// Which paths may not be read, for the calls in one folder.
pub(super) struct Unreadable<'e> {
    pub(super) examiner: &'e Examiner,
    pub(super) files: &'e Files,
    facts: Facts,
}

impl<'e> Unreadable<'e> {
    pub(super) fn new(
        examiner: &'e Examiner,
        files: &'e Files,
        resolver: &PathResolver<'_>,
    ) -> Self {
        let mut facts = Facts::new("Read", resolver.cwd_path());
        facts.home = home_place(resolver, examiner.home());
        Self { examiner, files, facts }
    }

    /// Whether a path may not be read.
    pub(super) fn has(&self, path: &Path) -> bool {
        if self.files.hide.iter().any(|hidden| path.starts_with(hidden)) {
            return true;
        }
        self.examiner.policy().rules.denies_read(&PathFacts::new(path), &self.facts)
    }
}

impl Examiner {
    /// Hints for a line that writes or deletes files which the sandbox hides. Read rules do not
    /// refuse such a line, but the mask over a hidden file can neither be written nor removed.
    pub(super) fn hints(
        &self,
        scene: &Scene<'_>,
        commands: &[CommandSummary],
        files: &Files,
    ) -> Vec<String> {
        let has_rules = !self.policy().rules.all().is_empty();
        if self.policy().tier < Tier::Jail || !has_rules || !writes(commands) {
            return Vec::new();
        }
        let unreadable = Unreadable::new(self, files, &scene.resolver);
        let written =
            CallFacts::of(scene.call, commands, &scene.resolver, self.home()).facts.writes;
        let mut hidden: Vec<PathBuf> = written
            .into_iter()
            .filter(|path| !is_absent(path))
            .filter_map(|path| path.real)
            .filter(|real| real.starts_with(&files.root) && unreadable.has(real))
            .collect();
        hidden.sort_unstable();
        hidden.dedup();
        let hint = |path: PathBuf| {
            format!(
                "{path:?} is hidden in the sandbox, so no command can change or delete it there; use the \
                 agent's own tool that writes files, or ask the person"
            )
        };
        hidden.into_iter().map(hint).collect()
    }
}
