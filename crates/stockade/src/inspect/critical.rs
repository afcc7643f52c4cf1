//! Commands that nobody takes back: they delete the machine, a home, the project or its history, or
//! what is one of these when a variable is empty. Rules decide about these findings by name.

use std::path::{Component, Path, PathBuf};

use super::emptied;
use super::finding::{Axis, Finding, Weight};
use super::found::{Found, Target};
use super::pattern;
use super::view::View;
use crate::knowledge::EffectKind;
use crate::shell::expand::{Bit, Field};
use crate::shell::state::lexical;
use crate::shell::tree::Span;

/// What is moved is still there.
const MOVES: [&str; 2] = ["mv", "gmv"];
/// Where a project keeps its history.
const HISTORIES: [&str; 7] = [".git", ".hg", ".svn", ".jj", ".bzr", "_darcs", "CVS"];
/// What holds the commits in a history of git, and the names of commits.
const OF_GIT: [&str; 8] =
    ["HEAD", "index", "logs", "modules", "objects", "packed-refs", "refs", "worktrees"];
/// What a process has of links to folders in procfs.
const PROC_LINKS: [&str; 2] = ["cwd", "root"];
/// Such links in one path that are followed.
const LINKS_MAX: usize = 8;
/// Folders of a machine that no project owns.
const OF_SYSTEM: [&str; 15] = [
    "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/opt", "/proc", "/root", "/run",
    "/sbin", "/sys", "/usr", "/var",
];
/// Named one by one, fewer entries are not taken for the whole project.
const ENTRIES_MIN: usize = 3;

/// A project that is deleted entry by entry.
const EVERY_ENTRY: Worth = Worth::Project("every entry of the project");
/// Patterns in a folder that procfs links to are not looked up.
const THROUGH_PROC: Worth = Worth::Wide("which leads through a link of procfs");

