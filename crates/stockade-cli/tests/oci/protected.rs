//! Protected folders in containers and on a kernel of its own: what in them stays writable, and what
//! does not become so by a secret that is hidden further down.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use crate::support::{Project, Tier, report};

#[test]
fn working_trees_are_written_and_the_rest_of_protected_folders_is_not() {
    for tier in [Tier::Container, Tier::Gvisor] {
        let Some(project) = Project::new(tier) else { continue };
        for name in [".claude/settings.json", ".claude/worktrees/file", ".claude/worktrees/x/.env"]
        {
            project.write(name, "secret");
        }
        // A hidden file in a protected folder must not make the folder that holds it writable.
        for name in [".vscode/settings.json", ".vscode/sub/.env", "plain/sub/.env"] {
            project.write(name, "secret");
        }
        let script = "cat .claude/worktrees/x/.env .vscode/sub/.env
            mv .claude/worktrees/x .claude/worktrees/y; mv .vscode/sub .vscode/moved; mv .claude moved
            for name in .claude .claude/worktrees .claude/worktrees/x .vscode .vscode/sub plain/sub; do
                echo forged > $name/new && echo $name
            done; true\n";
        project.write("script.sh", script);
        let words = project.run_args(&[], &["sh", "script.sh"]);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let report = report(project.command(&words));
        let expected = ".claude/worktrees\n.claude/worktrees/x\nplain/sub\n";
        assert_eq!(report["stdout"], expected, "{tier:?}: {report}");
        let created = |name: &str| fs::metadata(project.root().join(name)).is_ok();
        assert!(created(".claude/worktrees/x/new") && !created(".vscode/sub/new"), "{tier:?}");
    }
}

/// Runtimes take descriptions in UTF-8. A program can create such a name, which must not stop the next call.
#[test]
fn a_secret_behind_a_name_that_is_not_text_is_left_as_it_is_and_said() {
    for tier in [Tier::Container, Tier::Gvisor] {
        let Some(project) = Project::new(tier) else { continue };
        project.write("plain/.env", "secret\n");
        let folder = project.root().join(OsStr::from_bytes(b"\xff"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(".env"), "secret\n").unwrap();
        project.write("script.sh", "cat plain/.env; echo end\n");
        let words = project.run_args(&[], &["sh", "script.sh"]);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let seen = report(project.command(&words));
        assert_eq!(seen["stdout"], "end\n", "{tier:?}: {seen}");
        let lines = seen["enforcement"].as_array().unwrap();
        let reads = lines.iter().find(|line| line["guarantee"] == "reads").unwrap();
        assert_eq!(reads["kept"], "partial", "{tier:?}: {seen}");
        assert!(reads["note"].to_string().contains("not UTF-8"), "{tier:?}: {seen}");
        // A rule of the user fails closed.
        project.policy("hide = [\"*.key\"]");
        fs::write(folder.join("a.key"), "secret\n").unwrap();
        let failed = report(project.command(&words));
        assert!(failed["failure"].is_object(), "{tier:?}: {failed}");
    }
}
