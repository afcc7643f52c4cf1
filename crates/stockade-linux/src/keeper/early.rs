//! A first process that is cloned before its plan is known: the namespaces are the dearest part of a
//! box, and are made while the host still decides what is in it.
//!
//! It waits for the plan, and ends if none comes. Root's keeper has to take the sources when the plan
//! is there, and so stays root until then: it maps the ids, and the first process takes them on.

#![expect(clippy::as_conversions, clippy::cast_possible_wrap, reason = "ids are below 2^31")]

use super::boxed::{NONE, new};
use super::cell::Cell;
use super::proclist::Path;
use super::sources::Holders;
use super::step::Step;
use super::sys::{self, Fd, Forked, Pid, pr, sig, spaces};
use super::watch::{At, Failed};
use super::wire::Request;
use super::{first, ids, sources, ward};

/// Only asks whether a process is there.
const NO_SIGNAL: usize = 0;

/// A first process without a plan.
#[derive(Debug)]
pub(crate) struct Early {
    first: Pid,
    line: Fd,
    namespaces: u64,
    /// Whom the keeper becomes, as in a plan.
    outer: (u32, u32),
    is_in_cgroup: bool,
}

impl Early {
    /// Clones it as the request says. None if that asks for none, or if it cannot be: then it is tried
    /// again with the plan, and told.
    pub(crate) fn begin(request: &Request, unified: Option<Fd>) -> Option<Self> {
        // That of cgroups is entered by the first process itself, once it is in them.
        let namespaces = request.namespaces & !new::CGROUP;
        let is_root = spaces::is_root();
        if namespaces == 0 || (is_root && spaces::leave_groups().is_err()) {
            return None;
        }
        let [line, theirs] = sys::socket_pair().ok()?;
        let outer = is_root.then_some((request.outer_uid, request.outer_gid));
        let fork = |cgroup| {
            let fork = || spaces::fork_into(namespaces, cgroup);
            outer.map_or_else(fork, |user| spaces::fork_as(user, fork))
        };
        let (forked, is_in_cgroup) = match fork(unified) {
            Err(_) if unified.is_some() => (fork(None), false),
            other => (other, unified.is_some()),
        };
        if let Ok(Forked::Child) = forked {
            sys::close(line);
            await_plan_in_child(request, theirs, is_root)
        }
        sys::close(theirs);
        let Ok(Forked::Parent(first)) = forked else {
            sys::close(line);
            return None;
        };
        let outer = outer.unwrap_or((NONE, NONE));
        let early = Self { first, line, namespaces: request.namespaces, outer, is_in_cgroup };
        if is_root && map_from_outside(request, first).is_err() {
            early.end();
            return None;
        }
        Some(early)
    }

    /// Whether it can become what the plan wants.
    pub(crate) fn suits(&self, cell: &Cell) -> bool {
        let outer = (cell.plan.outer_uid, cell.plan.outer_gid);
        self.namespaces == cell.plan.namespaces && self.outer == outer
    }

    /// Hands the plan over, with which the first process goes on.
    pub(crate) fn hand_over(self, cell: &mut Cell) -> Result<(Pid, Holders), Failed> {
        if !self.is_in_cgroup {
            cell.plan.unified = NONE;
        }
        let lost = |errno| Failed { step: Step::CloneBox, errno };
        let handed = sources::take_as_root(cell).and_then(|holders| {
            sys::kill(self.first, NO_SIGNAL).at(Step::CloneBox)?;
            ids::change_user(cell)?;
            // Nothing may fail behind this: it goes on at once.
            cell.send(self.line).map_err(lost)?;
            Ok(holders)
        });
        match handed {
            Ok(holders) => {
                sys::close(self.line);
                Ok((self.first, holders))
            }
            Err(failed) => {
                self.end();
                Err(failed)
            }
        }
    }

    /// Ends it: without its line it ends by itself, should it be somebody else's to kill.
    pub(crate) fn end(self) {
        sys::close(self.line);
        ward::kill(self.first);
    }
}

/// As root, maps the ids of the first process, which has none in its namespace yet.
fn map_from_outside(request: &Request, first: Pid) -> sys::Result<()> {
    let of = |name| Path::new().text("/proc/").number(first).text(name);
    of("/setgroups").write(b"deny")?;
    of("/gid_map").write(line_of(request.inner_gid, request.outer_gid).as_bytes())?;
    of("/uid_map").write(line_of(request.inner_uid, request.outer_uid).as_bytes())
}

fn line_of(inner: u32, outer: u32) -> Path {
    Path::new().number(inner as i32).text(" ").number(outer as i32).text(" 1")
}

/// The first process until the plan is there. What fails before is told when it is: there is nobody to
/// tell it to.
fn await_plan_in_child(request: &Request, line: Fd, was_root: bool) -> ! {
    let tied = sys::prctl(pr::SET_PDEATHSIG, sig::KILL);
    let mapped = if was_root { tied } else { tied.and_then(|()| map_in_child(request)) };
    let Ok(Some(mut cell)) = Cell::receive(line) else { sys::exit(126) };
    sys::close(line);
    cell.is_mapped = true;
    let has_ids = if was_root { mapped.and_then(|()| take_on_in_child(request)) } else { mapped };
    match has_ids.at(Step::MapIds) {
        Ok(()) => first::be_first_in_child(&mut cell),
        Err(failed) => first::fail_in_child(&cell, failed),
    }
}

/// Takes on the ids that were mapped from outside: one that is saved is root's still.
fn take_on_in_child(request: &Request) -> sys::Result<()> {
    spaces::take_on(request.inner_uid, request.inner_gid)?;
    // By the machine's setting, a change of ids can let others look inside.
    sys::prctl(pr::SET_DUMPABLE, 0)
}

fn map_in_child(request: &Request) -> sys::Result<()> {
    let uid_map = line_of(request.inner_uid, request.outer_uid);
    let gid_map = line_of(request.inner_gid, request.outer_gid);
    ids::map_own_in_child(uid_map.as_bytes(), gid_map.as_bytes())
}
