//! `stockade doctor`.

use crate::support::Project;

#[test]
fn names_every_mechanism_and_a_remedy_for_each_that_is_not_there() {
    let told = Project::new().stockade(&["doctor", "--json"]);
    let found = told.json();
    let mechanisms = found["mechanisms"].as_array().unwrap();
    for name in ["namespaces", "network-namespace", "new-root", "landlock", "seccomp"] {
        assert!(mechanisms.iter().any(|one| one["mechanism"] == name), "{name}: {told:?}");
    }
    for one in mechanisms {
        assert!(one["works"] == true || one["remedy"].is_string(), "{one}");
        assert!(!one["keeps"].as_array().unwrap().is_empty(), "{one}");
    }
    assert_eq!(told.code, i32::from(found["ok"] != true));
}

#[test]
fn tells_a_person_in_one_line_each() {
    let told = Project::new().stockade(&["doctor"]);
    assert!(told.stdout.lines().any(|line| line.contains("landlock")), "{told:?}");
    assert!(!told.stdout.contains('\u{1b}'), "{told:?}");
}
