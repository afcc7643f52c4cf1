//! Ports that other calls have opened in the network that all calls of a session share.

use super::JoinedCall;
use crate::confine::Ports;
use crate::guarantee::{Enforced, Guarantee, Kept};
use crate::launch::jail::JailSetup;
use crate::outcome::{Failure, FailureKind};
use crate::plan::describe::open_ports;

/// Lowers what is kept of the network by the ports that other calls of the session have opened in it, if the
/// call is content with that.
pub(in crate::launch) fn admit_shared_ports(
    enforcement: &mut [Enforced],
    required: Option<Kept>,
    setup: &JailSetup,
    joined: &JoinedCall,
) -> Result<(), Failure> {
    if !setup.shares_network() {
        return Ok(());
    }
    let others = joined.ports_of_others.without(&setup.ports);
    lower_network(enforcement, &others);
    if others.is_empty() || required.is_none_or(|required| required <= Kept::Partial) {
        return Ok(());
    }
    let session = joined.session.name();
    let message = format!("{} is required, and {}", Guarantee::Network, opened_by_others(&others));
    Err(Failure::new(FailureKind::KeepRequired, message)
        .with_remedy(format!(
            "end that call (stockade ps lists it: stockade kill CALL), or all of the session: stockade kill \
             {session}; or use another session"
        ))
        .with_guarantee(Guarantee::Network))
}

/// Says of the network that it is kept in part, because of these ports of other calls.
pub(crate) fn lower_network(enforcement: &mut [Enforced], others: &Ports) {
    if others.is_empty() {
        return;
    }
    let why = opened_by_others(others);
    for line in enforcement.iter_mut().filter(|line| line.guarantee == Guarantee::Network) {
        line.kept = line.kept.min(Kept::Partial);
        let before = line.note.take().filter(|note| !note.contains(&why));
        line.note = Some(before.into_iter().chain([why.clone()]).collect::<Vec<_>>().join("; "));
    }
}

fn opened_by_others(others: &Ports) -> String {
    format!("another call of the session has opened ports: {}", open_ports(others))
}
