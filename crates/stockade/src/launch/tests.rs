//! The shim does what was planned, in the order in which it was planned: the operations of a plan
//! beside the shim's own record of what it did.

#[path = "../../tests/shared/skip.rs"]
mod skip;

use std::collections::BTreeSet;
use std::time::Duration;

use stockade_sandbox::{Step, StepTrace, TracedProcess, landlock_abi};

use super::*;
use crate::call::ToolCall;
use crate::gate::{Examiner, Gate, Verdict};
use crate::inspect::Root;
use crate::journal::{Durability, Journal};
use crate::plan::ops::{Mount, Op};
use crate::policy::{Policy, Require, Variable};

/// The step of the shim that carries an operation out; none if the host does.
fn step(op: &Op) -> Option<Step> {
    match op {
        Op::Namespaces(_) => Some(Step::CloneBox),
        Op::JoinSession { .. } => Some(Step::EnterSession),
        Op::HostName(_) => Some(Step::NameHost),
        Op::ForbidNesting => Some(Step::ForbidNesting),
        Op::NewRoot => Some(Step::MakeRoot),
        Op::Mount(mount) => match mount {
            Mount::System(_) | Mount::Project(..) | Mount::Path(..) => Some(Step::BindFolder),
            Mount::Devices { .. } | Mount::Memory { .. } => Some(Step::MountMemory),
            Mount::Session { .. } => Some(Step::MountSession),
            Mount::Proc => Some(Step::MountProc),
            Mount::HideInProc(_) => Some(Step::HidePath),
            Mount::Home(_) => Some(Step::MakeEntry),
            // What these need depends on what exists.
            Mount::Exception(_) | Mount::Toolchain(_) | Mount::Agent(_) | Mount::Pins => None,
        },
        Op::Hide(_) => Some(Step::HidePath),
        Op::Protect(_) => Some(Step::ProtectPath),
        Op::SealRoot => Some(Step::SealRoot),
        Op::Cgroup(_) => Some(Step::JoinCgroups),
        Op::DropCapabilities => Some(Step::DropCapabilities),
        Op::NoNewPrivileges => Some(Step::RefusePrivileges),
        Op::SignalScope { .. } => Some(Step::ScopeTree),
        Op::Landlock => Some(Step::RestrictFiles),
        Op::Seccomp(_) => Some(Step::FilterCalls),
        Op::Attest => Some(Step::AwaitRelease),
        Op::Rlimit(_) => Some(Step::LimitResources),
        Op::CloseDescriptors => Some(Step::CloseDescriptors),
        Op::Exec => Some(Step::Execute),
        // The network is part of the namespaces, and a refusal of names part of the filter.
        Op::Network(_) | Op::RefuseCreation | Op::Broker => None,
        // The shim is there before it gets the file that it records its steps in.
        Op::Shim
        | Op::Survey(_)
        | Op::Publish(_)
        | Op::HostPort(_)
        | Op::GuardOwn(_)
        | Op::Unenforced(..)
        | Op::Scratch(_)
        | Op::Environment(_)
        | Op::Check(..)
        | Op::Allow(_)
        | Op::Oci(_)
        | Op::Inline(_)
        | Op::Watch(_)
        | Op::CleanUp => None,
    }
}

/// A step, and the operations that take it.
type With = (Step, fn(&Op) -> bool);

/// Steps that an operation takes besides the one that carries it out.
const WITH_OTHERS: [With; 17] = [
    // An init without ids would have none that it may use in its namespaces.
    (Step::MapIds, |op| matches!(op, Op::Namespaces(_))),
    (Step::ChangeUser, |op| matches!(op, Op::Namespaces(_))),
    (Step::RaiseLoopback, |op| *op == Op::Network(crate::confine::Network::Loopback)),
    // Where a mount comes from and goes to, and whose files it shows.
    (Step::TakeSource, |op| *op == Op::NewRoot),
    (Step::MapOwners, |op| *op == Op::NewRoot),
    (Step::FindPlace, |op| *op == Op::NewRoot),
    // The new root takes the place of the host's, which is left.
    (Step::EnterRoot, |op| *op == Op::NewRoot),
    (Step::LockMounts, |op| *op == Op::SealRoot),
    (Step::LeaveHost, |op| *op == Op::NewRoot),
    // Links of the system as `/bin`, and the files of `/dev`.
    (Step::MakeEntry, |op| matches!(op, Op::Mount(Mount::System(_) | Mount::Devices { .. }))),
    (Step::BindFolder, |op| matches!(op, Op::Mount(Mount::Devices { .. }))),
    (Step::MountTerminals, |op| matches!(op, Op::Mount(Mount::Devices { .. }))),
    // What these need depends on what exists.
    (Step::BindFolder, |op| matches!(op, Op::Mount(Mount::Exception(_) | Mount::Toolchain(_)))),
    (Step::ProtectPath, |op| matches!(op, Op::Mount(Mount::Exception(_) | Mount::Pins))),
    (Step::MakeEntry, |op| matches!(op, Op::Mount(Mount::Toolchain(_)))),
    (Step::LearnNames, |op| matches!(op, Op::Broker | Op::RefuseCreation)),
    (Step::TestLandlock, |op| *op == Op::Landlock),
];

