//! What will be done is data: printed, compared, and refused before anything runs.

use std::path::Path;

use stockade::call::ToolCall;
use stockade::gate::{Gate, Permit, Verdict};
use stockade::guarantee::{Guarantee, Kept};
use stockade::journal::{Durability, Journal};
use stockade::plan::Plan;
use stockade::plan::describe::{of_tier, without_namespaces};
use stockade::policy::Policy;
use stockade::report::Body;
use stockade::tier::{Machine, Tier};

use crate::golden::file as golden;
use crate::project::{Project, workspace};

const SCOPED: Machine = Machine {
    landlock_abi: Some(7),
    signal_scope: true,
    refuses_names: false,
    is_root: false,
    supervisor_hidden: false,
    bounds_address_space: true,
};
const PLAIN: Machine = Machine { signal_scope: false, ..SCOPED };

fn permit(project: &Project, policy: Policy) -> Permit {
    let journal = Journal::open(&project.journal(), Durability::default()).unwrap();
    let gate = Gate::new(project.examiner(policy), journal);
    match gate.judge(&ToolCall::exec(["ls", "."])) {
        Verdict::Allowed(permit) => *permit,
        other @ (Verdict::Ask(_) | Verdict::Refused(_) | Verdict::Impossible(_)) => {
            panic!("{other:?}")
        }
    }
}

/// The shipped policy with an environment that is the same everywhere.
fn shipped() -> Policy {
    Policy { environment: Vec::new(), ..Policy::shipped() }
}

/// The same in the process tier.
fn unboxed() -> Policy {
    Policy { tier: Tier::Process, ..shipped() }
}

fn shown(policy: Policy, machine: Machine) -> String {
    let project = Project::new();
    Plan::new(permit(&project, policy), machine).unwrap().to_string()
}

#[test]
fn the_process_tier_on_a_machine_with_the_signal_scope_is_golden() {
    golden::hold("plan-process-scoped.txt", &shown(unboxed(), SCOPED));
}

#[test]
fn the_process_tier_on_a_machine_without_it_is_golden() {
    golden::hold("plan-process-plain.txt", &shown(unboxed(), PLAIN));
}

#[test]
fn root_gives_up_what_reads_past_the_signal_scope_and_nothing_else_changes() {
    let shown_as_root = |machine| shown(unboxed(), Machine { is_root: true, ..machine });
    assert_eq!(shown_as_root(PLAIN), shown(unboxed(), PLAIN));
    let scope = message!("text.keep-signals-tracing-within");
    let dropped = message!("text.drop-cap-sys-admin");
    let expected = shown(unboxed(), SCOPED).replace(scope, &format!("{scope}{dropped}"));
    assert_eq!(shown_as_root(SCOPED), expected);
}

#[test]
fn a_kernel_that_ignores_the_memory_limit_is_said_to() {
    let project = Project::new();
    let call = ToolCall::exec(["ls"]);
    let confinement = project.examiner(Policy::shipped()).examine(&call).confinement;
    let machine = Machine { bounds_address_space: false, ..PLAIN };
    let description = of_tier(Tier::Process, &confinement, machine).unwrap();
    let tree = description.enforcement.iter().find(|one| one.guarantee == Guarantee::TreeLimits);
    assert_eq!(tree.unwrap().by, ["shim-count"]);
    assert!(
        tree.unwrap()
            .note
            .as_deref()
            .is_some_and(|note| note.contains(message!("process.memory-not-bounded-kernel")))
    );
}

#[test]
fn limits_of_the_policy_are_in_the_plan() {
    let text = "limits.cpu = '1500ms'\nlimits.memory = 'none'\nlimits.wall = '2s'\n";
    let policy = Policy::from_text(Path::new("test"), text).unwrap();
    let plan = shown(Policy { environment: Vec::new(), ..policy }, SCOPED);
    assert!(plan.contains("set RLIMIT_CPU to 2 seconds\n"), "{plan}");
    assert!(!plan.contains("RLIMIT_AS"), "{plan}");
    assert!(plan.contains("after 2s\n"), "{plan}");
}

