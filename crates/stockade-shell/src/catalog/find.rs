//! The expression of `find`: which actions get files whose names no test narrows.

use super::analysis::Word;
use super::call::{Call, Part};
use super::narrowing::{Style, narrows};

/// Parentheses and negations in one another; deeper, every action counts as reached by any file.
const DEPTH_MAX: usize = 64;
/// Stands for the `-print` that an expression without an action has.
const IMPLIED: &str = "-print";
const ACTIONS: [&str; 14] = [
    "-delete", "-exec", "-execdir", "-ok", "-okdir", "-print", "-print0", "-printf", "-ls",
    "-fprint", "-fprint0", "-fprintf", "-fls", "-quit",
];
/// Options that hold for the whole search, and tests that are always true.
const TRUE: [&str; 9] = [
    "-true",
    "-prune",
    "-maxdepth",
    "-mindepth",
    "-depth",
    "-xdev",
    "-mount",
    "-follow",
    "-daystart",
];
/// Tests that few files pass, whatever their names are.
const FEW: [&str; 5] = ["-empty", "-samefile", "-inum", "-lname", "-ilname"];

/// Whether one of these actions gets files whose names no test narrows.
pub(super) fn reaches(call: &Call<'_, '_>, part: &Part<'_>, actions: &[String]) -> bool {
    let mut tokens: Vec<(usize, Token<'_>)> = Vec::new();
    for flag in &part.seen.flags {
        let name = call.words.get(flag.word).map(Word::bytes).unwrap_or_default();
        // Options of one dash may be written with two.
        let name = if name.starts_with(b"--") { name.get(1..).unwrap_or_default() } else { name };
        let name = str::from_utf8(name).unwrap_or_default();
        let is_known = |word: usize| call.words.get(word).is_some_and(Word::is_known);
        let value = flag.value.filter(|value| is_known(value.word)).map(|value| value.bytes);
        let token = match name {
            "-o" | "-or" => Token::Or,
            "-a" | "-and" => Token::And,
            "-not" => Token::Not,
            _ => Token::Test { name, value },
        };
        tokens.push((flag.word, token));
    }
    let mut folders = Vec::new();
    for (word, bytes) in part.operands(call) {
        let token = match bytes {
            b"(" => Token::Open,
            b")" => Token::Close,
            b"!" => Token::Not,
            b"," => Token::Comma,
            folder => {
                folders.push(folder.strip_suffix(b"/").unwrap_or(folder));
                continue;
            }
        };
        tokens.push((*word, token));
    }
    tokens.sort_by_key(|(word, _)| *word);
    let tokens = tokens.into_iter().map(|(_, token)| token).collect();
    let mut walk =
        Walk { tokens, at: 0, depth: 0, folders, reached: Vec::new(), acts: false, is_cut: false };
    let (passed, _) = walk.list(Some(Narrowing::No));
    if !walk.acts {
        walk.act(IMPLIED, passed);
    }
    let is_asked = |name: &&str| actions.iter().any(|action| action == name);
    // What is not read to its end may do anything.
    walk.is_cut || walk.at < walk.tokens.len() || walk.reached.iter().any(is_asked)
}

#[derive(Debug, Clone, Copy)]
enum Token<'t> {
    Open,
    Close,
    Not,
    And,
    Or,
    Comma,
    Test { name: &'t str, value: Option<&'t [u8]> },
}

/// Whether the files that get to a part of the expression have passed a test that narrows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Narrowing {
    No,
    Yes,
}

/// The files that get somewhere; `None` if none do.
type Files = Option<Narrowing>;

struct Walk<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
    depth: usize,
    folders: Vec<&'t [u8]>,
    /// Actions that files get to which no test narrows.
    reached: Vec<&'t str>,
    acts: bool,
    /// The expression is too deep, and the rest of it was not read.
    is_cut: bool,
}

impl<'t> Walk<'t> {
    /// `a , b`: returns the files for which it is true, and those for which it is false.
    fn list(&mut self, files: Files) -> (Files, Files) {
        let (mut passed, mut failed) = self.either(files);
        while matches!(self.peek(), Some(Token::Comma)) {
            self.at = self.at.saturating_add(1);
            (passed, failed) = self.either(join(passed, failed));
        }
        (passed, failed)
    }

    fn either(&mut self, files: Files) -> (Files, Files) {
        let (mut passed, mut failed) = self.both(files);
        while matches!(self.peek(), Some(Token::Or)) {
            self.at = self.at.saturating_add(1);
            let (more, rest) = self.both(failed);
            (passed, failed) = (join(passed, more), rest);
        }
        (passed, failed)
    }

    fn both(&mut self, files: Files) -> (Files, Files) {
        let (mut passed, mut failed) = (files, None);
        while let Some(token) = self.peek() {
            match token {
                Token::Or | Token::Comma | Token::Close => break,
                Token::And => self.at = self.at.saturating_add(1),
                Token::Open | Token::Not | Token::Test { .. } => {
                    let (more, less) = self.one(passed);
                    (passed, failed) = (more, join(failed, less));
                }
            }
        }
        (passed, failed)
    }

    fn one(&mut self, files: Files) -> (Files, Files) {
        let Some(token) = self.peek() else { return (files, files) };
        if self.depth >= DEPTH_MAX {
            self.is_cut = true;
            self.at = self.tokens.len();
            return (None, None);
        }
        self.at = self.at.saturating_add(1);
        self.depth = self.depth.saturating_add(1);
        let found = match token {
            Token::Not => {
                let (passed, failed) = self.one(files);
                (failed, passed)
            }
            Token::Open => {
                let found = self.list(files);
                self.at = self.at.saturating_add(1);
                found
            }
            Token::Test { name, value } => self.test(name, value, files),
            Token::Close | Token::And | Token::Or | Token::Comma => (files, files),
        };
        self.depth = self.depth.saturating_sub(1);
        found
    }

    fn test(&mut self, name: &'t str, value: Option<&[u8]>, files: Files) -> (Files, Files) {
        if ACTIONS.contains(&name) {
            self.acts |= name != "-quit";
            self.act(name, files);
            return (files, files);
        }
        let style = match name {
            "-name" | "-iname" => Some(Style::Name),
            "-path" | "-ipath" | "-wholename" | "-iwholename" => Some(Style::Path),
            "-regex" | "-iregex" => Some(Style::Regex),
            _ => None,
        };
        let is_narrow = match (style, value) {
            (Some(style), Some(value)) => narrows(style, value, &self.folders),
            (Some(_), None) => false,
            // Links hold nothing but a path.
            (None, Some(b"l")) if matches!(name, "-type" | "-xtype") => true,
            (None, _) => FEW.contains(&name),
        };
        // Whichever file of a history is picked, the history is lost with it; locks are not of it.
        let is_of_history =
            |folder: &&[u8]| folder.split(|byte| *byte == b'/').any(|one| one == b".git");
        let is_lock = value.is_some_and(|value| value.ends_with(b".lock"));
        let is_narrow = is_narrow && (is_lock || !self.folders.iter().any(is_of_history));
        let narrowed = files.map(|_| Narrowing::Yes);
        match name {
            "-false" => (None, files),
            name if TRUE.contains(&name) => (files, None),
            _ if is_narrow => (narrowed, files),
            _ => (files, files),
        }
    }

    fn act(&mut self, name: &'t str, files: Files) {
        if files == Some(Narrowing::No) {
            self.reached.push(name);
        }
    }

    fn peek(&self) -> Option<Token<'t>> {
        self.tokens.get(self.at).copied()
    }
}

/// Files from two sides have passed a test only if both have.
fn join(one: Files, other: Files) -> Files {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
