//! What this program does when it is executed by itself: another process in a measurement.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use stockade::Stockade;
use stockade::confine::Network;

use crate::ground::{call, jailed};

const ROLE: &str = "STOCKADE_BENCH_ROLE";
const PROJECT: &str = "STOCKADE_BENCH_PROJECT";
const FIRST_ALONE: &str = "first-with-a-network-of-its-own";
const FIRST_HOST: &str = "first-with-the-network-of-the-host";
const SPIN: &str = "spin";

/// Plays the role that this process was started for, if there is one.
pub(crate) fn play() -> bool {
    let Ok(role) = std::env::var(ROLE) else { return false };
    match role.as_str() {
        FIRST_ALONE => first(Network::Loopback),
        FIRST_HOST => first(Network::Host),
        SPIN => spin(),
        other => assert!(other.is_empty(), "no such role: {other}"),
    }
    true
}

fn start(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(ROLE, role).stdin(Stdio::null());
    command
}

/// The times of the first call in a process: from before the opening, and the call alone.
pub(crate) fn first_call(network: Network, project: &Path) -> Vec<Duration> {
    let role = match network {
        Network::None | Network::Loopback => FIRST_ALONE,
        Network::Host => FIRST_HOST,
    };
    let output = start(role).env(PROJECT, project).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8(output.stdout).unwrap();
    told.split_whitespace().map(|nanos| Duration::from_nanos(nanos.parse().unwrap())).collect()
}

fn first(network: Network) {
    let project = PathBuf::from(std::env::var_os(PROJECT).unwrap());
    let journal = project.with_file_name(format!("first-{}.jsonl", std::process::id()));
    let opened = Instant::now();
    let stockade = Stockade::open(&project, jailed(network), &journal).unwrap();
    let called = Instant::now();
    call(&stockade);
    let (whole, alone) = (opened.elapsed(), called.elapsed());
    println!("{} {}", whole.as_nanos(), alone.as_nanos());
    drop(stockade);
    std::fs::remove_file(journal).unwrap();
}

/// Keeps one processor busy for as long as the one who wanted it is there.
fn spin() {
    let parent = rustix::process::getppid();
    while rustix::process::getppid() == parent {
        for number in 0..1_000_000_u32 {
            std::hint::black_box(number);
        }
    }
}

/// All processors busy, until this is dropped.
pub(crate) struct Busy(Vec<Child>);

impl Busy {
    /// None for a process before all ordinary ones, which would keep everybody else from running.
    pub(crate) fn begin() -> Option<Self> {
        if is_before_all_others() {
            return None;
        }
        let processors = std::thread::available_parallelism().unwrap().get();
        Some(Self((0..processors).map(|_| start(SPIN).spawn().unwrap()).collect()))
    }
}

/// Whether this process has a scheduling policy other than the ordinary one.
fn is_before_all_others() -> bool {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // The name in parentheses may hold anything; of what follows, the policy is the 39th.
    let fields = stat.rsplit_once(')').unwrap().1;
    fields.split_whitespace().nth(38).unwrap() != "0"
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // One that is gone already is what is wanted.
            let _gone = child.kill().and_then(|()| child.wait());
        }
    }
}
