//! Machines that give less than this one: every lack ends in a box that says the truth about itself,
//! or in a failure that names a guarantee and a remedy. Never in a weaker box.

use std::io::{ErrorKind, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use stockade_sandbox::{Errno, Lack, lack};

use crate::support::{Project, Told, skip};

const LACKS: &str = "STOCKADE_TEST_LACKS";
const COMMAND: &str = "STOCKADE_TEST_COMMAND";

/// A test that does nothing, unless it is asked to become `stockade` on a poorer machine.
#[test]
fn becomes_stockade_on_a_poorer_machine_when_asked() {
    let Ok(command) = std::env::var(COMMAND) else { return };
    let lacks = std::env::var(LACKS).unwrap();
    let (errno, names) = lacks.split_once(':').unwrap();
    let errno = match errno {
        "EPERM" => Errno::PERM,
        "ENOSYS" => Errno::NOSYS,
        other => panic!("there is no {other} here"),
    };
    let taken = |name| match name {
        "namespaces" => Lack::Namespaces,
        "mounts" => Lack::Mounts,
        "landlock" => Lack::Landlock,
        "filters" => Lack::Filters,
        other => panic!("there is no lack of {other}"),
    };
    let what: Vec<Lack> = names.split(',').filter(|name| !name.is_empty()).map(taken).collect();
    // What the harness has said is on a line of its own, then.
    writeln!(std::io::stdout()).unwrap();
    lack(&what, errno).unwrap();
    let words: Vec<String> = serde_json::from_str(&command).unwrap();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env_remove(COMMAND).env_remove(LACKS);
    // Another thread of the tests may have forked while the copy was still open.
    for _ in 0..200 {
        let error = command.exec();
        assert_eq!(error.kind(), ErrorKind::ExecutableFileBusy, "{error}");
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the copy stays busy");
}

/// Who calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    Oneself,
    Nobody,
}

impl Caller {
    /// One that is not root.
    pub(crate) fn ordinary() -> Self {
        if is_root() { Self::Nobody } else { Self::Oneself }
    }

    /// Whether it is root who calls.
    pub(crate) fn is_root(self) -> bool {
        self == Self::Oneself && is_root()
    }

    /// What a command of theirs begins with.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Oneself => &[],
            Self::Nobody => &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"],
        }
    }

    /// All that this test can be: root can also be nobody.
    pub(crate) fn all() -> Vec<Self> {
        if is_root() { vec![Self::Oneself, Self::Nobody] } else { vec![Self::Oneself] }
    }
}

fn is_root() -> bool {
    std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0
}

/// A project with a secret beside it, and a copy of `stockade`, all the caller's.
pub(crate) struct Poorer {
    pub(crate) project: Project,
    caller: Caller,
    /// Words before `stockade` that change what it finds.
    wrapped: &'static [&'static str],
}

impl Poorer {
    pub(crate) fn new(caller: Caller) -> Self {
        let project = match caller {
            Caller::Nobody => Project::of_user(65534),
            Caller::Oneself => Project::new(),
        };
        let binary = project.beside("stockade");
        crate::support::copy_program(env!("CARGO_BIN_EXE_stockade"), &binary);
        std::fs::write(project.beside("secret"), "hunter2\n").unwrap();
        project
            .script("attack.sh", "cat ../secret; echo x > ../made; echo mine > mine; cat mine\n");
        if caller == Caller::Nobody {
            let owner = "65534:65534";
            let folder = project.beside("");
            let status = Command::new("chown").args(["-R", owner]).arg(folder).status().unwrap();
            assert!(status.success());
        }
        Self { project, caller, wrapped: &[] }
    }

    /// `stockade` on a machine that lacks these, and so answers with this error.
    pub(crate) fn command(&self, errno: &str, lacks: &str, args: &[&str]) -> Command {
        let binary = self.project.beside("stockade").display().to_string();
        let mut words = self.wrapped.to_vec();
        words.extend(self.caller.words());
        words.push(&binary);
        words.extend(args);
        let role = "poorer::becomes_stockade_on_a_poorer_machine_when_asked";
        let usual = self.project.command(&[]);
        let variables = usual.get_envs().filter_map(|(name, value)| Some((name, value?)));
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .env_clear()
            .envs(variables)
            .args(["--exact", role, "--nocapture", "--test-threads=1"])
            .current_dir(self.project.beside("work"))
            .env(LACKS, format!("{errno}:{lacks}"))
            .env(COMMAND, serde_json::to_string(&words).unwrap())
            .stdin(Stdio::null());
        command
    }

    /// What it says there.
    pub(crate) fn told(&self, errno: &str, lacks: &str, args: &[&str]) -> Told {
        let mut told = Told::from(self.command(errno, lacks, args).output().unwrap());
        // The test harness speaks before it becomes stockade.
        let ours: Vec<&str> = told.stdout.lines().filter(|line| line.starts_with('{')).collect();
        told.stdout = ours.join("\n");
        told
    }

