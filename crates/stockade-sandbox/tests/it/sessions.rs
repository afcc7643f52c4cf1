//! What calls of one session share, what they do not, and what becomes of processes that they leave
//! running.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use stockade_sandbox::{
    Cause, Ended, FolderLimits, InSession, Jail, Leftovers, Mount, Network, Running, SessionSpace,
    Status, landlock_abi, start_jailed_if,
};

use crate::boxes::{closed, project};
use crate::support::{Mark, bare, finish, shell, text, within};

const LIMITS: FolderLimits = FolderLimits { bytes_max: 16 << 20, files_max: 1000 };
/// As long as anything takes on a busy machine.
const LONG: Duration = Duration::from_secs(120);

pub(crate) fn session() -> Arc<SessionSpace> {
    Arc::new(SessionSpace::create(LIMITS).unwrap())
}

/// The same sandbox without Landlock where the kernel lacks it. Nothing that is shown here rests on it.
fn as_possible(mut jail: Jail) -> Jail {
    if landlock_abi().is_none() {
        jail.landlock = None;
    }
    jail
}

/// A sandbox of a session, made from another.
pub(crate) fn joined(jail: Jail, space: &Arc<SessionSpace>, leftovers: Leftovers) -> Jail {
    let mut jail = as_possible(jail);
    let mounts = jail.root.as_mut().unwrap();
    mounts.retain(|mount| mount.target() != c"/tmp");
    mounts.push(Mount::Session { target: c"/tmp".to_owned() });
    let space = Arc::clone(space);
    jail.session = Some(InSession { space, pid_base: 0, leftovers });
    jail.network = Network::Loopback;
    // Programs that connect and listen.
    jail.filter = jail.filter.map(|filter| stockade_sandbox::Filter {
        sockets: stockade_sandbox::Sockets::Internet,
        ..filter
    });
    jail
}

fn start(jail: Jail, line: &str) -> Running {
    start_jailed_if(shell(line), jail, |seen| {
        assert_eq!(seen.missing, []);
        true
    })
    .unwrap()
}

fn call(space: &Arc<SessionSpace>, line: &str) -> (Ended, String, String) {
    finish(&mut start(joined(closed("/bin/sh"), space, Leftovers::End), line))
}

fn said(space: &Arc<SessionSpace>, line: &str) -> String {
    let (ended, stdout, stderr) = call(space, line);
    assert_eq!((ended.status, stderr.as_str()), (Status::Code(0), ""), "{stdout}");
    stdout
}

#[test]
fn calls_share_a_folder_and_ipc_and_other_sessions_have_their_own() {
    let (space, other) = (session(), session());
    said(&space, "echo kept > /tmp/x; mkdir -p /tmp/home; echo h > /tmp/home/y");
    assert_eq!(said(&space, "cat /tmp/x /tmp/home/y"), "kept\nh\n");
    assert_eq!(said(&other, "ls -A /tmp"), "");
    let names = |space| said(space, "readlink /proc/self/ns/ipc /proc/self/ns/net");
    assert_eq!(names(&space), names(&space));
    assert_ne!(names(&space), names(&other));
    let host = ["ipc", "net"].map(|kind| fs::read_link(format!("/proc/self/ns/{kind}")).unwrap());
    assert!(host.iter().all(|name| !names(&space).contains(name.to_str().unwrap())));
    // Both at once: the number of a namespace that is gone is used again.
    let own = "readlink /proc/self/ns/user /proc/self/ns/pid /proc/self/ns/mnt";
    let waits = format!("{own}; touch /tmp/ready; while [ ! -e /tmp/go ]; do sleep 0.01; done");
    let mut first = start(joined(closed("/bin/sh"), &space, Leftovers::End), &waits);
    let second = said(
        &space,
        &format!("while [ ! -e /tmp/ready ]; do sleep 0.01; done; {own}; touch /tmp/go"),
    );
    let (ended, first, _) = finish(&mut first);
    assert_eq!((ended.status, first.lines().count()), (Status::Code(0), 3), "{first}");
    for (first, second) in first.lines().zip(second.lines()) {
        assert_ne!(first, second);
    }
}

