//! What a call costs in a container and on a kernel of its own, beside the engines' own commands in
//! the same run, as a table in `docs/bench/oci.md`.
//!
//! `cargo bench -p stockade --bench oci`; it is no part of the tests. It needs podman, runsc and an
//! image that has `true` and `sleep`, which `STOCKADE_BENCH_IMAGE` names (`stockade image import`
//! makes one). `STOCKADE_BENCH_ROUNDS` (20) says how often, `STOCKADE_BENCH_DOCS` where the table goes.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot measure must stop")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]
#![expect(clippy::disallowed_methods, reason = "it starts what it compares with")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use stockade::tier::Tier;
use stockade::{Policy, Stockade, ToolCall};

const INTRODUCTION: &str = "
# What a call costs in a container and on a kernel of its own

Written by `cargo bench -p stockade --bench oci`: the program is `true`, each row is measured in turn with the
others of its group in one run. Ours are calls of the library, journal included. A cold call of ours makes the
container, asks the engine what it has made, starts it, asks how it ended and removes it: four orders where
`podman run --rm` is one, which makes nothing sure and tells an engine's failure from the program's by a number.
The same flags are given to podman in both. A warm call of ours is one `podman exec` with a look at what is left
after it. `runsc do` shows the whole machine to the program; ours writes a bundle of the system's folders.
";

/// Flags that podman needs where limits cannot be raised; ours sets them too.
const FLAGS: [&str; 9] = [
    "--pull=never",
    "--network=none",
    "--read-only",
    "--cap-drop=all",
    "--security-opt=no-new-privileges",
    "--memory=2g",
    "--pids-limit=1088",
    "--ulimit=nofile=1024:1024",
    "--ulimit=nproc=32768:32768",
];

struct Row {
    name: &'static str,
    beside: &'static str,
    once: Box<dyn FnMut()>,
    times: Vec<Duration>,
}

fn main() {
    let rounds = std::env::var("STOCKADE_BENCH_ROUNDS").map_or(20, |text| text.parse().unwrap());
    let image = std::env::var("STOCKADE_BENCH_IMAGE").unwrap_or("localhost/stockade-test".into());
    let folder = tempfile::tempdir().unwrap();
    let open = |name: &str, policy: Policy| {
        let project = folder.path().join(name);
        fs::create_dir_all(&project).unwrap();
        Stockade::open(&project, policy, &folder.path().join("journal.jsonl")).unwrap()
    };
    let container = |warm: u32| {
        let mut policy = Policy { tier: Tier::Container, ..Policy::shipped() };
        policy.oci.image = Some(image.parse().unwrap());
        policy.oci.warm = std::num::NonZeroU32::new(warm);
        policy
    };
    let cold = open("cold", container(0));
    let warm = open("warm", container(u32::MAX));
    let gvisor = open("gvisor", Policy { tier: Tier::Gvisor, ..Policy::shipped() });
    let jail = open("jail", Policy::shipped());
    let name = format!("stockade-bench-{}", std::process::id());
    bare(
        "podman",
        &[&["run", "--detach", "--name", &name], &FLAGS[..], &[&image, "sleep", "3600"]].concat(),
    );
    let bare_run = [&["run", "--rm"], &FLAGS[..], &[&image, "true"]].concat().join(" ");
    let bare_exec = format!("exec {name} true");
    let platform = match stockade::launch::gvisor() {
        stockade::launch::Gvisor::Works { platform, .. } => platform,
        other @ (stockade::launch::Gvisor::Missing | stockade::launch::Gvisor::Failing(_)) => {
            panic_with(&format!("{other:?}"))
        }
    };
    let bare_do = format!("--platform={platform} --network=none --ignore-cgroups do true");
    let row = |name, beside, once| Row { name, beside, once, times: Vec::new() };
    let mut rows = vec![
        row("`podman run --rm`", "", spawned("podman", bare_run)),
        row("container, cold", "`podman run --rm`", ours(cold)),
        row("`podman exec`", "", spawned("podman", bare_exec)),
        row("container, warm", "`podman exec`", ours(warm)),
        row("`runsc do`", "", spawned("runsc", bare_do)),
        row("gvisor", "`runsc do`", ours(gvisor)),
        row("jail, for comparison", "", ours(jail)),
    ];
    for round in 0..=rounds {
        for row in &mut rows {
            let started = Instant::now();
            (row.once)();
            // The first round makes what is made once.
            if round > 0 {
                row.times.push(started.elapsed());
            }
        }
    }
    bare("podman", &["rm", "--force", "--time", "0", &name]);
    let table = table(&mut rows);
    println!("{table}");
    let docs = std::env::var_os("STOCKADE_BENCH_DOCS").map(PathBuf::from);
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bench");
    let text = format!("{}\n\n{rounds} rounds.\n\n{table}", INTRODUCTION.trim());
    fs::write(docs.unwrap_or_else(usual).join("oci.md"), text).unwrap();
}

fn ours(stockade: Stockade) -> Box<dyn FnMut()> {
    Box::new(move || {
        let report = stockade.run(ToolCall::exec(["true"]));
        assert!(report.ok(), "{report:?}");
    })
}

fn spawned(program: &'static str, args: String) -> Box<dyn FnMut()> {
    Box::new(move || bare(program, &args.split(' ').collect::<Vec<_>>()))
}

fn bare(program: &str, args: &[&str]) {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null());
    assert!(command.status().unwrap().success(), "{program} {args:?}");
}

#[expect(clippy::panic, reason = "a benchmark that cannot measure must stop")]
fn panic_with(why: &str) -> ! {
    panic!("{why}")
}

fn table(rows: &mut [Row]) -> String {
    let mut table = String::from("| | median, ms | worst, ms | beside it |\n|---|---:|---:|---|\n");
    for row in rows.iter_mut() {
        row.times.sort_unstable();
    }
    let median = |row: &Row| row.times.get(row.times.len() / 2).copied().unwrap_or_default();
    for row in rows.iter() {
        let (middle, worst) = (median(row), row.times.last().copied().unwrap_or_default());
        let beside =
            rows.iter().find(|other| other.name == row.beside).map_or(String::new(), |other| {
                format!(
                    "{:.2} × {}",
                    middle.as_secs_f64() / median(other).as_secs_f64(),
                    other.name
                )
            });
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        writeln!(table, "| {} | {:.0} | {:.0} | {beside} |", row.name, ms(middle), ms(worst))
            .unwrap();
    }
    table
}
