//! Who is short of something is told so, and not that its call is at fault.

use std::process::Command;

use crate::support::{Project, Told};

/// `stockade` with so many descriptors at most.
fn with_descriptors(project: &Project, most: u32, args: &[&str]) -> Told {
    let stockade = project.command(args);
    let mut limited = Command::new("sh");
    limited.args(["-c", &format!("ulimit -n {most}; exec \"$@\""), "sh"]);
    limited.arg(stockade.get_program()).args(stockade.get_args());
    limited.current_dir(project.path("")).env_clear();
    limited.envs(stockade.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Told::from(limited.output().unwrap())
}

#[test]
fn a_program_of_the_project_is_not_elsewhere_for_want_of_descriptors() {
    let project = Project::new();
    project.script("here.sh", "#!/bin/sh\necho ran\n");
    let (mut ran, mut short) = (0, 0);
    for tier in ["process", "jail"] {
        for most in (6..40).step_by(2).chain([256]) {
            let told =
                with_descriptors(&project, most, &["run", "--tier", tier, "--", "./here.sh"]);
            let what = format!("{tier} with {most}: {told:?}");
            assert!(!told.stderr.contains(message!("name.neither-beneath-project-root")), "{what}");
            match told.code {
                0 => ran += u32::from(told.stdout == "ran\n"),
                _ => {
                    assert!(!told.stdout.contains("ran"), "{what}");
                    short += u32::from(told.stderr.contains("ulimit -n"));
                }
            }
        }
    }
    assert!(ran >= 2 && short >= 2, "{ran} ran, {short} were short");
}
