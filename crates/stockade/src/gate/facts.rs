//! The facts of a call for rules: its commands, and the paths and hosts that they use.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use super::subject::external::add_input;
use crate::call::{ExternalCall, Tool, ToolCall};
use crate::catalog::{EffectKind, Purity};
use crate::inspect::{CommandSummary, Finding, PathResolver, Target, Weight, pattern};
use crate::policy::Ruling;
use crate::policy::rules::{
    AssignmentFacts, CommandFacts, Facts, HostFacts, Match, Part, PathFacts, Place, Reach,
    WordFacts, WrapperFacts,
};
use crate::shell::ast::Span;
use crate::shell::expand::{Bit, Field};
use crate::shell::state::lexical;

/// Programs that copy, move or rename folders with everything in them.
const COPYING: [&str; 13] =
    ["cp", "mv", "ln", "tar", "bsdtar", "rsync", "scp", "zip", "7z", "7za", "7zz", "pax", "ditto"];
/// Limits for following the links that a line creates: the number of links, and of paths checked
/// against them.
const LINKS_MAX: usize = 64;
const LINKED_MAX: usize = 4096;
/// The most glob patterns that are expanded for one line.
const PATTERNS_MAX: usize = 512;

/// The facts of a call, each with its place in the shell line.
pub(super) struct CallFacts {
    pub(super) facts: Facts,
    commands: Vec<Option<Span>>,
    reads: Vec<Option<Span>>,
    writes: Vec<Option<Span>>,
    hosts: Vec<Option<Span>>,
    findings: Vec<Option<Span>>,
}

impl CallFacts {
    /// The facts of a call with these commands.
    pub(super) fn of(
        call: &ToolCall,
        commands: &[CommandSummary],
        resolver: &PathResolver<'_>,
        home: Option<&Path>,
    ) -> Self {
        let mut shown = Self::new(call.tool.name(), commands, resolver, home);
        match &call.tool {
            Tool::Unknown(foreign) => add_input(foreign, resolver, home, &mut shown.facts),
            Tool::File(file) => {
                let foreign = ExternalCall { name: file.name().to_owned(), input: file.input() };
                add_input(&foreign, resolver, home, &mut shown.facts);
            }
            Tool::Code(code) => {
                let language = code.language.name().to_owned();
                shown.facts.parameters.insert("language".to_owned(), language);
            }
            Tool::Exec(_) | Tool::Line(_) | Tool::Malformed(_) => {}
        }
        shown
    }

    /// The facts of commands alone, for a tool of this name.
    pub(super) fn new(
        tool: &str,
        commands: &[CommandSummary],
        resolver: &PathResolver<'_>,
        home: Option<&Path>,
    ) -> Self {
        let mut facts = Facts::new(tool, resolver.cwd_path());
        facts.home = home_place(resolver, home);
        let mut shown = Self {
            facts,
            commands: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            hosts: Vec::new(),
            findings: Vec::new(),
        };
        let mut places = PathCollector::new(resolver, commands);
        for (at, found) in commands.iter().enumerate() {
            shown.facts.commands.push(command(found, commands));
            shown.commands.push(found.span);
            shown.add_targets(at, found, &mut places);
        }
        shown.facts.reads.extend(places.behind_links(&shown.facts.reads, &mut shown.reads));
        shown.facts.writes.extend(places.behind_links(&shown.facts.writes, &mut shown.writes));
        for path in &mut shown.facts.writes {
            // If a command prints the content of a file, the file is among its reads as well.
            path.unread = true;
        }
        shown
    }

    /// Adds the findings that rules decide about.
    pub(super) fn with_findings(mut self, findings: &[Finding]) -> Self {
        for finding in findings.iter().filter(|finding| finding.weight == Weight::Ruled) {
            self.facts.findings.push(finding.rule.to_owned());
            self.findings.push(finding.span);
        }
        self
    }

    /// The ruling of a matching rule, with its place in the line. For a finding, the reason quotes
    /// the finding.
    pub(super) fn ruling(&self, found: Match, findings: &[Finding]) -> Ruling {
        let ruled = || findings.iter().filter(|finding| finding.weight == Weight::Ruled);
        let about = match found.part {
            Part::Finding(at) => ruled().nth(at).map(|finding| finding.text.clone()),
            Part::Tool
            | Part::Parameter(_)
            | Part::Command(_)
            | Part::Read(_)
            | Part::Write(_)
            | Part::Host(_) => None,
        };
        let ruling = Ruling { span: self.span(&found.part), ..Ruling::from(found) };
        let reason = match (about, ruling.reason) {
            (Some(about), Some(reason)) => Some(format!("{about}: {reason}")),
            (_, reason) => reason,
        };
        Ruling { reason, ..ruling }
    }

    /// The place of a part of the call in the shell line.
    pub(super) fn span(&self, part: &Part) -> Option<Span> {
        match part {
            Part::Tool | Part::Parameter(_) => None,
            Part::Command(at) => self.commands.get(*at).copied().flatten(),
            Part::Read(at) => self.reads.get(*at).copied().flatten(),
            Part::Write(at) => self.writes.get(*at).copied().flatten(),
            Part::Host(at) => self.hosts.get(*at).copied().flatten(),
            Part::Finding(at) => self.findings.get(*at).copied().flatten(),
        }
    }

