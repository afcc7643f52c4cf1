//! What an attack finds: a project, a folder that can be read, a folder outside, and canaries.

use std::any::Any;
use std::fmt::Display;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use stockade_sandbox::Identity;
use tempfile::TempDir;

use super::calls::{address, call, word};
use super::meanwhile::{Meanwhile, within};

/// A fresh scene, removed with all its canaries when dropped. Permissions let everybody do
/// everything: what stops an attack must be a lock of the sandbox.
#[derive(Debug)]
pub(crate) struct Scene {
    secret: String,
    facts: Vec<(String, String)>,
    canary: Option<Canary>,
    held: Vec<Box<dyn Any>>,
    // Dropped last, when nobody works in it any more.
    folder: TempDir,
}

impl Scene {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let secret = format!("secret-{}-{next}", std::process::id());
        let folder = tempfile::Builder::new().prefix("stockade-escape-").tempdir_in("/var/tmp");
        let scene = Self {
            folder: folder.unwrap(),
            secret,
            facts: Vec::new(),
            canary: None,
            held: Vec::new(),
        };
        open_to_all(scene.path(), 0o755);
        for name in [
            "project",
            "project/.git",
            "project/.git/hooks",
            "project/keys",
            "outside",
            "shown",
            "tools",
        ] {
            fs::create_dir(scene.at(name)).unwrap();
            open_to_all(&scene.at(name), 0o777);
        }
        scene.write("project/.env", &scene.secret);
        scene.write("project/keys/id", &scene.secret);
        scene.write("project/.git/config", "good");
        scene.write("outside/canary", &scene.secret);
        scene.write("shown/canary", &scene.secret);
        scene
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A path of the scene.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// What only the harness knows, and those who read a canary.
    pub(crate) fn secret(&self) -> &str {
        &self.secret
    }

    /// A name on this machine that no other scene has.
    pub(crate) fn unique(&self) -> String {
        self.secret.replace("secret", "stockade-escape")
    }

    /// Plants a file that everybody can read and write.
    pub(crate) fn write(&self, name: &str, content: &str) {
        fs::write(self.at(name), content).unwrap();
        open_to_all(&self.at(name), 0o666);
    }