/// Steps of the shim's own book-keeping. None of them gives a program anything or takes anything from it
/// that a plan would have to say.
const BOOK_KEEPING: [Step; 12] = [
    // The shim's and init's own descriptors and signals.
    Step::SetUpShim,
    // Room and `/proc` for counting processes, for the limit that the plan says that the host watches.
    Step::CountProcesses,
    Step::ListProcesses,
    // The program's process, and that the host learns of it.
    Step::Fork,
    Step::Announce,
    // So that it ends with the shim, and signals to its group end nothing else.
    Step::OpenSession,
    Step::TieToShim,
    Step::ClearSignals,
    // What the call itself is: its streams, its terminal, its folder, its program.
    Step::PlaceStreams,
    Step::OpenTerminal,
    Step::EnterDirectory,
    Step::FindProgram,
];

/// The steps that a shim took and that no operation stands for.
fn beyond(ops: &[Op], trace: &StepTrace, scope: Step) -> Vec<Step> {
    let is_meant = |done: Step| {
        let has_one = |is_it: fn(&Op) -> bool| ops.iter().any(is_it);
        let mut planned = ops.iter().filter_map(step);
        BOOK_KEEPING.contains(&done)
            || planned.any(|one| one == done || (one == Step::ScopeTree && scope == done))
            || WITH_OTHERS.iter().any(|(with, is_it)| *with == done && has_one(*is_it))
    };
    let done = trace.steps().unwrap().into_iter().map(|traced| traced.step);
    done.filter(|done| !is_meant(*done)).collect()
}

/// The steps that a root takes for each of its mounts.
const OF_MOUNTS: [Step; 7] = [
    Step::BindFolder,
    Step::MountMemory,
    Step::MountSession,
    Step::MountProc,
    Step::HidePath,
    Step::ProtectPath,
    Step::MakeEntry,
];

/// Says where a record differs from a plan, if it does.
fn difference(ops: &[Op], trace: &StepTrace, scope: Step) -> Option<String> {
    let beyond = beyond(ops, trace, scope);
    if !beyond.is_empty() {
        return Some(format!("done beyond the plan: {beyond:?}"));
    }
    let place = |step| if step == Step::ScopeTree { scope } else { step };
    let mut planned: Vec<Step> = ops.iter().filter_map(step).map(place).collect();
    planned.dedup();
    let known: BTreeSet<u32> = planned.iter().map(|step| step.number()).collect();
    let done = trace.steps().unwrap().into_iter().map(|traced| traced.step);
    let mut done: Vec<Step> = done.filter(|step| known.contains(&step.number())).collect();
    // A shim of root also raises the priority of its program, as the first of its limits.
    let limits = done.iter().filter(|step| **step == Step::LimitResources).count();
    if limits > 1 {
        let first = done.iter().position(|step| *step == Step::LimitResources);
        first.map(|first| done.remove(first));
    }
    // What is done once is done in the planned order, and nothing else is done.
    let once = |steps: &[Step]| {
        let mut seen = BTreeSet::new();
        let is_first = |step: &&Step| seen.insert(step.number()) && !OF_MOUNTS.contains(*step);
        steps.iter().filter(is_first).copied().collect::<Vec<_>>()
    };
    if once(&planned) != once(&done) {
        return Some(format!("planned: {:?}\ndone:    {:?}", once(&planned), once(&done)));
    }
    // Everything that is mounted is mounted in the planned order.
    let mut rest = done.iter();
    let missing = planned.iter().find(|step| !rest.any(|done| done == *step));
    missing.map(|step| format!("{step:?} is not done in its place: {planned:?}\ndone: {done:?}"))
}

