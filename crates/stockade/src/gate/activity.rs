//! What a call does, as far as the mode is concerned: it changes nothing, edits files of the
//! project, or does anything else.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::judge::{Analysis, LazyFacts, Scene};
use crate::catalog::{EffectKind, Purity};
use crate::inspect::{Axis, CommandSummary, Finding, PathResolver, Weight, repository};
use crate::policy::Activity;
use crate::policy::decide::{CallKind, Containment};
use crate::policy::rules::{PathFacts, Reach};

/// Programs that only read, print and change the files named in their arguments.
const EDITORS: [&str; 16] = [
    "cat", "cp", "echo", "grep", "head", "ln", "mkdir", "mv", "printf", "rm", "rmdir", "sed",
    "sort", "tail", "tee", "touch",
];

/// What the commands of a call do together.
pub(super) fn of_commands(
    scene: &Scene<'_>,
    analysis: &Analysis,
    facts: &LazyFacts<'_>,
) -> Activity {
    let Analysis { commands, findings, confinement, terms, .. } = analysis;
    let files = &confinement.files;
    let written = if writes(commands) { &facts.facts.writes[..] } else { &[] };
    let reaches_out = commands.iter().any(|one| one.targets(EffectKind::Host).next().is_some());
    let containment = scene.examiner.policy().hold(terms.uncontained, reaches_out);
    let is_boxed = containment == Containment::Box;
    let reads = |found: &CommandSummary| reads(found, &scene.resolver, is_boxed);
    let edits = |found: &CommandSummary| reads(found) || is_editor(found);
    let is_ours = |path: &PathFacts| lands_in(path, &files.write);
    let kind = if commands.is_empty() {
        CallKind::Runs
    } else if commands.iter().all(reads) && !findings.iter().any(Finding::is_dynamic) {
        CallKind::Reads
    } else if commands.iter().all(edits)
        && findings.iter().all(is_about_edits)
        && written.iter().all(is_ours)
    {
        CallKind::Edits
    } else {
        CallKind::Runs
    };
    let protected = written.iter().find_map(|path| protected(path, &files.protect));
    Activity { kind, protected, reaches_out }
}

/// Whether a command only reads and prints. A program that may run what the project's configuration
/// names counts if the sandbox contains it, or if the configuration names nothing.
pub(super) fn reads(found: &CommandSummary, resolver: &PathResolver<'_>, is_boxed: bool) -> bool {
    match found.nature {
        Purity::Unknown => false,
        Purity::ReadsIfContained => is_boxed || !repository::runs_programs(resolver),
        Purity::ReadsAsWritten | Purity::Reads => true,
    }
}

/// Whether any command has a visible write.
pub(super) fn writes(commands: &[CommandSummary]) -> bool {
    let is_write = |kind| matches!(kind, EffectKind::Write | EffectKind::Delete);
    commands.iter().flat_map(|found| &found.targets).any(|target| is_write(target.kind))
}

/// Whether a finding only says that a known program removes files.
fn is_about_edits(finding: &Finding) -> bool {
    finding.axis == Axis::Name || finding.weight == Weight::Ruled
}

fn is_editor(found: &CommandSummary) -> bool {
    let is_known = |name: &OsStr| name.to_str().is_some_and(|name| EDITORS.contains(&name));
    let stays = |kind| !matches!(kind, EffectKind::Execute | EffectKind::Host);
    found.words.first().is_some_and(|word| is_known(word))
        && found.names.iter().all(|name| is_known(name.as_ref()))
        && found.environment.is_empty()
        && !(found.dynamic || found.open || found.remote)
        && found.targets.iter().all(|target| stays(target.kind))
}

/// Whether a path is known and lands in one of these folders.
pub(super) fn lands_in(path: &PathFacts, folders: &[PathBuf]) -> bool {
    let is_null = path.named == Path::new("/dev/null");
    let lands = |real: &PathBuf| folders.iter().any(|folder| real.starts_with(folder));
    path.known && (is_null || path.real.as_ref().is_some_and(lands))
}

/// The first protected path that a write touches: the path itself, one above it, or one below a
/// removed folder.
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
