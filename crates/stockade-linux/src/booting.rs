//! A keeper that gets on its feet while the host prepares what to tell it.

use std::os::fd::{AsFd, BorrowedFd};

use crate::cgroup::Cgroup;
use crate::control::Line;
use crate::hasten;
use crate::identity::Identity;
use crate::jail::pack::{Fittings, Sheet};
use crate::keeper::step::Step;
use crate::keeper::wire::{Request, form};
use crate::keeper::{Coming, Keeper};
use crate::remains::Remains;
use crate::start::{At, StartError, supervisor};
use crate::whereabouts::Where;

/// The keeper. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Booting {
    // Closed first when dropped, so that the keeper ends before it is waited for.
    control: Line,
    keeper: Spawned,
    /// The processor that it keeps away from until it is told, as it is told.
    left_processor: u64,
}

/// A keeper's process.
#[derive(Debug)]
enum Spawned {
    There(Keeper),
    Coming(Coming),
}

impl Booting {
    /// A keeper that is told nothing yet.
    pub(crate) fn unasked() -> Result<Self, StartError> {
        if let Some(Self { control, keeper, left_processor }) = hasten::taken()
            && let Ok(keeper) = keeper.there()
            && keeper.is_alive()
        {
            return Ok(Self { control, keeper: Spawned::There(keeper), left_processor });
        }
        Self::spawn(Where::Anywhere)
    }

    /// One on another processor, which gets on its feet while this one is used; none if it cannot be.
    pub(crate) fn elsewhere() -> Option<Self> {
        Self::spawn(Where::Elsewhere).ok()
    }

    fn spawn(place: Where) -> Result<Self, StartError> {
        let (control, far) = Line::pair().at(Step::OpenControl)?;
        let keeper = Coming::begin(far, place)?;
        let left_processor = keeper.left_processor();
        Ok(Self { control, keeper: Spawned::Coming(keeper), left_processor })
    }

    /// Asks it for a program or a box. There need not be anyone yet to hear it.
    pub(crate) fn ask(
        &mut self,
        request: &Request,
        rights: &[BorrowedFd<'_>],
    ) -> Result<(), StartError> {
        if let Spawned::Coming(coming) = &mut self.keeper {
            coming.settle();
        }
        let request = Request { left_processor: self.left_processor, ..*request };
        self.control.send(&request, rights).at(Step::SendRequest)
    }

    /// Our line to it.
    pub(crate) fn line(&self) -> &Line {
        &self.control
    }

    /// The line and the process, waited for. It is heard only now: until then this process has the
    /// other end of the line too.
    pub(crate) fn there(self) -> Result<(Line, Keeper), StartError> {
        let Self { control, keeper, .. } = self;
        Ok((control, keeper.there()?))
    }

    /// Lets go of one that is another process's.
    pub(crate) fn leave_to_its_owner(self) {
        drop(self.control);
        match self.keeper {
            Spawned::There(keeper) => std::mem::forget(keeper),
            Spawned::Coming(coming) => coming.leave_to_its_owner(),
        }
    }

    /// Starts a keeper for a box.
    pub(crate) fn begin() -> Result<Self, StartError> {
        let mut booting = Self::unasked()?;
        booting.tell(&Request::empty(), None)?;
        Ok(booting)
    }

    /// Lets it make the namespaces of its box at once, in this cgroup.
    pub(crate) fn begin_early(
        &mut self,
        namespaces: u64,
        identity: Identity,
        cgroup: Option<&Cgroup>,
    ) -> Result<(), StartError> {
        let Identity { outer_uid, outer_gid, inner_uid, inner_gid } = identity;
        let ids = Request { outer_uid, outer_gid, inner_uid, inner_gid, ..Request::empty() };
        self.tell(&Request { namespaces, ..ids }, cgroup.and_then(Cgroup::unified))
    }

    /// Tells it of a box.
    fn tell(
        &mut self,
        request: &Request,
        unified: Option<BorrowedFd<'_>>,
    ) -> Result<(), StartError> {
        let supervisor = supervisor()?;
        let given: Vec<_> = [supervisor.as_fd()].into_iter().chain(unified).collect();
        let descriptors = if given.len() == 1 { 1 } else { 2 };
        self.ask(&Request { form: form::BOXED, descriptors, ..*request }, &given)
    }

    /// Lets it make a box.
    pub(crate) fn order(
        self,
        sheet: &Sheet<'_>,
        fittings: &Fittings<'_>,
    ) -> Result<Remains, StartError> {
        let packed = sheet.fit(fittings).at(Step::PrepareBox)?;
        self.control.send(&packed.plan, &packed.descriptors()).at(Step::SendRequest)?;
        let (control, keeper) = self.there()?;
        let (control, keeper) = (Some(control), Some(keeper));
        Ok(Remains { control, keeper, ..Remains::default() })
    }
}

impl Spawned {
    /// The process, waited for.
    fn there(self) -> Result<Keeper, StartError> {
        match self {
            Self::There(keeper) => Ok(keeper),
            Self::Coming(coming) => coming.there(),
        }
    }
}