/// Says where the record of a template and its copies differs from a plan. What of it the template does
/// and what each copy does is not said by the plan, so that here the order is that of the program's locks.
fn difference_of_copy(ops: &[Op], trace: &StepTrace) -> Option<String> {
    let beyond = beyond(ops, trace, Step::ScopeTree);
    if !beyond.is_empty() {
        return Some(format!("done beyond the plan: {beyond:?}"));
    }
    let all = trace.steps().unwrap();
    let mut planned = ops.iter().filter_map(step);
    let missing = planned.find(|step| !all.iter().any(|traced| traced.step == *step));
    if let Some(missing) = missing {
        return Some(format!("{missing:?} is not done: {all:?}"));
    }
    let program = trace.steps_of(TracedProcess::Program).unwrap();
    let does = |step: &Step| program.iter().any(|traced| traced.step == *step);
    let mut locks: Vec<Step> = ops.iter().filter_map(step).filter(does).collect();
    locks.dedup();
    // Another copy may wait by now, which has done the first of them too.
    let mut seen = BTreeSet::new();
    let done = program.iter().map(|traced| traced.step);
    let done: Vec<Step> =
        done.filter(|step| locks.contains(step) && seen.insert(step.number())).collect();
    (locks != done).then(|| format!("planned: {locks:?}\ndone:    {done:?}"))
}

struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["work/hidden", "work/deep/protected"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    /// The plan of a call under a policy.
    fn plan(&self, policy: Policy) -> Box<ProgramPlan> {
        self.plan_of(&ToolCall::exec(["true"]), policy)
    }

    fn plan_of(&self, call: &ToolCall, mut policy: Policy) -> Box<ProgramPlan> {
        let root = self.folder.path().join("work");
        policy.rules = crate::policy::Rules::default();
        policy.files.hide = vec!["hidden".into()];
        policy.files.protect = vec!["deep/protected".into()];
        policy.environment = vec![Variable::Set("A".to_owned(), "b".to_owned())];
        policy.require = Require::only([]);
        let journal = self.folder.path().join("journal");
        let journal = Journal::open(&journal, Durability::default()).unwrap();
        let gate = Gate::new(Examiner::new(Root::open(&root).unwrap(), policy), journal);
        let Verdict::Allowed(permit) = gate.judge(call) else { panic!() };
        match Plan::new(*permit, probe()).unwrap().kind() {
            plan::Kind::Program(plan) => plan,
            other @ (plan::Kind::Files(_) | plan::Kind::Inline(_)) => panic!("{other:?}"),
        }
    }
}

fn policy(tier: Tier) -> Policy {
    Policy { tier, ..Policy::shipped() }
}

#[test]
fn a_jail_is_made_in_the_order_of_its_plan() {
    let project = Project::new();
    let plan = project.plan(policy(Tier::Jail));
    let mut ops = plan.description().ops.clone();
    let trace = StepTrace::of_this_thread().unwrap();
    let outcome = start_afresh(*plan, &WarmState::cold()).unwrap().wait(None).unwrap().outcome;
    assert_eq!(outcome.exit, Exit::Code(0), "{outcome:?}");
    assert_eq!(difference(&ops, &trace, Step::ScopeTree), None);
    sees_what_is_not_planned(&ops, |rest| difference(rest, &trace, Step::ScopeTree));
    // The order that was printed once, with the limits before the locks, is seen to be wrong.
    let limit = ops.iter().position(|op| matches!(op, Op::Rlimit(_))).unwrap();
    let locks = ops.iter().position(|op| *op == Op::DropCapabilities).unwrap();
    let moved = ops.remove(limit);
    ops.insert(locks, moved);
    assert!(difference(&ops, &trace, Step::ScopeTree).is_some());
}

/// Each step that is done without its operation is seen.
#[track_caller]
fn sees_what_is_not_planned(ops: &[Op], difference: impl Fn(&[Op]) -> Option<String>) {
    for missing in ops.iter().filter_map(step) {
        let rest: Vec<Op> = ops.iter().filter(|op| step(op) != Some(missing)).cloned().collect();
        // An operation that shares its step with another is not missed as long as that one is there.
        if rest.iter().any(|op| WITH_OTHERS.iter().any(|(with, is)| *with == missing && is(op))) {
            continue;
        }
        assert!(difference(&rest).is_some(), "{missing:?}");
    }
}

fn run(plan: ProgramPlan, warm: &WarmState) {
    let outcome = start_afresh(plan, warm).unwrap().wait(None).unwrap().outcome;
    assert_eq!(outcome.exit, Exit::Code(0), "{outcome:?}");
}

/// Waits until it is so, and does this again and again meanwhile.
#[track_caller]
fn until(is_so: impl Fn() -> bool, mut again: impl FnMut()) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(120));
        again();
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What copies of a template have of their own.
#[track_caller]
fn has_its_own(trace: &StepTrace) {
    let of_init = trace.steps_of(TracedProcess::Init).unwrap();
    for step in [Step::MapIds, Step::MountMemory, Step::MountProc, Step::JoinCgroups] {
        let times = of_init.iter().filter(|traced| traced.step == step).count();
        assert!(times > 1, "{step:?} is done by the template and by the copy: {of_init:?}");
    }
}

