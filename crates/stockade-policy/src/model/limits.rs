//! What a run may use: time, memory, processes, bytes. Quantities are types, parsed once.

pub mod shortage;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The limits of one run. `None` means that this limit is not set.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Time on the monotonic clock from start to end, for a call without a deadline of its own.
    pub wall: Duration,
    /// The longest deadline that a call can ask for.
    pub wall_max: Duration,
    /// The deadline of a command that an agent runs in the background.
    pub background_max: Duration,
    /// CPU time of one process, and with a second of grace of the whole tree.
    pub cpu: Option<Duration>,
    /// Processors' worth of time that the whole tree may use at once, where the tier can.
    pub cpus: Option<Processors>,
    /// Memory: the address space of each process, or of the whole tree where the tier can.
    pub memory: Option<ByteCount>,
    /// Processes alive at once in the whole tree.
    pub processes: Option<u32>,
    /// The largest file that may be written.
    pub file_size: Option<ByteCount>,
    /// Room on the disk that a run may add to what its writable folders take.
    pub disk: Option<ByteCount>,
    /// Files, folders and links that a run may add.
    pub files: Option<u64>,
    /// Open files of one process.
    pub open_files: u64,
    /// Bytes kept of each output stream.
    pub output: ByteCount,
    /// Bytes after which a stream that is still flowing ends the run.
    pub flood: ByteCount,
}

impl Limits {
    /// No deadline.
    pub const NO_DEADLINE: Duration = Duration::MAX;

    /// The defaults of `Exec` and of shell lines.
    pub const EXEC: Self = Self {
        wall: Duration::from_secs(120),
        wall_max: Duration::from_secs(2 * 60 * 60),
        background_max: Self::NO_DEADLINE,
        cpu: None,
        cpus: None,
        memory: Some(ByteCount::gib(2)),
        processes: Some(512),
        file_size: Some(ByteCount::gib(1)),
        disk: Some(ByteCount::gib(4)),
        files: Some(200_000),
        open_files: 1024,
        output: ByteCount::kib(64),
        flood: ByteCount::gib(1),
    };

    /// The defaults of `Code` and of registered tools.
    pub const CODE: Self = Self {
        wall: Duration::from_secs(30),
        cpu: Some(Duration::from_secs(10)),
        memory: Some(ByteCount::mib(512)),
        processes: Some(64),
        file_size: Some(ByteCount::mib(10)),
        ..Self::EXEC
    };

    /// Sets the deadline that a call asks for, as far as it may.
    pub fn ask_for(&mut self, wall: Option<Duration>) {
        self.wall = wall.map_or(self.wall, |wall| wall.min(self.wall_max));
    }

    /// The stricter of two sets, limit by limit.
    #[must_use]
    pub fn strictest(&self, other: &Self) -> Self {
        Self {
            wall: self.wall.min(other.wall),
            wall_max: self.wall_max.min(other.wall_max),
            background_max: self.background_max.min(other.background_max),
            cpu: stricter(self.cpu, other.cpu),
            cpus: stricter(self.cpus, other.cpus),
            memory: stricter(self.memory, other.memory),
            processes: stricter(self.processes, other.processes),
            file_size: stricter(self.file_size, other.file_size),
            disk: stricter(self.disk, other.disk),
            files: stricter(self.files, other.files),
            open_files: self.open_files.min(other.open_files),
            output: self.output.min(other.output),
            flood: self.flood.min(other.flood),
        }
    }
}

/// The limits of a session: what its calls leave running, all together, and how long it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionLimits {
    /// How long a session without calls and without running processes is kept.
    pub idle: Duration,
    /// Processes and threads that its calls have left running.
    pub processes: u32,
    /// Memory that these hold.
    pub memory: ByteCount,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self { idle: Duration::from_secs(30 * 60), processes: 512, memory: ByteCount::gib(4) }
    }
}

impl SessionLimits {
    /// The stricter of two sets, limit by limit.
    #[must_use]
    pub fn strictest(self, other: Self) -> Self {
        Self {
            idle: self.idle.min(other.idle),
            processes: self.processes.min(other.processes),
            memory: self.memory.min(other.memory),
        }
    }
}

fn stricter<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, None) | (None, one) => one,
    }
}

/// What ended a run before its own end, known from evidence and never from an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitHit {
    /// The wall-clock deadline.
    Wall,
    /// CPU time.
    Cpu,
    /// Memory.
    Memory,
    /// The number of processes.
    Processes,
    /// The size of a file.
    FileSize,
    /// The room that was added on the disk.
    Disk,
    /// The number of files that were added.
    Files,
    /// The flood limit of an output stream.
    Output,
    /// None: the caller cancelled the call.
    Cancelled,
}

