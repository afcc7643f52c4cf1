//! The `inline` tier: Stockade itself reads and writes files, or runs a closure of the host, and no
//! program runs.

use super::{Description, ends, lines, targets};
use crate::confine::Confinement;
use crate::guarantee::{Enforced, Guarantee};
use crate::plan::ops::{Inline, Op, Target};

/// The operations of a file tool, and what they enforce. What is promised about programs holds where
/// there is none.
pub fn files(confinement: &Confinement) -> Description {
    let limits = &confinement.limits;
    let is_path = |(_, target): &(_, Target)| matches!(target, Target::Path(..));
    let checks = targets(&confinement.files).filter(is_path);
    let mut ops: Vec<Op> = checks.map(|(keep, target)| Op::Check(keep, target)).collect();
    ops.extend(limits.file_size.map(|most| Op::Inline(Inline::FileSize(most))));
    ops.push(Op::Inline(Inline::ByHandle));
    ops.extend(ends(limits).map(Op::Watch));
    Description { ops, enforcement: lines(enforced) }
}

/// The same for a closure of the host: it can do what the host can, and is heard only in time.
pub fn closure(confinement: &Confinement) -> Description {
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
    let mut ops = vec![Op::Inline(Inline::Closure)];
    ops.extend(ends(&confinement.limits).map(Op::Watch));
    Description { ops, enforcement: lines(enforced) }
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
