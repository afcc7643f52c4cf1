//! What the program's process does between fork and exec, in this order.

#![expect(clippy::as_conversions, reason = "a 32-bit count becomes a size")]

use super::apply;
use super::cell::Cell;
use super::job::Job;
use super::program::execute_in_child;
use super::step::Step;
use super::sys::{self, AT_FDCWD, CLOSE_RANGE_CLOEXEC, Errno, Fd, Pid, pr, sig};
use super::watch::{At, CONTROL, Failed};
use super::wire::{Report, cwd, kind, slot};

const FIRST_AFTER_STDERR: i32 = 3;

/// Turns this process into the program. Returns only what went wrong.
pub(crate) fn become_program_in_child(
    job: &Job,
    locks: Option<&Cell>,
    keeper: Pid,
    nice: Option<isize>,
) -> Failed {
    if let Err(failed) = tie_in_child(keeper, nice) {
        return failed;
    }
    let prepared = match locks {
        Some(cell) => apply::lock_alone_in_child(job, cell),
        None => prepare_in_child(job).map(|()| job.fd(slot::PROGRAM)),
    };
    match prepared {
        Ok(program) => execute_in_child(job, program),
        Err(failed) => failed,
    }
}

/// Makes this process known to the host and its life that of the keeper.
fn tie_in_child(keeper: Pid, nice: Option<isize>) -> Result<(), Failed> {
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
    Ok(())
}

fn prepare_in_child(job: &Job) -> Result<(), Failed> {
    place_streams_in_child(job)?;
    enter_in_child(job.fd(slot::CWD)).at(Step::EnterDirectory)?;
    limit_in_child(job)?;
    sys::prctl(pr::SET_NO_NEW_PRIVS, 1).at(Step::RefusePrivileges)?;
    if let Some(ruleset) = job.scope() {
        // A domain of its own inside the keeper's: the keeper can signal the program, the
        // program cannot signal the keeper.
        sys::locks::landlock_restrict_self(ruleset).at(Step::ScopeProgram)?;
        sys::locks::drop_capabilities_to_look().at(Step::ScopeProgram)?;
        sys::locks::refuse_limiting_others().at(Step::ScopeProgram)?;
    }
    clear_in_child()
}

/// Places the program's standard streams.
pub(crate) fn place_streams_in_child(job: &Job) -> Result<(), Failed> {
    for (to, from) in (0..).zip([slot::STDIN, slot::STDOUT, slot::STDERR]) {
        sys::dup3(job.fd(from), to).at(Step::PlaceStreams)?;
    }
    Ok(())
}

/// Makes an empty standard input the box's own `/dev/null`. The descriptor that the host has given leads
/// through a mount of the host, where the attributes of the device can be changed by its owner.
pub(crate) fn place_own_null_in_child(job: &Job) -> sys::Result<()> {
    if job.request.is_stdin_empty == 0 {
        return Ok(());
    }
    match sys::open(AT_FDCWD, c"/dev/null") {
        Ok(own) => {
            let placed = sys::dup3(own, 0);
            sys::close(own);
            placed
        }
        // A box without devices has none to change either.
        Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Sets the mask for new files and the limits of each process.
pub(crate) fn limit_in_child(job: &Job) -> Result<(), Failed> {
    // Never wider than what the host itself would give.
    let inherited = sys::umask(0o022);
    sys::umask(inherited | 0o022);
    for limit in job.request.rlimits.iter().take(job.request.rlimit_count as usize) {
        sys::lower_limit(*limit).at(Step::LimitResources)?;
    }
    Ok(())
}

/// Leaves the program no blocked signal and no descriptor but its streams.
pub(crate) fn clear_in_child() -> Result<(), Failed> {
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
pub(crate) fn enter_in_child(dir: Fd) -> sys::Result<()> {
    sys::fchdir(dir)?;
    match sys::stat(dir, c"".as_ptr().cast())?.names {
        0 => Err(Errno::NOENT),
        _ => Ok(()),
    }
}

/// Makes the folder at its path in the box the working directory. Where one was judged it must be that
/// one, and where the box hides it one of the box's own: somebody outside may have put a link in its place.
///
/// The judged descriptor itself is not entered: it leads through a mount of the host, where nothing is
/// hidden or read-only.
pub(crate) fn enter_by_path_in_child(job: &Job) -> sys::Result<()> {
    let request = &job.request;
    sys::mounts::chdir(job.text(request.cwd))?;
    if request.cwd_is == cwd::ANY {
        return Ok(());
    }
    let (device, inode) = sys::stat(AT_FDCWD, c"".as_ptr().cast())?.identity;
    let [major, minor] = request.cwd_device;
    let is_right = match request.cwd_is {
        cwd::JUDGED => (device, inode) == ((major, minor), request.cwd_inode),
        cwd::OWN => device == sys::stat(AT_FDCWD, c"/".as_ptr().cast())?.identity.0,
        _ => false,
    };
    if is_right { Ok(()) } else { Err(Errno::STALE) }
}
