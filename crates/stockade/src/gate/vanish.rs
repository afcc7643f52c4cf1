//! Findings about moves of project files to folders that only the sandbox sees: the files are lost
//! when the sandbox ends.

use std::path::{Path, PathBuf};

use super::examiner::Examiner;
use super::facts::links_of;
use crate::catalog::EffectKind;
use crate::confine::Files;
use crate::inspect::{
    CommandSummary, Finding, PathResolver, Resolution, Target, critical, emptied, pattern,
};
use crate::shell::state::lexical;
use crate::tier::Tier;

/// Folders that are private to each sandbox.
const PRIVATE: [&str; 3] = ["/dev/shm", "/tmp", "/var/tmp"];
/// The most links of one line that are followed.
const LINKS_MAX: usize = 64;
/// Variables that name such a folder.
const VARIABLES: [&str; 4] = ["$TMPDIR", "${TMPDIR", "$XDG_RUNTIME_DIR", "${XDG_RUNTIME_DIR"];

/// Programs that move files to the trash folder of the home folder.
const TRASHERS: [&str; 5] = ["gvfs-trash", "trash", "trash-cli", "trash-put", "trashy"];

fn is_trash(found: &CommandSummary) -> bool {
    let is_trash = found.words.get(1).is_some_and(|word| word == "trash");
    TRASHERS.iter().any(|name| emptied::is_program(found, name))
        || is_trash && emptied::is_program(found, "gio")
}

impl Examiner {
    /// Findings about such moves. Without a sandbox nothing vanishes, but a command could replace
    /// the running program.
    pub(super) fn vanishing(
        &self,
        commands: &[CommandSummary],
        resolver: &PathResolver<'_>,
        files: &Files,
    ) -> Vec<Finding> {
        if self.policy().tier < Tier::Jail {
            return self.replacing_program(commands, resolver).into_iter().collect();
        }
        let home = self.home().map(Path::to_owned);
        let folders = PRIVATE.iter().map(PathBuf::from).chain(home).collect();
        let private = Private { folders, files };
        // A link that the line creates may lead to such a folder.
        let links = commands.iter().flat_map(links_of).take(LINKS_MAX);
        let links = links.filter(|(_, source)| private.has(source) && !private.is_written(source));
        let links: Vec<PathBuf> = links.map(|(link, _)| link).collect();
        let is_linked = |target: &Target, from: &[PathBuf]| {
            let places = from.iter().map(|folder| lexical(folder, Path::new(&target.text)));
            let is_in = |path: &PathBuf| links.iter().any(|link| path.starts_with(link));
            target.known && places.into_iter().any(|path| is_in(&path))
        };
        let find = |found: &CommandSummary| {
            let from = critical::from(found, resolver);
            if is_trash(found) {
                let mut gone = found.targets(EffectKind::Delete);
                let gone =
                    gone.find(|target| target.is_open() || is_there(target, &from, resolver))?;
                let gone = gone.text.to_string_lossy();
                let text =
                    format!("it moves {gone:?} to a trash folder, which is the sandbox's own");
                return Some(critical::finding("vanish", text, found.span));
            }
            let mut written = found.targets(EffectKind::Write);
            let place = written.find(|target| {
                is_private(target, &from, &private, resolver)
                    || is_made(target, commands)
                    || is_linked(target, &from)
                    || is_unknown_folder(found, target)
            })?;
            let is_copied = |target: &&Target| {
                let is_it = |other: &Target| other.text == target.text && other.known;
                let others = commands.iter().filter(|other| !critical::moves(other));
                let mut deleted = others.flat_map(|other| other.targets(EffectKind::Delete));
                !place.redirected && deleted.any(is_it)
            };
            let copied = found.targets(EffectKind::Read).filter(is_copied);
            let mut deleted = found.targets(EffectKind::Delete).chain(copied);
            let gone = deleted.find(|target| {
                is_there(target, &from, resolver) || is_added(found, target) || {
                    let is_elsewhere = is_private(target, &from, &private, resolver);
                    target.is_open() && !is_elsewhere && !is_made(target, commands)
                }
            });
            // `xargs mv -t /tmp` gets its names at run time.
            let gone = match gone {
                Some(target) => format!("{:?}", target.text.to_string_lossy()),
                None if found.open && critical::moves(found) => "files".to_owned(),
                None => return None,
            };
            let place = place.text.to_string_lossy();
            let text = format!("it moves {gone} out of the project, to {place:?}");
            Some(critical::finding("vanish", text, found.span))
        };
        commands.iter().filter(|found| !found.remote).filter_map(find).collect()
    }
}

