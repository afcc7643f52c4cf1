//! A box that is asked for.

use std::cell::OnceCell;

use crate::cgroup::CgroupLimits;
use crate::jail::Jail;
use crate::jail::key::Key;
use crate::keeper::step::Step;
use crate::start::{At, StartError};

/// Its description, its limits, and what tells it from others, which takes a while to find out.
pub(super) struct Wanted {
    pub(super) jail: Jail,
    pub(super) limits: CgroupLimits,
    key: OnceCell<Key>,
}

impl Wanted {
    pub(super) fn new(jail: Jail, limits: CgroupLimits) -> Self {
        Self { jail, limits, key: OnceCell::new() }
    }

    /// What boxes that are equal in every point have in common.
    pub(super) fn key(&self) -> Result<&Key, StartError> {
        if let Some(key) = self.key.get() {
            return Ok(key);
        }
        let key = Key::of(&self.jail).at(Step::PrepareBox)?;
        Ok(self.key.get_or_init(|| key))
    }

    pub(super) fn into_parts(self) -> Result<(Jail, Key, CgroupLimits), StartError> {
        let key = self.key.into_inner().map_or_else(|| Key::of(&self.jail), Ok);
        Ok((self.jail, key.at(Step::PrepareBox)?, self.limits))
    }
}