#[test]
fn a_copy_of_a_template_is_made_in_the_order_of_its_plan() {
    let project = Project::new();
    let warm = WarmState::cold().with_pool_size(PoolSize::Templates { spares: 0 });
    let trace = StepTrace::of_templates(warm.pool()).unwrap();
    let plan = project.plan(policy(Tier::Jail));
    let ops = plan.description().ops.clone();
    run(*plan, &warm);
    let copied = || warm.pool().given(Origin::Copied) > 0;
    until(copied, || run(*project.plan(policy(Tier::Jail)), &warm));
    assert_eq!(difference_of_copy(&ops, &trace), None);
    has_its_own(&trace);
    sees_what_is_not_planned(&ops, |rest| difference_of_copy(rest, &trace));
}

#[test]
fn a_sandbox_that_waits_is_made_in_the_order_of_its_plan() {
    let project = Project::new();
    let warm = WarmState::cold().with_pool_size(PoolSize::Templates { spares: 1 });
    let trace = StepTrace::of_templates(warm.pool()).unwrap();
    let plan = project.plan(policy(Tier::Jail));
    let ops = plan.description().ops.clone();
    run(*plan, &warm);
    until(|| warm.pool().waiting() > 0, || ());
    run(*project.plan(policy(Tier::Jail)), &warm);
    assert_eq!(warm.pool().given(Origin::Waiting), 1);
    assert_eq!(difference_of_copy(&ops, &trace), None);
    has_its_own(&trace);
    sees_what_is_not_planned(&ops, |rest| difference_of_copy(rest, &trace));
}

#[test]
fn a_jail_of_a_session_is_made_in_the_order_of_its_plan() {
    let project = Project::new();
    let name: crate::call::SessionName = "work".parse().unwrap();
    let call = ToolCall::exec(["true"]).in_session(name.clone());
    let plan = project.plan_of(&call, policy(Tier::Jail));
    let mut ops = plan.description().ops.clone();
    assert!(ops.contains(&Op::JoinSession {
        leftovers: crate::confine::Leftovers::Stay,
        network: crate::confine::Network::Loopback,
    }));
    let warm = WarmState::cold();
    // Its namespaces are made before the steps of the call are recorded.
    drop(warm.sessions().get(&name).join().unwrap());
    let trace = StepTrace::of_this_thread().unwrap();
    let finished = start_afresh(*plan, &warm).unwrap().wait(None).unwrap();
    assert_eq!(finished.outcome.exit, Exit::Code(0), "{finished:?}");
    assert_eq!(difference(&ops, &trace, Step::ScopeTree), None);
    sees_what_is_not_planned(&ops, |rest| difference(rest, &trace, Step::ScopeTree));
    let joins = ops.iter().position(|op| matches!(op, Op::JoinSession { .. })).unwrap();
    ops.swap(joins, joins + 1);
    assert!(difference(&ops, &trace, Step::ScopeTree).is_some());
}

#[test]
fn a_program_of_the_process_tier_is_started_in_the_order_of_its_plan() {
    let project = Project::new();
    let plan = project.plan(policy(Tier::Process));
    let ops = plan.description().ops.clone();
    let trace = StepTrace::of_this_thread().unwrap();
    let outcome = start_afresh(*plan, &WarmState::cold()).unwrap().wait(None).unwrap().outcome;
    assert_eq!(outcome.exit, Exit::Code(0), "{outcome:?}");
    // The program has a scope of its own in that of its shim.
    assert_eq!(difference(&ops, &trace, Step::ScopeProgram), None);
    sees_what_is_not_planned(&ops, |rest| difference(rest, &trace, Step::ScopeProgram));
}

#[test]
fn a_jail_without_namespaces_is_made_in_the_order_of_its_plan() {
    // A machine without Landlock has no such form.
    if landlock_abi().is_none() {
        return skip::skip("landlock", "this kernel lacks Landlock");
    }
    let project = Project::new();
    let mut plan = project.plan(policy(Tier::Jail)).into_parts();
    let description = plan.otherwise.take().unwrap().unwrap();
    let ops = description.ops.clone();
    let trace = StepTrace::of_this_thread().unwrap();
    let held = jail::start_without_namespaces((plan.cleared, plan.terms), description, plan.until);
    let outcome = held.unwrap().wait(None).unwrap().outcome;
    assert_eq!(outcome.exit, Exit::Code(0), "{outcome:?}");
    assert_eq!(difference(&ops, &trace, Step::ScopeTree), None);
    sees_what_is_not_planned(&ops, |rest| difference(rest, &trace, Step::ScopeTree));
}
