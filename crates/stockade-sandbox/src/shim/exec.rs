//! The steps of the program's process between fork and exec, in this order.

#![expect(clippy::as_conversions, reason = "a 32-bit count becomes a size")]

use super::apply;
use super::exec_request::ExecRequest;
use super::program::execute_in_child;
use super::received_plan::ReceivedPlan;
use super::run::{At, CONTROL, StepError};
use super::sys::{self, AT_FDCWD, CLOSE_RANGE_CLOEXEC, Errno, Fd, Pid, pr, sig};
use crate::protocol::plan::exec_channel;
use crate::protocol::step::Step;
use crate::protocol::{Failure, Report, cwd, kind, slot, terminal};

const FIRST_AFTER_STDERR: i32 = 3;

/// Turns this process into the program. Returns only what went wrong.
pub(crate) fn become_program_in_child(
    exec: &ExecRequest,
    locks: Option<&ReceivedPlan>,
    shim: Pid,
    nice: Option<isize>,
) -> StepError {
    if let Err(failed) = tie_in_child(shim, nice) {
        return failed;
    }
    let prepared = match locks {
        Some(plan) => apply::lock_alone_in_child(exec, plan),
        None => prepare_in_child(exec).map(|()| exec.fd(slot::PROGRAM)),
    };
    match prepared {
        Ok(program) => execute_in_child(exec, program),
        Err(failed) => failed,
    }
}

/// Makes this process known to the host and its life that of the shim.
fn tie_in_child(shim: Pid, nice: Option<isize>) -> Result<(), StepError> {
    if let Some(nice) = nice {
        sys::set_nice(nice).at(Step::LimitResources)?;
    }
    announce_in_child().at(Step::Announce)?;
    sys::setsid().at(Step::OpenSession)?;
    sys::prctl(pr::SET_PDEATHSIG, sig::KILL).at(Step::TieToShim)?;
    if sys::getppid() != shim {
        // The shim died before the call above took effect.
        return Err(StepError { step: Step::TieToShim, errno: Errno::SRCH });
    }
    Ok(())
}

fn prepare_in_child(exec: &ExecRequest) -> Result<(), StepError> {
    place_streams_in_child(exec)?;
    enter_in_child(exec.fd(slot::CWD)).at(Step::EnterDirectory)?;
    limit_in_child(exec)?;
    sys::prctl(pr::SET_NO_NEW_PRIVS, 1).at(Step::RefusePrivileges)?;
    if let Some(ruleset) = exec.scope() {
        // A domain of its own inside the shim's: the shim can signal the program, the
        // program cannot signal the shim.
        sys::locks::landlock_restrict_self(ruleset).at(Step::ScopeProgram)?;
        sys::locks::drop_capabilities_to_look().at(Step::ScopeProgram)?;
        sys::locks::refuse_limiting_others().at(Step::ScopeProgram)?;
    }
    clear_in_child()
}

/// Places the program's standard streams.
pub(crate) fn place_streams_in_child(exec: &ExecRequest) -> Result<(), StepError> {
    for (to, from) in (0..).zip([slot::STDIN, slot::STDOUT, slot::STDERR]) {
        sys::dup3(exec.fd(from), to).at(Step::PlaceStreams)?;
    }
    Ok(())
}

/// Gives the program a terminal of the sandbox's own, which becomes the one of its session, and the host
/// the other end.
pub(crate) fn place_terminal_in_child(exec: &ExecRequest, exec_channel: Fd) -> sys::Result<()> {
    let size = exec.request.terminal;
    if size & terminal::IS_THERE == 0 {
        return Ok(());
    }
    let other_end = sys::terminals::open()?;
    sys::terminals::resize(other_end, size)?;
    let own_end = sys::terminals::own_end(other_end)?;
    for to in 0..FIRST_AFTER_STDERR {
        sys::dup3(own_end, to)?;
    }
    sys::close(own_end);
    sys::terminals::take_over(0)?;
    let told = Failure { step: exec_channel::TERMINAL, errno: 0 };
    sys::send(exec_channel, &told, Some(other_end))?;
    sys::close(other_end);
    Ok(())
}

/// Makes an empty standard input the sandbox's own `/dev/null`. The descriptor that the host has
/// given leads through a mount of the host, where the attributes of the device can be changed by
/// its owner.
pub(crate) fn place_own_null_in_child(exec: &ExecRequest) -> sys::Result<()> {
    if exec.request.is_stdin_empty == 0 || exec.request.terminal != terminal::NONE {
        return Ok(());
    }
    match sys::open(AT_FDCWD, c"/dev/null") {
        Ok(own) => {
            let placed = sys::dup3(own, 0);
            sys::close(own);
            placed
        }
        // A sandbox without devices has none to change either.
        Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Sets the mask for new files and the limits of each process.
pub(crate) fn limit_in_child(exec: &ExecRequest) -> Result<(), StepError> {
    // Never wider than what the host itself would give.
    let inherited = sys::umask(0o022);
    sys::umask(inherited | 0o022);
    for limit in exec.request.rlimits.iter().take(exec.request.rlimit_count as usize) {
        sys::lower_limit(*limit).at(Step::LimitResources)?;
    }
    Ok(())
}

/// Leaves the program no blocked signal and no descriptor but its streams.
pub(crate) fn clear_in_child() -> Result<(), StepError> {
    sys::unblock_signals().at(Step::ClearSignals)?;
    sys::close_from(FIRST_AFTER_STDERR, CLOSE_RANGE_CLOEXEC).at(Step::CloseDescriptors)
}

/// Gives the host a handle on this process, so that it can kill it even if the shim is lost.
///
/// It is this process that sends it, before it executes anything: a program that could kill its
/// shim cannot be faster than the announcement.
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

/// Makes the folder at its path in the sandbox the working directory. Where one was judged it must
/// be that one, and where the sandbox hides it one of the sandbox's own: somebody outside may have
/// put a link in its place.
///
/// The judged descriptor itself is not entered: it leads through a mount of the host, where nothing is
/// hidden or read-only.
pub(crate) fn enter_by_path_in_child(exec: &ExecRequest) -> sys::Result<()> {
    let request = &exec.request;
    sys::mounts::chdir(exec.text(request.cwd))?;
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
