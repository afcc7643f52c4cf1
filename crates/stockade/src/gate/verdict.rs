//! The gate's answer.

use super::permit::Permit;
use super::question::Question;
use crate::outcome::Failure;
use crate::policy::{By, Ruling};

/// What the gate says to one call.
#[derive(Debug)]
#[must_use = "a verdict that nobody reads lets nothing run"]
pub enum Verdict {
    /// It may run, once, by this permit.
    Allowed(Box<Permit>),
    /// A person must say: [`Gate::settle`](super::Gate::settle).
    Ask(Box<Question>),
    /// We said no.
    Refused(Refusal),
    /// There is nothing that could run.
    Impossible(Failure),
}

/// We said no: by which rule, why, and what would be accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Who decided.
    pub by: By,
    /// The rule, as `name/denylist`.
    pub rule: String,
    /// Where it is written.
    pub source: Option<String>,
    /// Why, naming the argument.
    pub reason: String,
    /// What would be accepted.
    pub instead: Option<String>,
    /// How often the same was refused of late, this time included; set from the second on.
    pub repeated: Option<u32>,
}

impl From<Ruling> for Refusal {
    fn from(ruling: Ruling) -> Self {
        Self {
            by: ruling.by,
            rule: ruling.rule.unwrap_or_default(),
            source: ruling.source,
            reason: ruling.reason.unwrap_or_default(),
            instead: ruling.instead,
            repeated: None,
        }
    }
}
