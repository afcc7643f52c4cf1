//! The root of a sandbox: what is there, what can be written, and what cannot be reached.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use stockade_sandbox::{Access, Errno, Mount, ProcView, StartError, Status, Step, start_jailed};
use tempfile::TempDir;

use crate::boxes::{allow, closed, project, run};
use crate::support::{bare, finish, is_root, shell, text};

/// A folder with a project in it, which everybody may look into.
fn folder() -> TempDir {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// A line of shell without a sandbox: the control half of an attack.
fn control(folder: &Path, line: &str) -> String {
    let output = bare("/bin/sh").args(["-c", line]).current_dir(folder).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_root_has_only_what_was_listed() {
    let (_, out, err) = run(closed("/bin/sh"), "ls -A / | tr '\\n' ' '; ls -A /dev /tmp /dev/shm");
    assert!(!out.contains("sys") && !out.contains("home") && !out.contains("root"), "{out}{err}");
    assert!(out.contains("dev") && out.contains("proc") && out.contains("usr"), "{out}{err}");
    assert!(
        out.contains(
            "/dev:\nfd\nfull\nnull\nptmx\npts\nrandom\nshm\nstderr\nstdin\nstdout\ntty\nurandom\nzero\n"
        ),
        "{out}"
    );
    assert!(out.ends_with("/dev/shm:\n\n/tmp:\n"), "{out}");
}

#[test]
fn devices_work() {
    let line = "echo x > /dev/null && head -c 2 /dev/zero | wc -c && head -c 3 /dev/urandom | wc -c \
                && echo y > /dev/full; cat /dev/fd/0 </dev/null && echo z > /dev/stdout";
    let (_, out, err) = run(closed("/bin/sh"), line);
    assert_eq!(out, "2\n3\nz\n", "{err}");
    assert!(err.contains("No space left") || err.contains("I/O error"), "{err}");
}

#[test]
fn nothing_can_be_written_but_where_it_was_said() {
    let folder = folder();
    let attack = "for f in /x /usr/x /etc/x /dev/x /proc/x; do \
                  touch $f 2>/dev/null && echo wrote $f; done; touch /tmp/x ./x /dev/shm/x && echo fine";
    let (_, out, err) = run(project(folder.path()), attack);
    assert_eq!(out, "fine\n", "{err}");
    assert!(folder.path().join("x").exists());
}

#[test]
fn temporary_folders_are_private() {
    let canary = tempfile::Builder::new().tempfile_in("/tmp").unwrap();
    let path = canary.path().display();
    assert_eq!(control(Path::new("/"), &format!("ls {path}")), format!("{path}\n"));
    let (_, out, _) = run(closed("/bin/sh"), &format!("ls {path}; echo x > /tmp/mine; ls /tmp"));
    assert_eq!(out, "mine\n");
    assert!(!Path::new("/tmp/mine").exists());
}

#[test]
fn a_file_outside_cannot_be_reached_by_any_path() {
    let (outside, inside) = (folder(), folder());
    let canary = outside.path().join("canary");
    fs::write(&canary, "secret").unwrap();
    std::os::unix::fs::symlink(&canary, inside.path().join("link")).unwrap();
    let (canary, name) = (canary.display(), outside.path().file_name().unwrap().to_str().unwrap());
    let attack = format!(
        "cat {canary}; cat link; cat ../{name}/canary; cat /proc/self/root{canary}; \
         cat /proc/1/root{canary}; cat /proc/self/cwd/../{name}/canary; \
         for p in /proc/[0-9]*; do cat $p/root{canary}; done"
    );
    assert!(control(inside.path(), &attack).contains("secret"));
    let (_, out, err) = run(project(inside.path()), &attack);
    assert_eq!(out, "", "{err}");
}

#[test]
fn new_files_keep_the_owner_of_the_folder() {
    let folder = folder();
    fs::create_dir(folder.path().join("sub")).unwrap();
    fs::write(folder.path().join("sub/old"), "a").unwrap();
    let line = "id -u; stat -c %u . sub sub/old; echo b >> sub/old; mkdir d; echo c > d/new; \
                mv d/new sub/moved; chmod 600 sub/moved; cat sub/old";
    let (ended, out, err) = run(project(folder.path()), line);
    assert_eq!(ended.status, Status::Code(0), "{err}");
    let mut lines = out.lines();
    let user = lines.next().unwrap();
    assert!(lines.by_ref().take(3).all(|owner| owner == user), "{out}");
    let owner = fs::metadata(folder.path()).unwrap();
    for name in ["sub/old", "sub/moved", "d"] {
        let made = fs::metadata(folder.path().join(name)).unwrap();
        assert_eq!((made.uid(), made.gid()), (owner.uid(), owner.gid()), "{name}");
    }
}

#[test]
fn processes_outside_are_not_in_proc_and_the_first_cannot_be_looked_into() {
    let own = std::process::id();
    let attack = format!(
        "ls -d /proc/[0-9]*; cat /proc/{own}/cmdline; readlink /proc/1/exe /proc/1/cwd; cat /proc/1/environ /proc/1/maps"
    );
    assert!(control(Path::new("/"), &attack).contains(&format!("/proc/{own}\n")));
    let (_, out, err) = run(closed("/bin/sh"), &attack);
    assert!(out.lines().all(|line| line.len() <= "/proc/99".len()), "{out}{err}");
    assert!(!out.contains("/proc/1\n") && out.contains("/proc/2\n"), "{out}");
}

#[test]
fn proc_can_show_processes_only() {
    let mut jail = closed("/bin/sh");
    for mount in jail.root.as_mut().unwrap() {
        if let Mount::Proc { view, .. } = mount {
            *view = ProcView::ProcessesOnly;
        }
    }
    let (_, out, _) = run(jail, "ls /proc | grep -v '^[0-9]' | sort | tr '\\n' ' '");
    assert_eq!(out, "self thread-self ");
}

#[test]
fn hidden_files_and_folders_cannot_be_opened_and_stay_so() {
    let folder = folder();
    fs::write(folder.path().join(".env"), "secret").unwrap();
    fs::create_dir(folder.path().join("keys")).unwrap();
    fs::write(folder.path().join("keys/id"), "secret").unwrap();
    let attack = "cat .env keys/id; ls -A keys; echo x > .env; echo x > keys/new; mv .env e2; \
                  rm -rf keys; mv keys k2; cat e2 k2/id";
    let hidden = |name: &str| {
        let mut jail = project(folder.path());
        let path = folder.path().join(name);
        let target = text(path.to_str().unwrap());
        jail.root.as_mut().unwrap().push(Mount::Hide { target });
        jail
    };
    let mut both = hidden(".env");
    let keys = text(folder.path().join("keys").to_str().unwrap());
    both.root.as_mut().unwrap().push(Mount::Hide { target: keys });
    let (_, out, err) = run(both, attack);
    assert_eq!(out, "", "{err}");
    assert_eq!(fs::read(folder.path().join(".env")).unwrap(), b"secret");
    assert_eq!(fs::read(folder.path().join("keys/id")).unwrap(), b"secret");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    assert!(control(folder.path(), attack).contains("secret"));
    let denied = err.lines().filter(|line| line.ends_with("Permission denied")).count();
    assert!(denied >= 3, "cat twice and ls, never an empty file: {err}");
    // One that is not there cannot be hidden, and nothing runs.
    let error = start_jailed(shell("true"), hidden("none")).unwrap_err();
    assert_eq!(error, StartError { step: Step::HidePath, errno: Errno::NOENT });
}

/// Tools that compare the size and the time, as git does, must not take the cover for a change.
#[test]
fn a_hidden_file_shows_the_size_the_time_and_the_executable_bit_and_nothing_else() {
    let folder = folder();
    let shown = |name: &str| {
        let mut jail = project(folder.path());
        let target = text(folder.path().join(name).to_str().unwrap());
        jail.root.as_mut().unwrap().push(Mount::Hide { target });
        run(
            jail,
            &format!("stat -c '%s %Y %a %F' {name}; cat {name}; chmod 600 {name}; cat {name}"),
        )
    };
    let put = |name: &str, mode: u32| {
        let path = folder.path().join(name);
        fs::write(&path, "secret").unwrap();
        let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_001);
        fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    };
    put("plain", 0o644);
    put("script", 0o755);
    for (name, mode) in [("plain", "0"), ("script", "100")] {
        let (_, out, err) = shown(name);
        assert_eq!(out, format!("6 1000000001 {mode} regular file\n"), "{err}");
        assert_eq!(err.matches("Permission denied").count(), 2, "{err}");
    }
}

/// The ways around a read-only file, found by trying: through its parents.
const PROTECTED_ATTACKS: [&str; 7] = [
    "echo evil > .git/config",
    "rm -f .git/config; echo evil > .git/config",
    "echo evil > x; mv -f x .git/config",
    "mv .git g2; mkdir .git; echo evil > .git/config",
    "mkdir evil; echo evil > evil/config; \
     python3 -c 'import ctypes; ctypes.CDLL(None).renameat2(-100, b\"evil\", -100, b\".git\", 2)'",
    "rm -rf .git; mkdir .git; echo evil > .git/config",
    "umount .git/config; umount -l .git; echo evil > .git/config",
];

#[test]
fn a_protected_path_cannot_be_changed_through_its_parents_either() {
    for attack in PROTECTED_ATTACKS {
        let prepared = || {
            let folder = folder();
            fs::create_dir(folder.path().join(".git")).unwrap();
            fs::write(folder.path().join(".git/config"), "good\n").unwrap();
            folder
        };
        let read =
            |folder: &TempDir| fs::read_to_string(folder.path().join(".git/config")).unwrap();
        let folder = prepared();
        let control = bare("/bin/sh").args(["-c", attack]).current_dir(&folder).output().unwrap();
        let had_python = !attack.contains("python3") || control.status.success();
        if had_python {
            assert_eq!(read(&folder), "evil\n", "control: {attack}");
        }

        let folder = prepared();
        let mut jail = project(folder.path());
        let root = jail.root.as_mut().unwrap();
        let at = |name: &str| text(folder.path().join(name).to_str().unwrap());
        root.push(Mount::Pin { target: at(".git") });
        root.push(Mount::Protect { target: at(".git/config") });
        let line = format!("{attack}\necho more > .git/HEAD && echo fine");
        let (_, out, err) = run(jail, &line);
        assert_eq!(read(&folder), "good\n", "{attack}: {err}");
        if !attack.contains("rm -rf") {
            assert_eq!(out, "fine\n", "{attack}: the rest of the folder can be written: {err}");
        }
    }
}

#[test]
fn a_mount_point_behind_a_link_is_an_error_and_nothing_is_made_in_the_project() {
    let folder = folder();
    std::os::unix::fs::symlink("/etc", folder.path().join(".cache")).unwrap();
    let at = |name: &str| text(folder.path().join(name).to_str().unwrap());
    for (name, errno) in [(".cache/x", Errno::LOOP), ("new/x", Errno::NOENT)] {
        let mut jail = project(folder.path());
        let bind = Mount::bind_at(c"/usr", &at(name), Access::ReadOnly).unwrap();
        jail.root.as_mut().unwrap().push(bind);
        let error = start_jailed(shell("true"), jail).unwrap_err();
        assert_eq!(error, StartError { step: Step::FindPlace, errno }, "{name}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn memory_is_bounded() {
    let mut jail = closed("/bin/sh");
    allow(&mut jail, c"/small");
    jail.root.as_mut().unwrap().push(Mount::Memory {
        target: c"/small".to_owned(),
        bytes_max: 1 << 20,
        files_max: 20,
        mode: 0o777,
    });
    let line = "dd if=/dev/zero of=/small/f bs=1M count=4 2>&1 | grep -o 'No space left'; rm /small/f; \
                i=0; while touch /small/$i 2>/dev/null; do i=$((i+1)); done; echo $i";
    let (_, out, err) = run(jail, line);
    assert_eq!(out, "No space left\n19\n", "{err}");
}

#[test]
fn links_files_and_folders_are_as_described() {
    let mut jail = closed("/bin/sh");
    allow(&mut jail, c"/a");
    let root = jail.root.as_mut().unwrap();
    root.push(Mount::File { target: c"/a/b/file".to_owned(), content: b"hello\n".to_vec() });
    root.push(Mount::Link { target: c"/a/link".to_owned(), to: c"b/file".to_owned() });
    root.push(Mount::Folder { target: c"/a/dir".to_owned(), mode: 0o711 });
    let (_, out, err) = run(jail, "cat /a/link; stat -c %a /a/dir /a/b/file; echo x > /a/b/file");
    assert_eq!(out, "hello\n711\n444\n", "{err}");
}

#[test]
fn every_mount_has_the_flags_that_were_asked_for() {
    let folder = folder();
    let (_, out, _) = run(project(folder.path()), "cat /proc/self/mountinfo");
    for line in out.lines() {
        let fields: Vec<_> = line.split(' ').collect();
        let (target, flags) = (fields[4], fields[5]);
        let has = |flag: &str| flags.split(',').any(|one| one == flag);
        assert!(has("nosuid"), "{line}");
        assert!(has("nodev") || target.starts_with("/dev/"), "{line}");
        let writable = [folder.path().to_str().unwrap(), "/tmp", "/dev/shm", "/dev/pts", "/proc"];
        // A device is written through a read-only mount; its attributes are not.
        assert_eq!(has("ro"), !writable.contains(&target), "{line}");
        assert!(!line.contains("shared:") && !line.contains("master:"), "{line}");
    }
    assert!(out.lines().count() >= 8, "{out}");
}

#[test]
fn a_mount_of_the_host_does_not_appear_later() {
    if !is_root() {
        return;
    }
    let folder = folder();
    fs::create_dir(folder.path().join("m")).unwrap();
    let mut run =
        start_jailed(shell("while [ ! -e go ]; do sleep 0.01; done; ls m"), project(folder.path()))
            .unwrap();
    let at = folder.path().join("m");
    let mounted = bare("mount").args(["-t", "tmpfs", "none"]).arg(&at).status().unwrap();
    assert!(mounted.success());
    fs::write(at.join("secret"), "").unwrap();
    fs::write(folder.path().join("go"), "").unwrap();
    let (_, out, _) = finish(&mut run);
    assert!(bare("umount").arg(&at).status().unwrap().success());
    assert_eq!(out, "");
}

/// Landlock knows nothing of these; it is the read-only mount that holds.
#[test]
fn what_can_only_be_read_keeps_its_permissions_times_attributes_and_content() {
    let attacks = [
        "chmod 777 canary",
        "touch -d 2001-01-01 canary",
        "truncate -s 0 canary",
        "rm -f canary",
        "mv canary moved",
        "ln canary link",
        "ln -s x link",
        "mkdir made",
        "echo x >> canary",
        "perl -e 'open(F, \"+<\", \"canary\") or exit 1'",
        "perl -e 'utime(1, 1, \"canary\") or exit 1'",
    ];
    for attack in attacks {
        let (outside, inside) = (folder(), folder());
        for folder in [&outside, &inside] {
            fs::write(folder.path().join("canary"), "content").unwrap();
        }
        let done = bare("/bin/sh").args(["-c", attack]).current_dir(&outside).status().unwrap();
        assert!(done.success(), "control: {attack}");
        let mut jail = closed("/bin/sh");
        let path = text(inside.path().to_str().unwrap());
        jail.root.as_mut().unwrap().push(Mount::bind(&path, Access::ReadOnly).unwrap());
        allow(&mut jail, &path);
        jail.cwd = path;
        let before = fs::metadata(inside.path().join("canary")).unwrap();
        let (ended, _, err) = run(jail, attack);
        assert_ne!(ended.status, Status::Code(0), "{attack}: {err}");
        let after = fs::metadata(inside.path().join("canary")).unwrap();
        let facts = |file: &fs::Metadata| (file.mode(), file.mtime(), file.len(), file.nlink());
        assert_eq!(facts(&before), facts(&after), "{attack}");
        assert_eq!(fs::read_dir(inside.path()).unwrap().count(), 1, "{attack}");
    }
}

#[test]
fn no_device_can_be_made_or_found() {
    let folder = folder();
    let attack = "mknod m c 1 3; mknod b b 8 0; ls /dev/mem /dev/kmem /dev/port /dev/sda /dev/vda \
                  /dev/kvm /dev/fuse /dev/loop-control /dev/net/tun; ls /sys /run /boot; \
                  : < /dev/tty && echo a terminal";
    let (_, out, err) = run(project(folder.path()), attack);
    assert_eq!(out, "", "{err}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_folder_can_be_read_as_its_owner_reads_it_or_as_everybody_does() {
    let folder = folder();
    fs::write(folder.path().join("private"), "own\n").unwrap();
    let mode = fs::Permissions::from_mode(0o600);
    fs::set_permissions(folder.path().join("private"), mode).unwrap();
    let path = text(folder.path().to_str().unwrap());
    let read = |access| {
        let mut jail = closed("/bin/sh");
        jail.root.as_mut().unwrap().push(Mount::bind(&path, access).unwrap());
        allow(&mut jail, &path);
        jail.cwd.clone_from(&path);
        run(jail, "cat private; echo x 2>/dev/null >> private || echo refused").1
    };
    assert_eq!(read(Access::ReadOnlyAsOwner), "own\nrefused\n");
    // An ordinary user is the owner anyway; a sandbox of root is not.
    let expected = if is_root() { "refused\n" } else { "own\nrefused\n" };
    assert_eq!(read(Access::ReadOnly), expected);
}
