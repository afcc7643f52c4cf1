//! Every call that makes a name, tried on a forbidden one from inside a sandbox.
//!
//! The same calls are made in a sandbox without a broker, where each of them succeeds.

#![expect(
    clippy::as_conversions,
    clippy::cast_sign_loss,
    reason = "addresses and descriptors become arguments of system calls"
)]

use std::ffi::CString;
use std::fs;
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;

use stockade_sandbox::{Access, Jail, Mount, start_jailed};

use crate::boxes::allow;
use crate::broker::{folder, without};
use crate::locks::results;
use crate::roles::{payload, say};
use crate::support::{finish, text};

/// The name that must not be made.
const NAME: &str = ".mcp.json";

/// The test binary in a sandbox over a project.
pub(crate) fn attacker(folder: &Path, names: &[&str]) -> Jail {
    let mut jail = without(folder, names);
    let source = text(std::env::current_exe().unwrap().to_str().unwrap());
    let bind = Mount::bind_at(&source, c"/attacker", Access::ReadOnly).unwrap();
    jail.root.as_mut().unwrap().push(bind);
    allow(&mut jail, c"/attacker");
    jail.program = text("/attacker");
    jail
}

#[test]
fn every_call_that_would_make_a_forbidden_name_is_refused() {
    let control = folder();
    let (_, out, err) =
        finish(&mut start_jailed(payload("broker-calls"), attacker(control.path(), &[])).unwrap());
    let free = results(&out);
    assert!(free.len() > 45, "{out}{err}");
    let (broken, failed) = (folder(), |errno: &i32| *errno != 0);
    let failing: Vec<_> = free.iter().filter(|(_, errno)| failed(errno)).collect();
    assert!(failing.is_empty(), "without a broker: {failing:?}");
    let mut run = start_jailed(payload("broker-calls"), attacker(broken.path(), &[NAME])).unwrap();
    let (_, out, err) = finish(&mut run);
    let held = results(&out);
    for call in free.keys() {
        assert_eq!(held.get(call), Some(&libc::EACCES), "{call}: {err}");
    }
    assert!(!broken.path().join(NAME).exists());
}

/// What is there before each attack.
fn set_up() {
    for folder in ["sub", "prepared"] {
        fs::create_dir(folder).unwrap();
    }
    fs::write("file", "x").unwrap();
    fs::write("other", "x").unwrap();
    for (link, target) in [
        ("here", "."),
        ("dangling", NAME),
        ("chain", "sub/back"),
        ("sub/back", "../dangling"),
        ("through-proc", "/proc/self/cwd/.mcp.json"),
    ] {
        std::os::unix::fs::symlink(target, link).unwrap();
    }
}

fn c(path: &str) -> CString {
    CString::new(path).unwrap()
}

/// The error of a call, or zero.
fn errno(result: libc::c_long) -> i32 {
    if result < 0 { std::io::Error::last_os_error().raw_os_error().unwrap() } else { 0 }
}

fn call(number: libc::c_long, args: &[usize]) -> i32 {
    let arg = |at: usize| args.get(at).copied().unwrap_or(0);
    // SAFETY: the addresses among the arguments are of strings and structures that live on.
    errno(unsafe { libc::syscall(number, arg(0), arg(1), arg(2), arg(3), arg(4)) })
}

fn open(path: &str, flags: i32) -> i32 {
    openat(libc::AT_FDCWD, path, flags)
}

fn openat(folder: RawFd, path: &str, flags: i32) -> i32 {
    let flags = usize::try_from(flags | libc::O_CREAT | libc::O_WRONLY).unwrap();
    let path = c(path);
    call(libc::SYS_openat, &[folder as usize, path.as_ptr() as usize, flags, 0o644])
}

/// Two paths.
fn two(number: libc::c_long, from: &str, to: &str, flags: usize) -> i32 {
    let (from, to, here) = (c(from), c(to), libc::AT_FDCWD as usize);
    call(number, &[here, from.as_ptr() as usize, here, to.as_ptr() as usize, flags])
}

