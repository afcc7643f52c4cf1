//! In which order folders are looked into: first those from which code may run, last those that
//! tools fill.

use crate::confine::PACKAGE_FOLDERS;
use crate::files::risky::named;

/// Folders that hold what was built or fetched besides packages, and can be made again.
const BULK: [&[u8]; 22] = [
    b"third_party",
    b"Pods",
    b"target",
    b"build",
    b"_build",
    b"dist",
    b"out",
    b"obj",
    b"DerivedData",
    b"__pycache__",
    b".mypy_cache",
    b".pytest_cache",
    b".ruff_cache",
    b".cache",
    b".gradle",
    b".next",
    b".nuxt",
    b".turbo",
    b".parcel-cache",
    b".terraform",
    b"coverage",
    b"cache",
];

/// Folders in which git keeps what it stores, and from which nothing runs.
pub(super) const GITS_OWN: [&[u8]; 4] = [b"objects", b"refs", b"logs", b"lfs"];

/// By one of these a folder is known as a repository after all, whatever it is called.
pub(super) const SIGNS: [&str; 3] = ["config", "hooks", "commondir"];

/// When a folder comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    First,
    Usual,
    Last,
}

impl Rank {
    /// That of a folder of this name in one of this rank.
    pub(super) fn of(name: &[u8], above: Self) -> Self {
        if above == Self::Last {
            Self::Last
        } else if named::may_be_above(name) {
            Self::First
        } else if BULK.contains(&name) || PACKAGE_FOLDERS.iter().any(|one| one.as_bytes() == name) {
            Self::Last
        } else {
            Self::Usual
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_fetched_or_built_comes_last_with_all_below_it() {
        assert_eq!(Rank::of(b"node_modules", Rank::Usual), Rank::Last);
        assert_eq!(Rank::of(b".github", Rank::Last), Rank::Last);
        assert_eq!(Rank::of(b".github", Rank::Usual), Rank::First);
        assert_eq!(Rank::of(b"src", Rank::First), Rank::Usual);
    }
}
