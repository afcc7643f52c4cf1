//! What a launch costs beside a bare spawn of the same program, as a table in
//! `docs/bench/launch.md`.
//!
//! `cargo bench -p stockade --bench launch` measures and writes the table; it is no part of the
//! tests. Rows are measured in turn, round by round, so that a slow moment hits all of them.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set up its project must stop")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]
#![expect(clippy::indexing_slicing, clippy::type_complexity, reason = "fixed tables of a few rows")]
#![expect(clippy::disallowed_methods, reason = "the bare spawn is what we compare with")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use stockade::launch::Warmth;
use stockade::tier::Tier;
use stockade::{Policy, Stockade, ToolCall};

const ROUNDS: usize = 300;
const BALLAST_BYTES: usize = 1 << 30;

fn main() {
    let project = tempfile::tempdir().unwrap();
    let open = |tier: Tier| {
        let policy = Policy { tier, ..Policy::shipped() };
        let journal = project.path().join(format!("{tier}.jsonl"));
        Stockade::open(project.path(), policy, &journal).unwrap()
    };
    let (process, jail) = (open(Tier::Process), open(Tier::Jail).with_warmth(Warmth::Cold));
    let copied = open(Tier::Jail).with_warmth(Warmth::Warm { spares: 0 });
    let waiting = open(Tier::Jail).with_warmth(Warmth::Warm { spares: 2 });
    let run = |stockade: &Stockade| assert!(stockade.run(ToolCall::exec(["/bin/true"])).ok());
    let mut rows: Vec<(String, Box<dyn FnMut()>)> = vec![
        ("bare spawn of `/bin/true`".to_owned(), Box::new(|| bare(&mut Command::new("/bin/true")))),
        ("`Stockade::run`, process tier".to_owned(), Box::new(move || run(&process))),
        ("`Stockade::run`, jail".to_owned(), Box::new(move || run(&jail))),
        ("`Stockade::run`, jail, copied".to_owned(), Box::new(move || run(&copied))),
        ("`Stockade::run`, jail, waiting".to_owned(), Box::new(move || run(&waiting))),
    ];
    let binary = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/release/stockade");
    for tier in ["process", "jail"] {
        let (binary, root) = (binary.clone(), project.path().to_owned());
        let journal = root.join(format!("binary-{tier}.jsonl"));
        if !binary.exists() {
            println!("skipped: build the binary first (cargo build --release)");
            break;
        }
        rows.push((
            format!("`stockade run --tier {tier} -- /bin/true`, a process of its own"),
            Box::new(move || {
                let mut command = Command::new(&binary);
                command.args(["run", "--tier", tier, "--root"]).arg(&root);
                bare(command.arg("--journal").arg(&journal).args(["--", "/bin/true"]));
            }),
        ));
    }
    for (name, argv) in peers() {
        rows.push((
            format!("`{name}`"),
            Box::new(move || bare(Command::new(argv[0]).args(&argv[1..]))),
        ));
    }
    let small = measure(&mut rows);
    let ballast = vec![1_u8; BALLAST_BYTES];
    let large = measure(&mut rows[..5]);
    assert_eq!(ballast.len(), BALLAST_BYTES);
    let mut table =
        String::from("| launch | median, ms | p99, ms | bare = 1 |\n|---|---:|---:|---:|\n");
    let bare_median = small[0].0;
    for ((name, _), (median, p99)) in rows.iter().zip(&small) {
        row(&mut table, name, *median, *p99, bare_median);
    }
    for ((name, _), (median, p99)) in rows.iter().zip(&large) {
        row(&mut table, &format!("{name}, host with 1 GiB resident"), *median, *p99, large[0].0);
    }
    println!("{table}");
    let text = format!("{}\n{table}\n{}", INTRODUCTION.trim(), FLOOR.trim_start());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bench/launch.md");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

const INTRODUCTION: &str = "
# What a launch costs

Written by `cargo bench -p stockade --bench launch`, from call to report, journal included. Tools of
the same kind are measured beside it where they are installed. The figures are one machine's: the
last column is what to compare.
";

const FLOOR: &str = "
The floor is the spawn itself: fork, exec, the dynamic loader and exit of `/bin/true`. A run of the
process tier executes two programs, the keeper and the one that was asked for, so about twice that
is what this design can reach without a keeper that is already waiting. The jail adds namespaces
(the one for the network is the dearest), about twenty mounts, cgroups, a look at the box from outside,
and their removal; prepared boxes that wait are not there yet.
";

/// Tools of the same kind, with the mildest box that each offers.
fn peers() -> Vec<(&'static str, Vec<&'static str>)> {
    let known: [(&str, Vec<&str>); 3] = [
        (
            "bwrap --ro-bind / / --unshare-all",
            vec![
                "bwrap",
                "--ro-bind",
                "/",
                "/",
                "--dev",
                "/dev",
                "--proc",
                "/proc",
                "--unshare-all",
                "/bin/true",
            ],
        ),
        ("firejail --noprofile", vec!["firejail", "--quiet", "--noprofile", "/bin/true"]),
        ("nsjail -Mo", vec!["nsjail", "-Mo", "--chroot", "/", "-q", "--", "/bin/true"]),
    ];
    let is_installed = |argv: &Vec<&str>| {
        let found = Command::new(argv[0])
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        found.is_ok()
    };
    known.into_iter().filter(|(_, argv)| is_installed(argv)).collect()
}

fn bare(command: &mut Command) {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.unwrap().success(), "{command:?}");
}

fn measure(rows: &mut [(String, Box<dyn FnMut()>)]) -> Vec<(Duration, Duration)> {
    let mut times = vec![Vec::with_capacity(ROUNDS); rows.len()];
    for round in 0..ROUNDS + 10 {
        for ((_, once), times) in rows.iter_mut().zip(&mut times) {
            let started = Instant::now();
            once();
            if round >= 10 {
                times.push(started.elapsed());
            }
        }
    }
    times
        .into_iter()
        .map(|mut times| {
            times.sort_unstable();
            (times[ROUNDS / 2], times[ROUNDS * 99 / 100])
        })
        .collect()
}

fn row(table: &mut String, name: &str, median: Duration, p99: Duration, bare: Duration) {
    let ratio = median.as_secs_f64() / bare.as_secs_f64();
    writeln!(
        table,
        "| {name} | {:.2} | {:.2} | {ratio:.2} |",
        median.as_secs_f64() * 1e3,
        p99.as_secs_f64() * 1e3
    )
    .unwrap();
}
