//! File names from variables, pipes and redirections, as far as the line shows where they come
//! from.

use std::path::{Path, PathBuf};

use super::super::super::command::{CommandSummary, Target};
use super::super::super::critical;
use super::super::super::emptied::is_program;
use super::super::Walker;
use super::{InputSource, Stage, WrittenWord, filters};
use crate::catalog::EffectKind;
use crate::shell::ast::Span;
use crate::shell::expand::Bit;
use crate::shell::printed::{echoed, formatted};
use crate::shell::state::lexical;

/// Programs that print their words unchanged.
const PRINTERS: [&str; 2] = ["echo", "printf"];
/// Programs that list names of files; the knowledge base says where these are all of a folder.
const LISTERS: [&str; 12] =
    ["bfs", "dir", "eza", "exa", "fd", "fdfind", "find", "gfind", "gls", "ls", "lsd", "vdir"];
/// Programs that print one word which names nothing that was there before.
const MAKERS: [&str; 9] =
    ["date", "gmktemp", "hostname", "id", "mktemp", "nproc", "seq", "uname", "whoami"];
/// Builtins that put what they read into variables.
pub(super) const READERS: [&str; 3] = ["mapfile", "read", "readarray"];
/// The variables that they set by default.
const FILLED: [&str; 2] = ["REPLY", "MAPFILE"];
/// Programs that start commands with words from their input.
const FED: [&str; 3] = ["gxargs", "parallel", "xargs"];
/// The separators before the words of `parallel`, or before files with them.
const WORDS_FOLLOW: [&str; 2] = [":::", ":::+"];
const FILES_FOLLOW: [&str; 2] = ["::::", "::::+"];

/// Variables that hold the working directory or a home directory.
const FOLDERS: [&str; 3] = ["HOME", "OLDPWD", "PWD"];

/// The most nested redirections that are followed.
const DEPTH_MAX: usize = 8;

/// All entries of a folder, or all matches of a pattern, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FolderListing {
    pub(super) target: Target,
    pub(super) folders: Vec<PathBuf>,
}

/// The names that a command may get.
#[derive(Debug, Default)]
pub(super) struct NameSet {
    pub(super) listed: Vec<FolderListing>,
    /// Whether there may be other names, which the line does not show.
    pub(super) is_unknown: bool,
    /// Whether words of the line are among them, which a program may turn into any others.
    is_text: bool,
}

impl NameSet {
    fn unknown() -> Self {
        Self { is_unknown: true, ..Self::default() }
    }

    pub(super) fn merge(&mut self, other: Self) {
        for one in other.listed {
            if !self.listed.contains(&one) {
                self.listed.push(one);
            }
        }
        self.is_unknown |= other.is_unknown;
        self.is_text |= other.is_text;
    }
}

impl Walker<'_> {
    /// The names that a word of a command may stand for, by its text and its substitutions.
    pub(super) fn sources(&self, text: &str, span: Option<Span>, user: &CommandSummary) -> NameSet {
        NameSearch::of(self, user).sources(text, span)
    }

    /// The names that a program adds to a command which it starts.
    pub(super) fn added_names(&self, found: &CommandSummary) -> NameSet {
        let mut search = NameSearch::of(self, found);
        let starters = self.found.iter().filter(|outer| is_within(found.span, outer.span));
        let starters: Vec<&CommandSummary> =
            starters.filter(|outer| !std::ptr::eq(*outer, found)).collect();
        let mut names = NameSet::default();
        let mut is_listed = false;
        for starter in &starters {
            let words = starter.words.iter().filter_map(|word| word.to_str());
            is_listed |= words.clone().any(|word| WORDS_FOLLOW.contains(&word))
                || LISTERS.iter().any(|name| is_program(starter, name));
            names.is_unknown |= words.clone().any(|word| FILES_FOLLOW.contains(&word));
            names.merge(search.printed_by(starter));
        }
        let fed = starters.iter().find(|one| FED.iter().any(|name| is_program(one, name)));
        if let Some(fed) = fed.filter(|_| !is_listed) {
            let reads_file = fed.targets(EffectKind::Read).any(|target| !target.redirected);
            names.is_unknown |= reads_file;
            if !reads_file {
                names.merge(search.read_at(fed.span));
            }
        }
        names
    }

    /// Whether an unknown target may be any name in the project: nothing known precedes or follows
    /// it except for the path to it.
    pub(super) fn is_whole_name(&self, found: &CommandSummary, target: &Target) -> bool {
        let Some(field) = &target.field else { return true };
        let is_open = |bit: &Bit| matches!(bit, Bit::Unknown);
        let Some(first) = field.bits.iter().position(is_open) else { return false };
        let (before, rest) = field.bits.split_at(first);
        let behind = rest.iter().skip_while(|bit| is_open(bit)).map(text_of).collect::<String>();
        let before = before.iter().map(text_of).collect::<String>();
        let root = self.resolver.root().path();
        let leads_up = |folder: &PathBuf| root.starts_with(lexical(folder, Path::new(&before)));
        let is_way = before.is_empty()
            || before.ends_with('/') && critical::from(found, self.resolver).iter().any(leads_up);
        let is_end = behind.is_empty() || behind.starts_with('/') && critical::is_all(&behind);
        is_way && is_end
    }
}

