//! The order of decisions, and one decision with who made it and why.

use serde::Serialize;

use stockade_shell::ast::Span;

/// The strictest wins: combining two decisions is `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It may run.
    Allow,
    /// A person must say.
    Ask,
    /// It must not run.
    Deny,
}

/// Who decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// A rule of a policy file.
    Rule,
    /// A built-in refusal.
    Axis,
    /// Nothing refused, and the mode lets such calls run.
    Mode,
    /// A hook, which refused, asked, or answered a question.
    Hook,
    /// Nothing decided, so nothing runs.
    Default,
}

impl By {
    /// The name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::Axis => "axis",
            Self::Mode => "mode",
            Self::Hook => "hook",
            Self::Default => "default",
        }
    }
}

impl Decision {
    /// The name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// A decision with its grounds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ruling {
    /// What was decided.
    pub decision: Decision,
    /// By whom.
    pub by: By,
    /// By which rule, such as `name/denylist`.
    pub rule: Option<String>,
    /// Where that rule is written.
    pub source: Option<String>,
    /// Why, in words that name the argument.
    pub reason: Option<String>,
    /// What would be accepted.
    pub instead: Option<String>,
    /// The argument it is about.
    pub argument: Option<usize>,
    /// The part of a shell line that it is about.
    pub span: Option<Span>,
}

impl Ruling {
    /// What nothing is held against.
    pub fn allow(by: By) -> Self {
        Self {
            decision: Decision::Allow,
            by,
            rule: None,
            source: None,
            reason: None,
            instead: None,
            argument: None,
            span: None,
        }
    }

    /// A refusal on these grounds.
    pub fn deny(by: By, rule: &str, reason: impl Into<String>) -> Self {
        Self {
            decision: Decision::Deny,
            by,
            rule: Some(rule.to_owned()),
            source: None,
            reason: Some(reason.into()),
            instead: None,
            argument: None,
            span: None,
        }
    }

    /// The same ruling, with what would be accepted.
    #[must_use]
    pub fn instead(mut self, instead: impl Into<String>) -> Self {
        self.instead = Some(instead.into());
        self
    }
}
