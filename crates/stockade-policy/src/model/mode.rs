//! How much is done without a question: the six modes, and which of them is stricter.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// What happens to a call about which no rule says anything.
///
/// The order is partial: `plan` and `dont-ask` are each stricter than the others, and neither is
/// stricter than the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// What may change something is asked about.
    Default,
    /// The same, but edits of files in the folders of the work run.
    AcceptEdits,
    /// Looking only: edits are refused, and what else may change something is asked about.
    Plan,
    /// What the box contains runs.
    #[default]
    Auto,
    /// Only what a rule allows, or what changes nothing; questions are refusals.
    DontAsk,
    /// Everything runs that nothing refuses.
    Bypass,
}

/// Every mode by its names, the first of which is ours; the others are those of settings files.
const NAMES: [(Mode, &[&str]); 6] = [
    (Mode::Default, &["default", "manual"]),
    (Mode::AcceptEdits, &["accept-edits", "acceptEdits"]),
    (Mode::Plan, &["plan"]),
    (Mode::Auto, &["auto"]),
    (Mode::DontAsk, &["dont-ask", "dontAsk"]),
    (Mode::Bypass, &["bypass", "bypassPermissions"]),
];

impl Mode {
    /// All of them, in the order of the documents.
    pub const ALL: [Self; 6] =
        [Self::Default, Self::AcceptEdits, Self::Plan, Self::Auto, Self::DontAsk, Self::Bypass];

    /// The name in policy files and on the command line.
    pub fn name(self) -> &'static str {
        self.names().first().copied().unwrap_or_default()
    }

    /// All names that are understood.
    pub fn names(self) -> &'static [&'static str] {
        let names = NAMES.iter().find(|(mode, _)| *mode == self).map(|(_, names)| *names);
        names.unwrap_or_default()
    }

    fn rank(self) -> u8 {
        match self {
            Self::Bypass => 0,
            Self::Auto => 1,
            Self::AcceptEdits => 2,
            Self::Default => 3,
            Self::Plan | Self::DontAsk => 4,
        }
    }
}

/// The greater mode is the stricter one: it lets nothing run that the other asks about or refuses.
impl PartialOrd for Mode {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let order = self.rank().cmp(&other.rank());
        (order != Ordering::Equal || self == other).then_some(order)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        let named = NAMES.iter().find(|(_, names)| names.contains(&text));
        named.map(|(mode, _)| *mode).ok_or_else(|| UnknownMode(text.to_owned()))
    }
}

/// A text that names no mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown mode {0:?}; expected default, accept-edits, plan, auto, dont-ask or bypass")]
pub struct UnknownMode(String);
