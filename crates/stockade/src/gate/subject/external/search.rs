//! Searches by an agent's own tools. No sandbox hides files from them, so the gate looks for files
//! that the search must not read: the search has to exclude them, or is refused.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::FileType;
use rustix::io::Errno;
use serde_json::Value;

use super::globs::{self, Globs, excluding};
use super::paths::{NamedPaths, meanings};
use super::{is_of_server, literal_beginning};
use crate::bounded;
use crate::call::ExternalCall;
use crate::confine::Files;
use crate::gate::examiner::Examiner;
use crate::gate::protected_paths::finding;
use crate::gate::visibility::Unreadable;
use crate::inspect::{Finding, Homes, Identity, PathResolver, Weight};
use crate::policy::Decision;
use crate::policy::rules::words;

/// The search tool of Claude Code. Its field `glob` takes patterns separated by spaces; the last
/// one that matches a file decides.
pub(super) const GREP: &str = "Grep";
/// The most paths that are excluded one by one.
const EXCLUDED_MAX: usize = 16;
/// The most folders that one call may search. Each is walked.
const FOLDERS_MAX: usize = 8;
/// The name of a hypothetical file in a folder.
const PROBE: &str = "any-file";

/// The most names that are read, and the time limit.
const NAMES_MAX: usize = 100_000;
const TIME_MAX: Duration = Duration::from_millis(1500);
/// Folders of version control, which searches skip.
const LEFT_OUT: [&str; 6] = [".git", ".svn", ".hg", ".bzr", ".jj", ".sl"];

/// Words in the names of tools that search file contents.
const GREPS: [&str; 6] = ["ack", "ag", "grep", "rg", "ripgrep", "ugrep"];
/// Words for the content of files.
const CONTENTS: [&str; 11] = [
    "code", "codebase", "content", "contents", "many", "multiple", "pattern", "regex", "semantic",
    "symbols", "text",
];
/// Words for searches by file name.
const NAMES: [&str; 8] =
    ["directories", "directory", "file", "filename", "files", "folders", "names", "paths"];
/// Words for searches outside the file system.
const ELSEWHERE: [&str; 15] = [
    "conversation",
    "docs",
    "github",
    "gitlab",
    "google",
    "hub",
    "image",
    "images",
    "internet",
    "issues",
    "memories",
    "memory",
    "tool",
    "tools",
    "web",
];
/// Fields with the search term.
const PATTERNS: [&str; 12] = [
    "expression",
    "keyword",
    "keywords",
    "needle",
    "pattern",
    "q",
    "query",
    "regex",
    "regexp",
    "search",
    "term",
    "text",
];

/// What a search shows of its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shows {
    Contents,
    Names,
}

/// Findings and exclusions of a search.
#[derive(Debug, Default)]
pub(super) struct SearchFindings {
    pub(super) findings: Vec<Finding>,
    /// Patterns that the search has to exclude.
    pub(super) exclude: Vec<String>,
}

impl Examiner {
    /// Findings about files that a search would show and must not.
    pub(super) fn searched(
        &self,
        foreign: &ExternalCall,
        named: &NamedPaths,
        resolver: &PathResolver<'_>,
        files: &Files,
    ) -> SearchFindings {
        let mut searched = SearchFindings::default();
        let Some(shows) = shows(foreign) else { return searched };
        let unreadable = Unreadable::new(self, files, resolver);
        let search = ContentSearch { foreign, globs: Globs::of(foreign), unreadable };
        let folders = folders(foreign, named, resolver, self.home());
        if shows == Shows::Contents
            && folders.iter().filter(|path| is_folder(path)).count() > FOLDERS_MAX
        {
            let text = format!("the search is in more than {FOLDERS_MAX} folders");
            searched.findings.push(refusal(text, "search in one folder at a time"));
            return searched;
        }
        for folder in folders {
            let is_ours = folder.starts_with(resolver.root().path());
            if !is_ours && let Some(home) = home_in(&folder) {
                searched.findings.push(of_home(&folder, &home));
            } else if !is_ours && search.unreadable.has(&folder.join(PROBE)) {
                let text = format!("{folder:?} is a folder of secrets");
                let instead = "search in the project, or ask the person for what is needed";
                searched.findings.push(refusal(text, instead));
            } else if shows == Shows::Contents && is_folder(&folder) {
                search.contents(&folder, is_ours, &mut searched);
            }
        }
        searched
    }
}

