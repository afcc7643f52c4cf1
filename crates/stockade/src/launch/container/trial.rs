//! Whether an engine can really start a container here, found out by starting one. An engine answers
//! for itself also where its runtime fails, as crun does on a machine with cgroups of both versions.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use super::engine::version_args;
use crate::confine::{EngineName, Oci};
use crate::launch::client::{Client, Variable};
use crate::launch::scratch::{Room, Scratch};

/// A trial that takes longer than this has failed.
const PATIENCE: Duration = Duration::from_secs(60);
/// The runtimes that are suggested where the one in use fails.
const RUNTIMES: [&str; 2] = ["runc", "crun"];
/// Folders of a system, which are links to parts of `/usr` on most machines.
const SYSTEM: [&str; 5] = ["usr", "bin", "sbin", "lib", "lib64"];

/// The version of an engine that can start containers, or why it cannot. Docker is only asked: a
/// container of its daemon would need an image.
pub(super) fn of(name: EngineName, client: &Client, oci: &Oci) -> Result<String, String> {
    let scratch = Scratch::make(Room::Little, &[]).map_err(|error| error.to_string())?;
    match name {
        EngineName::Podman => {
            // `podman version` makes storage, networks and locks where there are none.
            let answer = asked(&client.on_trial(scratch.path(), Vec::new()), &["--version"])?;
            let version = answer.rsplit(' ').next().unwrap_or_default().to_owned();
            podman(client, oci).map(|()| version)
        }
        // The program of this name may be Podman's.
        EngineName::Docker => {
            let podmans = storage_in(scratch.path()).map_err(|error| error.to_string())?;
            asked(&client.on_trial(scratch.path(), podmans), &version_args(name))
        }
    }
}

/// Variables by which Podman keeps nothing but in this folder, where no option can be passed.
fn storage_in(folder: &Path) -> std::io::Result<Vec<Variable>> {
    let (storage, engine) = (folder.join("storage.conf"), folder.join("containers.conf"));
    let place = folder.display();
    let text = format!(
        "[storage]\ndriver = \"vfs\"\ngraphroot = \"{place}/storage\"\nrunroot = \"{place}/run\"\n"
    );
    fs::write(&storage, text)?;
    let text = format!(
        "[engine]\ntmp_dir = \"{place}/tmp\"\nstatic_dir = \"{place}/static\"\nlock_type = \"file\"\n\
         [network]\nnetwork_config_dir = \"{place}/networks\"\n"
    );
    fs::write(&engine, text)?;
    Ok(vec![("CONTAINERS_STORAGE_CONF", storage.into()), ("CONTAINERS_CONF", engine.into())])
}

fn asked<S: AsRef<OsStr>>(client: &Client, words: &[S]) -> Result<String, String> {
    match client.ask(words, PATIENCE) {
        Ok(answer) if answer.is_good() => Ok(answer.text()),
        Ok(answer) => Err(answer.complaint()),
        Err(failure) => Err(failure.message().to_owned()),
    }
}

/// Starts `true` in a container of Podman that shows the machine's system folders, without any image
/// and with a storage of its own, so that nothing of the user's containers is touched.
fn podman(client: &Client, oci: &Oci) -> Result<(), String> {
    let runtime = oci.runtime.as_deref();
    let Err(why) = started(client, runtime) else { return Ok(()) };
    let works = |name: &&str| {
        runtime != Some(*name)
            && Client::find(name).is_some()
            && started(client, Some(name)).is_ok()
    };
    Err(match RUNTIMES.into_iter().find(works) {
        Some(name) => format!("it cannot start a container: {why}; set box.runtime = \"{name}\""),
        None => format!("it cannot start a container: {why}"),
    })
}

fn started(client: &Client, runtime: Option<&str>) -> Result<(), String> {
    let scratch = Scratch::make(Room::Little, &[]).map_err(|error| error.to_string())?;
    let root = scratch.path().join("rootfs");
    let volumes = lay_out(&root).map_err(|error| format!("lay out a root: {error}"))?;
    let mut words: Vec<OsString> = Vec::new();
    for (option, folder) in [
        ("--root", "storage"),
        ("--runroot", "run"),
        ("--tmpdir", "tmp"),
        ("--network-config-dir", "networks"),
    ] {
        words.extend([option.into(), scratch.path().join(folder).into()]);
    }
    // The driver that mounts nothing.
    words.push("--storage-driver=vfs".into());
    if let Some(runtime) = runtime {
        words.extend(["--runtime".into(), runtime.into()]);
    }
    let closed = ["run", "--rm", "--network=none", "--log-driver=none", "--pids-limit=64"];
    // Its own defaults are above what not everybody may have.
    let limits = ["--memory=64m", "--ulimit=nofile=256:256", "--ulimit=nproc=256:256"];
    words.extend(closed.iter().chain(&limits).map(OsString::from));
    for volume in volumes {
        words.extend(["--volume".into(), format!("{volume}:{volume}:ro").into()]);
    }
    words.extend(["--rootfs".into(), root.into(), "/usr/bin/true".into()]);
    asked(&client.on_trial(scratch.path(), Vec::new()), &words).map(drop)
}

/// Makes a root with the system's folders, and says which of them have to be mounted.
fn lay_out(root: &Path) -> std::io::Result<Vec<String>> {
    for name in ["dev", "proc", "sys", "tmp", "etc"] {
        fs::create_dir_all(root.join(name))?;
    }
    let mut volumes = Vec::new();
    for name in SYSTEM {
        let own = Path::new("/").join(name);
        match fs::symlink_metadata(&own) {
            Ok(found) if found.is_symlink() => symlink(fs::read_link(&own)?, root.join(name))?,
            Ok(found) if found.is_dir() => {
                fs::create_dir(root.join(name))?;
                volumes.push(format!("/{name}"));
            }
            // A machine without /lib64 or /sbin has nothing there that is needed.
            Ok(_) | Err(_) => {}
        }
    }
    Ok(volumes)
}
