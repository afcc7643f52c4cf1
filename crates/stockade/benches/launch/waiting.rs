//! What a box that waits takes of memory.

use std::fs;

use stockade_sandbox::{PoolSize, SandboxPool};

use crate::ground::Ground;
use crate::spare;
use crate::table::{Table, at_most};

const MOST_KIB: u32 = 1024;

/// A process in `/proc`.
struct Process {
    pid: i32,
    parent: i32,
    resident_kib: u32,
    /// Pages that others have too are divided by their number; not everybody may look.
    share_kib: Option<u32>,
}

pub(crate) fn measure(ground: &Ground) -> String {
    let pool = SandboxPool::new(PoolSize::Templates { spares: 2 });
    let (ready, _) = spare::waiting(&pool, &ground.project());
    let all = processes();
    let own = i32::try_from(std::process::id()).unwrap();
    let (in_box, other) = ours(&all, own).into_iter().partition::<Vec<_>, _>(|process| {
        process.pid == ready.pid() || process.parent == ready.pid()
    });
    drop(ready);
    let head = ["resident", "processes", "resident, KiB", "proportional share, KiB", "≤ 1 MiB"];
    let mut table = Table::new(&head);
    let mut row = |name: &str, of: &[&Process], target| {
        let resident: u32 = of.iter().map(|process| process.resident_kib).sum();
        let share = of.iter().map(|process| process.share_kib).sum::<Option<u32>>();
        let share =
            share.map_or_else(|| "not shown to this user".to_owned(), |kib| kib.to_string());
        let judged = if target { at_most(resident.into(), MOST_KIB.into()) } else { String::new() };
        table.row([name.to_owned(), of.len().to_string(), resident.to_string(), share, judged]);
    };
    row("a box that waits: its first process and the program's", &in_box, true);
    row("all else in the background, once for each policy, the other spares", &other, false);
    table.to_string()
}

/// All that descend from a process.
fn ours(all: &[Process], root: i32) -> Vec<&Process> {
    let mut found: Vec<&Process> = all.iter().filter(|process| process.parent == root).collect();
    let mut at = 0;
    while let Some(parent) = found.get(at).map(|process| process.pid) {
        found.extend(all.iter().filter(|process| process.parent == parent));
        at += 1;
    }
    found
}

fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(process).collect()
}

fn process(pid: i32) -> Option<Process> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let share = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"));
    let share_kib = share.ok().and_then(|text| number(&text, "Pss:"));
    let parent = i32::try_from(number(&status, "PPid:")?).ok()?;
    Some(Process { pid, parent, resident_kib: number(&status, "VmRSS:")?, share_kib })
}

fn number(text: &str, name: &str) -> Option<u32> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}
