//! The broker: makes names for the program, but those that must not be made.
//!
//! It has a lighter form, in which the program creates names by itself and calls for a forbidden
//! path are refused before: `creations.rs`. The rest of this page is about the full form.
//!
//! No mount and no Landlock rule keeps a name from being made in a folder that can be written. So
//! the filter sends every call that makes a name to the sandbox's init, which copies its
//! arguments, finds the folder, decides by folder and name, and then *makes the call itself*: what
//! the program changes meanwhile, in its memory or among its folders, comes too late.
//!
//! Init is the only one that this can be. It is an ancestor of all others, so that it may read
//! their memory; nothing in the sandbox can signal or trace it; and with it the sandbox ends.

mod caller;
mod calls;
mod create;
mod new_paths;
mod creations;
mod deferred;
mod fds;
mod forbidden;
mod opening;
mod resolve;
mod self_test;

use self::caller::{Caller, Machine};
use self::calls::Reply;
use self::creations::CreationLog;
use self::deferred::DeferredCalls;
use self::forbidden::ForbiddenPaths;
pub(crate) use self::self_test::{see_it_refuse_in_child, send_listener_in_child};
use super::received_plan::ReceivedPlan;
use super::restrict;
use super::run::{At, StepError};
use super::sys::{self, Errno, Fd, ForkSide, Pid, Poll, notices, pr};
use super::{apply, exec_channel, init};
use crate::protocol::mechanism::Mechanism;
use crate::protocol::plan::ListedPath;
use crate::protocol::step::Step;
use crate::protocol::{Failure, kind};

/// The state with which init creates names for the program.
pub(crate) struct Broker {
    /// Where the listener comes from; negative once it has come.
    listener_channel: Fd,
    listener: Fd,
    machine: Machine,
    forbidden: ForbiddenPaths,
    later: DeferredCalls,
    /// The log of calls and their results, where the program creates names by itself.
    creations: Option<CreationLog>,
}

/// Prepares for notifications of created names, before the program's process starts. Returns the
/// end of the socket by which the listener will come; the other belongs to that process.
pub(crate) fn open_listener_channel_in_child(plan: &mut ReceivedPlan) -> Result<Fd, StepError> {
    if !plan.is_told_of_names() {
        return Ok(-1);
    }
    let [listener_channel, theirs] = sys::socket_pair().at(Step::LearnNames)?;
    plan.listener_channel = theirs;
    if !plan.has_broker() {
        return Ok(listener_channel);
    }
    // In a domain of Landlock nothing is mounted or taken away.
    apply::leave_host_in_child(plan)?;
    restrict::enter_domain_in_child(plan)?;
    Ok(listener_channel)
}

/// Forks the program's process: with a memory of its own, because the broker must answer it before it
/// executes anything.
pub(crate) fn fork_program(plan: &ReceivedPlan, channel: Fd) -> Result<Pid, StepError> {
    // As in `vfork.rs`: the host has to read the namespaces of the program's process.
    sys::prctl(pr::SET_DUMPABLE, 1).at(Step::Fork)?;
    let forked = sys::fork();
    if !matches!(forked, Ok(ForkSide::Child)) {
        sys::prctl(pr::SET_DUMPABLE, 0).at(Step::Fork)?;
    }
    match forked.at(Step::Fork)? {
        ForkSide::Child => exec_channel::fail_in_child(plan, apply::become_program_in_child(plan)),
        ForkSide::Parent(program) => {
            init::announce(channel, kind::FORKED).at(Step::Announce)?;
            Ok(program)
        }
    }
}

