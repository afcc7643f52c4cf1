//! Where a byte of a text stands, as editors count it.

/// A line and a column, both from 1; the column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Spot {
    /// Where the byte at this offset stands; beyond the end, the end.
    pub(crate) fn of(text: &str, offset: usize) -> Self {
        let before = text.get(..text.floor_char_boundary(offset)).unwrap_or_default();
        let last = before.rsplit('\n').next().unwrap_or_default();
        Self { line: before.split('\n').count(), column: last.chars().count().saturating_add(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::Spot;

    #[test]
    fn lines_and_columns_begin_at_one() {
        let text = "ab\nüc\n";
        for (offset, line, column) in [(0, 1, 1), (2, 1, 3), (3, 2, 1), (5, 2, 2), (99, 3, 1)] {
            assert_eq!(Spot::of(text, offset), Spot { line, column }, "{offset}");
        }
    }
}
