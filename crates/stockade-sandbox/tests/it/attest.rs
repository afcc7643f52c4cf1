//! What is said to be kept was seen from outside, and what a test breaks is seen to be missing.

use std::fs;
use std::path::Path;

use stockade_sandbox::{
    Attest, Attestation, Cgroup, CgroupLimits, Errno, Jail, Mechanism, Mount, StartError, Status,
    Step, start_jailed, start_jailed_if,
};
use tempfile::TempDir;

use crate::boxes::project;
use crate::support::{Mark, shell, text};

/// A sandbox that asks for everything, over a project with a secret and a protected path.
pub(crate) fn everything() -> (TempDir, Jail) {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::write(folder.path().join(".env"), "secret").unwrap();
    fs::create_dir(folder.path().join(".git")).unwrap();
    fs::write(folder.path().join(".git/config"), "good").unwrap();
    let jail = everything_in(folder.path());
    (folder, jail)
}

/// The same over such a project that is there.
pub(crate) fn everything_in(folder: &Path) -> Jail {
    let mut jail = project(folder);
    let at = |name: &str| text(folder.join(name).to_str().unwrap());
    let root = jail.root.as_mut().unwrap();
    root.push(Mount::Hide { target: at(".env") });
    root.push(Mount::Pin { target: at(".git") });
    root.push(Mount::Protect { target: at(".git/config") });
    jail.forbidden.push(at(".mcp.json"));
    jail.cgroup = Some(Cgroup::create(CgroupLimits {
        memory_bytes_max: Some(512 << 20),
        tasks_max: Some(100),
        cpu_millis_per_second: None,
    }));
    jail
}

fn attested(jail: Jail) -> Attestation {
    let mut seen = None;
    let judge = |attested: &Attestation| {
        seen = Some(attested.clone());
        true
    };
    let ended = start_jailed_if(shell("exit 3"), jail, judge).unwrap().wait().unwrap();
    assert_eq!(ended.status, Status::Code(3));
    seen.unwrap()
}

/// Everything that the sandbox asked for; a cgroup where there is one for this user.
fn all(jail: &Jail) -> Vec<Mechanism> {
    let has_cgroup = jail.cgroup.as_ref().is_some_and(|cgroup| !cgroup.kept().is_empty());
    // A sandbox always has these, and nobody looks for them.
    let assumed = [
        Mechanism::MountFlags,
        Mechanism::Rlimits,
        Mechanism::ClosedDescriptors,
        Mechanism::LockedMounts,
    ];
    let all = Mechanism::ALL.iter().copied().filter(|mechanism| !assumed.contains(mechanism));
    all.filter(|mechanism| has_cgroup || *mechanism != Mechanism::Cgroup).collect()
}

#[test]
fn everything_that_was_asked_for_is_seen() {
    let (_folder, jail) = everything();
    let asked = all(&jail);
    let seen = attested(jail);
    assert_eq!(seen.missing, [], "{seen:?}");
    assert_eq!(seen.unseen, [Mechanism::NoNesting]);
    let kept: Vec<_> = asked.into_iter().filter(|one| *one != Mechanism::NoNesting).collect();
    assert_eq!(seen.kept, kept);
    assert_eq!((seen.capabilities, seen.filters), (0, 1));
    assert_ne!(seen.uid, 0);
    assert!(seen.mounts.lines().count() > 8);
}

#[test]
fn a_mechanism_that_is_left_out_is_missing_although_it_was_asked_for() {
    let mut tried = 0_u32;
    let (_folder, jail) = everything();
    for mechanism in all(&jail) {
        // The init of a sandbox rests on these, and one cannot be seen.
        let rests = [
            Mechanism::UserNamespace,
            Mechanism::MountNamespace,
            Mechanism::PidNamespace,
            Mechanism::OtherUser,
            Mechanism::NoNesting,
        ];
        if rests.contains(&mechanism) {
            continue;
        }
        let (_folder, mut jail) = everything();
        jail.faults.left_out.push(mechanism);
        if mechanism == Mechanism::NoNewPrivileges {
            // Without it the kernel refuses these two.
            jail.faults.left_out.extend([Mechanism::Landlock, Mechanism::Filter]);
        }
        if jail.faults.left_out.contains(&Mechanism::Filter) {
            // The broker hears of nothing then.
            jail.faults.left_out.push(Mechanism::Broker);
        }
        let left_out = jail.faults.left_out.clone();
        let seen = attested(jail);
        assert_eq!(seen.missing, left_out, "{seen:?}");
        tried = tried.saturating_add(1);
    }
    assert!(tried >= 12, "{tried}");
}

