//! Containers alone: what the engine is told, and what it says that it did.

use crate::support::{Project, Tier, kept, text};

#[test]
fn a_runtime_with_a_kernel_of_its_own_is_told_apart() {
    let (Some(project), Some(_)) = (Project::new(Tier::Container), Project::new(Tier::Gvisor))
    else {
        return;
    };
    let own = std::fs::read_to_string("/proc/version").unwrap();
    let owner = || std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/dev/null").unwrap());
    let before = owner();
    let report = project.sh(&[], "cat /proc/version\n");
    assert_eq!((text(&report, "stdout"), kept(&report, "kernel")), (own.as_str(), "none"));
    let runsc = std::process::Command::new("sh").args(["-c", "command -v runsc"]).output().unwrap();
    let runsc = String::from_utf8(runsc.stdout).unwrap();
    project.policy(&format!("runtime = \"{}\"", runsc.trim()));
    let report = project.sh(&[], "cat /proc/version\n");
    assert_eq!((&report["exit_code"], kept(&report, "kernel")), (&0.into(), "full"), "{report}");
    assert_ne!(text(&report, "stdout"), own);
    assert_eq!(owner(), before, "the host's device");
    project.nothing_is_left("none");
}

#[test]
fn a_plan_shows_every_step_and_runs_nothing() {
    let Some(project) = Project::new(Tier::Container) else { return };
    let args = project.run_args(&["--explain"], &["true"]);
    let args: Vec<&str> = args.iter().skip(1).map(String::as_str).collect();
    let args: Vec<&str> = args.into_iter().filter(|word| *word != "--json").collect();
    let output = project.command(&[&["check", "run"], args.as_slice()].concat()).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    for step in [
        message!("text.create-container-image-named"),
        "read-only",
        message!("text.kill-remove-container"),
    ] {
        assert!(shown.contains(step), "{step}: {shown}");
    }
    project.nothing_is_left("none");
}

#[test]
fn without_an_image_there_is_no_container() {
    let Some(project) = Project::new(Tier::Container) else { return };
    project.policy("");
    std::fs::write(project.beside("policy.toml"), "box.tier = 'container'\n").unwrap();
    let report = project.run(&["true"]);
    assert_eq!(report["failure"]["kind"], "find-image", "{report}");
    assert!(
        text(&report["failure"], "remedy").contains(message!("container.name-one-box-image")),
        "{report}"
    );
}
