//! What rules mean and a box does not keep: said in `enforcement`, and lowered there.

use std::collections::BTreeMap;
use std::path::Path;

use super::patterns::SearchResult;
use crate::confine::{Files, Keep, Origin, PathPattern};
use crate::guarantee::{Enforced, Guarantee, Kept};

/// By guarantee, in words.
#[derive(Debug, Default)]
pub(in crate::launch) struct UnenforcedRules {
    unkept: BTreeMap<Guarantee, Vec<String>>,
    /// The same of shipped rules, which a project may have: the call runs and the report says so.
    shipped: BTreeMap<Guarantee, Vec<String>>,
    notes: BTreeMap<Guarantee, Vec<String>>,
    /// What of git's own is not protected.
    of_git: Vec<String>,
    /// What of git's own is not protected because there is no repository yet.
    of_new_git: Option<String>,
    of_search: bool,
}

/// The guarantee that hidden or protected paths belong to.
pub(super) fn guarantee(keep: Keep) -> Guarantee {
    match keep {
        Keep::Hidden => Guarantee::Reads,
        Keep::Protected => Guarantee::Protected,
    }
}

impl UnenforcedRules {
    pub(super) fn left(files: &Files, searched: &SearchResult) -> Self {
        let is_incomplete = !searched.incomplete.is_empty();
        let mut gaps = Self { of_search: is_incomplete, ..Self::default() };
        for (keep, origin, said) in files.unkept.iter() {
            gaps.of(*origin).entry(guarantee(*keep)).or_default().push(said.clone());
        }
        let why = searched.gap.as_deref().unwrap_or("not all of it could be looked at");
        for keep in [Keep::Hidden, Keep::Protected] {
            let of_it = files.sought.iter().enumerate().filter(|(_, one)| one.keep() == keep);
            let Some(rules) = named(of_it.clone().map(|(_, one)| one)) else { continue };
            let later = match keep {
                Keep::Hidden => "what is made during the run is not hidden",
                Keep::Protected => "a file created during the run is renamed aside after it",
            };
            let notes = gaps.notes.entry(guarantee(keep)).or_default();
            notes.push(format!("{rules}: {later}"));
            notes.extend(searched.note.clone());
            for is_shipped in [false, true] {
                let missed = of_it.clone().filter(|(at, one)| {
                    searched.incomplete.contains(at)
                        && (one.origin() == Origin::Shipped) == is_shipped
                });
                let Some(rules) = named(missed.map(|(_, one)| one)) else { continue };
                let origin = if is_shipped { Origin::Shipped } else { Origin::Trusted };
                let gap = format!("{rules}: {why}");
                gaps.of(origin).entry(guarantee(keep)).or_default().push(gap);
            }
        }
        gaps
    }

    /// Says of a part of git's own that nothing protects it.
    pub(super) fn add_of_git(&mut self, said: Option<String>) {
        self.of_git.extend(said);
    }

    /// Says that nothing protects what is created in a `.git` that does not exist.
    pub(super) fn add_of_new_git(&mut self, git: &Path) {
        self.of_new_git = Some(format!(
            "{git:?} does not exist, so creating it is allowed: what a program creates in it, hooks and \
             configuration included, is not protected until the next call"
        ));
    }

    /// Says that a path is not hidden or protected, because its name is not text.
    pub(super) fn add_unnamed(&mut self, path: &Path, guarantee: Guarantee) {
        let said =
            format!("{path:?} is left as it is: this tier cannot name a path that is not UTF-8");
        if guarantee == Guarantee::Protected {
            self.of_git.push(said);
        } else {
            self.shipped.entry(guarantee).or_default().push(said);
        }
    }

    fn of(&mut self, origin: Origin) -> &mut BTreeMap<Guarantee, Vec<String>> {
        match origin {
            Origin::Shipped => &mut self.shipped,
            Origin::Trusted | Origin::Project => &mut self.unkept,
        }
    }

    /// Whether there may be more than was found.
    pub(super) fn are_of_search(&self) -> bool {
        self.of_search
    }

    /// Lowers what is not kept of shipped rules, after the check of what is required.
    pub(super) fn record_shipped(&self, enforcement: &mut [Enforced]) {
        for line in enforcement {
            // A broker refuses these paths too, and then the protection is full.
            let of_new_git = self.of_new_git.as_ref().filter(|_| line.kept == Kept::Detected);
            if let (Guarantee::Protected, Some(said)) = (line.guarantee, of_new_git) {
                // A watch alone prevents nothing, so that it does not even protect a part.
                let is_watched_only = line.by.iter().all(|by| *by == "watch");
                line.kept = if is_watched_only { Kept::Detected } else { Kept::Partial };
                let all: Vec<String> = line.note.take().into_iter().chain([said.clone()]).collect();
                line.note = Some(all.join("; "));
            }
            let Some(unkept) = self.shipped.get(&line.guarantee) else { continue };
            line.kept = line.kept.min(lowered(line.guarantee));
            let all: Vec<String> = line.note.take().into_iter().chain(unkept.clone()).collect();
            line.note = Some(all.join("; "));
        }
    }

    /// Lowers what is not kept, and says it beside what is said already.
    pub(in crate::launch) fn record(&self, enforcement: &mut [Enforced]) {
        for line in enforcement {
            let unkept = self.unkept.get(&line.guarantee);
            let notes = self.notes.get(&line.guarantee);
            if unkept.is_some() {
                line.kept = line.kept.min(lowered(line.guarantee));
            }
            // A name that can be made anywhere is seen after the run, and is not prevented.
            if notes.is_some() && line.guarantee == Guarantee::Protected {
                line.kept = line.kept.min(Kept::Detected);
            }
            let is_protection = line.guarantee == Guarantee::Protected;
            let of_git = Some(&self.of_git).filter(|said| is_protection && !said.is_empty());
            if of_git.is_some() {
                line.kept = line.kept.min(Kept::Partial);
            }
            let before = line.note.take();
            // A waiting interpreter's sandbox has said it when it was made.
            let is_new = |one: &&String| before.as_ref().is_none_or(|note| !note.contains(*one));
            let said = unkept.into_iter().chain(notes).chain(of_git).flatten();
            let said: Vec<String> = said.filter(is_new).cloned().collect();
            let all: Vec<String> = before.into_iter().chain(said).collect();
            line.note = (!all.is_empty()).then(|| all.join("; "));
        }
    }
}

/// Rules in a few words.
fn named<'a>(rules: impl Iterator<Item = &'a PathPattern>) -> Option<String> {
    let rules: Vec<&str> = rules.map(PathPattern::rule).collect();
    let [first, others @ ..] = rules.as_slice() else { return None };
    Some(match others.len() {
        0 => (*first).to_owned(),
        1 => format!("{first} and 1 more rule"),
        more => format!("{first} and {more} more rules"),
    })
}

/// What is left of a guarantee of which a part is not kept. That a path is protected in part says
/// more than that its breach is detected, so that it is not enough here.
fn lowered(guarantee: Guarantee) -> Kept {
    if guarantee == Guarantee::Protected { Kept::None } else { Kept::Partial }
}
