//! Files that a command of the line destroys under another path than their own: through a link that the
//! line made, or in a folder to which the line moved them.

use std::path::{Path, PathBuf};

use super::super::super::command::{CommandSummary, Target};
use super::super::super::critical::{self, CriticalCheck};
use super::super::super::emptied::is_program;
use super::super::Walker;
use crate::catalog::EffectKind;
use crate::inspect::Finding;
use crate::shell::state::lexical;

/// Programs that make symbolic links.
const LINKERS: [&str; 4] = ["cp", "gcp", "gln", "ln"];

/// A symbolic link that the line makes.
struct Link {
    at: PathBuf,
    to: PathBuf,
}

impl Walker<'_> {
    /// What commands delete or empty through links that the line makes: `ln -s . x; rm -rf x/*`.
    pub(super) fn through_links(&self, ground: &CriticalCheck<'_>) -> Vec<Finding> {
        let links: Vec<Link> = self.found.iter().flat_map(|found| self.links_of(found)).collect();
        let mut findings = Vec::new();
        for found in self.found.iter().filter(|one| !one.remote && !links.is_empty()) {
            for target in &found.targets {
                let text = target.text.to_string_lossy();
                for folder in critical::from(found, self.resolver) {
                    let path = lexical(&folder, Path::new(&*text));
                    let lost = links.iter().find_map(|link| {
                        let rest = path.strip_prefix(&link.at).ok()?;
                        // To delete a link leaves what it leads to.
                        let is_link = rest.as_os_str().is_empty() && !text.ends_with('/');
                        if is_link && target.kind == EffectKind::Delete {
                            return None;
                        }
                        let text = link.to.join(rest).into_os_string();
                        let real = Target { text, known: true, field: None, ..target.clone() };
                        ground.lost(found, &real, std::slice::from_ref(&folder))
                    });
                    findings.extend(lost.map(|(rule, why)| {
                        let text = format!("it deletes {text:?} through a link, {why}");
                        critical::finding(rule, text, target.span.or(found.span))
                    }));
                }
            }
        }
        findings
    }

    fn links_of(&self, found: &CommandSummary) -> Vec<Link> {
        let is_symbolic = |word: &std::ffi::OsString| {
            let word = word.to_string_lossy();
            let letters = word.strip_prefix('-').filter(|word| !word.starts_with('-'));
            word.starts_with("--s") || letters.is_some_and(|letters| letters.contains('s'))
        };
        let is_linker = LINKERS.iter().any(|name| is_program(found, name));
        if !is_linker || !found.words.iter().any(is_symbolic) {
            return Vec::new();
        }
        let mut links = Vec::new();
        for folder in critical::from(found, self.resolver) {
            for place in found.targets(EffectKind::Write) {
                let place = lexical(&folder, Path::new(&place.text));
                for source in found.targets(EffectKind::Read) {
                    let named = source.text.to_string_lossy();
                    let name = Path::new(&*named).file_name().map(|name| place.join(name));
                    for at in [Some(place.clone()), name].into_iter().flatten() {
                        let from = at.parent().unwrap_or(&folder);
                        // Where a link leads that is not known, it may be the project.
                        let to = if source.is_open() {
                            self.resolver.root().path().to_owned()
                        } else {
                            lexical(from, Path::new(&*named))
                        };
                        links.push(Link { at, to });
                    }
                }
            }
        }
        links
    }

    /// What the line moves to a place that it deletes: `mv * build; rm -rf build`.
    pub(super) fn moved_and_deleted(&self, ground: &CriticalCheck<'_>) -> Vec<Finding> {
        let mut findings = Vec::new();
        let is_move = |found: &&CommandSummary| {
            !found.remote && (critical::moves(found) || is_git_move(found))
        };
        for found in self.found.iter().filter(is_move) {
            let folders = critical::from(found, self.resolver);
            let places = found.targets(EffectKind::Write).flat_map(|place| paths(&folders, place));
            let Some(span) = places.into_iter().find_map(|place| self.deleted_at(&place)) else {
                continue;
            };
            for source in found.targets(EffectKind::Delete) {
                let text = source.text.to_string_lossy();
                let mut lost = ground.deleted(source, &folders);
                if source.is_open() {
                    let names = self.sources(&text, source.span, found);
                    let mut listed = names.listed.iter();
                    lost = lost.or_else(|| {
                        listed.find_map(|one| ground.deleted(&one.target, &one.folders))
                    });
                }
                findings.extend(lost.map(|(rule, why)| {
                    let text = format!("it deletes {text:?}, which the line moves there, {why}");
                    critical::finding(rule, text, Some(span))
                }));
            }
        }
        findings
    }

    /// Where the line deletes a path, a folder around it or all that is in it.
    fn deleted_at(&self, place: &Path) -> Option<crate::shell::ast::Span> {
        let others = self.found.iter().filter(|one| !one.remote && !critical::moves(one));
        others.filter(|one| !is_git_move(one)).find_map(|found| {
            let folders = critical::from(found, self.resolver);
            let mut deleted = found.targets(EffectKind::Delete);
            let target = deleted.find(|target| {
                paths(&folders, target).iter().any(|path| place.starts_with(path))
            })?;
            target.span.or(found.span)
        })
    }
}

fn is_git_move(found: &CommandSummary) -> bool {
    is_program(found, "git") && found.words.iter().any(|word| word == "mv")
}

/// The paths of a target; a folder with all that is in it is the folder.
fn paths(folders: &[PathBuf], target: &Target) -> Vec<PathBuf> {
    let text = target.text.to_string_lossy();
    let text = critical::without_all(&text);
    folders.iter().map(|folder| lexical(folder, Path::new(text))).collect()
}
