//! What the program's process does between fork and exec, in this order.

#![expect(clippy::as_conversions, reason = "a 32-bit count becomes a size")]

use super::job::Job;
use super::step::Step;
use super::sys::{self, CLOSE_RANGE_CLOEXEC, Errno, Fd, Pid, pr, sig};
use super::watch::{At, CONTROL, Failed};
use super::wire::{Report, kind, slot};

const FIRST_AFTER_STDERR: i32 = 3;

/// Turns this process into the program. Returns only what went wrong.
pub(crate) fn become_program_in_child(job: &Job, keeper: Pid, nice: Option<isize>) -> Failed {
    match prepare_in_child(job, keeper, nice) {
        Ok(()) => execute_in_child(job),
        Err(failed) => failed,
    }
}

fn prepare_in_child(job: &Job, keeper: Pid, nice: Option<isize>) -> Result<(), Failed> {
    if let Some(nice) = nice {
        sys::set_nice(nice).at(Step::LimitResources)?;
    }
    announce_in_child().at(Step::Announce)?;
    sys::setsid().at(Step::OpenSession)?;
    sys::prctl(pr::SET_PDEATHSIG, sig::KILL).at(Step::TieToKeeper)?;
    if sys::getppid() != keeper {
        // The keeper died before the line above could take effect.
        return Err(Failed { step: Step::TieToKeeper, errno: Errno::SRCH });
    }
    for (to, from) in (0..).zip([slot::STDIN, slot::STDOUT, slot::STDERR]) {
        sys::dup3(job.fd(from), to).at(Step::PlaceStreams)?;
    }
    enter_in_child(job.fd(slot::CWD)).at(Step::EnterDirectory)?;
    // Never wider than what the host itself would give.
    let inherited = sys::umask(0o022);
    sys::umask(inherited | 0o022);
    for limit in job.request.rlimits.iter().take(job.request.rlimit_count as usize) {
        sys::lower_limit(*limit).at(Step::LimitResources)?;
    }
    sys::prctl(pr::SET_NO_NEW_PRIVS, 1).at(Step::RefusePrivileges)?;
    if let Some(ruleset) = job.scope() {
        // A domain of its own inside the keeper's: the keeper can signal the program, the
        // program cannot signal the keeper.
        sys::landlock_restrict_self(ruleset).at(Step::ScopeProgram)?;
        sys::drop_capabilities_to_look().at(Step::ScopeProgram)?;
    }
    sys::unblock_signals().at(Step::ClearSignals)?;
    sys::close_from(FIRST_AFTER_STDERR, CLOSE_RANGE_CLOEXEC).at(Step::CloseDescriptors)
}

/// Gives the host a handle on this process, so that it can kill it even if the keeper is lost.
///
/// It is this process that sends it, before it executes anything: a program that could kill its
/// keeper cannot be faster than the announcement.
fn announce_in_child() -> sys::Result<()> {
    let own = sys::getpid();
    let pidfd = sys::pidfd_open(own)?;
    let forked = Report { kind: kind::FORKED, pid: own, ..Report::default() };
    sys::send(CONTROL, &forked, Some(pidfd))
}

/// Makes the directory the working directory. One that was removed can be entered, but nothing
/// can be made in it and it has no path.
fn enter_in_child(dir: Fd) -> sys::Result<()> {
    sys::fchdir(dir)?;
    match sys::stat(dir, c"".as_ptr().cast())?.names {
        0 => Err(Errno::NOENT),
        _ => Ok(()),
    }
}

fn execute_in_child(job: &Job) -> Failed {
    let program = job.fd(slot::PROGRAM);
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
