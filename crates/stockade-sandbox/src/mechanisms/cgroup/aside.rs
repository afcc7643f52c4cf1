//! A cgroup of version 2 that has limits beneath it may hold no process itself, `cgroups(7)`. A
//! supervisor that was given one of its own (`Delegate=`, a container) sits in it, and steps aside.

use std::fs;
use std::path::Path;

use rustix::io::Errno;

use super::find::errno;
use super::stale;

/// Moves this process and its children, a shim among them, into a folder of their own beneath their
/// cgroup, if nothing else is in that: what is not ours is not moved.
pub(super) fn step_aside(own: &Path) -> Result<(), Errno> {
    let listed = fs::read_to_string(own.join("cgroup.procs")).map_err(|error| errno(&error))?;
    if !listed.lines().all(is_ours) {
        return Err(Errno::BUSY);
    }
    let aside = own.join(stale::name_of_host());
    match fs::create_dir(&aside).map_err(|error| errno(&error)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    for process in listed.lines() {
        match fs::write(aside.join("cgroup.procs"), process).map_err(|error| errno(&error)) {
            // It has ended meanwhile.
            Ok(()) | Err(Errno::SRCH) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Returns whether a process is this one or a child of it.
fn is_ours(process: &str) -> bool {
    const PARENT_AFTER_NAME: usize = 1;
    let myself = std::process::id().to_string();
    let parent = || {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let (_, rest) = stat.rsplit_once(") ")?;
        rest.split(' ').nth(PARENT_AFTER_NAME).map(str::to_owned)
    };
    process == myself || parent().is_some_and(|parent| parent == myself)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_process_and_its_children_are_ours() {
        assert!(is_ours(&std::process::id().to_string()));
        assert!(!is_ours("1") && !is_ours("0") && !is_ours(""));
        let parent = std::os::unix::process::parent_id().to_string();
        assert!(!is_ours(&parent));
    }
}
