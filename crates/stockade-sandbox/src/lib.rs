//! Starts programs on Linux, in a sandbox or without, and kills every process that they leave behind.
//! It applies decisions, and knows no rule.
//!
//! This is the only crate of the project with `unsafe` code. [`start()`] takes a [`Spec`], in which
//! everything is already decided and opened, and returns a [`Running`]: streams to read and write, a
//! descriptor to poll, and a promise. Every process that descends from the program is killed when the
//! program ends, when [`Running::kill`] is called, when `Running` is dropped, and when the supervisor
//! itself is killed, whatever sessions, groups or orphans the program made.
//!
//! The *shim* holds that promise: a program of a few kilobytes that is embedded in this crate and
//! started once per run. It stands between host and program, so that neither the size nor the threads
//! of the host matter, and the host's memory is never in reach of the program:
//!
//! ```text
//!  host ──spawn──▶ shim ──fork, exec──▶ program ──▶ its children …
//!    └──control socket──┘ └──adopts, counts, kills, reaps────────┘
//! ```
//!
//! ```no_run
//! use std::{fs::File, os::fd::OwnedFd};
//! use stockade_sandbox::{Rlimits, Spec, Stdin, signal_scope, start};
//!
//! let mut run = start(Spec {
//!     program: OwnedFd::from(File::open("/bin/true")?),
//!     script: None,
//!     argv: vec![c"true".into()],
//!     env: vec![c"PATH=/bin".into()],
//!     cwd: OwnedFd::from(File::open("/")?),
//!     stdin: Stdin::Empty,
//!     merges_output: false,
//!     rlimits: Rlimits { cpu_seconds: Some(10), ..Rlimits::default() },
//!     processes_max: Some(64),
//!     signal_scope: signal_scope()?,
//! })?;
//! let ended = run.wait()?;
//! assert_eq!(ended.leftovers, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Sandboxes
//!
//! [`start_jailed`] does the same in a sandbox, described by a [`Jail`]: namespaces, a root made of a
//! list of [`Mount`]s, [`Landlock`] rules, a [`Filter`] of system calls and a [`Cgroup`]. The shim stays
//! outside. The sandbox's init, a copy of the shim, makes the sandbox, starts the program, reports, and
//! ends everything in the sandbox when it exits. `src/shim/apply.rs` has the order on one screen.
//!
//! ```text
//!  host ──spawn──▶ shim ──clone──▶ ┌ init ──▶ program ──▶ its children …          ┐
//!    ├──channel───────────────────▶┘            ▲      sandbox                    │
//!    └──exec channel: what to execute───────────┘─────────────────────────────────┘
//! ```
//!
//! A sandbox is ready before its program is known, so a [`SandboxPool`] can prepare sandboxes: the
//! first of a description is made, later ones are copied from a template, and some wait.
//! `SandboxPool::ready` returns one that is attested, and [`PreparedSandbox::run`] sends it a program.
//!
//! The host does everything that allocates or that can fail for its configuration. In the sandbox there
//! are only system calls, each with a [`Step`] that a [`StartError`] names. [`start_jailed_if`] attests
//! the finished sandbox before anything of the program runs. [`capabilities`] finds what this machine
//! can do, and [`Jail::locks_only`] is for machines that forbid namespaces.
//!
//! ```no_run
//! use std::{fs::File, os::fd::OwnedFd};
//! use stockade_sandbox::*;
//!
//! let mut jail = Jail::new(c"/usr/bin/make", c"/work");
//! let mut root = vec![
//!     Mount::read_only(c"/usr")?,
//!     Mount::read_only(c"/bin")?,
//!     Mount::read_only(c"/lib")?,
//!     Mount::read_only(c"/lib64")?,
//!     Mount::Proc { target: c"/proc".into(), view: ProcView::Whole },
//!     Mount::bind_at(c"/home/me/project", c"/work", Access::Writable)?,
//!     Mount::Hide { target: c"/work/.env".into() },
//!     Mount::Pin { target: c"/work/.git".into() },
//!     Mount::Protect { target: c"/work/.git/config".into() },
//! ];
//! root.extend(Mount::devices(64 << 20)?);
//! jail.root = Some(root);
//! jail.cgroup = Some(Cgroup::create(CgroupLimits {
//!     memory_bytes_max: Some(1 << 30),
//!     ..CgroupLimits::default()
//! }));
//! let spec = Spec {
//!     program: OwnedFd::from(File::open("/usr/bin/make")?),
//!     script: None,
//!     argv: vec![c"make".into()],
//!     env: vec![c"PATH=/usr/bin".into()],
//!     cwd: OwnedFd::from(File::open("/home/me/project")?),
//!     stdin: Stdin::Empty,
//!     merges_output: false,
//!     // In a box this counts the processes of the box alone.
//!     rlimits: Rlimits { processes: Some(64), ..Rlimits::default() },
//!     processes_max: None,
//!     signal_scope: None,
//! };
//! let mut run = start_jailed_if(spec, jail, |seen| seen.missing.is_empty())?;
//! let ended = run.wait()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! It needs Linux 5.11 and a mounted `/proc`, for sandboxes 5.12; what is missing is a
//! [`StartError`] with the step.

mod attest;
mod blob;
mod channel;
mod creations;
mod fork;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod handoff;
mod handshake;
mod jail;
mod malloc;
mod memory_file;
mod mechanisms;
mod peer;
mod pidfd;
mod pool;
mod prepared;
mod probe;
mod proc;
mod protocol;
mod running;
mod sample;
mod session;
#[cfg(any(test, clippy, feature = "fuzzing"))]
mod shim;
mod signal_queue;
mod sockets;
mod spawn;
mod start;
#[cfg(feature = "fault-injection")]
mod step_trace;
mod teardown;

pub use attest::Attestation;
pub use creations::{Creations, Creator, can_refuse_names};
pub use fork::{ForkSide, fork_supervisor, take_inherited};
pub use handoff::{Folder, Program};
#[cfg(feature = "fault-injection")]
pub use jail::FaultInjection;
pub use jail::{Attest, Form, Jail, Nesting, Network};
pub use malloc::return_large_blocks;
pub use mechanisms::cgroup::{Cgroup, CgroupLimits, CgroupUsage, CgroupVersion, Controller};
pub use mechanisms::dumpable::forbid_dumps;
pub use mechanisms::identity::Identity;
pub use mechanisms::landlock::{Landlock, Rule, abi as landlock_abi, rights, signal_scope};
pub use mechanisms::mounts::{Access, Mount, ProcView};
pub use mechanisms::rlimits::Rlimits;
pub use mechanisms::seccomp::{Filter, Sockets, Tracing};
#[cfg(feature = "fault-injection")]
pub use mechanisms::seccomp::{Lack, lack};
pub use peer::{PeerDifference, peer_difference, peer_uid};
pub use pool::{MountWatch, PoolSize, SandboxPool};
pub use prepared::{Origin, PreparedSandbox};
pub use probe::{Capabilities, capabilities, tasks_on_machine};
pub use protocol::mechanism::Mechanism;
pub use protocol::step::Step;
pub use running::{Cause, EndFolder, Ended, LostShim, Running, Status};
pub use rustix::io::Errno;
pub use sample::Sample;
pub use session::{FolderLimits, InSession, Leftovers, SessionSpace};
pub use signal_queue::SignalQueue;
pub use sockets::{SandboxNetwork, SandboxSockets};
pub use start::{Spec, StartError, Stdin, TerminalSize, start, start_jailed, start_jailed_if};
#[cfg(feature = "fault-injection")]
pub use step_trace::{StepTrace, TracedProcess, TracedStep};
