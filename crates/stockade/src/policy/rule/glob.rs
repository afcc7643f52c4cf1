//! Texts with stars: `*` is any run of bytes.

/// A pattern, as the texts between its stars; one text if there is no star.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Glob {
    first: Vec<u8>,
    rest: Vec<Vec<u8>>,
}

impl Glob {
    /// Every `*` in this text is a star.
    pub(super) fn new(text: &str) -> Self {
        Self::of(text.split('*').map(|piece| piece.as_bytes().to_vec()))
    }

    /// The texts between stars.
    pub(super) fn of(pieces: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let mut pieces = pieces.into_iter();
        Self { first: pieces.next().unwrap_or_default(), rest: pieces.collect() }
    }

    /// What every text that matches begins with.
    pub(super) fn prefix(&self) -> &[u8] {
        &self.first
    }

    /// Whether there is no star.
    pub(super) fn is_exact(&self) -> bool {
        self.rest.is_empty()
    }

    /// Whether it matches any text at all.
    pub(super) fn is_any(&self) -> bool {
        self.first.is_empty() && !self.rest.is_empty() && self.rest.iter().all(Vec::is_empty)
    }

    /// Whether a whole text matches.
    pub(super) fn matches(&self, text: &[u8]) -> bool {
        let Some((last, middle)) = self.rest.split_last() else { return text == self.first };
        self.after_middle(text, middle).is_some_and(|rest| rest.ends_with(last))
    }

    /// Whether every text that the other matches is matched by this. Some are not seen to be.
    pub(super) fn covers(&self, other: &Self) -> bool {
        self.matches(&other.sample())
    }

    /// A text that this matches and that stands for all: a byte that no text has for each star, so
    /// that only a star can take it.
    pub(super) fn sample(&self) -> Vec<u8> {
        let pieces: Vec<&[u8]> =
            std::iter::once(&self.first).chain(&self.rest).map(Vec::as_slice).collect();
        pieces.join(&0xff)
    }

    /// The places in a text where a match of this pattern can end, each with the bytes behind it.
    pub(super) fn ends<'t>(&'t self, text: &'t [u8]) -> impl Iterator<Item = &'t [u8]> {
        let (last, middle) = match self.rest.split_last() {
            Some((last, middle)) => (Some(last.as_slice()), middle),
            None => (None, Default::default()),
        };
        let rest = self.after_middle(text, middle);
        let reach = match (rest, last) {
            (None, _) => 0,
            (Some(_), None) => 1,
            (Some(rest), Some(_)) => rest.len().saturating_add(1),
        };
        let behind = move |at: usize| rest?.get(at..)?.strip_prefix(last.unwrap_or_default());
        (0..reach).filter_map(behind)
    }

    /// What is left of a text behind the first piece and those in the middle, each of them as far
    /// to the left as can be, which leaves most to the others.
    fn after_middle<'t>(&self, text: &'t [u8], middle: &[Vec<u8>]) -> Option<&'t [u8]> {
        let mut rest = text.strip_prefix(self.first.as_slice())?;
        for piece in middle {
            let at = find(rest, piece)?;
            rest = rest.get(at..)?.strip_prefix(piece.as_slice())?;
        }
        Some(rest)
    }
}

fn find(text: &[u8], piece: &[u8]) -> Option<usize> {
    if piece.is_empty() {
        return Some(0);
    }
    text.windows(piece.len()).position(|window| window == piece)
}

#[cfg(test)]
mod tests {
    use super::Glob;

    #[test]
    fn a_star_is_any_run_and_nothing_else_is_special() {
        for (pattern, text, expected) in [
            ("a*c", "abc", true),
            ("a*c", "ac", true),
            ("a*c", "abd", false),
            ("a*a", "a", false),
            ("*", "", true),
            ("a", "ab", false),
            ("*b*d", "abcd", true),
            ("*bc*cd", "abcd", false),
            ("a?c", "abc", false),
            ("**x", "x", true),
        ] {
            assert_eq!(Glob::new(pattern).matches(text.as_bytes()), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_pattern_covers_what_it_matches_whatever_the_stars_are() {
        for (wide, narrow, expected) in [
            ("*", "a*", true),
            ("a*", "ab*", true),
            ("ab*", "a*", false),
            ("a*c", "ab*c", true),
            ("a", "a", true),
            ("a", "a*", false),
            ("*b*", "abc*", true),
        ] {
            assert_eq!(Glob::new(wide).covers(&Glob::new(narrow)), expected, "{wide} {narrow}");
        }
    }

    #[test]
    fn every_place_where_a_match_can_end_is_found() {
        let ends = |pattern: &str, text: &str| -> Vec<Vec<u8>> {
            Glob::new(pattern).ends(text.as_bytes()).map(<[u8]>::to_vec).collect()
        };
        assert_eq!(ends("ab", "abab"), [b"ab".to_vec()]);
        assert_eq!(ends("a*b", "abab"), [b"ab".to_vec(), b"".to_vec()]);
        assert_eq!(ends("x", "abab"), Vec::<Vec<u8>>::new());
    }
}