    /// A command of the caller's, without `stockade`.
    pub(crate) fn bare(&self, args: &[&str]) -> Command {
        let mut words = self.caller.words().iter().chain(args);
        let mut command = Command::new(words.next().unwrap());
        command.args(words).current_dir(self.project.beside("work"));
        command
    }

    /// The report of a script that tries to leave its box.
    fn attack(&self, errno: &str, lacks: &str, options: &[&str]) -> Value {
        let args = [&["run", "--json"], options, &["--", "sh", "attack.sh"]].concat();
        let told = self.told(errno, lacks, &args);
        let report = told.json();
        assert!(!self.project.beside("made").exists(), "{lacks}: {report}");
        assert!(!report["stdout"].as_str().unwrap_or_default().contains("hunter2"), "{report}");
        report
    }
}

/// The policy that can be kept without namespaces.
pub(crate) fn lowered() -> String {
    format!("{}/../../policies/no-namespaces.toml", env!("CARGO_MANIFEST_DIR"))
}

/// The same with one thing changed.
pub(crate) fn lowered_to(poorer: &Poorer, from: &str, to: &str) -> String {
    let text = std::fs::read_to_string(lowered()).unwrap();
    assert!(text.contains(from));
    let policy = poorer.project.beside("policy.toml");
    std::fs::write(&policy, text.replace(from, to)).unwrap();
    policy.display().to_string()
}

