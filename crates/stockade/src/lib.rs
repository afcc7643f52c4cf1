//! Stockade runs the tool calls of AI agents: each call is judged, boxed, run, recorded and
//! explained.
//!
//! A call goes one way, and every stage consumes the one before it:
//!
//! ```text
//!  call ──inspect──▶ findings ──policy──▶ ruling ──▶ verdict ─┬─ refused ─────────────▶ report
//!  (untrusted)        (facts)                                 ├─ question ──answer──┐
//!                                                             └─ permit (journalled) ◀┘
//!  permit ──plan (pure)──▶ plan ──launch (syscalls)──▶ running ──wait──▶ outcome ─────▶ report
//! ```
//!
//! [`inspect`] states facts and never decides, [`policy`] decides and never touches the system,
//! [`plan`] computes and never acts, [`launch`] acts and never decides. A call that did not pass the
//! [`gate`] cannot be run: a [`gate::Permit`] has no public constructor, planning consumes it, and
//! launching consumes the plan.
//!
//! ```
//! use stockade::{Policy, Stockade, ToolCall};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let project = tempfile::tempdir()?;
//! # let journal = project.path().join("journal.jsonl");
//! let stockade = Stockade::open(project.path(), Policy::shipped(), &journal)?;
//!
//! let report = stockade.run(ToolCall::exec(["echo", "hello"]));
//! assert!(report.ok());
//!
//! let report = stockade.run(ToolCall::exec(["rm", "-rf", "."]));
//! assert!(report.denied());
//! assert_eq!(report.exit_code(), Some(-100));
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

#[cfg(test)]
#[macro_use]
#[path = "../tests/shared/messages.rs"]
mod messages;
// The order is that of the flow: a module uses only those before it, which a test holds.
pub mod call;
pub mod inspect;
pub mod tier;
pub mod journal;
pub mod output;
pub mod files;
pub mod outcome;
pub mod hooks;
pub mod registry;
pub mod gate;
pub mod plan;
pub mod launch;
pub mod report;
mod stockade;

pub use call::ToolCall;
pub use launch::OutputEvent;
pub use report::Report;
pub use stockade::{
    Builder, Canceller, OpenError, Running, StdinWriter, Stockade, TerminalHandle, default_journal,
};
pub use stockade_policy as policy;
pub use stockade_policy::{Policy, bounded, confine, guarantee, json, limits};
pub use stockade_shell as shell;
pub use stockade_shell::catalog;
pub(crate) use stockade_shell::pattern;
