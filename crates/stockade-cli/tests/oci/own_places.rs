//! Stockade's own places are in no container and on no kernel of its own, where the project holds them.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Project, Tier, report};

/// A file of ours in the project, with the variable that puts it there.
const PLACES: [(&str, &str, &str); 3] = [
    ("XDG_STATE_HOME", "own", "own/stockade/secret"),
    ("XDG_DATA_HOME", "own", "own/stockade/images/secret"),
    ("XDG_CONFIG_HOME", "own", "own/stockade/stockade.toml"),
];

#[test]
fn what_is_stockades_own_is_not_changed_in_either_tier() {
    for tier in [Tier::Container, Tier::Gvisor] {
        for (variable, folder, name) in PLACES {
            let Some(project) = Project::new(tier) else { continue };
            let is_policy = name.ends_with("toml");
            project.write(name, "# secret");
            project.write("other/file", "# secret");
            let above = Path::new(name).parent().unwrap().display();
            let script = format!(
                "cat {name}; echo forged > {name}; echo forged > new; mv -f new {name}; rm -f {name}; \
                 mv {above} aside; mv {folder} moved; mkdir -p {above}; echo forged > {name}; \
                 cat other/file; echo forged > other/file; true\n"
            );
            project.write("script.sh", &script);
            let words = project.run_args(&[], &["sh", "script.sh"]);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let mut command = project.command(&words);
            command.env(variable, project.root().join(folder));
            if tier == Tier::Gvisor && variable == "XDG_DATA_HOME" {
                // The image is kept there.
                fs::write(project.beside("policy.toml"), "box.tier = 'gvisor'\n").unwrap();
            }
            let report = report(command);
            let seen = report["stdout"].as_str().unwrap_or_default().matches("# secret").count();
            // The control is the file beside it.
            assert_eq!(seen, 1 + usize::from(is_policy), "{tier:?} {name}: {report}");
            let now = fs::read_to_string(project.root().join(name)).ok();
            assert_eq!(now.as_deref(), Some("# secret"), "{tier:?} {name}: {report}");
            let now = fs::read_to_string(project.root().join("other/file")).unwrap();
            assert_eq!(now, "forged\n", "the control: {report}");
        }
    }
}

/// Neither an engine nor `runsc` can keep a link in its place.
#[test]
fn a_program_that_was_started_by_a_link_in_the_project_runs_nothing_there() {
    for tier in [Tier::Container, Tier::Gvisor] {
        let Some(project) = Project::new(tier) else { continue };
        let program = project.root().join("program/stockade");
        fs::create_dir(project.root().join("program")).unwrap();
        crate::support::copy_program(env!("CARGO_BIN_EXE_stockade"), &program);
        std::os::unix::fs::symlink("program", project.root().join("link")).unwrap();
        let words = project.run_args(&[], &["echo", "ran"]);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        for (name, runs) in [("program/stockade", true), ("link/stockade", false)] {
            let typed = project.command(&words);
            let mut command = Command::new(project.root().join(name));
            command.args(typed.get_args()).current_dir(project.root());
            command.envs(typed.get_envs().filter_map(|(name, value)| Some((name, value?))));
            let report = report(command);
            assert_eq!(report["ok"], runs, "{tier:?} {name}: {report}");
            let why = report["failure"]["message"].as_str().unwrap_or_default();
            assert_eq!(
                why.contains(message!("own.link-stockade-started-sandbox")),
                !runs,
                "{tier:?} {name}: {report}"
            );
        }
    }
}
