//! Shows a command without its secrets, and names it by its hash.
//!
//! Invariant: a word is shown only if it comes from a list or names a thing that exists. Nothing
//! is shown because it does not *look* like a secret: no such test holds.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use sha2::{Digest as _, Sha256};

use super::record::Hash;
use crate::shell::invisible::is_hidden;

/// The most characters of a preview.
pub const PREVIEW_CHARS_MAX: usize = 200;

const NAME_BYTES_MAX: usize = 64;
const OPTION_BYTES_MAX: usize = 32;
const CLUSTER_LETTERS_MAX: usize = 4;
const PATH_CHARS_MAX: usize = 80;
/// Room for the note that says how many words are left out.
const NOTE_CHARS: usize = 16;

/// The command in at most [`PREVIEW_CHARS_MAX`] characters on one line, without its secrets.
///
/// `known` says whether a word is the name of a program, a subcommand or (with its dashes) an
/// option that may be shown; `exists` says whether an argument names an existing file beneath the
/// root. The program is shown by its base name and only if that is known, or if it exists.
/// All else is `…`, with its length in bytes.
///
/// ```
/// use stockade::journal::preview::preview;
///
/// let argv = ["git", "-C", "/work", "push", "--force", "--token=hunter2"].map(Into::into);
/// let known = |word: &str| ["git", "push"].contains(&word);
/// assert_eq!(preview(&argv, &known, &|_| false), "git -C …(5) push --force --token=…(7)");
/// ```
pub fn preview(
    argv: &[OsString],
    known: &dyn Fn(&str) -> bool,
    exists: &dyn Fn(&OsStr) -> bool,
) -> String {
    let mut shown = String::new();
    let mut chars: usize = 0;
    for (index, word) in argv.iter().enumerate() {
        let word = if index == 0 {
            shown_program(word, known, exists)
        } else {
            shown_argument(word, known, exists)
        };
        let wanted = chars.saturating_add(word.chars().count()).saturating_add(1);
        if wanted > PREVIEW_CHARS_MAX.saturating_sub(NOTE_CHARS) {
            let left = argv.len().saturating_sub(index);
            return format!("{shown} …+{left}");
        }
        if index > 0 {
            shown.push(' ');
        }
        shown.push_str(&word);
        chars = wanted;
    }
    shown
}

/// Several commands in as many characters, with `; ` between them.
pub fn preview_all(
    commands: &[Vec<OsString>],
    known: &dyn Fn(&str) -> bool,
    exists: &dyn Fn(&OsStr) -> bool,
) -> String {
    let mut shown = String::new();
    for (index, argv) in commands.iter().enumerate() {
        let next = preview(argv, known, exists);
        let wanted = shown.chars().count().saturating_add(next.chars().count()).saturating_add(2);
        if index > 0 && wanted > PREVIEW_CHARS_MAX.saturating_sub(NOTE_CHARS) {
            let left = commands.len().saturating_sub(index);
            return format!("{shown}; …+{left}");
        }
        if index > 0 {
            shown.push_str("; ");
        }
        shown.push_str(&next);
    }
    shown
}

/// The SHA-256 over all arguments, each preceded by its length as eight bytes, most significant
/// first.
pub fn digest(argv: &[OsString]) -> Hash {
    let mut hasher = Sha256::new();
    for argument in argv {
        let length = u64::try_from(argument.len()).unwrap_or(u64::MAX);
        hasher.update(length.to_be_bytes());
        hasher.update(argument.as_bytes());
    }
    Hash::from_bytes(hasher.finalize().into())
}

fn shown_program(
    program: &OsStr,
    known: &dyn Fn(&str) -> bool,
    exists: &dyn Fn(&OsStr) -> bool,
) -> String {
    let name = base_name(program).filter(|name| is_program_name(name));
    match name {
        Some(name) if known(name) || exists(program) => name.to_owned(),
        _ => masked(program.len()),
    }
}

fn shown_argument(
    word: &OsStr,
    known: &dyn Fn(&str) -> bool,
    exists: &dyn Fn(&OsStr) -> bool,
) -> String {
    let Some(text) = word.to_str().filter(|text| !text.is_empty()) else {
        return masked(word.len());
    };
    if text.starts_with("--") {
        return shown_long_option(text, known);
    }
    if let Some(letters) = text.strip_prefix('-') {
        return shown_short_option(letters);
    }
    if is_program_name(text) && known(text) {
        return text.to_owned();
    }
    if text.len() <= PATH_CHARS_MAX && exists(word) {
        return escaped(text);
    }
    match base_name(word).filter(|name| name.len() < text.len()) {
        Some(name) if is_program_name(name) && known(name) => format!("…/{name}"),
        _ => masked(text.len()),
    }
}

