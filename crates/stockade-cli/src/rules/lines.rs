//! Shell lines that named rules carry as examples, held against the whole gate.

use std::path::Path;

use stockade::confine::Origin;
use stockade::gate::Examiner;
use stockade::inspect::{ResolverError, Root};
use stockade::policy::rules::{Example, Fit, Rule};
use stockade::{Policy, ToolCall};

/// One example that was tried.
pub(super) struct ExampleTrial {
    /// Where its rule is written.
    pub(super) place: Option<String>,
    /// What is wrong with it, if anything is.
    pub(super) wrong: Option<String>,
}

/// Tries the examples of the rules that are not shipped, from this folder.
pub(super) fn tried(root: &Path, policy: &Policy) -> Result<Vec<ExampleTrial>, ResolverError> {
    let examiner = Examiner::new(Root::open(root)?, policy.clone());
    let mut tried = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for rule in policy.rules.all().iter().filter(|rule| rule.origin() != Origin::Shipped) {
        // All rules of a name carry the same examples.
        let Some(name) = rule.name().filter(|name| !names.contains(name)) else { continue };
        names.push(name);
        let of =
            |example| ExampleTrial { place: rule.place(), wrong: wrong(&examiner, rule, example) };
        tried.extend(rule.lines().all().map(of));
    }
    Ok(tried)
}

fn wrong(examiner: &Examiner, rule: &Rule, example: Example<'_>) -> Option<String> {
    let (line, expected) = match example {
        Example::Match(line) => (line, true),
        Example::NotMatch(line) => (line, false),
    };
    let call = ToolCall::line(line);
    let examination = examiner.examine(&call);
    let considered = examiner.consider(&call, &examination);
    let mut of_name = considered.iter().filter(|one| one.rule.name() == rule.name());
    let is_met = of_name.any(|one| match one.fit {
        Fit::Decides(_) | Fit::Matches(_) => true,
        // A stricter rule has decided, so that nobody knows.
        Fit::NotReached => expected,
        Fit::Partly(_) | Fit::No => false,
    });
    let name = rule.name().unwrap_or_default();
    match (is_met, expected) {
        (true, true) | (false, false) => None,
        (false, true) => Some(format!("the rule {name:?}: {line:?} does not match, and should")),
        (true, false) => Some(format!("the rule {name:?}: {line:?} matches, and should not")),
    }
}
