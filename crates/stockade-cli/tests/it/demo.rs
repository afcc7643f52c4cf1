//! `stockade demo`.

use crate::support::Project;

#[test]
fn every_call_comes_out_as_expected() {
    let project = Project::new();
    let told = project.stockade(&["demo"]);
    assert_eq!(told.code, 0, "{}", told.stdout);
    assert!(!told.stdout.contains("FAIL"), "{}", told.stdout);
    assert!(told.stdout.contains("tier    jail\n  kept full"), "{}", told.stdout);
    let told = project.stockade(&["demo", "--json"]);
    assert_eq!(told.code, 0);
    let shown = told.json();
    assert_eq!((&shown["ok"], &shown["tier"]), (&true.into(), &"jail".into()));
    let calls = shown["calls"].as_array().unwrap();
    assert!(calls.len() >= 30, "{}", calls.len());
    for call in calls {
        assert_eq!(call["as_expected"], true, "{call}");
        assert!(call["label"].is_string() && call["report"]["tool"].is_string());
    }
    // Neither the project nor the journal of the demo stays.
    for entry in std::fs::read_dir(project.beside("tmp")).unwrap().flatten() {
        assert!(!entry.file_name().to_string_lossy().contains("demo"), "{entry:?}");
    }
    assert!(!project.journal().exists());
}

#[test]
fn the_tier_can_be_chosen_and_what_it_does_not_keep_is_told() {
    let told = Project::new().stockade(&["demo", "--tier", "process"]);
    assert_eq!(told.code, 0, "{}", told.stdout);
    let none = told.stdout.lines().find(|line| line.contains("kept none")).unwrap();
    assert!(none.contains("writes reads") && none.contains("network"), "{none}");
    let told = Project::new().stockade(&["demo", "--tier", "microvm"]);
    assert_eq!((told.code, told.stdout.as_str()), (125, ""));
    assert!(told.stderr.contains(message!("microvm {}" => "plan.not-in-this-version")), "{told:?}");
    let told = Project::new().stockade(&["demo", "--tier", "container"]);
    assert_eq!((told.code, told.stdout.as_str()), (125, ""));
    assert!(told.stderr.contains("remedy: "), "an image or an engine is missing: {told:?}");
}
