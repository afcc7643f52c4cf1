//! Irreversible commands: they delete the machine, a home directory, the project or its history,
//! possibly only if a variable is empty. Rules decide about these findings by name.

use std::path::{Component, Path, PathBuf};

use super::command::{CommandSummary, Target};
use super::emptied;
use super::pattern;
use super::resolver::PathResolver;
use crate::catalog::EffectKind;
use crate::inspect::{Axis, Finding, Weight};
use crate::shell::ast::Span;
use crate::shell::expand::{Bit, Field};
use crate::shell::state::lexical;

/// A moved path still exists.
const MOVES: [&str; 2] = ["mv", "gmv"];
/// The folders in which a project keeps its history.
const HISTORIES: [&str; 7] = [".git", ".hg", ".svn", ".jj", ".bzr", "_darcs", "CVS"];
/// The folders of a git history that hold commits and their names.
const OF_GIT: [&str; 8] =
    ["HEAD", "index", "logs", "modules", "objects", "packed-refs", "refs", "worktrees"];
/// Links of a process in procfs that lead to folders.
const PROC_LINKS: [&str; 2] = ["cwd", "root"];
/// The most such links that are followed in one path.
const LINKS_MAX: usize = 8;
/// System folders that belong to no project.
const OF_SYSTEM: [&str; 15] = [
    "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/opt", "/proc", "/root", "/run",
    "/sbin", "/sys", "/usr", "/var",
];
/// With fewer entries, naming each does not count as the whole project.
const ENTRIES_MIN: usize = 3;

/// The text about a project that is deleted entry by entry.
const EVERY_ENTRY: Worth = Worth::Project("every entry of the project");
/// Patterns in a folder behind a procfs link are not expanded.
const THROUGH_PROC: Worth = Worth::Wide("which leads through a link of procfs");

/// Why a target that a reference names is not left to chance.
const BY_REFERENCE: &str = "and the name of another variable decides in the run what that is";
/// Programs that expand patterns of their own.
const GLOBBERS: [&str; 3] = ["rimraf", "del", "del-cli"];