fn one(number: libc::c_long, path: &str, args: &[usize]) -> i32 {
    let path = c(path);
    let head = [libc::AT_FDCWD as usize, path.as_ptr() as usize];
    call(number, &[&head, args].concat())
}

fn bind(path: &str) -> i32 {
    match std::os::unix::net::UnixListener::bind(path) {
        Ok(_) => 0,
        Err(error) => error.raw_os_error().unwrap(),
    }
}

/// A file without a name, then with one.
fn unnamed(flags: usize) -> i32 {
    let kind = libc::O_TMPFILE | libc::O_RDWR;
    // SAFETY: the path is a string with a NUL.
    let fd = unsafe { libc::open(c".".as_ptr(), kind, 0o600) };
    assert!(fd >= 0);
    let to = c(NAME);
    let from = if flags == 0x1000 { String::new() } else { format!("/proc/self/fd/{fd}") };
    let from_folder = if flags == 0x1000 { fd } else { libc::AT_FDCWD };
    let (from, here) = (c(&from), libc::AT_FDCWD as usize);
    let args = [from_folder as usize, from.as_ptr() as usize, here, to.as_ptr() as usize, flags];
    let result = call(libc::SYS_linkat, &args);
    // SAFETY: it was opened above.
    unsafe { libc::close(fd) };
    result
}

/// An attack in a child, which it may leave in any state.
fn in_child(attack: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child of this one call makes system calls only and ends.
    match unsafe { libc::fork() } {
        // SAFETY: _exit runs no destructor.
        0 => unsafe { libc::_exit(attack()) },
        child => {
            let mut status = 0;
            // SAFETY: the kernel writes one int.
            unsafe { libc::waitpid(child, &raw mut status, 0) };
            libc::WEXITSTATUS(status)
        }
    }
}

fn attack(name: &str, attack: impl FnOnce() -> i32) {
    let result = attack();
    // In the control half it was made.
    let removed = fs::remove_file(NAME).or_else(|_| fs::remove_dir(NAME));
    assert_eq!(removed.is_ok(), result == 0, "{name}: {result}");
    for upper in [".MCP.JSON", ".mcp.json."] {
        let _seldom = fs::remove_file(upper);
    }
    say(name, result);
}

/// Role: makes every attack, and says what it got.
pub(crate) fn make_them_all() {
    set_up();
    let here = fs::File::open(".").unwrap();
    let absolute = std::env::current_dir().unwrap();
    let absolute = absolute.to_str().unwrap();
    attack("open", || open(NAME, 0));
    attack("open-excl", || open(NAME, libc::O_EXCL));
    attack("open-trunc", || open(NAME, libc::O_TRUNC | libc::O_CLOEXEC));
    attack("open-absolute", || open(&format!("{absolute}/{NAME}"), 0));
    attack("open-dots", || open("./sub/..//./.mcp.json", 0));
    attack("open-dirfd", || openat(here.as_raw_fd(), NAME, 0));
    attack("open-dirfd-sub", || openat(here.as_raw_fd(), "sub/../.mcp.json", 0));
    attack("open-link-folder", || open("here/here/.mcp.json", 0));
    attack("open-dangling", || open("dangling", 0));
    attack("open-chain", || open("chain", 0));
    attack("open-self-cwd", || open("/proc/self/cwd/.mcp.json", 0));
    attack("open-thread-self", || open("/proc/thread-self/cwd/.mcp.json", 0));
    attack("open-self-root", || open(&format!("/proc/self/root{absolute}/{NAME}"), 0));
    attack("open-through-proc", || open("through-proc", 0));
    let descriptor = format!("/dev/fd/{}/{NAME}", here.as_raw_fd());
    attack("open-dev-fd", || open(&descriptor, 0));
    attack("open-from-sub", || {
        in_child(|| {
            let sub = c"sub";
            // SAFETY: a string with a NUL.
            unsafe { libc::chdir(sub.as_ptr()) };
            open("../.mcp.json", 0)
        })
    });
    attack("open-thread", || std::thread::spawn(|| open(NAME, 0)).join().unwrap());
    attack("open-child", || in_child(|| open(NAME, 0)));
    attack("open-not-dumpable", || {
        in_child(|| {
            // SAFETY: no memory is involved.
            unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
            open(NAME, 0)
        })
    });
    folders_and_files();
    links();
    renames();
    attack("bind", || bind(NAME));
    attack("bind-absolute", || bind(&format!("{absolute}/{NAME}")));
    attack("bind-link", || bind("here/.mcp.json"));
    old_calls();
}

