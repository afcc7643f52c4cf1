//! The bundle for `runsc`: a root and a description of the box, as the OCI runtime specification
//! has it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::confine::Confinement;
use crate::launch::git::GitSettings;
use crate::launch::jail::SYSTEM;
use crate::launch::scratch::unscratched;
use crate::launch::shown::{Access, Bind, TEMPORARY, TEMPORARY_BYTES};
use crate::launch::spec::environment;
use crate::limits::{ByteCount, Limits};
use crate::outcome::Failure;
use crate::tier::process::{CORE_BYTES, cpu_seconds};

const SHARED_MEMORY_BYTES: u64 = 256 << 20;

/// What a bundle is made of besides the confinement.
pub(super) struct Bundle<'a> {
    pub(super) argv: &'a [OsString],
    pub(super) cwd: &'a Path,
    pub(super) user: (u32, u32),
    pub(super) binds: &'a [Bind],
    pub(super) git: GitSettings,
    /// The root of an image; the system's folders without one.
    pub(super) image: Option<&'a Path>,
}

impl Bundle<'_> {
    /// Writes it into the folder of a run.
    pub(super) fn write(&self, scratch: &Path, confinement: &Confinement) -> Result<(), Failure> {
        let folder = scratch.join("bundle");
        let own_root = folder.join("root");
        let made =
            fs::create_dir_all(&own_root).and_then(|()| fs::create_dir(scratch.join("state")));
        made.map_err(|error| unscratched(&error))?;
        let system = match self.image {
            Some(_) => Vec::new(),
            None => system(&own_root).map_err(|error| unscratched(&error))?,
        };
        let tools = confinement.files.toolchains.iter().filter(|_| self.image.is_none());
        let tools = tools.filter(|one| one.path.exists());
        let tools = tools.map(|one| Bind::own(&one.path, Access::ReadOnly));
        let binds: Vec<Bind> =
            system.into_iter().chain(tools).chain(self.binds.iter().cloned()).collect();
        if self.image.is_none() {
            mount_points(&own_root, &binds).map_err(|error| unscratched(&error))?;
        }
        let root = self.image.map_or(own_root, Path::to_owned);
        let described = self.described(&root, &binds, confinement)?;
        fs::write(folder.join("config.json"), described.to_string())
            .map_err(|error| unscratched(&error))
    }

    fn described(
        &self,
        root: &Path,
        binds: &[Bind],
        confinement: &Confinement,
    ) -> Result<Value, Failure> {
        let own_folder = OsStr::new(TEMPORARY);
        let variables = environment(confinement, own_folder, own_folder, &self.git)?;
        let variables: Vec<String> = variables
            .into_iter()
            .map(|pair| pair.into_string().map_err(|_raw| not_text("a variable")))
            .collect::<Result<_, _>>()?;
        let words: Vec<&str> = self
            .argv
            .iter()
            .map(|word| word.to_str().ok_or_else(|| not_text("an argument")))
            .collect::<Result<_, _>>()?;
        let mut mounts = own_mounts();
        for bind in binds {
            mounts.push(mount(bind)?);
        }
        let none: [&str; 0] = [];
        let kinds = ["pid", "network", "ipc", "uts", "mount"];
        let namespaces = kinds.map(|kind| json!({ "type": kind }));
        Ok(json!({
            "ociVersion": "1.0.2",
            "hostname": "box",
            "root": { "path": text(root)?, "readonly": true },
            "process": {
                "terminal": false,
                "user": { "uid": self.user.0, "gid": self.user.1 },
                "args": words,
                "env": variables,
                "cwd": text(self.cwd)?,
                "noNewPrivileges": true,
                "capabilities": {
                    "bounding": none, "effective": none, "inheritable": none,
                    "permitted": none, "ambient": none,
                },
                "rlimits": rlimits(&confinement.limits),
            },
            "mounts": mounts,
            "linux": { "namespaces": namespaces },
        }))
    }
}

/// What every box has of its own.
fn own_mounts() -> Vec<Value> {
    let memory = |target: &str, bytes: u64| {
        json!({
            "destination": target, "type": "tmpfs", "source": "tmpfs",
            "options": ["nosuid", "nodev", "mode=1777", format!("size={bytes}")],
        })
    };
    vec![
        json!({ "destination": "/proc", "type": "proc", "source": "proc" }),
        json!({ "destination": "/dev", "type": "tmpfs", "source": "tmpfs" }),
        memory("/dev/shm", SHARED_MEMORY_BYTES),
        memory(TEMPORARY, TEMPORARY_BYTES),
    ]
}

fn mount(bind: &Bind) -> Result<Value, Failure> {
    let access = match bind.access {
        Access::ReadOnly => "ro",
        Access::Writable => "rw",
    };
    Ok(json!({
        "destination": text(&bind.target)?, "type": "bind", "source": text(&bind.source)?,
        "options": [access, "rbind", "nosuid", "nodev"],
    }))
}

fn rlimits(limits: &Limits) -> Vec<Value> {
    let cpu = limits.cpu.map(|cpu| ("RLIMIT_CPU", cpu_seconds(cpu)));
    let file = limits.file_size.map(ByteCount::get).map(|bytes| ("RLIMIT_FSIZE", bytes));
    let always = [("RLIMIT_NOFILE", limits.open_files), ("RLIMIT_CORE", CORE_BYTES)];
    let all = cpu.into_iter().chain(file).chain(always);
    all.map(|(name, value)| json!({ "type": name, "soft": value, "hard": value })).collect()
}

/// The system's folders, to be read; links to them are laid in the root as they are here.
fn system(root: &Path) -> std::io::Result<Vec<Bind>> {
    let mut binds = Vec::new();
    for folder in SYSTEM.iter().map(Path::new) {
        let Ok(found) = fs::symlink_metadata(folder) else { continue };
        if found.is_symlink() {
            let place = within(root, folder);
            place.parent().map(fs::create_dir_all).transpose()?;
            std::os::unix::fs::symlink(fs::read_link(folder)?, place)?;
        } else {
            binds.push(Bind::own(folder, Access::ReadOnly));
        }
    }
    Ok(binds)
}

/// Makes the folders that are mounted on. What is beneath others is there, or in memory.
fn mount_points(root: &Path, binds: &[Bind]) -> std::io::Result<()> {
    for target in ["/proc", "/dev", TEMPORARY].map(Path::new) {
        fs::create_dir_all(within(root, target))?;
    }
    let is_outer = |bind: &&Bind| {
        let is_above =
            |other: &Bind| other.target != bind.target && bind.target.starts_with(&other.target);
        !bind.target.starts_with(TEMPORARY) && !binds.iter().any(is_above)
    };
    for bind in binds.iter().filter(is_outer) {
        let place = within(root, &bind.target);
        if bind.source.is_dir() {
            fs::create_dir_all(place)?;
        } else {
            place.parent().map(fs::create_dir_all).transpose()?;
            fs::write(place, b"")?;
        }
    }
    Ok(())
}

fn within(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

fn text(path: &Path) -> Result<&str, Failure> {
    path.to_str().ok_or_else(|| not_text("a path"))
}

fn not_text(what: &str) -> Failure {
    Failure::new("write the bundle", format!("{what} is no UTF-8, which a bundle has to be"))
        .remedy("use the tier jail, which takes any bytes")
}