    fn add_targets(
        &mut self,
        at: usize,
        found: &CommandSummary,
        places: &mut PathCollector<'_, '_>,
    ) {
        for target in &found.targets {
            let span = target.span.or(found.span);
            match target.kind {
                EffectKind::Host => {
                    let name = target.text.to_string_lossy().into_owned();
                    self.facts.hosts.push(HostFacts {
                        name,
                        known: target.known,
                        command: Some(at),
                    });
                    self.hosts.push(span);
                }
                EffectKind::Read | EffectKind::Execute => {
                    for path in places.of(at, found, target, read_of(found)) {
                        self.facts.reads.push(path);
                        self.reads.push(span);
                    }
                }
                EffectKind::Write => {
                    for path in places.of(at, found, target, PathScope::Itself) {
                        self.facts.writes.push(path);
                        self.writes.push(span);
                    }
                }
                EffectKind::Delete => {
                    for path in places.of(at, found, target, PathScope::All) {
                        self.facts.writes.push(path);
                        self.writes.push(span);
                    }
                }
                // Listing names does not disclose the content of files.
                EffectKind::List
                | EffectKind::Enter
                | EffectKind::Pass
                | EffectKind::ChangeTree
                | EffectKind::Forget => {}
            }
        }
    }
}

/// The home directory: its name and its real path.
pub(super) fn home_place(resolver: &PathResolver<'_>, home: Option<&Path>) -> Option<Place> {
    home.map(|home| Place {
        named: home.to_owned(),
        real: resolver.real(home.as_os_str()).unwrap_or_else(|| home.to_owned()),
    })
}

/// Whether a path is known to lead to nothing.
pub(super) fn is_absent(path: &PathFacts) -> bool {
    let is_missing = |real: &PathBuf| {
        std::fs::symlink_metadata(real).is_err_and(|error| error.kind() == ErrorKind::NotFound)
    };
    path.known && path.reach == Reach::Itself && path.real.as_ref().is_some_and(is_missing)
}

fn command(found: &CommandSummary, all: &[CommandSummary]) -> CommandFacts {
    let mut words: Vec<WordFacts> = words(found).collect();
    if found.open {
        words.push(WordFacts::unknown("…"));
    }
    let mut spellings: Vec<Vec<WordFacts>> = Vec::new();
    let rest = || words.iter().skip(1).cloned();
    for name in &found.names {
        spellings.push([WordFacts::known(name)].into_iter().chain(rest()).collect());
    }
    if let Some(base) = found.words.first().and_then(|word| Path::new(word).file_name())
        && found.words.first().is_some_and(|word| word != base)
    {
        spellings.push([WordFacts::known(base)].into_iter().chain(rest()).collect());
    }
    if let Some(at) = found.subcommand {
        let program = words.iter().take(1).cloned();
        spellings.push(program.chain(words.iter().skip(at).cloned()).collect());
    }
    let assignments = found.environment.iter().map(|(name, value)| AssignmentFacts {
        name: name.clone(),
        value: value.as_ref().map(Into::into),
    });
    let wrapper = found.wrapper.and_then(|at| {
        let name = all.get(at)?.words.first()?;
        let name = Path::new(name).file_name()?.to_string_lossy().into_owned();
        Some(WrapperFacts { name, command: at })
    });
    CommandFacts {
        assignments: assignments.collect(),
        words,
        spellings,
        wrapper,
        dynamic: found.dynamic,
        read_only: found.nature > Purity::ReadsIfContained && !found.dynamic,
    }
}

fn words(found: &CommandSummary) -> impl Iterator<Item = WordFacts> {
    found
        .words
        .iter()
        .zip(&found.known)
        .map(|(word, known)| WordFacts { text: word.clone(), known: *known })
}

/// How much a command uses of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathScope {
    /// The file; outside the project, a folder with everything in it.
    Itself,
    /// The file, or a folder with everything in it.
    Folder,
    /// The path is removed with everything in it.
    All,
}

/// How much a command uses of the paths that it reads.
fn read_of(found: &CommandSummary) -> PathScope {
    let is_copying = COPYING.iter().any(|name| is_program(found, name));
    if is_copying { PathScope::Folder } else { PathScope::Itself }
}

fn is_program(found: &CommandSummary, name: &str) -> bool {
    let word = found.words.first().and_then(|word| Path::new(word).file_name());
    word.is_some_and(|word| word == name) || found.names.iter().any(|one| one == name)
}

/// The file name after an unknown folder: `.env` in `$X/.env`.
fn file_behind(field: &Field) -> Option<String> {
    let tail = field.tail()?;
    let path = Path::new(tail.strip_prefix('/')?.trim_start_matches('/'));
    let is_file = matches!(path.components().next_back(), Some(Component::Normal(_)));
    path.to_str().filter(|_| is_file).map(str::to_owned)
}

