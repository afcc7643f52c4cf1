//! Searches by an agent's own tools. No sandbox hides a file from them, so what a search would read and
//! may not is looked for here: the search leaves it out, or is refused.

mod globs;
mod walk;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use serde_json::Value;

use super::examine::Examiner;
use super::foreign::{is_of_server, literal_beginning};
use super::guarded::finding;
use super::named_paths::Named;
use super::path_text::meanings;
use super::unreadable::Unreadable;
use crate::call::Foreign;
use crate::confine::Files;
use crate::inspect::{Finding, Homes, Identity, View, Weight};
use crate::policy::Decision;
use crate::policy::rule::words;
use globs::{Globs, excluding};
use walk::Walked;

/// The tool of Claude Code that searches files. Its field `glob` takes any number of patterns, separated
/// by spaces, and the last that fits a file decides.
pub(super) const GREP: &str = "Grep";
/// At most so many paths are left out one by one.
const EXCLUDED_MAX: usize = 16;
/// At most so many folders are searched by one call. Each of them is walked through.
const FOLDERS_MAX: usize = 8;
/// A name for a file of which nothing is known but its folder.
const PROBE: &str = "any-file";

/// Words for programs that search what is in files.
const GREPS: [&str; 6] = ["ack", "ag", "grep", "rg", "ripgrep", "ugrep"];
/// Words for what is in files.
const CONTENTS: [&str; 11] = [
    "code", "codebase", "content", "contents", "many", "multiple", "pattern", "regex", "semantic",
    "symbols", "text",
];
/// Words for searches by names.
const NAMES: [&str; 8] =
    ["directories", "directory", "file", "filename", "files", "folders", "names", "paths"];
/// Words for searches of something else than files.
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
/// Fields that hold what is searched for.
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

/// What a search shows of the files that it looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shows {
    Contents,
    Names,
}

/// What is to be made of a search.
#[derive(Debug, Default)]
pub(super) struct Searched {
    pub(super) findings: Vec<Finding>,
    /// Patterns for files that the search has to leave out.
    pub(super) exclude: Vec<String>,
}

impl Examiner {
    /// What a call of an agent's tool would find that it may not see.
    pub(super) fn searched(
        &self,
        foreign: &Foreign,
        (named, view): (&Named, &View<'_>),
        files: &Files,
    ) -> Searched {
        let mut searched = Searched::default();
        let Some(shows) = shows(foreign) else { return searched };
        let globs = Globs::of(foreign);
        let unreadable = Unreadable::new(self, files, view);
        let folders = folders(foreign, (named, view), self.home());
        if shows == Shows::Contents
            && folders.iter().filter(|path| is_folder(path)).count() > FOLDERS_MAX
        {
            let text = format!("the search is in more than {FOLDERS_MAX} folders");
            searched.findings.push(refusal(text, "search in one folder at a time"));
            return searched;
        }
        for folder in folders {
            let is_ours = folder.starts_with(view.root().path());
            if !is_ours && let Some(home) = home_in(&folder) {
                searched.findings.push(of_home(&folder, &home));
            } else if !is_ours && unreadable.has(&folder.join(PROBE)) {
                let text = format!("{folder:?} is a folder of secrets");
                let instead = "search in the project, or ask the person for what is needed";
                searched.findings.push(refusal(text, instead));
            } else if shows == Shows::Contents && is_folder(&folder) {
                let about = (foreign, &globs, &unreadable);
                search_contents(&folder, is_ours, about, &mut searched);
            }
        }
        searched
    }
}

/// The folders that a call searches: those that it names, or the one in which it runs. A path with a
/// wildcard is searched from where it begins.
fn folders(
    foreign: &Foreign,
    (named, view): (&Named, &View<'_>),
    home: Option<&Path>,
) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for path in &named.reads {
        let text = path.named.to_string_lossy();
        let begin = literal_beginning(&text);
        let real =
            if begin.len() < text.len() { view.real(OsStr::new(begin)) } else { path.real.clone() };
        folders.extend(real);
    }
    if has_word(&words(&foreign.name), &["glob"]) {
        // The pattern may name a folder by itself, or one from where the search is.
        let pattern = foreign.input.get("pattern").and_then(Value::as_str);
        let beginning = pattern.map(literal_beginning).filter(|begin| !begin.is_empty());
        let from: Vec<PathBuf> = match named.reads.as_slice() {
            [] => vec![view.cwd_path().to_owned()],
            reads => reads.iter().map(|path| path.named.clone()).collect(),
        };
        if let Some(begin) = beginning {
            let paths = from.iter().flat_map(|folder| meanings(begin, folder, home));
            folders.extend(paths.filter_map(|path| view.real(path.as_os_str())));
        }
    }
    if named.reads.is_empty() && searches_here(&foreign.name) {
        folders.extend(view.real(view.cwd_path().as_os_str()));
    }
    folders.sort_unstable();
    folders.dedup();
    folders
}

/// Adds what is to be said of a search in the files of a folder.
fn search_contents(
    folder: &Path,
    is_ours: bool,
    (foreign, globs, unreadable): (&Foreign, &Globs, &Unreadable<'_>),
    searched: &mut Searched,
) {
    let selected = globs.selected();
    if let Some(path) = selected.iter().find_map(|one| unreadable.selected_by(folder, one)) {
        let text = format!("the search is for {path:?}, which may not be read");
        let instead = "leave it out, or ask the person for what is needed";
        searched.findings.push(refusal(text, instead));
        return;
    }
    let mut walked = Walked::look(folder, |path| unreadable.has(path));
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

impl Unreadable<'_> {
    /// What a pattern of a search selects that may not be read.
    fn selected_by(&self, folder: &Path, pattern: &globs::Selected) -> Option<PathBuf> {
        match pattern {
            globs::Selected::Plain(names) => Some(folder.join(names)).filter(|path| self.has(path)),
            globs::Selected::Hidden(segment) => {
                let names = self.rules().filter_map(globs::last_name);
                let fits = |name: &&str| segment.fits(name) && self.has(&folder.join(name));
                names.into_iter().find(fits).map(PathBuf::from)
            }
        }
    }

    /// The rules as patterns, for a folder that cannot be looked through.
    fn patterns(&self, folder: &Path) -> Vec<String> {
        let of_rules = self.rules().map(globs::of_rule);
        let hidden = self.files.hide.iter().filter_map(|path| path.strip_prefix(folder).ok());
        let mut all: Vec<String> = of_rules.chain(hidden.map(excluding)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// What rules refuse to read anywhere, as it is written in them.
    fn rules(&self) -> impl Iterator<Item = &str> {
        let rules = self.examiner.policy().rules.all().iter();
        rules.filter(|rule| rule.list() == Decision::Deny).filter_map(globs::read_in)
    }
}

/// Whether a call is a search.
pub(super) fn is_search(foreign: &Foreign) -> bool {
    shows(foreign).is_some()
}

/// Whether a search that names no folder is in that of the session. A server has a folder of its own, but
/// one that runs ripgrep was started where the agent was.
fn searches_here(tool: &str) -> bool {
    let words = words(tool);
    if has_word(&words, &ELSEWHERE) {
        return false;
    }
    !is_of_server(tool) || has_word(&words, &GREPS) || has_word(&server_words(tool), &GREPS)
}

/// What a call shows, if it is a search: by the words of its tool, and by whether it has a pattern for
/// what is in files.
fn shows(foreign: &Foreign) -> Option<Shows> {
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

/// The home folder that is in a folder.
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
