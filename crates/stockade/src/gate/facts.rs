//! What a call shows to the rules: its commands, and the paths and hosts that they are about.

mod places;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::inspect::{Finding, Found, View, Weight};
use crate::knowledge::{EffectKind, Nature};
use crate::policy::Ruling;
use crate::policy::rule::{
    AssignmentFacts, CommandFacts, Facts, HostFacts, Match, Part, PathFacts, Place, Reach,
    WordFacts, WrapperFacts,
};
use crate::shell::tree::Span;
pub(super) use places::links_of;
use places::{Places, Reading};

/// The facts of a call, and where each of them stands in its line.
pub(super) struct Shown {
    pub(super) facts: Facts,
    commands: Vec<Option<Span>>,
    reads: Vec<Option<Span>>,
    writes: Vec<Option<Span>>,
    hosts: Vec<Option<Span>>,
    findings: Vec<Option<Span>>,
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
        facts.home = home_place(view, home);
        let mut shown = Self {
            facts,
            commands: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            hosts: Vec::new(),
            findings: Vec::new(),
        };
        let mut places = Places::new(view, commands);
        for (at, found) in commands.iter().enumerate() {
            shown.facts.commands.push(command(found, commands));
            shown.commands.push(found.span);
            shown.add_targets(at, found, &mut places);
        }
        shown.facts.reads.extend(places.behind_links(&shown.facts.reads, &mut shown.reads));
        shown.facts.writes.extend(places.behind_links(&shown.facts.writes, &mut shown.writes));
        for path in &mut shown.facts.writes {
            // A command that learns what is in a file reads it, and that is among its reads.
            path.unread = true;
        }
        shown
    }

    /// The same, with the findings about which rules decide.
    pub(super) fn with_findings(mut self, findings: &[Finding]) -> Self {
        for finding in findings.iter().filter(|finding| finding.weight == Weight::Ruled) {
            self.facts.findings.push(finding.rule.to_owned());
            self.findings.push(finding.span);
        }
        self
    }

    /// The ruling of a rule that met the call: with its place, and for a finding with what was found.
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

    /// Where a part of the call stands in its line.
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

    fn add_targets(&mut self, at: usize, found: &Found, places: &mut Places<'_, '_>) {
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
                    for path in places.of(at, found, target, places::read_of(found)) {
                        self.facts.reads.push(path);
                        self.reads.push(span);
                    }
                }
                EffectKind::Write => {
                    for path in places.of(at, found, target, Reading::Itself) {
                        self.facts.writes.push(path);
                        self.writes.push(span);
                    }
                }
                EffectKind::Delete => {
                    for path in places.of(at, found, target, Reading::All) {
                        self.facts.writes.push(path);
                        self.writes.push(span);
                    }
                }
                // The names in a folder are no secret of its files.
                EffectKind::List
                | EffectKind::Enter
                | EffectKind::Pass
                | EffectKind::ChangeTree
                | EffectKind::Forget => {}
            }
        }
    }
}

/// The home folder by its name, and where it really is.
pub(super) fn home_place(view: &View<'_>, home: Option<&Path>) -> Option<Place> {
    home.map(|home| Place {
        named: home.to_owned(),
        real: view.real(home.as_os_str()).unwrap_or_else(|| home.to_owned()),
    })
}

/// Whether nothing is where a path leads.
pub(super) fn is_absent(path: &PathFacts) -> bool {
    let is_missing = |real: &PathBuf| {
        std::fs::symlink_metadata(real).is_err_and(|error| error.kind() == ErrorKind::NotFound)
    };
    path.known && path.reach == Reach::Itself && path.real.as_ref().is_some_and(is_missing)
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
