//! Finds what a person does not see in a line, or sees wrongly, and shows it.
//!
//! Facts about text alone: no grammar is asked, so that a line no parser takes is still looked at.
//! Whether a no-break space matters within quotes is for those who know where the quotes are.

mod class;
mod confusable;
mod escape;
mod far;
mod joined;
mod lookalike;
mod shown;
#[cfg(test)]
mod tests;

use joined::LineChars;

use super::ast::Span;

pub use lookalike::{Lookalike, LookalikeKind, lookalike};
pub use shown::{VisiblePiece, pieces, shown};

/// The most that is listed. A line with more is described no better by more of it; the rest is one
/// [`HiddenKind::More`], so that nothing after it passes for looked at.
pub const HIDDEN_MAX: usize = 256;

/// A part of a line that is not seen, or that hides another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenText {
    /// Where it stands; whole characters.
    pub span: Span,
    /// What sort.
    pub kind: HiddenKind,
    /// What it is and does, in words; completes "the line has ".
    pub text: String,
}

/// The sorts of hidden text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum HiddenKind {
    /// U+0000, where many programs take the text to end.
    Nul,
    /// A carriage return, alone or before a newline: what follows is written over what was there,
    /// and the shell takes it for a part of the word.
    CarriageReturn,
    /// Any other control character but tab and newline.
    Control,
    /// A sequence that drives a terminal, as a whole: `ESC [ 2 K`.
    Escape,
    /// Vertical tab, form feed, U+0085, U+2028, U+2029: a new line for the eye, none for the shell.
    LineBreak,
    /// A space that separates words for the eye and not for the shell: U+00A0, U+3000.
    Space,
    /// An override, embedding, isolate or mark that reorders the text around it.
    Bidi,
    /// A character without width, where no script and no emoji needs it.
    ZeroWidth,
    /// Another character that is not drawn: fillers, variation selectors without a base.
    Ignorable,
    /// A tag character, U+E0000 and on, which spells ASCII that nobody sees.
    Tag,
    /// More marks on one letter than any script stacks: they cover the lines around.
    MarkFlood,
    /// So many blanks or empty lines that the text after them is out of sight.
    FarText,
    /// The end of a line that is longer than a screen, with shell operators in it.
    LongLine,
    /// The rest of a line in which more than [`HIDDEN_MAX`] things are hidden.
    More,
}

/// What is hidden in a line, in the order of where it begins; nothing for ordinary text of any
/// script. A void may lie in a sequence, and anything in the end of a long line.
///
/// ```
/// use stockade_shell::invisible::{HiddenKind, hidden};
///
/// assert!(hidden("git commit -m 'größer 👩‍💻'").is_empty());
/// let found = hidden("ls \u{202e}txt.sr");
/// assert_eq!(found.first().map(|one| (one.kind, one.span.start)), Some((HiddenKind::Bidi, 3)));
/// ```
pub fn hidden(line: &str) -> Vec<HiddenText> {
    let mut found = if class::is_plain(line) { Vec::new() } else { unseen(line) };
    found.extend(far::out_of_sight(line));
    found.sort_by_key(|one| (one.span.start, one.kind));
    // Each source is cut only after more than are listed, so what was never seen is behind this.
    if let Some(start) = found.get(HIDDEN_MAX).map(|first| first.span.start) {
        found.truncate(HIDDEN_MAX);
        let text = format!("more than {HIDDEN_MAX} things that are not seen");
        let span = Span { start, end: line.len() };
        found.push(HiddenText { span, kind: HiddenKind::More, text });
    }
    found
}

/// Whether the character is never seen, or taken for another, wherever it stands but in a few
/// sequences: for texts of one word, where these need no care.
pub fn is_hidden(c: char) -> bool {
    class::kind_of(c).is_some()
}

/// Characters and sequences, up to one more than are listed; neighbours of one kind are one.
fn unseen(line: &str) -> Vec<HiddenText> {
    let mut runs: Vec<Run> = Vec::new();
    let mut reader = LineChars::new(line);
    loop {
        reader.skip_plain();
        let Some((start, c, kind)) = reader.next() else { break };
        let Some(kind) = kind else { continue };
        let rest = line.get(start..).unwrap_or_default();
        if let Some(length) = escape::length(rest) {
            let end = start.saturating_add(length);
            reader.skip_to(end);
            runs.push(Run {
                span: Span { start, end },
                kind: HiddenKind::Escape,
                first: c,
                count: 1,
            });
        } else {
            let end = start.saturating_add(c.len_utf8());
            match runs.last_mut() {
                Some(last) if last.kind == kind && last.span.end == start => {
                    last.span.end = end;
                    last.count = last.count.saturating_add(1);
                }
                _ => runs.push(Run { span: Span { start, end }, kind, first: c, count: 1 }),
            }
        }
        if runs.len() > HIDDEN_MAX {
            break;
        }
    }
    runs.into_iter().map(Run::described).collect()
}

/// Neighbours of one kind.
struct Run {
    span: Span,
    kind: HiddenKind,
    first: char,
    count: usize,
}

impl Run {
    fn described(self) -> HiddenText {
        let Self { span, kind, first, count } = self;
        let many = if count > 1 { format!("{count} characters from ") } else { String::new() };
        let text = format!("{many}U+{:04X}, {}", u32::from(first), kind.what_it_does());
        HiddenText { span, kind, text }
    }
}

impl HiddenKind {
    /// The short name, for reports and rules.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nul => "nul",
            Self::CarriageReturn => "carriage-return",
            Self::Control => "control",
            Self::Escape => "escape",
            Self::LineBreak => "line-break",
            Self::Space => "space",
            Self::Bidi => "bidi",
            Self::ZeroWidth => "zero-width",
            Self::Ignorable => "ignorable",
            Self::Tag => "tag",
            Self::MarkFlood => "mark-flood",
            Self::FarText => "far-text",
            Self::LongLine => "long-line",
            Self::More => "more",
        }
    }

    fn what_it_does(self) -> &'static str {
        match self {
            Self::Nul => "where many programs take the text to end",
            Self::CarriageReturn => "after which text is written over what was shown",
            Self::Control => "a control character",
            Self::Escape => "which begins a sequence that drives the terminal",
            Self::LineBreak => "which looks like the end of a line and is none for the shell",
            Self::Space => "which looks like a space and separates nothing for the shell",
            Self::Bidi => "which changes the order in which text is shown",
            Self::ZeroWidth => "which has no width",
            Self::Ignorable => "which is not drawn",
            Self::Tag => "a tag, which spells text that is not drawn",
            Self::MarkFlood => "one of more marks on a letter than any script has",
            Self::FarText => "blank, with text out of sight after it",
            Self::LongLine => "the end of a line longer than a screen",
            Self::More => "and more",
        }
    }
}
