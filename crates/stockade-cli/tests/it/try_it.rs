//! The seven steps that the project's fourth seed asks people to try.

use crate::support::{Project, Told};

/// The seed's own rules. It writes `Read(//.env)` for any `.env`, which is `Read(.env)` here.
/// In mode `auto` the box would spare the question of step 5.
const RULES: &str = r#"mode = "default"
[rules]
deny = ["Bash(rm -rf *)", "Bash(sudo *)", "Bash(shutdown*)", "Read(.env)", "Read(//etc/passwd)"]
ask = ["Bash", "write_file", "edit_file"]
allow = ["read_file", "permission_check", "permission_list"]
"#;

fn read(project: &Project, path: &str) -> Told {
    let call = serde_json::json!({"tool": "read_file", "input": {"file_path": path}});
    project.fed(&["check", "call"], call.to_string().as_bytes())
}

#[test]
fn the_seven_steps_work_as_written() {
    let project = Project::new();
    project.write("stockade.toml", RULES);
    project.write(".env", "SECRET=1\n");
    project.write("README.md", "hello\n");
    assert_eq!(project.stockade(&["trust", "--yes"]).code, 0);

    // 1. List the current permission rules.
    let told = project.stockade(&["rules", "list"]);
    assert_eq!(told.code, 0, "{told:?}");
    for words in ["deny\n  Bash(rm -rf *)", "ask\n  Bash ", "allow\n  read_file", "stockade.toml:3"]
    {
        assert!(told.stdout.contains(words), "{words:?} in {told:?}");
    }
    // 2. Try to read the .env file: denied.
    let told = read(&project, ".env");
    assert_eq!((told.code, told.stdout.contains("deny by Read(.env)")), (126, true), "{told:?}");
    // 3. Try to run rm -rf /: denied.
    let told = project.stockade(&["shell", "rm -rf /"]);
    assert_eq!((told.code, told.stderr.contains("Bash(rm -rf *)")), (126, true), "{told:?}");
    // 4. Read a normal file in the workspace: allowed.
    let told = read(&project, "README.md");
    assert_eq!((told.code, told.stdout.as_str()), (0, "allow by read_file (./stockade.toml:5)\n"));
    // 5. Run echo hello world: goes through the ask rule.
    let told = project.stockade(&["check", "shell", "echo hello world"]);
    assert_eq!((told.code, told.stdout.contains("ask by Bash ")), (3, true), "{told:?}");
    let told = project.stockade(&["shell", "echo hello world"]);
    assert_eq!(
        (told.code, told.stderr.contains(message!("question.person-allow-nobody-can"))),
        (126, true),
        "{told:?}"
    );
    // 6. Add a deny rule for Bash(curl *), then try to run curl example.com.
    let told = project.stockade(&["rules", "add", "--deny", "Bash(curl *)"]);
    assert_eq!(told.code, 0, "{told:?}");
    let told = project.stockade(&["shell", "curl example.com"]);
    assert_eq!((told.code, told.stderr.contains("Bash(curl *)")), (126, true), "{told:?}");
    // 7. Check which rules apply to the bash tool.
    let told = project.stockade(&["rules", "list", "--tool", "bash"]);
    for rule in ["Bash(rm -rf *)", "Bash(curl *)", "Read(.env)", "  Bash "] {
        assert!(told.stdout.contains(rule), "{rule:?} in {told:?}");
    }
    assert!(!told.stdout.contains("permission_check"), "{told:?}");
}
