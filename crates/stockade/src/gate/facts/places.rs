//! The paths that the targets of commands may mean, each with where it leads.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use crate::inspect::{Found, Target, View, pattern};
use crate::knowledge::EffectKind;
use crate::policy::rule::{PathFacts, Reach};
use crate::shell::expand::{Bit, Field};
use crate::shell::state::lexical;
use crate::shell::tree::Span;

/// Programs that take a folder with all that is in it to another place, or give it another name.
const COPYING: [&str; 13] =
    ["cp", "mv", "ln", "tar", "bsdtar", "rsync", "scp", "zip", "7z", "7za", "7zz", "pax", "ditto"];
/// New names in one line that are followed, and paths that are looked at for them.
const LINKS_MAX: usize = 64;
const LINKED_MAX: usize = 4096;
/// Patterns of one line that are looked up.
const PATTERNS_MAX: usize = 512;

/// How much of a path a command is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// The file; a folder outside of the project with all that is in it.
    Itself,
    /// The file, or a folder with all that is in it.
    Folder,
    /// It goes, with all that is in it.
    All,
}

/// How much of what it reads a command takes.
pub(super) fn read_of(found: &Found) -> Reading {
    let is_copying = COPYING.iter().any(|name| is_program(found, name));
    if is_copying { Reading::Folder } else { Reading::Itself }
}

fn is_program(found: &Found, name: &str) -> bool {
    let word = found.words.first().and_then(|word| Path::new(word).file_name());
    word.is_some_and(|word| word == name) || found.names.iter().any(|one| one == name)
}

/// The path of a file that stands behind a folder which is not known: `$X/.env`.
fn file_behind(field: &Field) -> Option<String> {
    let tail = field.tail()?;
    let path = Path::new(tail.strip_prefix('/')?.trim_start_matches('/'));
    let is_file = matches!(path.components().next_back(), Some(Component::Normal(_)));
    path.to_str().filter(|_| is_file).map(str::to_owned)
}

/// Makes paths of targets, for one line.
pub(super) struct Places<'p, 'v> {
    view: &'p View<'v>,
    /// What patterns stand for, by the folder and the text.
    patterns: HashMap<(PathBuf, String), Option<Vec<PathBuf>>>,
    /// New names that the line makes, and what they are names of.
    links: Vec<(PathBuf, PathBuf)>,
}

impl<'p, 'v> Places<'p, 'v> {
    pub(super) fn new(view: &'p View<'v>, commands: &[Found]) -> Self {
        let links = commands.iter().flat_map(links_of).take(LINKS_MAX).collect();
        Self { view, patterns: HashMap::new(), links }
    }

    /// The paths that a target may mean.
    pub(super) fn of(
        &mut self,
        at: usize,
        found: &Found,
        target: &Target,
        reading: Reading,
    ) -> Vec<PathFacts> {
        if found.remote {
            return Vec::new();
        }
        let at = Some(at).filter(|_| !target.redirected);
        let field = target.field.as_ref().filter(|field| field.is_pattern());
        let mut facts = Vec::new();
        let mut folders: Vec<&Path> =
            found.folders.iter().chain(&found.entered).map(PathBuf::as_path).collect();
        let is_relative = !Path::new(&target.text).is_absolute();
        if found.folders.is_empty() && is_relative {
            // It may be anywhere, so that nothing allows it; and here, so that what is refused
            // here is refused.
            facts.push(self.unknown(at, &target.text));
            folders.push(self.view.cwd_path());
        } else if folders.is_empty() {
            folders.push(self.view.cwd_path());
        }
        if !target.known && field.is_none() {
            if let Some(tail) = target.field.as_ref().and_then(file_behind) {
                let known = folders.iter().filter(|_| target.kind == EffectKind::Read);
                for folder in known {
                    self.of_path(at, folder, Path::new(&tail), Reading::Itself, &mut facts);
                }
            }
            let unknown = folders.iter().map(|folder| lexical(folder, Path::new(&target.text)));
            facts.extend(unknown.map(|path| fact(at, path, None, false, Reach::Itself)));
            return facts;
        }
        for folder in folders {
            match field {
                Some(field) => self.of_pattern(at, folder, field, reading, &mut facts),
                None => self.of_path(at, folder, Path::new(&target.text), reading, &mut facts),
            }
            if !is_relative {
                break;
            }
        }
        facts
    }

    fn of_path(
        &self,
        at: Option<usize>,
        folder: &Path,
        path: &Path,
        reading: Reading,
        facts: &mut Vec<PathFacts>,
    ) {
        // The kernel follows links before it takes `..` away, the text does not.
        let written = folder.join(path);
        for written in process_link(&written, folder).into_iter().chain([written]) {
            let real = self.view.real(written.as_os_str());
            let reach = self.reach(real.as_deref(), reading);
            facts.push(self.seen(at, lexical(folder, &written), real, reach));
        }
    }

    fn of_pattern(
        &mut self,
        at: Option<usize>,
        folder: &Path,
        field: &Field,
        reading: Reading,
        facts: &mut Vec<PathFacts>,
    ) {
        let key = (folder.to_owned(), field.shown());
        if self.patterns.len() >= PATTERNS_MAX && !self.patterns.contains_key(&key) {
            self.patterns.insert(key.clone(), None);
        }
        let view = self.view;
        let look = || pattern::paths(field, &view.from_folder(folder).ok()?);
        let made = self.patterns.entry(key).or_insert_with(look).clone();
        match made {
            // The shell passes on a pattern that fits nothing.
            Some(made) if made.is_empty() => {
                let path = lexical(folder, Path::new(&field.shown()));
                facts.push(fact(at, path, None, true, Reach::Itself));
            }
            Some(made) => {
                for path in made {
                    self.of_path(at, folder, &path, reading, facts);
                }
            }
            // Too many to tell: as good as all that is in the folder.
            None => {
                let path = lexical(folder, &folder_of(field));
                let real = self.view.real(path.as_os_str());
                facts.push(self.seen(at, path, real, Reach::Tree));
            }
        }
    }

