//! The trace of steps says what is done, in the order in which it is done.

use stockade_sandbox::{
    PoolSize, Program, Rlimits, SandboxPool, Spec, Step, StepTrace, TracedProcess, landlock_abi,
    signal_scope, start, start_jailed,
};

use crate::attest::everything;
use crate::locks_only::{folder, locked};
use crate::made::LIMITS;
use crate::support::{finish, shell, skip};

fn limited() -> Spec {
    Spec { rlimits: Rlimits { cpu_seconds: Some(10), ..Rlimits::default() }, ..shell("exit 0") }
}

fn names(trace: &StepTrace, process: TracedProcess) -> Vec<Step> {
    trace.steps_of(process).unwrap().into_iter().map(|traced| traced.step).collect()
}

/// The resource limits are set after every lock: a lock that needs a descriptor must still get one.
#[test]
fn a_program_in_a_sandbox_is_locked_then_limited_then_executed() {
    let (_folder, jail) = everything();
    let mounts = jail.root.as_ref().map_or(0, Vec::len);
    let trace = StepTrace::of_this_thread().unwrap();
    let program = Program::new(limited(), &jail.program, &jail.cwd);
    let ready = SandboxPool::new(PoolSize::NoTemplates).ready(jail, LIMITS).unwrap();
    finish(&mut ready.run(program).unwrap());

    let expected = [
        Step::Fork,
        Step::OpenSession,
        Step::DropCapabilities,
        Step::RefusePrivileges,
        Step::TestLandlock,
        Step::FilterCalls,
        Step::TestBroker,
        Step::AwaitRelease,
        Step::PlaceStreams,
        Step::OpenTerminal,
        Step::EnterDirectory,
        Step::FindProgram,
        Step::LimitResources,
        Step::ClearSignals,
        Step::CloseDescriptors,
        Step::AwaitRelease,
        Step::Execute,
    ];
    assert_eq!(names(&trace, TracedProcess::Program), expected);

    let init = trace.steps_of(TracedProcess::Init).unwrap();
    let mut made: Vec<usize> = init.iter().filter_map(|traced| traced.mount).collect();
    made.dedup();
    assert_eq!(made, (0..mounts).collect::<Vec<_>>());
    let steps = names(&trace, TracedProcess::Init);
    let order = [
        Step::CloneBox,
        Step::MapIds,
        Step::NameHost,
        Step::ForbidNesting,
        Step::MakeRoot,
        Step::SealRoot,
        Step::EnterRoot,
        Step::JoinCgroups,
        Step::LeaveHost,
        Step::RestrictFiles,
        Step::Fork,
    ];
    let places = order.map(|step| steps.iter().position(|one| *one == step));
    assert!(places.is_sorted() && places[0].is_some(), "{steps:?}");
}

#[test]
fn without_namespaces_a_program_is_limited_before_it_is_locked() {
    if landlock_abi().is_none() {
        return skip("Landlock");
    }
    let folder = folder();
    let trace = StepTrace::of_this_thread().unwrap();
    finish(&mut start_jailed(limited(), locked(&folder)).unwrap());
    let steps = names(&trace, TracedProcess::Program);
    let order = [
        Step::PlaceStreams,
        Step::LimitResources,
        Step::CloseDescriptors,
        Step::DropCapabilities,
        Step::RefusePrivileges,
        Step::RestrictFiles,
        Step::FilterCalls,
        Step::Execute,
    ];
    let locked: Vec<_> = steps.iter().filter(|step| order.contains(step)).copied().collect();
    assert_eq!(locked.get(locked.len() - order.len()..), Some(&order[..]), "{steps:?}");
}

#[test]
fn a_program_without_a_sandbox_gets_its_limits_and_no_locks() {
    let Some(scope) = signal_scope().unwrap() else { return skip("a scope of signals") };
    let trace = StepTrace::of_this_thread().unwrap();
    finish(&mut start(Spec { signal_scope: Some(scope), ..limited() }).unwrap());
    let expected = [
        Step::PlaceStreams,
        Step::EnterDirectory,
        Step::LimitResources,
        Step::RefusePrivileges,
        Step::ScopeProgram,
        Step::ClearSignals,
        Step::CloseDescriptors,
        Step::Execute,
    ];
    let steps = names(&trace, TracedProcess::Program);
    assert!(steps.ends_with(&expected), "{steps:?}");
}

#[test]
fn only_what_is_started_by_this_thread_while_the_record_lives_is_recorded() {
    let trace = StepTrace::of_this_thread().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| finish(&mut start(limited()).unwrap()));
    });
    assert_eq!(trace.steps().unwrap(), []);
    let later = StepTrace::of_this_thread().unwrap();
    drop(trace);
    finish(&mut start(limited()).unwrap());
    assert!(!later.steps().unwrap().is_empty());
}