impl LimitHit {
    /// The limit of this name.
    pub fn named(name: &str) -> Option<Self> {
        const ALL: [LimitHit; 9] = [
            LimitHit::Wall,
            LimitHit::Cpu,
            LimitHit::Memory,
            LimitHit::Processes,
            LimitHit::FileSize,
            LimitHit::Disk,
            LimitHit::Files,
            LimitHit::Output,
            LimitHit::Cancelled,
        ];
        ALL.into_iter().find(|limit| limit.name() == name)
    }

    /// The name that the report and the journal use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wall => "wall",
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Processes => "processes",
            Self::FileSize => "file_size",
            Self::Disk => "disk",
            Self::Files => "files",
            Self::Output => "output",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A number of bytes, written as `512`, `64K`, `64KiB`, `10M` or `1GiB` (units of 1024).
///
/// ```
/// use stockade_policy::limits::ByteCount;
/// assert_eq!("64K".parse(), Ok(ByteCount::kib(64)));
/// assert_eq!(ByteCount::gib(1).to_string(), "1GiB");
/// assert!("64 parsecs".parse::<ByteCount>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteCount(u64);

impl ByteCount {
    /// This many bytes.
    pub const fn bytes(count: u64) -> Self {
        Self(count)
    }

    /// This many times 1024 bytes.
    pub const fn kib(count: u64) -> Self {
        Self(count.saturating_mul(1 << 10))
    }

    /// This many times 1024² bytes.
    pub const fn mib(count: u64) -> Self {
        Self(count.saturating_mul(1 << 20))
    }

    /// This many times 1024³ bytes.
    pub const fn gib(count: u64) -> Self {
        Self(count.saturating_mul(1 << 30))
    }

    /// The plain number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The plain number as a size in memory, capped at what this machine can address.
    pub fn as_len(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

const UNITS: [(&str, u64); 4] =
    [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, size) in UNITS {
            if self.0 != 0 && self.0.is_multiple_of(size) {
                return write!(f, "{}{name}", self.0.checked_div(size).unwrap_or_default());
            }
        }
        write!(f, "{}", self.0)
    }
}

impl FromStr for ByteCount {
    type Err = NotABytesCount;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let digits = text.len().min(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
        let (number, unit) = text.split_at(digits);
        let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kb" | "kib" => 1 << 10,
            "m" | "mb" | "mib" => 1 << 20,
            "g" | "gb" | "gib" => 1 << 30,
            "t" | "tb" | "tib" => 1 << 40,
            _ => return Err(NotABytesCount(text.to_owned())),
        };
        number
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(factor))
            .map(Self)
            .ok_or_else(|| NotABytesCount(text.to_owned()))
    }
}

/// An invalid number of bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid size {0:?}; expected a number with an optional unit, such as 512, 64K or 1GiB")]
pub struct NotABytesCount(String);

/// A number of processors, in thousandths: `2`, `1.5` or `0.25`.
///
/// ```
/// use stockade_policy::limits::Processors;
/// assert_eq!("1.5".parse::<Processors>().unwrap().thousandths(), 1500);
/// assert!("0".parse::<Processors>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Processors(u32);

impl Processors {
    /// The number, a thousand to each.
    pub const fn thousandths(self) -> u32 {
        self.0
    }
}

impl FromStr for Processors {
    type Err = NotProcessors;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const DIGITS: usize = 3;
        let wrong = || NotProcessors(text.to_owned());
        let (whole, part) = text.trim().split_once('.').unwrap_or((text.trim(), "0"));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !is_number(whole) || !is_number(part) || part.len() > DIGITS {
            return Err(wrong());
        }
        let thousandths: u32 = format!("{part:0<DIGITS$}").parse().map_err(|_long| wrong())?;
        let whole: u32 = whole.parse().map_err(|_long| wrong())?;
        let all = whole.checked_mul(1000).and_then(|whole| whole.checked_add(thousandths));
        // The kernel divides a tenth of a second, and gives no less than a hundredth of that.
        all.filter(|all| *all >= 10).map(Self).ok_or_else(wrong)
    }
}

/// An invalid number of processors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid number of processors {0:?}; expected one such as 2, 1.5 or 0.25, at least 0.01")]
pub struct NotProcessors(String);

/// Reads `30s`, `500ms`, `2m` or a plain number of seconds.
pub fn parse_duration(text: &str) -> Result<Duration, NotADuration> {
    let text = text.trim();
    let parsed = match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_not_a_plain_number) => humantime::parse_duration(text).ok(),
    };
    parsed.ok_or_else(|| NotADuration(text.to_owned()))
}

/// Reads a deadline: a duration, or `none`.
pub fn parse_deadline(text: &str) -> Result<Duration, NotADuration> {
    if text.trim() == "none" { Ok(Limits::NO_DEADLINE) } else { parse_duration(text) }
}

/// An invalid duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid duration {0:?}; expected one such as 30s, 500ms or 2m")]
pub struct NotADuration(String);
