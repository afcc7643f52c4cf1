//! Paths that an agent's own tools may not change without a question. No sandbox contains these
//! tools, so the gate decides here what a sandbox would enforce, in every mode.

use std::os::fd::AsFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};

use super::activity::writes;
use super::examiner::Examiner;
use super::facts::CallFacts;
use super::subject::external::NamedPaths;
use crate::confine;
use crate::confine::{Files, OwnProgram, own_places};
use crate::inspect::{
    Axis, CommandSummary, Finding, Homes, PathResolver, Weight, path_of, real_folder,
};
use crate::policy::own;
use crate::policy::rules::{PathFacts, Reach};
use crate::shell::state::lexical;

/// Names that affect later calls in any folder, because a shell, git or an agent may be started
/// there.
const ANYWHERE: [&str; 8] =
    [".git", ".claude", ".codex", ".cursor", ".gemini", ".mcp.json", ".envrc", "stockade.toml"];
/// System folders from which programs, services and shells start.
const OF_MACHINE: [&str; 16] = [
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/proc",
    "/run",
    "/sbin",
    "/sys",
    "/usr",
    "/var/lib",
    "/var/spool",
];

impl Examiner {
    /// Findings about paths that an agent's tool touches and that need a person, or are off limits.
    pub(super) fn guarded(&self, named: &NamedPaths, files: &Files) -> Vec<Finding> {
        let mut found = Vec::new();
        for path in named.reads.iter().chain(&named.writes) {
            if in_any(path, &files.hide) {
                let text = format!(
                    "{:?} is hidden by the policy (box.hide, or a rule for Read)",
                    path.named
                );
                let instead = "do without it, or ask the person for what is in it";
                found.push(finding("hidden", text, instead, Weight::Always));
            }
        }
        let program = (!named.writes.is_empty()).then(OwnProgram::find);
        for path in &named.writes {
            if program.as_ref().is_some_and(|program| holds_program(path, program, Reach::Tree)) {
                found.push(of_program(path));
            } else if path.real.is_none() {
                let text = format!("Stockade cannot resolve {:?}", path.named);
                let instead = "name the file by its own path";
                found.push(finding("unknowable", text, instead, Weight::Ask));
            } else if let Some(why) = self.guard_of(path, files) {
                let text = format!("it writes {:?}, {why}", path.named);
                let instead = "leave the file as it is, or ask the person to change it";
                found.push(finding("protected", text, instead, Weight::Ask));
            }
        }
        found
    }

    /// Finding about commands without a sandbox that write the running program.
    pub(super) fn replacing_program(
        &self,
        commands: &[CommandSummary],
        resolver: &PathResolver<'_>,
    ) -> Option<Finding> {
        if !writes(commands) {
            return None;
        }
        let program = OwnProgram::find();
        let written = CallFacts::new("Bash", commands, resolver, self.home()).facts.writes;
        let is_program = |path: &&PathFacts| holds_program(path, &program, path.reach);
        written.iter().find(is_program).map(of_program)
    }

    /// Why a file needs a question before it is written.
    fn guard_of(&self, path: &PathFacts, files: &Files) -> Option<&'static str> {
        const RUNS: &str = "which is protected: code runs from it later, outside of any box";
        const DECIDES: &str = "which decides about later calls";
        const STARTS: &str = "which is outside the project, where programs and shells start from";
        let spelled = spellings(path);
        let is_or_holds = |guarded: &PathBuf| {
            let guarded = folded(guarded);
            spelled.iter().any(|path| path.starts_with(&guarded) || guarded.starts_with(path))
        };
        if files.protect.iter().any(is_or_holds) {
            return Some(RUNS);
        }
        let own = self.own_files().all().iter().cloned().chain(own::settings()).chain(own_places());
        if own.into_iter().any(|own| is_or_holds(&own)) {
            return Some(DECIDES);
        }
        let is_name = |path: &PathBuf| {
            path.components().any(|part| ANYWHERE.iter().any(|name| part.as_os_str() == *name))
        };
        let below = |path: &PathBuf| {
            // The folders above the project do not count.
            path.strip_prefix(folded(&files.root)).map_or_else(|_| path.clone(), Path::to_owned)
        };
        if spelled.iter().map(below).any(|path| is_name(&path)) {
            return Some(RUNS);
        }
        let is_ours = |path: &PathBuf| {
            let is_in = |folder: &PathBuf| path.starts_with(folded(folder));
            path == Path::new("/dev/null") || is_in(&files.root) || files.write.iter().any(is_in)
        };
        let homes = Homes::find();
        let starts = |path: &PathBuf| {
            let of_machine = OF_MACHINE.iter().any(|folder| path.starts_with(folder));
            of_machine || is_dot_file(path, homes.folders())
        };
        spelled.iter().any(|path| !is_ours(path) && starts(path)).then_some(STARTS)
    }
}

