//! A box that is made while the host still decides whether it will be needed. Nothing runs in it, and
//! it is given only to who asks for one that is equal in every point.

use super::MountWatch;
use super::ahead::{Ahead, Parts};
use crate::cgroup::CgroupLimits;
use crate::jail::Jail;
use crate::jail::key::Key;
use crate::jail::pack::Sheet;
use crate::ready::{Ordered, Outlook, ProgramFor, Ready};

/// The box. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Foreseen {
    ordered: Ordered,
    key: Key,
    limits: CgroupLimits,
    /// The mounts of the host, from before its namespaces were made.
    mounts: MountWatch,
}

impl Foreseen {
    /// Orders it from the keeper that is there. None if that is for another box, or if something goes
    /// wrong, which will be told when the box is asked for.
    pub(super) fn order(
        ahead: Ahead,
        sheet: &Sheet<'_>,
        jail: &Jail,
        limits: CgroupLimits,
    ) -> Option<Self> {
        let key = Key::of(jail).ok()?;
        let Parts { keeper, limits: made, mounts } = ahead.finish(jail, limits)?;
        let ordered = Ordered::with(keeper, sheet, Outlook::of(jail), made).ok()?;
        Some(Self { ordered, key, limits, mounts })
    }

    /// The box, if it is this one, and could be made. The host looks at it now, and not when it was
    /// ordered.
    pub(super) fn finish(
        self,
        key: &Key,
        limits: CgroupLimits,
        program: ProgramFor<'_>,
    ) -> Option<Ready> {
        let is_same = self.key == *key && self.limits == limits;
        if !is_same || self.mounts.saw_change() {
            return None;
        }
        self.ordered.hand(program).meet().ok().filter(Ready::is_whole)
    }
}
