//! System calls as the attacks make them.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use super::attack::Tried;

/// Makes one system call.
pub(crate) fn call(number: libc::c_long, args: &[usize]) -> io::Result<usize> {
    let at = |index| args.get(index).copied().unwrap_or(0);
    // SAFETY: attacks pass numbers, and addresses of their own memory that is large enough for what
    // the kernel writes; none of them maps or unmaps memory that Rust knows of.
    let result = unsafe { libc::syscall(number, at(0), at(1), at(2), at(3), at(4), at(5)) };
    usize::try_from(result).map_err(|_negative| io::Error::last_os_error())
}

/// A path, or another string, as the kernel reads it.
pub(crate) fn word(text: impl AsRef<OsStr>) -> CString {
    CString::new(text.as_ref().as_bytes()).unwrap()
}

/// The address of a value that outlives the call.
pub(crate) fn address<T: ?Sized>(value: &T) -> usize {
    std::ptr::from_ref(value).cast::<u8>().expose_provenance()
}

/// The address of a value that the kernel writes.
pub(crate) fn room<T: ?Sized>(value: &mut T) -> usize {
    std::ptr::from_mut(value).cast::<u8>().expose_provenance()
}

/// The answer of an attack that only wanted its calls to succeed.
pub(crate) fn done<T>(result: io::Result<T>) -> Tried {
    result.map(|_| "done".to_owned())
}

/// The error of a call of libc that said there is one.
fn errno_now<T>() -> io::Result<T> {
    Err(io::Error::last_os_error())
}

/// Does something in a process of its own, with one thread, and gives its error. A child that is
/// killed ends this process by the same signal.
pub(crate) fn in_child(body: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    // SAFETY: the attacker has one thread that does anything, so nothing is locked in the child.
    match unsafe { libc::fork() } {
        -1 => errno_now(),
        0 => {
            let code = match body() {
                Ok(()) => 0,
                Err(error) => error.raw_os_error().filter(|errno| *errno < 254).unwrap_or(254),
            };
            // SAFETY: _exit runs no destructor and no handler.
            unsafe { libc::_exit(code) }
        }
        child => {
            let mut status = 0;
            // SAFETY: the kernel writes one integer.
            let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
            match (waited, status & 0x7f, (status >> 8) & 0xff) {
                (-1, _, _) => errno_now(),
                (_, 0, 0) => Ok(()),
                (_, 0, 254) => Err(io::Error::other("the child failed")),
                (_, 0, errno) => Err(io::Error::from_raw_os_error(errno)),
                (_, signal, _) => {
                    // SAFETY: a signal to this process itself takes no memory.
                    let _killed = unsafe { libc::raise(signal) };
                    Err(io::Error::other("the child was killed"))
                }
            }
        }
    }
}

/// Does something to a child of this process that sleeps, and ends it.
pub(crate) fn with_child(body: impl FnOnce(usize) -> io::Result<usize>) -> io::Result<usize> {
    #[expect(clippy::disallowed_methods, reason = "the attacker needs somebody to attack")]
    let mut child = Command::new("/bin/sleep").arg("100").spawn()?;
    let result = body(child.id() as usize);
    child.kill()?;
    child.wait()?;
    result
}

/// Tries to get capabilities as anybody can outside a sandbox: by a user namespace, and others with
/// it. Whether that succeeded shows in what is done with them.
pub(crate) fn lend_capabilities(namespaces: i32) {
    let _refused = call(libc::SYS_unshare, &[(libc::CLONE_NEWUSER | namespaces) as usize]);
}