/// The importance of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Worth {
    /// The machine or a home directory.
    Root(&'static str),
    /// A folder above the project, or at the top of the file system.
    Wide(&'static str),
    /// The project.
    Project(&'static str),
    /// Its history.
    History(&'static str),
}

impl Worth {
    /// The finding about deleting it, with the reason.
    fn finding(self) -> (&'static str, &'static str) {
        match self {
            Self::Root(why) => ("delete-root", why),
            Self::Wide(why) => ("delete-wide", why),
            Self::Project(why) => ("destroy-project", why),
            Self::History(why) => ("destroy-history", why),
        }
    }
}

/// Finds irreversible effects of commands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CriticalCheck<'g> {
    /// The resolver of the call.
    pub(crate) resolver: &'g PathResolver<'g>,
    /// The person's home directory.
    pub(crate) home: Option<&'g Path>,
}

impl CriticalCheck<'_> {
    /// The findings about one command.
    pub(crate) fn findings(&self, found: &CommandSummary) -> Vec<Finding> {
        if found.remote {
            return Vec::new();
        }
        let mut findings = Vec::new();
        let deleted = found.targets(EffectKind::Delete).filter(|_| !moves(found));
        for target in deleted {
            let whole = Target { text: ".".into(), known: true, field: None, ..target.clone() };
            let own = is_own_pattern(found, target);
            let target = if is_pathspec(found, target) || own { &whole } else { target };
            findings.extend(self.deleted(target, &from(found, self.resolver)).map(
                |(rule, why)| {
                    let text = format!("it deletes {:?}, {why}", target.text.to_string_lossy());
                    finding(rule, text, target.span.or(found.span))
                },
            ));
        }
        for target in found.targets(EffectKind::Write) {
            let folders = from(found, self.resolver);
            findings.extend(self.overwritten(found, target, &folders).map(|(rule, why)| {
                let text = format!("it overwrites {:?}, {why}", target.text.to_string_lossy());
                finding(rule, text, target.span.or(found.span))
            }));
        }
        for target in found.targets(EffectKind::ChangeTree).filter(|target| !target.is_open()) {
            let worth = self.worth(target, &from(found, self.resolver));
            let why = match worth {
                Some((Worth::Root(why), _)) => why,
                Some((Worth::Wide(_), path))
                    if OF_SYSTEM.iter().any(|one| path == Path::new(one)) =>
                {
                    "a folder of the system"
                }
                Some(_) | None => continue,
            };
            let text = format!("it changes all of {:?}, {why}", target.text.to_string_lossy());
            findings.push(finding("change-root", text, target.span.or(found.span)));
        }
        if found.targets(EffectKind::Forget).next().is_some() {
            let text = "it drops commits, or what names them, from the history".to_owned();
            findings.push(finding("destroy-history", text, found.span));
        }
        findings
    }

    /// The findings about several commands together: each entry of the project named on its own.
    pub(crate) fn together(&self, all: &[CommandSummary]) -> Option<Finding> {
        let root = self.resolver.root().path();
        let mut named: Vec<PathBuf> = Vec::new();
        let mut last = None;
        for found in all.iter().filter(|found| !found.remote && !moves(found)) {
            let is_lost = |target: &&Target| {
                target.kind == EffectKind::Delete || emptied::empties(found, target)
            };
            for target in found.targets.iter().filter(is_lost) {
                let folders = from(found, self.resolver);
                if !target.known && self.deleted(target, &folders).is_some() {
                    continue;
                }
                let paths = folders.iter().flat_map(|folder| self.named(target, folder));
                for path in paths.filter(|path| path.parent() == Some(root)) {
                    last = target.span.or(found.span);
                    named.push(path);
                }
            }
        }
        if named.len() < ENTRIES_MIN {
            return None;
        }
        let text = || "it deletes every entry of the project, each by its name".to_owned();
        self.is_every_entry(&named).then(|| finding("destroy-project", text(), last))
    }

    /// The paths that a target means from a folder: its own, or those that its pattern fits.
    fn named(&self, target: &Target, folder: &Path) -> Vec<PathBuf> {
        if target.known {
            return vec![lexical(folder, Path::new(&target.text))];
        }
        let field = target.field.as_ref().filter(|field| field.is_pattern());
        let view = self.resolver.from_folder(folder).ok();
        let entries = field.zip(view).and_then(|(field, view)| pattern::paths(field, &view));
        entries.unwrap_or_default().iter().map(|entry| lexical(folder, entry)).collect()
    }

    /// What deleting a target from these folders destroys, and why it matters.
    pub(crate) fn deleted(
        &self,
        target: &Target,
        folders: &[PathBuf],
    ) -> Option<(&'static str, &'static str)> {
        let is_hanging = target.field.as_ref().is_some_and(hangs_on_a_variable);
        if is_hanging && !is_checked(&target.text.to_string_lossy()) {
            let why = "which is everything if the variable is empty";
            return Some(Worth::Wide(why).finding());
        }
        let text = target.text.to_string_lossy();
        if !target.known && is_indirect(&text) {
            return Some(Worth::Project(BY_REFERENCE).finding());
        }
        let chosen = alternative(&text).filter(|_| !target.known);
        let chosen = chosen.and_then(|text| {
            let text = if without_all(&text) == "." { ".".to_owned() } else { text };
            let target = Target { text: text.into(), known: true, field: None, ..target.clone() };
            self.worth(&target, folders)
        });
        if let Some((worth, _)) = chosen {
            return Some(worth.finding());
        }
        let tail = target.field.as_ref().and_then(Field::tail);
        if tail.is_some_and(|tail| is_history(Path::new(without_all(tail.trim_start_matches('/')))))
        {
            return Some(Worth::History("which may be the history of the project").finding());
        }
        let worth = self.worth(target, folders).map(|(worth, _)| worth);
        worth
            .or_else(|| self.without_unknown(target, folders))
            .or_else(|| self.matched(target, folders))
            .or_else(|| is_through_proc(target).then_some(THROUGH_PROC))
            .map(Worth::finding)
    }

    /// Whether deleting a target from these folders destroys the history, or a part of it.
    pub(crate) fn is_history(&self, target: &Target, folders: &[PathBuf]) -> bool {
        self.deleted(target, folders).is_some_and(|(rule, _)| rule == "destroy-history")
    }

    /// Whether a folder is the history, or lies in it.
    pub(crate) fn is_in_history(&self, folder: &Path) -> bool {
        matches!(self.worth_of(folder), Some(Worth::History(_)))
    }

    /// `.g${x}it`: the history, where the variable is empty.
    fn without_unknown(&self, target: &Target, folders: &[PathBuf]) -> Option<Worth> {
        let field = target.field.as_ref().filter(|field| field.bits.iter().any(is_unknown))?;
        let text = |bit: &Bit| match bit {
            Bit::Text(text) => Some(text.clone()),
            Bit::Unknown => Some(String::new()),
            Bit::Glob(_) | Bit::Number => None,
        };
        let text = field.bits.iter().map(text).collect::<Option<String>>()?;
        let mut worth =
            folders.iter().filter_map(|folder| self.worth_of(&lexical(folder, Path::new(&text))));
        worth.find(|worth| matches!(worth, Worth::History(_)))
    }

    /// What is lost when a command does this to a target: deletes it, or writes it.
    pub(crate) fn lost(
        &self,
        found: &CommandSummary,
        target: &Target,
        folders: &[PathBuf],
    ) -> Option<(&'static str, &'static str)> {
        match target.kind {
            EffectKind::Delete => self.deleted(target, folders),
            EffectKind::Write => self.overwritten(found, target, folders),
            EffectKind::Read
            | EffectKind::List
            | EffectKind::Execute
            | EffectKind::Enter
            | EffectKind::Pass
            | EffectKind::ChangeTree
            | EffectKind::Forget
            | EffectKind::Host => None,
        }
    }

    /// What is lost when a command writes a target: what it empties, and of the history all that it
    /// puts other content into.
    fn overwritten(
        &self,
        found: &CommandSummary,
        target: &Target,
        folders: &[PathBuf],
    ) -> Option<(&'static str, &'static str)> {
        if emptied::empties(found, target) {
            let lost = self.deleted(target, folders);
            return lost.filter(|(rule, _)| *rule != "delete-wide");
        }
        let (worth, path) = self.worth(target, folders)?;
        let root = self.resolver.root().path();
        let is_in_history = matches!(worth, Worth::History(_)) && path.parent() != Some(root);
        (is_in_history && emptied::changes_content(found, target)).then(|| worth.finding())
    }

    /// Expands a pattern on disk: `.gi?` is the history, and a pattern that matches every entry is
    /// the project.
    fn matched(&self, target: &Target, folders: &[PathBuf]) -> Option<Worth> {
        let is_pattern = |field: &&Field| field.bits.iter().any(|bit| matches!(bit, Bit::Glob(_)));
        let field = target.field.as_ref().filter(is_pattern)?;
        folders.iter().find_map(|folder| {
            let resolver = self.resolver.from_folder(folder).ok()?;
            let entries = pattern::paths(field, &resolver)?;
            let paths: Vec<PathBuf> =
                entries.iter().map(|entry| lexical(folder, Path::new(entry))).collect();
            let worth = paths.iter().find_map(|path| self.worth_of(path));
            worth.or_else(|| self.is_every_entry(&paths).then_some(EVERY_ENTRY))
        })
    }

    /// Whether these are all the entries that `*` matches, and not only a few.
    fn is_every_entry(&self, paths: &[PathBuf]) -> bool {
        let root = self.resolver.root().path();
        let everything = Field { bits: vec![Bit::Glob('*')], ..Field::unknown(Span::default()) };
        let entries = self.resolver.from_folder(root).ok();
        let entries = entries.and_then(|resolver| pattern::paths(&everything, &resolver));
        entries.is_some_and(|entries| {
            entries.len() >= ENTRIES_MIN
                && entries.iter().all(|entry| paths.contains(&root.join(entry)))
        })
    }

    fn worth(&self, target: &Target, folders: &[PathBuf]) -> Option<(Worth, PathBuf)> {
        let text = text_of(target)?;
        // All entries of a folder count as the folder.
        let path = Path::new(without_all(&text));
        folders.iter().find_map(|folder| {
            let path = lexical(folder, &without_proc(path, folder));
            // The line may have entered such a link.
            let path = without_proc(&path, self.resolver.cwd_path());
            let real = self.resolver.real(path.as_os_str());
            let both = [Some(path), real];
            both.into_iter().flatten().find_map(|path| Some((self.worth_of(&path)?, path)))
        })
    }

    fn worth_of(&self, path: &Path) -> Option<Worth> {
        let root = self.resolver.root().path();
        if path == Path::new("/") {
            Some(Worth::Root("the root of the machine"))
        } else if self.home.is_some_and(|home| home.starts_with(path)) {
            Some(Worth::Root("the home folder or one around it"))
        } else if path == root {
            Some(Worth::Project("the project itself"))
        } else if path == Path::new("/root") || path.parent() == Some(Path::new("/home")) {
            Some(Worth::Root("a home folder"))
        } else if root.starts_with(path) {
            Some(Worth::Wide("a folder around the project"))
        } else if path.parent() == Some(Path::new("/")) {
            Some(Worth::Wide("a folder of the machine's root"))
        } else if path.strip_prefix(root).is_ok_and(is_history) {
            Some(Worth::History("the history of the project"))
        } else {
            None
        }
    }
}

/// Whether a command moves what it deletes.
pub(crate) fn moves(found: &CommandSummary) -> bool {
    let name = found.words.first().and_then(|word| Path::new(word).file_name());
    MOVES.iter().any(|moves| name == Some(moves.as_ref()))
}

/// Whether git reads the path as a pathspec that may match everything: `:/`, `:(top)`, `:!x`.
fn is_pathspec(found: &CommandSummary, target: &Target) -> bool {
    let text = target.text.to_string_lossy();
    emptied::is_program(found, "git") && text.trim_start_matches(['"', '\'']).starts_with(':')
}

/// The findings about what is deleted through references, whose variables are known in the run
/// alone: `declare -n r=d; rm -rf $r`.
pub(crate) fn by_reference(all: &[CommandSummary]) -> Vec<Finding> {
    let names: Vec<String> = all.iter().flat_map(references).collect();
    let is_one = |target: &&Target| {
        let text = target.text.to_string_lossy();
        let uses = |name: &String| {
            let rest = text.split('$').skip(1).map(|part| part.trim_start_matches('{'));
            rest.into_iter().any(|part| {
                let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let end = part.find(|c| !is_name(c)).unwrap_or(part.len());
                part.get(..end) == Some(name)
            })
        };
        !target.known && names.iter().any(uses)
    };
    let deleted = |found: &CommandSummary| -> Vec<Finding> {
        let lost = found
            .targets
            .iter()
            .filter(|target| target.kind == EffectKind::Delete || emptied::empties(found, target));
        let lost = lost.filter(is_one).map(|target| {
            let text = format!("it deletes {:?}, {BY_REFERENCE}", target.text.to_string_lossy());
            finding("destroy-project", text, target.span.or(found.span))
        });
        lost.collect()
    };
    all.iter().filter(|found| !found.remote).flat_map(deleted).collect()
}

/// Whether a program expands this text, which stands for everything.
fn is_own_pattern(found: &CommandSummary, target: &Target) -> bool {
    let text = target.text.to_string_lossy();
    let text = text.trim_start_matches("./");
    let is_one = GLOBBERS.iter().any(|name| {
        let program = found.words.first().and_then(|word| word.to_str()).unwrap_or_default();
        let program = program.split('@').next().unwrap_or_default();
        program.rsplit('/').next() == Some(*name) || emptied::is_program(found, name)
    });
    target.known && is_one && text.contains('*') && without_all(text) == "."
}

/// Whether a word names a variable by another one: `${!n}`. `${!n*}` and `${!n@}` are names, and
/// `${!n[@]}` are keys.
fn is_indirect(text: &str) -> bool {
    text.split("${!").skip(1).any(|rest| {
        let name = rest.split('}').next().unwrap_or_default();
        !name.ends_with(['*', '@']) && !name.ends_with("[@]") && !name.ends_with("[*]")
    })
}

/// The text with what stands in place of a variable: `${1:-.git}`, `${x:=.git}`, `${x+.git}`. `None` if
/// there is none, or if more than that is unknown.
fn alternative(text: &str) -> Option<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '@' | '*');
    let (mut made, mut rest, mut has_one) = (String::new(), text, false);
    while let Some((before, after)) = rest.split_once("${") {
        made.push_str(before);
        let name = after.trim_start_matches(is_name);
        let operator = name.strip_prefix(':').unwrap_or(name);
        let (word, next) = operator.strip_prefix(['-', '=', '+'])?.split_once('}')?;
        made.push_str(word);
        rest = next;
        has_one = true;
    }
    made.push_str(rest);
    let made: String = made.chars().filter(|c| !matches!(c, '"' | '\'')).collect();
    (has_one && !made.contains(['$', '`', '\\'])).then_some(made)
}

