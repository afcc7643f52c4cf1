//! What was not looked at, in words: the first few by their names, and how many more.

use std::collections::BTreeMap;

use super::bounds::Bounds;
use crate::shell::{invisible, quoted};

/// Folders that are named.
const NAMED_MAX: usize = 5;
/// How much of a path is named.
const PATH_BYTES_MAX: usize = 200;

/// Why something was not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Why {
    /// There are too many names.
    Names,
    /// There are too many names of what tools fill.
    Bulk,
    /// There are too many new names.
    NewNames,
    /// The paths of what was changed are too long together.
    Bytes,
    /// The time was up.
    Time,
    /// It cannot be read.
    Unread,
    /// There is too much in the files to hash it.
    Unhashed,
}

/// What was not looked at.
#[derive(Debug, Default)]
pub(super) struct UnseenPlaces(BTreeMap<Why, NamedPlaces>);

#[derive(Debug, Default)]
struct NamedPlaces {
    first: Vec<String>,
    more: usize,
}

impl UnseenPlaces {
    pub(super) fn add(&mut self, why: Why, path: impl FnOnce() -> String) {
        let named = self.0.entry(why).or_default();
        if named.first.len() >= NAMED_MAX {
            named.more = named.more.saturating_add(1);
            return;
        }
        let path = legible(&path());
        if !named.first.contains(&path) {
            named.first.push(path);
        }
    }

    /// One line for each reason.
    pub(super) fn into_lines(self, bounds: Bounds) -> Vec<String> {
        let Bounds { names, bulk_names, new_names, .. } = bounds;
        let line = |(why, named): (Why, NamedPlaces)| {
            let before = match why {
                Why::Names => format!("not looked into, beyond {names} names"),
                Why::Bulk => {
                    let most = bulk_names.min(names);
                    format!("not looked into, beyond {most} names of what tools fill")
                }
                Why::NewNames => format!("not looked at, beyond {new_names} new names, in"),
                Why::Bytes => "not told, the paths are too long together, in".to_owned(),
                Why::Time => "not looked at, the time was up".to_owned(),
                Why::Unread => "could not be read".to_owned(),
                Why::Unhashed => "told without a hash, there is too much in them".to_owned(),
            };
            let more = match named.more {
                0 => String::new(),
                1 => " and one more".to_owned(),
                more => format!(" and {more} more"),
            };
            format!("{before}: {}{more}", named.first.join(", "))
        };
        self.0.into_iter().map(line).collect()
    }
}

/// A path for the eyes: not too long, nothing in it drives a terminal, and it ends where its quotes
/// do, so that no name can pass for a part of the line.
fn legible(path: &str) -> String {
    let shown = invisible::shown(path).replace('\n', "\\u{a}").replace('\t', "\\u{9}");
    match shown.get(..shown.floor_char_boundary(PATH_BYTES_MAX)) {
        Some(first) if first.len() < shown.len() => format!("{}…", quoted(first)),
        Some(_) | None => quoted(&shown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confine::ListedChanges;

    #[test]
    fn the_first_are_named_and_the_others_counted() {
        let mut unseen = UnseenPlaces::default();
        for number in 0..8 {
            unseen.add(Why::Unread, || format!("f{number}"));
        }
        unseen.add(Why::Time, || "a".to_owned());
        unseen.add(Why::Time, || "a".to_owned());
        let expected = [
            message!("{}: a" => "unseen.not-looked-time-up"),
            message!("{}: f0, f1, f2, f3, f4 and 3 more" => "unseen.could-not-read"),
        ];
        assert_eq!(unseen.into_lines(Bounds::of(ListedChanges::Bounded).unwrap()), expected);
    }

    #[test]
    fn names_are_inert_and_end_where_their_quotes_do() {
        for (name, shown) in [
            ("größe/a-b_c.d", "größe/a-b_c.d"),
            ("a, b and 3 more", "'a, b and 3 more'"),
            ("it's", r"'it'\''s'"),
            (
                message!("x\n{}: .git" => "unseen.could-not-read"),
                message!(r"'x\u{{a}}{}: .git'" => "unseen.could-not-read"),
            ),
            ("\u{1b}[2K\r\t\u{7f}\u{9b}31m", r"'\u{1b}[2K\u{d}\u{9}\u{7f}\u{9b}31m'"),
            ("a\u{202e}b\u{200b}\u{2028}c", r"'a\u{202e}b\u{200b}\u{2028}c'"),
        ] {
            let mut unseen = UnseenPlaces::default();
            unseen.add(Why::Unread, || name.to_owned());
            unseen.add(Why::Unread, || "other".to_owned());
            let expected = format!("{}: {shown}, other", message!("unseen.could-not-read"));
            assert_eq!(unseen.into_lines(Bounds::of(ListedChanges::Bounded).unwrap()), [expected]);
        }
        let long = legible(&"\u{1}".repeat(250));
        assert!(long.starts_with(r"'\u{1}\u{1}") && long.ends_with("'…"), "{long}");
        assert_eq!(long.len(), PATH_BYTES_MAX + "''…".len());
    }
}
