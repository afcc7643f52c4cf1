//! Patterns with stars: the one walk behind all of them.

/// Whether a text fits a pattern, of which some signs are stars and the others each take one
/// letter. One point to come back to, so the time is bounded by the product of the lengths.
pub(crate) fn fits<P, T>(
    pattern: &[P],
    text: &[T],
    is_star: impl Fn(&P) -> bool,
    takes: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut at, mut read) = (0_usize, 0_usize);
    let mut star: Option<(usize, usize)> = None;
    while let Some(letter) = text.get(read) {
        match pattern.get(at) {
            Some(sign) if is_star(sign) => {
                star = Some((at, read));
                at = at.saturating_add(1);
            }
            Some(sign) if takes(sign, letter) => {
                at = at.saturating_add(1);
                read = read.saturating_add(1);
            }
            Some(_) | None => match star {
                Some((star_at, star_read)) => {
                    at = star_at.saturating_add(1);
                    read = star_read.saturating_add(1);
                    star = Some((star_at, read));
                }
                None => return false,
            },
        }
    }
    pattern.get(at..).is_none_or(|rest| rest.iter().all(is_star))
}
