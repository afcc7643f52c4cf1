//! A fact about a call. Never a decision: the policy decides which facts refuse.

use std::fmt;

use stockade_shell::ast::Span;

/// One fact that inspection found, with the argument it is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Finding {
    /// Which axis found it.
    pub axis: Axis,
    /// The short name of the rule, such as `denylist`.
    pub rule: &'static str,
    /// The fact in words, naming the argument.
    pub text: String,
    /// The index of the argument in the call's argv, where it is one.
    pub argument: Option<usize>,
    /// What would be accepted.
    pub instead: Option<String>,
    /// The name on a list of the policy that it is about.
    pub listed: Option<String>,
    /// How far the fact reaches.
    pub weight: Weight,
    /// Where in a shell line it is.
    pub span: Option<Span>,
}

impl Finding {
    /// A fact without a place in the call.
    pub fn new(axis: Axis, weight: Weight, rule: &'static str, text: impl Into<String>) -> Self {
        let (text, argument, instead, listed, span) = (text.into(), None, None, None, None);
        Self { axis, rule, text, argument, instead, listed, weight, span }
    }

    /// The same fact, with what would be accepted.
    #[must_use]
    pub fn instead(self, instead: impl Into<String>) -> Self {
        Self { instead: Some(instead.into()), ..self }
    }

    /// The same fact, about this argument of the call.
    #[must_use]
    pub fn at(self, argument: impl Into<Option<usize>>) -> Self {
        Self { argument: argument.into(), ..self }
    }

    /// The same fact, about this part of a shell line.
    #[must_use]
    pub fn in_line(self, span: impl Into<Option<Span>>) -> Self {
        Self { span: span.into(), ..self }
    }

    /// The rule with its axis, as the report names it: `name/denylist`.
    pub fn rule_id(&self) -> String {
        format!("{}/{}", self.axis, self.rule)
    }

    /// Whether it says that other commands may run than those that were found.
    pub fn is_dynamic(&self) -> bool {
        (self.axis, self.rule) == (Axis::Shell, "dynamic")
    }
}

/// The findings about which rules decide, by name.
pub const RULED: [&str; 7] = [
    "change-root",
    "delete-root",
    "delete-wide",
    "destroy-history",
    "destroy-project",
    "download-into-shell",
    "vanish",
];

/// Which profile of built-in refusals a finding matters to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Weight {
    /// Refused in every profile.
    Always,
    /// Refused unless the profile is `contained` and the tier is a box that contains it.
    Boxed,
    /// Refused in the `strict` profile, noted in the others.
    Strict,
    /// In every profile a person has to say.
    Ask,
    /// A rule decides: `Finding(name)`. Without one it refuses nothing.
    Ruled,
    /// Refuses nothing: it says what was not looked at.
    Note,
}

/// The axes in the order in which they are asked; the first refusal wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Axis {
    /// The call itself is malformed.
    Call,
    /// What a shell line is, and what it hides.
    Shell,
    /// Who the program is.
    Name,
    /// What its arguments make it do.
    Argv,
    /// Shell syntax where no shell was asked for.
    Structure,
    /// Where its paths lead.
    Path,
    /// What its variables make programs do.
    Environment,
}

impl Axis {
    /// The name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Shell => "shell",
            Self::Name => "name",
            Self::Argv => "argv",
            Self::Structure => "structure",
            Self::Path => "path",
            Self::Environment => "environment",
        }
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
