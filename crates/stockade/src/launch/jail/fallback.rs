//! The two forms of the jail: a box of namespaces, and where a machine refuses these, locks alone,
//! if they were planned. Nothing of the program has run when the second takes over.

use stockade_sandbox::{Errno, StartError, Step};

use super::{JailSetup, make, run, without_namespaces};
use crate::launch::WarmState;
use crate::launch::remedy;
use crate::launch::run::SupervisedRun;
use crate::launch::spec::not_started;
use crate::outcome::{Failure, FailureKind, chain};
use crate::plan::{Parts, ProgramPlan};

/// Makes the box, or what was planned for a machine that refuses it, and runs the program there.
pub(in crate::launch) fn start(
    plan: ProgramPlan,
    warm: &WarmState,
) -> Result<SupervisedRun, Failure> {
    let Parts { cleared, description, otherwise, mut terms, until } = plan.into_parts();
    let setup = JailSetup::of(&description.ops)?;
    let joined = cleared.session.as_ref().map(|name| warm.sessions().get(name).join());
    let joined = joined.transpose()?;
    let made = make((&cleared, until), &setup, warm.pool(), joined.as_ref());
    let Unavailable { failure, refused } = match made {
        Ok(made) => return run((cleared, terms), description.enforcement, setup, made, joined),
        Err(not_boxed) => not_boxed,
    };
    match (refused, otherwise) {
        (Some(refused), Some(Ok(description))) => {
            if cleared.session.is_some() {
                let why =
                    "this machine refuses user namespaces, so calls of a session share nothing";
                terms.hints.push(why.to_owned());
            }
            without_namespaces::start((cleared, terms), description, until).map_err(|failure| {
                match failure {
                    failure if failure.is_late() => failure,
                    failure => both_failed(refused, &failure),
                }
            })
        }
        (Some(refused), Some(Err(failure))) => Err(both_failed(refused, &failure)),
        (Some(_), None) | (None, _) => Err(failure),
    }
}

/// A box that was not made, and whether that is because this machine refuses such boxes.
pub(super) struct Unavailable {
    failure: Failure,
    refused: Option<StartError>,
}

impl Unavailable {
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

impl From<Failure> for Unavailable {
    fn from(failure: Failure) -> Self {
        Self { failure, refused: None }
    }
}

/// Neither form can be had: what the first failed at, and what the second would not keep.
fn both_failed(refused: StartError, second: &Failure) -> Failure {
    let first = chain(&refused);
    let message = format!("could not {first}; and without user namespaces: {}", second.message());
    let mut ways = vec![remedy::for_namespaces(refused)];
    ways.extend(second.remedy().map(str::to_owned));
    Failure::new(FailureKind::MakeSandbox, message)
        .with_remedy(ways.join("; or "))
        .with_guarantee(second.guarantee())
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
