//! The command line of a rule: words and stars, and assignments before them.
//!
//! Words are compared without their quotes, with a zero byte between them, which no argument has:
//! so `rm a b` is two arguments and `rm 'a b'` is one, in a rule as in a command.

use super::error::RuleError;
use super::facts::{AssignmentFacts, CommandFacts, WordFacts};
use super::glob::Glob;

/// Between two words.
pub(super) const BETWEEN: u8 = 0;
/// Words that are not known. No text has this byte, because it is in no UTF-8.
pub(super) const UNKNOWN: u8 = 0xff;

/// A pattern of command lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LinePattern {
    assignments: Vec<(String, Glob)>,
    glob: Glob,
    /// Whether it ends in ` *` or `:*`: more words may follow, or none.
    open: bool,
}

/// What is done with a quote that is not closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stray {
    /// It is left out, so that a rule that refuses still meets the words.
    Dropped,
    /// It is a letter, so that a rule that allows meets nothing by mistake.
    Kept,
}

impl LinePattern {
    /// Reads the text between the parentheses.
    pub(super) fn parse(text: &str, stray: Stray) -> Result<Self, RuleError> {
        if let Some(at) = text.find('\0') {
            return Err(RuleError::new(at, "no command has a zero byte in it"));
        }
        let mut tokens = tokens(text, stray);
        let assignments = assignments(&mut tokens);
        let mut pieces: Vec<Vec<u8>> = vec![Vec::new()];
        for token in tokens {
            match (token, pieces.last_mut()) {
                (Token::Byte(byte), Some(piece)) => piece.push(byte),
                (Token::Byte(_) | Token::Star, _) => pieces.push(Vec::new()),
            }
        }
        let open = opened(&mut pieces);
        let glob = Glob::of(pieces);
        if open && glob.is_exact() && glob.prefix().is_empty() && assignments.is_empty() {
            return Err(RuleError::new(0, "there is no command before the star")
                .suggest("leave the parentheses out to mean every command"));
        }
        Ok(Self { assignments, glob, open })
    }

    /// What every line that matches begins with.
    pub(super) fn prefix(&self) -> &[u8] {
        self.glob.prefix()
    }

    /// Whether only one command line matches.
    pub(super) fn is_exact(&self) -> bool {
        self.glob.is_exact() && !self.open
    }

    /// Whether the words of a command match.
    pub(super) fn matches(&self, line: &[u8]) -> bool {
        if !self.open {
            return self.glob.matches(line);
        }
        self.glob.ends(line).any(|rest| match rest {
            // Only the star at the end may take what is not known: it might be nothing at all.
            [] => self.glob.is_exact() || !line.ends_with(&[UNKNOWN]),
            [first, ..] => *first == BETWEEN,
        })
    }

    /// Whether the words could match once more words have come behind these.
    pub(super) fn could_match(&self, known: &[u8]) -> bool {
        let prefix = self.prefix();
        let comes = prefix
            .strip_prefix(known)
            .is_some_and(|rest| rest.first().is_none_or(|byte| *byte == BETWEEN));
        if self.glob.is_exact() {
            comes || (self.open && self.matches(known))
        } else {
            comes || known.starts_with(prefix)
        }
    }

    /// Whether this refuses every line that the other matches. Some are not seen to be.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let line = other.glob.sample();
        let longer = || [line.as_slice(), &[BETWEEN, UNKNOWN]].concat();
        self.assignments.is_empty()
            && self.matches(&line)
            && (!other.open || self.matches(&longer()))
    }

    /// Whether the assignments that this pattern asks for are there.
    pub(super) fn finds(&self, assignments: &[AssignmentFacts]) -> bool {
        self.assignments.iter().all(|(name, value)| {
            assignments.iter().any(|given| given.name == *name && takes(value, given))
        })
    }

    /// Whether an assignment is one that this pattern asks for.
    pub(super) fn names(&self, given: &AssignmentFacts) -> bool {
        self.assignments.iter().any(|(name, value)| given.name == *name && takes(value, given))
    }
}

fn takes(value: &Glob, given: &AssignmentFacts) -> bool {
    match &given.value {
        Some(text) => value.matches(text.as_encoded_bytes()),
        None => value.is_any(),
    }
}

/// The lines that a rule that refuses looks for a command under: as written, with the words inside
/// quotes as words, with the program by its name alone, and in its other spellings.
pub(super) fn wide_lines(command: &CommandFacts) -> Vec<Vec<u8>> {
    let spellings = std::iter::once(&command.words).chain(&command.spellings);
    let mut lines = Vec::new();
    for words in spellings {
        let line = joined(words);
        let mut seen = vec![line];
        let is_space = |byte: &u8| byte.is_ascii_whitespace();
        if let Some(line) = seen.first().filter(|line| line.iter().any(is_space)) {
            let parts = line.split(|byte| is_space(byte) || *byte == BETWEEN);
            let parts: Vec<&[u8]> = parts.filter(|part| !part.is_empty()).collect();
            seen.push(parts.join(&BETWEEN));
        }
        for line in seen {
            lines.extend(by_name(&line));
            lines.push(line);
        }
    }
    lines
}

/// The line with the program's folder taken off, if it has one.
fn by_name(line: &[u8]) -> Option<Vec<u8>> {
    let program = line.split(|byte| *byte == BETWEEN).next()?;
    let slash = program.iter().rposition(|byte| *byte == b'/')?;
    line.get(slash.saturating_add(1)..).map(<[u8]>::to_vec)
}

