//! Reads words by a grammar into options and operands, each word once.

use super::analysis::Word;
use super::grammar::{Grammar, Name, OptionMeaning, Takes};
use super::schema::{Order, Plus, Values};

/// What was found in the words of one scope.
#[derive(Debug, Default)]
pub(super) struct ScopeScan<'s> {
    pub(super) flags: Vec<Flag<'s>>,
    /// Indexes of the words that are operands.
    pub(super) operands: Vec<usize>,
    /// The first option of which it is not known whether it takes the next word.
    pub(super) doubt: Option<usize>,
    /// A `-` that ended the options.
    pub(super) dash: Option<usize>,
    /// A word that no program would be given in earnest.
    pub(super) absurd: Option<usize>,
}

/// More letters than this in one cluster are not read.
const CLUSTER_MAX: usize = 200;

/// One option, as it was written.
#[derive(Debug, Clone)]
pub(super) struct Flag<'s> {
    form: Spelling<'s>,
    /// The spelling is the whole name of a declared option.
    whole: bool,
    /// The word that it is written in.
    pub(super) word: usize,
    pub(super) value: Option<Value<'s>>,
    /// The words of the command that follows it.
    pub(super) command: Option<(usize, usize)>,
}

/// The value of an option.
#[derive(Debug, Clone, Copy)]
pub(super) struct Value<'s> {
    pub(super) bytes: &'s [u8],
    pub(super) word: usize,
    /// Where it begins in that word; zero is a word of its own.
    pub(super) offset: usize,
}

#[derive(Debug, Clone, Copy)]
enum Spelling<'s> {
    Short(u8),
    Long(&'s [u8]),
    Single(&'s [u8]),
    Plus,
}

impl ScopeScan<'_> {
    /// Whether the option is there, spelled in full.
    pub(super) fn has(&self, names: &[Name]) -> bool {
        self.flags.iter().any(|flag| names.iter().any(|name| flag.is_exactly(name)))
    }
}

impl Flag<'_> {
    /// Whether this may be the named option: a beginning of its name counts.
    pub(super) fn may_be(&self, name: &Name, grammar: &Grammar) -> bool {
        let cut = !self.whole && grammar.abbreviates();
        let fits = |full: &str, spelled: &[u8]| {
            full.as_bytes() == spelled
                || (cut && !spelled.is_empty() && full.as_bytes().starts_with(spelled))
        };
        match (name, self.form) {
            (Name::Long(full), Spelling::Long(spelled))
            | (Name::Single(full), Spelling::Single(spelled)) => fits(full, spelled),
            (name, _) => self.is_exactly(name),
        }
    }

    /// Whether this is the named option, spelled in full.
    pub(super) fn is_exactly(&self, name: &Name) -> bool {
        match (name, self.form) {
            (Name::Short(letter), Spelling::Short(spelled)) => *letter == spelled,
            (Name::Long(full), Spelling::Long(spelled))
            | (Name::Single(full), Spelling::Single(spelled)) => full.as_bytes() == spelled,
            (Name::Plus, Spelling::Plus) => true,
            _ => false,
        }
    }
}

