//! Secrets by every name that a tool's input can have for them, and what shipped rules about reading
//! leave alone: creating, replacing and deleting.

use serde_json::{Value, json};

use super::{bash, boxed, decision, event, output, sent, silent};
use crate::support::Project;

const PRE: [&str; 3] = ["pre", "--mode", "auto"];

fn with_env() -> Project {
    let project = Project::new();
    std::fs::create_dir_all(project.beside("home/.aws")).unwrap();
    std::fs::write(project.beside("home/.aws/credentials"), "s3cret").unwrap();
    std::fs::create_dir(project.path("sub")).unwrap();
    project.write(".env", "KEY=s3cret\n");
    project.write("a.txt", "KEY=public\n");
    project
}

#[test]
fn a_path_is_read_in_every_shape() {
    let project = with_env();
    std::os::unix::fs::symlink(".env", project.path("link.txt")).unwrap();
    std::os::unix::fs::symlink(project.beside("home"), project.path("folder")).unwrap();
    let folder = project.path("");
    let folder = folder.to_str().unwrap().trim_end_matches('/');
    for path in [
        json!([".env"]),
        json!(["a.txt", ".env"]),
        json!({"path": ".env"}),
        json!(".env\n"),
        json!(".env\0.txt"),
        json!("  .env"),
        json!("./sub/../.env"),
        json!(".ENV"),
        json!("link.txt"),
        json!("folder/.aws/credentials"),
        json!(format!("file://{folder}/%2eenv")),
        json!(format!("FILE://localhost{folder}/%2Een%76")),
        json!(format!("file:{folder}/.env")),
        json!(format!("file://{folder}/.env?x=1#y")),
        json!(format!("file://{folder}\\.env")),
        json!("~/.aws/credentials"),
        json!("$HOME/.aws/sso.json"),
        json!("${HOME}/.aws/sso.json"),
        json!("~/../home/.aws/sso.json"),
    ] {
        for (tool, field) in
            [("Read", "file_path"), ("mcp__fs__get", "uri"), ("mcp__fs__view", "imagePath")]
        {
            let call = event(&project, tool, &json!({field: path}));
            assert_eq!(decision(&project, &PRE, &call), "deny", "{tool} {field} {path}");
        }
    }
    for path in [
        json!("a.txt"),
        json!(["a.txt"]),
        json!(format!("file://{folder}/a.txt")),
        json!("a.txt\n"),
        json!("sub/%2eenv"),
        json!("sub\\.env"),
        json!(".env.example"),
    ] {
        silent(&sent(&project, &PRE, &event(&project, "Read", &json!({"file_path": path}))));
    }
}

#[test]
fn a_secret_can_be_replaced_and_deleted_but_not_read() {
    let project = with_env();
    for line in ["rm .env", "echo A=1 > .env", "echo A=1 >> .env", "cp a.txt .env", "touch .env"] {
        assert_eq!(decision(&project, &PRE, &bash(&project, line)), "allow", "{line}");
    }
    for line in
        ["cat .env", "cp .env b", "mv .env b", "ln .env b", "sed -i s/a/b/ .env", "dd if=.env of=b"]
    {
        assert_eq!(decision(&project, &PRE, &bash(&project, line)), "deny", "{line}");
    }
    let file = project.path(".env");
    let patched =
        |inside: &str| json!({"command": format!("*** Begin Patch\n{inside}\n*** End Patch")});
    for (tool, input) in [
        ("Write", json!({"file_path": file, "content": "x"})),
        ("write_file", json!({"file_path": file, "content": "x"})),
        ("mcp__fs__write_file", json!({"path": file, "content": "x"})),
        ("delete_file", json!({"path": file})),
        ("apply_patch", patched("*** Add File: .env\n+x")),
        ("apply_patch", patched("*** Delete File: .env")),
    ] {
        silent(&sent(&project, &PRE, &event(&project, tool, &input)));
    }
    for (tool, input) in [
        ("Edit", json!({"file_path": file, "old_string": "a", "new_string": "b"})),
        ("MultiEdit", json!({"file_path": file, "edits": []})),
        ("mcp__fs__edit_file", json!({"path": file, "edits": []})),
        ("mcp__fs__move_file", json!({"source": file, "destination": "b"})),
        ("mcp__fs__copy_file", json!({"source": file, "destination": "b"})),
        ("apply_patch", patched("*** Update File: .env\n@@\n-a\n+b")),
        ("apply_patch", patched("*** Update File: .env\n*** Move to: b\n@@\n-a\n+b")),
    ] {
        let call = event(&project, tool, &input);
        assert_eq!(decision(&project, &PRE, &call), "deny", "{tool} {input}");
    }
}

