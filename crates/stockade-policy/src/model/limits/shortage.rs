//! What a process or a machine can run out of, whatever it was wanted for.

use rustix::io::Errno;

/// What to do where something is used up; none for other errors.
pub fn remedy(errno: Errno) -> Option<&'static str> {
    Some(match errno {
        Errno::MFILE => "too many files are open in this process: raise its limit (ulimit -n)",
        Errno::NFILE => "too many files are open on this machine: try again, or raise fs.file-max",
        Errno::AGAIN => {
            "this user has no process left: try again, or raise the limit (ulimit -u, or pids.max of \
             the cgroup)"
        }
        Errno::NOMEM => {
            "there is not enough memory: try again, or raise the limit (ulimit -v, or that of the \
             cgroup)"
        }
        Errno::TOOBIG => "the arguments and the environment are too long together: shorten them",
        _ => return None,
    })
}
