//! Having the supervisor touch a path outside of the project, which the file of an untrusted project names.

use std::time::Duration;

use crate::support::{Project, Told, eventually};

#[test]
fn a_path_outside_in_an_untrusted_projects_lists_is_an_error_with_its_line() {
    let project = Project::new();
    std::fs::create_dir(project.beside("out")).unwrap();
    std::os::unix::fs::symlink(project.beside("out"), project.path("link")).unwrap();
    let outside = project.beside("out/x").display().to_string();
    for key in ["hide", "protect"] {
        for entry in
            [outside.as_str(), "~/x", "~/x*", "/etc/*", "/**/x", "link/x", "link/x*", "/etc/passwd"]
        {
            project.write("stockade.toml", &format!("[box]\n{key} = [\"ok\",\n  \"{entry}\"]\n"));
            let told = project.stockade(&["shell", "true"]);
            assert_eq!(told.code, 125, "{key} {entry}: {told:?}");
            assert!(told.stderr.contains("line 3"), "{key} {entry}: {told:?}");
            assert!(told.stderr.contains("outside the project"), "{key} {entry}: {told:?}");
        }
        // The controls: a trusted file may name it, and the project's a path inside.
        std::fs::remove_file(project.path("stockade.toml")).unwrap();
        let trusted = project.beside("trusted.toml");
        std::fs::write(&trusted, format!("[box]\n{key} = [\"{outside}\"]\n")).unwrap();
        let told = project.stockade(&["shell", "--policy", trusted.to_str().unwrap(), "true"]);
        assert_eq!(told.code, 0, "{key}: {told:?}");
        let inside = project.path("a").display().to_string();
        for entry in [inside.as_str(), "a/b", "a*", "**/x", "link"] {
            project.write("stockade.toml", &format!("[box]\n{key} = [\"{entry}\"]\n"));
            let told = project.stockade(&["shell", "true"]);
            assert_eq!(told.code, 0, "{key} {entry}: {told:?}");
        }
    }
}

/// What the host makes elsewhere stays where it is, and the call goes on.
#[test]
fn rules_of_an_untrusted_project_about_paths_outside_refuse_and_touch_nothing() {
    let project = Project::new();
    std::fs::create_dir_all(project.beside("out")).unwrap();
    let target = project.beside("out/new");
    std::fs::create_dir(project.path(".claude")).unwrap();
    let settings = serde_json::json!({
        "permissions": {"deny": [format!("Edit(/{})", project.beside("out/other").display())]},
        "sandbox": {"filesystem": {"denyWrite": [target]}},
    });
    let rules = format!("[rules]\ndeny = [\"Edit(/{0})\", \"Edit(//**/new)\"]\n", target.display());
    let dialect = ["shell", "--dialect", "claude", "--mode", "bypass", "--"];
    let args = |line: &'static str| dialect.into_iter().chain([line]).collect::<Vec<_>>();
    for (name, text) in [("stockade.toml", rules), (".claude/settings.json", settings.to_string())]
    {
        std::fs::remove_file(project.path("stockade.toml")).ok();
        project.write(name, &text);
        let line = "touch started; sleep 2; echo done";
        let child = project.command(&args(line)).spawn().unwrap();
        let is_started = || project.path("started").exists();
        assert!(eventually(Duration::from_secs(60), is_started), "{name}");
        std::fs::write(&target, "host").unwrap();
        let told = Told::from(child.wait_with_output().unwrap());
        assert_eq!((told.code, told.stdout.as_str()), (0, "done\n"), "{name}: {told:?}");
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "host", "{name}");
        // The control: the rule holds.
        let refused = format!("echo x > {}", target.display());
        let told =
            project.stockade(&["shell", "--dialect", "claude", "--mode", "bypass", "--", &refused]);
        assert_eq!(told.code, 126, "{name}: {told:?}");
        std::fs::remove_file(&target).unwrap();
        std::fs::remove_file(project.path("started")).unwrap();
    }
}