fn joined(words: &[WordFacts]) -> Vec<u8> {
    let texts: Vec<&[u8]> = words.iter().map(|word| word.text.as_encoded_bytes()).collect();
    texts.join(&BETWEEN)
}

/// The line that a rule that allows looks at: up to the first word that is not known, and then a
/// mark that only a star at the end takes. None if not even the program is known.
pub(super) fn narrow_line(command: &CommandFacts) -> Option<Vec<u8>> {
    let odd = |word: &WordFacts| word.text.as_encoded_bytes().contains(&BETWEEN);
    if command.dynamic || command.words.iter().any(odd) {
        return None;
    }
    let known = known_line(&command.words);
    if command.words.first().is_some_and(|word| !word.known) {
        return None;
    }
    let mut line = known;
    if command.words.iter().any(|word| !word.known) {
        line.extend([BETWEEN, UNKNOWN]);
    }
    Some(line)
}

/// What is known of a command before the first word that is not, in all of its spellings; nothing
/// if all of it is known.
pub(super) fn known_beginnings(command: &CommandFacts) -> Vec<Vec<u8>> {
    let spellings = std::iter::once(&command.words).chain(&command.spellings);
    let open = spellings.filter(|words| words.iter().any(|word| !word.known));
    let lines = open.map(|words| known_line(words));
    lines.flat_map(|line| by_name(&line).into_iter().chain([line])).collect()
}

/// The words before the first that is not known.
fn known_line(words: &[WordFacts]) -> Vec<u8> {
    let count = words.iter().take_while(|word| word.known).count();
    joined(words.get(..count).unwrap_or_default())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Byte(u8),
    Star,
}

/// The bytes and stars of a pattern without its quotes, one zero byte between two words.
fn tokens(text: &str, stray: Stray) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut quote: Option<char> = None;
    let mut space = false;
    let mut letters = text.trim().chars();
    let mut put = |letter: char, space: &mut bool, star: bool| {
        if std::mem::take(space) {
            tokens.push(Token::Byte(BETWEEN));
        }
        if !star {
            let mut bytes = [0; 4];
            tokens.extend(letter.encode_utf8(&mut bytes).bytes().map(Token::Byte));
        } else if tokens.last() != Some(&Token::Star) {
            tokens.push(Token::Star);
        }
    };
    while let Some(letter) = letters.next() {
        let closes = |mark: char| letters.as_str().contains(mark);
        match (letter, quote) {
            (mark, Some(open)) if mark == open => quote = None,
            ('\'' | '"', None) if closes(letter) => {
                quote = Some(letter);
                // An empty word is a word too.
                if std::mem::take(&mut space) {
                    put('\0', &mut false, false);
                }
            }
            ('\'' | '"', None) if stray == Stray::Dropped => {}
            ('\\', None | Some('"')) => {
                let next = letters.next().unwrap_or('\\');
                if quote.is_some() && !['"', '\\', '$', '`', '*'].contains(&next) {
                    put('\\', &mut space, false);
                }
                put(next, &mut space, false);
            }
            ('*', _) => put('*', &mut space, true),
            (blank, None) if blank.is_whitespace() => space = true,
            _ => put(letter, &mut space, false),
        }
    }
    tokens
}

/// Takes the assignments off the front. A star behind the last of them, if nothing follows, means
/// any command.
fn assignments(tokens: &mut Vec<Token>) -> Vec<(String, Glob)> {
    let mut found = Vec::new();
    loop {
        let end = tokens.iter().position(|token| *token == Token::Byte(BETWEEN));
        let word = tokens.get(..end.unwrap_or(tokens.len())).unwrap_or_default();
        let Some((name, value)) = assignment(word) else { return found };
        let starred = word.last() == Some(&Token::Star);
        found.push((name, value));
        match end {
            Some(at) => drop(tokens.drain(..=at)),
            None => {
                *tokens = if starred { vec![Token::Star] } else { Vec::new() };
                return found;
            }
        }
    }
}

fn assignment(word: &[Token]) -> Option<(String, Glob)> {
    let equals = word.iter().position(|token| *token == Token::Byte(b'='))?;
    let letter = |token: &Token| match token {
        Token::Byte(byte) if byte.is_ascii_alphanumeric() || *byte == b'_' => {
            Some(char::from(*byte))
        }
        Token::Byte(_) | Token::Star => None,
    };
    let name: String = word.get(..equals)?.iter().map(letter).collect::<Option<_>>()?;
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let mut pieces = vec![Vec::new()];
    for token in word.get(equals.saturating_add(1)..)? {
        match (token, pieces.last_mut()) {
            (Token::Byte(byte), Some(piece)) => piece.push(*byte),
            (Token::Byte(_) | Token::Star, _) => pieces.push(Vec::new()),
        }
    }
    Some((name, Glob::of(pieces)))
}

/// Takes ` *` or `:*` off the end.
fn opened(pieces: &mut Vec<Vec<u8>>) -> bool {
    let [.., before, last] = pieces.as_mut_slice() else { return false };
    let is_open = last.is_empty() && matches!(before.last(), Some(&(BETWEEN | b':')));
    if is_open {
        before.pop();
        // A colon by itself, behind a space, is no word.
        before.pop_if(|byte| *byte == BETWEEN);
        pieces.pop();
    }
    is_open
}
