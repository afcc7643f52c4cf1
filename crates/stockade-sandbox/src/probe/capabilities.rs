//! The parts of a sandbox that this machine can make for this user. Nothing is guessed: small
//! sandboxes are made.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::OwnedFd;

use rustix::io::Errno;

use crate::jail::{Jail, Network};
use crate::mechanisms::cgroup::{Cgroup, CgroupLimits, CgroupVersion, Controller};
use crate::mechanisms::landlock;
use crate::mechanisms::mounts::{Mount, ProcView};
use crate::mechanisms::rlimits::Rlimits;
use crate::protocol::step::Step;
use crate::start::{At, Spec, StartError, Stdin, start, start_jailed};

/// The parts of a sandbox that this machine can make for this user.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// The kernel's release, as `uname` gives it.
    pub kernel: String,
    /// The shim, without which nothing is started; or the step that failed.
    pub shim: Result<(), StartError>,
    /// A user namespace with mounts, processes, IPC, host name and cgroups of its own, as the
    /// identity of a caller is mapped; or the step that failed.
    pub namespaces: Result<(), StartError>,
    /// A network namespace.
    pub network: Result<(), StartError>,
    /// A root of its own with a fresh `/proc`.
    pub root: Result<(), StartError>,
    /// The broker that makes names for the program.
    pub broker: Result<(), StartError>,
    /// Landlock's ABI, if there is one.
    pub landlock_abi: Option<u32>,
    /// Why there is no Landlock.
    pub landlock_missing: Option<Errno>,
    /// Landlock's corrections, a bit each, where the kernel tells.
    pub landlock_errata: Option<u32>,
    /// Filters of system calls that kill and that refuse.
    pub filter: Result<(), Errno>,
    /// The cgroup version for each controller that can limit a whole sandbox, or the reason why it
    /// cannot.
    pub cgroups: Vec<(Controller, Result<CgroupVersion, Errno>)>,
}

/// Tries what this machine can do for this user. It takes a few milliseconds.
pub fn capabilities() -> Capabilities {
    let proc = || Mount::Proc { target: c"/proc".to_owned(), view: ProcView::ProcessesOnly };
    let with_root = |jail: &mut Jail| jail.root = Some(vec![proc()]);
    let with_broker = |jail: &mut Jail| {
        with_root(jail);
        jail.forbidden.push(c"/stockade-makes-no-such-name".to_owned());
    };
    Capabilities {
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        shim: try_shim(),
        namespaces: try_box(|_| {}),
        network: try_box(|jail| jail.network = Network::None),
        root: try_box(with_root),
        broker: try_box(with_broker),
        landlock_abi: landlock::abi(),
        landlock_missing: landlock::missing(),
        landlock_errata: landlock::errata(),
        filter: try_filter(),
        cgroups: try_cgroups(),
    }
}

/// Not executable: a folder.
fn no_program() -> Result<Spec, StartError> {
    let open = || File::open("/").map(OwnedFd::from).at(Step::PrepareBox);
    Ok(Spec {
        program: open()?,
        script: None,
        argv: Vec::new(),
        env: Vec::new(),
        cwd: open()?,
        stdin: Stdin::Empty,
        merges_output: false,
        rlimits: Rlimits::default(),
        processes_max: None,
        signal_scope: None,
    })
}

/// Lets a shim start what is no program: if that is all that is wrong, it works.
fn try_shim() -> Result<(), StartError> {
    match start(no_program()?) {
        Err(StartError { step: Step::Execute, .. }) => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Err(StartError { step: Step::Execute, errno: Errno::EXIST }),
    }
}

/// Makes a sandbox for a program that it does not have: if that is all that is wrong, it was made.
fn try_box(furnish: impl FnOnce(&mut Jail)) -> Result<(), StartError> {
    const NO_PROGRAM: &CStr = c"/stockade-has-no-such-program";
    let spec = no_program()?;
    let mut jail = Jail::new(NO_PROGRAM, c"/");
    jail.network = Network::Host;
    furnish(&mut jail);
    let unclear = StartError { step: Step::FindProgram, errno: Errno::EXIST };
    match start_jailed(spec, jail) {
        Err(StartError { step: Step::FindProgram, errno: Errno::NOENT }) => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Err(unclear),
    }
}

fn try_filter() -> Result<(), Errno> {
    const GET_ACTION_AVAIL: libc::c_uint = 2;
    const KILL_PROCESS: u32 = 0x8000_0000;
    const ERRNO: u32 = 0x0005_0000;
    for action in [KILL_PROCESS, ERRNO] {
        // SAFETY: the kernel reads one 32-bit action.
        let result = unsafe {
            libc::syscall(libc::SYS_seccomp, GET_ACTION_AVAIL, 0, std::ptr::from_ref(&action))
        };
        if result != 0 {
            let error = std::io::Error::last_os_error();
            return Err(Errno::from_io_error(&error).unwrap_or(Errno::NOSYS));
        }
    }
    Ok(())
}

fn try_cgroups() -> Vec<(Controller, Result<CgroupVersion, Errno>)> {
    const PLENTY: CgroupLimits = CgroupLimits {
        memory_bytes_max: Some(1 << 40),
        tasks_max: Some(1 << 20),
        cpu_millis_per_second: Some(1_000_000),
    };
    let none = CgroupLimits::default();
    let one = [
        (Controller::Memory, CgroupLimits { memory_bytes_max: PLENTY.memory_bytes_max, ..none }),
        (Controller::Tasks, CgroupLimits { tasks_max: PLENTY.tasks_max, ..none }),
        (
            Controller::Cpu,
            CgroupLimits { cpu_millis_per_second: PLENTY.cpu_millis_per_second, ..none },
        ),
    ];
    let tried = one.into_iter().map(|(controller, limits)| {
        let cgroup = Cgroup::create(limits);
        let why = cgroup.missing().first().map_or(Errno::NODEV, |(_, errno)| *errno);
        let kept = !cgroup.kept().is_empty();
        (controller, cgroup.version().filter(|_| kept).ok_or(why))
    });
    tried.collect()
}
