//! What single steps of a sandbox cost, each in a process of its own, as a table in
//! `docs/bench/steps.md`: the namespaces, and two ways to make the host's files read-only.
//!
//! `cargo bench -p stockade-sandbox --bench steps`; it is no part of the tests. `STOCKADE_BENCH_ROUNDS` (200)
//! says how often, `STOCKADE_BENCH_DOCS` where the table goes.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot measure must stop")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]
#![expect(clippy::disallowed_methods, reason = "it starts itself, once for each time it takes")]
#![expect(clippy::arithmetic_side_effects, reason = "counts of a few digits")]

use std::ffi::CStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount,
    mount_change, move_mount, open_tree, unmount,
};
use rustix::thread::{UnshareFlags, unshare_unsafe};

const ROLE: &str = "STOCKADE_BENCH_ROLE";
const INTRODUCTION: &str = "
# What single steps cost

Written by `cargo bench -p stockade-sandbox --bench steps`; each time is taken in a process of its own that has
just been made, in turn with the others. A namespace is made with `unshare`; its removal, which the kernel does
later, is not in the figure. The two ways to keep the host's files from being written: one recursive
read-only `mount_setattr` over what is there, and a new root of its own, as a box has it (without `/proc`, which needs
a process in the new pid namespace). The first is quicker, but everything that the host shows stays in
sight: sockets, other people's files, secrets. A template pays for the second once for all copies.
";

/// A step, by its name, and what it does once user and mount namespaces are there.
type Step = (&'static str, fn());

const STEPS: [Step; 9] = [
    ("a user namespace, with its maps", || ()),
    ("a mount namespace", || split(UnshareFlags::NEWNS)),
    ("a pid namespace, without a process", || split(UnshareFlags::NEWPID)),
    ("an ipc namespace", || split(UnshareFlags::NEWIPC)),
    ("a uts namespace", || split(UnshareFlags::NEWUTS)),
    ("a cgroup namespace", || split(UnshareFlags::NEWCGROUP)),
    ("a network namespace", || split(UnshareFlags::NEWNET)),
    ("files: everything read-only, by one recursive `mount_setattr`", read_only),
    ("files: a new root", new_root),
];

fn main() {
    if let Ok(role) = std::env::var(ROLE) {
        let (at, (_, step)) =
            STEPS.iter().enumerate().find(|(at, _)| at.to_string() == role).unwrap();
        return println!("{}", play(at, *step).as_nanos());
    }
    let rounds = std::env::var("STOCKADE_BENCH_ROUNDS").map_or(200, |text| text.parse().unwrap());
    let mut times = vec![Vec::with_capacity(rounds); STEPS.len()];
    for _round in 0..rounds {
        for (at, times) in times.iter_mut().enumerate() {
            times.push(ask(at));
        }
    }
    let mut table = String::from("| step | median, µs | p99, µs |\n|---|---:|---:|\n");
    for ((name, _), times) in STEPS.iter().zip(&mut times) {
        times.sort_unstable();
        let micros = |part: usize| {
            times.get(times.len() * part / 100).map_or(0.0, |time| time.as_secs_f64() * 1e6)
        };
        writeln!(table, "| {name} | {:.0} | {:.0} |", micros(50), micros(99)).unwrap();
    }
    println!("{table}");
    let docs = std::env::var_os("STOCKADE_BENCH_DOCS").map(PathBuf::from);
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bench");
    let file = docs.unwrap_or_else(usual).join("steps.md");
    fs::write(file, format!("{}\n\n{table}", INTRODUCTION.trim())).unwrap();
}

/// One step in a new process.
fn ask(at: usize) -> Duration {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.env(ROLE, at.to_string()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let nanos = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
    Duration::from_nanos(nanos)
}

/// Takes the time of a step; what it needs comes before.
fn play(at: usize, step: fn()) -> Duration {
    let begun = Instant::now();
    become_root_of_a_namespace();
    if at == 0 {
        return begun.elapsed();
    }
    if STEPS.get(at).is_some_and(|(name, _)| name.starts_with("files")) {
        split(UnshareFlags::NEWNS);
    }
    let begun = Instant::now();
    step();
    begun.elapsed()
}

fn become_root_of_a_namespace() {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    split(UnshareFlags::NEWUSER);
    fs::write("/proc/self/setgroups", "deny").unwrap();
    fs::write("/proc/self/gid_map", format!("0 {} 1", group.as_raw())).unwrap();
    fs::write("/proc/self/uid_map", format!("0 {} 1", user.as_raw())).unwrap();
}

fn split(flags: UnshareFlags) {
    // SAFETY: the danger is a table of descriptors that is no longer shared with other threads; these
    // flags are namespaces alone, and there is no other thread.
    unsafe { unshare_unsafe(flags) }.unwrap();
}

fn read_only() {
    set_read_only(CWD, c"/").unwrap();
    assert_eq!(fs::write("/usr/stockade", "").unwrap_err().raw_os_error(), Some(libc::EROFS));
}

/// A root with the system's folders, devices and a private `/tmp`, entered.
fn new_root() {
    const BASE: &str = "/tmp";
    let at = |path: &str| format!("{BASE}{path}");
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).unwrap();
    mount("none", BASE, c"tmpfs", flags, None::<&CStr>).unwrap();
    for folder in ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc"] {
        if let Ok(to) = fs::read_link(folder) {
            std::os::unix::fs::symlink(to, at(folder)).unwrap();
        } else if Path::new(folder).exists() {
            fs::create_dir(at(folder)).unwrap();
            bind(folder, &at(folder), true);
        }
    }
    fs::create_dir(at("/dev")).unwrap();
    for device in ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"] {
        fs::write(at(device), "").unwrap();
        bind(device, &at(device), false);
    }
    for folder in ["/dev/shm", "/tmp"] {
        fs::create_dir(at(folder)).unwrap();
        mount("none", at(folder), c"tmpfs", flags, None::<&CStr>).unwrap();
    }
    std::env::set_current_dir(BASE).unwrap();
    rustix::process::pivot_root(".", ".").unwrap();
    unmount(".", UnmountFlags::DETACH).unwrap();
    assert!(!Path::new("/proc/self").exists());
}

fn bind(from: &str, to: &str, sealed: bool) {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(CWD, from, flags).unwrap();
    if sealed {
        set_read_only(&tree, c"").unwrap();
    }
    move_mount(&tree, "", CWD, to, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH).unwrap();
}

/// `mount_setattr` with `MOUNT_ATTR_RDONLY`, which rustix does not have.
fn set_read_only(at: impl std::os::fd::AsFd, path: &CStr) -> rustix::io::Result<()> {
    use std::os::fd::AsRawFd as _;
    const SIZE: usize = size_of::<[u64; 4]>();
    // attr_set, attr_clr, propagation, userns_fd, from `linux/mount.h`.
    let attributes: [u64; 4] = [1, 0, 0, 0];
    let flags = libc::AT_RECURSIVE | if path.is_empty() { libc::AT_EMPTY_PATH } else { 0 };
    // SAFETY: the kernel reads the path up to its end and `SIZE` bytes of the attributes, which both
    // live until it returns, and writes nothing.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            at.as_fd().as_raw_fd(),
            path.as_ptr(),
            flags,
            attributes.as_ptr(),
            SIZE,
        )
    };
    if done == 0 { Ok(()) } else { Err(last_error()) }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
