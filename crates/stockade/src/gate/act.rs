//! What a call does, as the mode sees it: nothing that lasts, files of the work, or anything.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::confine::Files;
use crate::inspect::{Axis, Finding, Found, View, Weight, repository};
use crate::knowledge::{EffectKind, Nature};
use crate::policy::Act;
use crate::policy::rule::{Facts, PathFacts, Reach};
use crate::policy::weigh::{Hold, Kind};

/// Programs that do nothing but read, print and change the files that they are told to.
const EDITORS: [&str; 16] = [
    "cat", "cp", "echo", "grep", "head", "ln", "mkdir", "mv", "printf", "rm", "rmdir", "sed",
    "sort", "tail", "tee", "touch",
];

/// What a call of these commands does, in these folders.
///
/// `facts` are needed only where something is written, which [`writes`] tells.
pub(super) fn act(
    commands: &[Found],
    findings: &[Finding],
    (facts, view): (Option<&Facts>, &View<'_>),
    files: &Files,
    hold: impl Fn(bool) -> Hold,
) -> Act {
    let written = facts.map_or(&[][..], |facts| &facts.writes);
    let reaches_out = commands.iter().any(|one| one.targets(EffectKind::Host).next().is_some());
    let is_boxed = hold(reaches_out) == Hold::Box;
    let reads = |found: &Found| reads(found, view, is_boxed);
    let edits = |found: &Found| reads(found) || is_editor(found);
    let is_ours = |path: &PathFacts| lands_in(path, &files.write);
    let kind = if commands.is_empty() {
        Kind::Runs
    } else if commands.iter().all(reads) && !findings.iter().any(Finding::is_dynamic) {
        Kind::Reads
    } else if commands.iter().all(edits)
        && findings.iter().all(is_about_edits)
        && written.iter().all(is_ours)
    {
        Kind::Edits
    } else {
        Kind::Runs
    };
    let protected = written.iter().find_map(|path| protected(path, &files.protect));
    Act { kind, protected, reaches_out }
}

/// Whether a command reads and prints and does no more. One that may run what the configuration of
/// the project names does so in a box that contains it, or where it names nothing.
pub(super) fn reads(found: &Found, view: &View<'_>, is_boxed: bool) -> bool {
    match found.nature {
        Nature::Unknown => false,
        Nature::ReadsIfContained => is_boxed || !repository::runs_programs(view),
        Nature::ReadsAsWritten | Nature::Reads => true,
    }
}

/// Whether any of the commands writes something that can be seen.
pub(super) fn writes(commands: &[Found]) -> bool {
    let is_write = |kind| matches!(kind, EffectKind::Write | EffectKind::Delete);
    commands.iter().flat_map(|found| &found.targets).any(|target| is_write(target.kind))
}

/// Whether a finding says no more than that a known program removes files.
fn is_about_edits(finding: &Finding) -> bool {
    finding.axis == Axis::Name || finding.weight == Weight::Ruled
}

fn is_editor(found: &Found) -> bool {
    let is_known = |name: &OsStr| name.to_str().is_some_and(|name| EDITORS.contains(&name));
    let stays = |kind| !matches!(kind, EffectKind::Execute | EffectKind::Host);
    found.words.first().is_some_and(|word| is_known(word))
        && found.names.iter().all(|name| is_known(name.as_ref()))
        && found.environment.is_empty()
        && !(found.dynamic || found.open || found.remote)
        && found.targets.iter().all(|target| stays(target.kind))
}

/// Whether a path is known, and lands in one of these folders.
pub(super) fn lands_in(path: &PathFacts, folders: &[PathBuf]) -> bool {
    let is_null = path.named == Path::new("/dev/null");
    let lands = |real: &PathBuf| folders.iter().any(|folder| real.starts_with(folder));
    path.known && (is_null || path.real.as_ref().is_some_and(lands))
}

/// The protected path that a write touches: it is there or beneath it, or goes with its folder.
pub(super) fn protected(path: &PathFacts, all: &[PathBuf]) -> Option<PathBuf> {
    all_protected(path, all).next().cloned()
}

/// All protected paths that a write touches.
pub(super) fn all_protected<'p>(
    path: &PathFacts,
    all: &'p [PathBuf],
) -> impl Iterator<Item = &'p PathBuf> {
    let named = [Some(&path.named), path.real.as_ref()];
    let meets = move |protected: &&PathBuf| {
        named.iter().flatten().any(|path_of| {
            let takes_along = path.reach == Reach::Tree && protected.starts_with(path_of);
            path_of.starts_with(protected) || takes_along
        })
    };
    all.iter().filter(meets)
}