    /// What is in a file; empty where there is none.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap_or_default()
    }

    /// Tells the attacker something.
    pub(crate) fn tell(&mut self, name: &str, value: &dyn Display) {
        self.facts.push((name.to_owned(), value.to_string()));
    }

    pub(crate) fn facts(&self) -> &[(String, String)] {
        &self.facts
    }

    /// Keeps something until the attack is over.
    pub(crate) fn hold(&mut self, what: impl Any) {
        self.held.push(Box::new(what));
    }

    /// What was kept, by its type.
    pub(crate) fn held<T: 'static>(&self) -> &T {
        self.held.iter().find_map(|one| one.downcast_ref()).unwrap()
    }

    /// Plants a folder in one that the whole machine shares, where everybody can write; it goes
    /// with the scene. Its path is told.
    pub(crate) fn plant_folder(&mut self, shared: &str) -> PathBuf {
        let folder = PathBuf::from(shared).join(self.unique());
        fs::create_dir(&folder).unwrap();
        open_to_all(&folder, 0o777);
        self.tell("folder", &folder.display());
        let planted = folder.clone();
        self.hold(Planted::new(move || fs::remove_dir_all(&planted).unwrap()));
        folder
    }

    /// Plants a process of the user that the sandbox is outside, and tells its id.
    pub(crate) fn plant_process(&mut self) {
        let canary = Canary::new(&self.secret);
        self.tell("pid", &canary.0.id());
        self.canary = Some(canary);
    }

    /// The planted process.
    pub(crate) fn process_id(&self) -> u32 {
        self.canary.as_ref().unwrap().0.id()
    }

    /// Whether the planted process was ended by somebody.
    pub(crate) fn is_process_dead(&self) -> bool {
        let is_dead = || {
            let stat = fs::read_to_string(format!("/proc/{}/stat", self.process_id())).unwrap();
            stat.rsplit(") ").next().unwrap().starts_with('Z')
        };
        // A signal that was sent needs a moment to take effect.
        within(Duration::from_millis(300), is_dead)
    }

    /// A number that no other scene has, for what the kernel knows by number.
    pub(crate) fn number(&self) -> usize {
        let mut parts = self.secret.split('-').skip(1).map(|part| part.parse::<usize>().unwrap());
        let (process, scene) = (parts.next().unwrap(), parts.next().unwrap());
        0x4000_0000 | (process & 0x3_ffff) << 12 | scene & 0xfff
    }

    /// Plants a key in the ring of this thread's session, which those that it starts inherit. It
    /// belongs to the user that the sandbox is outside, and goes with the thread.
    pub(crate) fn plant_key(&mut self) {
        const JOIN_SESSION: usize = 1;
        let session = (-3_isize).cast_unsigned();
        call(libc::SYS_keyctl, &[JOIN_SESSION, 0]).unwrap();
        let (kind, name) = (c"user", word(self.unique()));
        let (name, secret) = (address(name.as_c_str()), address(self.secret.as_bytes()));
        let args = [address(kind), name, secret, self.secret.len(), session];
        let key = call(libc::SYS_add_key, &args).unwrap();
        if rustix::process::geteuid().is_root() {
            const CHANGE_OWNER: usize = 4;
            let box_user = Identity::of_caller().outer_uid as usize;
            call(libc::SYS_keyctl, &[CHANGE_OWNER, key, box_user, usize::MAX]).unwrap();
        }
    }

    /// Plants a terminal that everybody may write, which is also handed over at a socket in the project.
    pub(crate) fn plant_terminal(&mut self) {
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(libc::O_NONBLOCK);
        let master = options.open("/dev/ptmx").unwrap();
        let fd = master.as_raw_fd() as usize;
        call(libc::SYS_ioctl, &[fd, libc::TIOCSPTLCK as usize, address(&0_i32)]).unwrap();
        let flags = (libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC) as usize;
        let slave = call(libc::SYS_ioctl, &[fd, libc::TIOCGPTPEER as usize, flags]).unwrap();
        // SAFETY: the descriptor was just made and nobody else has it.
        let slave = unsafe { OwnedFd::from_raw_fd(i32::try_from(slave).unwrap()) };
        let name = fs::read_link(format!("/proc/self/fd/{}", slave.as_raw_fd())).unwrap();
        open_to_all(&name, 0o666);
        self.tell("terminal", &name.display());
        let listener = UnixListener::bind(self.at("project/hand")).unwrap();
        open_to_all(&self.at("project/hand"), 0o777);
        self.hold(Meanwhile::hand_over(listener, slave));
        self.hold(master);
    }

    /// Whether the planted terminal shows this as if somebody had typed it.
    pub(crate) fn terminal_has_heard(&self, typed: &str) -> bool {
        let mut shown = [0; 64];
        within(Duration::from_millis(300), || {
            let read = self.held::<File>().read(&mut shown);
            read.is_ok_and(|len| shown.get(..len) == Some(typed.as_bytes()))
        })
    }
}

fn open_to_all(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Something of the machine that goes with the scene.
pub(crate) struct Planted(Box<dyn FnMut()>);

impl Planted {
    pub(crate) fn new(remove: impl FnMut() + 'static) -> Self {
        Self(Box::new(remove))
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// A sleeping process.
#[derive(Debug)]
struct Canary(Child);

impl Canary {
    fn new(name: &str) -> Self {
        #[expect(clippy::disallowed_methods, reason = "a process outside every box")]
        let mut command = Command::new("/bin/sleep");
        command
            .arg0(name)
            .arg("1000")
            .env_clear()
            .env("SECRET", name)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        if rustix::process::geteuid().is_root() {
            let Identity { outer_uid, outer_gid, .. } = Identity::of_caller();
            command.uid(outer_uid).gid(outer_gid);
        }
        Self(command.spawn().unwrap())
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        // Fails if an attack has ended it, and then it is only reaped.
        let _gone = self.0.kill();
        self.0.wait().unwrap();
    }
}
