//! Ends every process in a folder, whoever holds them.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::find::errno;

/// Kills all processes in a folder: in one stroke where the kernel can, else one by one.
pub(super) fn kill_all(folder: &Path) -> Result<(), Errno> {
    match fs::write(folder.join("cgroup.kill"), "1").map_err(|error| errno(&error)) {
        // Version 1 has no such file, nor has Linux before 5.14.
        Err(Errno::NOENT) => kill_each(folder),
        other => other,
    }
}

fn kill_each(folder: &Path) -> Result<(), Errno> {
    const ROUNDS: u32 = 100;
    // Where tasks are limited, nothing can be forked any more, so that this comes to an end.
    let _other_controller = fs::write(folder.join("pids.max"), "0");
    for _ in 0..ROUNDS {
        let left = processes(folder)?;
        if left.is_empty() {
            return Ok(());
        }
        for pid in left {
            kill_member(folder, pid);
        }
        thread::sleep(Duration::from_millis(1));
    }
    Err(Errno::BUSY)
}

/// Kills a process that is still in the folder once its handle is held: the number alone could
/// mean another one by now.
fn kill_member(folder: &Path, pid: Pid) {
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    if processes(folder).is_ok_and(|now| now.contains(&pid)) {
        let _gone = pidfd_send_signal(&handle, Signal::KILL);
    }
}

fn processes(folder: &Path) -> Result<Vec<Pid>, Errno> {
    let text = fs::read_to_string(folder.join("cgroup.procs")).map_err(|error| errno(&error))?;
    Ok(text.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)).collect())
}
