//! The capabilities of this machine, found by trying, and its load.

mod capabilities;

use std::{fs, io};

pub use self::capabilities::{Capabilities, capabilities};

/// The number of tasks, threads included, that live on this machine.
///
/// `RLIMIT_NPROC` counts all tasks of a user, so a limit for one run is this number plus the
/// run's own; for root the kernel does not apply it at all.
pub fn tasks_on_machine() -> io::Result<u64> {
    let loadavg = fs::read_to_string("/proc/loadavg")?;
    tasks(&loadavg).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "odd /proc/loadavg"))
}

/// The fourth field is `running/existing`, see `proc_loadavg(5)`.
fn tasks(loadavg: &str) -> Option<u64> {
    loadavg.split_ascii_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_existing_tasks_from_loadavg() {
        assert_eq!(tasks("0.20 0.18 0.12 1/80 11206\n"), Some(80));
    }

    #[test]
    fn a_line_without_the_field_is_no_number() {
        assert_eq!(tasks("0.20 0.18 0.12\n"), None);
        assert_eq!(tasks("0.20 0.18 0.12 1-80 5\n"), None);
    }

    #[test]
    fn this_machine_has_tasks() {
        assert!(tasks_on_machine().unwrap() > 0);
    }
}
