//! The box's first process: it makes the box, forks the program, reaps, and ends with it.
//!
//! When it dies the kernel kills everything in the box, whoever killed it. It is a copy of the
//! keeper: no host memory, not dumpable, no descriptor of the host once the program is forked.

use core::sync::atomic::Ordering;

use super::apply;
use super::cell::Cell;
use super::job::Job;
use super::step::Step;
use super::sys::{self, Errno, Fd, Forked, Pid, pr, sig};
use super::tree::used_by;
use super::watch::{At, Failed};
use super::wire::{Failure, Plain};

/// The whole life of the first process. What goes wrong is told through the pipe.
pub(crate) fn be_first_in_child(
    job: &Job,
    cell: &mut Cell,
    verdict: [Fd; 2],
    nice: Option<isize>,
) -> ! {
    let [heard, failure] = verdict;
    // Only the keeper listens, so that its death can be seen.
    sys::close(heard);
    match start_program(job, cell, failure, nice) {
        Ok(program) => reap_until_the_end(cell, program),
        Err(failed) => give_up(failure, failed),
    }
}

fn start_program(
    job: &Job,
    cell: &mut Cell,
    failure: Fd,
    nice: Option<isize>,
) -> Result<Pid, Failed> {
    if let Some(nice) = nice {
        sys::set_nice(nice).at(Step::LimitResources)?;
    }
    sys::setsid().at(Step::OpenSession)?;
    apply::make_box_in_child(cell)?;
    // A change of ids or capabilities clears this, so it comes late.
    sys::prctl(pr::SET_PDEATHSIG, sig::KILL).at(Step::TieToKeeper)?;
    if sys::spaces::is_unheard(failure) {
        // The keeper died before the line above could take effect.
        return Err(Failed { step: Step::TieToKeeper, errno: Errno::SRCH });
    }
    match sys::fork().at(Step::Fork)? {
        Forked::Child => give_up(failure, apply::become_program_in_child(job, cell)),
        Forked::Parent(program) => Ok(program),
    }
}

fn give_up(failure: Fd, Failed { step, errno }: Failed) -> ! {
    let message = Failure { step: step.number(), errno: errno.0 };
    let told = sys::write(failure, message.bytes());
    sys::exit(if told.is_ok() { 127 } else { 126 })
}

/// Holds nothing, waits for the program's end, kills what it left, and tells the keeper.
fn reap_until_the_end(cell: &Cell, program: Pid) -> ! {
    const EVERYBODY: Pid = -1;
    const SIGNAL: i32 = 0x7f;
    // From here on nothing can be told; what fails ends this process, and so the box.
    if sys::close_from(0, 0).is_err() || sys::locks::set_capabilities(0).is_err() {
        sys::exit(126);
    }
    sys::set_name(c"stockade-box");
    // The box's own list of processes, if it has one; for nothing but the program's time.
    let proc = sys::open(sys::AT_FDCWD, c"/proc").unwrap_or(-1);
    let ending = cell.ending;
    let mut leftovers = 0_u32;
    let mut ended = false;
    loop {
        if !ended && sys::await_end() == Ok(program) {
            let used = used_by(program, proc).unwrap_or(0);
            ending.program_cpu_ns.store(used, Ordering::Relaxed);
        }
        match sys::reap_next() {
            Ok((pid, status)) if pid == program && !ended => {
                ended = true;
                ending.status.store(status, Ordering::Relaxed);
                // Everybody in this namespace but this process; fails if nobody is left.
                let _nobody = sys::kill(EVERYBODY, sig::KILL);
            }
            Ok((_, status)) => {
                let killed = usize::try_from(status & SIGNAL) == Ok(sig::KILL);
                leftovers = leftovers.saturating_add(u32::from(ended && killed));
            }
            Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    ending.leftovers.store(leftovers, Ordering::Relaxed);
    ending.told.store(u32::from(ended), Ordering::Release);
    sys::exit(0)
}
