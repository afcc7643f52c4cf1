//! The document: an introduction, and a section for each user that it was measured as.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use rustix::process::geteuid;

const INTRODUCTION: &str = "
# What a launch costs

Written by `cargo bench -p stockade --bench launch`. What is launched is `/bin/true`, and the measure is
a bare `posix_spawn` of it, from the call to the end of the program. All rows of a table are taken in turn,
round by round in one run, so that a slow moment hits each alike; other tools are measured beside, as far
as they are installed. A p99 is compared with the p99 of the bare spawn. Times are one machine's: compare
the ratios.

- *library, very first call*: a new process each time, from before `Stockade::open` to the report; inspection,
  decision, journal and the look at the finished box from outside included, as in every row of the library.
- *later call, a copy of the template*: the same process, the same policy, no box waits.
- *later call, a box that waits*: `Stockade::run` as a whole. *Hand-over to exit* is what the program itself
  waits for: the box is there, the program is handed to it, executed, and has ended. What comes after that
  is apart: the end as far as the caller waits for it, and what a thread does in the background.
- *binary*: a process of its own for each call, which is what a hook of an agent pays.

Nothing can be below the bare spawn: exec, the dynamic loader and the exit of `/bin/true`. What is handed to
a box that waits costs two wake-ups of other processes more. A box that is copied costs its namespaces, of which
the one for the network is the dearest by far, and one that is made from nothing its root, mount by
mount, and the keeper's own exec. The binary pays its own exec and loader before it can do anything: that
floor is `stockade --version`, and for any program at all the static one that does nothing.

What is not met, and why:

- *The first call*: the table of parts has what the kernel alone takes for a box from nothing: the keeper's
  exec, namespaces, a root of some twenty mounts, cgroups and a network namespace make about 4 x bare, before
  anything is inspected, decided, recorded or looked at from outside, and files and knowledge are opened once.
- *A copy*: four processes hand over to each other (host, template, first process, program), and each
  wake-up of an idle processor counts; then four namespaces, three mounts, 41 capabilities to give up one by
  one, Landlock and the filter. A box that waits, which is the default, has all of that behind it.
- *Several in flight*: here only work counts, not waiting. A bare spawn takes 0.8 ms of processor time, four
  times bwrap would leave 1.7 ms for everything, and making and removing namespaces, cgroups and four processes
  takes about 3.
- *The binary*: `stockade --version` alone is a third of bwrap. What is left of the target is less than
  `/bin/true` itself takes.
";

/// Where the document goes.
pub(crate) fn folder() -> PathBuf {
    let named = std::env::var_os("STOCKADE_BENCH_DOCS").map(PathBuf::from);
    named.unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/bench").into())
}

/// The section that this run writes: as which user it is.
pub(crate) fn section() -> String {
    let usual = if geteuid().is_root() { "As root" } else { "As an ordinary user" };
    std::env::var("STOCKADE_BENCH_SECTION").unwrap_or_else(|_| usual.to_owned())
}

/// The chart of a section.
pub(crate) fn chart_name(section: &str) -> String {
    match section {
        "As root" => "launch.svg".to_owned(),
        other => {
            let plain =
                |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
            format!("launch-{}.svg", other.chars().map(plain).collect::<String>())
        }
    }
}

/// Writes a section, and leaves the others as they are.
pub(crate) fn write(section: &str, text: &str) {
    let file = folder().join("launch.md");
    let old = fs::read_to_string(&file).unwrap_or_default();
    fs::write(&file, with_section(&old, section, text)).unwrap();
}

fn with_section(old: &str, section: &str, text: &str) -> String {
    let (open, close) = marks(section);
    let others = match (old.find("<!-- section"), old.find(&open), old.find(&close)) {
        (Some(first), Some(from), Some(to)) => {
            format!("{}{}", &old[first..from], &old[to + close.len()..])
        }
        (Some(first), ..) => old[first..].to_owned(),
        (None, ..) => String::new(),
    };
    let mut sections = vec![format!("{open}\n\n## {section}\n\n{}\n\n{close}", text.trim())];
    if !others.trim().is_empty() {
        sections.push(others.trim().to_owned());
    }
    // The same order whichever was measured last.
    sections.sort_by_key(|section| section.contains("ordinary user -->"));
    format!("{}\n\n{}\n", INTRODUCTION.trim(), sections.join("\n\n"))
}

fn marks(section: &str) -> (String, String) {
    (format!("<!-- section: {section} -->"), format!("<!-- end: {section} -->"))
}

/// The machine in a few words.
pub(crate) fn machine(rounds: usize) -> String {
    let first = |path: &str, name: &str| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
        line.unwrap_or_default().trim_start_matches([' ', '\t', ':']).trim().to_owned()
    };
    let processors = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let user = geteuid().as_raw();
    let mut text = String::new();
    write!(
        text,
        "{processors} processors ({}), Linux {}, user {user}, {rounds} rounds. Landlock ABI {}.",
        first("/proc/cpuinfo", "model name"),
        first("/proc/sys/kernel/osrelease", ""),
        stockade_linux::landlock_abi().map_or_else(|| "none".to_owned(), |abi| abi.to_string()),
    )
    .unwrap();
    text
}
