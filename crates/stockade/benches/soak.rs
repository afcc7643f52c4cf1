//! Thousands of calls in one process, after which nothing may be more than before: memory, descriptors,
//! mounts, cgroups, processes and threads, as a table in `docs/bench/soak.md`.
//!
//! `cargo bench -p stockade --bench soak`; it is no part of the tests. `STOCKADE_BENCH_ROUNDS` (10000)
//! says how many calls, `STOCKADE_BENCH_DOCS` where the table goes.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot measure must stop")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]
#![expect(clippy::arithmetic_side_effects, reason = "counts of a few digits")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use stockade::launch::PoolSize;
use stockade::tier::Tier;
use stockade::{Policy, Stockade, ToolCall};

/// Calls before the first look, after which all that is made once has been made.
const UNCOUNTED: usize = 200;
const LOOKS: usize = 10;
/// The allocator's own wavering.
const MEMORY_SLACK_KIB: usize = 1024;

const INTRODUCTION: &str = "
# Many calls in one process

Written by `cargo bench -p stockade --bench soak`: calls of `/bin/true` in the jail, one after the other in
one process, two boxes waiting. Nothing may grow: mounts are the host's, cgroups and processes those of this
process. Between the last call and a look there is time for what is removed in the background.
";

fn main() {
    let calls = std::env::var("STOCKADE_BENCH_ROUNDS").map_or(10_000, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("project");
    fs::create_dir(&project).unwrap();
    let policy = Policy { tier: Tier::Jail, ..Policy::shipped() };
    let journal = folder.path().join("journal.jsonl");
    let builder = Stockade::builder(&project, policy).journal(&journal);
    let stockade = builder.pool(PoolSize::Templates { spares: 2 }).open().unwrap();
    run(&stockade, UNCOUNTED);
    let before = look();
    let mut table = String::from(
        "| calls | resident, KiB | descriptors | mounts | cgroups | processes | threads | calls a second |\n\
         |---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    before.write(&mut table, 0, None);
    let mut now = before;
    for part in 1..=LOOKS {
        let begun = Instant::now();
        run(&stockade, calls / LOOKS);
        let took = begun.elapsed();
        now = look();
        now.write(
            &mut table,
            calls / LOOKS * part,
            Some(took / u32::try_from(calls / LOOKS).unwrap()),
        );
    }
    println!("{table}");
    let flat = (now.descriptors, now.mounts, now.cgroups, now.processes, now.threads);
    let was = (before.descriptors, before.mounts, before.cgroups, before.processes, before.threads);
    assert_eq!(flat, was, "descriptors, mounts, cgroups, processes, threads");
    assert!(now.resident_kib <= before.resident_kib + MEMORY_SLACK_KIB, "memory grew");
    drop(stockade);
    let left = look();
    assert_eq!((left.processes, left.cgroups), (0, 0), "left when all is dropped");
    println!("flat, and nothing is left");
    let text = format!("{}\n\n{table}", INTRODUCTION.trim());
    let docs = std::env::var_os("STOCKADE_BENCH_DOCS").map(PathBuf::from);
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bench");
    fs::write(docs.unwrap_or_else(usual).join("soak.md"), text).unwrap();
}

fn run(stockade: &Stockade, calls: usize) {
    for _call in 0..calls {
        let report = stockade.run(ToolCall::exec(["/bin/true"]));
        assert!(report.ok(), "{report:?}");
    }
}

/// What this process has at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    resident_kib: usize,
    descriptors: usize,
    mounts: usize,
    cgroups: usize,
    processes: usize,
    threads: usize,
}

impl Look {
    fn write(&self, table: &mut String, calls: usize, each: Option<Duration>) {
        let Self { resident_kib, descriptors, mounts, cgroups, processes, threads } = self;
        let speed =
            each.map_or_else(String::new, |each| format!("{:.0}", 1.0 / each.as_secs_f64()));
        writeln!(
            table,
            "| {calls} | {resident_kib} | {descriptors} | {mounts} | {cgroups} | {processes} | {threads} | {speed} |"
        )
        .unwrap();
    }
}

/// Looks once what goes on in the background has come to rest.
fn look() -> Look {
    const LONGEST: Duration = Duration::from_secs(10);
    let begun = Instant::now();
    let mut last = count();
    loop {
        thread::sleep(Duration::from_millis(200));
        let now = count();
        let rests = Look { resident_kib: 0, ..now } == Look { resident_kib: 0, ..last };
        if rests || begun.elapsed() > LONGEST {
            return now;
        }
        last = now;
    }
}

fn count() -> Look {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    Look {
        resident_kib: number(&status, "VmRSS:").unwrap(),
        descriptors: fs::read_dir("/proc/self/fd").unwrap().count(),
        mounts: fs::read_to_string("/proc/self/mountinfo").unwrap().lines().count(),
        cgroups: cgroups(Path::new("/sys/fs/cgroup")),
        processes: descendants(),
        threads: number(&status, "Threads:").unwrap(),
    }
}

/// The folders of this process's boxes, wherever in the trees they are.
fn cgroups(folder: &Path) -> usize {
    let own = format!("stockade-{}-", std::process::id());
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let folders =
        entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let one = |entry: fs::DirEntry| {
        let is_own = entry.file_name().to_string_lossy().starts_with(&own);
        usize::from(is_own) + cgroups(&entry.path())
    };
    folders.map(one).sum()
}

/// All processes beneath this one, zombies too.
fn descendants() -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<usize>().ok());
    let parent = |pid: usize| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        Some((pid, number(&status, "PPid:")?))
    };
    let all: Vec<(usize, usize)> = pids.filter_map(parent).collect();
    let mut found = vec![usize::try_from(std::process::id()).unwrap()];
    let mut at = 0;
    while let Some(&above) = found.get(at) {
        found.extend(all.iter().filter(|(_, parent)| *parent == above).map(|(pid, _)| *pid));
        at += 1;
    }
    found.len() - 1
}

fn number(text: &str, name: &str) -> Option<usize> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}
