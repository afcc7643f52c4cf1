//! The file of a hook: a changed one is not run, and a call cannot change it.

use std::fs;

use stockade::ToolCall;

use super::{echo, hooked};
use crate::jail;
use crate::support::{Project, json as report_of, text};

#[test]
fn a_hook_whose_file_has_changed_refuses() {
    let project = Project::new();
    project.script("guard.sh", "#!/bin/sh\nexit 0\n");
    let guard = project.path("guard.sh");
    let declared = format!("[[hook]]\nevent = 'pre'\ncommand = ['{}']\n", guard.display());
    let stockade = project.open(hooked(&project, &declared));
    assert!(stockade.run(echo()).ok());
    // Touched, but the same.
    project.script("guard.sh", "#!/bin/sh\nexit 0\n");
    assert!(stockade.run(echo()).ok());
    project.script("guard.sh", "#!/bin/sh\nexit 0 # really\n");
    let report = report_of(&stockade.run(echo()));
    assert!(text(&report, "reason").contains(message!("run.changed-since-policy")), "{report}");
    fs::remove_file(guard).unwrap();
    assert!(stockade.run(echo()).denied());
}

#[test]
fn a_call_in_the_jail_cannot_write_the_file_of_a_hook() {
    let Some(project) = jail::project() else { return };
    project.script("guard.sh", "#!/bin/sh\nexit 0\n");
    let declared =
        format!("[[hook]]\nevent = 'pre'\ncommand = ['{}']\n", project.path("guard.sh").display());
    let hooks = hooked(&project, &declared).hooks;
    let attack = "echo evil >> guard.sh; mv guard.sh x; rm guard.sh; ln -sf /bin/true guard.sh; cat guard.sh; true";
    // Without the hook it is a file like any other.
    let control = project
        .run_with(jail::jailed(|_| {}), ToolCall::line("echo evil >> guard.sh; cat guard.sh"));
    assert!(text(&control, "stdout").contains("evil"), "{control}");
    project.script("guard.sh", "#!/bin/sh\nexit 0\n");
    let report =
        project.run_with(jail::jailed(|policy| policy.hooks = hooks), ToolCall::line(attack));
    assert_eq!(text(&report, "stdout"), "#!/bin/sh\nexit 0\n", "{report}");
    assert_eq!(fs::read_to_string(project.path("guard.sh")).unwrap(), "#!/bin/sh\nexit 0\n");
}
