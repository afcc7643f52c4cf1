//! What will be done is data: printed, compared, and refused before anything runs.

use std::path::Path;

use stockade::call::ToolCall;
use stockade::gate::{Gate, Permit, Verdict};
use stockade::guarantee::{Guarantee, Kept};
use stockade::journal::{Durability, Journal};
use stockade::plan::Plan;
use stockade::policy::Policy;
use stockade::report::Body;
use stockade::tier::{Machine, Tier};

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

const ON_A_SCOPED_MACHINE: &str = "\
tier process
   1. make a private scratch folder for HOME and TMPDIR
   2. build the environment: PATH HOME TMPDIR
   3. start the keeper, which ends the tree even if we die
   4. limit address space to 2147483648
   5. limit file size to 1073741824
   6. limit open files to 1024
   7. limit core to 1
   8. limit the user's processes to those there are now and 512 more
   9. end the tree above 512 processes
  10. forbid new privileges
  11. keep signals and tracing within the tree (Landlock)
  12. close every descriptor but the standard three
  13. run the program by its handle
  14. kill the whole tree after 120s
  15. keep at most 65536 bytes of each output stream
  16. kill what is left and remove the scratch folder
";

const ON_A_PLAIN_MACHINE: &str = "\
tier process
   1. make a private scratch folder for HOME and TMPDIR
   2. build the environment: PATH HOME TMPDIR
   3. start the keeper, which ends the tree even if we die
   4. limit address space to 2147483648
   5. limit file size to 1073741824
   6. limit open files to 1024
   7. limit core to 1
   8. limit the user's processes to those there are now and 512 more
   9. end the tree above 512 processes
  10. forbid new privileges
  11. close every descriptor but the standard three
  12. run the program by its handle
  13. kill the whole tree after 120s
  14. keep at most 65536 bytes of each output stream
  15. kill what is left and remove the scratch folder
";

#[test]
fn the_process_tier_on_a_machine_with_the_signal_scope() {
    assert_eq!(shown(unboxed(), SCOPED), ON_A_SCOPED_MACHINE);
}

#[test]
fn the_process_tier_on_a_machine_without_it() {
    assert_eq!(shown(unboxed(), PLAIN), ON_A_PLAIN_MACHINE);
}

#[test]
fn root_gives_up_what_reads_past_the_signal_scope_and_nothing_else_changes() {
    let shown_as_root = |machine| shown(unboxed(), Machine { is_root: true, ..machine });
    assert_eq!(shown_as_root(PLAIN), ON_A_PLAIN_MACHINE);
    let steps = |plan: &str| {
        let step = |line: &str| line.split_once(". ").map(|(_, step)| step.to_owned());
        plan.lines().filter_map(step).collect::<Vec<_>>()
    };
    let mut expected = steps(ON_A_SCOPED_MACHINE);
    expected.insert(11, "drop CAP_SYS_ADMIN and CAP_PERFMON, which read past that".to_owned());
    assert_eq!(steps(&shown_as_root(SCOPED)), expected);
}

#[test]
fn a_kernel_that_ignores_the_memory_limit_is_said_to() {
    let project = Project::new();
    let call = ToolCall::exec(["ls"]);
    let confinement = project.examiner(Policy::shipped()).examine(&call).confinement;
    let machine = Machine { bounds_address_space: false, ..PLAIN };
    let description = Tier::Process.describe(&confinement, machine).unwrap();
    let tree = description.enforcement.iter().find(|one| one.guarantee == Guarantee::TreeLimits);
    assert_eq!(tree.unwrap().by, ["keeper-count"]);
    assert!(
        tree.unwrap().note.as_deref().is_some_and(|note| note.contains("memory is not bounded"))
    );
}

#[test]
fn limits_of_the_policy_are_in_the_plan() {
    let text = "limits.cpu = '1500ms'\nlimits.memory = 'none'\nlimits.wall = '2s'\n";
    let policy = Policy::from_text(Path::new("test"), text).unwrap();
    let plan = shown(Policy { environment: Vec::new(), ..policy }, SCOPED);
    assert!(plan.contains("limit cpu seconds to 2\n"), "{plan}");
    assert!(!plan.contains("address space"), "{plan}");
    assert!(plan.contains("after 2s\n"), "{plan}");
}