/// One search for names, which visits each variable once.
struct NameSearch<'s, 'w> {
    walker: &'s Walker<'w>,
    /// The command that gets the names.
    user: Option<Span>,
    visited: Vec<String>,
    /// The current depth of nested redirections.
    depth: usize,
    /// Whether the command deletes folders with all that is in them.
    takes_folders: bool,
}

impl<'s, 'w> NameSearch<'s, 'w> {
    fn of(walker: &'s Walker<'w>, user: &CommandSummary) -> Self {
        let takes_folders = super::deletes_folders(user);
        Self { walker, user: user.span, visited: Vec::new(), depth: 0, takes_folders }
    }

    fn sources(&mut self, text: &str, span: Option<Span>) -> NameSet {
        let mut names = span.map_or_else(NameSet::default, |span| self.printed_in(span));
        for variable in variables_in(text) {
            names.merge(self.held_by(variable));
        }
        names
    }

    /// The names in a variable: assigned words, and input that is read into it.
    fn held_by(&mut self, variable: &str) -> NameSet {
        // The name of the project or of a home, changed in a way that is not known.
        let mut names = NameSet { is_unknown: FOLDERS.contains(&variable), ..NameSet::default() };
        if self.visited.iter().any(|one| one == variable) {
            return names;
        }
        self.visited.push(variable.to_owned());
        let walker = self.walker;
        for drawn in walker.word_sources.drawn.iter().filter(|drawn| drawn.variable == variable) {
            if drawn.scope.is_some_and(|scope| !self.is_user_in(scope)) {
                continue;
            }
            for given in &drawn.words {
                names.merge(self.given(given, &drawn.folders));
            }
        }
        for feed in &walker.word_sources.feeds {
            if walker.reads_into(variable, |found| is_within(found.span, Some(feed.scope))) {
                names.merge(self.fed(feed));
            }
        }
        for stages in &walker.word_sources.pipelines {
            for (at, stage) in stages.iter().enumerate().skip(1) {
                let commands = walker.commands(stage);
                let is_in =
                    |found: &CommandSummary| commands.iter().any(|one| std::ptr::eq(one, found));
                if self.is_user_in(stage.span) && walker.reads_into(variable, is_in) {
                    names.merge(self.printed_before(stages, at));
                }
            }
        }
        names
    }

    /// Whether the command runs in a part of the line. A function may run anywhere.
    fn is_user_in(&self, scope: Span) -> bool {
        let users = self.walker.found.iter().filter(|found| found.span == self.user);
        let in_function =
            |found: &CommandSummary| found.via.iter().any(|via| via.starts_with("function "));
        is_within(self.user, Some(scope)) || users.into_iter().any(in_function)
    }

    fn given(&mut self, given: &WrittenWord, folders: &[PathBuf]) -> NameSet {
        // The value of the word depends on its place.
        let user = self.user.replace(given.span);
        let names = self.given_here(given, folders);
        self.user = user;
        names
    }

    fn given_here(&mut self, given: &WrittenWord, folders: &[PathBuf]) -> NameSet {
        // `declare -a x=(a *)`
        let elements = given.text.split_once("=(").filter(|_| given.field.compound);
        if let Some((_, elements)) = elements.filter(|(_, text)| !text.contains(['$', '`'])) {
            let plain = |c: char| !matches!(c, '(' | ')' | '"' | '\'');
            return names_in(&elements.chars().filter(|c| plain(*c)).collect::<String>(), folders);
        }
        match given.field.likely() {
            Some(text) => names_in(&text, folders),
            None if given.field.is_pattern() => {
                NameSet { listed: vec![listed(given.field.shown(), folders)], ..NameSet::default() }
            }
            None => self.sources(&given.text, Some(given.span)),
        }
    }

    /// The names that a redirection feeds.
    fn fed(&mut self, feed: &InputSource) -> NameSet {
        if self.depth >= DEPTH_MAX {
            return NameSet::unknown();
        }
        self.depth = self.depth.saturating_add(1);
        let names = self.fed_here(feed);
        self.depth = self.depth.saturating_sub(1);
        names
    }

