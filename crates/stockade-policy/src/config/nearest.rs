//! The name that a misspelt one was probably meant to be.

/// The one of these that is at most two letters away, if there is one.
pub fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let lower = name.to_lowercase();
    known
        .into_iter()
        .map(|known| (distance(&known.to_lowercase(), &lower), known))
        .filter(|(distance, known)| *distance <= 2 && *distance < known.len())
        .min()
        .map(|(_, known)| known)
}

/// How many letters have to be put in, taken out or changed.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.chars().count()).collect();
    for (number, letter) in one.chars().enumerate() {
        let mut before = number;
        let mut left = number.saturating_add(1);
        let mut next = vec![left];
        for (place, wanted) in row.iter().skip(1).zip(other.chars()) {
            let change = before.saturating_add(usize::from(letter != wanted));
            left = change.min(place.saturating_add(1)).min(left.saturating_add(1));
            next.push(left);
            before = *place;
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}
