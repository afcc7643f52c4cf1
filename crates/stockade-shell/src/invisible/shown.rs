//! A line for the eyes of a person: whole, with nothing hidden.

use std::borrow::Cow;

use super::class;
use super::far::{self, Gap};
use super::joined::LineChars;

/// The whole line with all that [`super::hidden`] finds made visible: characters as `\u{202e}`,
/// voids as `⟨120 columns of blanks⟩`.
///
/// Newlines and tabs stay. The escapes are in no form that a shell knows, so that an escape
/// which the line itself spells (`\r`) is never taken for one of these. Only a long line
/// ([`super::HiddenKind::LongLine`]) is still long; `\u{202e}` spelled out in the line looks the same.
///
/// ```
/// assert_eq!(stockade_shell::invisible::shown("ls\u{a0}\u{1b}[2K größer"), "ls\\u{a0}\\u{1b}[2K größer");
/// ```
pub fn shown(line: &str) -> String {
    if class::is_plain(line) && far::gaps(line).next().is_none() {
        return line.to_owned();
    }
    let mut whole = String::with_capacity(line.len());
    for piece in pieces(line) {
        whole.push_str(&piece.text);
    }
    whole
}

/// A piece of a line, and what is shown for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisiblePiece<'a> {
    /// Where the piece begins in the line; it ends where the next begins.
    pub start: usize,
    /// The piece itself, or what is shown for it.
    pub text: Cow<'a, str>,
}

/// The pieces that [`shown`] is made of: a character each, or a void as a whole.
pub fn pieces(line: &str) -> impl Iterator<Item = VisiblePiece<'_>> {
    let mut gaps = far::gaps(line).peekable();
    let mut reader = LineChars::new(line);
    std::iter::from_fn(move || {
        let (start, c, kind) = reader.next()?;
        if let Some(gap) = gaps.next_if(|gap| gap.span.start == start) {
            reader.skip_to(gap.span.end);
            return Some(VisiblePiece { start, text: Cow::Owned(void(&gap)) });
        }
        let end = start.saturating_add(c.len_utf8());
        let text = match kind {
            None => Cow::Borrowed(line.get(start..end).unwrap_or_default()),
            Some(_) => Cow::Owned(c.escape_unicode().to_string()),
        };
        Some(VisiblePiece { start, text })
    })
}

fn void(gap: &Gap) -> String {
    let end = if gap.ends_line() { "\n" } else { "" };
    format!("⟨{}⟩{end}", gap.text())
}
