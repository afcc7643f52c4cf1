//! Other tools that confine a program, those of them that are installed here.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::ground::{Ground, PROGRAM};

/// A tool with the words that make it run the program.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    pub(crate) argv: Vec<OsString>,
    /// Whether it mounts on the host, which makes boxes that were made in advance out of date.
    pub(crate) mounts: bool,
}

pub(crate) const BUBBLEWRAP: &str = "`bwrap`, an agent profile";

/// The tools that work here, and a line about each that does not.
pub(crate) fn found(ground: &Ground) -> (Vec<Peer>, Vec<String>) {
    let (mut working, mut missing) = (Vec::new(), Vec::new());
    for mut peer in known(ground) {
        let watch = File::open("/proc/self/mountinfo").unwrap();
        match trial(&peer) {
            Ok(()) => {
                peer.mounts = saw_change(&watch);
                working.push(peer);
            }
            Err(why) => missing.push(format!("{}: {why}", peer.name)),
        }
    }
    (working, missing)
}

/// Whether something was mounted or taken away since it was opened.
fn saw_change(mounts: &File) -> bool {
    const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut polled = [PollFd::new(mounts, PollFlags::PRI)];
    poll(&mut polled, Some(&NOW)).unwrap() > 0
}

fn trial(peer: &Peer) -> Result<(), String> {
    let (program, rest) = peer.argv.split_first().unwrap();
    let output = Command::new(program).args(rest).stdin(Stdio::null()).output();
    let output = output.map_err(|error| {
        let is_there = error.kind() != ErrorKind::NotFound;
        if is_there { error.to_string() } else { "not installed here".to_owned() }
    })?;
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().map(str::trim).rfind(|line| !line.is_empty());
    let said = said.map_or_else(|| output.status.to_string(), str::to_owned);
    output.status.success().then_some(()).ok_or_else(|| format!("does not work here ({said})"))
}

fn known(ground: &Ground) -> Vec<Peer> {
    let peer = |name, words: &str| Peer {
        name,
        argv: words.split(' ').map(Into::into).collect(),
        mounts: false,
    };
    let project = ground.project();
    let at = project.display();
    let apart = "--dev /dev --proc /proc --unshare-all";
    let system = ["/usr", "/bin", "/lib", "/lib64"].map(Path::new);
    let system = system.iter().filter(|path| path.exists());
    let system: Vec<String> =
        system.map(|path| format!("--ro-bind {0} {0}", path.display())).collect();
    let system = system.join(" ");
    let user = if rustix::process::geteuid().is_root() { "" } else { "-U -m -M " };
    let mut all = vec![
        peer(BUBBLEWRAP, &format!("bwrap --ro-bind / / --bind {at} {at} {apart} {PROGRAM}")),
        peer("`bwrap`, a minimal root", &format!("bwrap {system} {apart} {PROGRAM}")),
        peer("`firejail --noprofile`", &format!("firejail --quiet --noprofile {PROGRAM}")),
        peer("`nsjail -Mo --chroot /`", &format!("nsjail -Mo -Q --chroot / -- {PROGRAM}")),
        peer(
            "`minijail0 -v -p -l -e -r -n`",
            &format!("minijail0 {user}-v -p -l -e -r -n {PROGRAM}"),
        ),
        peer(
            "`unshare`, namespaces alone",
            &format!(
                "unshare --user --map-current-user --mount --pid --fork --net --ipc --uts {PROGRAM}"
            ),
        ),
    ];
    all.push(crun(ground));
    all.push(minijail(ground, user));
    all.push(isolate());
    all
}

/// `minijail0` with a root of its own, for which it wants a folder with a place for each mount.
fn minijail(ground: &Ground, user: &str) -> Peer {
    let root = ground.folder("minijail");
    for name in ["usr", "proc"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    for name in ["bin", "lib", "lib64"] {
        // It may be there from another part.
        let _there = std::os::unix::fs::symlink(Path::new("usr").join(name), root.join(name));
    }
    let root = root.display();
    let words = format!("minijail0 {user}-v -P {root} -b /usr,/usr -p -l -e -r -n /usr{PROGRAM}");
    let argv = words.split(' ').map(Into::into).collect();
    Peer { name: "`minijail0`, a root of its own", argv, mounts: false }
}

/// `isolate`, which wants a box to be made before, and is installed for everybody with the rights of root.
fn isolate() -> Peer {
    // Whether that was of use is seen when it is tried.
    let _made = Command::new("isolate").args(["--init"]).stdout(Stdio::null()).status();
    let argv = ["isolate", "--silent", "--run", "--", PROGRAM].map(Into::into).to_vec();
    Peer { name: "`isolate --run`", argv, mounts: false }
}

/// `crun` wants a folder with a description, which it writes itself and we change.
fn crun(ground: &Ground) -> Peer {
    let name = "`crun run`";
    let bundle = ground.folder("crun");
    let mut spec = Command::new("crun");
    spec.arg("spec").current_dir(&bundle).stdout(Stdio::null());
    if !rustix::process::geteuid().is_root() {
        spec.arg("--rootless");
    }
    let argv = ["crun", "run", "--bundle"].map(OsString::from).into_iter();
    let argv = argv.chain([bundle.clone().into(), "stockade-bench".into()]).collect();
    if spec.status().is_ok_and(|status| status.success()) {
        let file = bundle.join("config.json");
        let text = fs::read_to_string(&file).unwrap();
        let mut config: serde_json::Value = serde_json::from_str(&text).unwrap();
        config["process"]["terminal"] = false.into();
        config["process"]["args"] = vec![PROGRAM].into();
        config["root"]["path"] = "/".into();
        config["root"]["readonly"] = true.into();
        fs::write(&file, config.to_string()).unwrap();
    }
    Peer { name, argv, mounts: false }
}