/// The names of references that a command declares: `declare -n r=d`.
fn references(found: &CommandSummary) -> Vec<String> {
    let words: Vec<_> = found.words.iter().map(|word| word.to_string_lossy()).collect();
    let declares = words
        .first()
        .is_some_and(|word| ["declare", "typeset", "local", "nameref"].contains(&word.as_ref()));
    let is_option = |word: &&std::borrow::Cow<'_, str>| word.starts_with('-') && word.contains('n');
    let is_one = declares
        && (words.iter().skip(1).any(|word| is_option(&word))
            || words.first().is_some_and(|word| word == "nameref"));
    if !is_one {
        return Vec::new();
    }
    let names = words.iter().skip(1).filter(|word| !word.starts_with('-'));
    names.map(|word| word.split('=').next().unwrap_or_default().to_owned()).collect()
}

/// The folders at which the paths of a command start.
pub(crate) fn from(found: &CommandSummary, resolver: &PathResolver<'_>) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = found.folders.iter().chain(&found.entered).cloned().collect();
    if folders.is_empty() {
        folders.push(resolver.cwd_path().to_owned());
    }
    folders
}

/// A finding that a rule with its name decides about.
pub(crate) fn finding(rule: &'static str, text: String, span: Option<Span>) -> Finding {
    let (axis, weight) = (Axis::Shell, Weight::Ruled);
    Finding::new(axis, weight, rule, text).in_line(span)
}

