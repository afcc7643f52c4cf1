//! The gate's answer. A repeated refusal says so, so that the agent tries something else.

use std::time::Duration;

use super::Gate;
use super::permit::Permit;
use super::question::Question;
use crate::journal::{EntryId, Repetition};
use crate::outcome::Failure;
use crate::policy::{By, Ruling};

/// The gate's answer to one call.
#[derive(Debug)]
#[must_use = "a verdict that nobody reads lets nothing run"]
pub enum Verdict {
    /// It may run, once, by this permit.
    Allowed(Box<Permit>),
    /// A person has to answer: [`Gate::settle`](super::Gate::settle).
    Ask(Box<Question>),
    /// The call is refused.
    Refused(Refusal),
    /// The call may run but cannot, for example because the program is missing.
    Impossible(Failure),
}

/// A refused call: by which rule, why, and what would be accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What decided.
    pub by: By,
    /// The rule, as `name/denylist`.
    pub rule: String,
    /// The place of the rule.
    pub source: Option<String>,
    /// The reason, naming the argument.
    pub reason: String,
    /// What would be accepted.
    pub instead: Option<String>,
    /// How often this was refused recently, including this time; set from the second time on.
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

impl Gate {
    /// Adds to a repeated refusal how often it was given recently.
    pub(super) fn again(&self, mut refusal: Refusal, entry: EntryId) -> Refusal {
        let Some(repeated) = self.journal.repeated(entry) else { return refusal };
        let Repetition { times, may_be_more, since } = repeated;
        let least = if may_be_more { "at least " } else { "" };
        let instead = match refusal.instead {
            Some(_) => "do what is said instead",
            None => "do without it",
        };
        refusal.reason = format!(
            "{}; this is {least}the {} time in {} that this is refused, and trying it again will not \
             change that: {instead}, or ask the person",
            refusal.reason,
            ordinal(times),
            span(since)
        );
        refusal.repeated = Some(times);
        refusal
    }
}

fn ordinal(number: u32) -> String {
    let words = ["second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"];
    let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(2));
    match (place.and_then(|place| words.get(place)), number % 10, number % 100) {
        (Some(word), ..) => (*word).to_owned(),
        (None, 1, end) if end != 11 => format!("{number}st"),
        (None, 2, end) if end != 12 => format!("{number}nd"),
        (None, 3, end) if end != 13 => format!("{number}rd"),
        (None, ..) => format!("{number}th"),
    }
}

/// A duration in words, rounded up.
fn span(since: Duration) -> String {
    match since.as_secs() {
        0..=59 => "a minute".to_owned(),
        seconds => format!("{} minutes", seconds.div_ceil(60).max(2)),
    }
}

#[cfg(test)]
mod tests {
    use super::{ordinal, span};
    use std::time::Duration;

    #[test]
    fn numbers_and_times_are_words() {
        let ordinals = [2, 3, 9, 10, 11, 12, 13, 21, 22, 23, 101, 111].map(ordinal);
        let expected = ["second", "third", "ninth", "10th", "11th", "12th", "13th", "21st", "22nd"];
        assert_eq!(ordinals[..9], expected);
        assert_eq!(ordinals[9..], ["23rd", "101st", "111th"]);
        let spans = [0, 59, 60, 61, 121].map(|seconds| span(Duration::from_secs(seconds)));
        assert_eq!(spans, ["a minute", "a minute", "2 minutes", "2 minutes", "3 minutes"]);
    }
}
