//! The log in which a sandbox's init records the names that its program creates.

use std::ffi::{CString, OsStr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;

use crate::memory_file;
use crate::protocol::plan::creation_log::{
    BY_OTHERS, BY_PROGRAM, BYTES, EPOCH, LET_THROUGH, MISSING, PATHS, REFUSAL,
};

/// The log of creations of one sandbox, see [`Jail::refused`](crate::Jail::refused).
#[derive(Debug)]
pub struct Creations {
    log: OwnedFd,
    paths: Arc<[CString]>,
}

/// The creator of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Creator {
    /// The program in the sandbox, or it is unknown.
    Program,
    /// Somebody else: no call of the program that creates a name was under way.
    Other,
    /// The program is creating something, and init has not checked since.
    Undecided,
}

impl Creations {
    /// An empty log for these paths.
    pub(crate) fn begin(paths: &Arc<[CString]>) -> Result<Option<Self>, Errno> {
        if paths.is_empty() {
            return Ok(None);
        }
        let log = memory_file::zeroed("stockade-creations", BYTES)?;
        Ok(Some(Self { log, paths: Arc::clone(paths) }))
    }

    /// The file, for init.
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.log.as_fd()
    }

    /// The creator of this path, which `is_there` checks; none if the path does not exist.
    pub fn creator_of(&self, path: &Path, is_there: &dyn Fn() -> bool) -> Option<Creator> {
        let known = self.paths.iter().position(|known| path_of(known) == path);
        let Some(known) = known else { return is_there().then_some(Creator::Program) };
        let before = self.word(EPOCH);
        let state = self.word(PATHS.saturating_add(known));
        if !is_there() {
            return None;
        }
        let (Ok(before), Ok(state), Ok(after)) = (before, state, self.word(EPOCH)) else {
            return Some(Creator::Program);
        };
        let [state, ..] = state.to_le_bytes();
        Some(match state {
            BY_PROGRAM => Creator::Program,
            BY_OTHERS => Creator::Other,
            // It did not exist when the last call had returned, and none has been made since.
            MISSING if before == after && before.is_multiple_of(2) => Creator::Other,
            _ => Creator::Undecided,
        })
    }

    /// Returns whether any call that creates a name was let through.
    pub fn is_any(&self) -> bool {
        self.word(LET_THROUGH).map_or(true, |calls| calls > 0)
    }

    /// The paths whose creation was refused.
    pub fn refused(&self) -> impl Iterator<Item = &Path> {
        let was_refused =
            |at: usize| self.word(PATHS.saturating_add(at)).is_ok_and(|word| word >= REFUSAL);
        let refused = self.paths.iter().enumerate().filter(move |(at, _)| was_refused(*at));
        refused.map(|(_, path)| path_of(path))
    }

    fn word(&self, number: usize) -> Result<u64, Errno> {
        let mut bytes = [0; 8];
        let offset = u64::try_from(number.saturating_mul(8)).unwrap_or(u64::MAX);
        let read = rustix::io::pread(&self.log, &mut bytes, offset)?;
        if read == bytes.len() { Ok(u64::from_ne_bytes(bytes)) } else { Err(Errno::IO) }
    }
}

fn path_of(path: &CString) -> &Path {
    Path::new(OsStr::from_bytes(path.to_bytes()))
}

/// Returns whether this kernel can notify the init of a sandbox of system calls and let them
/// continue, and lets it read their arguments: Linux 5.19, and a `kernel.yama.ptrace_scope` below
/// 3.
pub fn can_refuse_names() -> bool {
    const SET_MODE_FILTER: libc::c_uint = 1;
    const NEW_LISTENER: libc::c_ulong = 1 << 3;
    const WAIT_KILLABLE_RECV: libc::c_ulong = 1 << 5;
    let none = std::ptr::null::<libc::c_void>();
    // SAFETY: there is no filter to be read, so that the call fails whatever the kernel knows. Flags that
    // it does not know are EINVAL, and a filter that cannot be read is EFAULT.
    let answer = unsafe {
        let flags = NEW_LISTENER | WAIT_KILLABLE_RECV;
        libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, flags, none)
    };
    let knows =
        answer == -1 && std::io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT);
    let scope = std::fs::read("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    knows && !scope.starts_with(b"3")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(log: &Creations, number: usize, value: u64) {
        let offset = u64::try_from(number).unwrap().saturating_mul(8);
        rustix::io::pwrite(&log.log, &value.to_ne_bytes(), offset).unwrap();
    }

    #[test]
    fn a_path_that_appears_while_nothing_is_under_way_is_not_the_programs() {
        let paths: Arc<[CString]> = [c"/a".to_owned(), c"/b".to_owned()].into();
        let log = Creations::begin(&paths).unwrap().unwrap();
        let creator = |path: &str| log.creator_of(Path::new(path), &|| true);
        assert_eq!(creator("/b"), Some(Creator::Other));
        assert_eq!(log.creator_of(Path::new("/b"), &|| false), None);
        assert_eq!(creator("/unknown"), Some(Creator::Program));
        written(&log, EPOCH, 1);
        assert_eq!(
            creator("/b"),
            Some(Creator::Undecided),
            "asked for or not: a call may be racing"
        );
        // A call was let through between the two reads of the epoch.
        written(&log, EPOCH, 2);
        let step = || {
            written(&log, EPOCH, 3);
            true
        };
        assert_eq!(log.creator_of(Path::new("/b"), &step), Some(Creator::Undecided));
        written(&log, PATHS + 1, u64::from(BY_PROGRAM) + 3 * REFUSAL);
        assert_eq!(creator("/b"), Some(Creator::Program));
        assert_eq!(log.refused().collect::<Vec<_>>(), [Path::new("/b")]);
        assert!(!log.is_any());
    }
}
