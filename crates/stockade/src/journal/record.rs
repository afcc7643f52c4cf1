//! The versioned format of the journal: one JSON object a line.
//!
//! These types are a promise to whoever reads the file, so a change of meaning needs a new
//! [`VERSION`]. No field holds free text about a call: reasons quote arguments, and arguments hold
//! secrets.

use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

/// The version of the format that is written, and the only one that is read.
pub const VERSION: u32 = 1;

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The version of the format.
    pub v: u32,
    /// The place in the file, from 1, without gaps.
    pub seq: u64,
    /// When it was written, by the wall clock, to the millisecond.
    #[serde(with = "rfc3339")]
    pub time: SystemTime,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
    /// The hash of the line before, [`Hash::ZERO`] in the first line.
    pub prev: Hash,
    /// The hash of this line up to this field.
    pub hash: Hash,
}

/// What a line tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// A call was judged.
    Verdict(Verdict),
    /// A call ran and ended.
    Outcome(Outcome),
    /// A person was asked about a call, and this is what came of it.
    Answer(Answer),
    /// A call was allowed and could not be run.
    Failure(Failure),
    /// What a call of a session had left running has ended.
    LeftEnded(LeftoversEnd),
    /// A torn last line was cut off.
    Repaired(Repair),
}

/// The gate's answer to one call, written before anything runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The id of the call.
    pub call: String,
    /// The tool's name.
    pub tool: String,
    /// The command without its secrets, from [`preview`](super::preview::preview).
    pub preview: String,
    /// The command's identity, from [`digest`](super::preview::digest).
    pub sha256: Hash,
    /// The project root.
    pub root: String,
    /// What was decided.
    pub decision: Decision,
    /// What decided: `rule`, `axis`, `mode`, `hook` or `default`.
    pub by: String,
    /// The rule, as it is written in the policy.
    pub rule: Option<String>,
    /// The index of the argument that decided.
    pub argument: Option<usize>,
    /// Where the rule is written, as `file:line`.
    pub source: Option<String>,
    /// Whether there would have been a question if there were no box; left out where not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spared: bool,
    /// The number of the attempt, where it is not the first: a tool that failed for now is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Set where a hook had rewritten the call before it was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewritten: Option<Rewrite>,
}

/// What a call was before a hook rewrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rewrite {
    /// The hook.
    pub by: String,
    /// The identity of the command that was asked for.
    pub sha256: Hash,
}

/// A decision as it is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The call may run.
    Allow,
    /// A person must say.
    Ask,
    /// The call is refused.
    Deny,
}

/// What a person said to a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The id of the call.
    pub call: String,
    /// The `seq` of its verdict, which is `ask`.
    pub entry: u64,
    /// The answer.
    pub answer: Reply,
    /// Who was asked; none where nobody could be.
    pub by: Option<String>,
}

/// An answer as it is recorded. What a person wrote to the agent is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Yes, this once.
    Once,
    /// Yes, for as long as the program runs.
    Session,
    /// Yes, from now on.
    Always,
    /// No.
    No,
    /// No, because nobody answered in time.
    Silence,
    /// No, because there was nobody to ask.
    Nobody,
}

impl Reply {
    /// The name in the journal and in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "session",
            Self::Always => "always",
            Self::No => "no",
            Self::Silence => "silence",
            Self::Nobody => "nobody",
        }
    }

    /// Whether the call could run.
    pub fn is_yes(self) -> bool {
        matches!(self, Self::Once | Self::Session | Self::Always)
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The id of the call.
    pub call: String,
    /// The `seq` of its verdict.
    pub entry: u64,
    /// The tier it ran in.
    pub tier: String,
    /// The program's own exit code.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether the wall-clock limit ended it.
    pub timed_out: bool,
    /// The limit that was hit.
    pub limit: Option<String>,
    /// The time from start to end, in milliseconds to three places.
    #[serde(rename = "wall_ms", with = "millis")]
    pub wall: std::time::Duration,
    /// The processor time of the whole tree, in milliseconds to three places.
    #[serde(rename = "cpu_ms", with = "millis")]
    pub cpu: std::time::Duration,
    /// The most memory it held at once, where that is known.
    pub peak_memory_bytes: Option<u64>,
    /// How much it wrote to standard output, before any cut.
    pub stdout_bytes: u64,
    /// How much it wrote to standard error, before any cut.
    pub stderr_bytes: u64,
    /// Whether output was cut.
    pub truncated: bool,
}

/// The end of processes that a call of a session had left running, after its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftoversEnd {
    /// The id of the call.
    pub call: String,
    /// The `seq` of its verdict.
    pub entry: u64,
    /// The limit that ended them; `cancelled` if they were told to end, none if they ended by themselves.
    pub limit: Option<String>,
    /// Whether they were ended because what confined them was undone from outside, or because they had
    /// created a protected path; left out where not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub breach: bool,
    /// The time from the start of the call, in milliseconds to three places.
    #[serde(rename = "wall_ms", with = "millis")]
    pub wall: std::time::Duration,
    /// The processor time of the whole tree from the start of the call, in milliseconds to three places.
    #[serde(rename = "cpu_ms", with = "millis")]
    pub cpu: std::time::Duration,
    /// The most memory it held at once, where that is known.
    pub peak_memory_bytes: Option<u64>,
}

/// An allowed call that could not be run as promised, so that it did not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The id of the call.
    pub call: String,
    /// The `seq` of its verdict.
    pub entry: u64,
    /// The step that failed.
    pub step: String,
    /// The guarantee that could not be kept.
    pub guarantee: Option<String>,
}

/// A fragment that was cut off the end of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repair {
    /// Its length.
    pub dropped_bytes: u64,
    /// Its SHA-256.
    pub dropped_sha256: Hash,
}

/// A SHA-256, written as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hash([u8; 32]);

impl Hash {
    /// What the first line names as the hash before it.
    pub const ZERO: Self = Self([0; 32]);

    /// The hash with these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        HEXLOWER.encode_display(&self.0).fmt(f)
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({self})")
    }
}

/// A text that is not 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("read a hash: it must be 64 lower-case hexadecimal digits")]
pub struct NotAHash;

impl FromStr for Hash {
    type Err = NotAHash;

    fn from_str(text: &str) -> Result<Self, NotAHash> {
        HEXLOWER
            .decode(text.as_bytes())
            .ok()
            .and_then(|bytes| bytes.try_into().ok())
            .map(Self)
            .ok_or(NotAHash)
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&HEXLOWER.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        std::borrow::Cow::<'de, str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

mod rfc3339 {
    use std::fmt::Write as _;

    use super::{Deserialize, Deserializer, Serializer, SystemTime, de, ser};

    pub(super) fn serialize<S: Serializer>(time: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
        let mut text = String::with_capacity(24);
        // Display fails for years before 1970 and after 9999, which `to_string` would turn into a
        // panic.
        write!(text, "{}", humantime::format_rfc3339_millis(*time)).map_err(ser::Error::custom)?;
        to.serialize_str(&text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SystemTime, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
        humantime::parse_rfc3339(&text).map_err(de::Error::custom)
    }
}

mod millis {
    use std::time::Duration;

    use super::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64((time.as_secs_f64() * 1e6).round() / 1e3)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        let millis = f64::deserialize(from)?;
        Duration::try_from_secs_f64((millis * 1e3).round() / 1e6).map_err(de::Error::custom)
    }
}
