//! What holds for every call and every policy: nothing panics, denying never allows, and a path
//! that was judged inside never opens outside.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use stockade::call::ToolCall;
use stockade::gate::Examiner;
use stockade::inspect::{
    Finding, Identity, PathResolver, Resolution, Root, Weight, path_of, stat_of,
};
use stockade::policy::{Decision, LoadError, Policy, PolicyFiles, Rules};

use crate::project::{Project, contained};

fn project() -> &'static Project {
    static PROJECT: OnceLock<Project> = OnceLock::new();
    PROJECT.get_or_init(Project::new)
}

fn strict() -> &'static Examiner {
    static EXAMINER: OnceLock<Examiner> = OnceLock::new();
    EXAMINER
        .get_or_init(|| project().examiner(Policy { rules: Rules::default(), ..Policy::shipped() }))
}

/// Words that lead somewhere, and any bytes at all.
fn word() -> impl Strategy<Value = OsString> {
    let known = prop::sample::select(
        [
            "rm",
            "ls",
            "cat",
            "env",
            "bash",
            "python3",
            "find",
            "git",
            "xargs",
            "sort",
            "-c",
            "-S",
            "-C",
            "--",
            "-exec",
            ";",
            "{}",
            "+",
            "f.txt",
            "out",
            "in",
            "..",
            "/",
            "/etc",
            "src/../..",
            "a|b",
            "$(x)",
            "-e",
            "-o",
            "--output=x",
            "LD_PRELOAD=x",
            "A=b",
            "-rf",
            "commit",
            "-m",
            "sed",
            "awk",
            "s/a/b/e",
            "BEGIN{system(\"x\")}",
            "./rm-copy",
            "loop",
            "./build.sh",
            "./wipe",
            "timeout",
            "5",
            "-",
            "busybox",
            "sh",
            "file:///etc/passwd",
        ]
        .as_slice(),
    );
    prop_oneof![
        6 => known.prop_map(OsString::from),
        2 => prop::collection::vec(any::<u8>(), 0..24).prop_map(OsString::from_vec),
        1 => "[ -~]{0,40}".prop_map(OsString::from),
    ]
}

fn argv() -> impl Strategy<Value = Vec<OsString>> {
    prop::collection::vec(word(), 0..9)
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(3000))]

    #[test]
    fn no_call_panics(
        argv in argv(),
        cwd in prop::option::of(word()),
        stdin in prop::collection::vec(any::<u8>(), 0..8),
        line in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut call = ToolCall::exec(argv).with_stdin(stdin);
        call.cwd = cwd.map(PathBuf::from);
        let examination = strict().examine(&call);
        if examination.ruling.decision == Decision::Deny {
            prop_assert!(examination.ruling.reason.is_some_and(|reason| !reason.is_empty()));
            prop_assert!(examination.ruling.rule.is_some());
        }
        let mut policy = Policy::shipped();
        policy.settings.only = Some(["echo", "env"].map(str::to_owned).into());
        let line = ToolCall::line(OsString::from_vec(line));
        let _examination = project().examiner(policy).examine(&line);
    }

    #[test]
    fn the_first_axis_that_refuses_decides(argv in argv()) {
        let examination = strict().examine(&ToolCall::exec(argv));
        let axes: Vec<_> = examination.findings.iter().map(|finding| finding.axis).collect();
        prop_assert!(axes.is_sorted());
        // In the strict profile every finding refuses but those that are a question; a program
        // that is not there comes last.
        let asks = |finding: &&Finding| finding.weight != Weight::Ruled;
        let refuses = |finding: &&Finding| asks(finding) && finding.weight != Weight::Ask;
        let first = examination.findings.iter().find(refuses);
        let first = first.or(examination.findings.iter().find(asks)).map(Finding::rule_id);
        match first {
            Some(first) => prop_assert_eq!(examination.ruling.rule, Some(first)),
            None => prop_assert!(matches!(
                examination.ruling.rule.as_deref(), None | Some("name/missing")
            )),
        }
    }

    #[test]
    fn what_contained_refuses_strict_refuses(argv in argv()) {
        let call = ToolCall::exec(argv);
        if project().examiner(contained()).examine(&call).ruling.decision == Decision::Deny {
            prop_assert_eq!(strict().examine(&call).ruling.decision, Decision::Deny);
        }
    }

    #[test]
    fn no_policy_text_panics(text in policy_text(), bytes in "\\PC{0,80}") {
        for text in [text, bytes] {
            let path = Path::new("any.toml");
            if let Err(error) = Policy::from_text(path, &text) {
                prop_assert!(error.to_string().contains("any.toml"));
            }
        }
    }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn adding_a_deny_never_allows(
        calls in prop::collection::vec(argv(), 8),
        names in prop::collection::vec("(ls|cat|env|vi|git|bash|pgrep|[a-z]{1,4})", 1..4),
    ) {
        let mut policy = Policy::shipped();
        policy.settings.deny.extend(names);
        let stricter = project().examiner(policy);
        for argv in calls {
            let call = ToolCall::exec(argv);
            if strict().examine(&call).ruling.decision == Decision::Deny {
                let after = stricter.examine(&call).ruling.decision;
                prop_assert_eq!(after, Decision::Deny, "{:?}", call);
            }
        }
    }

    #[test]
    fn a_project_file_never_loosens(
        user in policy_text(),
        text in policy_text(),
        calls in prop::collection::vec(argv(), 6),
    ) {
        let load = |project: bool| load(&user, project.then_some(text.as_str()));
        let Ok(base) = load(false) else { return Ok(()) };
        let Ok(policy) = load(true) else { return Ok(()) };
        let (before, after) = (base.required(), policy.required());
        prop_assert!(before.iter().all(|(one, kept)| after.get(one) >= Some(kept)));
        prop_assert_eq!(policy.limits.strictest(&base.limits), policy.limits.clone());
        prop_assert_eq!(&policy.environment, &base.environment);
        prop_assert_eq!((policy.tier, policy.durability), (base.tier, base.durability));
        let (before, after) = (project().examiner(base), project().examiner(policy));
        for argv in calls {
            let words: Vec<String> =
                argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            for call in [ToolCall::exec(argv), ToolCall::line(words.join(" "))] {
                if before.examine(&call).ruling.decision == Decision::Deny {
                    prop_assert_eq!(after.examine(&call).ruling.decision, Decision::Deny);
                }
            }
        }
    }
}