/// Resolves the targets of one line's commands to paths.
struct PathCollector<'p, 'v> {
    resolver: &'p PathResolver<'v>,
    /// Expanded glob patterns, by folder and pattern.
    patterns: HashMap<(PathBuf, String), Option<Vec<PathBuf>>>,
    /// Links that the line creates, with what they point to.
    links: Vec<(PathBuf, PathBuf)>,
}

impl<'p, 'v> PathCollector<'p, 'v> {
    fn new(resolver: &'p PathResolver<'v>, commands: &[CommandSummary]) -> Self {
        let links = commands.iter().flat_map(links_of).take(LINKS_MAX).collect();
        Self { resolver, patterns: HashMap::new(), links }
    }

    /// The paths that a target may mean.
    fn of(
        &mut self,
        at: usize,
        found: &CommandSummary,
        target: &Target,
        reading: PathScope,
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
            // The folder is unknown, so no rule may allow the path. It may also be this folder, so
            // what a rule denies here is denied.
            facts.push(self.unknown(at, &target.text));
            folders.push(self.resolver.cwd_path());
        } else if folders.is_empty() {
            folders.push(self.resolver.cwd_path());
        }
        if !target.known && field.is_none() {
            if let Some(tail) = target.field.as_ref().and_then(file_behind) {
                let known = folders.iter().filter(|_| target.kind == EffectKind::Read);
                for folder in known {
                    self.of_path(at, folder, Path::new(&tail), PathScope::Itself, &mut facts);
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
        reading: PathScope,
        facts: &mut Vec<PathFacts>,
    ) {
        // The kernel follows links before it resolves `..`; lexical normalisation does not.
        let written = folder.join(path);
        for written in process_link(&written, folder).into_iter().chain([written]) {
            let real = self.resolver.real(written.as_os_str());
            let reach = self.reach(real.as_deref(), reading);
            facts.push(self.seen(at, lexical(folder, &written), real, reach));
        }
    }

    fn of_pattern(
        &mut self,
        at: Option<usize>,
        folder: &Path,
        field: &Field,
        reading: PathScope,
        facts: &mut Vec<PathFacts>,
    ) {
        let key = (folder.to_owned(), field.shown());
        if self.patterns.len() >= PATTERNS_MAX && !self.patterns.contains_key(&key) {
            self.patterns.insert(key.clone(), None);
        }
        let resolver = self.resolver;
        let look = || pattern::paths(field, &resolver.from_folder(folder).ok()?);
        let made = self.patterns.entry(key).or_insert_with(look).clone();
        match made {
            // The shell passes on a pattern that matches nothing.
            Some(made) if made.is_empty() => {
                let path = lexical(folder, Path::new(&field.shown()));
                facts.push(fact(at, path, None, true, Reach::Itself));
            }
            Some(made) => {
                for path in made {
                    self.of_path(at, folder, &path, reading, facts);
                }
            }
            // Too many matches to list: treat it as the whole folder.
            None => {
                let path = lexical(folder, &folder_of(field));
                let real = self.resolver.real(path.as_os_str());
                facts.push(self.seen(at, path, real, Reach::Tree));
            }
        }
    }

    /// Paths that start with a link created by the line, resolved through that link.
    fn behind_links(&self, facts: &[PathFacts], spans: &mut Vec<Option<Span>>) -> Vec<PathFacts> {
        let mut behind = Vec::new();
        for (link, source) in &self.links {
            for (at, known) in facts.iter().enumerate().filter(|(_, one)| one.known) {
                if behind.len() >= LINKED_MAX {
                    return behind;
                }
                let Ok(rest) = known.named.strip_prefix(link) else { continue };
                let path =
                    if rest.as_os_str().is_empty() { source.clone() } else { source.join(rest) };
                let real = self.resolver.real(path.as_os_str());
                behind.push(self.seen(known.command, path, real, known.reach));
                spans.push(spans.get(at).copied().flatten());
            }
        }
        behind
    }

    fn reach(&self, real: Option<&Path>, reading: PathScope) -> Reach {
        let is_outside = || real.is_some_and(|real| !real.starts_with(self.resolver.root().path()));
        let is_folder = || real.is_some_and(Path::is_dir);
        match reading {
            PathScope::All => Reach::Tree,
            PathScope::Folder if is_folder() => Reach::Tree,
            PathScope::Itself if is_outside() && is_folder() => Reach::Tree,
            PathScope::Folder | PathScope::Itself => Reach::Itself,
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
            real.as_ref().is_some_and(|real| real.starts_with(self.resolver.root().path()));
        let free = path == Path::new("/dev/null") || is_of_the_work;
        PathFacts { free, ..fact(at, path, real, true, reach) }
    }

    fn unknown(&self, at: Option<usize>, text: &OsString) -> PathFacts {
        fact(at, self.resolver.cwd_path().join(text), None, false, Reach::Itself)
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

/// Resolves a path through a link in `/proc`: `/proc/self/cwd/x` is `x`.
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

/// The folder before the first wildcard of a pattern.
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

/// The links that `ln` creates, with their targets, also relative to the folder of the link.
pub(super) fn links_of(found: &CommandSummary) -> Vec<(PathBuf, PathBuf)> {
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
