//! What is said about calls that somebody else runs, a coding agent: decided and recorded, and no
//! permit comes of it.

use super::examine::{Examination, Examined};
use super::{Gate, JournalError, Refusal};
use crate::call::{Tool, ToolCall};
use crate::policy::{Decision, Ruling};

impl Gate {
    /// Looks at a call, asks the hooks, and writes into the journal what is decided. Tools that are
    /// not ours are decided about by rules, as in [`Examiner::examine`](super::Examiner::examine).
    pub fn advise(&self, call: &ToolCall) -> Result<Examination, JournalError> {
        self.advise_and(call, |ruling| ruling)
    }

    /// The same, where whoever runs the call makes something stricter of a ruling: a refusal of a
    /// question that nobody would answer. What comes of it is what is recorded.
    pub fn advise_and(
        &self,
        call: &ToolCall,
        settle: impl FnOnce(Ruling) -> Ruling,
    ) -> Result<Examination, JournalError> {
        let examined = match &call.tool {
            Tool::Unknown(foreign) => {
                let input = foreign.input_text();
                Examined {
                    examination: self.examiner.examine(call),
                    cleared: Err(None),
                    words: vec![foreign.name.clone().into(), input.into()],
                    shown: vec![vec![foreign.name.clone().into()]],
                    program: None,
                    question: None,
                }
            }
            Tool::Exec(_) | Tool::Line(_) | Tool::Code(_) | Tool::File(_) | Tool::Malformed(_) => {
                self.examiner.examined(call)
            }
        };
        let Examined { mut examination, words, shown, program, .. } = self.advised(call, examined);
        let before = examination.ruling.decision;
        let settled = settle(examination.ruling);
        examination.ruling = Ruling { decision: settled.decision.max(before), ..settled };
        let ruling = &examination.ruling;
        let entry =
            self.record(call, (&words, &shown), program.as_deref(), ruling, (false, None))?;
        if ruling.decision == Decision::Deny {
            let refusal = self.again(Refusal::from(ruling.clone()), entry);
            examination.ruling.reason = Some(refusal.reason);
        }
        Ok(examination)
    }
}