/// Policy files as people write them, right and wrong.
fn policy_text() -> impl Strategy<Value = String> {
    let line = prop::sample::select(
        [
            "exec.profile = 'strict'",
            "exec.profile = 'contained'",
            "exec.deny = ['ls', 'git']",
            "exec.deny = []",
            "exec.interpreters = ['cat']",
            "exec.interpreters = []",
            "exec.folders = ['/tmp']",
            "exec.outside = ['/etc']",
            "exec.data = ['cat']",
            "exec.search_path = ['/bin']",
            "shell.only = ['ls', 'rm']",
            "shell.only = ['cat']",
            "box.env = ['PATH=/tmp']",
            "box.tier = 'jail'",
            "box.require = ['network']",
            "box.require = []",
            "box.require = ['tier', 'tree_limits']",
            "limits.wall = '1h'",
            "limits.wall = '1s'",
            "limits.memory = 'none'",
            "limits.memory = '1T'",
            "limits.processes = 9999",
            "limits.processes = 1",
            "limits.cpu = 'none'",
            "limits.open_files = 1",
            "limits.flood = '1T'",
            "limits.output = '1'",
            "limits.file_size = 'none'",
            "limits.disk = 'none'",
            "limits.files = 9999999",
            "box.toolchains = ['rust']",
            "journal.durability = 'each'",
            "journal.window = '1h'",
            "unknown = 1",
            "exec = 1",
            "limits.wall = 1",
            "# comment",
        ]
        .as_slice(),
    );
    prop::collection::btree_set(line, 0..5)
        .prop_map(|lines| lines.into_iter().collect::<Vec<_>>().join("\n"))
}

fn load(user: &str, project: Option<&str>) -> Result<Policy, LoadError> {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let user = Some(write("user.toml", user));
    let project = project.map(|text| write("stockade.toml", text));
    PolicyFiles { user, managed: None, project }.load()
}

const ROUNDS: usize = 10_000;

/// While another thread swaps links and folders, every handle that a judgement leaves is of
/// something beneath the root, whatever became of the names.
#[test]
fn a_path_judged_inside_never_opens_outside() {
    let folder = tempfile::tempdir().unwrap();
    let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
    for path in [root.join("a/b"), root.join("real/b"), outside.join("b")] {
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("file"), "x").unwrap();
    }
    let inside = identities(&root);
    let secret = identities(&outside);
    let opened = Root::open(&root).unwrap();
    let done = AtomicBool::new(false);
    let (mut within, mut without) = (0_usize, 0_usize);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                swap(&root, &outside);
            }
        });
        let view = PathResolver::open(&opened, None).unwrap();
        let paths = ["a/b/file", "a/../a/b/file", "link/b/file", "a/b/../../link/b", "link"];
        for round in 0..ROUNDS {
            let path = paths[round % paths.len()];
            match view.resolve(OsStr::new(path)) {
                Resolution::Inside { handle, .. } => {
                    let identity = Identity::of(&stat_of(handle.as_fd()).unwrap());
                    assert!(!secret.contains(&identity), "{path} opened what is outside");
                    let real = path_of(handle.as_fd()).unwrap();
                    // A folder that was moved out after the judgement is still the judged one.
                    assert!(inside.contains(&identity) || real.starts_with(&root), "{real:?}");
                    within += 1;
                }
                Resolution::Outside { .. } => without += 1,
                Resolution::Unknowable(_) => {}
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(within > 100 && without > 100, "{within} inside, {without} outside");
}

/// Everything beneath a folder, whatever it is called later.
fn identities(folder: &Path) -> Vec<Identity> {
    let mut found = vec![Identity::of(&rustix::fs::stat(folder).unwrap())];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(identities(&path));
        } else {
            found.push(Identity::of(&rustix::fs::stat(&path).unwrap()));
        }
    }
    found
}

/// One turn of every trick: a link inside and outside, a folder for a link, a folder moved out.
fn swap(root: &Path, outside: &Path) {
    let (link, next) = (root.join("link"), root.join("next"));
    for target in [Path::new("real"), outside] {
        let _there = symlink(target, &next);
        fs::rename(&next, &link).unwrap();
    }
    let (folder, kept) = (root.join("a"), root.join("kept"));
    fs::rename(&folder, &kept).unwrap();
    symlink(outside, &folder).unwrap();
    fs::remove_file(&folder).unwrap();
    fs::rename(&kept, &folder).unwrap();
    let away = outside.join("moved");
    fs::rename(&folder, &away).unwrap();
    fs::rename(&away, &folder).unwrap();
}
