//! Files of the project that a call moves to where only its sandbox sees them, and which are deleted
//! with the sandbox.

use std::path::{Path, PathBuf};

use super::examine::Examiner;
use super::facts::links_of;
use crate::confine::Files;
use crate::inspect::{Finding, Found, Landing, Target, View, critical, pattern};
use crate::knowledge::EffectKind;
use crate::shell::state::lexical;
use crate::tier::Tier;

/// Folders of which every sandbox has its own.
const PRIVATE: [&str; 3] = ["/dev/shm", "/tmp", "/var/tmp"];
/// Links of one line that are followed.
const LINKS_MAX: usize = 64;
/// Names for such a folder that a line may use.
const VARIABLES: [&str; 4] = ["$TMPDIR", "${TMPDIR", "$XDG_RUNTIME_DIR", "${XDG_RUNTIME_DIR"];

impl Examiner {
    /// The findings about such moves, where there is a sandbox. Where there is none, nothing vanishes, but
    /// nothing keeps a command from replacing the running program either.
    pub(super) fn vanishing(
        &self,
        commands: &[Found],
        view: &View<'_>,
        files: &Files,
    ) -> Vec<Finding> {
        if self.policy().tier < Tier::Jail {
            return self.replacing_program(commands, view).into_iter().collect();
        }
        let home = self.home().map(Path::to_owned);
        let private: Vec<PathBuf> = PRIVATE.iter().map(PathBuf::from).chain(home).collect();
        let is_private_folder = |path: &PathBuf| {
            let is_in = |folders: &[PathBuf]| folders.iter().any(|one| path.starts_with(one));
            is_in(&private) && !is_in(&files.write)
        };
        // A name that the line makes for such a folder leads there.
        let links = commands.iter().flat_map(links_of).take(LINKS_MAX);
        let links = links.filter(|(_, source)| is_private_folder(source));
        let links: Vec<PathBuf> = links.map(|(link, _)| link).collect();
        let is_linked = |target: &Target, from: &[PathBuf]| {
            let places = from.iter().map(|folder| lexical(folder, Path::new(&target.text)));
            let is_in = |path: &PathBuf| links.iter().any(|link| path.starts_with(link));
            target.known && places.into_iter().any(|path| is_in(&path))
        };
        let find = |found: &Found| {
            let from = critical::from(found, view);
            let mut written = found.targets(EffectKind::Write);
            let place = written.find(|target| {
                is_private(target, &from, (&private, files), view)
                    || is_made(target, commands)
                    || is_linked(target, &from)
            })?;
            let mut deleted = found.targets(EffectKind::Delete);
            let gone = deleted.find(|target| {
                is_there(target, &from, view) || is_added(found, target) || {
                    let is_elsewhere = is_private(target, &from, (&private, files), view);
                    target.is_open() && !is_elsewhere && !is_made(target, commands)
                }
            });
            // `xargs mv -t /tmp` gets all of its names in the run.
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

/// Whether something of the project is meant that is there now.
fn is_there(target: &Target, from: &[PathBuf], view: &View<'_>) -> bool {
    let exists =
        |path: &Path| matches!(view.land(path.as_os_str()), Landing::Inside { exists: true, .. });
    let field = target.field.as_ref().filter(|field| field.is_pattern());
    from.iter().any(|folder| match field {
        None => target.known && exists(&lexical(folder, Path::new(&target.text))),
        Some(field) => {
            let found = view.from_folder(folder).ok().map(|view| pattern::paths(field, &view));
            // More than can be told are there.
            found.is_some_and(|found| {
                found.is_none_or(|paths| paths.iter().any(|path| exists(&folder.join(path))))
            })
        }
    })
}

/// Whether a program puts names in the place of a word: `find -exec mv {} /tmp`.
fn is_added(found: &Found, target: &Target) -> bool {
    found.open && target.text.to_string_lossy().contains("{}")
}

/// Whether a path is in a folder that the sandbox has for itself.
fn is_private(
    target: &Target,
    from: &[PathBuf],
    (private, files): (&[PathBuf], &Files),
    view: &View<'_>,
) -> bool {
    if !target.known {
        let text = target.text.to_string_lossy();
        let text = text.trim_start_matches('"');
        return VARIABLES.iter().any(|variable| text.starts_with(variable));
    }
    from.iter().any(|folder| {
        let path = lexical(folder, Path::new(&target.text));
        let real = view.real(path.as_os_str()).unwrap_or_else(|| path.clone());
        let is_in = |folders: &[PathBuf]| folders.iter().any(|one| real.starts_with(one));
        (is_in(private) || private.iter().any(|one| path.starts_with(one))) && !is_in(&files.write)
    })
}

/// Whether a path is what `mktemp` prints.
fn is_made(target: &Target, commands: &[Found]) -> bool {
    let is_mktemp = |found: &&Found| found.words.first().is_some_and(|word| word == "mktemp");
    let is_in = |found: &Found| {
        let both = found.span.zip(target.span);
        both.is_some_and(|(inner, outer)| outer.start <= inner.start && inner.end <= outer.end)
    };
    target.is_open() && commands.iter().filter(is_mktemp).any(is_in)
}
