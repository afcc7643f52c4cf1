//! Searches by the agent's own tools: secrets are left out or the search is refused, and a search of the
//! project goes on working.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{decision, event, output, policy, sent, silent};
use crate::support::Project;

const PRE: [&str; 3] = ["pre", "--mode", "auto"];

/// A project with a `.env`, and a home folder with keys.
fn with_secrets() -> Project {
    let project = Project::new();
    for folder in ["work/sub", "work/clean", "home/.ssh", "home/notes", "other"] {
        std::fs::create_dir_all(project.beside(folder)).unwrap();
    }
    for file in ["work/.env", "work/sub/.env.local", "home/.ssh/id_work", "other/.env"] {
        std::fs::write(project.beside(file), "KEY=s3cret\n").unwrap();
    }
    for file in ["work/a.ts", "work/clean/b.ts", "work/.env.example"] {
        std::fs::write(project.beside(file), "KEY=example\n").unwrap();
    }
    project
}

fn grep(project: &Project, path: Option<&Path>, glob: Option<&str>) -> Value {
    let mut input = json!({"pattern": "KEY"});
    if let Some(path) = path {
        input["path"] = json!(path);
    }
    if let Some(glob) = glob {
        input["glob"] = json!(glob);
    }
    event(project, "Grep", &input)
}

#[test]
fn a_search_outside_of_the_project_that_reaches_secrets_is_refused() {
    let project = with_secrets();
    std::os::unix::fs::symlink(project.beside("home"), project.path("link")).unwrap();
    for folder in [
        project.beside("home"),
        project.beside("home/.ssh"),
        project.beside("home/.aws"),
        project.beside("home/.config/gh"),
        project.beside("other"),
        project.beside(""),
        project.path("link"),
        "/".into(),
        "~".into(),
        "~/.ssh".into(),
        "$HOME".into(),
        "../home".into(),
    ] {
        for mode in ["default", "bypassPermissions"] {
            let mut call = grep(&project, Some(&folder), None);
            call["permission_mode"] = json!(mode);
            assert_eq!(decision(&project, &PRE, &call), "deny", "{}", folder.display());
        }
    }
    silent(&sent(&project, &PRE, &grep(&project, Some(&project.beside("home/notes")), None)));
}

#[test]
fn a_search_that_asks_for_a_secret_is_refused() {
    let project = with_secrets();
    for glob in [
        ".env",
        "**/.env",
        ".env*",
        "{.env,a}",
        "*.ts,.env",
        "*.ts .env",
        "/.env",
        "[.]env",
        "sub/.env.local",
    ] {
        let said = output(&sent(&project, &PRE, &grep(&project, None, Some(glob))));
        assert_eq!(said["permissionDecision"], "deny", "{glob}: {said}");
        let reason = said["permissionDecisionReason"].as_str().unwrap();
        assert!(reason.contains(".env") && reason.contains("instead: "), "{reason}");
    }
    let path = project.path(".env");
    assert_eq!(decision(&project, &PRE, &grep(&project, Some(&path), None)), "deny");
}

#[test]
fn a_search_of_the_project_leaves_secrets_out() {
    let project = with_secrets();
    for (path, glob, expected) in [
        (None, None, "!**/.env !**/sub/.env.local"),
        (Some(""), None, "!**/.env !**/sub/.env.local"),
        (Some("sub"), None, "!**/.env.local"),
        (None, Some("*"), "* !**/.env !**/sub/.env.local"),
        (None, Some("!*.md"), "!*.md !**/.env !**/sub/.env.local"),
        (None, Some("!**/.env"), "!**/.env !**/sub/.env.local"),
        (None, Some("!**/.env **/*"), "!**/.env **/* !**/.env !**/sub/.env.local"),
    ] {
        let path = path.map(|path| project.path(path));
        let call = grep(&project, path.as_deref(), glob);
        let said = output(&sent(&project, &PRE, &call));
        assert_eq!(said["permissionDecision"], "allow", "{call}: {said}");
        let mut input = call["tool_input"].clone();
        input["glob"] = json!(expected);
        assert_eq!(said["updatedInput"], input, "{call}");
        // A rewritten call passes as it is.
        silent(&sent(&project, &PRE, &event(&project, "Grep", &input)));
    }
    for (path, glob) in [
        (Some("clean"), None),
        (Some("a.ts"), None),
        (None, Some("*.ts")),
        (None, Some("!**/.env !**/sub/.env.local")),
    ] {
        let path = path.map(|path| project.path(path));
        silent(&sent(&project, &PRE, &grep(&project, path.as_deref(), glob)));
    }
}

