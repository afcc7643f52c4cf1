//! The bundle for `runsc`: a root and a description of the box, as the OCI runtime specification
//! has it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::build::GvisorSetup;
use crate::launch::git::GitSettings;
use crate::launch::scratch::unscratched;
use crate::launch::shown::Bind;
use crate::launch::spec::environment;
use crate::outcome::{Failure, FailureKind};
use crate::plan::ops::{Access, Mount, Rlimit};

/// What a bundle is made of besides what was planned.
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
    pub(super) fn write(&self, scratch: &Path, setup: &GvisorSetup) -> Result<(), Failure> {
        let folder = scratch.join("bundle");
        let own_root = folder.join("root");
        let made =
            fs::create_dir_all(&own_root).and_then(|()| fs::create_dir(scratch.join("state")));
        made.map_err(|error| unscratched(&error))?;
        let mut binds = Vec::new();
        for mount in &setup.common.mounts {
            match mount {
                Mount::System(folders) => {
                    binds.extend(system(&own_root, folders).map_err(|error| unscratched(&error))?);
                }
                Mount::Toolchain(shown) if shown.path.exists() => {
                    binds.push(Bind::own(&shown.path, Access::ReadOnly));
                }
                // The other mounts are no binds, or already among those that were resolved.
                Mount::Toolchain(_)
                | Mount::Agent(_)
                | Mount::Devices { .. }
                | Mount::Proc
                | Mount::HideInProc(_)
                | Mount::Memory { .. }
                | Mount::Session { .. }
                | Mount::Project(..)
                | Mount::Path(..)
                | Mount::Home(_)
                | Mount::Exception(_)
                | Mount::Pins => {}
            }
        }
        binds.extend(self.binds.iter().cloned());
        if self.image.is_none() {
            mount_points(&own_root, &binds).map_err(|error| unscratched(&error))?;
        }
        let root = self.image.map_or(own_root, Path::to_owned);
        let described = self.described(&root, &binds, setup)?;
        fs::write(folder.join("config.json"), described.to_string())
            .map_err(|error| unscratched(&error))
    }

    fn described(
        &self,
        root: &Path,
        binds: &[Bind],
        setup: &GvisorSetup,
    ) -> Result<Value, Failure> {
        let variables = environment(&setup.common, None, &self.git)?;
        let variables: Vec<String> = variables
            .into_iter()
            .map(|pair| pair.into_string().map_err(|_raw| not_text("a variable")))
            .collect::<Result<_, _>>()?;
        let words: Vec<&str> = self
            .argv
            .iter()
            .map(|word| word.to_str().ok_or_else(|| not_text("an argument")))
            .collect::<Result<_, _>>()?;
        let mut mounts = own_mounts(&setup.common.mounts);
        for bind in binds {
            mounts.push(mount(bind)?);
        }
        let namespaces: Vec<Value> =
            setup.namespaces.iter().map(|kind| json!({ "type": kind })).collect();
        let mut process = json!({
            "terminal": false,
            "user": { "uid": self.user.0, "gid": self.user.1 },
            "args": words,
            "env": variables,
            "cwd": text(self.cwd)?,
            "noNewPrivileges": setup.forbids_privileges,
            "rlimits": rlimits(&setup.common.rlimits),
        });
        if setup.drops_capabilities
            && let Some(process) = process.as_object_mut()
        {
            let none: [&str; 0] = [];
            let none = json!({
                "bounding": none, "effective": none, "inheritable": none,
                "permitted": none, "ambient": none,
            });
            process.insert("capabilities".to_owned(), none);
        }
        Ok(json!({
            "ociVersion": "1.0.2",
            "hostname": setup.common.host_name,
            "root": { "path": text(root)?, "readonly": setup.has_read_only_root },
            "process": process,
            "mounts": mounts,
            "linux": { "namespaces": namespaces },
        }))
    }
}

/// What the sandbox has of its own.
fn own_mounts(planned: &[Mount]) -> Vec<Value> {
    let memory = |target: &str, bytes: u64| {
        json!({
            "destination": target, "type": "tmpfs", "source": "tmpfs",
            "options": ["nosuid", "nodev", "mode=1777", format!("size={bytes}")],
        })
    };
    let mut mounts = Vec::new();
    for mount in planned {
        match mount {
            Mount::Proc => {
                mounts.push(json!({ "destination": "/proc", "type": "proc", "source": "proc" }));
            }
            Mount::Devices { shared_memory_bytes } => {
                mounts.push(json!({ "destination": "/dev", "type": "tmpfs", "source": "tmpfs" }));
                mounts.push(memory("/dev/shm", *shared_memory_bytes));
            }
            Mount::Memory { path, bytes, .. } => mounts.push(memory(path, *bytes)),
            Mount::System(_)
            | Mount::HideInProc(_)
            | Mount::Session { .. }
            | Mount::Project(..)
            | Mount::Path(..)
            | Mount::Home(_)
            | Mount::Exception(_)
            | Mount::Pins
            | Mount::Toolchain(_)
            | Mount::Agent(_) => {}
        }
    }
    mounts
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

fn rlimits(planned: &[Rlimit]) -> Vec<Value> {
    let named = |limit: &Rlimit| match *limit {
        Rlimit::Cpu(seconds) => Some(("RLIMIT_CPU", seconds)),
        Rlimit::FileSize(bytes) => Some(("RLIMIT_FSIZE", bytes)),
        Rlimit::Core(bytes) => Some(("RLIMIT_CORE", bytes)),
        Rlimit::Tasks { most, .. } => Some(("RLIMIT_NPROC", most)),
        Rlimit::OpenFiles(most) => Some(("RLIMIT_NOFILE", most)),
        // No bundle is planned with these.
        Rlimit::MoreTasks(_) | Rlimit::AddressSpace { .. } => None,
    };
    let all = planned.iter().filter_map(named);
    all.map(|(name, value)| json!({ "type": name, "soft": value, "hard": value })).collect()
}

/// The system's folders, to be read; links to them are laid in the root as they are here.
fn system(root: &Path, folders: &[&str]) -> std::io::Result<Vec<Bind>> {
    let mut binds = Vec::new();
    for folder in folders.iter().map(Path::new) {
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
    for target in ["/proc", "/dev", "/tmp"].map(Path::new) {
        fs::create_dir_all(within(root, target))?;
    }
    let is_outer = |bind: &&Bind| {
        let is_above =
            |other: &Bind| other.target != bind.target && bind.target.starts_with(&other.target);
        !bind.target.starts_with("/tmp") && !binds.iter().any(is_above)
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
    Failure::new(FailureKind::WriteBundle, format!("{what} is no UTF-8, which a bundle has to be"))
        .with_remedy("use the tier jail, which takes any bytes")
}
