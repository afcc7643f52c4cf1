//! Where a project begins.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use stockade::inspect::Homes;

use super::{Clues, Project};

const OTHER: u32 = 12_345;

fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn project(base: &Path, cwd: &str, told: Option<&str>) -> Project {
    let at = |name: &str| base.join(name);
    let told = told.map(|name| at(name).into_os_string());
    Clues { cwd: at(cwd), told, homes: Homes::of([at("home")]), user: me() }.project()
}

#[test]
fn the_root_is_found_from_what_an_agent_says_or_from_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir_all(at("home/work/repo/sub/deep")).unwrap();
    let root = |cwd: &str, told: Option<&str>| project(folder.path(), cwd, told).root;
    assert_eq!(root("home/work/repo/sub", None), at("home/work/repo/sub"));
    std::fs::create_dir(at("home/work/repo/.git")).unwrap();
    assert_eq!(root("home/work/repo/sub/deep", None), at("home/work/repo"));
    // A repository that a call made does not hide the project's policy.
    std::fs::create_dir(at("home/work/repo/sub/.git")).unwrap();
    assert_eq!(root("home/work/repo/sub/deep", None), at("home/work/repo/sub"));
    std::fs::write(at("home/work/repo/stockade.toml"), "").unwrap();
    std::fs::write(at("home/work/repo/sub/stockade.toml"), "").unwrap();
    assert_eq!(root("home/work/repo/sub/deep", None), at("home/work/repo"));
    // A home folder is no project that one is in, and neither is what holds it.
    std::fs::create_dir(at("home/.git")).unwrap();
    std::fs::write(at("stockade.toml"), "").unwrap();
    assert_eq!(root("home/work", None), at("home/work"));
    assert_eq!(root("home", None), at("home"));
    assert_eq!(root("home/work/repo", Some("home/work")), at("home/work"));
    assert_eq!(root("home/work/repo", Some("not/there")), at("home/work/repo"));
}

/// Only root can give files away.
#[test]
fn what_another_user_made_above_does_not_widen_the_root() {
    if me() != 0 {
        return;
    }
    for marker in ["stockade.toml", ".git"] {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("shared/mine/sub")).unwrap();
        std::fs::write(at("shared").join(marker), "").unwrap();
        let found = || project(folder.path(), "shared/mine/sub", None);
        assert_eq!(found(), Project { root: at("shared"), note: None }, "the control: {marker}");
        let stays = |why: &str| {
            let Project { root, note } = found();
            assert_eq!(root, at("shared/mine/sub"), "{marker}: {why}");
            let note: String = note.unwrap_or_default();
            assert!(note.contains(why), "{marker}: {note}");
        };
        // The marker alone.
        chown(at("shared").join(marker), Some(OTHER), None).unwrap();
        stays(message!("project.belongs-user", OTHER));
        chown(at("shared").join(marker), Some(0), None).unwrap();
        // A level on the way.
        chown(at("shared/mine"), Some(OTHER), None).unwrap();
        stays("shared/mine");
        chown(at("shared/mine"), Some(0), None).unwrap();
        // The level of the marker.
        chown(at("shared"), Some(OTHER), None).unwrap();
        stays(message!("project.belongs-user", OTHER));
        chown(at("shared"), Some(0), None).unwrap();
        // One in which everybody can replace it; with the sticky bit nobody can.
        let mode = |mode: u32| {
            std::fs::set_permissions(at("shared"), std::fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(0o777);
        stays(message!("project.everybody-can-replace-files"));
        mode(0o1777);
        assert_eq!(found().root, at("shared"), "{marker}");
    }
}

/// The policy of the project stays, whatever somebody puts above it.
#[test]
fn a_foreign_marker_above_leaves_the_ones_below_it() {
    if me() != 0 {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| -> PathBuf { folder.path().join(name) };
    std::fs::create_dir_all(at("shared/repo/sub")).unwrap();
    std::fs::write(at("shared/repo/stockade.toml"), "").unwrap();
    std::fs::write(at("shared/stockade.toml"), "").unwrap();
    chown(at("shared/stockade.toml"), Some(OTHER), None).unwrap();
    let Project { root, note } = project(folder.path(), "shared/repo/sub", None);
    assert_eq!(root, at("shared/repo"));
    assert!(note.is_some());
}
