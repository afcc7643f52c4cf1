//! The gate on roots, programs and search paths that are not the usual ones.

use std::fs;
use std::path::Path;

use stockade::call::ToolCall;
use stockade::gate::{Examiner, Gate, Verdict};
use stockade::inspect::{Axis, Root};
use stockade::journal::{Durability, Journal};
use stockade::launch;
use stockade::outcome::{Exit, FailureKind};
use stockade::plan::Plan;
use stockade::policy::{Decision, Policy, Variable};
use stockade::tier::Tier;

use crate::project::{Project, unboxed};

fn rule(examiner: &Examiner, argv: &[&str]) -> Option<String> {
    examiner.examine(&ToolCall::exec(argv)).ruling.rule
}

#[test]
fn a_root_given_as_a_link_is_the_folder_behind_it() {
    let project = Project::new();
    let root = Root::open(&project.beside("link-to-work")).unwrap();
    let examiner = Examiner::new(root, Policy::shipped());
    for path in ["f.txt", "$ROOT/f.txt", "$BESIDE/link-to-work/f.txt", "../work/f.txt"] {
        assert_eq!(rule(&examiner, &["cat", &project.filled(path)]), None, "{path}");
    }
    for path in ["../outside/secret.txt", "$BESIDE/work-evil/secret.txt"] {
        let outside = Some("path/outside".to_owned());
        assert_eq!(rule(&examiner, &["cat", &project.filled(path)]), outside, "{path}");
    }
}

#[test]
fn a_root_link_that_is_turned_later_changes_nothing() {
    let project = Project::new();
    let link = project.beside("link-to-work");
    let examiner = Examiner::new(Root::open(&link).unwrap(), Policy::shipped());
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(project.beside("outside"), &link).unwrap();
    assert_eq!(rule(&examiner, &["cat", "f.txt"]), None);
    let through = project.filled("$BESIDE/link-to-work/secret.txt");
    assert_eq!(rule(&examiner, &["cat", &through]), Some("path/outside".to_owned()));
}

#[test]
fn a_root_of_slash_holds_everything_but_denied_programs() {
    let examiner = Examiner::new(Root::open(Path::new("/")).unwrap(), Policy::shipped());
    assert_eq!(rule(&examiner, &["cat", "/etc/passwd"]), None);
    assert_eq!(rule(&examiner, &["cat", "../../etc/passwd"]), None);
    assert_eq!(rule(&examiner, &["ls", ".."]), None);
    assert_eq!(rule(&examiner, &["rm", "/etc/passwd"]), Some("name/denylist".to_owned()));
    assert_eq!(rule(&examiner, &["/bin/rm", "x"]), Some("name/denylist".to_owned()));
    assert_eq!(rule(&examiner, &["bash", "-c", "ls"]), Some("argv/inline-code".to_owned()));
    assert_eq!(rule(&examiner, &["grep", "a|b", "/etc/passwd"]), None);
}

#[test]
fn a_root_that_is_no_folder_does_not_open() {
    let project = Project::new();
    for path in ["work/f.txt", "nowhere", "work/loop", "work/fifo"] {
        let error = Root::open(&project.beside(path)).unwrap_err().to_string();
        assert!(error.contains(path), "{error}");
    }
}

#[test]
fn lists_every_finding_in_the_order_of_the_axes() {
    let examination = Project::new().examine(&["env", "bash", "-c", "a;b", "/etc/passwd"]);
    let axes: Vec<Axis> = examination.findings.iter().map(|finding| finding.axis).collect();
    assert!(axes.is_sorted(), "{axes:?}");
    assert_eq!(examination.ruling.rule.as_deref(), Some("argv/inline-code"));
    let rules: Vec<String> =
        examination.findings.iter().map(stockade::inspect::Finding::rule_id).collect();
    assert!(rules.contains(&"structure/metacharacter".to_owned()), "{rules:?}");
    assert!(rules.contains(&"path/outside".to_owned()), "{rules:?}");
}

#[test]
fn the_first_axis_refuses_where_several_would() {
    let project = Project::new();
    for (argv, rule) in [
        (["rm", "a;b", "/etc/passwd"].as_slice(), "name/denylist"),
        (&["env", "rm", "-c", "a;b", "/etc/passwd"], "name/denylist"),
        (&["sort", "-o", "a;b", "/etc/passwd"], "argv/flag"),
        (&["cat", "a;b", "/etc/passwd"], "structure/metacharacter"),
        (&["cat", "/etc/passwd"], "path/outside"),
    ] {
        assert_eq!(project.examine(argv).ruling.rule.as_deref(), Some(rule), "{argv:?}");
    }
}

