//! What is required is kept or nothing runs, also where only the launch sees that it cannot be.

use std::fs;

use stockade::Policy;
use stockade::guarantee::{Guarantee, Kept};

use crate::support::{Project, exec, kept, skip, text};

/// The shipped policy that hides one file of the project.
fn hiding() -> Policy {
    let mut policy = Policy::shipped();
    policy.files.hide = vec!["secret".into()];
    policy
}

fn project() -> Option<Project> {
    let project = Project::new();
    fs::write(project.path("secret"), "hunter2\n").unwrap();
    project.script("mark.sh", "cat secret; touch spawned; cat other\n");
    let report = project.run_with(hiding(), exec(&["true"]));
    if report["ok"] != true {
        skip("userns", &format!("no box can be made here: {}", report["failure"]["message"]));
        return None;
    }
    Some(project)
}

/// A file that is hidden under one name and has another ran with a note before, though reads were
/// required to be kept fully; then it did not run; now both names are hidden. What cannot be found
/// still fails: `reach.rs`.
#[test]
fn a_hidden_file_with_another_name_is_hidden_by_both() {
    let Some(project) = project() else { return };
    fs::hard_link(project.path("secret"), project.path("other")).unwrap();
    let report = project.run_with(hiding(), exec(&["sh", "mark.sh"]));
    assert_eq!((kept(&report, "reads"), text(&report, "stdout")), ("full", ""), "{report}");
    assert!(project.path("spawned").exists(), "{report}");
}

#[test]
fn full_protection_of_paths_that_are_not_there_is_a_promise_or_a_failure() {
    let Some(project) = project() else { return };
    let mut policy = Policy::shipped();
    policy.require.insert(Guarantee::Protected, Kept::Full);
    let report = project.run_with(policy, exec(&["sh", "mark.sh"]));
    if report["failure"].is_null() {
        assert_eq!(kept(&report, "protected"), "full", "{report}");
    } else {
        assert_eq!(report["failure"]["guarantee"], "protected", "{report}");
        assert!(!project.path("spawned").exists());
    }
}