#[test]
fn what_root_can_read_is_said_and_not_hidden() {
    let policy = Policy::shipped();
    let project = Project::new();
    let confinement = project.examiner(policy).examine(&ToolCall::exec(["ls"])).confinement;
    let kept = |machine: Machine, guarantee: Guarantee| {
        let description = of_tier(Tier::Process, &confinement, machine).unwrap();
        description.enforcement.into_iter().find(|one| one.guarantee == guarantee).unwrap()
    };
    let environment = Guarantee::Environment;
    assert_eq!(kept(SCOPED, environment).kept, Kept::Full);
    let hidden = Machine { supervisor_hidden: true, ..PLAIN };
    assert_eq!(kept(hidden, environment).by, ["built-environment", "non-dumpable-supervisor"]);
    let root = Machine { is_root: true, ..hidden };
    assert_eq!(kept(root, environment).by, ["built-environment"]);
    for machine in [SCOPED, PLAIN, hidden, root] {
        let description = of_tier(Tier::Process, &confinement, machine).unwrap();
        let told: Vec<_> = description.enforcement.iter().map(|one| one.guarantee).collect();
        assert_eq!(told, Guarantee::ALL);
        let silent =
            |one: &&stockade::guarantee::Enforced| one.kept != Kept::Full && one.note.is_none();
        assert_eq!(description.enforcement.iter().find(silent), None);
    }
}

#[test]
fn a_required_guarantee_that_nothing_keeps_fails_before_the_run() {
    for guarantee in [
        Guarantee::Writes,
        Guarantee::Reads,
        Guarantee::Protected,
        Guarantee::Network,
        Guarantee::Kernel,
    ] {
        let project = Project::new();
        let mut policy = unboxed();
        policy.require.insert(guarantee, Kept::Full);
        let failure = Plan::new(permit(&project, policy.clone()), SCOPED).unwrap_err();
        assert_eq!(failure.guarantee(), Some(guarantee));
        assert!(failure.message().contains(guarantee.name()), "{failure:?}");
        assert!(failure.remedy().is_some_and(|remedy| remedy.contains("box.require")));
        let report = project.stockade(policy).run(ToolCall::exec(["touch", "made"]));
        assert!(matches!(report.body, Body::Failed(_)), "{report:?}");
        assert_eq!((report.exit_code(), report.denied()), (None, false));
        assert!(!project.root().join("made").exists());
    }
}

#[test]
fn a_guarantee_that_is_kept_in_part_fails_unless_a_part_will_do() {
    let mut policy = unboxed();
    policy.require.insert(Guarantee::Privileges, Kept::Partial);
    assert_eq!(shown(policy.clone(), SCOPED), shown(unboxed(), SCOPED));
    policy.require.insert(Guarantee::Privileges, Kept::Full);
    let project = Project::new();
    let failure = Plan::new(permit(&project, policy), SCOPED).unwrap_err();
    assert!(failure.message().contains(message!("plan.keeps-only-part")), "{failure:?}");
}

#[test]
fn a_tier_that_is_not_there_fails_cleanly() {
    for tier in [Tier::Inline, Tier::Microvm, Tier::Cluster] {
        let project = Project::new();
        let policy = Policy { tier, ..Policy::shipped() };
        let failure = Plan::new(permit(&project, policy.clone()), SCOPED).unwrap_err();
        assert!(failure.message().contains(tier.name()), "{failure:?}");
        assert!(failure.remedy().is_some());
        let report = project.stockade(policy).run(ToolCall::exec(["touch", "made"]));
        assert!(matches!(report.body, Body::Failed(_)), "{report:?}");
        assert!(!project.root().join("made").exists());
    }
}