/// What a path is to the machine and to the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Worth {
    /// The machine or a home.
    Root(&'static str),
    /// A folder around the project, or of the machine's root.
    Wide(&'static str),
    /// The project.
    Project(&'static str),
    /// Its history.
    History(&'static str),
}

impl Worth {
    /// The finding about deleting it, and why it matters.
    fn finding(self) -> (&'static str, &'static str) {
        match self {
            Self::Root(why) => ("delete-root", why),
            Self::Wide(why) => ("delete-wide", why),
            Self::Project(why) => ("destroy-project", why),
            Self::History(why) => ("destroy-history", why),
        }
    }
}

/// Paths that are worth something, seen from one call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ground<'g> {
    /// The machine as the call sees it.
    pub(crate) view: &'g View<'g>,
    /// The person's home.
    pub(crate) home: Option<&'g Path>,
}

impl Ground<'_> {
    /// What one command destroys.
    pub(crate) fn findings(&self, found: &Found) -> Vec<Finding> {
        if found.remote {
            return Vec::new();
        }
        let mut findings = Vec::new();
        let deleted = found.targets(EffectKind::Delete).filter(|_| !moves(found));
        for target in deleted {
            let whole = Target { text: ".".into(), known: true, field: None, ..target.clone() };
            let target = if is_pathspec(found, target) { &whole } else { target };
            findings.extend(self.deleted(target, &from(found, self.view)).map(|(rule, why)| {
                let text = format!("it deletes {:?}, {why}", target.text.to_string_lossy());
                finding(rule, text, target.span.or(found.span))
            }));
        }
        for target in found.targets(EffectKind::Write) {
            let folders = from(found, self.view);
            findings.extend(self.overwritten(found, target, &folders).map(|(rule, why)| {
                let text = format!("it overwrites {:?}, {why}", target.text.to_string_lossy());
                finding(rule, text, target.span.or(found.span))
            }));
        }
        for target in found.targets(EffectKind::ChangeTree).filter(|target| !target.is_open()) {
            let worth = self.worth(target, &from(found, self.view));
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

    /// What commands destroy together: each entry of the project by its own name.
    pub(crate) fn together(&self, all: &[Found]) -> Option<Finding> {
        let root = self.view.root().path();
        let mut named: Vec<PathBuf> = Vec::new();
        let mut last = None;
        for found in all.iter().filter(|found| !found.remote && !moves(found)) {
            let is_lost = |target: &&Target| {
                target.kind == EffectKind::Delete || emptied::empties(found, target)
            };
            for target in found.targets.iter().filter(is_lost).filter(|target| target.known) {
                let folders = from(found, self.view);
                let paths = folders.iter().map(|folder| lexical(folder, Path::new(&target.text)));
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
        let tail = target.field.as_ref().and_then(Field::tail);
        if tail.is_some_and(|tail| is_history(Path::new(without_all(tail.trim_start_matches('/')))))
        {
            return Some(Worth::History("which may be the history of the project").finding());
        }
        let worth = self.worth(target, folders).map(|(worth, _)| worth);
        worth
            .or_else(|| self.matched(target, folders))
            .or_else(|| is_through_proc(target).then_some(THROUGH_PROC))
            .map(Worth::finding)
    }

    /// What is lost when a command writes a target: what it empties, and of the history all that it
    /// puts other content into.
    fn overwritten(
        &self,
        found: &Found,
        target: &Target,
        folders: &[PathBuf],
    ) -> Option<(&'static str, &'static str)> {
        if emptied::empties(found, target) {
            let lost = self.deleted(target, folders);
            return lost.filter(|(rule, _)| *rule != "delete-wide");
        }
        let (worth, path) = self.worth(target, folders)?;
        let root = self.view.root().path();
        let is_in_history = matches!(worth, Worth::History(_)) && path.parent() != Some(root);
        (is_in_history && emptied::changes_content(found, target)).then(|| worth.finding())
    }

    /// What a pattern means on the disk: `.gi?` is the history, and one that every entry of the project
    /// meets is the project.
    fn matched(&self, target: &Target, folders: &[PathBuf]) -> Option<Worth> {
        let is_pattern = |field: &&Field| field.bits.iter().any(|bit| matches!(bit, Bit::Glob(_)));
        let field = target.field.as_ref().filter(is_pattern)?;
        folders.iter().find_map(|folder| {
            let view = self.view.from_folder(folder).ok()?;
            let entries = pattern::paths(field, &view)?;
            let paths: Vec<PathBuf> =
                entries.iter().map(|entry| lexical(folder, Path::new(entry))).collect();
            let worth = paths.iter().find_map(|path| self.worth_of(path));
            worth.or_else(|| self.is_every_entry(&paths).then_some(EVERY_ENTRY))
        })
    }

    /// Whether these are all entries of the project that a `*` means, and not only a few.
    fn is_every_entry(&self, paths: &[PathBuf]) -> bool {
        let root = self.view.root().path();
        let everything = Field { bits: vec![Bit::Glob('*')], ..Field::unknown(Span::default()) };
        let entries = self.view.from_folder(root).ok();
        let entries = entries.and_then(|view| pattern::paths(&everything, &view));
        entries.is_some_and(|entries| {
            entries.len() >= ENTRIES_MIN
                && entries.iter().all(|entry| paths.contains(&root.join(entry)))
        })
    }

    fn worth(&self, target: &Target, folders: &[PathBuf]) -> Option<(Worth, PathBuf)> {
        let text = text_of(target)?;
        // All that is in a folder is as good as the folder.
        let path = Path::new(without_all(&text));
        folders.iter().find_map(|folder| {
            let path = lexical(folder, &without_proc(path, folder));
            // The line may have entered such a link.
            let path = without_proc(&path, self.view.cwd_path());
            let real = self.view.real(path.as_os_str());
            let both = [Some(path), real];
            both.into_iter().flatten().find_map(|path| Some((self.worth_of(&path)?, path)))
        })
    }

    fn worth_of(&self, path: &Path) -> Option<Worth> {
        let root = self.view.root().path();
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
pub(crate) fn moves(found: &Found) -> bool {
    let name = found.words.first().and_then(|word| Path::new(word).file_name());
    MOVES.iter().any(|moves| name == Some(moves.as_ref()))
}

/// Whether git reads a path as more than one: `:/`, `:(top)`, `:!x`, which may mean all.
fn is_pathspec(found: &Found, target: &Target) -> bool {
    let text = target.text.to_string_lossy();
    emptied::is_program(found, "git") && text.trim_start_matches(['"', '\'']).starts_with(':')
}

/// The folders from which the paths of a command start.
pub(crate) fn from(found: &Found, view: &View<'_>) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = found.folders.iter().chain(&found.entered).cloned().collect();
    if folders.is_empty() {
        folders.push(view.cwd_path().to_owned());
    }
    folders
}

/// A finding about which a rule of this name decides.
pub(crate) fn finding(rule: &'static str, text: String, span: Option<Span>) -> Finding {
    let (axis, weight) = (Axis::Shell, Weight::Ruled);
    Finding { axis, rule, text, argument: None, instead: None, listed: None, weight, span }
}

/// The path of a target, with a digit for each number that is known in the run alone; `None` where
/// more of it is not known.
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

/// `x/!(y)` means nearly all in a folder, as `x/*` does, and so do other patterns of this kind that
/// hold a star.
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
fn without_proc(path: &Path, folder: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Some((link, rest)) = proc_link(&path) else { break };
        path = if link == "cwd" { folder.join(rest) } else { Path::new("/").join(rest) };
    }
    path
}

/// The link of a process that a path leads through, and what stands behind it.
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

/// Whether a path beneath the root holds the history of the project.
fn is_history(path: &Path) -> bool {
    let mut names = path.iter().map(|name| name.to_str().unwrap_or_default());
    let (Some(first), second, third) = (names.next(), names.next(), names.next()) else {
        return false;
    };
    let is_lock = path.extension().is_some_and(|extension| extension == "lock");
    match second {
        None => HISTORIES.contains(&first),
        // What another repository has, and what a lock keeps, is not lost with them.
        Some("refs") if third == Some("remotes") => false,
        Some(second) => first == ".git" && OF_GIT.contains(&second) && !is_lock,
    }
}

/// `"$DIR"/`, `$DIR/*`, `/$DIR`: everything, where the variable is empty.
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

/// `"${DIR:?}"/*`: the shell ends where the variable is empty.
fn is_checked(text: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let inside = text.trim_start_matches('"').strip_prefix("${");
    inside.is_some_and(|inside| inside.trim_start_matches(is_name).starts_with(":?"))
}

fn is_unknown(bit: &Bit) -> bool {
    matches!(bit, Bit::Number | Bit::Unknown)
}

/// Whether a path from the root is nothing but patterns that stand for all in a folder.
pub(crate) fn is_all(path: &str) -> bool {
    without_all(path) == "/"
}

/// A path without the patterns at its end that stand for all in a folder, or for nearly all: `x/*`,
/// `x/.*`, `x/[a-z]*`, `x/*/`.
fn without_all(path: &str) -> &str {
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

/// Whether a pattern means the names in a folder without saying anything about them: stars, question
/// marks, classes and dots.
fn means_all(name: &str) -> bool {
    let mut is_pattern = false;
    let mut letters = name.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '*' | '?' => is_pattern = true,
            '[' => {
                is_pattern = true;
                // A bracket that stands first in a class does not close it.
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
