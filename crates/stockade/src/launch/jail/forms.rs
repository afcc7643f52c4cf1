//! The two forms of the jail: a box of namespaces, and where a machine refuses these, locks alone,
//! if they were planned. Nothing of the program has run when the second takes over.

use stockade_linux::{Errno, StartError, Step};

use super::{locks, make, run};
use crate::launch::Reserve;
use crate::launch::held::Held;
use crate::launch::remedy;
use crate::launch::spec::not_started;
use crate::outcome::{Failure, chain};
use crate::plan::ProgramPlan;
use crate::tier::Description;

/// Makes the box, or what was planned for a machine that refuses it, and runs the program there.
pub(in crate::launch) fn start(plan: ProgramPlan, reserve: &Reserve) -> Result<Held, Failure> {
    let until = plan.until();
    let (prepared, Description { steps, enforcement }, otherwise) = plan.into_parts();
    let made = make((&prepared.cleared, until), &prepared.confinement, &steps, reserve.yard());
    let NotBoxed { failure, refused } = match made {
        Ok(made) => return run(prepared, enforcement, made),
        Err(not_boxed) => not_boxed,
    };
    match (refused, otherwise) {
        (Some(refused), Some(Ok(description))) => locks::start(prepared, description, until)
            .map_err(|failure| match failure {
                failure if failure.is_late => failure,
                failure => neither(refused, &failure),
            }),
        (Some(refused), Some(Err(failure))) => Err(neither(refused, &failure)),
        (Some(_), None) | (None, _) => Err(failure),
    }
}

/// A box that was not made, and whether that is because this machine refuses such boxes.
pub(super) struct NotBoxed {
    failure: Failure,
    refused: Option<StartError>,
}

impl NotBoxed {
    /// Why.
    pub(super) fn into_failure(self) -> Failure {
        self.failure
    }

    /// What failed in making it.
    pub(super) fn at(error: StartError) -> Self {
        let refused = is_refusal(error).then_some(error);
        Self { failure: not_started(error), refused }
    }
}

impl From<Failure> for NotBoxed {
    fn from(failure: Failure) -> Self {
        Self { failure, refused: None }
    }
}

/// Neither form can be had: what the first failed at, and what the second would not keep.
fn neither(refused: StartError, second: &Failure) -> Failure {
    let first = chain(&refused);
    let message = format!("could not {first}; and without user namespaces: {}", second.message);
    let mut ways = vec![remedy::for_namespaces(refused)];
    ways.extend(second.remedy.clone());
    let mut failure = Failure::new("make the box", message).remedy(ways.join("; or "));
    failure.guarantee.clone_from(&second.guarantee);
    failure
}

/// The steps that need what a machine may refuse: namespaces, ids, mounts.
const REFUSABLE: [Step; 17] = [
    Step::CloneBox,
    Step::ChangeUser,
    Step::MapIds,
    Step::NameHost,
    Step::RaiseLoopback,
    Step::ForbidNesting,
    Step::TakeSource,
    Step::MapOwners,
    Step::MakeRoot,
    Step::FindPlace,
    Step::BindFolder,
    Step::MountMemory,
    Step::MountProc,
    Step::HidePath,
    Step::ProtectPath,
    Step::SealRoot,
    Step::EnterRoot,
];

/// Whether this machine refuses namespaces and mounts to this user, as opposed to a path or a
/// program that is wrong.
fn is_refusal(error: StartError) -> bool {
    let StartError { step, errno } = error;
    // A folder of the caller's may be closed to them.
    let is_of_path = matches!(step, Step::TakeSource | Step::MapOwners);
    let is_refused = match errno {
        Errno::PERM | Errno::NOSYS => true,
        Errno::ACCESS => !is_of_path,
        // No more of them, none at all, or a kernel that has none.
        Errno::NOSPC | Errno::USERS | Errno::INVAL => step == Step::CloneBox,
        _ => false,
    };
    is_refused && REFUSABLE.contains(&step)
}