/// The path of a target, with a digit for each number that is only known at run time; `None` if
/// more of it is unknown.
fn text_of(target: &Target) -> Option<String> {
    if !target.is_open() {
        return target.text.to_str().map(str::to_owned);
    }
    if let Some(pattern) = target.text.to_str().and_then(all_but) {
        return Some(pattern);
    }
    let text = |bit: &Bit| match bit {
        Bit::Text(text) => Some(text.clone()),
        Bit::Glob(sign) => Some(sign.to_string()),
        Bit::Number => Some("0".to_owned()),
        Bit::Unknown => None,
    };
    target.field.as_ref()?.bits.iter().map(text).collect()
}

/// Whether a pattern matches nearly everything in a folder: `x/!(y)` like `x/*`, and similar ones
/// with a star.
fn all_but(text: &str) -> Option<String> {
    let (before, rest) = text.split_once('(')?;
    let (folder, sign) = before.split_at_checked(before.len().checked_sub(1)?)?;
    let is_all = match sign {
        "!" => true,
        "@" | "?" | "*" | "+" => rest.contains(['*', '[']),
        _ => false,
    };
    let is_plain = folder.is_empty() || folder.ends_with('/');
    (is_all && is_plain && !folder.contains(['$', '`', '"'])).then(|| format!("{folder}*"))
}