#[test]
fn looks_for_bare_names_only_in_the_search_path() {
    let project = Project::new();
    // Neither the root nor the call's folder is searched.
    assert_eq!(project.examine(&["build.sh"]).ruling.rule.as_deref(), Some("name/missing"));
    let mut policy = Policy::shipped();
    policy.settings.search_path = vec![project.root()];
    let examiner = project.examiner(policy);
    assert_eq!(rule(&examiner, &["build.sh"]), None);
    assert_eq!(rule(&examiner, &["ls"]), Some("name/missing".to_owned()));
}

#[test]
fn a_path_in_the_environment_is_where_the_gate_looks() {
    let project = Project::new();
    let root = project.root();
    let path = format!("{}:/usr/bin:/bin", root.display());
    let mut policy = Policy::shipped();
    policy.environment.push(Variable::Set("PATH".to_owned(), path.clone()));
    let examiner = project.examiner(policy);
    assert_eq!(examiner.policy().settings.search_path.first(), Some(&root));
    let examination = examiner.examine(&ToolCall::exec(["build.sh"]));
    assert_eq!(examination.ruling.decision, Decision::Allow);
    let environment = examination.confinement.environment;
    let paths: Vec<_> = environment.iter().filter(|(name, _)| name == "PATH").collect();
    assert_eq!(paths, [&("PATH".into(), path.into())]);
}

#[test]
fn a_trusted_folder_of_the_policy_may_hold_programs() {
    let project = Project::new();
    let mut policy = Policy::shipped();
    policy.settings.folders.push(project.beside("outside"));
    let tool = project.filled("$BESIDE/outside/tool");
    let found = rule(&project.examiner(policy), &[&tool]);
    // The folder is trusted, but not while the caller can write there.
    let is_root = rustix::process::geteuid().is_root();
    assert_eq!(found.as_deref(), (!is_root).then_some("name/place"));
}

#[test]
fn a_listed_path_outside_may_be_named() {
    let project = Project::new();
    let mut policy = Policy::shipped();
    policy.settings.outside.push(project.beside("outside"));
    let examiner = project.examiner(policy);
    assert_eq!(rule(&examiner, &["cat", "../outside/secret.txt"]), None);
    let sibling = rule(&examiner, &["cat", "../outside-evil"]);
    assert_eq!(sibling.as_deref(), Some("path/outside"));
    let back = rule(&examiner, &["cat", "../outside/../work-evil/secret.txt"]);
    assert_eq!(back.as_deref(), Some("path/outside"));
}

#[test]
fn what_was_judged_is_what_runs() {
    let project = Project::new();
    let (tool, folder) = (project.root().join("tool"), project.root().join("src"));
    fs::copy("/bin/pwd", &tool).unwrap();
    let permit = |policy, argv: &[&str]| {
        let journal = Journal::open(&project.journal(), Durability::default()).unwrap();
        let gate = Gate::new(project.examiner(policy), journal);
        match gate.judge(&ToolCall::exec(argv.iter().copied()).in_folder("src")) {
            Verdict::Allowed(permit) => *permit,
            other @ (Verdict::Ask(_) | Verdict::Refused(_) | Verdict::Impossible(_)) => {
                panic!("{other:?}")
            }
        }
    };
    let boxed = permit(Policy::shipped(), &["../tool", "-P"]);
    let permit = permit(unboxed(), &["../tool", "-P"]);
    // Between judging and running, another file takes the name of the program, and a link to
    // somewhere else takes the name of the folder.
    fs::copy("/bin/false", project.root().join("other")).unwrap();
    fs::rename(project.root().join("other"), &tool).unwrap();
    fs::rename(&folder, project.root().join("moved")).unwrap();
    std::os::unix::fs::symlink("/etc", &folder).unwrap();
    let outcome = launch::start(Plan::new(permit, launch::probe()).unwrap(), &cold())
        .unwrap()
        .wait()
        .unwrap();
    assert_eq!(outcome.exit, Exit::Code(0), "{outcome:?}");
    let printed = String::from_utf8(outcome.stdout.bytes).unwrap();
    assert!(printed.ends_with("/moved\n"), "{printed}");
    // A box finds both by their paths, and runs nothing where these lead elsewhere.
    let plan = Plan::new(boxed, launch::probe()).unwrap();
    let failure = launch::start(plan, &cold()).unwrap_err();
    assert!(matches!(failure.kind(), FailureKind::Start(_)), "{failure:?}");
}