#[track_caller]
pub(crate) fn kept<'a>(report: &'a Value, guarantee: &str) -> (&'a str, Vec<&'a str>) {
    let lines = report["enforcement"].as_array().unwrap();
    assert!(!lines.is_empty(), "{report}");
    let line = lines.iter().find(|line| line["guarantee"] == guarantee).unwrap();
    let by = line["by"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    (line["kept"].as_str().unwrap(), by)
}

/// Nothing ran, and the failure says which promise cannot be kept and what to do.
#[track_caller]
fn failed(report: &Value, guarantee: &str) {
    assert_eq!((&report["ok"], &report["exit_code"]), (&false.into(), &Value::Null), "{report}");
    assert_eq!(report["failure"]["guarantee"], guarantee, "{report}");
    assert!(report["failure"]["remedy"].as_str().is_some_and(|text| text.len() > 20), "{report}");
}

/// Whether this machine itself gives everything that a test then takes away.
pub(crate) fn can_box() -> bool {
    let poorer = Poorer::new(Caller::Oneself);
    let report = poorer.attack("EPERM", "", &[]);
    let all = report["ok"] == true && kept(&report, "writes").1.contains(&"landlock");
    if !all {
        skip("userns", "this machine is a poorer one itself");
    }
    all
}

#[test]
fn without_namespaces_or_mounts_the_shipped_policy_runs_nothing() {
    if !can_box() {
        return;
    }
    for caller in Caller::all() {
        let poorer = Poorer::new(caller);
        for (errno, lacks) in [
            ("EPERM", "namespaces"),
            ("ENOSYS", "namespaces"),
            ("EPERM", "mounts"),
            ("ENOSYS", "mounts"),
            ("EPERM", "namespaces,landlock"),
            ("ENOSYS", "mounts,landlock"),
        ] {
            let report = poorer.attack(errno, lacks, &[]);
            failed(&report, "writes");
            let message = report["failure"]["message"].as_str().unwrap();
            assert!(message.contains(message!("plan.without-user-namespaces")), "{message}");
            assert!(!poorer.project.path("mine").exists());
        }
    }
}

#[test]
fn a_policy_that_asks_for_less_is_kept_by_locks() {
    if !can_box() {
        return;
    }
    for caller in Caller::all() {
        let poorer = Poorer::new(caller);
        for (errno, lacks) in [("EPERM", "namespaces"), ("ENOSYS", "mounts")] {
            let report = poorer.attack(errno, lacks, &["--policy", &lowered()]);
            if caller == Caller::Oneself && is_root() {
                // Root's own rights remain, and the policy requires that they do not.
                failed(&report, "privileges");
                let less = lowered_to(&poorer, "\"privileges\"", "\"privileges:partial\"");
                let report = poorer.attack(errno, lacks, &["--policy", &less]);
                assert_eq!(report["stdout"], "mine\n", "{report}");
                assert_eq!(kept(&report, "privileges").0, "partial");
                continue;
            }
            assert_eq!(report["stdout"], "mine\n", "{report}");
            assert_eq!((&report["tier"], &report["exit_code"]), (&"jail".into(), &0.into()));
            assert_eq!(kept(&report, "writes"), ("partial", vec!["landlock"]));
            assert_eq!(kept(&report, "reads"), ("partial", vec!["landlock"]));
            assert_eq!(kept(&report, "network"), ("full", vec!["seccomp"]));
            assert_eq!(kept(&report, "processes").0, "partial");
            assert_eq!(kept(&report, "privileges").0, "full");
            assert_eq!(kept(&report, "environment").0, "full");
            assert_eq!(poorer.project.scratch_folders(), Vec::<String>::new());
        }
        let report = poorer.attack("EPERM", "namespaces,landlock", &["--policy", &lowered()]);
        failed(&report, "writes");
        assert!(report["failure"]["message"].as_str().unwrap().contains("Landlock"), "{report}");
    }
}

/// The control half: without a box the same script reads and writes what it should not.
#[test]
fn the_attack_succeeds_where_there_is_no_box() {
    for caller in Caller::all() {
        let poorer = Poorer::new(caller);
        let args = ["run", "--json", "--tier", "process", "--", "sh", "attack.sh"];
        let told = poorer.told("EPERM", "", &args);
        assert!(told.stdout.contains("hunter2"), "{told:?}");
        assert!(poorer.project.beside("made").exists());
    }
}

/// Mounts every cgroup hierarchy read-only in a mount namespace of its own, and goes on.
const READ_ONLY_CGROUPS: [&str; 5] = [
    "unshare",
    "-m",
    "sh",
    "-c",
    "for place in $(awk '$3 ~ /^cgroup/ {print $2}' /proc/mounts); do \
     mount -o remount,bind,ro \"$place\" || exit 99; done; exec \"$0\" \"$@\"",
];

#[test]
fn without_cgroups_limits_of_the_tree_are_partial_or_a_failure() {
    if !can_box() {
        return;
    }
    for caller in Caller::all() {
        let mut poorer = Poorer::new(caller);
        if is_root() {
            poorer.wrapped = &READ_ONLY_CGROUPS;
        }
        let report = poorer.attack("EPERM", "", &[]);
        assert_eq!(report["stdout"], "mine\n", "{report}");
        let (level, by) = kept(&report, "tree_limits");
        if !is_root() && level == "full" {
            return skip("no-cgroups", "this user has cgroups of its own");
        }
        assert_eq!((level, by), ("partial", vec!["rlimits", "shim-count", "sampling"]));
        let policy = poorer.project.beside("policy.toml");
        std::fs::write(&policy, "box.require = ['tier', 'tree_limits']\n").unwrap();
        std::fs::remove_file(poorer.project.path("mine")).unwrap();
        let report = poorer.attack("EPERM", "", &["--policy", policy.to_str().unwrap()]);
        failed(&report, "tree_limits");
        assert!(!poorer.project.path("mine").exists());
    }
}

#[test]
fn without_landlock_the_box_of_namespaces_holds_alone() {
    if !can_box() {
        return;
    }
    for caller in Caller::all() {
        let poorer = Poorer::new(caller);
        for errno in ["EPERM", "ENOSYS"] {
            let report = poorer.attack(errno, "landlock", &[]);
            assert_eq!(report["stdout"], "mine\n", "{report}");
            let (level, by) = kept(&report, "writes");
            assert_eq!(level, "full");
            assert!(by.contains(&"mount-namespace") && !by.contains(&"landlock"), "{by:?}");
        }
    }
}

#[test]
fn without_filters_nothing_runs_in_any_form() {
    if !can_box() {
        return;
    }
    for caller in Caller::all() {
        let poorer = Poorer::new(caller);
        for (errno, lacks) in
            [("EPERM", "filters"), ("ENOSYS", "filters"), ("EPERM", "namespaces,filters")]
        {
            let options: &[&str] = if lacks == "filters" { &[] } else { &["--policy", &lowered()] };
            let report = poorer.attack(errno, lacks, options);
            failed(&report, "privileges");
            assert!(!poorer.project.path("mine").exists());
        }
    }
}

#[test]
fn a_protected_or_hidden_path_in_a_granted_folder_is_named_where_locks_cannot_keep_it() {
    if !can_box() {
        return;
    }
    let poorer = Poorer::new(Caller::ordinary());
    poorer.project.write(".envrc", "export A=b\n");
    let report = poorer.attack("EPERM", "namespaces", &["--policy", &lowered()]);
    failed(&report, "protected");
    assert!(report["failure"]["message"].as_str().unwrap().contains(".envrc"), "{report}");
    // In a folder that cannot be written it is kept.
    let folder = poorer.project.path("out");
    std::fs::create_dir(&folder).unwrap();
    let less = lowered_to(&poorer, "net = \"none\"", "net = \"none\"\nwrite = [\"out\"]");
    let options = ["--policy", &less];
    let report = poorer.attack("EPERM", "namespaces", &options);
    assert_eq!(kept(&report, "protected").0, "partial", "{report}");
    assert!(!poorer.project.path("mine").exists());
    // What is to be hidden can be read, because the project can.
    let hiding = "net = \"none\"\nwrite = [\"out\"]\nhide = [\".envrc\"]";
    let options = ["--policy", &lowered_to(&poorer, "net = \"none\"", hiding)];
    let report = poorer.attack("EPERM", "namespaces", &options);
    failed(&report, "reads");
    assert!(report["failure"]["message"].as_str().unwrap().contains(".envrc"), "{report}");
}