/// The folders that a call searches: those that it names, or its working directory. A path with a
/// wildcard counts from the part before it.
fn folders(
    foreign: &ExternalCall,
    named: &NamedPaths,
    resolver: &PathResolver<'_>,
    home: Option<&Path>,
) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for path in &named.reads {
        let text = path.named.to_string_lossy();
        let begin = literal_beginning(&text);
        let real = if begin.len() < text.len() {
            resolver.real(OsStr::new(begin))
        } else {
            path.real.clone()
        };
        folders.extend(real);
    }
    if has_word(&words(&foreign.name), &["glob"]) {
        // The pattern may start with a folder, absolute or relative to the search.
        let pattern = foreign.input.get("pattern").and_then(Value::as_str);
        let beginning = pattern.map(literal_beginning).filter(|begin| !begin.is_empty());
        let from: Vec<PathBuf> = match named.reads.as_slice() {
            [] => vec![resolver.cwd_path().to_owned()],
            reads => reads.iter().map(|path| path.named.clone()).collect(),
        };
        if let Some(begin) = beginning {
            let paths = from.iter().flat_map(|folder| meanings(begin, folder, home));
            folders.extend(paths.filter_map(|path| resolver.real(path.as_os_str())));
        }
    }
    if named.reads.is_empty() && searches_here(&foreign.name) {
        folders.extend(resolver.real(resolver.cwd_path().as_os_str()));
    }
    folders.sort_unstable();
    folders.dedup();
    folders
}

/// A search in file contents, and the files that it must not read.
struct ContentSearch<'s> {
    foreign: &'s ExternalCall,
    globs: Globs,
    unreadable: Unreadable<'s>,
}

impl ContentSearch<'_> {
    /// Adds the findings and exclusions for one folder.
    fn contents(&self, folder: &Path, is_ours: bool, searched: &mut SearchFindings) {
        let Self { foreign, globs, unreadable } = self;
        let selected = globs.selected();
        if let Some(path) = selected.iter().find_map(|one| unreadable.selected_by(folder, one)) {
            let text = format!("the search is for {path:?}, which may not be read");
            let instead = "leave it out, or ask the person for what is needed";
            searched.findings.push(refusal(text, instead));
            return;
        }
        let mut walked = SecretScan::look(folder, |path| unreadable.has(path));
        walked.found.retain(|path| globs.may_select(path));
        let below = |path: &PathBuf| excluding(path.strip_prefix(folder).unwrap_or(path));
        let mut exclude: Vec<String> = walked.found.iter().map(below).collect();
        if !walked.is_whole || exclude.len() > EXCLUDED_MAX {
            exclude = unreadable.patterns(folder);
        }
        exclude.retain(|pattern| !globs.excludes(pattern));
        if exclude.is_empty() {
            return;
        }
        if is_ours && foreign.name == GREP {
            searched.exclude.extend(exclude);
            return;
        }
        let text = match walked.found.first() {
            Some(path) => format!("the search would read {path:?}, which may not be read"),
            None => format!("{folder:?} is too large to tell whether it holds secrets"),
        };
        let instead = if is_ours {
            "search with grep -r in the shell, where such files are hidden, or name a folder without them"
        } else {
            "name the files, or a folder without secrets, or ask the person"
        };
        searched.findings.push(refusal(text, instead));
    }
}

