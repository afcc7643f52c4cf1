//! Whether an engine can really start a container here, found out by starting one. An engine answers
//! for itself also where its runtime fails, as crun does on a machine with cgroups of both versions.

mod settings;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use super::engine::version_args;
use crate::confine::{EngineName, Oci};
use crate::launch::client::Client;
use crate::launch::scratch::Scratch;
use settings::{name_of, run_root, settings_in};

/// A trial that takes longer than this has failed.
const PATIENCE: Duration = Duration::from_secs(60);
/// The runtimes that are suggested where the one in use fails.
const RUNTIMES: [&str; 2] = ["runc", "crun"];
/// Folders of a system, which are links to parts of `/usr` on most machines.
const SYSTEM: [&str; 5] = ["usr", "bin", "sbin", "lib", "lib64"];

/// The version of an engine that can start containers, or why it cannot. Docker is only asked: a
/// container of its daemon would need an image.
pub(super) fn of(name: EngineName, client: &Client, oci: &Oci) -> Result<String, String> {
    let scratch = scratch()?;
    let settings = settings_in(scratch.path(), None).map_err(|error| error.to_string())?;
    let client_there = client.on_trial(scratch.path(), settings);
    match name {
        EngineName::Podman => {
            // `podman version` makes storage, networks and locks where there are none.
            let answer = asked(&client_there, &["--version"])?;
            let version = answer.rsplit(' ').next().unwrap_or_default().to_owned();
            podman(client, oci).map(|()| version)
        }
        // The program of this name may be Podman's.
        EngineName::Docker => asked(&client_there, &version_args(name)),
    }
}

fn scratch() -> Result<Scratch, String> {
    Scratch::make_short().map_err(|error| error.to_string())
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
    let scratch = scratch()?;
    let settings = settings_in(scratch.path(), runtime).map_err(|error| error.to_string())?;
    let root = scratch.path().join("rootfs");
    let volumes = lay_out(&root).map_err(|error| format!("lay out a root: {error}"))?;
    let mut words: Vec<OsString> = Vec::new();
    for (option, folder) in [
        ("--root", scratch.path().join("storage")),
        ("--runroot", run_root(scratch.path())),
        ("--tmpdir", scratch.path().join("tmp")),
        ("--network-config-dir", scratch.path().join("networks")),
    ] {
        words.extend([option.into(), folder.into()]);
    }
    // The driver that mounts nothing.
    words.push("--storage-driver=vfs".into());
    if let Some(runtime) = runtime {
        words.extend(["--runtime".into(), name_of(runtime).into()]);
    }
    let closed = ["run", "--rm", "--network=none", "--log-driver=none", "--pids-limit=64"];
    // Its own defaults are above what not everybody may have.
    let limits = ["--memory=64m", "--ulimit=nofile=256:256", "--ulimit=nproc=256:256"];
    words.extend(closed.iter().chain(&limits).map(OsString::from));
    for volume in volumes {
        words.extend(["--volume".into(), format!("{volume}:{volume}:ro").into()]);
    }
    words.extend(["--rootfs".into(), root.into(), "/usr/bin/true".into()]);
    asked(&client.on_trial(scratch.path(), settings), &words).map(drop)
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
