//! Containers whose supervisor is dead: found by their label, and removed.

use std::fs;

use serde_json::Value;

use super::Container;
use super::engine::Engine;
use crate::confine::Oci;
use crate::launch::container::engine;
use crate::outcome::{Failure, FailureKind};

/// The label that says whose a container is.
pub(super) const SUPERVISOR: &str = "stockade.supervisor";
/// The label that says which call it is for.
pub(super) const CALL: &str = "stockade.call";

/// Removes the containers that dead supervisors of this machine have left; how many they were.
/// Where there is no engine, nothing can have been left that could be found.
pub fn reap(oci: &Oci) -> Result<usize, Failure> {
    let Some(engine) = Engine::find(oci, crate::confine::Network::Host) else { return Ok(0) };
    let engine = std::sync::Arc::new(engine);
    let filter = format!("label={SUPERVISOR}");
    let listed = engine.ask(&["ps", "--all", "--quiet", "--no-trunc", "--filter", &filter])?;
    if !listed.is_good() {
        // It will say so again to the first call, which fails then.
        return Ok(0);
    }
    let mut reaped = 0_usize;
    for id in listed.text().lines() {
        let Some(seen) = engine.inspect(id)? else { continue };
        let owner = seen.pointer("/Config/Labels").and_then(|all| all.get(SUPERVISOR));
        if owner.and_then(Value::as_str).is_some_and(is_dead) {
            Container::named(engine.clone(), id.to_owned()).remove().map_err(|why| {
                Failure::new(FailureKind::RemoveContainer, why)
                    .with_remedy(format!("{} rm --force {id}", engine.name.name()))
            })?;
            reaped = reaped.saturating_add(1);
        }
    }
    Ok(reaped)
}

/// What this supervisor is known by: machine, boot, process namespace, process, start.
pub(super) fn own_mark() -> String {
    let pid = std::process::id();
    let start = start_of(pid).unwrap_or_default();
    format!("{} {} {} {pid} {start}", machine(), boot(), namespace())
}

/// Whether the supervisor of this mark is dead for certain. One of another machine, or of another
/// container on this one, cannot be seen, and is left alone.
fn is_dead(mark: &str) -> bool {
    let parts: Vec<&str> = mark.split(' ').collect();
    let [of_machine, of_boot, of_namespace, pid, start] = parts.as_slice() else { return false };
    if *of_machine != machine() {
        return false;
    }
    if *of_boot != boot() {
        return true;
    }
    let Ok(pid) = pid.parse::<u32>() else { return false };
    *of_namespace == namespace() && start_of(pid).as_deref() != Some(*start)
}

fn machine() -> String {
    let id = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let name = || rustix::system::uname().nodename().to_string_lossy().into_owned();
    let id = id.trim();
    let id = if id.is_empty() { name() } else { id.to_owned() };
    id.replace(char::is_whitespace, "_")
}

fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

fn namespace() -> String {
    let link = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    link.to_string_lossy().into_owned()
}

/// When a process started, in ticks since boot: what keeps it apart from a later one of its number.
fn start_of(pid: u32) -> Option<String> {
    const START_AFTER_NAME: usize = 19;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(START_AFTER_NAME).map(str::to_owned)
}

/// The version of each engine that is there, or what it complains about.
pub fn engines(oci: &Oci) -> Vec<(crate::confine::EngineName, Result<String, String>)> {
    engine::versions(oci)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_dead_for_certain_is_reaped() {
        let own = own_mark();
        assert!(!is_dead(&own));
        let parts: Vec<&str> = own.split(' ').collect();
        let with = |at: usize, word: &str| {
            let mut parts = parts.clone();
            parts[at] = word;
            parts.join(" ")
        };
        assert!(is_dead(&with(4, "1")), "another process had the number");
        assert!(is_dead(&with(1, "another-boot")));
        assert!(!is_dead(&with(0, "another-machine")));
        assert!(!is_dead(&with(2, "pid:[1]")), "it cannot be seen from here");
        assert!(!is_dead("nonsense"));
    }
}
