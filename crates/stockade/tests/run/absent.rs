//! Protected paths that are not there: made by every way round the watch, and gone afterwards.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::helper::Helper;
use crate::jail::{jailed, project};
use crate::support::{Project, kept, skip};

/// Runs a script of Python for which these paths are protected.
fn run(place: &Project, protect: &[&str], script: &str) -> Value {
    let protect = protect.iter().map(Into::into).collect();
    let policy = jailed(|policy| policy.files.protect = protect);
    place.python(policy, &format!("import os\n{script}\n"), &[])
}

/// Where a note says that things are now.
fn places(report: &Value) -> Vec<PathBuf> {
    let place = |note: &Value| {
        let (_, place) = note.as_str()?.split_once(" is now in \"")?;
        Some(PathBuf::from(place.trim_end_matches('"')))
    };
    report["notes"].as_array().into_iter().flatten().filter_map(place).collect()
}

/// Nothing has the name any more, what had it is where the report says, and that goes as well.
fn is_moved_away(project: &Project, name: &str, report: &Value) {
    assert!(fs::symlink_metadata(project.path(name)).is_err(), "{name}: {report}");
    assert_eq!(kept(report, "protected"), "detected", "{report}");
    let places = places(report);
    assert_eq!(places.len(), 1, "{report}");
    for place in places {
        fs::symlink_metadata(&place).unwrap();
        if !place.starts_with(project.root()) {
            fs::remove_dir_all(place.parent().unwrap()).unwrap();
        }
    }
}

#[test]
fn the_watch_is_on_the_name_and_not_on_the_folder_that_had_it() {
    let Some(project) = project() else { return };
    let make = "os.mkdir('ci'); open('ci/deploy', 'w').write('evil')";
    fs::create_dir(project.path("ci")).unwrap();
    let report = run(&project, &["ci/deploy"], &format!("os.rename('ci', 'old'); {make}"));
    is_moved_away(&project, "ci/deploy", &report);
    // A folder that was not there either.
    fs::remove_dir_all(project.path("ci")).unwrap();
    let report = run(&project, &["ci/deploy"], make);
    is_moved_away(&project, "ci/deploy", &report);
}

#[test]
fn a_link_on_the_way_to_a_protected_path_is_moved_away_and_not_followed() {
    let Some(project) = project() else { return };
    fs::create_dir(project.beside("victim")).unwrap();
    fs::write(project.beside("victim/deploy"), "good").unwrap();
    let victim = project.beside("victim");
    let report = run(&project, &["ci/deploy"], &format!("os.symlink({victim:?}, 'ci')"));
    is_moved_away(&project, "ci", &report);
    assert_eq!(fs::read_to_string(victim.join("deploy")).unwrap(), "good");
}

#[test]
fn a_folder_that_the_box_closes_to_its_owner_keeps_nothing_in_the_project() {
    let Some(project) = project() else { return };
    for (script, name) in [
        ("os.mkdir('.tool'); open('.tool/x', 'w'); os.chmod('.tool', 0o555)", ".tool"),
        ("os.mkdir('ci'); open('ci/deploy', 'w'); os.chmod('ci', 0o555)", "ci/deploy"),
        ("os.mkdir('ci'); open('ci/deploy', 'w'); os.chmod('ci', 0)", "ci/deploy"),
        ("open('.tool', 'w'); os.chmod('.', 0)", ".tool"),
    ] {
        let report = run(&project, &[".tool", "ci/deploy"], script);
        is_moved_away(&project, name, &report);
        let _none = fs::remove_dir_all(project.path("ci"));
    }
}

#[test]
fn a_name_goes_whatever_is_wrong_with_the_place_of_what_was_moved_away() {
    let Some(project) = project() else { return };
    let uid = rustix::process::geteuid().as_raw();
    let base = project.beside("tmp").join(format!("stockade-{uid}"));
    let place = base.join("quarantine");
    let private = || fs::Permissions::from_mode(0o700);
    let spoilt: [fn(&Path); 3] = [
        |place| fs::write(place, "").unwrap(),
        |place| symlink("/", place).unwrap(),
        |place| {
            fs::create_dir(place).unwrap();
            fs::set_permissions(place, fs::Permissions::from_mode(0o0)).unwrap();
        },
    ];
    fs::write(project.path("make.sh"), "echo evil > .mcp.json").unwrap();
    for spoil in spoilt {
        fs::create_dir(&base).unwrap();
        fs::set_permissions(&base, private()).unwrap();
        spoil(&place);
        let report = Helper::new("run-boxed", &project, &["sh", "make.sh"]).answer();
        assert!(fs::symlink_metadata(project.path(".mcp.json")).is_err(), "{report}");
        let [now] = places(&report).try_into().unwrap();
        assert_eq!(fs::read_to_string(now).unwrap(), "evil\n");
        if place.is_dir() && !place.is_symlink() {
            fs::set_permissions(&place, private()).unwrap();
        }
        fs::remove_dir_all(&base).unwrap();
    }
}

/// Where a rename cannot do it, what was made is copied, and the box chose what that is.
#[test]
fn what_is_too_deep_too_large_or_too_much_to_be_copied_is_put_aside() {
    if project().is_none() {
        return;
    }
    let Some(project) = Project::elsewhere() else {
        return skip("shm", "there is one file system only");
    };
    let small = "os.mkdir('.tool'); open('.tool/x', 'w').write('evil')";
    let deep = "top = os.getcwd(); os.mkdir('t'); os.chdir('t')\n\
                for _ in range(5000): os.mkdir('a'); os.chdir('a')\n\
                os.chdir(top); os.rename('t', '.tool')";
    let large = "os.mkdir('t')\n\
                 for i in range(100): os.truncate(os.open(f't/{i}', 65), 1 << 30)\n\
                 os.rename('t', '.tool')";
    let many = "os.mkdir('t')\n\
                for i in range(10_001): open(f't/{i}', 'w').close()\n\
                os.rename('t', '.tool')";
    for (script, is_copied) in [(small, true), (deep, false), (large, false), (many, false)] {
        let report = run(&project, &[".tool"], script);
        let is_here = places(&report).iter().any(|place| place.starts_with(project.root()));
        assert_eq!(is_here, !is_copied, "{report}");
        is_moved_away(&project, ".tool", &report);
    }
}
