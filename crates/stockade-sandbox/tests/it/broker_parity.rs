//! Odd calls get the same answer from the broker as from the kernel.

#![expect(
    clippy::as_conversions,
    clippy::cast_sign_loss,
    reason = "addresses and descriptors become arguments of system calls"
)]

use std::ffi::CString;
use std::fs;
use std::os::fd::AsRawFd;

use stockade_sandbox::start_jailed;

use crate::broker::folder;
use crate::broker_calls::attacker;
use crate::locks::results;
use crate::roles::{payload, say};
use crate::support::finish;

#[test]
fn odd_calls_get_the_same_answer_with_a_broker_and_without() {
    let answers = |names: &[&str]| {
        let folder = folder();
        let jail = attacker(folder.path(), names);
        let (_, out, err) = finish(&mut start_jailed(payload("broker-parity"), jail).unwrap());
        let answers = results(&out);
        assert!(answers.len() > 90, "{out}{err}");
        answers
    };
    let (free, held) = (answers(&[]), answers(&["x/y/z"]));
    let different: Vec<_> = free
        .iter()
        .filter(|(call, errno)| held.get(*call) != Some(errno))
        .map(|(call, errno)| (call, errno, held.get(call)))
        .collect();
    assert!(different.is_empty(), "call, without, with: {different:?}");
    assert_eq!(free.len(), held.len());
}

const CREATE: i32 = libc::O_CREAT | libc::O_WRONLY;

fn call(number: libc::c_long, args: [usize; 5]) -> i32 {
    // SAFETY: the addresses among the arguments are of strings that live on, or of nothing.
    let result = unsafe { libc::syscall(number, args[0], args[1], args[2], args[3], args[4]) };
    if result < 0 { std::io::Error::last_os_error().raw_os_error().unwrap() } else { 0 }
}

fn open(folder: i32, path: &CString, flags: i32) -> i32 {
    let path = path.as_ptr() as usize;
    call(libc::SYS_openat, [folder as usize, path, flags as usize, 0o600, 0])
}

/// Role: makes odd calls, and says what it got.
pub(crate) fn make_odd_calls() {
    set_up();
    let here = libc::AT_FDCWD;
    for (number, path) in paths().into_iter().enumerate() {
        let shown: String = path.to_string_lossy().chars().take(20).collect();
        let label = |what: &str| format!("{what} {number} {}", shown.replace(['\n', '='], "?"));
        let at = path.as_ptr() as usize;
        let made = |what: &str, errno: i32| {
            say(&label(what), errno);
            clean(&path);
        };
        made("open", open(here, &path, CREATE));
        made("excl", open(here, &path, CREATE | libc::O_EXCL));
        made("nofollow", open(here, &path, CREATE | libc::O_NOFOLLOW));
        made("mkdir", call(libc::SYS_mkdirat, [here as usize, at, 0o700, 0, 0]));
        made("mknod", call(libc::SYS_mknodat, [here as usize, at, 0o010_600, 0, 0]));
        made(
            "symlink",
            call(libc::SYS_symlinkat, [c"t".as_ptr() as usize, here as usize, at, 0, 0]),
        );
        let file = c"file".as_ptr() as usize;
        made("link", call(libc::SYS_linkat, [here as usize, file, here as usize, at, 0]));
        let to = c"l".as_ptr() as usize;
        let from = call(libc::SYS_linkat, [here as usize, at, here as usize, to, 0]);
        // A folder cannot have two names; which of two reasons is given first does not matter.
        made("link-from", if from == libc::EXDEV { libc::EPERM } else { from });
        let _made = fs::remove_file("l");
    }
    descriptors();
    memory();
    flags();
}

