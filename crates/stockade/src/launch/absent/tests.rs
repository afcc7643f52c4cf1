//! What is renamed aside, and what never is, whatever somebody swaps on the way.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    /// A project, and a victim beside it.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["project", "victim"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("victim/deploy"), "precious").unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn watch(&self, name: &str, origin: Origin) -> Absent {
        let root = self.path("project");
        let handle = fs::File::open(&root).unwrap();
        let writable = [Writable::opened(root.clone(), handle.as_fd()).unwrap()];
        Absent::found(&root.join(name), origin, &writable).unwrap()
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).unwrap();
        let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<String> =
            entries.map(name).map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn a_file_gets_another_name_in_its_own_folder() {
    let scene = Scene::new();
    let absent = scene.watch("ci/deploy", Origin::Trusted);
    assert!(absent.settle(Maker::Sandbox).is_none());
    fs::create_dir(scene.path("project/ci")).unwrap();
    fs::write(scene.path("project/ci/deploy"), "evil").unwrap();
    let appeared = absent.settle(Maker::Sandbox).unwrap();
    assert!(!appeared.is_there, "{appeared:?}");
    let [aside] = scene.names("project/ci").try_into().unwrap();
    assert!(
        aside.starts_with("deploy.stockade-held-") && appeared.note.contains(&aside),
        "{aside}"
    );
    assert!(absent.settle(Maker::Undecided).is_none());
}

#[test]
fn a_folder_that_was_swapped_for_a_link_is_not_followed() {
    let scene = Scene::new();
    let absent = scene.watch("ci/sub/deploy", Origin::Trusted);
    for name in ["ci", "ci/sub"] {
        fs::create_dir_all(scene.path("project/ci")).unwrap();
        symlink(scene.path("victim"), scene.path("project/ci/sub")).unwrap();
        if name == "ci" {
            fs::remove_dir_all(scene.path("project/ci")).unwrap();
            symlink(scene.path("victim"), scene.path("project/ci")).unwrap();
        }
        let appeared = absent.settle(Maker::Sandbox).unwrap();
        // The link itself goes.
        assert!(!appeared.is_there, "{appeared:?}");
        assert!(fs::symlink_metadata(scene.path("project").join(name)).is_err(), "{name}");
        assert_eq!(scene.names("victim"), ["deploy"]);
    }
    assert_eq!(fs::read_to_string(scene.path("victim/deploy")).unwrap(), "precious");
}

#[test]
fn the_folder_counts_that_was_opened_and_not_what_has_its_name_now() {
    let scene = Scene::new();
    let absent = scene.watch("deploy", Origin::Trusted);
    fs::rename(scene.path("project"), scene.path("moved")).unwrap();
    symlink("victim", scene.path("project")).unwrap();
    assert!(absent.settle(Maker::Sandbox).is_none());
    fs::write(scene.path("moved/deploy"), "evil").unwrap();
    assert!(!absent.settle(Maker::Sandbox).unwrap().is_there);
    assert_eq!(scene.names("victim"), ["deploy"]);
}

#[test]
fn nothing_is_renamed_that_others_created_or_an_untrusted_project_names() {
    let scene = Scene::new();
    fs::write(scene.path("project/deploy"), "host").unwrap();
    for (origin, maker) in [
        (Origin::Trusted, Maker::Other),
        (Origin::Project, Maker::Sandbox),
        (Origin::Project, Maker::Undecided),
    ] {
        let appeared = scene.watch("deploy", origin).settle(maker).unwrap();
        assert!(appeared.is_there, "{appeared:?}");
        assert_eq!(scene.names("project"), ["deploy"], "{origin:?} {maker:?}");
    }
}

#[test]
fn a_path_in_no_folder_that_can_be_written_is_not_watched() {
    let scene = Scene::new();
    let root = scene.path("project");
    let handle = fs::File::open(&root).unwrap();
    let writable = [Writable::opened(root.clone(), handle.as_fd()).unwrap()];
    for path in ["victim/new", "projects/new", "project"] {
        let watched = Absent::of(&scene.path(path), Origin::Trusted, &writable).unwrap();
        assert!(watched.is_none(), "{path}");
    }
    assert!(Absent::of(&root.join("new"), Origin::Trusted, &writable).unwrap().is_some());
}

#[test]
fn folders_that_were_closed_to_their_owner_are_opened_again() {
    let scene = Scene::new();
    for mode in [0o555, 0] {
        let absent = scene.watch("ci/deploy", Origin::Trusted);
        let ci = scene.path("project/ci");
        fs::create_dir(&ci).unwrap();
        fs::write(ci.join("deploy"), "evil").unwrap();
        fs::set_permissions(&ci, fs::Permissions::from_mode(mode)).unwrap();
        let appeared = absent.settle(Maker::Sandbox).unwrap();
        assert!(!appeared.is_there && !ci.join("deploy").exists(), "{mode:o} {appeared:?}");
        fs::set_permissions(&ci, fs::Permissions::from_mode(0o700)).unwrap();
        fs::remove_dir_all(&ci).unwrap();
    }
}

/// A path that cannot be looked at, here because its name is too long.
#[test]
fn what_cannot_be_looked_at_is_not_said_to_exist() {
    let scene = Scene::new();
    let absent = scene.watch(&format!("{}/deploy", "n".repeat(300)), Origin::Trusted);
    let appeared = absent.settle(Maker::Other).unwrap();
    assert!(appeared.note.contains(message!("absent.could-not-looked-into")), "{appeared:?}");
    assert!(
        !appeared.note.contains(message!("absent.created-outside-sandbox-during")),
        "{appeared:?}"
    );
}