    /// Paths that begin with a name which the line makes, by what that is a name of.
    pub(super) fn behind_links(
        &self,
        facts: &[PathFacts],
        spans: &mut Vec<Option<Span>>,
    ) -> Vec<PathFacts> {
        let mut behind = Vec::new();
        for (link, source) in &self.links {
            for (at, known) in facts.iter().enumerate().filter(|(_, one)| one.known) {
                if behind.len() >= LINKED_MAX {
                    return behind;
                }
                let Ok(rest) = known.named.strip_prefix(link) else { continue };
                let path =
                    if rest.as_os_str().is_empty() { source.clone() } else { source.join(rest) };
                let real = self.view.real(path.as_os_str());
                behind.push(self.seen(known.command, path, real, known.reach));
                spans.push(spans.get(at).copied().flatten());
            }
        }
        behind
    }

    fn reach(&self, real: Option<&Path>, reading: Reading) -> Reach {
        let is_outside = || real.is_some_and(|real| !real.starts_with(self.view.root().path()));
        let is_folder = || real.is_some_and(Path::is_dir);
        match reading {
            Reading::All => Reach::Tree,
            Reading::Folder if is_folder() => Reach::Tree,
            Reading::Itself if is_outside() && is_folder() => Reach::Tree,
            Reading::Folder | Reading::Itself => Reach::Itself,
        }
    }

    fn seen(
        &self,
        at: Option<usize>,
        path: PathBuf,
        real: Option<PathBuf>,
        reach: Reach,
    ) -> PathFacts {
        let is_of_the_work =
            real.as_ref().is_some_and(|real| real.starts_with(self.view.root().path()));
        let free = path == Path::new("/dev/null") || is_of_the_work;
        PathFacts { free, ..fact(at, path, real, true, reach) }
    }

    fn unknown(&self, at: Option<usize>, text: &OsString) -> PathFacts {
        fact(at, self.view.cwd_path().join(text), None, false, Reach::Itself)
    }
}

fn fact(
    command: Option<usize>,
    named: PathBuf,
    real: Option<PathBuf>,
    known: bool,
    reach: Reach,
) -> PathFacts {
    PathFacts { named, real, known, reach, command, free: false, unread: false }
}

/// What a path through a link of `/proc` means: `/proc/self/cwd/x` is `x`.
fn process_link(path: &Path, folder: &Path) -> Option<PathBuf> {
    let path = match path.strip_prefix("/dev/fd") {
        Ok(rest) => Path::new("/proc/self/fd").join(rest),
        Err(_) => path.to_owned(),
    };
    let path = lexical(Path::new("/"), &path);
    let mut names = path.strip_prefix("/proc").ok()?.components();
    let mut next = names.next()?;
    // `/proc/1`, `/proc/self/task/1`
    for _ in 0..3 {
        next = match next {
            Component::Normal(one) if one == "cwd" => return Some(folder.join(names.as_path())),
            Component::Normal(one) if one == "root" => {
                return Some(Path::new("/").join(names.as_path()));
            }
            Component::Prefix(_)
            | Component::RootDir
            | Component::CurDir
            | Component::ParentDir
            | Component::Normal(_) => names.next()?,
        };
    }
    None
}

/// The part of a pattern before the first name that stands for others.
fn folder_of(field: &Field) -> PathBuf {
    let mut text = String::new();
    for bit in &field.bits {
        match bit {
            Bit::Text(part) => text.push_str(part),
            Bit::Glob(_) | Bit::Number | Bit::Unknown => break,
        }
    }
    let end = text.rfind('/').map_or(0, |slash| slash.saturating_add(1));
    PathBuf::from(text.get(..end).unwrap_or_default())
}

/// The names that `ln` makes, and what they are names of: relative to where the link lies, too.
pub(in crate::gate) fn links_of(found: &Found) -> Vec<(PathBuf, PathBuf)> {
    let is_copy = is_program(found, "cp") && found.words.iter().skip(1).any(makes_links);
    if found.remote || !(is_program(found, "ln") || is_copy) {
        return Vec::new();
    }
    let known = |kind| found.targets(kind).filter(|target| target.known && !target.redirected);
    let mut links = Vec::new();
    for made in known(EffectKind::Write) {
        for source in known(EffectKind::Read) {
            for (link, from) in found.places(made).iter().zip(found.places(source)) {
                let beside = |link: &Path| {
                    let folder = link.parent().unwrap_or(Path::new("/"));
                    lexical(folder, Path::new(&source.text))
                };
                links.push((link.clone(), beside(link)));
                links.push((link.clone(), from.clone()));
                if let Some(name) = from.file_name() {
                    let inside = link.join(name);
                    links.push((inside.clone(), beside(&inside)));
                    links.push((inside, from));
                }
            }
        }
    }
    links.retain(|(link, source)| link != source);
    links
}

fn makes_links(word: &OsString) -> bool {
    let text = word.to_string_lossy();
    match text.strip_prefix('-') {
        Some(long) if long.starts_with('-') => long.starts_with("-l") || long.starts_with("-sy"),
        Some(letters) => letters.contains(['s', 'l']),
        None => false,
    }
}