#[test]
fn the_jail_is_planned_in_the_order_in_which_it_is_made() {
    let policy = shipped();
    let plan = shown(policy.clone(), SCOPED);
    let mut rest = plan.as_str();
    for step in [
        "tier jail",
        message!("text.record-state-writable-directories"),
        message!("text.start-shim-ends-tree"),
        "create namespaces: user mount pid ipc uts cgroup",
        message!("text.create-network-namespace-loopback"),
        message!("text.set-host-name"),
        message!("text.forbid-user-namespaces-inside"),
        message!("text.create-empty-root"),
        "/usr",
        "writable\n",
        message!("text.pin-parents-follows-their"),
        "protect ",
        message!("text.make-root-read-only"),
        message!("text.limit-whole-tree-cgroup"),
        message!("text.drop-every-capability"),
        message!("text.forbid-new-privileges-no"),
        "(Landlock)",
        "(seccomp)",
        message!("text.compare-sandbox-plan-outside"),
        message!("failure.build-environment"),
        "set RLIMIT_FSIZE",
        "set RLIMIT_AS",
        message!("text.close-every-descriptor-but"),
        message!("text.execute-program-handle"),
        message!("text.kill-whole-tree"),
    ] {
        let (_, after) = rest.split_once(step).unwrap_or_else(|| panic!("{step} in {plan}"));
        rest = after;
    }
    assert!(!plan.contains("(broker)"), "{plan}");
    let mut strict = policy.clone();
    strict.require.insert(Guarantee::Protected, Kept::Full);
    assert!(shown(strict, SCOPED).contains("(broker)"));
    let open = Policy { network: stockade::confine::Network::Host, ..policy };
    assert!(!shown(open, SCOPED).contains("network namespace"));
}

#[test]
fn open_ports_are_planned_with_a_loopback_only() {
    use stockade::confine::{Network, Ports};
    let [publish, host] = [3000, 5432].map(|port| vec![std::num::NonZeroU16::new(port).unwrap()]);
    let policy = Policy { ports: Ports { publish, host }, ..shipped() };
    let plan = shown(policy.clone(), SCOPED);
    let (_, after) = plan.split_once(message!("text.create-network-namespace-loopback")).unwrap();
    let steps: Vec<&str> = after.lines().skip(1).take(2).collect();
    assert!(steps[0].ends_with(message!("text.open-port-sandbox-machine", "3000")), "{plan}");
    assert!(steps[1].ends_with(message!("text.open-port-machine-sandbox", "5432")), "{plan}");
    assert!(plan.contains(message!("plan.where-user-namespaces-refused")), "{plan}");
    let open = Policy { network: Network::Host, ..policy };
    assert!(!shown(open, SCOPED).contains("open port"));
    assert!(!shown(shipped(), SCOPED).contains("open port"));
}

#[test]
fn the_jail_says_what_it_does_not_keep() {
    let project = Project::new();
    let call = ToolCall::exec(["ls"]);
    let confinement = project.examiner(Policy::shipped()).examine(&call).confinement;
    let description = of_tier(Tier::Jail, &confinement, SCOPED).unwrap();
    let told: Vec<_> = description.enforcement.iter().map(|one| one.guarantee).collect();
    assert_eq!(told, Guarantee::ALL);
    for one in &description.enforcement {
        assert!(one.kept == Kept::Full || one.note.is_some(), "{one:?}");
    }
    let kept = |guarantee| description.enforcement.iter().find(|one| one.guarantee == guarantee);
    assert_eq!(kept(Guarantee::Kernel).unwrap().kept, Kept::None);
    assert_eq!(kept(Guarantee::Protected).unwrap().kept, Kept::Detected);
    let mut strict = confinement;
    strict.require.insert(Guarantee::Protected, Kept::Full);
    let description = of_tier(Tier::Jail, &strict, SCOPED).unwrap();
    let line = description.enforcement.iter().find(|one| one.guarantee == Guarantee::Protected);
    let line = line.unwrap();
    assert_eq!((line.kept, line.by[..2].to_vec()), (Kept::Full, vec!["mount-namespace", "broker"]));
}

/// What can be kept without namespaces, which `policies/no-namespaces.toml` requires.
fn lowered() -> Policy {
    let text = std::fs::read_to_string(workspace().join("policies/no-namespaces.toml")).unwrap();
    let policy = Policy::from_text(Path::new("no-namespaces.toml"), &text).unwrap();
    Policy { environment: Vec::new(), ..policy }
}