/// The private folders of a sandbox, and the shared ones.
struct Private<'f> {
    folders: Vec<PathBuf>,
    files: &'f Files,
}

impl Private<'_> {
    fn has(&self, path: &Path) -> bool {
        self.folders.iter().any(|folder| path.starts_with(folder))
    }

    fn is_written(&self, path: &Path) -> bool {
        self.files.write.iter().any(|folder| path.starts_with(folder))
    }
}

/// Whether a target is a file of the project that exists now.
fn is_there(target: &Target, from: &[PathBuf], resolver: &PathResolver<'_>) -> bool {
    let exists = |path: &Path| {
        matches!(resolver.resolve(path.as_os_str()), Resolution::Inside { exists: true, .. })
    };
    let field = target.field.as_ref().filter(|field| field.is_pattern());
    from.iter().any(|folder| match field {
        None => target.known && exists(&lexical(folder, Path::new(&target.text))),
        Some(field) => {
            let found =
                resolver.from_folder(folder).ok().map(|resolver| pattern::paths(field, &resolver));
            // More matches than can be listed do exist.
            found.is_some_and(|found| {
                found.is_none_or(|paths| paths.iter().any(|path| exists(&folder.join(path))))
            })
        }
    })
}

/// Whether what is moved to a place comes from elsewhere, and the folder that the place is in is not known:
/// `cd "$(mktemp -d)" && mv "$OLDPWD"/src .`.
fn is_unknown_folder(found: &CommandSummary, place: &Target) -> bool {
    let is_from_elsewhere = |target: &Target| {
        target.is_open() && target.text.to_string_lossy().contains("PWD")
            || Path::new(&target.text).is_absolute()
    };
    let is_relative = place.known && Path::new(&place.text).is_relative();
    let mut deleted = found.targets(EffectKind::Delete);
    found.folders.is_empty() && is_relative && deleted.any(is_from_elsewhere)
}

/// Whether a program puts names in the place of a word: `find -exec mv {} /tmp`.
fn is_added(found: &CommandSummary, target: &Target) -> bool {
    found.open && target.text.to_string_lossy().contains("{}")
}

/// Whether a path is in a private folder of the sandbox.
fn is_private(
    target: &Target,
    from: &[PathBuf],
    private: &Private<'_>,
    resolver: &PathResolver<'_>,
) -> bool {
    if !target.known {
        let text = target.text.to_string_lossy();
        let text = text.trim_start_matches('"');
        // What is known of it: `/tmp/$(basename x)`.
        let known = text.split(['"', '\'', '$', '`', '*', '?', '[']).next().unwrap_or_default();
        let path = lexical(Path::new("/"), Path::new(known));
        return VARIABLES.iter().any(|variable| text.starts_with(variable))
            || (known.starts_with('/') && private.has(&path) && !private.is_written(&path));
    }
    from.iter().any(|folder| {
        let path = critical::without_proc(Path::new(&target.text), folder);
        let path = lexical(folder, &path);
        let real = resolver.real(path.as_os_str()).unwrap_or_else(|| path.clone());
        (private.has(&real) || private.has(&path)) && !private.is_written(&real)
    })
}

/// Whether a path is the output of `mktemp`.
fn is_made(target: &Target, commands: &[CommandSummary]) -> bool {
    let is_mktemp =
        |found: &&CommandSummary| found.words.first().is_some_and(|word| word == "mktemp");
    let is_in = |found: &CommandSummary| {
        let both = found.span.zip(target.span);
        both.is_some_and(|(inner, outer)| outer.start <= inner.start && inner.end <= outer.end)
    };
    target.is_open() && commands.iter().filter(is_mktemp).any(is_in)
}