fn set_up() {
    for folder in ["dir", "dir/sub", "empty", "closed"] {
        fs::create_dir(folder).unwrap();
    }
    for file in ["file", "dir/file", "read-only"] {
        fs::write(file, "x").unwrap();
    }
    for (link, target) in [
        ("to-file", "file"),
        ("to-dir", "dir"),
        ("dangling", "nowhere/x"),
        ("loop", "loop"),
        ("slash", "new/"),
        ("up", ".."),
    ] {
        std::os::unix::fs::symlink(target, link).unwrap();
    }
    let mode = |path: &str, mode| {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("closed", 0);
    mode("read-only", 0o444);
}

fn paths() -> Vec<CString> {
    let long_name = "n".repeat(256);
    let long_path = "dir/../".repeat(700);
    let fitting = format!("{}new", "./".repeat(2000));
    let texts = [
        "",
        "/",
        "//",
        ".",
        "..",
        "new",
        "new/",
        "new//",
        "file",
        "file/",
        "dir",
        "dir/",
        "dir/.",
        "dir/..",
        "dir/new",
        "dir//sub///new",
        "file/new",
        "nowhere/new",
        "to-file",
        "to-file/",
        "to-dir",
        "to-dir/",
        "to-dir/new",
        "to-dir/../new",
        "dangling",
        "dangling/",
        "loop",
        "loop/new",
        "slash",
        "up/new-outside",
        "closed/new",
        "read-only",
        "/usr/new",
        "/etc/passwd",
        "/new",
        "/dev/null",
        "/dev/null/new",
        "/proc/new",
        "/proc/self/new",
        "/proc/self/fd/99",
        "/proc/self/exe",
        "/proc/version",
        "/tmp/../tmp/",
        "na\nme",
        "é",
    ];
    let more = [long_name, long_path, fitting];
    texts
        .into_iter()
        .map(str::to_owned)
        .chain(more)
        .map(|text| CString::new(text).unwrap())
        .collect()
}

/// Takes away what a call has made.
fn clean(path: &CString) {
    let kept = ["file", "dir", "dir/sub", "read-only", "closed", "empty"];
    let text = path.to_string_lossy();
    let text = text.trim_end_matches('/');
    let is_link =
        fs::symlink_metadata(text).is_ok_and(|found| found.is_symlink() && text.len() < 9);
    if !kept.contains(&text) && !is_link && !text.starts_with("/dev") && !text.ends_with("dir") {
        let _made = fs::remove_file(text).or_else(|_| fs::remove_dir(text));
    }
    let _made = fs::remove_file("../new-outside");
}

fn descriptors() {
    let dir = fs::File::open("dir").unwrap();
    let file = fs::File::open("file").unwrap();
    let new = CString::new("by-fd").unwrap();
    say("fd-dir", open(dir.as_raw_fd(), &new, CREATE));
    say("fd-file", open(file.as_raw_fd(), &new, CREATE));
    say("fd-none", open(999, &new, CREATE));
    say("fd-negative", open(-7, &new, CREATE));
    let absolute = CString::new("/tmp/by-fd").unwrap();
    say("fd-none-absolute", open(-7, &absolute, CREATE));
    fs::create_dir("gone").unwrap();
    let gone = fs::File::open("gone").unwrap();
    fs::remove_dir("gone").unwrap();
    say("fd-gone", open(gone.as_raw_fd(), &new, CREATE));
    let empty = CString::new("").unwrap();
    say("fd-empty", open(dir.as_raw_fd(), &empty, CREATE));
}

fn memory() {
    let here = libc::AT_FDCWD as usize;
    let flags = CREATE as usize;
    say("null", call(libc::SYS_openat, [here, 0, flags, 0o600, 0]));
    say("unmapped", call(libc::SYS_openat, [here, 0x1000, flags, 0o600, 0]));
    say("kernel", call(libc::SYS_openat, [here, usize::MAX - 4095, flags, 0o600, 0]));
    // A string that ends with its page, and one that does not end there.
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a fresh mapping of two pages.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), 8192, protection, kind, -1, 0) };
    // SAFETY: the second of the two pages.
    unsafe { libc::munmap(start.wrapping_byte_add(4096), 4096) };
    let path = start.wrapping_byte_add(4093).cast::<[u8; 3]>();
    for (name, text) in [("page-end", b"pa\0"), ("page-over", b"pag")] {
        // SAFETY: the last three bytes of the page.
        unsafe { path.write(*text) };
        say(name, call(libc::SYS_openat, [here, path as usize, flags, 0o600, 0]));
    }
    say("symlink-null", call(libc::SYS_symlinkat, [0, here, c"s".as_ptr() as usize, 0, 0]));
    say(
        "symlink-empty",
        call(libc::SYS_symlinkat, [c"".as_ptr() as usize, here, c"s".as_ptr() as usize, 0, 0]),
    );
}

fn flags() {
    let here = libc::AT_FDCWD as usize;
    let [file, dir, new] = [c"file", c"dir", c"flagged"].map(|name| name.as_ptr() as usize);
    let rename = |from, to, flags| call(libc::SYS_renameat2, [here, from, here, to, flags]);
    say("rename-noreplace", rename(file, dir, 1));
    say("rename-both", rename(file, new, 3));
    say("rename-unknown", rename(file, new, 64));
    say("rename-file-over-dir", rename(file, dir, 0));
    say("rename-dir-over-file", rename(dir, file, 0));
    say("rename-into-itself", rename(dir, c"dir/sub/x".as_ptr() as usize, 0));
    say("rename-dot", rename(c"dir/.".as_ptr() as usize, new, 0));
    say("rename-to-dot", rename(dir, c"empty/.".as_ptr() as usize, 0));
    say("rename-nothing", rename(c"nothing".as_ptr() as usize, new, 0));
    say("rename-exchange-nothing", rename(file, c"nothing".as_ptr() as usize, 2));
    say("rename-slash", rename(c"file/".as_ptr() as usize, new, 0));
    say("rename-device", rename(file, c"/tmp/x".as_ptr() as usize, 0));
    say("link-flags", call(libc::SYS_linkat, [here, file, here, new, 2]));
    say("link-dir", call(libc::SYS_linkat, [here, dir, here, new, 0]));
    say("link-device", call(libc::SYS_linkat, [here, file, here, c"/tmp/x".as_ptr() as usize, 0]));
    say("mknod-device", call(libc::SYS_mknodat, [here, new, 0o020_600, 0x103, 0]));
    say("mknod-odd", call(libc::SYS_mknodat, [here, new, 0o070_600, 0, 0]));
    for (name, flags) in [
        ("tmpfile-create", libc::O_TMPFILE | CREATE),
        ("path-create", libc::O_PATH | libc::O_CREAT),
        ("read-create", libc::O_CREAT),
        ("bad-access", libc::O_CREAT | 3),
        ("append-trunc", CREATE | libc::O_APPEND | libc::O_TRUNC),
        ("noatime", CREATE | libc::O_NOATIME),
        ("sync", CREATE | libc::O_SYNC),
    ] {
        say(name, call(libc::SYS_openat, [here, file, flags as usize, 0o600, 0]));
    }
    let long = format!("{}/s", "d".repeat(120));
    let bind = |path: &str| match std::os::unix::net::UnixListener::bind(path) {
        Ok(_) => 0,
        Err(error) => error.raw_os_error().unwrap_or(-1),
    };
    say("bind-there", bind("file"));
    say("bind-nowhere", bind("nowhere/s"));
    say("bind-long", bind(&long));
    say("bind-dot", bind("."));
    say("bind-fine", bind("socket"));
}