#[test]
fn the_jail_is_planned_in_both_forms_where_both_keep_what_is_required() {
    let plan = shown(lowered(), SCOPED);
    let (_, mut rest) =
        plan.split_once(message!("{}\n" => "plan.user-namespaces-refused")).unwrap();
    assert!(!rest.contains("namespaces:") && !rest.contains("empty root"), "{rest}");
    for step in [
        message!("text.see-does-not-write"),
        message!("text.create-private-scratch-directory"),
        message!("text.start-shim-ends-tree"),
        message!("text.keep-signals-tracing-within"),
        message!("text.limit-whole-tree-cgroup"),
        "set RLIMIT_AS",
        message!("text.close-every-descriptor-but"),
        message!("text.drop-every-capability"),
        message!("text.forbid-new-privileges-no"),
        message!("text.allow-write-scratch-directory"),
        message!("text.allow-read", "/usr"),
        message!("text.allow-write", "\""),
        "(Landlock)",
        message!("{} (seccomp)" => "text.sockets-connected-pairs-only"),
        message!("text.compare-sandbox-plan-outside"),
        message!("text.execute-program-handle"),
        message!("text.kill-left-remove-scratch"),
    ] {
        let (_, after) = rest.split_once(step).unwrap_or_else(|| panic!("{step} in {plan}"));
        rest = after;
    }
}

#[test]
fn a_form_that_would_keep_less_than_required_is_not_planned() {
    let plan = shown(shipped(), SCOPED);
    let (_, rest) = plan.split_once(message!("plan.where-user-namespaces-refused")).unwrap();
    assert!(rest.trim_start().starts_with("writes is required"), "{rest}");
    let without_landlock = Machine { landlock_abi: None, signal_scope: false, ..SCOPED };
    let plan = shown(lowered(), without_landlock);
    assert!(plan.contains(message!("plan.nothing-runs-no-landlock")), "{plan}");
    // Before Linux 6.2 any file can be cut short, whatever Landlock says.
    let old = Machine { landlock_abi: Some(2), signal_scope: false, ..SCOPED };
    let plan = shown(lowered(), old);
    assert!(plan.contains("nothing runs: writes is required"), "{plan}");
    let root = Machine { is_root: true, ..SCOPED };
    assert!(shown(lowered(), root).contains("nothing runs: privileges is required"));
}

#[test]
fn the_form_without_namespaces_says_what_it_does_not_keep() {
    let project = Project::new();
    let confinement = project.examiner(lowered()).examine(&ToolCall::exec(["ls"])).confinement;
    for machine in [SCOPED, PLAIN, Machine { is_root: true, ..SCOPED }] {
        let description = without_namespaces(Tier::Jail, &confinement, machine).unwrap();
        let told: Vec<_> = description.enforcement.iter().map(|one| one.guarantee).collect();
        assert_eq!(told, Guarantee::ALL);
        for one in &description.enforcement {
            assert!(one.kept == Kept::Full || one.note.is_some(), "{one:?}");
        }
    }
    assert_eq!(without_namespaces(Tier::Process, &confinement, SCOPED), None);
}

#[test]
fn a_plan_of_a_container_is_golden_and_names_every_step() {
    let mut policy = Policy { tier: Tier::Container, ..shipped() };
    policy.files.protect.clear();
    // Each of them that hides something is a step.
    policy.rules = stockade::policy::Rules::default();
    policy.oci.image = Some("localhost/tools".parse().unwrap());
    policy.oci.runtime = Some("runsc".to_owned());
    let project = Project::new();
    let plan = Plan::new(permit(&project, policy), SCOPED).unwrap().to_string();
    let root = project.root().display().to_string();
    golden::hold("plan-container.txt", &plan.replace(&root, "ROOT"));
}

#[test]
fn a_kernel_of_its_own_can_be_required() {
    let kernel = |tier, runtime: Option<&str>| {
        let mut policy = Policy { tier, ..shipped() };
        policy.oci.runtime = runtime.map(str::to_owned);
        policy.require.insert(Guarantee::Kernel, Kept::Full);
        Plan::new(permit(&Project::new(), policy), SCOPED).is_ok()
    };
    assert!(kernel(Tier::Gvisor, None) && kernel(Tier::Container, Some("runsc")));
    assert!(!kernel(Tier::Container, None) && !kernel(Tier::Jail, None));
}