/// A server that listens on a port, in the background, and a client of it.
const SERVE: &str = "python3 -c 'import socket
s = socket.socket(); s.bind((\"127.0.0.1\", 7070)); s.listen()
open(\"/tmp/ready\", \"w\").close()
while True: c, _ = s.accept(); c.sendall(b\"served\"); c.close()' > /dev/null 2>&1 &
while [ ! -e /tmp/ready ]; do sleep 0.01; done";
const ASK: &str = "python3 -c 'import socket
print(socket.create_connection((\"127.0.0.1\", 7070), 5).recv(9).decode())'";

#[test]
fn what_is_left_running_serves_later_calls_and_they_do_not_reach_it_otherwise() {
    let (space, other, mark) = (session(), session(), Mark::new());
    let jail = joined(closed("/bin/sh"), &space, Leftovers::Stay);
    let mut run = start_jailed_if(mark.on(shell(SERVE)), jail, |_| true).unwrap();
    let (ended, ..) = finish(&mut run);
    assert_eq!((ended.status, ended.cause), (Status::Code(0), Cause::Exited));
    assert_eq!((ended.left_running, ended.leftovers), (1, 0));
    run.keep_left();
    assert_eq!(said(&space, ASK), "served\n");
    assert_ne!(call(&other, ASK).0.status, Status::Code(0));
    // Neither seen nor signalled, by its number or any other.
    let seen =
        said(&space, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '; kill -9 -1 2>/dev/null; true");
    assert!(!seen.contains("python3"), "{seen}");
    let all =
        "for p in $(seq 1 400); do kill -9 $p 2>/dev/null && [ $p != $$ ] && echo $p; done; true";
    let killed = call(&space, all).1;
    assert_eq!(killed.lines().filter(|pid| *pid != "1").count(), 0, "{killed}");
    assert_eq!(run.try_ended().unwrap(), None);
    assert_eq!(said(&space, ASK), "served\n");
    run.kill().unwrap();
    assert_eq!(run.wait().unwrap().cause, Cause::Killed);
    assert_eq!(mark.found(), Vec::<i32>::new());
    assert_ne!(call(&space, ASK).0.status, Status::Code(0));
}

#[test]
fn what_is_left_running_ends_by_itself_or_with_its_handle() {
    let (space, mark) = (session(), Mark::new());
    let stays = |line: &str| {
        let jail = joined(closed("/bin/sh"), &space, Leftovers::Stay);
        let mut run = start_jailed_if(mark.on(shell(line)), jail, |_| true).unwrap();
        (finish(&mut run).0, run)
    };
    let (ended, mut run) = stays("(sleep 0.3; echo late) & (setsid sleep 0.2 &)");
    assert!((1..=4).contains(&ended.left_running), "{ended:?}");
    run.keep_left();
    let (last, stdout, _) = finish(&mut run);
    assert_eq!((last.cause, last.left_running, stdout.as_str()), (Cause::Exited, 0, "late\n"));
    // Without anybody who keeps it, it ends.
    drop(stays("sleep 300 &"));
    assert!(within(LONG, || mark.found().is_empty()));
    let (_, mut kept) = stays("sleep 300 &");
    kept.keep_left();
    drop(kept);
    assert!(within(LONG, || mark.found().is_empty()));
    // Nothing stays where nothing may.
    let jail = joined(closed("/bin/sh"), &space, Leftovers::End);
    let (ended, ..) =
        finish(&mut start_jailed_if(mark.on(shell("sleep 300 &")), jail, |_| true).unwrap());
    assert_eq!((ended.left_running, ended.leftovers), (0, 1));
    assert_eq!(mark.found(), Vec::<i32>::new());
}

#[test]
fn the_folder_in_which_a_line_has_ended_is_told() {
    let (space, folder) = (session(), tempfile::tempdir().unwrap());
    let odd = "a $(touch x)\n'b";
    fs::create_dir_all(folder.path().join(odd).join("deep")).unwrap();
    let ended_in = |line: &str| {
        let mut run = start(joined(project(folder.path()), &space, Leftovers::End), line);
        finish(&mut run);
        run.take_end_folder()
    };
    let root = folder.path().to_owned();
    assert_eq!(ended_in("true").unwrap().path, root);
    for how in ["", "; exit 3", "; exec true", "; kill -9 $$", "; trap 'exit 1' EXIT"] {
        let line = format!("cd '{}'; cd a*/deep{how}", root.display());
        let end = ended_in(&line).unwrap();
        assert_eq!(end.path, root.join(odd).join("deep"), "{how}");
        let stat = rustix::fs::fstat(&end.handle).unwrap();
        let real = rustix::fs::stat(root.join(odd).join("deep")).unwrap();
        assert_eq!((stat.st_dev, stat.st_ino), (real.st_dev, real.st_ino));
    }
    assert!(ended_in("mkdir /tmp/gone; cd /tmp/gone; rmdir /tmp/gone").is_none());
    // A child's folder is its own.
    assert_eq!(ended_in("(cd /tmp); cd /usr").unwrap().path, Path::new("/usr"));
}

#[test]
fn pinned_folders_are_sealed_for_what_stays_and_a_writer_there_does_not_stay() {
    let (space, folder) = (session(), tempfile::tempdir().unwrap());
    let root = folder.path().to_owned();
    let git = root.join(".git");
    fs::create_dir(&git).unwrap();
    fs::write(git.join("config"), "real\n").unwrap();
    let path = |path: &Path| text(path.to_str().unwrap());
    let jail = || {
        let mut jail = joined(project(&root), &space, Leftovers::Stay);
        let mounts = jail.root.as_mut().unwrap();
        mounts.push(Mount::Pin { target: path(&git) });
        mounts.push(Mount::Protect { target: path(&git.join("config")) });
        jail.sealed = vec![path(&git)];
        jail
    };
    let line = format!(
        "cd {}; echo one > .git/index; (while [ ! -e go ]; do sleep 0.02; done; \
         echo evil > .git/config; echo two > .git/index; echo done > done; sleep 300) 2>/dev/null &",
        root.display()
    );
    let mut run = start(jail(), &line);
    assert!(finish(&mut run).0.left_running > 0);
    run.keep_left();
    // As `git config` on the host does it.
    fs::write(git.join("config.lock"), "changed\n").unwrap();
    fs::rename(git.join("config.lock"), git.join("config")).unwrap();
    fs::write(root.join("go"), "").unwrap();
    assert!(within(LONG, || root.join("done").exists()));
    assert_eq!(fs::read_to_string(git.join("config")).unwrap(), "changed\n");
    assert_eq!(fs::read_to_string(git.join("index")).unwrap(), "one\n");
    drop(run);
    // The control: one that does not stay, but lives as long, is not sealed.
    fs::remove_file(root.join("done")).unwrap();
    let mut run = start(
        joined(project(&root), &space, Leftovers::End),
        &format!("cd {}; echo two > .git/index; echo evil > .git/config", root.display()),
    );
    assert_eq!(finish(&mut run).0.status, Status::Code(0));
    assert_eq!(fs::read_to_string(git.join("config")).unwrap(), "evil\n");
    // A writer in a folder that would be sealed.
    let writer = format!("cd {}; exec 3> .git/held; sleep 300 & :", root.display());
    let (ended, ..) = finish(&mut start(jail(), &writer));
    assert_eq!((ended.left_running, ended.leftovers), (0, 1));
}

#[test]
fn a_call_has_no_rights_over_what_its_session_shares() {
    let space = session();
    let down = "import fcntl, socket, struct, os, ctypes
def tried(what, f):
    try: f(); print(what, 'worked')
    except (OSError, PermissionError) as e: pass
s = socket.socket()
tried('lo down', lambda: fcntl.ioctl(s, 0x8914, struct.pack('16sH22x', b'lo', 0)))
tried('sysctl', lambda: open('/proc/sys/net/ipv4/ip_forward', 'w').write('1'))
libc = ctypes.CDLL(None, use_errno=True)
def call(f, *args):
    if f(*args) != 0: raise OSError(ctypes.get_errno(), 'no')
tried('remount', lambda: call(libc.mount, b'none', b'/tmp', None, 32 | 1, None))
tried('umount', lambda: call(libc.umount2, b'/tmp', 2))
tried('userns', lambda: call(libc.unshare, 0x10000000))
tried('netns', lambda: call(libc.unshare, 0x40000000))
for name in ('user', 'net', 'mnt', 'ipc'):
    fd = os.open('/proc/self/ns/' + name, os.O_RDONLY)
    tried('setns ' + name, lambda: call(libc.setns, fd, 0))
";
    let quoted = down.replace('\'', "\"");
    assert_eq!(said(&space, &format!("python3 -c '{quoted}'")), "");
    // The control: the same as root of a network of one's own.
    let unshared = bare("unshare").args(["-Urn", "python3", "-c", down]).output().unwrap();
    let control = String::from_utf8(unshared.stdout).unwrap();
    assert!(control.contains("lo down worked"), "{control}");
}

#[test]
fn ids_of_processes_begin_where_they_are_told_to() {
    let space = session();
    let mut jail = joined(closed("/bin/sh"), &space, Leftovers::End);
    jail.session.as_mut().unwrap().pid_base = 5000;
    let (_, stdout, _) = finish(&mut start(jail, "echo $$"));
    let pid: u32 = stdout.trim().parse().unwrap();
    let is_there = Path::new("/proc/sys/kernel/ns_last_pid").exists();
    assert!(pid == 5001 || (!is_there && pid < 100), "{pid}");
}

#[test]
fn a_thousand_sessions_leave_no_descriptor() {
    let ids: Vec<u64> = (0..1000).map(|_| session().id().unwrap()).collect();
    let open = fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| {
        fs::read_link(entry.unwrap().path()).ok()?.into_os_string().into_string().ok()
    });
    let open: Vec<String> = open.collect();
    // Numbers of namespaces are used again, also by other tests of this process.
    let kept = ids.iter().filter(|id| open.contains(&format!("net:[{id}]"))).count();
    assert!(kept < 20, "{kept}");
}

#[test]
fn other_descriptors_make_no_session() {
    let files = || (0..SessionSpace::DESCRIPTORS).map(|_| fs::File::open("/").unwrap().into());
    assert!(SessionSpace::from_descriptors(files().collect()).is_err());
    let space = session();
    let again = space.descriptors().map(|fd| fd.try_clone_to_owned().unwrap());
    let again = SessionSpace::from_descriptors(again.into()).unwrap();
    assert_eq!(again.id().unwrap(), space.id().unwrap());
}

/// A server at a socket that takes a folder, waits until its sender is gone, and uses it.
const TAKE: &str = "python3 -c 'import array, os, socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()
open(sys.argv[1] + \".up\", \"w\").close(); c, _ = s.accept()
_, rights, _, _ = c.recvmsg(9, socket.CMSG_SPACE(4))
folder = array.array(\"i\", rights[0][2])[0]
while not os.path.exists(\"go\"): time.sleep(0.02)
out = open(\"seen\", \"w\")
for name, flags in ((\"hidden\", os.O_RDONLY), (\"kept/config\", os.O_WRONLY)):
    try: os.open(name, flags, dir_fd=folder); print(\"opened\", name, file=out)
    except OSError as e: print(\"refused\", name, file=out)
out.close(); os.rename(\"seen\", \"done\")' ";
/// Sends the working directory there.
const PASS: &str = "python3 -c 'import array, os, socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
rights = array.array(\"i\", [os.open(\".\", os.O_PATH)])
s.sendmsg([b\"x\"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])' ";

/// What has become of the project when a handle on it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meanwhile {
    Nothing,
    /// The host has replaced a protected file, which takes its cover away.
    Replaced,
}

/// What a sandbox can do with a handle on the project that another has passed to it and that has ended.
fn use_of_a_passed_folder(
    break_it: fn(&mut Jail),
    is_in_session: bool,
    meanwhile: Meanwhile,
) -> String {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_owned();
    fs::create_dir(root.join("kept")).unwrap();
    fs::write(root.join("kept/config"), "good\n").unwrap();
    fs::write(root.join("hidden"), "secret\n").unwrap();
    let path = |path: &Path| text(path.to_str().unwrap());
    let space = session();
    let jail = || {
        let mut jail = project(&root);
        let mounts = jail.root.as_mut().unwrap();
        mounts.push(Mount::Hide { target: path(&root.join("hidden")) });
        mounts.push(Mount::Pin { target: path(&root.join("kept")) });
        mounts.push(Mount::Protect { target: path(&root.join("kept/config")) });
        jail.sealed = vec![path(&root.join("kept"))];
        break_it(&mut jail);
        if is_in_session { joined(jail, &space, Leftovers::End) } else { as_possible(jail) }
    };
    let begin = |line: &str| start_jailed_if(shell(line), jail(), |_| true).unwrap();
    let socket = if is_in_session { "/tmp/s".to_owned() } else { "s".to_owned() };
    let at = format!("cd {}; ", root.display());
    // The marks of the receiver are in the project.
    let mut receiver = begin(&format!("{at}{TAKE}{socket}"));
    if is_in_session {
        let waits = format!("{at}while [ ! -e {socket}.up ]; do sleep 0.02; done");
        finish(&mut begin(&waits));
    } else {
        assert!(within(LONG, || root.join("s.up").exists()));
    }
    let (ended, _, stderr) = finish(&mut begin(&format!("{at}{PASS}{socket}")));
    assert_eq!((ended.status, ended.is_unsealed), (Status::Code(0), false), "{stderr}");
    if meanwhile == Meanwhile::Replaced {
        fs::write(root.join("kept/config.lock"), "changed\n").unwrap();
        fs::rename(root.join("kept/config.lock"), root.join("kept/config")).unwrap();
    }
    fs::write(root.join("go"), "").unwrap();
    let (ended, _, stderr) = finish(&mut receiver);
    assert_eq!(ended.status, Status::Code(0), "{stderr}");
    fs::read_to_string(root.join("done")).unwrap()
}

#[test]
fn a_passed_folder_stays_covered_when_the_sandbox_that_passed_it_is_gone() {
    use stockade_sandbox::Mechanism;
    for is_in_session in [false, true] {
        let seen = |break_it| use_of_a_passed_folder(break_it, is_in_session, Meanwhile::Nothing);
        assert_eq!(seen(|_| ()), "refused hidden\nrefused kept/config\n");
        // The control: covers that are not locked go with their sandbox.
        let unlocked = seen(|jail| jail.faults.left_out.push(Mechanism::LockedMounts));
        assert_eq!(unlocked, "opened hidden\nopened kept/config\n");
    }
}

#[test]
fn a_passed_folder_cannot_be_written_when_the_host_replaces_what_was_covered() {
    for is_in_session in [false, true] {
        let seen = |break_it| use_of_a_passed_folder(break_it, is_in_session, Meanwhile::Replaced);
        assert_eq!(seen(|_| ()), "refused hidden\nrefused kept/config\n");
        // The control: a folder that stays as it was with the end of its sandbox.
        let unsealed = seen(|jail| jail.sealed.clear());
        assert_eq!(unsealed, "refused hidden\nopened kept/config\n");
    }
}

#[test]
fn a_writer_elsewhere_keeps_a_folder_from_being_sealed_and_that_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_owned();
    fs::create_dir(root.join("kept")).unwrap();
    let path = |path: &Path| text(path.to_str().unwrap());
    let jail = || {
        let mut jail = project(&root);
        jail.root.as_mut().unwrap().push(Mount::Pin { target: path(&root.join("kept")) });
        jail.sealed = vec![path(&root.join("kept"))];
        as_possible(jail)
    };
    let begin = |line: &str| start_jailed_if(shell(line), jail(), |_| true).unwrap();
    let at = format!("cd {}; ", root.display());
    let holds = "python3 -c 'import os, socket, time
s = socket.socket(socket.AF_UNIX); s.bind(\"s\"); s.listen(); open(\"up\", \"w\").close()
c, _ = s.accept(); held = c.recvmsg(9, 100); open(\"held\", \"w\").close()
while not os.path.exists(\"go\"): time.sleep(0.02)'";
    let mut holder = begin(&format!("{at}{holds}"));
    assert!(within(LONG, || root.join("up").exists()));
    let passes = "python3 -c 'import array, os, socket, time
s = socket.socket(socket.AF_UNIX); s.connect(\"s\")
rights = array.array(\"i\", [os.open(\"kept/file\", os.O_WRONLY | os.O_CREAT)])
s.sendmsg([b\"x\"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
while not os.path.exists(\"held\"): time.sleep(0.02)'";
    let (ended, _, stderr) = finish(&mut begin(&format!("{at}{passes}")));
    assert_eq!((ended.status, ended.is_unsealed), (Status::Code(0), true), "{stderr}");
    fs::write(root.join("go"), "").unwrap();
    let (ended, _, stderr) = finish(&mut holder);
    assert_eq!((ended.status, ended.is_unsealed), (Status::Code(0), false), "{stderr}");
}
