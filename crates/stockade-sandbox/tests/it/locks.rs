//! The locks of a sandbox, each tried from inside by a program that attacks and says what it got.
//!
//! The same attacks run once outside every sandbox: there they get something else.

#![expect(clippy::as_conversions, reason = "addresses become arguments of system calls")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;

use stockade_sandbox::{Access, Jail, Mount, start_jailed};

use crate::boxes::{allow, closed, project, run};
use crate::roles::{self, payload, say};
use crate::support::{bare, finish, skip, text};

/// Each attack and its error in the sandbox; 0 is success.
const REFUSED: [(&str, i32); 26] = [
    ("unshare-user", libc::EPERM),
    ("unshare-net", libc::EPERM),
    ("clone-user", libc::EPERM),
    ("clone3", libc::ENOSYS),
    ("setns", libc::EPERM),
    ("mount", libc::EPERM),
    ("umount", libc::EPERM),
    ("chroot", libc::EPERM),
    ("open-tree", libc::EPERM),
    ("handle", libc::EPERM),
    ("io-uring", libc::ENOSYS),
    ("userfaultfd", libc::ENOSYS),
    ("bpf", libc::EPERM),
    ("keyctl", libc::EPERM),
    ("perf", libc::EPERM),
    ("memfd-secret", libc::ENOSYS),
    ("listener", libc::EPERM),
    ("inet", libc::EAFNOSUPPORT),
    ("packet", libc::EAFNOSUPPORT),
    ("vsock", libc::EAFNOSUPPORT),
    ("alg", libc::EAFNOSUPPORT),
    ("netlink", libc::EAFNOSUPPORT),
    ("tiocsti", libc::EPERM),
    ("tiocsti-high", libc::EPERM),
    ("trace", libc::EPERM),
    ("signal-first", libc::EPERM),
];

/// What ordinary programs need.
const ALLOWED: [&str; 5] = ["unix", "socketpair", "thread", "memfd", "filter"];

/// The test binary in the sandbox: its file is not in a system folder, so it is mounted.
pub(crate) fn attacker() -> Jail {
    let path = std::env::current_exe().unwrap();
    let mut jail = closed("/attacker");
    let source = text(path.to_str().unwrap());
    let bind = Mount::bind_at(&source, c"/attacker", Access::ReadOnly).unwrap();
    jail.root.as_mut().unwrap().push(bind);
    allow(&mut jail, c"/attacker");
    jail
}

pub(crate) fn results(text: &str) -> BTreeMap<String, i32> {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs.filter_map(|(name, errno)| Some((name.to_owned(), errno.parse().ok()?))).collect()
}

/// What some kernels refuse to everyone, so that the control half shows nothing there:
/// `memfd_secret` is off by default before Linux 6.5, `open_by_handle_at` was root's before 6.11.
const REFUSED_BY_SOME_KERNELS: [&str; 2] = ["memfd-secret", "handle"];

