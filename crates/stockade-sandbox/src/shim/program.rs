//! Finds the program where the sandbox has it, and executes it.

use super::exec_request::ExecRequest;
use super::fault;
use super::run::StepError;
use super::sched_slice;
use super::sys::{self, Errno, Fd};
use crate::protocol::slot;
use crate::protocol::step::Step;

/// Opens the program by its path in the sandbox. It must be the file that was judged.
///
/// The judged descriptor itself is not executed: it leads through a mount of the host, which the
/// program could open again through `/proc/self/exe` and write to (CVE-2019-5736).
pub(crate) fn find_in_child(exec: &ExecRequest) -> sys::Result<Fd> {
    let empty = c"".as_ptr().cast();
    let program = sys::mounts::handle(exec.text(exec.request.program))?;
    let judged = sys::stat(exec.fd(slot::PROGRAM), empty)?;
    let found = sys::stat(program, empty)?;
    if judged.identity == found.identity { Ok(program) } else { Err(Errno::STALE) }
}

/// Executes the program, or the script by its name. Returns only what went wrong.
pub(crate) fn execute_in_child(exec: &ExecRequest, program: Fd) -> StepError {
    sched_slice::restore();
    fault::record(Step::Execute);
    let Some(script) = exec.script else {
        // SAFETY: `ExecRequest` closes both tables with null and its strings lie in a mapping that ends
        // with a NUL.
        let errno = unsafe { sys::execute_fd(program, exec.argv, exec.envp) };
        return StepError { step: Step::Execute, errno };
    };
    // An interpreter opens its script by name, so a script is executed by name too; at least the
    // name must still lead to the file that was judged.
    let judged = sys::stat(program, c"".as_ptr().cast());
    let found = sys::stat(sys::AT_FDCWD, script);
    match (judged, found) {
        (Ok(judged), Ok(found)) if judged.identity == found.identity => {}
        (Ok(_), Ok(_)) => return StepError { step: Step::RecheckScript, errno: Errno::STALE },
        (Err(errno), _) | (_, Err(errno)) => return StepError { step: Step::RecheckScript, errno },
    }
    // SAFETY: as above; the script's path lies in the same mapping.
    let errno = unsafe { sys::execute_path(script, exec.argv, exec.envp) };
    StepError { step: Step::Execute, errno }
}
