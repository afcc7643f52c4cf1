//! Which of its platforms runsc can use here: found out by a trial, and remembered for this runsc on
//! this kernel.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

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
    let scratch = Scratch::make(Room::Little, None).map_err(|error| error.to_string())?;
    let state = scratch.path().join("state");
    let mut why = String::new();
    for platform in PLATFORMS {
        let mut root = OsString::from("--root=");
        root.push(&state);
        let rest = ["--network=none", "do", "cat", "/proc/version"].map(OsString::from);
        let words: Vec<OsString> =
            globals(platform).map(OsString::from).chain([root]).chain(rest).collect();
        match client.ask(&words, PATIENCE) {
            Ok(answer) if answer.is_good() && answer.text() != own.trim() => {
                let version: String = answer.text().chars().take(100).collect();
                return Ok((platform, version));
            }
            Ok(answer) if answer.is_good() => {
                why = format!("{platform}: its kernel is this machine's own");
            }
            Ok(answer) => why = format!("{platform}: {}", answer.complaint()),
            Err(failure) => why = format!("{platform}: {}", failure.message),
        }
    }
    Err(why)
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