#[test]
fn what_root_can_read_is_said_and_not_hidden() {
    let policy = Policy::shipped();
    let project = Project::new();
    let confinement = project.examiner(policy).examine(&ToolCall::exec(["ls"])).confinement;
    let kept = |machine: Machine, guarantee: Guarantee| {
        let description = Tier::Process.describe(&confinement, machine).unwrap();
        description.enforcement.into_iter().find(|one| one.guarantee == guarantee).unwrap()
    };
    let environment = Guarantee::Environment;
    assert_eq!(kept(SCOPED, environment).kept, Kept::Full);
    let hidden = Machine { supervisor_hidden: true, ..PLAIN };
    assert_eq!(kept(hidden, environment).by, ["built-environment", "non-dumpable-supervisor"]);
    let root = Machine { is_root: true, ..hidden };
    assert_eq!(kept(root, environment).by, ["built-environment"]);
    for machine in [SCOPED, PLAIN, hidden, root] {
        let description = Tier::Process.describe(&confinement, machine).unwrap();
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
        assert_eq!(failure.guarantee.as_deref(), Some(guarantee.name()));
        assert!(failure.message.contains(guarantee.name()), "{failure:?}");
        assert!(failure.remedy.is_some_and(|remedy| remedy.contains("box.require")));
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
    assert_eq!(shown(policy.clone(), SCOPED), ON_A_SCOPED_MACHINE);
    policy.require.insert(Guarantee::Privileges, Kept::Full);
    let project = Project::new();
    let failure = Plan::new(permit(&project, policy), SCOPED).unwrap_err();
    assert!(failure.message.contains("only in part"), "{failure:?}");
}

#[test]
fn a_tier_that_is_not_there_fails_cleanly() {
    for tier in [Tier::Inline, Tier::Microvm, Tier::Cluster] {
        let project = Project::new();
        let policy = Policy { tier, ..Policy::shipped() };
        let failure = Plan::new(permit(&project, policy.clone()), SCOPED).unwrap_err();
        assert!(failure.message.contains(tier.name()), "{failure:?}");
        assert!(failure.remedy.is_some());
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
        "start the keeper",
        "make namespaces",
        "a network namespace with nothing in it",
        "make a root",
        "to be written",
        "protect ",
        "by cgroups",
        "limit address space",
        "drop every capability",
        "forbid new privileges",
        "(Landlock)",
        "(seccomp)",
        "close every descriptor",
        "run the program by its handle",
        "kill the whole tree after",
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
fn the_jail_says_what_it_does_not_keep() {
    let project = Project::new();
    let call = ToolCall::exec(["ls"]);
    let confinement = project.examiner(Policy::shipped()).examine(&call).confinement;
    let description = Tier::Jail.describe(&confinement, SCOPED).unwrap();
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
    let description = Tier::Jail.describe(&strict, SCOPED).unwrap();
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
    let (_, mut rest) = plan.split_once("where user namespaces are refused\n").unwrap();
    assert!(!rest.contains("namespaces:") && !rest.contains("make a root"), "{rest}");
    for step in [
        "make a private scratch folder",
        "start the keeper",
        "by cgroups",
        "limit address space",
        "drop every capability",
        "forbid new privileges",
        "keep signals and tracing within the tree",
        "let it read the system's folders",
        "let it write",
        "let it read",
        "(Landlock)",
        "refuse sockets",
        "(seccomp)",
        "run the program by its handle",
        "remove the scratch folder",
    ] {
        let (_, after) = rest.split_once(step).unwrap_or_else(|| panic!("{step} in {plan}"));
        rest = after;
    }
}

#[test]
fn a_form_that_would_keep_less_than_required_is_not_planned() {
    let plan = shown(shipped(), SCOPED);
    let (_, rest) = plan.split_once("where user namespaces are refused nothing runs: ").unwrap();
    assert!(rest.starts_with("writes is required"), "{rest}");
    let without_landlock = Machine { landlock_abi: None, signal_scope: false, ..SCOPED };
    let plan = shown(lowered(), without_landlock);
    assert!(plan.contains("nothing runs: this kernel has no Landlock"), "{plan}");
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
        let description = Tier::Jail.describe_locks(&confinement, machine).unwrap();
        let told: Vec<_> = description.enforcement.iter().map(|one| one.guarantee).collect();
        assert_eq!(told, Guarantee::ALL);
        for one in &description.enforcement {
            assert!(one.kept == Kept::Full || one.note.is_some(), "{one:?}");
        }
    }
    assert_eq!(Tier::Process.describe_locks(&confinement, SCOPED), None);
}

const IN_A_CONTAINER: &str = "\
tier container
   1. build the environment: PATH HOME TMPDIR
   2. make a container of the image localhost/tools by runsc, named by the call
   3. make its root read-only, with /tmp in memory
   4. make a network namespace with nothing in it
   5. show \"ROOT\", to be written
   6. limit the whole tree by cgroups, where there are any
   7. limit file size to 1073741824
   8. limit open files to 1024
   9. limit core to 1
  10. end the tree above 512 processes
  11. end the tree once it has added 4294967296 bytes or 200000 files to the disk
  12. run it as a user that is not root
  13. drop every capability
  14. forbid new privileges
  15. filter system calls (seccomp)
  16. ask the engine what the container has of this, before it starts
  17. start the keeper, which ends the tree even if we die
  18. start the container
  19. kill the whole tree after 120s
  20. keep at most 65536 bytes of each output stream
  21. kill and remove the container
  22. kill what is left and remove the scratch folder
";

#[test]
fn a_plan_of_a_container_names_every_step() {
    let mut policy = Policy { tier: Tier::Container, ..shipped() };
    policy.files.protect.clear();
    // Each of them that hides something is a step.
    policy.rules = stockade::policy::Rules::default();
    policy.oci.image = Some("localhost/tools".parse().unwrap());
    policy.oci.runtime = Some("runsc".to_owned());
    let project = Project::new();
    let plan = Plan::new(permit(&project, policy), SCOPED).unwrap().to_string();
    let root = project.root().display().to_string();
    assert_eq!(plan.replace(&root, "ROOT"), IN_A_CONTAINER);
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
