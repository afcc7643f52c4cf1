//! The `inline` tier, described: Stockade itself reads and writes files, and no program runs.

use super::process::capture_steps;
use super::{Description, Step};
use crate::confine::Confinement;
use crate::guarantee::{Enforced, Guarantee};

/// Which steps it takes, and what they keep. What is promised about programs holds where there is
/// none.
pub fn describe(confinement: &Confinement) -> Description {
    let [deadline, capture] = capture_steps(&confinement.limits);
    let steps = vec![Step::ByHandle, deadline, capture];
    Description { steps, enforcement: Guarantee::ALL.into_iter().map(enforced).collect() }
}

/// The same for a closure of the host: it can do what the host can, and is heard only in time.
pub fn describe_closure(confinement: &Confinement) -> Description {
    let [deadline, capture] = capture_steps(&confinement.limits);
    let late = "a closure that comes too late is not heard any more, but nothing can end it";
    let trusted = "a closure of the host is trusted with all that the host has";
    let enforced = |guarantee| match guarantee {
        Guarantee::Limits => Enforced::partial(guarantee, &["deadline"], late),
        Guarantee::Output => Enforced::full(guarantee, &["capped-answer"]),
        Guarantee::Writes
        | Guarantee::Reads
        | Guarantee::Protected
        | Guarantee::Network
        | Guarantee::Processes
        | Guarantee::Privileges
        | Guarantee::TreeLimits
        | Guarantee::Disk
        | Guarantee::Environment
        | Guarantee::Kernel => Enforced::none(guarantee, trusted),
    };
    let steps = vec![Step::Closure, deadline, capture];
    Description { steps, enforcement: Guarantee::ALL.into_iter().map(enforced).collect() }
}

fn enforced(guarantee: Guarantee) -> Enforced {
    match guarantee {
        Guarantee::Writes | Guarantee::Reads | Guarantee::Protected => {
            Enforced::full(guarantee, &["root-handle"])
        }
        Guarantee::Limits => Enforced::full(guarantee, &["deadline", "file-size"]),
        Guarantee::Output => Enforced::full(guarantee, &["capped-answer"]),
        Guarantee::Network
        | Guarantee::Processes
        | Guarantee::Privileges
        | Guarantee::TreeLimits
        | Guarantee::Disk
        | Guarantee::Environment
        | Guarantee::Kernel => Enforced::full(guarantee, &["no-program"]),
    }
}
