//! Finds the program where the box has it, and executes it.

use super::job::Job;
use super::step::Step;
use super::sys::{self, Errno, Fd};
use super::turns;
use super::watch::Failed;
use super::wire::slot;

/// Opens the program by its path in the box. It must be the file that was judged.
///
/// The judged descriptor itself is not executed: it leads through a mount of the host, which the
/// program could open again through `/proc/self/exe` and write to (CVE-2019-5736).
pub(crate) fn find_in_child(job: &Job) -> sys::Result<Fd> {
    let empty = c"".as_ptr().cast();
    let program = sys::mounts::handle(job.text(job.request.program))?;
    let judged = sys::stat(job.fd(slot::PROGRAM), empty)?;
    let found = sys::stat(program, empty)?;
    if judged.identity == found.identity { Ok(program) } else { Err(Errno::STALE) }
}

/// Executes the program, or the script by its name. Returns only what went wrong.
pub(crate) fn execute_in_child(job: &Job, program: Fd) -> Failed {
    turns::as_usual();
    let Some(script) = job.script else {
        // SAFETY: `Job` closes both tables with null and its strings lie in a mapping that ends
        // with a NUL.
        let errno = unsafe { sys::execute_fd(program, job.argv, job.envp) };
        return Failed { step: Step::Execute, errno };
    };
    // An interpreter opens its script by name, so a script is executed by name too; at least the
    // name must still lead to the file that was judged.
    let judged = sys::stat(program, c"".as_ptr().cast());
    let found = sys::stat(sys::AT_FDCWD, script);
    match (judged, found) {
        (Ok(judged), Ok(found)) if judged.identity == found.identity => {}
        (Ok(_), Ok(_)) => return Failed { step: Step::RecheckScript, errno: Errno::STALE },
        (Err(errno), _) | (_, Err(errno)) => return Failed { step: Step::RecheckScript, errno },
    }
    // SAFETY: as above; the script's path lies in the same mapping.
    let errno = unsafe { sys::execute_path(script, job.argv, job.envp) };
    Failed { step: Step::Execute, errno }
}