/// A path without the links of procfs that lead back to the folder of a process or to the root.
pub(crate) fn without_proc(path: &Path, folder: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Some((link, rest)) = proc_link(&path) else { break };
        path = if link == "cwd" { folder.join(rest) } else { Path::new("/").join(rest) };
    }
    path
}

/// The procfs link in a path, and the rest of the path.
fn proc_link(path: &Path) -> Option<(String, PathBuf)> {
    let mut parts = path.components().filter(|part| *part != Component::CurDir);
    let is =
        |part: Option<Component<'_>>, name: &str| part == Some(Component::Normal(name.as_ref()));
    if parts.next() != Some(Component::RootDir) || !is(parts.next(), "proc") {
        return None;
    }
    parts.next()?;
    let mut part = parts.next();
    if is(part, "task") {
        parts.next()?;
        part = parts.next();
    }
    let link = PROC_LINKS.iter().find(|name| is(part, name))?;
    Some(((*link).to_owned(), parts.collect()))
}

fn is_through_proc(target: &Target) -> bool {
    let is_pattern = target.field.as_ref().is_some_and(Field::is_pattern);
    is_pattern && proc_link(Path::new(&target.text)).is_some()
}

/// Whether a path beneath the root is part of the project's history.
fn is_history(path: &Path) -> bool {
    let mut names = path.iter().map(|name| name.to_str().unwrap_or_default());
    let (Some(first), second, third) = (names.next(), names.next(), names.next()) else {
        return false;
    };
    let is_lock = path.extension().is_some_and(|extension| extension == "lock");
    match second {
        None => HISTORIES.contains(&first),
        // Another repository's data, and lock files, are not the project's history.
        Some("refs") if third == Some("remotes") => false,
        Some(second) => first == ".git" && OF_GIT.contains(&second) && !is_lock,
    }
}

