//! A cgroup of version 2 that has limits beneath it may hold no process itself, `cgroups(7)`. A
//! supervisor that was given one of its own (`Delegate=`, a container) sits in it, and steps aside.

use std::fs;
use std::path::Path;

use rustix::io::Errno;

use super::find::errno;
use super::stale;

/// Moves this process into a folder of its own beneath its cgroup, if nothing else is in that: what
/// is not ours is not moved.
pub(super) fn step_aside(own: &Path) -> Result<(), Errno> {
    let read = |path: &Path| fs::read_to_string(path).map_err(|error| errno(&error));
    let myself = std::process::id().to_string();
    if read(&own.join("cgroup.procs"))?.lines().any(|process| process != myself) {
        return Err(Errno::BUSY);
    }
    let aside = own.join(stale::name_of_host());
    match fs::create_dir(&aside).map_err(|error| errno(&error)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    fs::write(aside.join("cgroup.procs"), &myself).map_err(|error| errno(&error))
}
