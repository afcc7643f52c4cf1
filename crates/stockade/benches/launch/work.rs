//! Real work in a box and outside of it: what is left of the box once the program runs.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use stockade::confine::{ListedChanges, Network, Toolchain};
use stockade::report::Body;
use stockade::{Policy, Report, Stockade, ToolCall};

use crate::ground::{Ground, jailed};
use crate::stats::{Spread, ratio, rounds, timed};
use crate::table::{Table, at_most, millis};

const MOST: f64 = 1.05;
const FOLDERS: u32 = 100;
const FILES_IN_A_FOLDER: u32 = 100;

/// Something that is done in two equal projects.
struct Work<'a> {
    name: &'a str,
    argv: &'a [&'a str],
    policy: Policy,
    rounds: usize,
    /// Fills a project.
    fill: fn(&Path),
    /// Takes back what the work has done.
    undo: fn(&Path),
}

/// The table, and a line about each work that cannot be done here.
pub(crate) fn measure(ground: &Ground) -> String {
    let mut rust = jailed(Network::Loopback);
    rust.files.toolchains.insert(Toolchain::Rust);
    let mut unwatched = jailed(Network::Loopback);
    unwatched.files.watched = ListedChanges::Nothing;
    let works = [
        Work {
            name: "`git status`, 10,000 files",
            argv: &["git", "status", "--porcelain"],
            policy: jailed(Network::Loopback),
            rounds: rounds(),
            fill: repository,
            undo: |_| (),
        },
        Work {
            name: "the same, and nobody looks for what it changed",
            argv: &["git", "status", "--porcelain"],
            policy: unwatched,
            rounds: rounds(),
            fill: repository,
            undo: |_| (),
        },
        Work {
            name: "`cargo build --offline`, a small crate",
            argv: &["cargo", "build", "--offline", "--quiet"],
            policy: rust,
            rounds: rounds().div_ceil(20),
            fill: small_crate,
            undo: |project| fs::remove_dir_all(project.join("target")).unwrap(),
        },
    ];
    let head = [
        "work",
        "outside, ms",
        "p99, ms",
        "in the box, call to report, ms",
        "p99, ms",
        "the program alone, ms",
        "the program alone, outside = 1",
        "",
        "call to report, outside = 1",
    ];
    let (mut table, mut missing) = (Table::new(&head), String::new());
    for (number, work) in works.iter().enumerate() {
        if let Err(why) = compared((number, work), ground, &mut table) {
            writeln!(missing, "\n{}: not measured here: {why}", work.name).unwrap();
        }
    }
    format!("{table}{missing}")
}

fn compared(
    (number, work): (usize, &Work<'_>),
    ground: &Ground,
    table: &mut Table,
) -> Result<(), String> {
    let name = |part: &str| format!("{}-{number}-{part}", work.argv[0]);
    let (outer, inner) = (ground.folder(&name("outside")), ground.folder(&name("inside")));
    if Command::new(work.argv[0]).arg("--version").stdout(Stdio::null()).status().is_err() {
        return Err(format!("there is no {} here", work.argv[0]));
    }
    // Two projects, for git notes the owner of files, and as root that is another one in a box.
    (work.fill)(&outer);
    (work.fill)(&inner);
    let stockade = ground.open_at(&inner, &name("inside"), work.policy.clone());
    let trial = boxed(&stockade, work);
    if !trial.ok() {
        return Err(failure(&trial));
    }
    outside(&outer, work);
    let (mut without, mut with, mut alone) = (Vec::new(), Vec::new(), Vec::new());
    for _round in 0..work.rounds {
        (work.undo)(&outer);
        (work.undo)(&inner);
        without.push(timed(|| outside(&outer, work)));
        let report = boxed(&stockade, work);
        assert!(report.ok(), "{report:?}");
        with.push(report.duration);
        alone.push(wall(&report));
    }
    let (without, with, alone) = (Spread::of(without), Spread::of(with), Spread::of(alone));
    let times = ratio(alone.median, without.median);
    table.row([
        work.name.to_owned(),
        millis(without.median),
        millis(without.p99),
        millis(with.median),
        millis(with.p99),
        millis(alone.median),
        format!("{times:.3}"),
        format!("≤ {MOST}: {}", at_most(times, MOST)),
        format!("{:.3}", ratio(with.median, without.median)),
    ]);
    Ok(())
}

fn boxed(stockade: &Stockade, work: &Work<'_>) -> Report {
    stockade.run(ToolCall::exec(work.argv.iter().copied()))
}

/// From the execution of the program to its end, as the report has it.
fn wall(report: &Report) -> Duration {
    match &report.body {
        Body::Ran(outcome) => outcome.usage.wall,
        Body::Refused(_) | Body::Failed(_) => Duration::ZERO,
    }
}

fn failure(report: &Report) -> String {
    let told = match &report.body {
        Body::Refused(refusal) => refusal.reason.clone(),
        Body::Failed(failure) => failure.message().to_owned(),
        Body::Ran(outcome) => String::from_utf8_lossy(&outcome.stderr.bytes).into_owned(),
    };
    told.lines().next().unwrap_or("no message").to_owned()
}

/// The same work without a box, with the variables that a box has too and where the toolchains are.
fn outside(project: &Path, work: &Work<'_>) {
    const KEPT: [&str; 7] = ["PATH", "HOME", "LANG", "LC_ALL", "TERM", "CARGO_HOME", "RUSTUP_HOME"];
    let mut command = Command::new(work.argv[0]);
    command.args(&work.argv[1..]).current_dir(project).env_clear();
    command.envs(KEPT.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn repository(project: &Path) {
    for folder in 0..FOLDERS {
        let folder = project.join(format!("folder-{folder}"));
        fs::create_dir(&folder).unwrap();
        for file in 0..FILES_IN_A_FOLDER {
            fs::write(folder.join(format!("file-{file}.txt")), format!("{file}\n")).unwrap();
        }
    }
    let identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.invalid"];
    for words in [&["init", "--quiet"][..], &["add", "."], &["commit", "--quiet", "-m", "files"]] {
        let mut git = Command::new("git");
        git.args(identity).args(words).current_dir(project);
        assert!(git.status().unwrap().success(), "{git:?}");
    }
}

/// A crate that gives the compiler something to do.
fn small_crate(project: &Path) {
    const FUNCTIONS: u32 = 150;
    let manifest = "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let mut source = String::new();
    for number in 0..FUNCTIONS {
        writeln!(
            source,
            "fn part_{number}(words: &[String]) -> String {{\n    let mut all: Vec<_> = \
             words.iter().map(|word| format!(\"{{word}}-{number}\")).collect();\n    \
             all.sort();\n    all.join(\",\")\n}}"
        )
        .unwrap();
    }
    source.push_str("fn main() {\n    let words: Vec<String> = std::env::args().collect();\n");
    for number in 0..FUNCTIONS {
        writeln!(source, "    println!(\"{{}}\", part_{number}(&words));").unwrap();
    }
    source.push_str("}\n");
    fs::create_dir(project.join("src")).unwrap();
    fs::write(project.join("Cargo.toml"), manifest).unwrap();
    fs::write(project.join("src/main.rs"), source).unwrap();
}
