//! What a call shows to the rules: its commands, and the paths and hosts that they are about.

use std::path::{Path, PathBuf};

use crate::inspect::{Found, Target, View, pattern};
use crate::knowledge::{EffectKind, Nature};
use crate::policy::rule::{
    AssignmentFacts, CommandFacts, Facts, HostFacts, Part, PathFacts, Place, Reach, WordFacts,
    WrapperFacts,
};
use crate::shell::tree::Span;

/// The facts of a call, and where each of them stands in its line.
pub(super) struct Shown {
    pub(super) facts: Facts,
    commands: Vec<Option<Span>>,
    reads: Vec<Option<Span>>,
    writes: Vec<Option<Span>>,
    hosts: Vec<Option<Span>>,
}

impl Shown {
    /// What a call of this tool shows.
    pub(super) fn new(
        tool: &str,
        commands: &[Found],
        view: &View<'_>,
        home: Option<&Path>,
    ) -> Self {
        let mut facts = Facts::new(tool, view.cwd_path());
        facts.home = home.map(|home| Place {
            named: home.to_owned(),
            real: view.real(home.as_os_str()).unwrap_or_else(|| home.to_owned()),
        });
        let mut shown = Self {
            facts,
            commands: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            hosts: Vec::new(),
        };
        for (at, found) in commands.iter().enumerate() {
            shown.facts.commands.push(command(found, commands));
            shown.commands.push(found.span);
            shown.add_targets(at, found, view);
        }
        shown
    }

    /// Where a part of the call stands in its line.
    pub(super) fn span(&self, part: &Part) -> Option<Span> {
        match part {
            Part::Tool | Part::Parameter(_) => None,
            Part::Command(at) => self.commands.get(*at).copied().flatten(),
            Part::Read(at) => self.reads.get(*at).copied().flatten(),
            Part::Write(at) => self.writes.get(*at).copied().flatten(),
            Part::Host(at) => self.hosts.get(*at).copied().flatten(),
        }
    }

    fn add_targets(&mut self, at: usize, found: &Found, view: &View<'_>) {
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
                    for path in paths(at, found, target, view, Reach::Itself) {
                        self.facts.reads.push(path);
                        self.reads.push(span);
                    }
                }
                EffectKind::Write => {
                    for path in paths(at, found, target, view, Reach::Itself) {
                        self.facts.writes.push(path);
                        self.writes.push(span);
                    }
                }
                EffectKind::Delete => {
                    for path in paths(at, found, target, view, Reach::Tree) {
                        self.facts.writes.push(path);
                        self.writes.push(span);
                    }
                }
                // The names in a folder are no secret of its files.
                EffectKind::List | EffectKind::Enter => {}
            }
        }
    }
}

fn command(found: &Found, all: &[Found]) -> CommandFacts {
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
        read_only: found.nature > Nature::ReadsIfContained && !found.dynamic,
    }
}

fn words(found: &Found) -> impl Iterator<Item = WordFacts> {
    found
        .words
        .iter()
        .zip(&found.known)
        .map(|(word, known)| WordFacts { text: word.clone(), known: *known })
}

/// The paths that a target may mean, each with where it leads.
fn paths(
    at: usize,
    found: &Found,
    target: &Target,
    view: &View<'_>,
    reach: Reach,
) -> Vec<PathFacts> {
    if found.remote {
        return Vec::new();
    }
    let at = Some(at).filter(|_| !target.redirected);
    let known = target.known;
    let mut named = Vec::new();
    if let Some(field) = target.field.as_ref().filter(|field| field.is_pattern()) {
        for folder in found.folders.iter().chain(&found.entered) {
            let seen = view.from_folder(folder).ok();
            let made = seen.and_then(|view| pattern::paths(field, &view)).unwrap_or_default();
            named.extend(made.into_iter().map(|path| folder.join(path)));
        }
    }
    let is_pattern = !named.is_empty();
    let mut facts: Vec<PathFacts> =
        named.into_iter().map(|path| fact(at, path, true, view, reach)).collect();
    if !is_pattern {
        for path in found.places(target) {
            // A relative path in a folder that is not known may be anywhere.
            let known = known && path.is_absolute();
            facts.push(fact(at, view.cwd_path().join(path), known, view, reach));
        }
    }
    facts
}

fn fact(at: Option<usize>, path: PathBuf, known: bool, view: &View<'_>, reach: Reach) -> PathFacts {
    let real = view.real(path.as_os_str()).filter(|_| known);
    let is_of_the_work = real.as_ref().is_some_and(|real| real.starts_with(view.root().path()));
    let free = path == Path::new("/dev/null") || is_of_the_work;
    PathFacts { named: path, real, known, reach, command: at, free }
}