#[test]
fn a_script_that_was_swapped_does_not_run() {
    let project = Project::new();
    let journal = Journal::open(&project.journal(), Durability::default()).unwrap();
    let gate = Gate::new(project.examiner(Policy::shipped()), journal);
    let Verdict::Allowed(permit) = gate.judge(&ToolCall::exec(["./build.sh"])) else {
        panic!("a script of the project may run");
    };
    let (script, other) = (project.root().join("build.sh"), project.root().join("other.sh"));
    fs::copy(&script, &other).unwrap();
    fs::rename(&other, &script).unwrap();
    let failure = launch::start(Plan::new(*permit, launch::probe()).unwrap(), &cold()).unwrap_err();
    assert!(matches!(failure.kind(), FailureKind::Start(_)), "{failure:?}");
    let report = project.run(&["./build.sh"]);
    assert_eq!(report.outcome().unwrap().stdout.bytes, b"built\n", "{report:?}");
}

#[test]
fn the_interpreter_of_a_script_is_named_to_the_last_byte() {
    let project = Project::new();
    std::os::unix::fs::symlink("/bin/rm", project.beside("work/run\r")).unwrap();
    project.write("work/returns", "#!./run\r\n");
    project.make_executable("work/returns");
    let examiner = project.examiner(Policy::shipped());
    assert_eq!(rule(&examiner, &["./returns", "f.txt"]).as_deref(), Some("name/denylist"));
    project.write("work/returns", "#! \t./build.sh\t \n");
    assert_eq!(rule(&examiner, &["./returns", "f.txt"]), None);
}

#[test]
fn data_programs_take_metacharacters() {
    let project = Project::new();
    let mut policy = Policy::shipped();
    assert_eq!(project.examine(&["echo", "a;b"]).ruling.decision, Decision::Deny);
    policy.settings.data.insert("echo".to_owned());
    assert_eq!(rule(&project.examiner(policy), &["echo", "a;b"]), None);
}

#[test]
fn an_interpreter_of_the_policy_alone_is_held_to_the_common_flags() {
    let project = Project::new();
    let mut policy = Policy::shipped();
    policy.settings.interpreters.insert("stat".to_owned());
    let examiner = project.examiner(policy);
    for flag in ["-c", "-e", "-xe", "-cCODE", "--eval=x", "--exec", "--command"] {
        let found = rule(&examiner, &["stat", flag, "f.txt"]);
        assert_eq!(found.as_deref(), Some("argv/inline-code"), "{flag}");
    }
    assert_eq!(rule(&examiner, &["stat", "f.txt"]), None);
    assert_eq!(rule(&examiner, &["stat", "-t", "f.txt"]), None);
}

#[test]
fn an_interpreter_off_the_list_may_run_its_code() {
    let project = Project::new();
    let mut policy = Policy::shipped();
    policy.settings.interpreters.remove("bash");
    policy.settings.interpreters.remove("sh");
    let examiner = project.examiner(policy);
    assert_eq!(rule(&examiner, &["bash", "-c", "ls"]), None);
    let other = rule(&examiner, &["python3", "-c", "1"]);
    assert_eq!(other.as_deref(), Some("argv/inline-code"));
}

fn cold() -> launch::WarmState {
    launch::WarmState::cold()
}

/// `git status` runs what the configuration of the project names: outside of a box that is asked.
#[test]
fn git_status_changes_nothing_where_its_configuration_runs_nothing() {
    let project = Project::new();
    let git = project.root().join(".git");
    fs::create_dir_all(&git).unwrap();
    let changes_nothing = |config: &str, tier: Tier| {
        fs::write(git.join("config"), config).unwrap();
        let mut policy = Policy::shipped();
        policy.tier = tier;
        project.examiner(policy).examine(&ToolCall::line("git status --short")).changes_nothing
    };
    let plain = "[core]\n\tbare = false\n";
    let running = "[core]\n\tfsmonitor = ./monitor\n";
    assert!(changes_nothing(plain, Tier::Process));
    assert!(!changes_nothing(running, Tier::Process));
    assert!(changes_nothing(running, Tier::Jail));
}