/// Whether a path is the running program, by name or by identity, or a folder that is removed
/// together with the program.
fn holds_program(path: &PathFacts, program: &OwnProgram, reach: Reach) -> bool {
    let spelled = spellings(path);
    let is_name = |own: &PathBuf| {
        let own = folded(own);
        let holds = |path: &PathBuf| reach == Reach::Tree && own.starts_with(path);
        spelled.iter().any(|path| *path == own || holds(path))
    };
    program.paths.iter().any(is_name)
        || path.real.iter().chain([&path.named]).any(|path| program.is_at(path))
}

fn of_program(path: &PathFacts) -> Finding {
    let text = format!("it writes {:?}, the program that decides about later calls", path.named);
    let instead = "leave the program as it is, or ask the person to replace it";
    finding("protected", text, instead, Weight::Ask)
}

/// Whether a path is a dot file of a home directory, is below one, or is in the user's `bin`.
fn is_dot_file(path: &Path, homes: &[PathBuf]) -> bool {
    let is_dot = |rest: &Path| match rest.components().next() {
        Some(Component::Normal(name)) => name == "bin" || name.to_string_lossy().starts_with('.'),
        _ => false,
    };
    let in_home = |home: &PathBuf| {
        let real = confine::real(home);
        let below = [home, &real].map(|home| path.strip_prefix(folded(home)).is_ok_and(is_dot));
        below.contains(&true)
    };
    // Home directories of other users.
    let elsewhere = path.strip_prefix("/home").ok().and_then(|rest| {
        let mut parts = rest.components();
        parts.next()?;
        Some(parts.as_path().to_owned())
    });
    homes.iter().any(in_home)
        || elsewhere.is_some_and(|rest| is_dot(&rest))
        || path.strip_prefix("/root").is_ok_and(is_dot)
}

/// Whether a path is one of these or below one, as written or resolved.
fn in_any(path: &PathFacts, all: &[PathBuf]) -> bool {
    let spelled = spellings(path);
    all.iter().map(|one| folded(one)).any(|one| spelled.iter().any(|path| path.starts_with(&one)))
}

/// A path as written and as resolved, in lower case.
fn spellings(path: &PathFacts) -> Vec<PathBuf> {
    let named = folded(&lexical(Path::new("/"), &path.named));
    path.real.iter().map(|real| folded(real)).chain([named]).collect()
}

/// A path in lower case, because some file systems ignore case.
fn folded(path: &Path) -> PathBuf {
    PathBuf::from(path.to_string_lossy().to_lowercase())
}

pub(super) fn finding(rule: &'static str, text: String, instead: &str, weight: Weight) -> Finding {
    Finding::new(Axis::Path, weight, rule, text).instead(instead)
}

/// Stockade's own files: the journal, and the files that hooks and tools run.
#[derive(Debug, Default)]
pub(super) struct OwnFiles {
    all: Vec<PathBuf>,
}

impl OwnFiles {
    /// Adds a file under every path that leads to it.
    pub(super) fn add(&mut self, file: &Path) {
        let places = [place_of(file), target_of(file)];
        let new: Vec<PathBuf> =
            places.into_iter().flatten().filter(|place| !self.all.contains(place)).collect();
        self.all.extend(new);
    }

    /// All of them.
    pub(super) fn all(&self) -> &[PathBuf] {
        &self.all
    }

    /// Protects those that a call could write otherwise: hooks run outside a sandbox, and a tool
    /// may run in a weaker one.
    pub(super) fn protect(&self, files: &mut Files) {
        for own in &self.all {
            let is_written = files.write.iter().any(|folder| own.starts_with(folder));
            if is_written && !files.protect.contains(own) {
                files.protect.push(own.clone());
            }
        }
    }
}

/// The real path of a file whose folder exists.
fn place_of(file: &Path) -> Option<PathBuf> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = real_folder(folder.unwrap_or(Path::new("."))).ok()?;
    Some(folder.join(file.file_name()?))
}

/// The real path of the file that a path leads to.
fn target_of(path: &Path) -> Option<PathBuf> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let handle = rustix::fs::openat(CWD, path, flags, Mode::empty()).ok()?;
    path_of(handle.as_fd()).ok()
}
