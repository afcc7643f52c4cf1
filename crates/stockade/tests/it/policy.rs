//! Policy files: what is shipped, what loads, and what a project may not do.

use std::path::{Path, PathBuf};
use std::time::Duration;

use stockade::call::ToolCall;
use stockade::confine::Network;
use stockade::guarantee::{Guarantee, Kept};
use stockade::journal::Durability;
use stockade::limits::ByteCount;
use stockade::policy::rules::Rule;
use stockade::policy::{Decision, LoadError, Policy, PolicyFiles, Profile, Variable};
use stockade::tier::Tier;

use crate::project::{Project, workspace};

fn shipped(name: &str) -> String {
    std::fs::read_to_string(workspace().join("policies").join(name)).unwrap()
}

fn trusted(text: &str) -> Result<Policy, LoadError> {
    Policy::from_text(Path::new("own.toml"), text)
}

/// The shipped policy with this text as the project's file, and below it the user's.
fn project_file(user: &str, text: &str) -> Result<Policy, LoadError> {
    let folder = tempfile::tempdir().unwrap();
    let [user, project] = [("user.toml", user), ("stockade.toml", text)].map(|(name, text)| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    });
    PolicyFiles { user: Some(user), managed: None, project: Some(project) }.load()
}

#[test]
fn the_default_file_is_the_shipped_policy() {
    let loaded = trusted(&shipped("default.toml")).unwrap();
    let Policy { sources, rules, .. } = Policy::shipped();
    // Each of its rules replaces the shipped one of its name, and so is the file's.
    let written = |rule: &Rule| {
        let said =
            [rule.reason(), rule.alternative(), rule.name()].map(|one| one.map(str::to_owned));
        (rule.text().to_owned(), rule.list(), said, rule.lines().clone())
    };
    let [of_file, shipped] = [&loaded.rules, &rules].map(|rules| {
        assert!(rules.notes().is_empty(), "{:?}", rules.notes());
        rules.all().iter().map(written).collect::<Vec<_>>()
    });
    assert_eq!(of_file, shipped);
    assert_eq!(Policy { sources, rules, ..loaded }, Policy::shipped());
}

/// Tables of a policy file, whose keys are named and not they themselves.
const TABLES: [&str; 13] = [
    "exec",
    "shell",
    "boxed",
    "limits",
    "journal",
    "rules",
    "only",
    "questions",
    "project",
    "hook",
    "code",
    "tool",
    "named",
];

#[test]
fn the_default_file_names_every_key() {
    let text = shipped("default.toml");
    let keys = include_str!("../../../stockade-policy/src/config/file.rs")
        .lines()
        .filter_map(|line| line.trim().strip_prefix("pub(super) ")?.split_once(": "))
        .map(|(key, _)| key)
        .filter(|key| !TABLES.contains(key));
    for key in keys {
        assert!(text.lines().any(|line| line.starts_with(&format!("{key} = "))), "{key}");
    }
}

#[test]
fn the_starter_file_loads_as_a_project_file_and_changes_nothing() {
    assert_eq!(project_file("", &shipped("starter.toml")).unwrap(), Policy::shipped());
}

#[test]
fn a_project_may_only_have_more_changes_told() {
    use stockade::confine::ListedChanges;
    let watched = |name: &str| format!("[box]\nchanges = \"{name}\"\n");
    assert!(ListedChanges::ALL.is_sorted());
    for (own, least) in ListedChanges::ALL.iter().enumerate() {
        for (asked, more) in ListedChanges::ALL.iter().enumerate() {
            let policy = project_file(&watched(least.name()), &watched(more.name())).unwrap();
            assert_eq!(
                policy.files.watched,
                ListedChanges::ALL[own.max(asked)],
                "{least:?} {more:?}"
            );
        }
    }
    assert_eq!(project_file("", "").unwrap().files.watched, ListedChanges::Bounded);
    let wrong = trusted(&watched("some")).unwrap_err().to_string();
    assert!(wrong.contains(message!("box-table.none-none-risky-bounded")), "{wrong}");
}