/// Reads the words from index `from` on.
pub(super) fn scan<'s>(grammar: &Grammar, words: &'s [Word<'_>], from: usize) -> ScopeScan<'s> {
    let ended = grammar.order == Order::Nowhere;
    let mut scanner = Scanner { grammar, words, next: from, ended, seen: ScopeScan::default() };
    if ended && scanner.bytes(from) == Some(b"--") {
        scanner.next = from.saturating_add(1);
    }
    if grammar.values == Values::Bundled {
        scanner.bundle();
    }
    let mut doubted = None;
    while let Some(bytes) = scanner.bytes(scanner.next) {
        let at = scanner.next;
        scanner.next = at.saturating_add(1);
        // A `--` after an option of unknown shape may be its value, so it ends nothing.
        let doubtful = doubted.is_some_and(|word: usize| word.saturating_add(1) == at);
        let before = scanner.seen.flags.len();
        if bytes == b"--" && grammar.dashes_end_nothing {
            continue;
        }
        let ends = bytes == b"--" || (bytes == b"-" && grammar.dash_ends);
        if !scanner.ended && ends && !doubtful {
            scanner.ended = true;
            scanner.seen.dash = (bytes == b"-").then_some(at);
        } else if scanner.ended || !scanner.option(at, bytes, &mut doubted) {
            scanner.seen.operands.push(at);
            // The same holds for a first operand: options may still follow.
            let last = match grammar.order {
                Order::BeforeOperands => true,
                Order::BeforeSecond => scanner.seen.operands.len() > 1,
                Order::Anywhere | Order::Nowhere => false,
            };
            scanner.ended |= last && !doubtful;
        }
        scanner.ended |= scanner
            .seen
            .flags
            .get(before..)
            .unwrap_or_default()
            .iter()
            .any(|flag| grammar.ends_options(|name| flag.may_be(name, grammar)));
    }
    scanner.seen.doubt = scanner.seen.doubt.or(doubted);
    scanner.seen
}

struct Scanner<'g, 's, 'a> {
    grammar: &'g Grammar,
    words: &'s [Word<'a>],
    next: usize,
    ended: bool,
    seen: ScopeScan<'s>,
}