#[test]
fn a_judge_that_says_no_lets_nothing_run() {
    let (folder, mut jail) = everything();
    jail.faults.left_out.push(Mechanism::Filter);
    let mark = Mark::new();
    let spec = mark.on(shell("touch ran"));
    let error = start_jailed_if(spec, jail, |seen| seen.missing.is_empty()).unwrap_err();
    assert_eq!(error, StartError { step: Step::Attest, errno: Errno::CANCELED });
    assert!(!folder.path().join("ran").exists());
    assert_eq!(mark.found(), []);
}

#[test]
fn what_was_seen_stays_with_the_run() {
    let (_folder, mut jail) = everything();
    jail.attest = Attest::BeforeExecution;
    let mut run = start_jailed(shell("exit 0"), jail).unwrap();
    assert!(run.attested().unwrap().missing.is_empty());
    run.wait().unwrap();
    let (_folder, jail) = everything();
    let mut run = start_jailed(shell("exit 0"), jail).unwrap();
    assert!(run.attested().is_none());
    run.wait().unwrap();
}

/// As when somebody runs `git config` on the host while the sandbox runs.
#[test]
fn a_protected_path_that_the_host_replaces_is_lost_and_that_is_told() {
    let (folder, jail) = everything();
    let line = "while [ ! -e go ]; do sleep 0.01; done; echo evil > .git/config";
    let mut run = start_jailed(shell(line), jail).unwrap();
    assert_eq!(run.lost().unwrap(), []);
    fs::write(folder.path().join("new"), "host").unwrap();
    fs::rename(folder.path().join("new"), folder.path().join(".git/config")).unwrap();
    assert_eq!(run.lost().unwrap(), [Mechanism::ProtectedPaths]);
    fs::write(folder.path().join("go"), "").unwrap();
    run.wait().unwrap();
    // This is why it has to be asked for.
    assert_eq!(fs::read_to_string(folder.path().join(".git/config")).unwrap(), "evil\n");
    assert_eq!(run.lost().unwrap(), []);
}

/// Every step that the shim and a closed sandbox of any user go through.
const STEPS: [Step; 32] = [
    Step::ReadRequest,
    Step::CountProcesses,
    Step::ListProcesses,
    Step::SetUpShim,
    Step::CloneBox,
    Step::Announce,
    Step::MapIds,
    Step::JoinCgroups,
    Step::NameHost,
    Step::ForbidNesting,
    Step::TakeSource,
    Step::MakeRoot,
    Step::FindPlace,
    Step::BindFolder,
    Step::MountMemory,
    Step::MountProc,
    Step::MakeEntry,
    Step::HidePath,
    Step::ProtectPath,
    Step::SealRoot,
    Step::EnterRoot,
    Step::LeaveHost,
    Step::TieToShim,
    Step::Fork,
    Step::OpenSession,
    Step::PlaceStreams,
    Step::EnterDirectory,
    Step::FindProgram,
    Step::DropCapabilities,
    Step::RefusePrivileges,
    Step::RestrictFiles,
    Step::FilterCalls,
];

/// The steps of this user's sandbox that has everything.
pub(crate) fn steps() -> impl Iterator<Item = Step> {
    let more = [
        Step::LearnNames,
        Step::TestLandlock,
        Step::ClearSignals,
        Step::CloseDescriptors,
        Step::TestBroker,
        Step::AwaitRelease,
    ];
    let root = [Step::ChangeUser, Step::MapOwners];
    let root = root.into_iter().filter(|_| crate::support::is_root());
    STEPS.into_iter().chain(more).chain(root)
}

/// Those of one that has no broker.
pub(crate) fn steps_without_broker() -> impl Iterator<Item = Step> {
    steps().filter(|step| !matches!(step, Step::LearnNames | Step::TestBroker))
}

#[test]
fn a_step_that_fails_ends_in_an_error_that_names_it_and_never_in_a_program() {
    for step in steps() {
        let (folder, jail) = everything();
        assert_ends_at(step, &folder, jail);
    }
}

/// Without a broker, the program's process shares the memory of the first one.
#[test]
fn a_step_that_fails_ends_so_without_a_broker_too() {
    for step in steps_without_broker() {
        let (folder, mut jail) = everything();
        jail.forbidden.clear();
        assert_ends_at(step, &folder, jail);
    }
}

fn assert_ends_at(step: Step, folder: &TempDir, mut jail: Jail) {
    jail.faults.fail_at = Some(step);
    let mark = Mark::new();
    let mut spec = mark.on(shell("touch ran"));
    spec.processes_max = Some(100);
    assert_eq!(start_jailed(spec, jail).map(drop).map_err(|error| error.step), Err(step));
    assert!(!folder.path().join("ran").exists(), "{step:?}");
    assert_eq!(mark.found(), [], "{step:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "{step:?}");
}
