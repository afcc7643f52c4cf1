//! Files that are replaced, folders that are swept, and programs that are found.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::{Duration, SystemTime};

use super::leftover_links::{LinkSweep, SweepBounds};
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
    let agent = tempfile::tempdir().unwrap();
    let folder = agent.path().join("projects");
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("file"), "").unwrap();
    symlink(outside.path(), outside.path().join("inner")).unwrap();
    fs::create_dir_all(folder.join("a/b")).unwrap();
    fs::write(folder.join("a/b/file"), "").unwrap();
    for link in ["one", "a/two", "a/b/three"] {
        symlink(outside.path(), folder.join(link)).unwrap();
    }
    let swept = |started| swept(agent.path(), started, SweepBounds::default());
    let later = SystemTime::now() + Duration::from_secs(1000);
    assert_eq!(swept(later), Vec::<String>::new());
    assert!(folder.join("a/b/three").is_symlink());
    let notes = swept(SystemTime::now() - Duration::from_secs(1000));
    let [note] = notes.as_slice() else { panic!("{notes:?}") };
    assert!(["one", "a/two", "a/b/three"].iter().all(|link| note.contains(link)), "{note}");
    assert!(!folder.join("one").is_symlink() && !folder.join("a/b/three").is_symlink());
    assert!(folder.join("a/b/file").exists() && outside.path().join("file").exists());
    assert!(outside.path().join("inner").is_symlink());
}

/// Sweeps the folder `projects` of an agent: what is told.
fn swept(agent: &Path, started: SystemTime, bounds: SweepBounds) -> Vec<String> {
    let mut sweep = LinkSweep::since(started, bounds);
    sweep.written(&opened(agent), agent, OsStr::new("projects"));
    sweep.notes().collect()
}

/// A folder of an agent in which more is than is looked at: many names, or many folders in each other, or more
/// than there is time for. The agent on this machine goes on with a conversation.
#[test]
fn a_folder_that_is_not_looked_through_to_its_end_loses_its_name() {
    let usual = SweepBounds::default();
    let cases = [
        ("it holds more than 298 names", SweepBounds { names: 299, ..usual }),
        ("more than 1 deep", SweepBounds { depth: 1, ..usual }),
        ("it takes too long", SweepBounds { time: Duration::ZERO, ..usual }),
    ];
    for (why, bounds) in cases {
        let agent = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let victim = outside.path().join("start-up");
        fs::write(&victim, "mine\n").unwrap();
        let flooded = agent.path().join("projects/p");
        fs::create_dir_all(flooded.join("d")).unwrap();
        for at in 0..298 {
            fs::write(flooded.join(format!("{at}")), "").unwrap();
        }
        let link = flooded.join("s.jsonl");
        symlink(&victim, &link).unwrap();
        let goes_on = || {
            let file = fs::OpenOptions::new().append(true).create(true).open(&link);
            file.and_then(|mut file| io::Write::write_all(&mut file, b"evil\n"))
        };
        // Control: with the name that it had the line ends where the link leads.
        goes_on().unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine\nevil\n");
        let notes = swept(agent.path(), SystemTime::now(), bounds);
        let [note] = notes.as_slice() else { panic!("{notes:?}") };
        assert!(note.contains(why), "{note}");
        assert_eq!(goes_on().unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine\nevil\n");
        let names: Vec<_> = fs::read_dir(agent.path()).unwrap().flatten().collect();
        let [now] = names.as_slice() else { panic!("{names:?}") };
        let name = now.file_name().into_string().unwrap();
        assert!(name.starts_with("projects.stockade-unchecked-") && note.contains(&name), "{note}");
        assert_eq!(now.metadata().unwrap().permissions().mode() & 0o7777, 0, "closed");
        // Nothing in it is lost, and within the bounds it keeps its name and loses the link.
        fs::set_permissions(now.path(), fs::Permissions::from_mode(0o700)).unwrap();
        fs::rename(now.path(), agent.path().join("projects")).unwrap();
        let notes = swept(agent.path(), SystemTime::now() - Duration::from_secs(1000), usual);
        assert!(notes.len() == 1 && notes.concat().contains("s.jsonl"), "{notes:?}");
        assert!(!link.is_symlink() && flooded.join("297").exists());
    }
}

#[test]
fn where_a_link_of_the_persons_leads_nothing_is_closed_and_the_link_loses_its_name() {
    let agent = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("file"), "").unwrap();
    symlink(elsewhere.path(), agent.path().join("projects")).unwrap();
    let mode = || fs::metadata(elsewhere.path()).unwrap().permissions().mode();
    let before = mode();
    let none = SweepBounds { names: 0, ..SweepBounds::default() };
    let notes = swept(agent.path(), SystemTime::now(), none);
    assert!(notes.concat().contains("projects.stockade-unchecked-"), "{notes:?}");
    assert!(!agent.path().join("projects").is_symlink());
    assert_eq!(mode(), before);
}

#[test]
fn a_folder_that_cannot_be_renamed_either_is_told_loudly() {
    // No name in this file system changes.
    let mut sweep =
        LinkSweep::since(SystemTime::now(), SweepBounds { names: 0, ..SweepBounds::default() });
    sweep.written(&opened(Path::new("/proc/self")), Path::new("/proc/self"), OsStr::new("task"));
    let notes: Vec<_> = sweep.notes().collect();
    let told = notes.concat();
    assert!(
        told.starts_with("WARNING: \"/proc/self/task\"") && told.contains("still there"),
        "{told}"
    );
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
    // A link that an earlier call has laid in the project shows nothing of what it leads to.
    symlink(package.join("agent.js"), root.join("node_modules/laid")).unwrap();
    assert_eq!(found(root.join("node_modules/laid")), None);
    assert_eq!(installed_program(OsStr::new("sh"), &root), None, "the system is shown anyway");
    assert_eq!(installed_program(OsStr::new("no-such-agent"), &root), None);
}
