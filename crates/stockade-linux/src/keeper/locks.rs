//! What a process of the box gives up before it becomes the program.

use core::ffi::CStr;

use super::apply;
use super::boxed::{Rule, option};
use super::broker;
use super::cell::Cell;
use super::mechanism::Mechanism;
use super::step::Step;
use super::sys::{self, Errno, Fd, mounts, pr};
use super::watch::{At, Failed};

/// The file at the root of the box that Landlock must keep from being read.
pub(crate) const CANARY: &CStr = c".stockade-canary";
const CANARY_PATH: &CStr = c"/.stockade-canary";

/// No capability is left.
pub(crate) fn drop_capabilities_in_child(cell: &Cell) -> sys::Result<()> {
    match sys::locks::drop_all_capabilities() {
        // Outside a user namespace of its own an ordinary user has none, and cannot change what
        // bounds those to come; no_new_privs keeps them from coming.
        Err(Errno::PERM) if !cell.has_namespaces() || cell.leaves_out(Mechanism::UserNamespace) => {
            sys::locks::set_capabilities(0)
        }
        other => other,
    }
}

/// No privileges from set-user-ID files or file capabilities, ever.
pub(crate) fn refuse_privileges_in_child() -> Result<(), Failed> {
    sys::prctl(pr::SET_NO_NEW_PRIVS, 1).at(Step::RefusePrivileges)?;
    let holds = if sys::locks::has_no_new_privs() { Ok(()) } else { Err(Errno::PERM) };
    holds.at(Step::RefusePrivileges)
}

/// What was seen of the two mechanisms that do not show outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tested {
    /// Of Landlock.
    pub(crate) landlock: Seen,
    /// Of the broker.
    pub(crate) broker: Seen,
}

/// What was seen of a mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// It refused what nothing else refuses in this way.
    Refusing,
    /// Nothing was tried, or nothing was refused.
    Nothing,
}

/// Enters the Landlock domain. With a broker it is the first process that does, before it forks the
/// program: what it makes for the program is made under the same rules, and Landlock lets a process
/// look only at those of its own domain.
pub(crate) fn enter_domain_in_child(cell: &Cell) -> Result<(), Failed> {
    let ruleset = cell.fd(cell.plan.ruleset).filter(|_| !cell.leaves_out(Mechanism::Landlock));
    let Some(ruleset) = ruleset else { return Ok(()) };
    let rules = cell.array(cell.plan.rules, cell.plan.rule_count).at(Step::RestrictFiles)?;
    for rule in rules {
        allow(cell, ruleset, rule).at(Step::RestrictFiles)?;
    }
    sys::locks::landlock_restrict_self(ruleset).at(Step::RestrictFiles)
}

/// Sees that Landlock holds, once the domain is entered.
pub(crate) fn restrict_files_in_child(cell: &Cell) -> Result<Seen, Failed> {
    if cell.fd(cell.plan.ruleset).is_none() {
        return Ok(Seen::Nothing);
    }
    let parent = sys::getppid();
    let before = sys::kill(parent, 0);
    if !cell.has_broker() {
        enter_domain_in_child(cell)?;
    }
    if cell.plan.base == 0 && !cell.has(option::COPY) {
        // Without a root of its own there is no such file. Where Landlock scopes signals, one that
        // could be sent before tells.
        let scoped = before.is_ok() && sys::kill(parent, 0) == Err(Errno::PERM);
        return Ok(if scoped { Seen::Refusing } else { Seen::Nothing });
    }
    match sys::open(sys::AT_FDCWD, CANARY_PATH) {
        Err(Errno::ACCES) => Ok(Seen::Refusing).at(Step::TestLandlock),
        Ok(_) if cell.leaves_out(Mechanism::Landlock) => Ok(Seen::Nothing),
        Ok(_) => Err(Failed { step: Step::TestLandlock, errno: Errno::INVAL }),
        Err(errno) => Err(Failed { step: Step::TestLandlock, errno }),
    }
}

/// What a path names in the box. While the host's root lies over that of the box, a path that comes back
/// to it would lead on into the host's.
fn find(cell: &Cell, path: &CStr) -> sys::Result<Fd> {
    let climbs = path.to_bytes().split(|byte| *byte == b'/').any(|name| name == b"..");
    match if climbs { Err(Errno::LOOP) } else { mounts::find_without_links(path) } {
        Err(Errno::LOOP) => {
            apply::await_leaving_in_child(cell);
            mounts::handle(path)
        }
        other => other,
    }
}

fn allow(cell: &Cell, ruleset: Fd, rule: &Rule) -> sys::Result<()> {
    // The rights that a file can have: execute, write, read, cut, command a device.
    const FILE_RIGHTS: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15;
    let beneath = find(cell, cell.text(rule.path))?;
    let allowed = match sys::locks::landlock_allow(ruleset, rule.rights, beneath) {
        // Not a folder, which alone can have all rights.
        Err(Errno::INVAL) => {
            sys::locks::landlock_allow(ruleset, rule.rights & FILE_RIGHTS, beneath)
        }
        other => other,
    };
    sys::close(beneath);
    allowed
}

/// Filters system calls from here on, and sees the broker at work if there is one.
pub(crate) fn filter_calls_in_child(cell: &Cell) -> Result<Seen, Failed> {
    if cell.plan.filter_count == 0 || cell.leaves_out(Mechanism::Filter) {
        return Ok(Seen::Nothing);
    }
    let filter = cell.array(cell.plan.filter, cell.plan.filter_count).at(Step::FilterCalls)?;
    if cell.has_broker() {
        let listener = sys::locks::filter_calls_and_listen(filter).at(Step::FilterCalls)?;
        return broker::see_it_refuse_in_child(cell, listener);
    }
    if cell.hears_of_names() {
        // Nothing is created until the program is executed, so that nobody has to answer before.
        let listener = sys::locks::filter_calls_and_listen(filter).at(Step::FilterCalls)?;
        broker::send_listener_in_child(cell, listener).at(Step::FilterCalls)?;
        return Ok(Seen::Nothing);
    }
    sys::locks::filter_calls(filter).at(Step::FilterCalls)?;
    Ok(Seen::Nothing)
}
