//! The limits of a box, made before it or while it is made.

use rustix::io::Errno;

use super::{Cgroup, CgroupLimits, Hierarchies};

/// Limits that are there, or are made once there is time.
#[derive(Debug)]
pub(crate) enum Limits {
    /// There, or not wanted.
    There(Option<Cgroup>),
    /// To be made, among the hierarchies that were found.
    Later(CgroupLimits, Result<Hierarchies, Errno>),
}

impl Limits {
    /// Limits for a box that has yet to be made. Where a process is cloned into its cgroup that has to
    /// be there first; else there is time while the box is made, which takes as long.
    pub(crate) fn of_new_box(limits: CgroupLimits) -> Self {
        Self::of_box_among(limits, Hierarchies::read())
    }

    /// The same, in hierarchies that were found.
    pub(crate) fn of_box_among(limits: CgroupLimits, there: Result<Hierarchies, Errno>) -> Self {
        if there.as_ref().is_ok_and(Hierarchies::is_unified) {
            Self::There(Some(Cgroup::create_for_box(limits, there)))
        } else {
            Self::Later(limits, there)
        }
    }

    /// The same, as this process may have moved to another cgroup meanwhile.
    pub(crate) fn again(self) -> Self {
        match self {
            Self::There(cgroup) => Self::There(cgroup),
            Self::Later(limits, there) => {
                Self::Later(limits, there.and_then(|there| there.again()))
            }
        }
    }

    /// Those that are there.
    pub(crate) fn so_far(&self) -> Option<&Cgroup> {
        match self {
            Self::There(cgroup) => cgroup.as_ref(),
            Self::Later(..) => None,
        }
    }

    /// Whether they are still to be made.
    pub(crate) fn is_later(&self) -> bool {
        matches!(self, Self::Later(..))
    }

    /// The limits, made now if they are not there.
    pub(crate) fn made(self) -> Option<Cgroup> {
        match self {
            Self::There(cgroup) => cgroup,
            Self::Later(limits, there) => Some(Cgroup::create_for_box(limits, there)),
        }
    }
}