fn folders_and_files() {
    attack("mkdir", || one(libc::SYS_mkdirat, NAME, &[0o755]));
    attack("mkdir-slash", || one(libc::SYS_mkdirat, ".mcp.json//", &[0o755]));
    attack("mknod-file", || one(libc::SYS_mknodat, NAME, &[0o100_644, 0]));
    attack("mknod-pipe", || one(libc::SYS_mknodat, NAME, &[0o010_644, 0]));
    attack("mknod-socket", || one(libc::SYS_mknodat, NAME, &[0o140_644, 0]));
}

fn links() {
    attack("link", || two(libc::SYS_linkat, "file", NAME, 0));
    attack("link-to-link", || two(libc::SYS_linkat, "here", NAME, 0));
    attack("link-follow", || two(libc::SYS_linkat, "file", NAME, 0x400));
    attack("link-unnamed", || unnamed(0x400));
    attack("link-descriptor", || unnamed(0x1000));
    let target = c("/etc/passwd");
    let symbolic = |path: &str| {
        let path = c(path);
        let args = [target.as_ptr() as usize, libc::AT_FDCWD as usize, path.as_ptr() as usize];
        call(libc::SYS_symlinkat, &args)
    };
    attack("symlink", || symbolic(NAME));
    attack("symlink-behind-link", || symbolic("here/.mcp.json"));
}

fn renames() {
    let back = |result| {
        if result == 0 {
            fs::copy(NAME, "file").ok();
        }
        result
    };
    attack("rename", || back(two(libc::SYS_renameat2, "file", NAME, 0)));
    attack("rename-noreplace", || back(two(libc::SYS_renameat2, "file", NAME, 1)));
    attack("rename-at", || back(two(libc::SYS_renameat, "file", "sub/../.mcp.json", 0)));
    attack("rename-folder", || {
        let result = two(libc::SYS_renameat2, "prepared", NAME, 0);
        if result == 0 {
            fs::create_dir("prepared").unwrap();
        }
        result
    });
    attack("rename-link", || {
        std::os::unix::fs::symlink("/etc", "link").unwrap();
        let result = two(libc::SYS_renameat2, "link", NAME, 0);
        if result != 0 {
            fs::remove_file("link").unwrap();
        }
        result
    });
}

#[cfg(target_arch = "x86_64")]
fn old_calls() {
    let name = c(NAME);
    let name = name.as_ptr() as usize;
    let (file, create) = (c("file"), usize::try_from(libc::O_CREAT | libc::O_RDWR).unwrap());
    attack("old-open", || call(libc::SYS_open, &[name, create, 0o600]));
    attack("old-creat", || call(libc::SYS_creat, &[name, 0o600]));
    attack("old-mkdir", || call(libc::SYS_mkdir, &[name, 0o700]));
    attack("old-mknod", || call(libc::SYS_mknod, &[name, 0o100_600, 0]));
    attack("old-link", || call(libc::SYS_link, &[file.as_ptr() as usize, name]));
    attack("old-symlink", || call(libc::SYS_symlink, &[file.as_ptr() as usize, name]));
    attack("old-rename", || call(libc::SYS_rename, &[file.as_ptr() as usize, name]));
}

#[cfg(not(target_arch = "x86_64"))]
fn old_calls() {}
