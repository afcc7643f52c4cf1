//! What is known of a call before it is judged. It allows nothing.

use super::examine::Examiner;
use crate::call::{Tool, ToolCall};
use crate::confine::Confinement;
use crate::tier::Tier;

impl Examiner {
    /// Whether this call would run a program in a box.
    pub(crate) fn would_be_jailed(&self, call: &ToolCall) -> bool {
        let runs = matches!(call.tool, Tool::Exec(_) | Tool::Line(_));
        runs && self.policy().tier == Tier::Jail
    }

    /// How that program would be boxed if the call is allowed as it is; none if that takes long to find
    /// out.
    pub(crate) fn foreseen(&self, call: &ToolCall) -> Option<Confinement> {
        let is_quick = self.policy().files.sought.is_empty();
        is_quick.then(|| self.confinement(call))
    }
}