/// A hidden file has a cover in the sandbox, which can neither be written nor removed.
#[test]
fn a_line_that_fails_on_a_hidden_file_is_told_why() {
    let project = with_env();
    for line in ["rm .env", "echo A=1 > .env"] {
        let said = output(&sent(&project, &PRE, &bash(&project, line)));
        let ran = boxed::run(&project, said["updatedInput"]["command"].as_str().unwrap());
        assert_ne!(ran.code, 0, "{line}: {ran:?}");
        assert!(
            ran.stderr.contains(message!(".env\" {}" => "visibility.hidden")),
            "{line}: {ran:?}"
        );
    }
    assert_eq!(std::fs::read_to_string(project.path(".env")).unwrap(), "KEY=s3cret\n");
    // A file that is not there yet is created.
    std::fs::remove_file(project.path(".env")).unwrap();
    let said = output(&sent(&project, &PRE, &bash(&project, "echo A=1 > .env")));
    let ran = boxed::run(&project, said["updatedInput"]["command"].as_str().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
}

#[test]
fn a_patch_for_an_environment_is_judged_by_its_files() {
    let project = with_env();
    let pre = ["pre", "--format", "codex", "--mode", "auto"];
    let patch = |inside: &str| {
        let patch = format!("*** Begin Patch\n{inside}\n*** End Patch\n");
        event(&project, "apply_patch", &json!({"command": patch}))
    };
    silent(&sent(&project, &pre, &patch("*** Environment ID: local\n*** Add File: b.txt\n+x")));
    for inside in [
        "*** Environment ID: local\n*** Add File: .claude/settings.json\n+{}",
        "*** Environment ID: local\n*** Add File: ../b.txt\n+x",
        "*** Environment ID: \n*** Add File: b.txt\n+x",
        "*** Environment ID: a\n*** Environment ID: b\n*** Add File: b.txt\n+x",
        "*** Add File: b.txt\n+x\n*** Environment ID: a",
    ] {
        assert_eq!(decision(&project, &pre, &patch(inside)), "deny", "{inside}");
    }
}

#[test]
fn metadata_addresses_are_refused_in_every_spelling() {
    let project = Project::new();
    let fetch = |url: &str| event(&project, "WebFetch", &json!({"url": url, "prompt": "p"}));
    for url in [
        "http://169.254.169.254/latest",
        "http:\\\\169.254.169.254/x",
        "http:169.254.169.254",
        "http:/169.254.169.254/",
        "//169.254.169.254/x",
        "169.254.169.254/x",
        " ht\ntp://169.254.169.254",
        "HTTP://2852039166/",
        "http://0xa9.0xfe.0xa9.0xfe/",
        "http://0251.0376.0251.0376",
        "http://169.254.43518",
        "http://0xa9fea9fe.",
        "http://u:p@169.254.169.254:80/",
        "http://a@b@169.254.169.254",
        "http://169.254.169.254\\@example.org/",
        "http://%31%36%39.254.169.254/",
        "http://\u{ff11}\u{ff16}\u{ff19}.\u{ff12}\u{ff15}\u{ff14}.169.254/",
        "http://169\u{3002}254\u{ff0e}169\u{ff61}254/",
        "http://\u{2460}\u{2465}\u{2468}.254.169.254/",
        "http://[::ffff:169.254.169.254]/",
        "http://[::ffff:a9fe:a9fe]",
        "http://[::169.254.169.254]/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://METADATA.google.internal./",
        "http://met\u{ad}adata.google.internal/",
        "http://\u{24dc}etadata.google.internal/",
    ] {
        assert_eq!(decision(&project, &PRE, &fetch(url)), "deny", "{url:?}");
    }
    for url in ["http://exa mple/", "http://\u{212f}xample.org/", "http://[::1"] {
        assert_eq!(decision(&project, &PRE, &fetch(url)), "ask", "{url:?}");
    }
    for url in [
        "https://example.org/169.254.169.254",
        "https://example.org/?u=http://169.254.169.254/",
        "https://example.org\\@169.254.169.254/",
        "http://example.org#@169.254.169.254/",
        "https://m\u{fc}nchen.de/",
        "https://example.org:8443/x",
        "http://localhost:3000/",
    ] {
        silent(&sent(&project, &PRE, &fetch(url)));
    }
    let words = json!({"link": "see the page", "url": "not here"});
    silent(&sent(&project, &PRE, &event(&project, "mcp__chat__post", &words)));
    let other: [(&str, Value); 4] = [
        ("web_fetch", json!({"prompt": "read http://169.254.169.254/latest please"})),
        ("mcp__web__get", json!({"url": "http:169.254.169.254"})),
        ("mcp__web__get_all", json!({"urls": ["https://a.example", "http:169.254.169.254"]})),
        ("WebFetch", json!({"url": "file:///etc/shadow", "prompt": "p"})),
    ];
    for (tool, input) in other {
        let call = event(&project, tool, &input);
        assert_eq!(decision(&project, &PRE, &call), "deny", "{tool} {input}");
    }
}