impl<'s> Scanner<'_, 's, '_> {
    fn bytes(&self, at: usize) -> Option<&'s [u8]> {
        self.words.get(at).map(Word::bytes)
    }

    /// Reads one word as an option; false if it is none.
    fn option(&mut self, at: usize, bytes: &'s [u8], doubted: &mut Option<usize>) -> bool {
        match bytes {
            [b'-', b'-', rest @ ..] if !rest.is_empty() => self.long(at, rest, doubted),
            [b'-', rest @ ..] if !rest.is_empty() && rest != b"-" => self.dash(at, rest, doubted),
            [b'+', rest @ ..] => match self.grammar.plus {
                Plus::Operand => return false,
                Plus::Command => {
                    let value = Some(Value { bytes: rest, word: at, offset: 1 });
                    self.push(Spelling::Plus, true, at, value);
                }
                Plus::Cluster => self.cluster(at, rest, doubted),
            },
            _ => return false,
        }
        true
    }

    fn long(&mut self, at: usize, rest: &'s [u8], doubted: &mut Option<usize>) {
        let (name, glued) = split_value(rest, at, 2);
        let single = self.grammar.single(name);
        match (self.grammar.long(name), single) {
            (Some(known), _) => self.named(Spelling::Long(name), known, at, glued),
            (None, Some(known)) => self.named(Spelling::Single(name), known, at, glued),
            (None, None) => {
                if glued.is_none() {
                    *doubted = Some(at);
                    self.seen.doubt.get_or_insert(at);
                }
                self.push(Spelling::Long(name), false, at, glued);
            }
        }
    }

    /// A word of one dash: an option of several letters, or a cluster.
    fn dash(&mut self, at: usize, rest: &'s [u8], doubted: &mut Option<usize>) {
        let (name, glued) = split_value(rest, at, 1);
        // One letter that is an option is not the beginning of a longer name.
        let letter = matches!(rest, &[letter] if self.grammar.short(letter).is_some());
        match self.grammar.single(name).filter(|known| known.whole || !letter) {
            Some(known) => self.named(Spelling::Single(name), known, at, glued),
            None if !self.grammar.clusters() => {
                if glued.is_none() {
                    *doubted = Some(at);
                    self.seen.doubt.get_or_insert(at);
                }
                self.push(Spelling::Single(name), false, at, glued);
            }
            None => self.cluster(at, rest, doubted),
        }
    }

    fn named(
        &mut self,
        form: Spelling<'s>,
        known: OptionMeaning,
        at: usize,
        glued: Option<Value<'s>>,
    ) {
        let flag = |value, command| Flag { form, whole: known.whole, word: at, value, command };
        let flag = match known.takes {
            Takes::Words(count) if glued.is_none() => {
                let value = self.take_word();
                self.next = self.next.saturating_add(count.saturating_sub(1));
                flag(value, None)
            }
            Takes::Words(count) => {
                self.next = self.next.saturating_add(count.saturating_sub(1));
                flag(glued, None)
            }
            Takes::Command | Takes::CommandOrPlus => {
                flag(None, Some(self.take_command(known.takes)))
            }
            Takes::Nothing | Takes::Glued | Takes::Digits => flag(glued, None),
        };
        self.seen.flags.push(flag);
    }

    /// A cluster of letters. One that begins with `+` turns options off, but `bash +c` runs code all
    /// the same, so that there is no difference here.
    fn cluster(&mut self, at: usize, letters: &'s [u8], doubted: &mut Option<usize>) {
        let next_word = self.grammar.values == Values::Next;
        let mut rest = letters;
        let mut sure = true;
        while let [letter, after @ ..] = rest {
            rest = after;
            let form = Spelling::Short(*letter);
            let offset = letters.len().saturating_sub(after.len()).saturating_add(1);
            let glued = Value { bytes: after, word: at, offset };
            let takes = self.grammar.short(*letter);
            if offset > CLUSTER_MAX {
                self.seen.absurd.get_or_insert(at);
                break;
            }
            sure &= takes.is_some();
            match takes {
                None | Some(Takes::Nothing) => self.push(form, takes.is_some(), at, None),
                Some(Takes::Digits) => {
                    rest = after_digits(after);
                    self.push(form, true, at, None);
                }
                Some(Takes::Words(_)) if next_word || after.is_empty() => {
                    let value = self.take_word();
                    self.push(form, true, at, value);
                }
                Some(Takes::Words(_)) => {
                    self.push(form, true, at, Some(glued));
                    rest = &[];
                }
                Some(Takes::Glued) => {
                    self.push(form, true, at, (!after.is_empty()).then_some(glued));
                    rest = &[];
                }
                Some(takes @ (Takes::Command | Takes::CommandOrPlus)) => {
                    let command = Some(self.take_command(takes));
                    let value = (!after.is_empty()).then_some(glued);
                    self.seen.flags.push(Flag { form, whole: true, word: at, value, command });
                    rest = &[];
                }
            }
        }
        if !sure {
            *doubted = Some(at);
            self.seen.doubt.get_or_insert(at);
        }
    }

    /// The first word of `tar xf FILE`: its values are the words that follow, in order.
    fn bundle(&mut self) {
        let at = self.next;
        let Some(letters) = self.bytes(at) else { return };
        if letters.is_empty() || letters.starts_with(b"-") {
            return;
        }
        self.next = at.saturating_add(1);
        for &letter in letters {
            let value = match self.grammar.short(letter) {
                Some(Takes::Words(_)) => self.take_word(),
                _ => None,
            };
            self.push(Spelling::Short(letter), true, at, value);
        }
    }

    fn push(&mut self, form: Spelling<'s>, whole: bool, word: usize, value: Option<Value<'s>>) {
        self.seen.flags.push(Flag { form, whole, word, value, command: None });
    }

    fn take_word(&mut self) -> Option<Value<'s>> {
        let word = self.next;
        let bytes = self.bytes(word)?;
        self.next = word.saturating_add(1);
        Some(Value { bytes, word, offset: 0 })
    }

    /// The words up to the end mark, which is taken too.
    fn take_command(&mut self, takes: Takes) -> (usize, usize) {
        let start = self.next;
        let mut end = start;
        let mut before: &[u8] = b"";
        while let Some(bytes) = self.bytes(end) {
            let plus = takes == Takes::CommandOrPlus && bytes == b"+" && before == b"{}";
            if plus || bytes == b";" {
                self.next = end.saturating_add(1);
                return (start, end);
            }
            before = bytes;
            end = end.saturating_add(1);
        }
        self.next = end;
        (start, end)
    }
}

/// Splits `name=value`.
fn split_value(rest: &[u8], word: usize, dashes: usize) -> (&[u8], Option<Value<'_>>) {
    match rest.iter().position(|&byte| byte == b'=') {
        Some(at) => {
            let value = rest.get(at.saturating_add(1)..).unwrap_or_default();
            let offset = at.saturating_add(dashes).saturating_add(1);
            (rest.get(..at).unwrap_or_default(), Some(Value { bytes: value, word, offset }))
        }
        None => (rest, None),
    }
}

fn after_digits(bytes: &[u8]) -> &[u8] {
    let count = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    bytes.get(count..).unwrap_or_default()
}
