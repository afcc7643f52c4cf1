//! `stockade doctor` with the engines of this machine: it starts something and leaves nothing.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{Tier, copy_program, is_there, kill, skip};

/// Everything beneath a folder.
fn all(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() && !path.is_symlink() {
            found.extend(all(&path));
        }
        found.push(path);
    }
    found
}

/// Podman makes folders for storage, networks and locks as soon as it is asked for its version.
#[test]
fn an_engine_that_is_only_looked_at_makes_nothing_in_the_home_folder() {
    if !is_there(Tier::Container) {
        return;
    }
    let is_root = rustix::process::geteuid().is_root();
    // Root's engine keeps its files in places of the machine, which other tests use.
    let nobody = 65534;
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("stockade");
    copy_program(env!("CARGO_BIN_EXE_stockade"), &program);
    for who in ["control", "doctor"] {
        let [home, tmp] = ["home", "tmp"].map(|name| folder.path().join(format!("{who}-{name}")));
        for place in [&home, &tmp] {
            fs::create_dir(place).unwrap();
            if is_root {
                chown(place, Some(nobody), Some(nobody)).unwrap();
            }
        }
        let program = program.to_str().unwrap();
        let words: &[&str] =
            if who == "control" { &["podman", "version"] } else { &[program, "doctor", "--json"] };
        let mut command = if is_root {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).args(words);
            command
        } else {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]);
            command
        };
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.env("HOME", &home).env("TMPDIR", &tmp).current_dir("/");
        let output = command.stdin(Stdio::null()).output().unwrap();
        // Without root it leaves a process that holds its namespaces.
        for pause in all(&tmp).iter().filter(|path| path.ends_with("pause.pid")) {
            let pid = fs::read_to_string(pause).ok().and_then(|text| text.trim().parse().ok());
            pid.into_iter().for_each(kill);
        }
        let made: Vec<PathBuf> = [&home, &tmp].into_iter().flat_map(|place| all(place)).collect();
        if who == "doctor" {
            let told = String::from_utf8_lossy(&output.stdout);
            assert!(told.contains("podman"), "{output:?}");
            assert_eq!(made, Vec::<PathBuf>::new(), "{told}");
        } else if made.is_empty() {
            skip("podman", "this podman makes nothing when it is asked for its version");
            return;
        }
    }
}

/// Lists the places of the machine before, after `doctor`, and after the control. All of them are empty ones,
/// so that nobody else changes them.
const IN_EMPTY_PLACES: &str = r#"
mount --bind "$1" /mnt && cd /mnt || exit
for place in /run /dev/shm /var/lib/containers /tmp; do
    mkdir -p $place; mount -t tmpfs -o mode=1777 none $place || exit
done
mkdir -m 700 /tmp/stockade-$2 /run/home; chown $2 /tmp/stockade-$2 /run/home
as_user() {
    user=$2; shift 2
    setpriv --reuid=$user --regid=$user --clear-groups env -i PATH="$PATH" HOME=/run/home "$@"
}
list() { find /run /dev/shm /var/lib/containers /tmp | sort; }
list > before
as_user "$@" /mnt/stockade doctor > told 2>&1 < empty
list > after
as_user "$@" podman version > control-told 2>&1 < empty
list > control
"#;

/// Podman has its locks in `/dev/shm`, and a runtime its state in `/run`, wherever storage is.
#[test]
fn doctor_starts_a_container_and_changes_no_place_of_the_machine() {
    if !is_there(Tier::Container) {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return skip("root", "the places of the machine cannot be replaced for a test");
    }
    for user in ["0", "65534"] {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        copy_program(env!("CARGO_BIN_EXE_stockade"), folder.path().join("stockade"));
        // Nothing here gets a device of the machine as a stream.
        fs::write(folder.path().join("empty"), "").unwrap();
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", IN_EMPTY_PLACES, "sh"]).arg(folder.path()).arg(user);
        let output = command.stdin(Stdio::null()).output().unwrap();
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap_or_default();
        if user != "0" && !read("control-told").contains("Version:") {
            skip("rootless podman", "podman does not work without root here");
            continue;
        }
        assert!(read("told").contains("podman"), "{user}: {output:?} {}", read("told"));
        assert_eq!(read("after"), read("before"), "{user}");
        assert_ne!(read("control"), read("before"), "{user}: {}", read("control-told"));
        assert!(!read("told").contains("longer than 50"), "{user}: {}", read("told"));
    }
}
