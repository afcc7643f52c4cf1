//! Reads characters with their neighbours: what is hidden, but where a script or an emoji needs it.

use super::HiddenKind;
use super::class::{is_mark, kind_of};

/// Hebrew with vowels and accents, and Vietnamese taken apart, put up to four on a letter.
const MARKS_MAX: usize = 4;

/// The flags that are spelled with tags, as Unicode recommends them: England, Scotland, Wales. No
/// other is let through, so that no flag carries a message.
const TAG_FLAGS: [&str; 3] = [
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];

/// The characters of a line, each with where it stands and what it hides.
pub(super) struct LineChars<'a> {
    line: &'a str,
    at: usize,
    before: char,
    /// The base of an emoji, with what belongs to it, ends here.
    emoji: bool,
    /// The flag that is being read ends here.
    flag_end: usize,
    marks: usize,
}

impl<'a> LineChars<'a> {
    pub(super) fn new(line: &'a str) -> Self {
        Self { line, at: 0, before: ' ', emoji: false, flag_end: 0, marks: 0 }
    }

    /// Goes on behind a sequence; nothing before it joins what follows.
    pub(super) fn skip_to(&mut self, at: usize) {
        *self = Self { at, ..Self::new(self.line) };
    }

    /// Goes on behind plain ASCII, which hides nothing and joins nothing.
    pub(super) fn skip_plain(&mut self) {
        let plain = |byte: &u8| (0x20..0x7f).contains(byte) || *byte == b'\n' || *byte == b'\t';
        let length = self.rest().bytes().take_while(plain).count();
        let end = self.at.saturating_add(length);
        if let Some(last) = self.line.get(self.at..end).and_then(|text| text.chars().next_back()) {
            self.skip_to(end);
            self.before = last;
        }
    }

    fn rest(&self) -> &'a str {
        self.line.get(self.at..).unwrap_or_default()
    }

    fn judged(&mut self, c: char) -> Option<HiddenKind> {
        if is_mark(c) {
            self.marks = self.marks.saturating_add(1);
            self.emoji = false;
            return (self.marks > MARKS_MAX).then_some(HiddenKind::MarkFlood);
        }
        match kind_of(c) {
            None => {
                self.marks = 0;
                self.emoji = is_emoji(c) || (self.emoji && is_skin(c));
                if c == '\u{1f3f4}' {
                    self.flag_end = self.flag_ends();
                }
                None
            }
            Some(_) if self.is_needed(c) => None,
            hidden => {
                self.emoji = false;
                hidden
            }
        }
    }

    fn flag_ends(&self) -> usize {
        let from = self.at.saturating_sub('\u{1f3f4}'.len_utf8());
        let text = self.line.get(from..).unwrap_or_default();
        let flag = TAG_FLAGS.iter().find(|flag| text.starts_with(**flag));
        flag.map_or(0, |flag| from.saturating_add(flag.len()))
    }

    /// Whether a sequence that people write has the character here.
    fn is_needed(&self, c: char) -> bool {
        let after = self.rest().chars().next().unwrap_or(' ');
        match c {
            '\u{200d}' if self.emoji && is_emoji(after) => true,
            '\u{200c}' | '\u{200d}' => is_joining(self.before) && is_joining(after),
            '\u{200b}' => is_unspaced(self.before) && is_unspaced(after),
            '\u{fe0e}' | '\u{fe0f}' if is_emoji(self.before) => true,
            '\u{fe0f}' => is_key(self.before) && after == '\u{20e3}',
            '\u{fe00}'..='\u{fe02}' | '\u{e0100}'..='\u{e01ef}' => is_han(self.before),
            '\u{180b}'..='\u{180f}' => matches!(self.before, '\u{1820}'..='\u{18aa}'),
            '\u{e0020}'..='\u{e007f}' => self.at <= self.flag_end,
            _ => false,
        }
    }
}

impl Iterator for LineChars<'_> {
    type Item = (usize, char, Option<HiddenKind>);

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.at;
        let c = self.rest().chars().next()?;
        self.at = start.saturating_add(c.len_utf8());
        let kind = self.judged(c);
        self.before = c;
        Some((start, c, kind))
    }
}

/// Pictographs, by blocks. Too many here only lets a joiner stand between two visible signs.
fn is_emoji(c: char) -> bool {
    matches!(c,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
        | '\u{2194}'..='\u{21aa}' | '\u{231a}'..='\u{23ff}' | '\u{24c2}' | '\u{25aa}'..='\u{27bf}'
        | '\u{2934}' | '\u{2935}' | '\u{2b05}'..='\u{2b55}' | '\u{3030}' | '\u{303d}' | '\u{3297}'
        | '\u{3299}' | '\u{1f000}'..='\u{1f3fa}' | '\u{1f400}'..='\u{1faff}')
}

fn is_skin(c: char) -> bool {
    matches!(c, '\u{1f3fb}'..='\u{1f3ff}')
}

fn is_key(c: char) -> bool {
    c.is_ascii_digit() || c == '#' || c == '*'
}

/// Letters whose shape depends on joiners: Arabic and its kin, the scripts of India, Burmese,
/// Khmer, Mongolian.
fn is_joining(c: char) -> bool {
    matches!(c,
        '\u{620}'..='\u{6ff}' | '\u{710}'..='\u{7ff}' | '\u{840}'..='\u{8ff}'
        | '\u{900}'..='\u{dff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17b3}'
        | '\u{17b6}'..='\u{17dd}' | '\u{1820}'..='\u{18aa}' | '\u{fb50}'..='\u{fdcf}'
        | '\u{fe70}'..='\u{fefc}')
}

/// Letters of scripts that write no spaces and mark where a line may break: Thai, Lao, Burmese,
/// Khmer.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{e01}'..='\u{e4e}' | '\u{e81}'..='\u{ece}' | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17b3}' | '\u{17b6}'..='\u{17dd}')
}

fn is_han(c: char) -> bool {
    matches!(c,
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}
