//! A keeper that gets on its feet while the host prepares what to tell it.

use std::os::fd::{AsFd, BorrowedFd};
use std::thread::JoinHandle;

use rustix::io::Errno;

use crate::cgroup::Cgroup;
use crate::control::Line;
use crate::identity::Identity;
use crate::jail::pack::{Fittings, Sheet};
use crate::keeper::step::Step;
use crate::keeper::wire::{Request, form};
use crate::keeper::{self, Keeper};
use crate::remains::Remains;
use crate::start::{At, StartError, supervisor};
use crate::{elsewhere, hasten};

/// The keeper. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Booting {
    // Closed first when dropped, so that the keeper ends before it is waited for.
    control: Line,
    keeper: Spawned,
}

/// A keeper's process.
#[derive(Debug)]
enum Spawned {
    There(Keeper),
    /// It is made by a thread.
    Coming(Coming),
}

/// A thread that makes a keeper. Dropping it waits for both.
#[derive(Debug)]
struct Coming(Option<JoinHandle<Result<Keeper, StartError>>>);

impl Coming {
    fn there(mut self) -> Result<Keeper, StartError> {
        let made = self.0.take().and_then(|thread| thread.join().ok());
        made.unwrap_or(Err(StartError { step: Step::SpawnKeeper, errno: Errno::SRCH }))
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        drop(self.0.take().map(JoinHandle::join));
    }
}

impl Booting {
    /// A keeper that is told nothing yet: our line to it, and its process.
    pub(crate) fn unasked() -> Result<(Line, Keeper), StartError> {
        if let Some(Self { control, keeper }) = hasten::taken()
            && let Ok(keeper) = keeper.there()
            && keeper.is_alive()
        {
            return Ok((control, keeper));
        }
        let (control, far) = Line::pair().at(Step::OpenControl)?;
        Ok((control, keeper::spawn(far.as_fd())?))
    }

    /// One that a thread makes, told nothing yet; none if there can be no thread.
    pub(crate) fn elsewhere() -> Option<Self> {
        let (control, far) = Line::pair().ok()?;
        let thread = elsewhere::begin(move || keeper::spawn(far.as_fd()))?;
        Some(Self { control, keeper: Spawned::Coming(Coming(Some(thread))) })
    }

    /// Lets go of one that is another process's, as is the thread.
    pub(crate) fn leave_to_its_owner(self) {
        drop(self.control);
        std::mem::forget(self.keeper);
    }

    /// Starts a keeper for a box.
    pub(crate) fn begin() -> Result<Self, StartError> {
        let (control, keeper) = Self::unasked()?;
        let booting = Self { control, keeper: Spawned::There(keeper) };
        booting.tell(&Request::empty(), None)?;
        Ok(booting)
    }

    /// Lets it make the namespaces of its box at once, in this cgroup.
    pub(crate) fn begin_early(
        &self,
        namespaces: u64,
        identity: Identity,
        cgroup: Option<&Cgroup>,
    ) -> Result<(), StartError> {
        let Identity { outer_uid, outer_gid, inner_uid, inner_gid } = identity;
        let ids = Request { outer_uid, outer_gid, inner_uid, inner_gid, ..Request::empty() };
        self.tell(&Request { namespaces, ..ids }, cgroup.and_then(Cgroup::unified))
    }

    /// Tells it of a box. There need not be anyone yet to hear it.
    fn tell(&self, request: &Request, unified: Option<BorrowedFd<'_>>) -> Result<(), StartError> {
        let supervisor = supervisor()?;
        let given: Vec<_> = [supervisor.as_fd()].into_iter().chain(unified).collect();
        let descriptors = if given.len() == 1 { 1 } else { 2 };
        let request = Request { form: form::BOXED, descriptors, ..*request };
        self.control.send(&request, &given).at(Step::SendRequest)
    }

    /// Lets it make a box.
    pub(crate) fn order(
        self,
        sheet: &Sheet<'_>,
        fittings: &Fittings<'_>,
    ) -> Result<Remains, StartError> {
        let packed = sheet.fit(fittings).at(Step::PrepareBox)?;
        self.control.send(&packed.plan, &packed.descriptors()).at(Step::SendRequest)?;
        let Self { control, keeper } = self;
        let keeper = Some(keeper.there()?);
        Ok(Remains { control: Some(control), keeper, ..Remains::default() })
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
