//! A keeper that is told what to start.

use std::os::fd::{AsFd, BorrowedFd};

use crate::control::Line;
use crate::jail::pack::{Fittings, Sheet};
use crate::keeper::Keeper;
use crate::keeper::step::Step;
use crate::keeper::wire::{Request, form};
use crate::remains::Remains;
use crate::start::{At, StartError, supervisor};

/// The keeper. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Booting {
    // Closed first when dropped, so that the keeper ends before it is waited for.
    control: Line,
    keeper: Keeper,
}

impl Booting {
    /// A keeper that is told nothing yet.
    pub(crate) fn unasked() -> Result<Self, StartError> {
        let (control, far) = Line::pair().at(Step::OpenControl)?;
        Ok(Self { control, keeper: Keeper::spawn(&far)? })
    }

    /// Asks it for a program or a box.
    pub(crate) fn ask(
        &self,
        request: &Request,
        rights: &[BorrowedFd<'_>],
    ) -> Result<(), StartError> {
        self.control.send(request, rights).at(Step::SendRequest)
    }

    /// Our line to it.
    pub(crate) fn line(&self) -> &Line {
        &self.control
    }

    /// The line and the process.
    pub(crate) fn into_parts(self) -> (Line, Keeper) {
        (self.control, self.keeper)
    }

    /// Starts a keeper for a box.
    pub(crate) fn begin() -> Result<Self, StartError> {
        let booting = Self::unasked()?;
        let supervisor = supervisor()?;
        let request = Request { form: form::BOXED, descriptors: 1, ..Request::empty() };
        booting.ask(&request, &[supervisor.as_fd()])?;
        Ok(booting)
    }

    /// Lets it make a box.
    pub(crate) fn order(
        self,
        sheet: &Sheet<'_>,
        fittings: &Fittings<'_>,
    ) -> Result<Remains, StartError> {
        let packed = sheet.fit(fittings).at(Step::PrepareBox)?;
        self.control.send(&packed.plan, &packed.descriptors()).at(Step::SendRequest)?;
        let (control, keeper) = (Some(self.control), Some(self.keeper));
        Ok(Remains { control, keeper, ..Remains::default() })
    }
}
