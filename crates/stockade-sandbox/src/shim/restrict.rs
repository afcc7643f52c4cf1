//! The restrictions that a process of the sandbox puts on itself before it becomes the program.

use core::ffi::CStr;

use super::apply;
use super::broker;
use super::received_plan::ReceivedPlan;
use super::run::{At, StepError};
use super::sys::{self, Errno, Fd, mounts, pr};
use crate::protocol::landlock_access;
use crate::protocol::mechanism::Mechanism;
use crate::protocol::plan::{PathRule, option};
use crate::protocol::step::Step;

/// The file at the root of the sandbox that Landlock must keep from being read.
pub(crate) const CANARY: &CStr = c".stockade-canary";
const CANARY_PATH: &CStr = c"/.stockade-canary";

/// No capability is left.
pub(crate) fn drop_capabilities_in_child(plan: &ReceivedPlan) -> sys::Result<()> {
    match sys::locks::drop_all_capabilities() {
        // Outside a user namespace of its own an ordinary user has none, and cannot change what
        // bounds those to come; no_new_privs keeps them from coming.
        Err(Errno::PERM) if !plan.has_namespaces() || plan.leaves_out(Mechanism::UserNamespace) => {
            sys::locks::set_capabilities(0)
        }
        other => other,
    }
}

/// No privileges from set-user-ID files or file capabilities, ever.
pub(crate) fn refuse_privileges_in_child() -> Result<(), StepError> {
    sys::prctl(pr::SET_NO_NEW_PRIVS, 1).at(Step::RefusePrivileges)?;
    let holds = if sys::locks::has_no_new_privs() { Ok(()) } else { Err(Errno::PERM) };
    holds.at(Step::RefusePrivileges)
}

/// The results for the two mechanisms that cannot be observed from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SelfTests {
    /// Of Landlock.
    pub(crate) landlock: SelfTest,
    /// Of the broker.
    pub(crate) broker: SelfTest,
}

/// The result for a mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SelfTest {
    /// It refused what nothing else refuses in this way.
    Refusing,
    /// Nothing was tried, or nothing was refused.
    Nothing,
}

/// Enters the Landlock domain. With a broker it is init that does, before it forks the
/// program: what it makes for the program is made under the same rules, and Landlock lets a process
/// look only at those of its own domain.
pub(crate) fn enter_domain_in_child(plan: &ReceivedPlan) -> Result<(), StepError> {
    let ruleset = plan.fd(plan.fixed.ruleset).filter(|_| !plan.leaves_out(Mechanism::Landlock));
    let Some(ruleset) = ruleset else { return Ok(()) };
    let rules = plan.array(plan.fixed.rules, plan.fixed.rule_count).at(Step::RestrictFiles)?;
    for rule in rules {
        allow(plan, ruleset, rule).at(Step::RestrictFiles)?;
    }
    sys::locks::landlock_restrict_self(ruleset).at(Step::RestrictFiles)
}

/// Sees that Landlock holds, once the domain is entered.
pub(crate) fn restrict_files_in_child(plan: &ReceivedPlan) -> Result<SelfTest, StepError> {
    if plan.fd(plan.fixed.ruleset).is_none() {
        return Ok(SelfTest::Nothing);
    }
    let parent = sys::getppid();
    let before = sys::kill(parent, 0);
    if !plan.has_broker() {
        enter_domain_in_child(plan)?;
    }
    if plan.fixed.base == 0 && !plan.has(option::COPY) {
        // Without a root of its own there is no such file. Where Landlock scopes signals, a signal
        // that could be sent before must fail now.
        let scoped = before.is_ok() && sys::kill(parent, 0) == Err(Errno::PERM);
        return Ok(if scoped { SelfTest::Refusing } else { SelfTest::Nothing });
    }
    match sys::open(sys::AT_FDCWD, CANARY_PATH) {
        Err(Errno::ACCES) => Ok(SelfTest::Refusing).at(Step::TestLandlock),
        Ok(_) if plan.leaves_out(Mechanism::Landlock) => Ok(SelfTest::Nothing),
        Ok(_) => Err(StepError { step: Step::TestLandlock, errno: Errno::INVAL }),
        Err(errno) => Err(StepError { step: Step::TestLandlock, errno }),
    }
}

/// Opens what a path names in the sandbox. While the host's root lies over that of the sandbox, a
/// path that comes back to it would lead on into the host's.
fn find(plan: &ReceivedPlan, path: &CStr) -> sys::Result<Fd> {
    let climbs = path.to_bytes().split(|byte| *byte == b'/').any(|name| name == b"..");
    match if climbs { Err(Errno::LOOP) } else { mounts::find_without_links(path) } {
        Err(Errno::LOOP) => {
            apply::await_leaving_in_child(plan);
            mounts::handle(path)
        }
        other => other,
    }
}

fn allow(plan: &ReceivedPlan, ruleset: Fd, rule: &PathRule) -> sys::Result<()> {
    let beneath = find(plan, plan.text(rule.path))?;
    let allowed = match sys::locks::landlock_allow(ruleset, rule.rights, beneath) {
        // Not a folder, which alone can have all rights.
        Err(Errno::INVAL) => {
            sys::locks::landlock_allow(ruleset, rule.rights & landlock_access::OF_FILES, beneath)
        }
        other => other,
    };
    sys::close(beneath);
    allowed
}

/// Filters system calls from here on, and sees the broker at work if there is one.
pub(crate) fn filter_calls_in_child(plan: &ReceivedPlan) -> Result<SelfTest, StepError> {
    if plan.fixed.filter_count == 0 || plan.leaves_out(Mechanism::Filter) {
        return Ok(SelfTest::Nothing);
    }
    let filter = plan.array(plan.fixed.filter, plan.fixed.filter_count).at(Step::FilterCalls)?;
    if plan.has_broker() {
        let listener = sys::locks::filter_calls_and_listen(filter).at(Step::FilterCalls)?;
        return broker::see_it_refuse_in_child(plan, listener);
    }
    if plan.is_told_of_names() {
        // Nothing is created until the program is executed, so no answer is needed before.
        let listener = sys::locks::filter_calls_and_listen(filter).at(Step::FilterCalls)?;
        broker::send_listener_in_child(plan, listener).at(Step::FilterCalls)?;
        return Ok(SelfTest::Nothing);
    }
    sys::locks::filter_calls(filter).at(Step::FilterCalls)?;
    Ok(SelfTest::Nothing)
}