    fn fed_here(&mut self, feed: &InputSource) -> NameSet {
        let is_process = feed.given.text.contains("<(");
        match &feed.text {
            Some(text) => names_in(text, &[self.walker.resolver.cwd_path().to_owned()]),
            None if is_process => self.printed_in(feed.given.span),
            None if feed.given.field.likely().is_some_and(|path| path == "/dev/null") => {
                NameSet::default()
            }
            // A file name, or text that the line does not contain.
            None if feed.given.field.likely().is_some() => NameSet::unknown(),
            None => self.sources(&feed.given.text, Some(feed.given.span)),
        }
    }

    /// The names that a command reads: from the closest redirection or pipe around it.
    fn read_at(&mut self, span: Option<Span>) -> NameSet {
        let walker = self.walker;
        let length = |span: Span| span.end.saturating_sub(span.start);
        let feeds =
            walker.word_sources.feeds.iter().filter(|feed| is_within(span, Some(feed.scope)));
        let feed = feeds.min_by_key(|feed| length(feed.scope));
        let stages = walker.word_sources.pipelines.iter().flat_map(|stages| {
            stages.iter().enumerate().skip(1).map(move |(at, stage)| (stages, at, stage))
        });
        let stage = stages
            .filter(|(_, _, stage)| is_within(span, Some(stage.span)))
            .min_by_key(|(_, _, stage)| length(stage.span));
        match (feed, stage) {
            (Some(feed), Some((_, _, stage))) if length(feed.scope) <= length(stage.span) => {
                self.fed(feed)
            }
            (_, Some((stages, at, _))) => self.printed_before(stages, at),
            (Some(feed), None) => self.fed(feed),
            (None, None) => NameSet::default(),
        }
    }

    /// The names that the previous stages print.
    fn printed_before(&mut self, stages: &[Stage], end: usize) -> NameSet {
        let mut names = None;
        for stage in stages.iter().take(end) {
            let commands = self.walker.commands(stage);
            names = Some(self.printed(commands.iter().collect(), names));
        }
        names.unwrap_or_default()
    }

    /// The names that the commands in a part of the line print, such as a substitution.
    fn printed_in(&mut self, span: Span) -> NameSet {
        let walker = self.walker;
        let is_in = |inner: Span| is_within(Some(inner), Some(span));
        let pipelines = walker.word_sources.pipelines.iter().rev();
        let mut inner = pipelines.filter(|stages| stages.iter().all(|stage| is_in(stage.span)));
        // The outermost one is recorded last.
        if let Some(stages) = inner.next() {
            return self.printed_before(stages, stages.len());
        }
        let is_user = |found: &CommandSummary| found.span == self.user;
        let inner = walker.found.iter().filter(|found| found.span.is_some_and(is_in));
        let inner: Vec<&CommandSummary> = inner.filter(|found| !is_user(found)).collect();
        if inner.is_empty() { NameSet::default() } else { self.printed(inner, None) }
    }

    /// The names that commands print, of those that they read or others.
    fn printed(&mut self, commands: Vec<&'s CommandSummary>, read: Option<NameSet>) -> NameSet {
        // Names from another machine mean nothing here.
        let commands: Vec<&CommandSummary> =
            commands.into_iter().filter(|found| !found.remote).collect();
        let is_one = |names: &[&str]| {
            commands.iter().any(|found| names.iter().any(|name| is_program(found, name)))
        };
        let lists_files = |found: &&&CommandSummary| {
            is_program(found, "git") && found.words.iter().any(|word| word == "ls-files")
        };
        let is_source = is_one(&LISTERS)
            || is_one(&PRINTERS)
            || is_one(&MAKERS)
            || commands.iter().any(|found| lists_files(&found));
        let is_narrow = commands.iter().any(|found| filters::narrows(found, self.takes_folders));
        let mut names = match read {
            Some(read) if is_narrow => self.of_history(read),
            None if is_narrow => NameSet::default(),
            Some(mut read) => {
                // The folder of a file may be the project.
                read.is_unknown |= is_one(&["dirname"]);
                read
            }
            None if is_source => NameSet::default(),
            None => {
                let last = commands.last().and_then(|found| found.span);
                // A command that prints the text of a redirection does not read it.
                let is_fed = |feed: &InputSource| {
                    is_within(last, Some(feed.scope)) && !is_within(last, Some(feed.given.span))
                };
                match self.walker.word_sources.feeds.iter().find(|feed| is_fed(feed)) {
                    Some(feed) => self.fed(feed),
                    None => NameSet::unknown(),
                }
            }
        };
        names.is_unknown |= names.is_text && commands.iter().any(|found| filters::rewrites(found));
        for found in commands {
            names.merge(self.printed_by(found));
        }
        names
    }