/// What the starter file only suggests holds too.
#[test]
fn the_starter_file_loads_with_its_comments_taken_off() {
    let text = shipped("starter.toml");
    let (project, own) = text.split_once("# In your own file").unwrap();
    let policy = project_file("", &uncommented(project)).unwrap();
    assert!(policy.settings.deny.contains("kubectl") && policy.settings.deny.contains("rm"));
    assert!(policy.settings.interpreters.contains("julia"));
    assert_eq!(policy.limits.wall, Duration::from_secs(60));
    let shipped = Policy::shipped().rules.all().len();
    assert_eq!((policy.rules.all().len(), policy.rules.notes()), (shipped + 4, [].as_slice()));
    let policy = trusted(&uncommented(own)).unwrap();
    assert_eq!(policy.settings.only, Some(["echo", "date"].map(str::to_owned).into()));
    assert!(policy.settings.folders.iter().any(|folder| folder.ends_with(".cargo/bin")));
}

/// Takes the mark off lines that are TOML behind it.
fn uncommented(text: &str) -> String {
    let lines = text.lines().map(|line| match line.strip_prefix("# ") {
        Some(rest) if rest.starts_with('[') || rest.contains(" = ") => rest,
        _ => line,
    });
    lines.filter(|line| !line.starts_with(',')).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_trusted_file_replaces_what_it_names() {
    let policy = trusted(
        "exec.profile = 'contained'\nexec.deny = ['x']\nexec.outside = ['/usr/include']\n\
         box.tier = 'jail'\nbox.require = ['network']\nlimits.memory = 'none'\n\
         limits.output = '1KiB'\njournal.durability = 'each'\n",
    )
    .unwrap();
    let base = Policy::shipped();
    assert_eq!(policy.profile, Profile::Contained);
    assert_eq!(policy.settings.deny, ["x".to_owned()].into());
    assert_eq!(policy.settings.outside, [Path::new("/usr/include")]);
    assert_eq!(policy.settings.folders, base.settings.folders);
    assert_eq!((policy.tier, policy.limits.memory), (Tier::Jail, None));
    assert_eq!(policy.required(), [(Guarantee::Network, Kept::Full)].into());
    assert_eq!(policy.limits.output, ByteCount::kib(1));
    assert_eq!(policy.limits.wall, base.limits.wall);
    assert_eq!(policy.durability, Durability::Each);
}

#[test]
fn what_is_required_is_what_the_tier_is_for_unless_a_file_lists_its_own() {
    let required = |text: &str| trusted(text).unwrap().required();
    let (full, network) = (Kept::Full, Guarantee::Network);
    let of_jail = required("");
    assert_eq!(of_jail.get(&network), Some(&full));
    assert_eq!(of_jail.get(&Guarantee::Protected), Some(&Kept::Detected));
    assert_eq!(of_jail.get(&Guarantee::TreeLimits), None);
    assert_eq!(required("box.net = 'host'").get(&network), None);
    assert_eq!(required("box.net = 'host'\nbox.require = ['tier', 'network']"), of_jail);
    let of_process = required("box.tier = 'process'");
    assert_eq!(of_process.get(&Guarantee::Processes), Some(&Kept::Partial));
    assert_eq!(of_process.get(&network), None);
    assert_eq!(required("box.require = ['writes:partial', 'writes']").len(), 1);
    let more = required("box.tier = 'process'\nbox.require = ['network', 'tier']");
    assert_eq!((more.len(), more.get(&network)), (of_process.len() + 1, Some(&full)));
    // What a person requires by name outlives a change of the tier.
    let mut named = trusted("box.require = ['network']").unwrap();
    named.tier = Tier::Process;
    assert_eq!(named.required().get(&network), Some(&full));
}

#[test]
fn the_strict_file_requires_all_that_a_box_can_keep_in_full() {
    let policy = trusted(&shipped("strict.toml")).unwrap();
    assert_eq!((policy.tier, policy.network), (Tier::Jail, Network::None));
    let required = policy.required();
    // The kernel is shared, and the disk is watched, not kept from being filled.
    let lesser = [Guarantee::Kernel, Guarantee::Disk];
    for guarantee in Guarantee::ALL.into_iter().filter(|one| !lesser.contains(one)) {
        assert_eq!(required.get(&guarantee), Some(&Kept::Full), "{guarantee}");
    }
    assert_eq!(required.get(&Guarantee::Kernel), None);
    assert_eq!(required.get(&Guarantee::Disk), Some(&Kept::Partial));
}

#[test]
fn a_project_file_tightens() {
    let user = "shell.only = ['echo', 'date', 'ls']\nexec.profile = 'contained'\n";
    let text = "exec.deny = ['git']\nexec.interpreters = ['julia']\nexec.profile = 'strict'\n\
                shell.only = ['echo', 'cat']\nbox.require = ['tree_limits:partial']\n\
                limits.wall = '5s'\nlimits.output = '1MiB'\nlimits.cpu = '3s'\n\
                limits.memory = 'none'\ncode.limits.wall = '4s'\ncode.limits.memory = '1TiB'\n";
    let policy = project_file(user, text).unwrap();
    let base = Policy::shipped();
    assert!(policy.settings.deny.contains("git") && policy.settings.deny.contains("rm"));
    assert!(policy.settings.interpreters.contains("julia"));
    assert_eq!(policy.profile, Profile::Strict);
    assert_eq!(policy.settings.only, Some(["echo".to_owned()].into()));
    let required = policy.required();
    assert!(base.required().iter().all(|(guarantee, kept)| required.get(guarantee) >= Some(kept)));
    assert_eq!(required.get(&Guarantee::TreeLimits), Some(&Kept::Partial));
    assert_eq!(policy.limits.wall, Duration::from_secs(5));
    assert_eq!(policy.code_limits.wall, Duration::from_secs(4));
    assert_eq!(policy.code_limits.memory, base.code_limits.memory);
    assert_eq!(policy.limits.cpu, Some(Duration::from_secs(3)));
    assert_eq!(
        (policy.limits.output, policy.limits.memory),
        (base.limits.output, base.limits.memory)
    );
}

#[test]
fn each_key_that_would_loosen_is_refused_by_name_and_line() {
    for (key, value) in [
        ("exec.profile", "'contained'"),
        ("exec.folders", "['/tmp']"),
        ("exec.folders", "[]"),
        ("exec.search_path", "['/tmp']"),
        ("exec.outside", "['/']"),
        ("exec.outside", "[]"),
        ("exec.data", "['echo']"),
        ("box.tier", "'inline'"),
        ("box.env", "['HOME']"),
        ("box.env", "[]"),
        ("box.write", "['/']"),
        ("box.write", "[]"),
        ("box.read", "['/root']"),
        ("box.toolchains", "['rust']"),
        ("box.net", "'host'"),
        ("box.publish", "[3000]"),
        ("box.publish", "[]"),
        ("box.host_ports", "[5432]"),
        ("box.image", "'localhost/tools'"),
        ("box.engine", "'docker'"),
        ("box.runtime", "'runc'"),
        ("box.pull", "'never'"),
        ("box.warm", "5"),
        ("journal.durability", "'batched'"),
        ("journal.window", "'1h'"),
        ("shell.profile", "'contained'"),
        ("shell.only", "['bash']"),
        ("shell.only", "[]"),
    ] {
        let text = format!("# a comment\nlimits.wall = '1s'\n\n{key} = {value}\n");
        let error = project_file("", &text).unwrap_err();
        let LoadError::Loosens { line, key: found, .. } = &error else { panic!("{error:?}") };
        assert_eq!((*line, *found), (4, key), "{key} = {value}");
        assert!(error.to_string().contains(key) && error.to_string().contains("line 4"));
    }
}

#[test]
fn unknown_keys_and_wrong_types_are_errors_with_a_line() {
    for text in [
        "exec.denny = ['x']",
        "nonsense = 1",
        "[execs]",
        "exec.deny = 'x'",
        "exec.deny = [1]",
        "limits.wall = 5",
        "limits.processes = '5'",
        "limits.processes = -1",
        "limits.open_files = 1.5",
        "shell.only = { a = 1 }",
        "exec = []",
        "not toml at all",
        "exec.deny = ['x'",
    ] {
        let text = format!("# first\n\n{text}\n");
        for error in [trusted(&text).unwrap_err(), project_file("", &text).unwrap_err()] {
            let message = error.to_string();
            assert!(message.contains("line 3") || message.contains("line 4"), "{text}: {message}");
        }
    }
}

#[test]
fn values_that_make_no_sense_are_errors_with_a_line() {
    for text in [
        "exec.profile = 'lax'",
        "exec.folders = ['relative']",
        "exec.outside = ['~']",
        "exec.search_path = ['']",
        "box.tier = 'castle'",
        "box.env = ['=x']",
        "box.env = ['']",
        "box.require = ['luck']",
        "box.publish = [0]",
        "box.publish = [3000, 65536]",
        "box.publish = [3000, 4000, 3000]",
        "box.host_ports = [5432, 5432]",
        "box = { net = 'none', publish = [3000] }",
        "box = { net = 'none', host_ports = [5432] }",
        "limits.wall = 'soon'",
        "limits.wall = '-1s'",
        "limits.wall = 'nan'",
        "limits.wall = 'inf'",
        "limits.memory = '12 parsecs'",
        "limits.memory = '99999999999999999999'",
        "limits.output = ''",
        "journal.durability = 'never'",
        "journal.window = 'often'",
    ] {
        let error = trusted(&format!("# first\n\n{text}\n")).unwrap_err();
        let LoadError::Value { line, .. } = &error else { panic!("{text}: {error:?}") };
        assert_eq!(*line, 3, "{text}");
    }
}

#[test]
fn a_tilde_is_the_home_folder() {
    let policy = trusted("exec.folders = ['~/bin', '/opt/~/x']").unwrap();
    let home = std::env::home_dir().unwrap();
    assert_eq!(policy.settings.folders, [home.join("bin"), "/opt/~/x".into()]);
}

#[test]
fn variables_are_inherited_or_set() {
    let policy = trusted("box.env = ['LANG', 'A=b', 'C=', 'D=e=f']").unwrap();
    let set = |name: &str, value: &str| Variable::Set(name.to_owned(), value.to_owned());
    let expected =
        [Variable::Inherited("LANG".to_owned()), set("A", "b"), set("C", ""), set("D", "e=f")];
    assert_eq!(policy.environment, expected);
    assert_eq!(Variable::parse("A\0=b"), None);
}

#[test]
fn a_path_in_the_file_changes_where_programs_are_found() {
    let project = Project::new();
    let text = format!("box.env = ['PATH={}']", project.root().display());
    let examiner = project.examiner(trusted(&text).unwrap());
    let decide = |name: &str| examiner.examine(&ToolCall::exec([name])).ruling.decision;
    assert_eq!(decide("build.sh"), Decision::Allow);
    assert_eq!(decide("ls"), Decision::Deny);
}

#[test]
fn a_refusal_names_the_line_of_the_list_it_comes_from() {
    let project = Project::new();
    let own = trusted("\nexec.deny = [\n  'rm',\n  'ls',\n]\n").unwrap();
    let ruling = project.examiner(own).examine(&ToolCall::exec(["ls"])).ruling;
    assert_eq!(ruling.source.as_deref(), Some("own.toml:4"));
    let ruling = project.examine(&["rm"]).ruling;
    assert_eq!(ruling.source.as_deref(), Some("shipped policy"));
}

#[test]
fn a_file_that_was_asked_for_has_to_be_there() {
    let missing = Policy::from_file(Path::new("/nowhere/stockade.toml"));
    assert!(matches!(missing, Err(LoadError::Missing { .. })));
    let files = PolicyFiles { user: Some("/nowhere/x.toml".into()), ..PolicyFiles::default() };
    assert_eq!(files.load().unwrap(), Policy::shipped());
}

#[test]
fn a_file_that_is_none_is_an_error() {
    let project = Project::new();
    let large = project.write("large.toml", &"#".repeat((1 << 20) + 1));
    std::fs::write(project.beside("binary.toml"), b"a = '\xff'").unwrap();
    for path in [project.root(), project.root().join("fifo"), large, project.beside("binary.toml")]
    {
        let error = Policy::from_file(&path).unwrap_err();
        assert!(matches!(error, LoadError::Read { .. }), "{error:?}");
    }
}

#[test]
fn a_limit_of_no_processes_is_refused_with_its_line() {
    let text = "[limits]\nprocesses = 0\n";
    let error = Policy::from_text(Path::new("mine.toml"), text).unwrap_err().to_string();
    assert!(error.contains("line 2") && error.contains("at least 1"), "{error}");
}

#[test]
fn a_project_file_can_hide_and_protect_more_and_close_the_network() {
    let user = "box.net = 'host'\nbox.hide = ['a']\n";
    let text = "box.net = 'none'\nbox.hide = ['.env', 'keys/']\nbox.protect = ['Makefile']\n";
    let policy = project_file(user, text).unwrap();
    assert_eq!(policy.network, Network::None);
    let hidden = ["a", ".env", "keys/"].map(PathBuf::from);
    assert_eq!(policy.files.hide, hidden);
    assert!(policy.files.protect.contains(&PathBuf::from("Makefile")));
    assert!(policy.files.protect.contains(&PathBuf::from(".git/hooks")));
    let policy = project_file(user, "box.net = 'loopback'\n").unwrap();
    assert_eq!(policy.network, Network::Loopback);
    assert_eq!(project_file("", "box.net = 'none'\n").unwrap().network, Network::None);
    let error = project_file("box.net = 'none'\n", "box.net = 'loopback'\n").unwrap_err();
    assert!(error.to_string().contains("box.net"), "{error}");
}

#[test]
fn paths_of_a_box_do_not_climb_out_of_the_root() {
    for path in ["../x", "a/../../x", ""] {
        let text = format!("box.write = ['{path}']\n");
        let error = Policy::from_text(Path::new("mine.toml"), &text).unwrap_err().to_string();
        assert!(
            error.contains("line 1")
                && error.contains(message!("box-table.not-path-beneath-project")),
            "{error}"
        );
    }
    let text = "box.write = ['.', 'out', '/var/cache/x']\nbox.net = 'sometimes'\n";
    let error = Policy::from_text(Path::new("mine.toml"), text).unwrap_err().to_string();
    assert!(
        error.contains("line 2")
            && error.contains(message!("box-table.unknown-network-expected-none")),
        "{error}"
    );
}

#[test]
fn a_project_file_that_is_a_link_is_refused_and_not_quoted() {
    let folder = tempfile::tempdir().unwrap();
    let (secret, project) = (folder.path().join("secret"), folder.path().join("stockade.toml"));
    std::fs::write(&secret, "API_KEY=canary\n").unwrap();
    std::os::unix::fs::symlink(&secret, &project).unwrap();
    let files = PolicyFiles { project: Some(project), ..PolicyFiles::default() };
    let error = files.load().unwrap_err();
    let told = stockade::outcome::chain(&error);
    assert!(told.contains("link") && !told.contains("canary"), "{told}");
}

#[test]
fn keys_of_containers_are_read_and_held_to_their_form() {
    let oci = |text: &str| trusted(text).map(|policy| policy.oci);
    let read =
        oci("[box]\nimage = 'localhost/t:1'\nengine = 'docker'\nruntime = '/usr/bin/runsc'\n\
                    pull = 'missing'\nwarm = 20\n")
        .unwrap();
    assert_eq!(read.image.as_ref().map(ToString::to_string).as_deref(), Some("localhost/t:1"));
    assert_eq!((read.warm.map(u32::from), read.has_own_kernel()), (Some(20), true));
    for wrong in ["image = '--privileged'", "engine = 'lxc'", "runtime = '-x'", "pull = 'always'"] {
        assert!(oci(&format!("[box]\n{wrong}\n")).is_err(), "{wrong}");
    }
}

#[test]
fn ports_are_opened_by_trusted_files_and_only_with_a_loopback() {
    use stockade::confine::Network;
    let numbers = |ports: &[std::num::NonZeroU16]| -> Vec<u16> {
        ports.iter().map(|port| port.get()).collect()
    };
    assert!(Policy::shipped().ports.is_empty());
    let policy = trusted("box.publish = [3000, 1]\nbox.host_ports = [65535]").unwrap();
    assert_eq!(
        (numbers(&policy.ports.publish), numbers(&policy.ports.host)),
        (vec![3000, 1], vec![65535])
    );
    assert_eq!(policy.required()[&Guarantee::Network], Kept::Partial, "less is asked for then");
    assert_eq!(policy.notes(), Vec::<String>::new());
    // What says nothing of them takes none away, and an empty list all.
    assert_eq!(trusted("box.net = 'none'\nbox.publish = []").unwrap().ports.publish, []);
    let most: Vec<String> = (1..=33).map(|port| port.to_string()).collect();
    assert!(trusted(&format!("box.publish = [{}]", most[..32].join(","))).is_ok());
    let error = trusted(&format!("box.publish = [{}]", most.join(","))).unwrap_err();
    assert!(
        error.to_string().contains("line 1") && error.to_string().contains("at most 32"),
        "{error}"
    );
    let error = trusted("box.net = 'none'\nbox.publish = [3000]").unwrap_err().to_string();
    assert!(
        error.contains("line 2") && error.contains(message!("ports.needs-network-box-net")),
        "{error}"
    );
    // The machine's network has all ports, which is said.
    let open = trusted("box.net = 'host'\nbox.publish = [3000]").unwrap();
    assert!(open.notes()[0].contains(message!("notes.ports-without-effect")), "{:?}", open.notes());
    // A project that takes the network away takes the ports of others away too.
    let strict = project_file("box.publish = [3000]", "box.net = 'none'").unwrap();
    assert_eq!((strict.network, strict.ports.is_empty()), (Network::None, true));
    assert_eq!(strict.required()[&Guarantee::Network], Kept::Full);
}
