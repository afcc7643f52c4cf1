//! Paths that an agent's own tools may not touch unasked. No sandbox holds these tools, so what a
//! sandbox would enforce is decided here, whatever the mode is.

use std::path::{Component, Path, PathBuf};

use super::act::writes;
use super::examine::Examiner;
use super::facts::Shown;
use super::named_paths::Named;
use crate::confine::{self, Files, OwnProgram, own_places};
use crate::inspect::{Axis, Finding, Found, Homes, View, Weight};
use crate::policy::own;
use crate::policy::rule::{PathFacts, Reach};
use crate::shell::state::lexical;

/// Names that decide about later calls wherever they are: of git, of agents and of Stockade. They count
/// in every folder, because a shell, git or an agent may be started there.
const ANYWHERE: [&str; 8] =
    [".git", ".claude", ".codex", ".cursor", ".gemini", ".mcp.json", ".envrc", "stockade.toml"];
/// Folders of the machine from which programs, services and shells start.
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
    /// What a call of an agent's tool touches that a person has to allow, or nobody may.
    pub(super) fn guarded(&self, named: &Named, files: &Files) -> Vec<Finding> {
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
                let text = format!("Stockade cannot tell where {:?} leads", path.named);
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

    /// The findings about commands that no sandbox holds and that write the running program.
    pub(super) fn replacing_program(&self, commands: &[Found], view: &View<'_>) -> Option<Finding> {
        if !writes(commands) {
            return None;
        }
        let program = OwnProgram::find();
        let written = Shown::new("Bash", commands, view, self.home()).facts.writes;
        let is_program = |path: &&PathFacts| holds_program(path, &program, path.reach);
        written.iter().find(is_program).map(of_program)
    }

    /// Why a file is not written by the way.
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
            // The way to the project does not count.
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

/// Whether a path is the running program, by its name or as the same file, or is a folder that goes with
/// the program in it.
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

/// Whether a path is a dot file of a home folder, in such a folder, or a program of its user.
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
    // The homes of others.
    let elsewhere = path.strip_prefix("/home").ok().and_then(|rest| {
        let mut parts = rest.components();
        parts.next()?;
        Some(parts.as_path().to_owned())
    });
    homes.iter().any(in_home)
        || elsewhere.is_some_and(|rest| is_dot(&rest))
        || path.strip_prefix("/root").is_ok_and(is_dot)
}

/// Whether a path is one of these or in one, by its name or by where it leads.
fn in_any(path: &PathFacts, all: &[PathBuf]) -> bool {
    let spelled = spellings(path);
    all.iter().map(|one| folded(one)).any(|one| spelled.iter().any(|path| path.starts_with(&one)))
}

/// A path by its name and by where it leads, in small letters.
fn spellings(path: &PathFacts) -> Vec<PathBuf> {
    let named = folded(&lexical(Path::new("/"), &path.named));
    path.real.iter().map(|real| folded(real)).chain([named]).collect()
}

/// A path in small letters: some file systems do not tell them from capital ones.
fn folded(path: &Path) -> PathBuf {
    PathBuf::from(path.to_string_lossy().to_lowercase())
}

pub(super) fn finding(rule: &'static str, text: String, instead: &str, weight: Weight) -> Finding {
    Finding {
        axis: Axis::Path,
        rule,
        text,
        argument: None,
        instead: Some(instead.to_owned()),
        listed: None,
        weight,
        span: None,
    }
}