fn shown_long_option(text: &str, known: &dyn Fn(&str) -> bool) -> String {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    let bare = name.trim_start_matches('-');
    let shaped = name.len() <= OPTION_BYTES_MAX
        && bare.starts_with(|first: char| first.is_ascii_lowercase())
        && bare.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    let listed = COMMON_OPTIONS.binary_search(&bare).is_ok() || known(name);
    match value {
        _ if text == "--" => text.to_owned(),
        _ if !(shaped && listed) => masked(text.len()),
        None => name.to_owned(),
        Some(value) => format!("{name}={}", masked(value.len())),
    }
}

/// An option of one letter, with what is glued to it hidden, or a short cluster of letters.
fn shown_short_option(letters: &str) -> String {
    let mut rest = letters.chars();
    match rest.next() {
        None => "-".to_owned(),
        Some(first) if !first.is_ascii_alphanumeric() => masked(letters.len().saturating_add(1)),
        Some(first) => {
            let cluster = letters.len() <= CLUSTER_LETTERS_MAX
                && letters.bytes().all(|letter| letter.is_ascii_alphabetic());
            let value = rest.as_str();
            if cluster || value.is_empty() {
                format!("-{letters}")
            } else {
                format!("-{first}{}", masked(value.len()))
            }
        }
    }
}

fn base_name(path: &OsStr) -> Option<&str> {
    path.to_str()?.rsplit('/').next()
}

fn is_program_name(name: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._+-".contains(&b))
}

fn masked(bytes: usize) -> String {
    format!("…({bytes})")
}

/// The text with all that a terminal could take for a command made visible, and a space too: it
/// would be taken for the end of the word. Letters there are that nobody sees (U+3164).
fn escaped(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        match c {
            '\\' => out.push_str("\\\\"),
            c if c.is_ascii_graphic() || (c.is_alphanumeric() && !is_hidden(c)) => out.push(c),
            c => out.extend(c.escape_unicode()),
        }
        out
    })
}

/// Long options that many programs share, sorted. Only what is listed is shown, because `--word`
/// may be a secret in the wrong place.
#[rustfmt::skip]
const COMMON_OPTIONS: &[&str] = &[
    "all", "all-features", "all-targets", "amend", "api-key", "append", "archive", "author", "auto",
    "background", "bare", "base", "body", "branch", "brief", "cached", "capture", "chdir", "check",
    "clean", "color", "colour", "columns", "command", "commit", "compress", "config", "context",
    "copy", "count", "create", "cwd", "data", "date", "debug", "delete", "depth", "description",
    "dest", "destination", "detach", "diff", "digest", "dir", "directory", "disable", "dry-run",
    "edit", "enable", "encoding", "env", "eval", "exclude", "exec", "exec-path", "expression",
    "extended-regexp", "extract", "features", "file", "files", "filter", "fixed-strings", "follow",
    "force", "force-with-lease", "format", "from", "full", "global", "graph", "group", "hard",
    "header", "headers", "help", "hidden", "host", "human-readable", "ignore", "ignore-case",
    "in-place", "include", "init", "inplace", "input", "insecure", "install", "interactive",
    "invert-match", "jobs", "json", "keep", "key", "keys", "label", "language", "lib", "limit",
    "line-number", "lines", "link", "list", "local", "location", "locked", "log-level", "long",
    "manifest-path", "max-count", "max-depth", "max-time", "message", "method", "mode", "model",
    "move", "name", "name-only", "name-status", "names", "no-cache", "no-commit", "no-edit",
    "no-fail-fast", "no-index", "no-pager", "no-verify", "null", "number", "offline", "oneline",
    "only", "open", "option", "options", "origin", "out", "output", "output-dir", "overwrite",
    "owner", "package", "parallel", "parents", "password", "patch", "path", "pattern",
    "perl-regexp", "permissions", "porcelain", "port", "prefix", "preserve", "pretty", "print",
    "profile", "progress", "project", "prompt", "proxy", "prune", "pull", "push", "quiet", "raw",
    "read-only", "rebase", "recursive", "ref", "reference", "regexp", "release", "remote", "remove",
    "replace", "repo", "report", "request", "require", "reset", "resolve", "restart", "retry",
    "reverse", "root", "run", "save", "script", "secret", "select", "separator", "set", "shell",
    "short", "shortstat", "show", "show-error", "signoff", "silent", "since", "single-branch",
    "size", "skip", "soft", "sort", "source", "squash", "staged", "stat", "state", "stdin",
    "stdout", "stop", "strict", "strip", "sum", "summary", "symbolic", "tag", "tags", "target",
    "target-dir", "template", "test", "test-threads", "tests", "text", "threads", "time", "timeout",
    "to", "token", "tool", "touch", "trace", "track", "type", "unified", "unset", "unshallow",
    "until", "untracked-files", "update", "upgrade", "uri", "url", "user", "username", "utc",
    "verbose", "verify", "version", "volume", "wait", "watch", "width", "with", "without",
    "word-regexp", "workdir", "workspace", "write", "yes", "zero",
];
