//! The command line of a rule: words and stars, and assignments before them.
//!
//! Words are compared without their quotes, with a zero byte between them, which no argument has:
//! so `rm a b` is two arguments and `rm 'a b'` is one, in a rule as in a command.

use stockade_shell::pattern::{Pattern, Sign};

use super::error::RuleError;
use super::facts::{AssignmentFacts, CommandFacts, WordFacts};

/// Between two words.
pub(super) const BETWEEN: u8 = 0;
const BETWEEN_WORDS: char = '\0';
/// Words that are not known. No text has this byte, because it is in no UTF-8.
pub(super) const UNKNOWN: u8 = 0xff;

/// A pattern of command lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LinePattern {
    assignments: Vec<(String, Pattern)>,
    words: Pattern,
    /// The same with any words behind it, if it ends in ` *` or `:*`: more words may follow, or none.
    longer: Option<Pattern>,
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
        let longer = opened(&mut tokens).then(|| {
            let more = [Sign::from(BETWEEN_WORDS), Sign::STAR];
            Pattern::of(&[tokens.as_slice(), &more].concat())
        });
        if longer.is_some() && tokens.is_empty() && assignments.is_empty() {
            return Err(RuleError::new(0, "there is no command before the star")
                .suggest("leave the parentheses out to mean every command"));
        }
        Ok(Self { assignments, words: Pattern::of(&tokens), longer })
    }

    /// Whether only one command line matches.
    pub(super) fn is_exact(&self) -> bool {
        self.words.is_literal() && self.longer.is_none()
    }

    /// Whether the words of a command match.
    pub(super) fn matches(&self, line: &[u8]) -> bool {
        let Some(longer) = &self.longer else { return self.words.matches(line) };
        // Only the star at the end may take what is not known: it might be nothing at all.
        let may_be_nothing = || self.words.is_literal() || !line.ends_with(&[UNKNOWN]);
        longer.matches(line) || (self.words.matches(line) && may_be_nothing())
    }

    /// Whether the words could match once more words have come behind these.
    pub(super) fn could_match(&self, known: &[u8]) -> bool {
        let prefix = self.words.prefix();
        let comes = prefix
            .strip_prefix(known)
            .is_some_and(|rest| rest.first().is_none_or(|byte| *byte == BETWEEN));
        if self.words.is_literal() {
            comes || (self.longer.is_some() && self.matches(known))
        } else {
            comes || known.starts_with(prefix)
        }
    }

    /// Whether this refuses every line that the other matches. Some are not seen to be.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let line = other.words.sample();
        let longer = || [line.as_slice(), &[BETWEEN, UNKNOWN]].concat();
        self.assignments.is_empty()
            && self.matches(&line)
            && (other.longer.is_none() || self.matches(&longer()))
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

fn takes(value: &Pattern, given: &AssignmentFacts) -> bool {
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

/// The signs of a pattern without its quotes, one zero byte between two words.
fn tokens(text: &str, stray: Stray) -> Vec<Sign> {
    let mut tokens: Vec<Sign> = Vec::new();
    let mut quote: Option<char> = None;
    let mut space = false;
    let mut letters = text.trim().chars();
    let mut put = |letter: char, space: &mut bool, star: bool| {
        if std::mem::take(space) {
            tokens.push(BETWEEN_WORDS.into());
        }
        if !star {
            tokens.push(letter.into());
        } else if tokens.last() != Some(&Sign::STAR) {
            tokens.push(Sign::STAR);
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
fn assignments(tokens: &mut Vec<Sign>) -> Vec<(String, Pattern)> {
    let mut found = Vec::new();
    loop {
        let end = tokens.iter().position(|token| *token == Sign::from(BETWEEN_WORDS));
        let word = tokens.get(..end.unwrap_or(tokens.len())).unwrap_or_default();
        let Some((name, value)) = assignment(word) else { return found };
        let starred = word.last() == Some(&Sign::STAR);
        found.push((name, value));
        match end {
            Some(at) => drop(tokens.drain(..=at)),
            None => {
                *tokens = if starred { vec![Sign::STAR] } else { Vec::new() };
                return found;
            }
        }
    }
}

fn assignment(word: &[Sign]) -> Option<(String, Pattern)> {
    let equals = word.iter().position(|token| *token == Sign::from('='))?;
    let (name, value) = word.split_at_checked(equals)?;
    let letter = |token: &Sign| {
        token.character().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '_')
    };
    let name: String = name.iter().map(letter).collect::<Option<_>>()?;
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    Some((name, Pattern::of(value.get(1..)?)))
}

/// Takes ` *` or `:*` off the end.
fn opened(tokens: &mut Vec<Sign>) -> bool {
    let between = Sign::from(BETWEEN_WORDS);
    let [.., before, Sign::STAR] = tokens.as_slice() else { return false };
    let is_open = *before == between || *before == Sign::from(':');
    if is_open {
        tokens.truncate(tokens.len().saturating_sub(2));
        // A colon by itself, behind a space, is no word.
        tokens.pop_if(|last| *last == between);
    }
    is_open
}