impl Broker {
    /// Reads the names that must not be created. The listener comes by the listener channel.
    pub(crate) fn new(
        plan: &ReceivedPlan,
        listener_channel: Fd,
        creations: Option<CreationLog>,
    ) -> Result<&'static mut Self, StepError> {
        sys::prctl(pr::SET_DUMPABLE, 0).at(Step::LearnNames)?;
        let machine = Machine::new().at(Step::LearnNames)?;
        let mut forbidden = ForbiddenPaths::new();
        let names = plan.array::<ListedPath>(plan.fixed.forbidden, plan.fixed.forbidden_count);
        let names = names.at(Step::LearnNames)?;
        if creations.is_some() {
            for name in names {
                forbidden.refuse(plan.text(name.path)).at(Step::LearnNames)?;
            }
        } else if !plan.leaves_out(Mechanism::Broker) {
            forbidden.forbid_canary().at(Step::LearnNames)?;
            for name in names {
                forbidden.forbid(plan.text(name.path)).at(Step::LearnNames)?;
            }
        }
        let later = DeferredCalls::new();
        let broker = Self { listener_channel, listener: -1, machine, forbidden, later, creations };
        // In memory of its own, so that sandboxes without one do not carry its size about.
        let room = sys::map(None, size_of::<Self>()).at(Step::LearnNames)?.cast::<Self>();
        // SAFETY: a fresh mapping, page-aligned, as large as one, and known to nobody else.
        unsafe { room.write(broker) };
        // SAFETY: it was just written, and is never unmapped or referred to from elsewhere.
        Ok(unsafe { &mut *room })
    }

    /// The descriptor to poll.
    pub(crate) const fn listener_channel(&self) -> Fd {
        if self.listener < 0 { self.listener_channel } else { self.listener }
    }

    /// How long until something has to be tried again.
    pub(crate) fn time_left_ns(&self) -> Option<u64> {
        let settling = self.creations.as_ref().and_then(CreationLog::time_left_ns);
        self.later.time_left_ns().into_iter().chain(settling).min()
    }

    /// Only this process is left in the sandbox: decides who created what.
    pub(crate) fn finish(&mut self) {
        if let Some(creations) = &mut self.creations {
            creations.finish(&self.forbidden);
        }
    }

    /// Takes the listener, or serves a call.
    pub(crate) fn serve(&mut self, events: i16) {
        if self.listener < 0 {
            if events != 0 {
                self.take_listener();
            }
        } else if events & Poll::INPUT != 0 {
            self.serve_one();
        } else if events != 0 {
            // No process is left that could call.
            sys::close(self.listener);
            self.listener = -1;
        }
        if let Some(creations) = &mut self.creations {
            if events == 0 {
                creations.settle(&self.machine, &self.forbidden);
            }
        } else if self.listener >= 0 {
            self.later.retry(&self.machine, self.listener);
        }
    }

    /// Takes the listener that the program's process sends before it is executed. Without one that
    /// process has failed, and says so itself.
    fn take_listener(&mut self) {
        let mut word = Failure::default();
        let mut fds = [-1; 2];
        let count =
            sys::receive(self.listener_channel, &mut word, &mut fds).map_or(0, |(_, count)| count);
        sys::close(self.listener_channel);
        self.listener_channel = -1;
        if let (1, [listener, _]) = (count, fds) {
            notices::take_turns(listener);
            self.listener = listener;
        }
    }

    fn serve_one(&mut self) {
        // The caller may have been killed since.
        let Ok(notice) = notices::take(self.listener) else { return };
        if let Some(creations) = &mut self.creations {
            let caller = Caller::new(&self.machine, self.listener, notice);
            creations.answer(&caller, &self.forbidden);
            return;
        }
        let answered = {
            let caller = Caller::new(&self.machine, self.listener, notice);
            calls::perform(&caller, &self.forbidden)
        };
        match answered {
            Ok(Reply::Done) => self.say(notice.id, Ok(0)),
            Ok(Reply::Opened(fd, flags)) => {
                let given = notices::give(self.listener, notice.id, fd.number(), flags);
                // Before the caller goes on: an open file of ours would keep its locks, and a
                // program that it writes from being executed.
                drop(fd);
                self.say(notice.id, given);
            }
            Ok(Reply::Deferred(waiting)) => {
                if let Err(errno) = self.later.add(waiting) {
                    self.say(notice.id, Err(errno));
                }
            }
            Err(errno) => self.say(notice.id, Err(errno)),
        }
    }

    fn say(&self, id: u64, result: Result<i64, Errno>) {
        // A caller that is gone needs no answer.
        let _gone = notices::answer(self.listener, id, result);
    }
}

/// Maps the log of creations, if the program creates names by itself.
pub(crate) fn open_log_in_child(plan: &ReceivedPlan) -> sys::Result<Option<CreationLog>> {
    if plan.has_broker() || !plan.is_told_of_names() {
        return Ok(None);
    }
    let file = plan.fd(plan.fixed.creation_log).ok_or(Errno::BADMSG)?;
    CreationLog::with_log(file).map(Some)
}

impl core::fmt::Debug for Broker {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Broker").field("listener", &self.listener).finish_non_exhaustive()
    }
}
