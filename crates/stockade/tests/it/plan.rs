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
   1. record the state of the writable directories, to report changes (bounded)
   2. create a private scratch directory for HOME and TMPDIR
   3. build the environment: PATH STOCKADE HOME TMPDIR
   4. start the shim, which ends the tree even if Stockade dies
   5. set RLIMIT_FSIZE to 1073741824
   6. set RLIMIT_CORE to 1
   7. set RLIMIT_NPROC to 512 more than the user's tasks now
   8. set RLIMIT_NOFILE to 1024
   9. set RLIMIT_AS to 2147483648
  10. forbid new privileges (no_new_privs)
  11. keep signals and tracing within the tree (Landlock)
  12. close every descriptor but the standard three
  13. execute the program by its handle
  14. end the tree above 512 processes
  15. sample the tree and end it above 2147483648 bytes of memory, where no cgroup limits it
  16. kill the whole tree after 120s
  17. keep at most 65536 bytes of each output stream, and end the tree above 1073741824
  18. kill what is left and remove the scratch directory
";

const ON_A_PLAIN_MACHINE: &str = "\
tier process
   1. record the state of the writable directories, to report changes (bounded)
   2. create a private scratch directory for HOME and TMPDIR
   3. build the environment: PATH STOCKADE HOME TMPDIR
   4. start the shim, which ends the tree even if Stockade dies
   5. set RLIMIT_FSIZE to 1073741824
   6. set RLIMIT_CORE to 1
   7. set RLIMIT_NPROC to 512 more than the user's tasks now
   8. set RLIMIT_NOFILE to 1024
   9. set RLIMIT_AS to 2147483648
  10. forbid new privileges (no_new_privs)
  11. close every descriptor but the standard three
  12. execute the program by its handle
  13. end the tree above 512 processes
  14. sample the tree and end it above 2147483648 bytes of memory, where no cgroup limits it
  15. kill the whole tree after 120s
  16. keep at most 65536 bytes of each output stream, and end the tree above 1073741824
  17. kill what is left and remove the scratch directory
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
    let scope = "keep signals and tracing within the tree (Landlock)";
    let dropped = ", and drop CAP_SYS_ADMIN and CAP_PERFMON, which read past that";
    let expected = ON_A_SCOPED_MACHINE.replace(scope, &format!("{scope}{dropped}"));
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
        tree.unwrap().note.as_deref().is_some_and(|note| note.contains("memory is not bounded"))
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
    assert_eq!(shown(policy.clone(), SCOPED), ON_A_SCOPED_MACHINE);
    policy.require.insert(Guarantee::Privileges, Kept::Full);
    let project = Project::new();
    let failure = Plan::new(permit(&project, policy), SCOPED).unwrap_err();
    assert!(failure.message().contains("only in part"), "{failure:?}");
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
        "record the state",
        "start the shim",
        "create namespaces: user mount pid ipc uts cgroup",
        "a network namespace with a loopback of its own",
        "set the host name",
        "forbid user namespaces",
        "create an empty root",
        "/usr",
        "writable\n",
        "pin the parents",
        "protect ",
        "make the root read-only, enter it and lock its mounts",
        "by a cgroup",
        "drop every capability",
        "forbid new privileges",
        "(Landlock)",
        "(seccomp)",
        "compare the sandbox with this plan",
        "build the environment",
        "set RLIMIT_FSIZE",
        "set RLIMIT_AS",
        "close every descriptor",
        "execute the program by its handle",
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
fn open_ports_are_planned_with_a_loopback_only() {
    use stockade::confine::{Network, Ports};
    let [publish, host] = [3000, 5432].map(|port| vec![std::num::NonZeroU16::new(port).unwrap()]);
    let policy = Policy { ports: Ports { publish, host }, ..shipped() };
    let plan = shown(policy.clone(), SCOPED);
    let (_, after) = plan.split_once("with a loopback of its own").unwrap();
    let steps: Vec<&str> = after.lines().skip(1).take(2).collect();
    assert!(steps[0].ends_with("open port 3000 of the sandbox to this machine"), "{plan}");
    assert!(steps[1].ends_with("open port 5432 of this machine to the sandbox"), "{plan}");
    assert!(plan.contains("where user namespaces are refused nothing runs"), "{plan}");
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
    let (_, mut rest) = plan.split_once("where user namespaces are refused\n").unwrap();
    assert!(!rest.contains("namespaces:") && !rest.contains("empty root"), "{rest}");
    for step in [
        "see that it does not write or create",
        "create a private scratch directory",
        "start the shim",
        "keep signals and tracing within the tree",
        "by a cgroup",
        "set RLIMIT_AS",
        "close every descriptor",
        "drop every capability",
        "forbid new privileges",
        "allow it to write the scratch directory",
        "allow it to read what there is of /usr",
        "allow it to write \"",
        "(Landlock)",
        "of sockets, connected pairs only (seccomp)",
        "compare the sandbox with this plan",
        "execute the program by its handle",
        "remove the scratch directory",
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
        let description = without_namespaces(Tier::Jail, &confinement, machine).unwrap();
        let told: Vec<_> = description.enforcement.iter().map(|one| one.guarantee).collect();
        assert_eq!(told, Guarantee::ALL);
        for one in &description.enforcement {
            assert!(one.kept == Kept::Full || one.note.is_some(), "{one:?}");
        }
    }
    assert_eq!(without_namespaces(Tier::Process, &confinement, SCOPED), None);
}

const IN_A_CONTAINER: &str = "\
tier container
   1. record the state of the writable directories, to report changes (bounded)
   2. create a private scratch directory for the launch itself
   3. build the environment: PATH STOCKADE HOME TMPDIR
   4. create a container of the image localhost/tools, named by the call, with the runtime runsc (pull: never)
   5. make its root read-only
   6. mount a private /tmp in memory, of 1073741824 bytes
   7. create a network namespace with a loopback of its own
   8. set the host name to box
   9. mount \"ROOT\" writable
  10. pin the parents of what follows in their places
  11. limit the whole tree by a cgroup, where there are any: 2147483648 bytes of memory, 1088 tasks
  12. set RLIMIT_FSIZE to 1073741824
  13. set RLIMIT_CORE to 1
  14. set RLIMIT_NPROC to 32768
  15. set RLIMIT_NOFILE to 1024
  16. run it as a user that is not root
  17. drop every capability
  18. forbid new privileges (no_new_privs)
  19. filter system calls by the engine's list (seccomp)
  20. compare the sandbox with this plan, from outside
  21. start the shim, which ends the tree even if Stockade dies
  22. start the container
  23. end the tree above 512 processes
  24. end the tree once it has added 4294967296 bytes or 200000 files to the disk
  25. kill the whole tree after 120s
  26. keep at most 65536 bytes of each output stream, and end the tree above 1073741824
  27. kill and remove the container
  28. kill what is left and remove the scratch directory
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