/// The patterns, as ripgrep takes them; without them it reads the file.
#[test]
fn ripgrep_leaves_out_what_the_patterns_name() {
    let Ok(version) = Command::new("rg").arg("--version").output() else {
        return crate::support::skip("ripgrep", "rg is not installed");
    };
    assert!(version.status.success());
    let project = with_secrets();
    std::fs::create_dir(project.path("a b,c")).unwrap();
    std::fs::write(project.path("a b,c/.env"), "KEY=s3cret\n").unwrap();
    let search = |globs: &[&str]| {
        let mut rg = Command::new("rg");
        rg.args(["--hidden", "KEY"]).args(globs.iter().flat_map(|glob| ["--glob", glob]));
        let output = rg.arg(project.path("")).current_dir("/").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(search(&[]).contains("s3cret"));
    let said = output(&sent(&project, &PRE, &grep(&project, None, None)));
    let glob = said["updatedInput"]["glob"].as_str().unwrap().to_owned();
    let found = search(&glob.split_whitespace().collect::<Vec<_>>());
    assert!(found.contains("example") && !found.contains("s3cret"), "{glob}\n{found}");
}

#[test]
fn many_secrets_are_left_out_by_the_patterns_of_the_rules() {
    let project = with_secrets();
    for at in 0..40 {
        std::fs::create_dir(project.path(&format!("d{at}"))).unwrap();
        project.write(&format!("d{at}/.env"), "KEY=s3cret\n");
    }
    let path = policy(&project, "[rules]\ndeny = [\"Read(./private/**)\"]");
    let said =
        output(&sent(&project, &["pre", "--policy", &path], &grep(&project, None, Some("*"))));
    let glob = said["updatedInput"]["glob"].as_str().unwrap().to_owned();
    let globs: Vec<&str> = glob.split_whitespace().collect();
    assert_eq!(globs.first(), Some(&"*"), "{glob}");
    for expected in ["!**/.env", "!**/.env.*", "!**/private/**"] {
        assert!(globs.contains(&expected), "{glob}");
    }
}

#[test]
fn rules_of_the_user_and_hidden_folders_are_left_out_too() {
    let project = with_secrets();
    for folder in ["vault", "private"] {
        std::fs::create_dir(project.path(folder)).unwrap();
        project.write(&format!("{folder}/x"), "KEY");
    }
    let path = policy(&project, "box.hide = [\"vault\"]\n[rules]\ndeny = [\"Read(./private/**)\"]");
    let said = output(&sent(&project, &["pre", "--policy", &path], &grep(&project, None, None)));
    let expected = "!**/.env !**/private !**/sub/.env.local !**/vault";
    assert_eq!(said["updatedInput"]["glob"], expected, "{said}");
}

#[test]
fn other_tools_that_search_are_refused_where_they_would_read_a_secret() {
    let project = with_secrets();
    let home = project.beside("home");
    for (tool, input) in [
        ("search_file_content", json!({"pattern": "KEY"})),
        ("search_file_content", json!({"pattern": "KEY", "path": home})),
        ("grep_search", json!({"pattern": "KEY", "dir_path": "~"})),
        ("grep", json!({"pattern": "KEY"})),
        ("read_many_files", json!({"include": ["**/*"]})),
        ("read_many_files", json!({"paths": [".env"]})),
        ("mcp__fs__search_files", json!({"path": home, "pattern": "KEY"})),
        ("mcp__fs__searchFiles", json!({"path": home.join(".ssh"), "pattern": "KEY"})),
        ("mcp__fs__read_multiple_files", json!({"paths": ["a.ts", ".env"]})),
        ("mcp__fs__search_content", json!({"path": project.path(""), "query": "KEY"})),
    ] {
        let said = output(&sent(&project, &PRE, &event(&project, tool, &input)));
        assert_eq!(said["permissionDecision"], "deny", "{tool} {input}: {said}");
        let reason = said["permissionDecisionReason"].as_str().unwrap();
        assert!(!reason.contains("it writes"), "{tool} {input}: {reason}");
    }
    // Codex has no tool of this name that is known to leave files out.
    let codex = ["pre", "--format", "codex", "--mode", "auto"];
    assert_eq!(decision(&project, &codex, &grep(&project, None, None)), "deny");
    for (tool, input) in [
        ("search_file_content", json!({"pattern": "KEY", "path": "clean"})),
        ("search_file_content", json!({"pattern": "KEY", "include": "*.ts"})),
        ("mcp__fs__search_files", json!({"path": project.path(""), "pattern": "KEY"})),
        ("mcp__fs__list_directory", json!({"path": home})),
        ("mcp__fs__get_file_info", json!({"path": project.path("")})),
        ("mcp__github__search_code", json!({"q": "KEY"})),
        ("Glob", json!({"pattern": "**/*"})),
        ("LS", json!({"path": project.path("")})),
        ("WebSearch", json!({"query": "KEY"})),
    ] {
        silent(&sent(&project, &PRE, &event(&project, tool, &input)));
    }
}

/// Tools of servers and of other agents that show what is in files, by the words of their names.
#[test]
fn a_search_in_files_is_known_by_its_name_and_its_pattern() {
    let project = with_secrets();
    let root = project.path("");
    for (tool, input) in [
        ("mcp__ripgrep__search", json!({"pattern": "S", "path": root})),
        ("mcp__ripgrep__search", json!({"pattern": "S"})),
        ("mcp__ripgrep__advanced-search", json!({"pattern": "S", "path": root})),
        ("mcp__ripgrep__count-matches", json!({"pattern": "S", "path": root})),
        ("mcp__rg__search", json!({"path": root, "query": "S"})),
        ("mcp__code__search", json!({"path": root, "query": "S"})),
        ("mcp__x__find_in_files", json!({"directory": ".", "text": "S"})),
        ("mcp__x__search_files", json!({"path": ".", "regex": "S"})),
        ("codebase_search", json!({"query": "S", "target_directories": ["."]})),
        ("codebase_search", json!({"query": "S"})),
        ("Search", json!({"pattern": "S"})),
        ("Search", json!({"query": "S", "path": root})),
        ("read_many_files", json!({"paths": ["."]})),
        ("read_many_files", json!({"paths": ["sub/"]})),
        ("read_many_files", json!({"paths": [root]})),
        ("read_many_files", json!({"paths": ["*.ts", "./sub"]})),
    ] {
        for mode in ["default", "bypassPermissions"] {
            let mut call = event(&project, tool, &input);
            call["permission_mode"] = json!(mode);
            let told = sent(&project, &PRE, &call);
            assert!(told.stdout.contains("deny"), "{tool} {input} {mode}: {told:?}");
        }
    }
    for (tool, input) in [
        ("mcp__ripgrep__search", json!({"pattern": "S", "path": project.path("clean")})),
        ("mcp__ripgrep__list-files", json!({"path": root})),
        ("mcp__fs__find_files", json!({"path": root, "pattern": "*"})),
        ("mcp__fs__glob", json!({"path": root, "pattern": "*"})),
        ("mcp__notion__search", json!({"query": "S"})),
        ("mcp__grep__searchGitHub", json!({"query": "S"})),
        ("mcp__brave__brave_web_search", json!({"query": "S"})),
        ("ToolSearch", json!({"query": "S"})),
        ("file_search", json!({"query": "S"})),
        ("google_web_search", json!({"query": "S"})),
        ("read_many_files", json!({"paths": ["a.ts", "clean"]})),
        ("read_many_files", json!({"paths": ["**/*.ts"]})),
    ] {
        silent(&sent(&project, &PRE, &event(&project, tool, &input)));
    }
    let many: Vec<String> = (0..20).map(|at| format!("many/{at}")).collect();
    for name in &many {
        std::fs::create_dir_all(project.path(name)).unwrap();
    }
    let search = event(&project, "mcp__rg__search", &json!({"pattern": "S", "paths": many}));
    assert_eq!(decision(&project, &PRE, &search), "deny");
}

#[test]
fn names_in_the_home_folder_and_in_folders_of_secrets_are_not_listed_by_patterns() {
    let project = with_secrets();
    let home = project.beside("home");
    for input in [
        json!({"pattern": "**/*", "path": home}),
        json!({"pattern": "*", "path": "~/.ssh"}),
        json!({"pattern": "*", "path": home.join(".ssh")}),
        json!({"pattern": home.join(".ssh/*")}),
        json!({"pattern": "~/.ssh/id_*"}),
        json!({"pattern": "../home/**"}),
        json!({"pattern": ".ssh/*", "path": home}),
        json!({"pattern": "/**/id_*"}),
    ] {
        for tool in ["Glob", "glob", "mcp__fs__glob"] {
            let said = decision(&project, &PRE, &event(&project, tool, &input));
            assert_eq!(said, "deny", "{tool} {input}");
        }
    }
    for input in [
        json!({"pattern": "**/*"}),
        json!({"pattern": ".env*"}),
        json!({"pattern": "src/**/*.rs", "path": project.path("")}),
        json!({"pattern": "*.md", "path": home.join("notes")}),
        json!({"pattern": home.join("notes/*.md")}),
        json!({"pattern": "/usr/include/*.h"}),
    ] {
        silent(&sent(&project, &PRE, &event(&project, "Glob", &input)));
    }
}