#[test]
fn every_attack_on_the_kernel_is_refused_with_its_error() {
    let control = roles::command("attacks").output().unwrap();
    let control = results(&String::from_utf8(control.stdout).unwrap());
    let mut run = start_jailed(payload("attacks"), attacker()).unwrap();
    let (_, out, err) = finish(&mut run);
    let boxed = results(&out);
    let scoped = crate::scope::available();
    for (attack, errno) in REFUSED {
        if attack == "signal-first" && !scoped {
            // The kernel takes it and drops it: an init has no signal that it did not ask
            // for, pid_namespaces(7).
            assert_eq!(boxed.get(attack), Some(&0), "{out}{err}");
            continue;
        }
        assert_eq!(boxed.get(attack), Some(&errno), "{attack}: {out}{err}");
        let outside = control.get(attack).copied();
        if outside == Some(errno) && REFUSED_BY_SOME_KERNELS.contains(&attack) {
            skip(&format!("this kernel refuses {attack} to everyone"));
            continue;
        }
        assert!(outside.is_some() && outside != Some(errno), "control: {attack}: {outside:?}");
    }
    for call in ALLOWED {
        assert_eq!(boxed.get(call), Some(&0), "{call}: {out}");
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_call_of_the_32_bit_architecture_kills() {
    let control = roles::command("int80").output().unwrap();
    assert!(String::from_utf8(control.stdout).unwrap().contains("int80=survived"));
    let (ended, out, _) = finish(&mut start_jailed(payload("int80"), attacker()).unwrap());
    assert_eq!(ended.status, stockade_sandbox::Status::Signal(libc::SIGSYS), "{out}");
}

#[test]
fn the_status_shows_every_lock() {
    let (_, out, _) = run(closed("/bin/sh"), "cat /proc/self/status");
    for line in ["NoNewPrivs:\t1\n", "Seccomp:\t2\n", "Seccomp_filters:\t1\n"] {
        assert!(out.contains(line), "{out}");
    }
}

#[test]
fn an_abstract_socket_of_the_host_is_out_of_reach_even_in_its_network() {
    use std::os::linux::net::SocketAddrExt;
    let name = format!("stockade-test-{}", std::process::id());
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
    let listener = UnixListener::bind_addr(&address).unwrap();
    let attack = |mut spec: stockade_sandbox::Spec| {
        spec.env.push(text(&format!("STOCKADE_TEST_SOCKET={name}")));
        spec
    };
    let control = roles::command("abstract").env("STOCKADE_TEST_SOCKET", &name).output().unwrap();
    assert_eq!(results(&String::from_utf8(control.stdout).unwrap()).get("connect"), Some(&0));
    for (network, errno) in [
        (stockade_sandbox::Network::Host, libc::EPERM),
        (stockade_sandbox::Network::None, libc::ECONNREFUSED),
    ] {
        if network == stockade_sandbox::Network::Host && !crate::scope::available() {
            continue;
        }
        let mut jail = attacker();
        jail.network = network;
        let (_, out, err) = finish(&mut start_jailed(attack(payload("abstract")), jail).unwrap());
        assert_eq!(results(&out).get("connect"), Some(&errno), "{out}{err}");
    }
    drop(listener);
}

#[test]
fn landlock_holds_where_the_mount_would_allow() {
    // /dev/shm is writable; its rule is taken away, so Landlock alone says no.
    let mut jail = closed("/bin/sh");
    let rules = &mut jail.landlock.as_mut().unwrap().rules;
    for rule in rules.iter_mut().filter(|rule| rule.path.as_c_str() == c"/tmp") {
        rule.rights = stockade_sandbox::rights::READ;
    }
    let attack = "touch /tmp/x && echo wrote";
    let (_, out, err) = run(jail, attack);
    assert_eq!(out, "");
    assert!(err.contains("Permission denied"), "{err}");
    let (_, out, _) = run(closed("/bin/sh"), attack);
    assert_eq!(out, "wrote\n", "control");
}

#[test]
fn a_set_user_id_file_gives_nothing() {
    if !crate::support::is_root() {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = folder.path().join("id");
    crate::support::copy_program("/usr/bin/id", &path);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o4755);
    fs::set_permissions(&path, mode).unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.path(), open).unwrap();
    let mut nobody = bare("setpriv");
    nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&path).arg("-u");
    assert_eq!(nobody.output().unwrap().stdout, b"0\n", "control");
    let jail = project(folder.path());
    let (_, out, err) = run(jail, "./id -u; id -u");
    assert_eq!(out, "1000\n1000\n", "{err}");
}