impl Unreadable<'_> {
    /// A file that a search pattern names and that may not be read.
    fn selected_by(&self, folder: &Path, pattern: &globs::Selection) -> Option<PathBuf> {
        match pattern {
            globs::Selection::Plain(names) => {
                Some(folder.join(names)).filter(|path| self.has(path))
            }
            globs::Selection::Hidden(pattern) => {
                let names = self.rules().filter_map(globs::last_name);
                let fits = |name: &&str| pattern.matches(name) && self.has(&folder.join(name));
                names.into_iter().find(fits).map(PathBuf::from)
            }
        }
    }

    /// The deny rules as patterns, for a folder that is too large to walk.
    fn patterns(&self, folder: &Path) -> Vec<String> {
        let of_rules = self.rules().map(globs::of_rule);
        let hidden = self.files.hide.iter().filter_map(|path| path.strip_prefix(folder).ok());
        let mut all: Vec<String> = of_rules.chain(hidden.map(excluding)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The paths of deny rules for reading, as written.
    fn rules(&self) -> impl Iterator<Item = &str> {
        let rules = self.examiner.policy().rules.all().iter();
        rules.filter(|rule| rule.list() == Decision::Deny).filter_map(globs::read_in)
    }
}

/// Whether a call is a search.
pub(super) fn is_search(foreign: &ExternalCall) -> bool {
    shows(foreign).is_some()
}

/// Whether a search without a folder runs in the session's folder. An MCP server has its own
/// working directory, but one that runs ripgrep was started in the agent's.
fn searches_here(tool: &str) -> bool {
    let words = words(tool);
    if has_word(&words, &ELSEWHERE) {
        return false;
    }
    !is_of_server(tool) || has_word(&words, &GREPS) || has_word(&server_words(tool), &GREPS)
}

/// What a call shows, if it is a search: judged by the words in the tool's name and by its fields.
fn shows(foreign: &ExternalCall) -> Option<Shows> {
    let words = words(&foreign.name);
    let has = |all: &[&str]| has_word(&words, all);
    let asks = |fields: &[&str]| {
        foreign.input.keys().any(|field| fields.contains(&field.to_lowercase().as_str()))
    };
    let is_search = has(&["find", "lookup", "query", "search"]);
    if has(&GREPS) || has(&["matches"]) {
        return Some(Shows::Contents);
    }
    if has(&["glob"]) {
        return Some(Shows::Names);
    }
    if (is_search || has(&["read"])) && has(&CONTENTS) {
        return Some(Shows::Contents);
    }
    if has(&["read", "web"]) {
        return None;
    }
    let is_grep = has_word(&server_words(&foreign.name), &GREPS) && asks(&PATTERNS);
    let names = has(&NAMES) && !has(&["in"]) && !asks(&["regex", "regexp"]);
    match is_search || is_grep {
        true if asks(&PATTERNS) && !names => Some(Shows::Contents),
        true if is_search => Some(Shows::Names),
        _ => None,
    }
}

fn has_word(words: &[String], known: &[&str]) -> bool {
    words.iter().any(|word| known.contains(&word.as_str()))
}

/// The words in the name of a tool's server.
fn server_words(tool: &str) -> Vec<String> {
    let server = tool.strip_prefix("mcp__").and_then(|rest| rest.rsplit_once("__"));
    server.map_or_else(Vec::new, |(server, _)| words(server))
}

/// The home directory that a folder contains.
fn home_in(folder: &Path) -> Option<PathBuf> {
    let identity = rustix::fs::stat(folder).map(|stat| Identity::of(&stat)).ok()?;
    Homes::find().held_by(identity, folder).map(Path::to_owned)
}

fn is_folder(path: &Path) -> bool {
    let stat = rustix::fs::stat(path);
    stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}

fn of_home(folder: &Path, home: &Path) -> Finding {
    let text = if folder == home {
        format!("{folder:?} is the home folder, which holds keys and credentials")
    } else {
        format!("{folder:?} holds the home folder {home:?}, with keys and credentials")
    };
    refusal(text, "search in the project, or name a folder that holds no secrets")
}

fn refusal(text: String, instead: &str) -> Finding {
    finding("search", text, instead, Weight::Always)
}

/// The result of a walk.
#[derive(Debug)]
pub(super) struct SecretScan {
    /// Files and folders that may not be read. Such folders are not walked.
    pub(super) found: Vec<PathBuf>,
    /// Whether the walk was complete.
    pub(super) is_whole: bool,
}

impl SecretScan {
    /// Walks a folder.
    pub(super) fn look(folder: &Path, is_secret: impl Fn(&Path) -> bool) -> Self {
        let until = Instant::now().checked_add(TIME_MAX);
        let mut walked = Self { found: Vec::new(), is_whole: true };
        let mut left = NAMES_MAX;
        let mut todo = vec![folder.to_owned()];
        while let Some(next) = todo.pop() {
            if left == 0 || until.is_none_or(|until| Instant::now() >= until) {
                walked.is_whole = false;
                break;
            }
            match bounded::names(&next, left) {
                Ok(names) => {
                    left = left.saturating_sub(names.len());
                    walked.sort_out(&next, names, &is_secret, &mut todo);
                }
                // It was removed, or the search cannot open it either.
                Err(error) if is_passed_by(&error) => {}
                Err(_) => walked.is_whole = false,
            }
        }
        walked.found.sort_unstable();
        walked
    }

    /// Sorts the names of a folder into secrets and folders to walk.
    fn sort_out(
        &mut self,
        folder: &Path,
        names: Vec<(OsString, FileType)>,
        is_secret: &impl Fn(&Path) -> bool,
        todo: &mut Vec<PathBuf>,
    ) {
        for (name, kind) in names {
            if kind == FileType::Symlink || LEFT_OUT.iter().any(|one| name == *one) {
                continue;
            }
            let path = folder.join(name);
            if is_secret(&path) {
                self.found.push(path);
            } else if matches!(kind, FileType::Directory | FileType::Unknown) {
                todo.push(path);
            }
        }
    }
}

fn is_passed_by(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|errno| {
        [Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::ACCESS].contains(&errno)
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::SecretScan;

    #[test]
    fn secrets_are_found_and_links_and_version_control_are_left_alone() {
        let base = tempfile::tempdir().unwrap();
        let at = |name: &str| base.path().join(name);
        for folder in ["a/b", ".git", "s/inner", "other"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        for file in ["s/inner/x", "a/b/x", ".git/x", "y", "other/x"] {
            std::fs::write(at(file), "").unwrap();
        }
        std::os::unix::fs::symlink(at("other"), at("a/link")).unwrap();
        let is_secret = |path: &Path| path.ends_with("x") || path.ends_with("s");
        let walked = SecretScan::look(base.path(), is_secret);
        assert!(walked.is_whole);
        assert_eq!(walked.found, [at("a/b/x"), at("other/x"), at("s")]);
    }
}
