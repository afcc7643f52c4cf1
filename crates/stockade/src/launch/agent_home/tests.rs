//! Files that are replaced, folders that are swept, and programs that are found.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::{Duration, SystemTime};

use super::leftover_links::LinkSweep;
use super::*;

fn opened(path: &Path) -> OwnedFd {
    open_folder(CWD, path.as_os_str()).unwrap()
}

fn replaced(folder: &Path, edit: impl FnOnce(&str) -> Option<String>) -> Result<(), String> {
    let folder = opened(folder);
    let replaced = replace(folder.as_fd(), Path::new("file"), 100, edit);
    replaced.map_err(|error| error.to_string())
}

#[test]
fn a_file_is_replaced_whole_and_keeps_its_permissions() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    assert_eq!(replaced(folder.path(), |text| Some(format!("{text}!"))), Ok(()));
    assert_eq!(fs::read_to_string(&file).unwrap(), "{}!", "one that is not there is made");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(replaced(folder.path(), |text| Some(format!("{text}!"))), Ok(()));
    assert_eq!(replaced(folder.path(), |_| None), Ok(()));
    assert_eq!(fs::read_to_string(&file).unwrap(), "{}!!");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
}

#[test]
fn a_file_that_changes_meanwhile_a_link_and_a_large_file_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "old").unwrap();
    let others = |_: &str| {
        fs::write(folder.path().join("next"), "other").unwrap();
        fs::rename(folder.path().join("next"), &file).unwrap();
        Some("new".to_owned())
    };
    assert!(replaced(folder.path(), others).unwrap_err().contains("meanwhile"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "other");
    fs::remove_file(&file).unwrap();
    let others = |_: &str| {
        fs::write(&file, "other").unwrap();
        Some("new".to_owned())
    };
    assert!(replaced(folder.path(), others).is_err());
    assert_eq!(fs::read_to_string(&file).unwrap(), "other");
    fs::write(&file, "x".repeat(101)).unwrap();
    assert!(replaced(folder.path(), |_| Some(String::new())).unwrap_err().contains("larger"));
    fs::rename(&file, folder.path().join("aside")).unwrap();
    symlink("aside", &file).unwrap();
    assert!(replaced(folder.path(), |_| Some(String::new())).unwrap_err().contains("a link"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left");
}

#[test]
fn links_that_were_made_since_are_removed_and_neither_older_ones_nor_what_they_lead_to() {
    let folder = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("file"), "").unwrap();
    symlink(outside.path(), outside.path().join("inner")).unwrap();
    fs::create_dir_all(folder.path().join("a/b")).unwrap();
    fs::write(folder.path().join("a/b/file"), "").unwrap();
    for link in ["one", "a/two", "a/b/three"] {
        symlink(outside.path(), folder.path().join(link)).unwrap();
    }
    let swept = |started| {
        let mut sweep = LinkSweep::since(started);
        sweep.through(opened(folder.path()).as_fd(), folder.path(), 0);
        sweep.notes().collect::<Vec<_>>()
    };
    let later = SystemTime::now() + Duration::from_secs(1000);
    assert_eq!(swept(later), Vec::<String>::new());
    assert!(folder.path().join("a/b/three").is_symlink());
    let notes = swept(SystemTime::now() - Duration::from_secs(1000));
    let [note] = notes.as_slice() else { panic!("{notes:?}") };
    assert!(["one", "a/two", "a/b/three"].iter().all(|link| note.contains(link)), "{note}");
    assert!(
        !folder.path().join("one").is_symlink() && !folder.path().join("a/b/three").is_symlink()
    );
    assert!(folder.path().join("a/b/file").exists() && outside.path().join("file").exists());
    assert!(outside.path().join("inner").is_symlink());
    // So deep that it is not looked through, which is told.
    let deep: PathBuf = std::iter::repeat_n("d", 70).collect();
    fs::create_dir_all(folder.path().join(&deep)).unwrap();
    let notes = swept(later);
    assert!(notes.first().is_some_and(|note| note.contains("not looked through")), "{notes:?}");
}

#[test]
fn a_program_is_shown_with_the_packages_beside_it_or_alone() {
    let folder = tempfile::tempdir().unwrap();
    let base = crate::policy::real_folder(folder.path()).unwrap();
    let root = base.join("project");
    let package = base.join("lib/node_modules/@maker/agent/bin");
    fs::create_dir_all(&package).unwrap();
    fs::create_dir_all(root.join("node_modules")).unwrap();
    fs::create_dir_all(base.join("bin")).unwrap();
    for file in [package.join("agent.js"), base.join("bin/alone"), root.join("node_modules/mine")] {
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    symlink(package.join("agent.js"), base.join("bin/agent")).unwrap();
    let found = |path: PathBuf| installed_program(path.as_os_str(), &root);
    let real = package.join("agent.js").into_os_string();
    assert_eq!(found(base.join("bin/agent")), Some((real, base.join("lib/node_modules"))));
    let alone = base.join("bin/alone");
    assert_eq!(found(alone.clone()), Some((alone.clone().into_os_string(), alone)));
    assert_eq!(found(root.join("node_modules/mine")), None, "a program of the project is judged");
    assert_eq!(found(base.join("bin")), None);
    assert_eq!(installed_program(OsStr::new("sh"), &root), None, "the system is shown anyway");
    assert_eq!(installed_program(OsStr::new("no-such-agent"), &root), None);
}
