//! Starts programs on Linux, in a box or without, and kills all that they leave behind. It applies,
//! and knows no rule.
//!
//! This is the only crate of the project with `unsafe` code. [`start()`] takes a [`Spec`], in which
//! everything is already decided and opened, and gives a [`Running`]: streams to read and write,
//! a descriptor to poll, and a promise. When the program ends, when [`Running::kill`] is called,
//! when `Running` is dropped and when the supervisor itself is killed, every process that
//! descends from the program is killed too, whatever sessions, groups or orphans they made.
//!
//! The promise is kept by the *keeper*, a program of a few kilobytes that is embedded in this
//! crate and started once per run. It stands between host and program, so that neither the size
//! nor the threads of the host matter, and the host's memory is never in reach of the program:
//!
//! ```text
//!  host ──spawn──▶ keeper ──fork, exec──▶ program ──▶ its children …
//!    └──control socket──┘ └──adopts, counts, kills, reaps────────┘
//! ```
//!
//! ```no_run
//! use std::{fs::File, os::fd::OwnedFd};
//! use stockade_linux::{Rlimits, Spec, Stdin, signal_scope, start};
//!
//! let mut run = start(Spec {
//!     program: OwnedFd::from(File::open("/bin/true")?),
//!     script: None,
//!     argv: vec![c"true".into()],
//!     env: vec![c"PATH=/bin".into()],
//!     cwd: OwnedFd::from(File::open("/")?),
//!     stdin: Stdin::Empty,
//!     rlimits: Rlimits { cpu_seconds: Some(10), ..Rlimits::default() },
//!     processes_max: Some(64),
//!     signal_scope: signal_scope()?,
//! })?;
//! let ended = run.wait()?;
//! assert_eq!(ended.leftovers, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Boxes
//!
//! [`start_jailed`] does the same in a box, described by a [`Jail`]: namespaces, a root made of a
//! list of [`Mount`]s, [`Landlock`] rules, a [`Filter`] of system calls and a [`Cgroup`]. The keeper
//! stays outside; the box's first process, a copy of it, makes the box, starts the program, reports,
//! and takes everything with it when it dies. `src/keeper/apply.rs` has the order on one screen.
//!
//! ```text
//!  host ──spawn──▶ keeper ──clone──▶ ┌ first process ──▶ program ──▶ its children … ┐
//!    ├──line──────────────────────────▶┘                   ▲      box               │
//!    └──gate: what to execute──────────────────────────────┘────────────────────────┘
//! ```
//!
//! A box is ready before its program is known, so a [`Yard`] can make boxes in advance: the first of
//! a description is made, later ones are copied from a template, and some wait. `Yard::ready` gives
//! one, looked at from outside, and [`Ready::run`] hands it a program.
//!
//! Whatever allocates or can fail for configuration is done in the host; in the box there are only
//! system calls, each with a [`Step`] that a [`StartError`] names. [`start_jailed_if`] looks at the
//! finished box from outside before anything of the program runs. [`capabilities`] tells what this
//! machine can do, and [`Jail::locks_only`] is for those that forbid namespaces.
//!
//! ```no_run
//! use std::{fs::File, os::fd::OwnedFd};
//! use stockade_linux::*;
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
//! It needs Linux 5.11 and a mounted `/proc`, for boxes 5.12; what is missing is a [`StartError`]
//! with the step.

mod attest;
mod blob;
mod booting;
mod cgroup;
mod control;
mod creations;
mod dumpable;
mod handing;
mod hearing;
mod identity;

mod idmap;
mod jail;
mod keeper;
mod landlock;
mod malloc;
mod mounts;
mod pidfd;
mod probe;
mod proc;
mod ready;
mod remains;
mod request;
mod rlimits;
mod running;
mod sample;
mod seccomp;
mod start;
mod template;
mod yard;

pub use attest::Attested;
pub use cgroup::{Cgroup, CgroupLimits, CgroupUsage, CgroupVersion, Controller};
pub use creations::{Creations, Creator, can_refuse_names};
pub use dumpable::forbid_dumps;
pub use handing::{Folder, Program};
pub use identity::Identity;
#[cfg(feature = "sabotage")]
pub use jail::Sabotage;
pub use jail::{Attest, Form, Jail, Nesting, Network};
pub use keeper::mechanism::Mechanism;
pub use keeper::step::Step;
pub use landlock::{Landlock, Rule, abi as landlock_abi, rights, signal_scope};
pub use malloc::return_large_blocks;
pub use mounts::{Access, Mount, ProcView};
pub use probe::{Capabilities, capabilities, tasks_on_machine};
pub use ready::{Origin, Ready};
pub use rlimits::Rlimits;
pub use running::{Cause, Ended, KeeperLost, Running, Status};
pub use rustix::io::Errno;
pub use sample::Sample;
pub use seccomp::{Filter, Sockets, Tracing};
#[cfg(feature = "sabotage")]
pub use seccomp::{Lack, lack};
pub use start::{Spec, StartError, Stdin, start, start_jailed, start_jailed_if};
pub use yard::{MountWatch, Warmth, Yard};
