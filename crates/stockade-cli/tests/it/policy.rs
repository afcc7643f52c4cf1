//! Policy files: found, named, missing, broken, and loosening.

use crate::support::Project;

#[track_caller]
fn complains(project: &Project, args: &[&str], words: &[&str]) {
    let told = project.stockade(&[args, &["--", "touch", "ran"]].concat());
    assert_eq!(told.code, 125, "{told:?}");
    for word in words {
        assert!(told.stderr.contains(word), "{word} in {told:?}");
    }
    assert!(!project.path("ran").exists(), "it ran by a policy that did not load");
}

#[test]
fn a_named_file_that_is_missing_or_broken_is_an_error_with_its_position() {
    let project = Project::new();
    complains(&project, &["run", "--policy", "none.toml"], &["none.toml"]);
    project.write("syntax.toml", "[exec]\ndeny = [\"a\"\n[box]\n");
    complains(&project, &["run", "--policy", "syntax.toml"], &["syntax.toml", "line 3"]);
    project.write("key.toml", "[exec]\n\nunknown = 1\n");
    complains(&project, &["run", "--policy", "key.toml"], &["key.toml", "line 3", "unknown"]);
    project.write("value.toml", "[limits]\nwall = \"soon\"\n");
    complains(&project, &["run", "--policy", "value.toml"], &["value.toml", "line 2", "soon"]);
    project.write("tier.toml", "[box]\ntier = \"moon\"\n");
    complains(&project, &["check", "run", "--policy", "tier.toml"], &["line 2", "moon"]);
    std::fs::write(project.path("bytes.toml"), [0xff, 0xfe]).unwrap();
    complains(&project, &["run", "--policy", "bytes.toml"], &["bytes.toml"]);
    complains(&project, &["run", "--policy", "."], &["policy"]);
}

#[test]
fn a_broken_file_of_the_project_or_the_user_stops_everything() {
    let project = Project::new();
    project.write("stockade.toml", "deny = nonsense\n");
    complains(&project, &["run"], &["stockade.toml", "line 1"]);
    complains(&project, &["check", "run"], &["stockade.toml"]);
    project.write("stockade.toml", "");
    std::fs::create_dir(project.beside("config/stockade")).unwrap();
    std::fs::write(project.beside("config/stockade/stockade.toml"), "[oops]\n").unwrap();
    complains(&project, &["run"], &["config/stockade/stockade.toml", "line 1"]);
}

#[test]
fn a_projects_file_tightens_and_cannot_loosen() {
    let project = Project::new();
    project.write("stockade.toml", "[exec]\ndeny = [\"touch\"]\n");
    let told = project.stockade(&["run", "--", "touch", "ran"]);
    assert_eq!(told.code, 126);
    assert!(told.stderr.contains("stockade.toml:2"), "{told:?}");
    assert_eq!(project.stockade(&["run", "--", "rm", "x"]).code, 126, "the shipped list stays");
    let loosening = [
        ("[exec]\noutside = [\"/etc\"]\n", "exec.outside"),
        ("[exec]\nfolders = [\"/tmp\"]\n", "exec.folders"),
        ("[exec]\nsearch_path = [\"/tmp\"]\n", "exec.search_path"),
        ("[exec]\nprofile = \"contained\"\n", "exec.profile"),
        ("[exec]\ndata = [\"sh\"]\n", "exec.data"),
        ("[box]\nenv = [\"TOKEN\"]\n", "box.env"),
        ("[box]\ntier = \"inline\"\n", "box.tier"),
        ("[shell]\nonly = [\"echo\"]\n", "shell.only"),
        ("[journal]\nwindow = \"1h\"\n", "journal.window"),
    ];
    for (text, key) in loosening {
        project.write("stockade.toml", text);
        complains(&project, &["run"], &["stockade.toml", "line 2", key]);
    }
    project
        .write("stockade.toml", "[limits]\nwall = \"1h\"\noutput = \"1GiB\"\nmemory = \"none\"\n");
    project.script("limits.sh", "ulimit -v\n");
    let told = project.stockade(&["run", "--tier", "process", "--", "sh", "limits.sh"]);
    assert_eq!(told.stdout, "2097152\n");
}

#[test]
fn a_named_file_replaces_what_would_be_found() {
    let project = Project::new();
    project.write("stockade.toml", "[exec]\ndeny = [\"touch\"]\n");
    project.write("own.toml", "[exec]\ndeny = [\"ls\"]\n");
    assert_eq!(project.stockade(&["run", "--policy", "own.toml", "--", "touch", "ran"]).code, 0);
    assert_eq!(project.stockade(&["run", "--policy", "own.toml", "--", "ls"]).code, 126);
}

#[test]
fn init_writes_a_file_that_loads_and_replaces_none() {
    let project = Project::new();
    let told = project.stockade(&["init"]);
    assert_eq!(told.code, 0, "{told:?}");
    let starter = std::fs::read_to_string(project.path("stockade.toml")).unwrap();
    assert!(starter.contains("[exec]"));
    assert_eq!(project.stockade(&["run", "--", "echo", "loads"]).stdout, "loads\n");
    project.write("stockade.toml", "# mine\n");
    let told = project.stockade(&["init"]);
    assert_eq!(told.code, 125);
    assert!(told.stderr.contains("--force"), "{told:?}");
    assert_eq!(std::fs::read_to_string(project.path("stockade.toml")).unwrap(), "# mine\n");
    assert_eq!(project.stockade(&["init", "--force"]).code, 0);
    assert_eq!(std::fs::read_to_string(project.path("stockade.toml")).unwrap(), starter);
    assert_eq!(project.stockade(&["init", "other.toml"]).code, 0);
    assert!(project.path("other.toml").exists());
    assert_eq!(project.stockade(&["init", "no/such/folder.toml"]).code, 125);
}

/// A call may have laid the link, and the person means the file in the project.
#[test]
fn init_writes_through_no_link() {
    let project = Project::new();
    let outside = project.beside("outside");
    for arguments in [&["init"][..], &["init", "--force"]] {
        for is_there in [false, true] {
            std::fs::remove_file(&outside).ok();
            std::fs::remove_file(project.path("stockade.toml")).ok();
            if is_there {
                std::fs::write(&outside, "theirs").unwrap();
            }
            std::os::unix::fs::symlink(&outside, project.path("stockade.toml")).unwrap();
            let told = project.stockade(arguments);
            assert_eq!(told.code, 125, "{told:?}");
            let now = std::fs::read_to_string(&outside).ok();
            assert_eq!(now.as_deref(), is_there.then_some("theirs"), "{arguments:?}");
        }
    }
    // The control: the same through the link by hand.
    std::fs::write(project.path("stockade.toml"), "written").unwrap();
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "written");
}

#[test]
fn the_schema_is_printed_as_it_is_in_the_documents() {
    let told = Project::new().stockade(&["schema"]);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policy.schema.json");
    assert_eq!((told.code, told.stdout), (0, std::fs::read_to_string(path).unwrap()));
}
