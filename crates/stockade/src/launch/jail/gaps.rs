//! What rules mean and a box does not keep: said in `enforcement`, and lowered there.

use std::collections::BTreeMap;

use super::sought::Searched;
use crate::confine::{Files, Keep, Sought};
use crate::guarantee::{Enforced, Guarantee, Kept};

/// By guarantee, in words.
#[derive(Debug, Default)]
pub(in crate::launch) struct Gaps {
    unkept: BTreeMap<Guarantee, Vec<String>>,
    notes: BTreeMap<Guarantee, Vec<String>>,
    of_search: bool,
}

/// The guarantee that hidden or protected paths belong to.
pub(super) fn guarantee(keep: Keep) -> Guarantee {
    match keep {
        Keep::Hidden => Guarantee::Reads,
        Keep::Protected => Guarantee::Protected,
    }
}

impl Gaps {
    pub(super) fn of(files: &Files, searched: &Searched) -> Self {
        let mut gaps = Self { of_search: searched.gap.is_some(), ..Self::default() };
        for (keep, said) in files.unkept.iter() {
            gaps.unkept.entry(guarantee(*keep)).or_default().push(said.clone());
        }
        for keep in [Keep::Hidden, Keep::Protected] {
            let of_it = files.sought.iter().filter(|one| one.keep() == keep);
            let rules: Vec<&str> = of_it.map(Sought::rule).collect();
            let [first, others @ ..] = rules.as_slice() else { continue };
            let rules = match others.len() {
                0 => (*first).to_owned(),
                more => format!("{first} and {more} more rules"),
            };
            let later = match keep {
                Keep::Hidden => "what is made during the run is not hidden",
                Keep::Protected => "what is made during the run is moved away after it",
            };
            let notes = gaps.notes.entry(guarantee(keep)).or_default();
            notes.push(format!("{rules}: {later}"));
            notes.extend(searched.note.clone());
            if let Some(gap) = &searched.gap {
                gaps.unkept.entry(guarantee(keep)).or_default().push(format!("{rules}: {gap}"));
            }
        }
        gaps
    }

    /// Whether there may be more than was found.
    pub(super) fn are_of_search(&self) -> bool {
        self.of_search
    }

    /// Lowers what is not kept, and says it beside what is said already.
    pub(in crate::launch) fn admit(&self, enforcement: &mut [Enforced]) {
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
            let said = unkept.into_iter().chain(notes).flatten().cloned();
            let all: Vec<String> = line.note.take().into_iter().chain(said).collect();
            line.note = (!all.is_empty()).then(|| all.join("; "));
        }
    }
}

/// What is left of a guarantee of which a part is not kept. That a path is protected in part says
/// more than that its breach is detected, so that it is not enough here.
fn lowered(guarantee: Guarantee) -> Kept {
    if guarantee == Guarantee::Protected { Kept::None } else { Kept::Partial }
}
