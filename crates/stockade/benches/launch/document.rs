//! The document: an introduction, and a section for each user that it was measured as.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use rustix::process::geteuid;

const INTRODUCTION: &str = "
# What a launch costs

Written by `cargo bench -p stockade --bench launch`. What is launched is `/bin/true`, and the measure is
a bare `posix_spawn` of it, from the call to the end of the program. All rows of a table are taken in turn,
round by round in one run, so that a slow moment hits each alike, with a rest of 5 ms before each, so that
none pays for what another one has left behind; other tools are measured beside, as far as
they are installed. A p99 is compared with the p99 of the bare spawn. Times are one machine's: compare the ratios.

- *library, very first call*: a new process each time, from before `Stockade::open` to the report; inspection,
  decision, journal and the look at the finished box from outside included, as in every row of the library.
- *later call, a copy of the template*: the same process, the same policy, no box waits.
- *later call, a box that waits*: `Stockade::run` as a whole. *Hand-over to exit* is what the program itself
  waits for: the box is there, the program is handed to it, executed, and has ended. What comes after that
  is apart: the end as far as the caller waits for it, and what a thread does in the background.
- *`stockade run`*: a process of its own for each call, which is what a hook of an agent pays; as it is installed, for musl, and
  as `cargo build` makes it, for glibc.

No whole call can be below the bare spawn: exec, the dynamic loader and the exit of `/bin/true`. *The floor* is what the
system calls of a box cost by themselves: namespaces, a root of the same mounts, no capabilities, Landlock, a filter,
a first process and the program, by a C program (`benches/launch/floor.c`) that judges, records, limits, reads and
looks at nothing. *By the caller itself* is what a library could reach in its first call, *as a command* what a
command could. Below `stockade --version` no command of Stockade can be: that is its own exec and start.

Where the time goes, what is not met, and where the floor is:

- *The first call*: what is above the floor is work that the floor does not do. The host opens the project, judges and records the
  call, searches the project for what is hidden and protected, makes cgroups, spawns the shim, and looks at the finished box from
  outside. Nothing is started before the call is allowed ([decision 0026](../decisions/0026-less-machinery.md)).
- *A copy* takes four processes that hand over to each other, four namespaces, three mounts, 41 capabilities to give up one by one,
  Landlock and the filter. A box that waits, which is the default, has all of that behind it, and costs less than no box.
- *Several in flight*: here only work counts, not waiting. The floor itself is at some 4 times bwrap, where the target is, and
  has no cgroup, no pipe, no journal and no look at the box. Without any box the same calls reach 3 to 4 times bwrap.
- *The command*: the floor as a command is above the target. A virtual machine is asked some 70 times what its processor can do before
  `main` of a program of glibc; the command for musl, which is how it is installed, does without
  ([decision 0021](../decisions/0021-musl.md)). As the other tools are run here they have neither Landlock nor a cgroup, and nothing is
  judged, recorded or looked at.
- *With all processors busy* a process that is woken waits for the next tick of the scheduler, some 2 ms here, since this
  kernel does not preempt. A box from nothing is handed on some ten times, and what makes it takes short turns for that
  ([decision 0021](../decisions/0021-musl.md)); a box that waits is handed on twice. The bare spawn itself differs by half from one run to the next.

*Work in the box* is held to what the program itself takes. From the call to the report there is the look for what it
changed besides, which costs as much as there are files (`box.changes`).
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
        stockade_sandbox::landlock_abi().map_or_else(|| "none".to_owned(), |abi| abi.to_string()),
    )
    .unwrap();
    text
}
