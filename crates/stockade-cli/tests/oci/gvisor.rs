//! A kernel of its own, on the programs of this machine.

use std::fs;

use crate::support::{Project, Tier, kept, text};

fn project() -> Option<Project> {
    let project = Project::new(Tier::Gvisor)?;
    fs::write(project.beside("policy.toml"), "box.tier = 'gvisor'\n").unwrap();
    Some(project)
}

#[test]
fn the_programs_of_this_machine_run_on_another_kernel() {
    let Some(project) = project() else { return };
    let report = project.sh(&[], "cat /proc/version\n");
    assert_eq!(report["exit_code"], 0, "{report}");
    assert_ne!(text(&report, "stdout"), fs::read_to_string("/proc/version").unwrap());
    assert_eq!(kept(&report, "kernel"), "full");
    let report = project.sh(&[], "echo x > /usr/x || echo x > /etc/x || echo refused\n");
    assert_eq!(text(&report, "stdout"), "refused\n", "{report}");
    project.nothing_is_left("none");
}

#[test]
fn folders_of_the_machine_besides_the_systems_are_not_there() {
    let Some(project) = project() else { return };
    for path in ["/root", "/home", "/var", "/boot", "/srv"] {
        let report = project.sh(&[], &format!("cd {path} 2>/dev/null || echo nothing\n"));
        assert_eq!(text(&report, "stdout"), "nothing\n", "{path}: {report}");
    }
}

#[test]
fn a_plan_says_that_there_is_another_kernel() {
    let Some(project) = project() else { return };
    let policy = project.beside("policy.toml");
    let args = ["check", "run", "--explain", "--policy", policy.to_str().unwrap(), "--", "true"];
    let output = project.command(&args).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains(message!("text.start-kernel-own-gvisor")), "{shown}");
}
