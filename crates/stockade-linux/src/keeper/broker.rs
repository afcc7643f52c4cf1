//! The broker: makes names for the program, but those that must not be made.
//!
//! It has a lighter form, in which the program creates names by itself and calls for a forbidden path
//! are refused before: `creations.rs`. What follows is about the full form.
//!
//! No mount and no Landlock rule keeps a name from being made in a folder that can be written. So
//! the filter sends every call that makes a name to the box's first process, which copies its
//! arguments, finds the folder, decides by folder and name, and then *makes the call itself*: what
//! the program changes meanwhile, in its memory or among its folders, comes too late.
//!
//! The first process is the only one that this can be. It is an ancestor of all others, so that it
//! may read their memory; nothing in the box can signal or trace it; and with it the box ends.

mod book;
mod caller;
mod calls;
mod canary;
mod creating;
mod creations;
mod later;
mod making;
mod opening;
mod owned;
mod way;

use self::book::Book;
use self::caller::{Caller, Machine};
use self::calls::Answer;
pub(crate) use self::canary::{see_it_refuse_in_child, send_listener_in_child};
use self::creations::Creations;
use self::later::Later;
use super::boxed::Name;
use super::cell::Cell;
use super::locks;
use super::mechanism::Mechanism;
use super::step::Step;
use super::sys::{self, Errno, Fd, Forked, Pid, Poll, notices, pr};
use super::watch::{At, Failed};
use super::wire::{Failure, kind};
use super::{apply, first, gate};

/// What the first process needs to make names for the program.
pub(crate) struct Broker {
    /// Where the listener comes from; negative once it has come.
    desk: Fd,
    listener: Fd,
    machine: Machine,
    book: Book,
    later: Later,
    /// Where the program creates names by itself: which calls it is told of, and what comes of them.
    creations: Option<Creations>,
}

/// Where the first process hears of names: what has to be done before the program's process starts. Gives the end
/// of the line by which the listener will come; the other is that process's.
pub(crate) fn open_desk_in_child(cell: &mut Cell) -> Result<Fd, Failed> {
    if !cell.hears_of_names() {
        return Ok(-1);
    }
    let [desk, theirs] = sys::socket_pair().at(Step::LearnNames)?;
    cell.desk = theirs;
    if !cell.has_broker() {
        return Ok(desk);
    }
    // In a domain of Landlock nothing is mounted or taken away.
    apply::leave_host_in_child(cell)?;
    locks::enter_domain_in_child(cell)?;
    Ok(desk)
}

/// Forks the program's process: with a memory of its own, because the broker must answer it before it
/// executes anything.
pub(crate) fn fork_program(cell: &Cell, line: Fd) -> Result<Pid, Failed> {
    // As where the memory is shared: the host has to look at the namespaces of the program's process.
    sys::prctl(pr::SET_DUMPABLE, 1).at(Step::Fork)?;
    let forked = sys::fork();
    if !matches!(forked, Ok(Forked::Child)) {
        sys::prctl(pr::SET_DUMPABLE, 0).at(Step::Fork)?;
    }
    match forked.at(Step::Fork)? {
        Forked::Child => gate::fail_in_child(cell, apply::become_program_in_child(cell)),
        Forked::Parent(program) => {
            first::announce(line, kind::FORKED).at(Step::Announce)?;
            Ok(program)
        }
    }
}

impl Broker {
    /// Learns the names that must not be made. The listener comes by the desk.
    pub(crate) fn new(
        cell: &Cell,
        desk: Fd,
        creations: Option<Creations>,
    ) -> Result<&'static mut Self, Failed> {
        sys::prctl(pr::SET_DUMPABLE, 0).at(Step::LearnNames)?;
        let machine = Machine::new().at(Step::LearnNames)?;
        let mut book = Book::new();
        let names = cell.array::<Name>(cell.plan.forbidden, cell.plan.forbidden_count);
        let names = names.at(Step::LearnNames)?;
        if creations.is_some() {
            for name in names {
                book.refuse(cell.text(name.path)).at(Step::LearnNames)?;
            }
        } else if !cell.leaves_out(Mechanism::Broker) {
            book.forbid_canary().at(Step::LearnNames)?;
            for name in names {
                book.forbid(cell.text(name.path)).at(Step::LearnNames)?;
            }
        }
        let later = Later::new();
        let broker = Self { desk, listener: -1, machine, book, later, creations };
        // In memory of its own, so that boxes without one do not carry its size about.
        let room = sys::map(None, size_of::<Self>()).at(Step::LearnNames)?.cast::<Self>();
        // SAFETY: a fresh mapping, page-aligned, as large as one, and known to nobody else.
        unsafe { room.write(broker) };
        // SAFETY: it was just written, and is never unmapped or referred to from elsewhere.
        Ok(unsafe { &mut *room })
    }

    /// What has to be listened to.
    pub(crate) const fn desk(&self) -> Fd {
        if self.listener < 0 { self.desk } else { self.listener }
    }

    /// How long until something has to be tried again.
    pub(crate) fn time_left_ns(&self) -> Option<u64> {
        let settling = self.creations.as_ref().and_then(Creations::time_left_ns);
        self.later.time_left_ns().into_iter().chain(settling).min()
    }

    /// Nothing is left in the box but this process: settles who created what.
    pub(crate) fn finish(&mut self) {
        if let Some(creations) = &mut self.creations {
            creations.finish(&self.book);
        }
    }

    /// Does what is asked for at the desk.
    pub(crate) fn serve(&mut self, events: i16) {
        if self.listener < 0 {
            if events != 0 {
                self.take_listener();
            }
        } else if events & Poll::INPUT != 0 {
            self.serve_one();
        } else if events != 0 {
            // Nobody is left who could call.
            sys::close(self.listener);
            self.listener = -1;
        }
        if let Some(creations) = &mut self.creations {
            if events == 0 {
                creations.settle(&self.machine, &self.book);
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
        let count = sys::receive(self.desk, &mut word, &mut fds).map_or(0, |(_, count)| count);
        sys::close(self.desk);
        self.desk = -1;
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
            creations.answer(&caller, &self.book);
            return;
        }
        let answered = {
            let caller = Caller::new(&self.machine, self.listener, notice);
            calls::perform(&caller, &self.book)
        };
        match answered {
            Ok(Answer::Done) => self.say(notice.id, Ok(0)),
            Ok(Answer::Opened(fd, flags)) => {
                let given = notices::give(self.listener, notice.id, fd.number(), flags);
                // Before the caller goes on: an open file of ours would keep its locks, and a
                // program that it writes from being executed.
                drop(fd);
                self.say(notice.id, given);
            }
            Ok(Answer::Later(waiting)) => {
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
pub(crate) fn open_log_in_child(cell: &Cell) -> sys::Result<Option<Creations>> {
    if cell.has_broker() || !cell.hears_of_names() {
        return Ok(None);
    }
    let file = cell.fd(cell.plan.creation_log).ok_or(Errno::BADMSG)?;
    Creations::with_log(file).map(Some)
}

impl core::fmt::Debug for Broker {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Broker").field("listener", &self.listener).finish_non_exhaustive()
    }
}