/// The sandbox may own files as root does on disk, so this would be root's for everybody outside.
#[test]
fn a_file_that_lends_its_owner_cannot_be_made() {
    let attacks = [
        "cp /bin/true f && chmod 4755 f",
        "cp /bin/true f && chmod g+s f",
        "install -m 6755 /bin/true f",
        "perl -e 'umask 0; sysopen(F, \"f\", 0101, 04755) or exit 1'",
    ];
    for attack in attacks {
        let (outside, inside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let lends = |folder: &tempfile::TempDir| {
            let mode = fs::metadata(folder.path().join("f")).map(|file| file.mode());
            mode.is_ok_and(|mode| mode & 0o6000 != 0)
        };
        bare("/bin/sh").args(["-c", attack]).current_dir(&outside).status().unwrap();
        assert!(lends(&outside), "control: {attack}");
        let (ended, _, err) = run(project(inside.path()), attack);
        assert_ne!(ended.status, stockade_sandbox::Status::Code(0), "{attack}: {err}");
        assert!(!lends(&inside), "{attack}: {err}");
    }
}

/// Real work: whatever of these is installed must run in a sandbox.
#[test]
fn ordinary_programs_run() {
    use std::io::Write;
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let programs = [
        (
            "git",
            "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log --oneline | wc -l",
            "1\n",
        ),
        (
            "python3",
            "python3 -c 'import subprocess, threading, socket, tempfile; t = threading.Thread(target=lambda: None); t.start(); t.join(); print(subprocess.run([\"echo\", \"py\"], capture_output=True, text=True).stdout.strip())'",
            "py\n",
        ),
        (
            "node",
            "node -e 'require(\"child_process\").execSync(\"true\"); console.log(\"js\")'",
            "js\n",
        ),
        ("perl", "perl -e 'print `echo perl`'", "perl\n"),
        ("gcc", "printf 'int main(){return 0;}' > a.c && gcc a.c -o a && ./a && echo c", "c\n"),
        ("make", "printf 'all:\\n\\t@echo made\\n' > Makefile && make -s", "made\n"),
        ("bash", "bash -c 'cat <(echo sub)'", "sub\n"),
        (
            "sqlite3",
            "sqlite3 db 'create table t(a); insert into t values(7); select a from t'",
            "7\n",
        ),
    ];
    for (program, line, expected) in programs {
        let found = ["/usr/bin", "/usr/local/bin", "/bin"]
            .iter()
            .any(|dir| fs::exists(format!("{dir}/{program}")).unwrap());
        if !found {
            writeln!(std::io::stderr(), "skipped: {program} is not installed").unwrap();
            continue;
        }
        let work = folder.path().join(program);
        fs::create_dir(&work).unwrap();
        let jail = project(&work);
        let line =
            format!("export HOME=$PWD TMPDIR=/tmp PATH=/usr/local/bin:/usr/bin:/bin; {line}");
        let (ended, out, err) = run(jail, &line);
        assert_eq!(out, expected, "{program}: {ended:?} {err}");
    }
}

/// A build with the network off, where the toolchain is one folder that can be shown.
#[test]
fn cargo_builds_a_crate() {
    use std::io::Write;
    let Some(cargo) = std::env::var_os("CARGO") else { return };
    let sysroot = std::path::Path::new(&cargo).parent().unwrap().parent().unwrap();
    if !sysroot.join("bin/rustc").exists() {
        writeln!(std::io::stderr(), "skipped: no toolchain that can be shown in a box").unwrap();
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let manifest = "[package]\nname = \"small\"\nedition = \"2024\"\n";
    fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::write(folder.path().join("src/main.rs"), "fn main() { println!(\"built\"); }\n").unwrap();
    let mut jail = project(folder.path());
    let sysroot = text(sysroot.to_str().unwrap());
    jail.root.as_mut().unwrap().push(Mount::bind(&sysroot, Access::ReadOnly).unwrap());
    allow(&mut jail, &sysroot);
    let line = format!(
        "export HOME=/tmp CARGO_HOME=/tmp/cargo PATH={}/bin:/usr/bin:/bin; cargo -q run --offline",
        sysroot.to_str().unwrap()
    );
    let (ended, out, err) = run(jail, &line);
    assert_eq!(out, "built\n", "{ended:?} {err}");
}

/// The attacks themselves, as a role of this test binary: each says its error number, or 0. None
/// does harm where it is allowed.
pub(crate) fn attacks() {
    const ANYTHING: u64 = u64::MAX;
    let text = |text: &'static std::ffi::CStr| text.as_ptr().expose_provenance() as u64;
    let mut room = [0_u64; 32];
    let here = room.as_mut_ptr().expose_provenance() as u64;
    let clone_args = [0_u64, 0, 0, 0, 17, 0, 0, 0];
    let clone_args = clone_args.as_ptr().expose_provenance() as u64;
    // One instruction that allows everything, and struct sock_fprog.
    let allow_all = [0x7fff_0000_0000_0006_u64];
    let program = [1, allow_all.as_ptr().expose_provenance() as u64];
    let program = program.as_ptr().expose_provenance() as u64;
    let first =
        if fs::exists("/attacker").unwrap() { 1 } else { std::os::unix::process::parent_id() };
    let all: [(&str, libc::c_long, [u64; 5]); 30] = [
        ("unshare-user", libc::SYS_unshare, [0x1000_0000, 0, 0, 0, 0]),
        ("unshare-net", libc::SYS_unshare, [0x5000_0000, 0, 0, 0, 0]),
        ("clone-user", libc::SYS_clone, [0x1000_0011, 0, 0, 0, 0]),
        ("clone3", libc::SYS_clone3, [clone_args, 64, 0, 0, 0]),
        ("setns", libc::SYS_setns, [ANYTHING, 0, 0, 0, 0]),
        ("mount", libc::SYS_mount, [text(c"x"), text(c"/none"), text(c"none"), 0, 0]),
        ("umount", libc::SYS_umount2, [text(c"/none"), 0xffff, 0, 0, 0]),
        ("chroot", libc::SYS_chroot, [text(c"/none"), 0, 0, 0, 0]),
        ("open-tree", libc::SYS_open_tree, [ANYTHING, text(c"x"), 0, 0, 0]),
        ("handle", libc::SYS_open_by_handle_at, [ANYTHING, 0, 0, 0, 0]),
        ("io-uring", libc::SYS_io_uring_setup, [1, here, 0, 0, 0]),
        ("userfaultfd", libc::SYS_userfaultfd, [0xffff, 0, 0, 0, 0]),
        ("bpf", libc::SYS_bpf, [9999, 0, ANYTHING, 0, 0]),
        ("keyctl", libc::SYS_keyctl, [0, 0xffff_fffd, 0, 0, 0]),
        ("perf", libc::SYS_perf_event_open, [0, 0, ANYTHING, ANYTHING, 0]),
        ("memfd-secret", libc::SYS_memfd_secret, [0xffff, 0, 0, 0, 0]),
        ("listener", libc::SYS_seccomp, [1, 8, program, 0, 0]),
        ("inet", libc::SYS_socket, [2, 1, 0, 0, 0]),
        ("packet", libc::SYS_socket, [17, 99, 0, 0, 0]),
        ("vsock", libc::SYS_socket, [40, 99, 0, 0, 0]),
        ("alg", libc::SYS_socket, [38, 99, 0, 0, 0]),
        ("netlink", libc::SYS_socket, [16, 3, 0, 0, 0]),
        ("tiocsti", libc::SYS_ioctl, [0, 0x5412, text(c"x"), 0, 0]),
        ("tiocsti-high", libc::SYS_ioctl, [0, 0xffff_ffff_0000_5412, text(c"x"), 0, 0]),
        ("trace", libc::SYS_ptrace, [16, 0x7fff_ffff, 0, 0, 0]),
        ("signal-first", libc::SYS_kill, [u64::from(first), 0, 0, 0, 0]),
        ("unix", libc::SYS_socket, [1, 1, 0, 0, 0]),
        ("socketpair", libc::SYS_socketpair, [1, 1, 0, here, 0]),
        ("memfd", libc::SYS_memfd_create, [text(c"x"), 0, 0, 0, 0]),
        ("filter", libc::SYS_seccomp, [1, 0, program, 0, 0]),
    ];
    for (name, number, args) in all {
        say(name, attempt(number, args));
    }
    say("thread", std::thread::spawn(|| 0).join().unwrap());
}

/// Makes one call: its error number, or 0.
fn attempt(number: libc::c_long, args: [u64; 5]) -> i32 {
    // SAFETY: the table above passes numbers and memory of its own that is large enough for what
    // the kernel writes; a child that is made here exits at once.
    match unsafe { libc::syscall(number, args[0], args[1], args[2], args[3], args[4]) } {
        // SAFETY: _exit runs no destructor and no handler.
        0 if [libc::SYS_clone, libc::SYS_clone3].contains(&number) => unsafe { libc::_exit(0) },
        -1 => std::io::Error::last_os_error().raw_os_error().unwrap(),
        _ => 0,
    }
}

/// Connects to an abstract socket, as a role.
pub(crate) fn abstract_socket() {
    use std::os::linux::net::SocketAddrExt;
    let name = std::env::var("STOCKADE_TEST_SOCKET").unwrap();
    let address = std::os::unix::net::SocketAddr::from_abstract_name(name).unwrap();
    let connected = std::os::unix::net::UnixStream::connect_addr(&address);
    say("connect", connected.map_or_else(|error| error.raw_os_error().unwrap(), |_| 0));
}

/// Makes a call of the 32-bit architecture, as a role.
#[cfg(target_arch = "x86_64")]
pub(crate) fn int80() {
    const GETPID: i32 = 20;
    // SAFETY: getpid takes no memory; the instruction changes eax only, r8 to r11 may be lost.
    unsafe {
        std::arch::asm!(
            "int 0x80",
            inlateout("eax") GETPID => _,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _,
        );
    }
    say("int80", "survived");
}