/// Paths that mean everything if the variable is empty: `"$DIR"/`, `$DIR/*`, `/$DIR`.
fn hangs_on_a_variable(field: &Field) -> bool {
    let is_root = matches!(field.bits.first(), Some(Bit::Text(text)) if text.starts_with('/'));
    if is_root && field.bits.iter().any(is_unknown) {
        let bits = field.bits.iter().filter(|bit| !is_unknown(bit)).cloned().collect();
        // `/$X`, `/$X/*`
        return is_all(&Field { bits, ..field.clone() }.shown());
    }
    let known = field.bits.iter().skip_while(|bit| is_unknown(bit));
    let mut rest = String::new();
    for bit in known {
        match bit {
            Bit::Text(text) => rest.push_str(text),
            Bit::Glob(c) => rest.push(*c),
            Bit::Number | Bit::Unknown => return false,
        }
    }
    field.bits.first().is_some_and(is_unknown) && rest.starts_with('/') && without_all(&rest) == "/"
}

/// `"${DIR:?}"/*`: the shell exits if the variable is empty.
fn is_checked(text: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let inside = text.trim_start_matches('"').strip_prefix("${");
    inside.is_some_and(|inside| inside.trim_start_matches(is_name).starts_with(":?"))
}

fn is_unknown(bit: &Bit) -> bool {
    matches!(bit, Bit::Number | Bit::Unknown)
}

/// Whether a path from the root consists only of patterns that match everything.
pub(crate) fn is_all(path: &str) -> bool {
    without_all(path) == "/"
}

/// A path without the patterns at its end that stand for all in a folder, or for nearly all: `x/*`,
/// `x/.*`, `x/[a-z]*`, `x/*/`.
pub(crate) fn without_all(path: &str) -> &str {
    let mut path = path;
    loop {
        let trimmed = match path.trim_end_matches('/') {
            "" if path.starts_with('/') => return "/",
            trimmed => trimmed,
        };
        let (folder, name) = match trimmed.rsplit_once('/') {
            Some(("", name)) => ("/", name),
            Some((folder, name)) => (folder, name),
            None => (".", trimmed),
        };
        if !means_all(name) {
            return trimmed;
        }
        path = folder;
    }
}

/// Whether a pattern matches names without naming any part of them: only stars, question marks,
/// classes and dots.
fn means_all(name: &str) -> bool {
    let mut is_pattern = false;
    let mut letters = name.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '*' | '?' => is_pattern = true,
            '[' => {
                is_pattern = true;
                // A bracket directly after the opening one does not close the class.
                let class = letters.as_str().trim_start_matches(['!', '^', ']']);
                let Some((_, rest)) = class.split_once(']') else { return false };
                letters = rest.chars();
            }
            '.' => {}
            _ => return false,
        }
    }
    is_pattern
}
