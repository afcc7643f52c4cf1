//! Patterns of the data files: `*` is any run of bytes, `?` is one byte.

/// A pattern.
#[derive(Debug, Clone)]
pub(super) struct Glob(String);

impl Glob {
    pub(super) fn new(pattern: &str) -> Self {
        Self(pattern.to_owned())
    }

    pub(super) fn all(patterns: &[String]) -> Vec<Self> {
        patterns.iter().map(|pattern| Self::new(pattern)).collect()
    }

    /// Whether a dangerous word matches: upper and lower case are the same.
    pub(super) fn covers(&self, text: &[u8]) -> bool {
        matches(self.0.as_bytes(), text, |pattern, byte| pattern.eq_ignore_ascii_case(&byte))
    }

    /// Whether an exempt word matches: to the letter, and never over a line end.
    pub(super) fn fits(&self, text: &[u8]) -> bool {
        fits(&self.0, text)
    }
}

/// Whether a text matches a pattern to the letter, and has no line end.
pub(super) fn fits(pattern: &str, text: &[u8]) -> bool {
    !text.contains(&b'\n') && matches(pattern.as_bytes(), text, |pattern, byte| pattern == byte)
}

/// Walks both with one point to come back to, so the time is bounded by the product of the
/// lengths.
fn matches(pattern: &[u8], text: &[u8], same: impl Fn(u8, u8) -> bool) -> bool {
    let (mut at, mut read) = (0_usize, 0_usize);
    let mut star: Option<(usize, usize)> = None;
    while let Some(&byte) = text.get(read) {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, read));
                at = at.saturating_add(1);
            }
            Some(&wanted) if wanted == b'?' || same(wanted, byte) => {
                at = at.saturating_add(1);
                read = read.saturating_add(1);
            }
            _ => match star {
                Some((star_at, star_read)) => {
                    at = star_at.saturating_add(1);
                    read = star_read.saturating_add(1);
                    star = Some((star_at, read));
                }
                None => return false,
            },
        }
    }
    pattern.get(at..).is_none_or(|rest| rest.iter().all(|&byte| byte == b'*'))
}
