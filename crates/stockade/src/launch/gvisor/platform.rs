//! Which of its platforms runsc can use here: found out by a trial, and remembered for this runsc on
//! this kernel.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;

use crate::bounded::{self, Links};
use crate::confine::cache_folder;
use crate::launch::client::Client;
use crate::launch::scratch::{Room, Scratch};

/// In the order of preference.
const PLATFORMS: [&str; 2] = ["systrap", "ptrace"];
/// What is remembered is a few lines.
const MEMORY_BYTES_MAX: u64 = 16 << 10;
/// One that hangs is none.
const PATIENCE: Duration = Duration::from_secs(20);

/// What is known of gVisor on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gvisor {
    /// There is no runsc.
    Missing,
    /// It is there, and starts nothing.
    Failing(String),
    /// It works.
    Works {
        /// On this platform.
        platform: String,
        /// What its kernel calls itself.
        version: String,
    },
}

/// Finds out whether gVisor works here, by a trial.
pub fn gvisor() -> Gvisor {
    let Some(client) = Client::find("runsc") else { return Gvisor::Missing };
    // A look at the machine leaves nothing on it.
    match found(&client, Memory::Forgotten) {
        Ok((platform, version)) => Gvisor::Works { platform: platform.to_owned(), version },
        Err(why) => Gvisor::Failing(why),
    }
}

/// The platform that this runsc can use, and what its kernel calls itself.
pub(super) fn of(client: &Client) -> Result<(&'static str, String), String> {
    found(client, Memory::Kept)
}

/// Whether the next process will know.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Memory {
    Kept,
    Forgotten,
}

fn found(client: &Client, memory: Memory) -> Result<(&'static str, String), String> {
    static KNOWN: Mutex<Option<(String, &'static str, String)>> = Mutex::new(None);
    let key = key(client.path());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((of, platform, version)) = &*known
        && *of == key
    {
        return Ok((platform, version.clone()));
    }
    let (platform, version) = match remembered(&key) {
        Some(found) => found,
        None => {
            let found = tried(client)?;
            if memory == Memory::Kept {
                remember(&key, found.0, &found.1);
            }
            found
        }
    };
    *known = Some((key, platform, version.clone()));
    Ok((platform, version))
}

/// The options of every command.
pub(super) fn globals(platform: &str) -> impl Iterator<Item = String> {
    let is_rootless = !rustix::process::geteuid().is_root();
    // The limits are ours, so that they hold for all of it, and are gone with it.
    let always = [format!("--platform={platform}"), "--ignore-cgroups".to_owned()];
    let rootless = is_rootless.then(|| "--rootless".to_owned());
    always.into_iter().chain(["--overlay2=none".to_owned()]).chain(rootless)
}

/// Has each platform print its kernel's version, which must not be this machine's.
fn tried(client: &Client) -> Result<(&'static str, String), String> {
    let own = fs::read_to_string("/proc/version").unwrap_or_default();
    let scratch = Scratch::make(Room::Little, &[]).map_err(|error| error.to_string())?;
    let bundle = scratch.path().join("bundle");
    write_trial(&bundle).map_err(|error| error.to_string())?;
    let client = client.on_trial(scratch.path(), Vec::new());
    let option = |name: &str, path: &Path| {
        let mut word = OsString::from(name);
        word.push(path);
        word
    };
    let name = scratch.path().file_name().unwrap_or(OsStr::new("trial"));
    let mut why = String::new();
    for platform in PLATFORMS {
        let mut words: Vec<OsString> = globals(platform).map(OsString::from).collect();
        words.push(option("--root=", &scratch.path().join("state")));
        words.extend(["--network=none", "run"].map(OsString::from));
        words.extend([option("--bundle=", &bundle), name.to_owned()]);
        match client.ask(&words, PATIENCE) {
            Ok(answer) if answer.is_good() && answer.text() != own.trim() => {
                let version: String = answer.text().chars().take(100).collect();
                return Ok((platform, version));
            }
            Ok(answer) if answer.is_good() => {
                why = format!("{platform}: its kernel is this machine's own");
            }
            Ok(answer) => why = format!("{platform}: {}", answer.complaint()),
            Err(failure) => why = format!("{platform}: {}", failure.message()),
        }
    }
    Err(why)
}

/// Writes a bundle that prints the version of the kernel. `runsc do` would write one into `TMPDIR`, which a
/// sandbox may show.
fn write_trial(folder: &Path) -> std::io::Result<()> {
    let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".to_owned());
    let namespaces = ["pid", "mount", "ipc", "uts", "network"].map(|kind| json!({ "type": kind }));
    let described = json!({
        "ociVersion": "1.0.2",
        "root": { "path": "/", "readonly": true },
        "process": {
            "user": { "uid": 0, "gid": 0 }, "cwd": "/",
            "args": ["cat", "/proc/version"], "env": [format!("PATH={path}")],
        },
        "mounts": [{ "destination": "/proc", "type": "proc", "source": "proc" }],
        "linux": { "namespaces": namespaces },
    });
    fs::create_dir(folder)?;
    fs::write(folder.join("config.json"), described.to_string())
}

/// Which runsc, on which kernel, for whom.
fn key(path: &Path) -> String {
    let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
    let user = rustix::process::geteuid().as_raw();
    let found = fs::metadata(path)
        .ok()
        .map(|found| (found.dev(), found.ino(), found.size(), found.mtime(), found.mtime_nsec()));
    format!("{path:?} {found:?} {kernel} {user}")
}

fn place() -> Option<PathBuf> {
    Some(cache_folder()?.join("gvisor"))
}

fn remembered(key: &str) -> Option<(&'static str, String)> {
    let text = bounded::read_text(&place()?, Links::Refused, MEMORY_BYTES_MAX).ok()?;
    let mut lines = text.lines();
    let (of, platform, version) = (lines.next()?, lines.next()?, lines.next()?);
    let platform = PLATFORMS.into_iter().find(|known| *known == platform)?;
    (of == key).then(|| (platform, version.to_owned()))
}

/// What cannot be remembered is tried again the next time.
fn remember(key: &str, platform: &str, version: &str) {
    let Some(place) = place() else { return };
    let made = place.parent().map_or(Ok(()), fs::create_dir_all);
    let _forgotten =
        made.and_then(|()| fs::write(place, format!("{key}\n{platform}\n{version}\n")));
}