    /// Of these names, those in the history: any few of them are worth it all.
    fn of_history(&self, mut names: NameSet) -> NameSet {
        let ground = self.walker.ground();
        names.listed.retain(|one| ground.is_history(&one.target, &one.folders));
        NameSet { is_unknown: false, ..names }
    }

    /// What one command prints, or hands to what it starts, of names.
    fn printed_by(&mut self, found: &'s CommandSummary) -> NameSet {
        let folders = critical::from(found, self.walker.resolver);
        let passed = found.targets(EffectKind::Pass).filter(|target| !is_input(target)).cloned();
        let passed = passed.map(|target| FolderListing { target, folders: folders.clone() });
        let mut names = NameSet { listed: passed.collect(), ..NameSet::default() };
        let is_printer = PRINTERS.iter().any(|name| is_program(found, name));
        let follow = |word: &str| WORDS_FOLLOW.contains(&word);
        let first = if is_printer {
            Some(1)
        } else {
            let at = found.words.iter().position(|word| word.to_str().is_some_and(follow));
            at.map(|at| at.saturating_add(1))
        };
        let Some(first) = first else { return names };
        let words: Vec<(String, bool)> = (found.words.iter().zip(&found.known).skip(first))
            .map(|(word, known)| (word.to_string_lossy().into_owned(), *known))
            .collect();
        if is_printer && words.iter().all(|(_, known)| *known) {
            let texts: Vec<&str> = words.iter().map(|(word, _)| word.as_str()).collect();
            let is_echo = is_program(found, "echo");
            let text = if is_echo { echoed(&texts) } else { formatted(&texts) };
            names.merge(names_in(&text.unwrap_or_else(|| texts.join(" ")), &folders));
            return names;
        }
        for (word, known) in words {
            if known {
                names.merge(names_in(&word, &folders));
            } else if word.contains(['$', '`']) {
                names.merge(self.sources(&word, None));
            } else {
                names.listed.push(listed(word, &folders));
            }
        }
        names
    }
}

impl Walker<'_> {
    pub(super) fn commands(&self, stage: &Stage) -> &[CommandSummary] {
        self.found.get(stage.commands.clone()).unwrap_or_default()
    }

    /// Whether one of these commands reads into a variable.
    pub(super) fn reads_into(
        &self,
        variable: &str,
        is_meant: impl Fn(&CommandSummary) -> bool,
    ) -> bool {
        let is_reader = |found: &CommandSummary| READERS.iter().any(|name| is_program(found, name));
        let fills = |found: &CommandSummary| {
            FILLED.contains(&variable) || found.words.iter().skip(1).any(|word| word == variable)
        };
        self.found.iter().any(|found| is_reader(found) && fills(found) && is_meant(found))
    }
}

fn is_input(target: &Target) -> bool {
    target.text == "-"
}

pub(super) fn is_within(inner: Option<Span>, outer: Option<Span>) -> bool {
    let both = inner.zip(outer);
    both.is_some_and(|(inner, outer)| outer.start <= inner.start && inner.end <= outer.end)
}

fn listed(text: String, folders: &[PathBuf]) -> FolderListing {
    let target = Target {
        kind: EffectKind::Pass,
        text: text.into(),
        known: true,
        field: None,
        span: None,
        redirected: false,
    };
    FolderListing { target, folders: folders.to_vec() }
}

/// The names in a text, separated by blanks, line ends and NUL bytes, literal or escaped.
fn names_in(text: &str, folders: &[PathBuf]) -> NameSet {
    let text = text.replace("\\n", "\n").replace("\\0", "\0");
    let names = text.split(['\0', '\n', ' ', '\t']).filter(|name| !name.is_empty());
    let listed = names.map(|name| listed(name.to_owned(), folders)).collect();
    NameSet { listed, is_unknown: false, is_text: true }
}

fn text_of(bit: &Bit) -> String {
    match bit {
        Bit::Text(text) => text.clone(),
        Bit::Glob(sign) => sign.to_string(),
        Bit::Number => "0".to_owned(),
        Bit::Unknown => "…".to_owned(),
    }
}

/// The variables in a text: `$x`, `${x%/}`, `${!x}`, `$1`, `"$@"`.
pub(super) fn variables_in(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for part in text.split('$').skip(1) {
        let part = part.strip_prefix('{').unwrap_or(part).trim_start_matches(['!', '#']);
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = part.split(|c: char| !is_name(c)).next().unwrap_or_default();
        let special = part.get(..1).filter(|sign| matches!(*sign, "@" | "*"));
        match special {
            Some(sign) if name.is_empty() => found.push(sign),
            _ if name.starts_with(|c: char| c.is_ascii_digit()) => {
                found.extend(name.get(..1));
            }
            _ if !name.is_empty() => found.push(name),
            _ => {}
        }
    }
    found
}
