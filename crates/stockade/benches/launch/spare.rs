//! A box that waits, without the library around it: hand-over, end, removal and the next one.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use stockade_sandbox::{
    Access, CgroupLimits, Jail, Landlock, Mount, Network, Origin, PoolSize, PreparedSandbox,
    ProcView, Program, Rlimits, Rule, Running, SandboxPool, Spec, Status, Stdin, rights,
};

use crate::ground::{Ground, PROGRAM};
use crate::stats::{Contestant, Kind, Row};

/// As many as the library is told to keep in this benchmark.
const SPARES: usize = 2;

pub(crate) const LIMITS: CgroupLimits = CgroupLimits {
    memory_bytes_max: Some(2 << 30),
    tasks_max: Some(1_088),
    cpu_millis_per_second: None,
};

/// A program that is handed to a box that waits.
pub(crate) fn handed_over(ground: &Ground) -> Contestant<'_> {
    let pool = SandboxPool::new(PoolSize::Templates { spares: SPARES });
    let project = ground.project();
    let row = |name: &str, kind, target| Row { name: name.to_owned(), kind, target };
    Contestant {
        rows: vec![
            row("— a box that waits: found and looked at", Kind::Part, None),
            row("a box that waits: hand-over to exit of the program", Kind::Ours, None),
            row("— its end, as far as the caller waits", Kind::Part, None),
            row("— in the background: removal, and until the next one waits", Kind::Part, None),
        ],
        once: Box::new(move || once(&pool, &project)),
    }
}

fn once(pool: &SandboxPool, project: &Path) -> Vec<Duration> {
    let (ready, found) = waiting(pool, project);
    let (spec, cwd) = (spec(), c_path(project));
    let handed = Instant::now();
    let mut running = ready.run(Program::new(spec, &c_program(), &cwd)).unwrap();
    let ended = running.wait().unwrap();
    let latency = handed.elapsed();
    assert_eq!(ended.status, Status::Code(0));
    let gone = Instant::now();
    drop(running);
    let end = gone.elapsed();
    vec![found, latency, end, until_full(pool)]
}

/// A box that has waited, and how long it took to get it. What the host mounts meanwhile makes a yard
/// begin anew, which is not what is measured here.
pub(crate) fn waiting(pool: &SandboxPool, project: &Path) -> (PreparedSandbox, Duration) {
    for _try in 0..100 {
        let jail = closed(project);
        let asked = Instant::now();
        let ready = pool.ready(jail, LIMITS).unwrap();
        let found = asked.elapsed();
        if ready.origin() == Origin::Waiting {
            return (ready, found);
        }
        drop(end(ready, project));
        until_full(pool);
    }
    panic!("no box ever waits");
}

fn end(ready: PreparedSandbox, project: &Path) -> Running {
    let mut running = ready.run(Program::new(spec(), &c_program(), &c_path(project))).unwrap();
    running.wait().unwrap();
    running
}

/// Waits until a yard is full, and tells how long that took.
fn until_full(pool: &SandboxPool) -> Duration {
    const LONGEST: Duration = Duration::from_secs(1);
    let begun = Instant::now();
    while pool.waiting() < SPARES && begun.elapsed() < LONGEST {
        thread::sleep(Duration::from_micros(50));
    }
    begun.elapsed()
}

pub(crate) fn spec() -> Spec {
    Spec {
        program: OwnedFd::from(File::open(PROGRAM).unwrap()),
        script: None,
        argv: vec![c_program()],
        env: vec![c"PATH=/usr/bin:/bin".to_owned()],
        cwd: OwnedFd::from(File::open("/").unwrap()),
        stdin: Stdin::Empty,
        merges_output: false,
        rlimits: Rlimits::default(),
        processes_max: None,
        signal_scope: None,
    }
}

/// The closed form of a box, as the library makes it for the shipped policy.
pub(crate) fn closed(project: &Path) -> Jail {
    let cwd = c_path(project);
    let mut jail = Jail::new(&c_program(), &cwd);
    jail.network = Network::None;
    jail.landlock = Some(landlock(&cwd));
    jail.root = Some(root(&cwd));
    jail
}

const SYSTEM: [&CStr; 6] = [c"/usr", c"/bin", c"/sbin", c"/lib", c"/lib64", c"/etc"];

/// A root of its own.
pub(crate) fn root(project: &CStr) -> Vec<Mount> {
    let system = SYSTEM.into_iter().filter_map(|path| Mount::read_only(path).ok());
    let mut root: Vec<Mount> = system.collect();
    root.extend(Mount::devices(256 << 20).unwrap());
    root.push(Mount::Proc { target: c"/proc".to_owned(), view: ProcView::Whole });
    root.push(Mount::Memory {
        target: c"/tmp".to_owned(),
        bytes_max: 1 << 30,
        files_max: 1 << 18,
        mode: 0o1777,
    });
    root.push(Mount::bind(project, Access::Writable).unwrap());
    root
}

/// The second lock on the same files.
pub(crate) fn landlock(project: &CStr) -> Landlock {
    let rule = |path: &CStr, rights| Rule { path: path.to_owned(), rights };
    let is_link = |path: &CStr| {
        let path = Path::new(std::ffi::OsStr::from_bytes(path.to_bytes()));
        path.is_symlink() || !path.exists()
    };
    let mut rules = vec![
        rule(c"/", rights::LIST),
        rule(c"/dev", rights::READ | rights::WRITE | rights::DEVICE),
        rule(c"/proc", rights::READ | rights::WRITE),
        rule(c"/tmp", rights::READ | rights::WRITE),
        rule(project, rights::READ | rights::WRITE),
    ];
    let folders = SYSTEM.into_iter().filter(|path| !is_link(path));
    rules.extend(folders.map(|path| rule(path, rights::READ)));
    Landlock { rules }
}

pub(crate) fn c_program() -> CString {
    CString::new(PROGRAM).unwrap()
}

pub(crate) fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}
