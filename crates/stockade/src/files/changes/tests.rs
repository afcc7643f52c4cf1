//! Looks before and after, with bounds that are small enough to be met.

mod hidden;

use std::ffi::OsStr;
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use tempfile::TempDir;

use super::bounds::Scope;
use super::folder::SnapshotFolder;
use super::report::{HASHED_BYTES_MAX, LISTED_MAX};
use super::watch::Touch;
use super::*;
use crate::files::digest::of_bytes;
use crate::files::folders::{Stamp, remembered};

const WIDE: Bounds = Bounds {
    scope: Scope::Noticed,
    names: 1000,
    bulk_names: 1000,
    new_names: 1000,
    time: Duration::from_secs(10),
};

/// A project with these files, older than a tick of the clock for files.
fn project(files: &[&str]) -> TempDir {
    let project = tempfile::tempdir().unwrap();
    for file in files {
        write(project.path(), file);
    }
    tick();
    project
}

fn tick() {
    std::thread::sleep(Duration::from_millis(30));
}

fn write(root: &Path, file: &str) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, file).unwrap();
}

/// A snapshot as a later call takes it, with the kernel's notices.
fn watched(root: &Path, bounds: Bounds) -> Snapshot {
    loop {
        // Snapshots of tests that run at the same time may push this one out.
        let snapshot = Snapshot::within(root, &[root.to_owned()], bounds);
        if snapshot.notices.is_some() {
            return snapshot;
        }
    }
}

/// What is reported of something that is done to a project, in a later call of a process.
fn told(project: &TempDir, bounds: Bounds, act: impl FnOnce(&Path)) -> Changes {
    let snapshot = watched(project.path(), bounds);
    act(project.path());
    let (noticed, all) =
        (snapshot.differences(snapshot.notices.as_ref()), snapshot.differences(None));
    for file in noticed.files {
        let is_same =
            |other: &compare::Difference| (&other.below, other.kind) == (&file.below, file.kind);
        assert!(all.files.iter().any(is_same), "{file:?} in {:?}", all.files);
    }
    snapshot.compare()
}

fn kinds(changes: &Changes) -> Vec<(&str, ChangeKind)> {
    changes.files.iter().map(|change| (change.path.as_str(), change.kind)).collect()
}

#[test]
fn nothing_is_told_of_what_was_only_looked_at() {
    let project = project(&["a", "sub/b", "sub/package.json", ".git/HEAD", ".git/config"]);
    let changes = told(&project, WIDE, |root| {
        fs::read(root.join("sub/b")).unwrap();
        fs::read_dir(root.join("sub")).unwrap().for_each(drop);
    });
    assert_eq!(changes, Changes::default());
}

#[test]
fn a_file_that_is_made_moved_replaced_or_removed_is_told() {
    let project = project(&["gone", "moved", "over", "old", "sub/same", "sub/gone"]);
    let changes = told(&project, WIDE, |root| {
        fs::remove_file(root.join("gone")).unwrap();
        fs::remove_file(root.join("sub/gone")).unwrap();
        fs::rename(root.join("moved"), root.join("there")).unwrap();
        fs::rename(root.join("over"), root.join("old")).unwrap();
        write(root, "new/deep/file");
        symlink("old", root.join("link")).unwrap();
        fs::create_dir(root.join("empty")).unwrap();
    });
    let expected = [
        ("gone", ChangeKind::Deleted),
        ("link", ChangeKind::Created),
        ("moved", ChangeKind::Deleted),
        ("new/deep/file", ChangeKind::Created),
        ("old", ChangeKind::Modified),
        ("over", ChangeKind::Deleted),
        ("sub/gone", ChangeKind::Deleted),
        ("there", ChangeKind::Created),
    ];
    assert_eq!((kinds(&changes), &changes.unseen), (expected.to_vec(), &Vec::new()));
    let of = |path: &str| changes.files.iter().find(|change| change.path == path).unwrap();
    assert_eq!((of("there").size, of("gone").size), (Some(5), None));
    assert!(of("old").after.is_some() && of("old").before.is_none());
}

#[test]
fn a_folder_that_was_moved_is_told_file_by_file() {
    let project = project(&["a/one", "a/b/two", "c/three"]);
    let changes = told(&project, WIDE, |root| {
        fs::rename(root.join("a"), root.join("z")).unwrap();
        fs::remove_dir_all(root.join("c")).unwrap();
        fs::write(root.join("c"), "a file now").unwrap();
    });
    let expected = [
        ("a/b/two", ChangeKind::Deleted),
        ("a/one", ChangeKind::Deleted),
        ("c", ChangeKind::Created),
        ("c/three", ChangeKind::Deleted),
        ("z/b/two", ChangeKind::Created),
        ("z/one", ChangeKind::Created),
    ];
    assert_eq!(kinds(&changes), expected);
}

#[test]
fn a_link_in_the_place_of_a_folder_is_not_followed() {
    let project = project(&["a/one", "elsewhere/one", "elsewhere/two"]);
    let changes = told(&project, WIDE, |root| {
        fs::remove_dir_all(root.join("a")).unwrap();
        symlink("elsewhere", root.join("a")).unwrap();
    });
    assert_eq!(kinds(&changes), [("a", ChangeKind::Created), ("a/one", ChangeKind::Deleted)]);
}

#[test]
fn another_name_of_a_file_is_told_with_the_file() {
    let project = project(&["a", "b"]);
    let changes = told(&project, WIDE, |root| {
        fs::hard_link(root.join("a"), root.join("c")).unwrap();
    });
    assert_eq!(kinds(&changes), [("a", ChangeKind::Modified), ("c", ChangeKind::Created)]);
}

#[test]
fn names_that_are_no_text_are_told_as_far_as_they_are() {
    let project = project(&["a"]);
    let name = OsStr::from_bytes(b"n\xffm");
    fs::write(project.path().join(name), "x").unwrap();
    tick();
    let changes = told(&project, WIDE, |root| fs::write(root.join(name), "y").unwrap());
    assert_eq!(kinds(&changes), [("n\u{fffd}m", ChangeKind::Modified)]);
    assert_eq!(changes.files[0].path_base64.as_deref(), Some("bv9t"));
    assert!(changes.files[0].after.is_some());
}

#[test]
fn files_from_which_code_runs_are_known_by_their_hash_at_any_depth() {
    let files = ["a/b/package.json", "a/b/Makefile", "m/.github/workflows/ci.yml", "a/b/notes"];
    let project = project(&files);
    let changes = told(&project, WIDE, |root| {
        fs::write(root.join("a/b/package.json"), "other").unwrap();
        fs::remove_file(root.join("m/.github/workflows/ci.yml")).unwrap();
        // The same content in another file is no change.
        fs::write(root.join("new"), "a/b/Makefile").unwrap();
        fs::rename(root.join("new"), root.join("a/b/Makefile")).unwrap();
        write(root, "m/.git/hooks/pre-commit");
        write(root, "m/.git/HEAD");
    });
    let expected = [
        ("a/b/package.json", ChangeKind::Modified),
        ("m/.git/hooks/pre-commit", ChangeKind::Created),
        ("m/.github/workflows/ci.yml", ChangeKind::Deleted),
    ];
    assert_eq!(kinds(&changes), expected);
    assert!(changes.files.iter().all(|change| change.runs_code.is_some()), "{changes:?}");
    assert!(changes.files[0].before.is_some() && changes.files[2].before.is_some());
    tick();
    let mode = told(&project, WIDE, |root| {
        fs::set_permissions(root.join("a/b/Makefile"), PermissionsExt::from_mode(0o755)).unwrap();
    });
    assert_eq!(kinds(&mode), [("a/b/Makefile", ChangeKind::Modified)]);
}

#[test]
fn what_is_beyond_the_bound_is_named_and_what_tools_fill_comes_last() {
    let names: Vec<String> = (0..30).map(|number| format!("node_modules/p{number}/x")).collect();
    let mut files: Vec<&str> = names.iter().map(String::as_str).collect();
    files.extend(["src/deep/er/file", "src/one", ".github/workflows/ci.yml"]);
    let project = project(&files);
    let bounds = Bounds { names: 40, bulk_names: 20, ..WIDE };
    let changes = told(&project, bounds, |root| {
        fs::write(root.join("src/deep/er/file"), "y").unwrap();
        fs::write(root.join("node_modules/p7/x"), "y").unwrap();
        fs::remove_dir_all(root.join("node_modules/p0")).unwrap();
    });
    assert!(kinds(&changes).contains(&("src/deep/er/file", ChangeKind::Modified)), "{changes:?}");
    assert!(!kinds(&changes).contains(&("node_modules/p7/x", ChangeKind::Modified)), "{changes:?}");
    let [line] = changes.unseen.as_slice() else { panic!("{changes:?}") };
    assert!(
        line.starts_with(message!("{}: node_modules" => "unseen.not-looked-into-beyond", "20")),
        "{line}"
    );
    tick();
    let whole = told(&project, WIDE, |root| fs::write(root.join("src/one"), "y").unwrap());
    assert_eq!(
        (kinds(&whole), &whole.unseen),
        (vec![("src/one", ChangeKind::Modified)], &Vec::new())
    );
}

#[test]
fn a_folder_that_was_not_looked_into_is_told_as_one_when_it_goes() {
    let project = project(&["node_modules/a/x", "node_modules/b/x", "src/x"]);
    let bounds = Bounds { names: 3, ..WIDE };
    let changes = told(&project, bounds, |root| {
        fs::remove_dir_all(root.join("node_modules")).unwrap();
    });
    assert_eq!(kinds(&changes), [("node_modules", ChangeKind::Deleted)]);
}

#[test]
fn a_folder_of_too_many_names_is_told_by_ctime_beyond_them() {
    let names: Vec<String> = (0..30).map(|number| format!("f{number}")).collect();
    let project = project(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let bounds = Bounds { names: 10, ..WIDE };
    let changes = told(&project, bounds, |root| {
        for number in 0..30 {
            fs::write(root.join(format!("f{number}")), "y").unwrap();
        }
        fs::write(root.join("new"), "y").unwrap();
        fs::write(root.join("package.json"), "y").unwrap();
    });
    assert_eq!(changes.files.len(), 32);
    assert!(kinds(&changes).contains(&("package.json", ChangeKind::Created)), "{changes:?}");
    assert_eq!(changes.unseen, [message!("{}: ." => "unseen.not-looked-into-beyond-2", "10")]);
}

#[test]
fn a_program_that_makes_very_many_files_is_looked_at_in_part_and_hides_nothing_that_runs() {
    let project = project(&["keep", "sub/known", "sub/.envrc"]);
    let bounds = Bounds { new_names: 50, ..WIDE };
    let changes = told(&project, bounds, |root| {
        (0..500).for_each(|number| write(root, &format!("many{number}")));
        (0..20).for_each(|number| write(root, &format!("folder{number}/x")));
        write(root, "package.json");
        fs::write(root.join("sub/.envrc"), "y").unwrap();
        fs::write(root.join("sub/known"), "y").unwrap();
    });
    let told = kinds(&changes);
    for expected in [
        ("package.json", ChangeKind::Created),
        ("sub/.envrc", ChangeKind::Modified),
        ("sub/known", ChangeKind::Modified),
    ] {
        assert!(told.contains(&expected), "{expected:?} in {told:?}");
    }
    assert!(told.len() <= 54, "{}", told.len());
    assert_eq!(changes.unseen, [message!("{}: ." => "unseen.not-looked-beyond-new", "50")]);
}

#[test]
fn a_look_that_takes_too_long_says_so() {
    let project = project(&["a/b"]);
    let bounds = Bounds { time: Duration::ZERO, ..WIDE };
    let changes = told(&project, bounds, |root| fs::write(root.join("a/b"), "y").unwrap());
    assert_eq!((kinds(&changes), changes.unseen.len()), (Vec::new(), 1));
    assert!(changes.unseen[0].contains(message!("unseen.time-up")), "{changes:?}");
}

#[test]
fn more_changes_than_are_listed_are_counted_and_those_that_run_are_kept() {
    let project = project(&["a"]);
    let bounds = Bounds { new_names: 5000, ..WIDE };
    let changes = told(&project, bounds, |root| {
        (0..1200).for_each(|number| write(root, &format!("f{number}")));
        write(root, "z/Makefile");
    });
    assert_eq!(changes.files.len(), LISTED_MAX);
    assert!(kinds(&changes).contains(&("z/Makefile", ChangeKind::Created)));
    assert_eq!(changes.unseen, [message!("report.files-changed-listed", "1201", "1000", "")]);
}

#[test]
fn hashing_has_its_bound() {
    let project = project(&["a"]);
    let changes = told(&project, WIDE, |root| {
        for name in ["one", "two", "three"] {
            let file = fs::File::create(root.join(name)).unwrap();
            file.set_len(HASHED_BYTES_MAX / 2).unwrap();
        }
    });
    let hashed = changes.files.iter().filter(|change| change.after.is_some()).count();
    assert_eq!((changes.files.len(), hashed), (3, 2));
    assert_eq!(changes.unseen, [message!("{}: two" => "unseen.told-without-hash-too")]);
}

#[test]
fn folders_that_can_be_written_are_looked_at_once_and_by_their_own_paths() {
    let project = project(&["a/.claude/x", "b/x"]);
    let other = tempfile::tempdir().unwrap();
    let root = project.path();
    let inner = [root.join("a/.claude"), root.join("a"), root.join("a"), other.path().to_owned()];
    let before = Snapshot::within(root, &inner, WIDE);
    fs::write(root.join("a/.claude/x"), "y").unwrap();
    fs::write(root.join("b/x"), "y").unwrap();
    fs::write(other.path().join("x"), "y").unwrap();
    let changes = before.compare();
    let there = other.path().join("x");
    let mut expected =
        [("a/.claude/x", ChangeKind::Modified), (there.to_str().unwrap(), ChangeKind::Created)];
    expected.sort_by_key(|(path, _)| *path);
    assert_eq!(kinds(&changes), expected);
}

#[test]
fn submodules_may_be_called_like_what_git_stores() {
    let hook = ".git/modules/logs/hooks/pre-commit";
    let project = project(&[".git/HEAD", ".git/logs/HEAD", ".git/refs/x", hook]);
    let changes = told(&project, WIDE, |root| {
        fs::write(root.join(hook), "y").unwrap();
        fs::write(root.join(".git/logs/HEAD"), "y").unwrap();
        fs::write(root.join(".git/HEAD"), "y").unwrap();
        write(root, ".git/objects/ab/cd");
    });
    assert_eq!(kinds(&changes), [(hook, ChangeKind::Modified)]);
}

#[test]
fn what_others_change_between_two_looks_is_known_to_the_second() {
    let project = project(&["a/x", "b/y", "b/c/z", "package.json"]);
    assert_eq!(told(&project, WIDE, |_| ()), Changes::default());
    let root = project.path();
    fs::rename(root.join("b"), root.join("moved")).unwrap();
    for number in 0..50 {
        let name = format!("a/f{number}");
        write(root, &name);
        fs::write(root.join("package.json"), &name).unwrap();
        let changes = told(&project, WIDE, |root| {
            fs::remove_file(root.join(&name)).unwrap();
            fs::remove_file(root.join("package.json")).unwrap();
        });
        let deleted = |path: &str| kinds(&changes).contains(&(path, ChangeKind::Deleted));
        assert!(deleted(&name) && deleted("package.json"), "{changes:?}");
        let package = changes.files.iter().find(|change| change.path == "package.json").unwrap();
        let content = of_bytes(name.as_bytes());
        assert_eq!(package.before.as_deref(), Some(content.as_str()));
    }
    tick();
    assert_eq!(told(&project, WIDE, |_| ()), Changes::default());
    let changes = told(&project, WIDE, |root| fs::remove_dir_all(root.join("moved")).unwrap());
    assert_eq!(
        kinds(&changes),
        [("moved/c/z", ChangeKind::Deleted), ("moved/y", ChangeKind::Deleted)]
    );
}

#[test]
fn a_folder_that_was_not_touched_is_not_read_again() {
    let project = project(&["a/x", "a/.claude/y", "b/z"]);
    let first = Snapshot::within(project.path(), &[project.path().to_owned()], WIDE);
    let is_remembered = |folder: &&SnapshotFolder| {
        let handle = folder.open(&first.starts).unwrap();
        remembered(&Stamp::of_handle(handle.as_fd()).unwrap()).is_some()
    };
    let folders = || first.listing.folders.iter();
    assert_eq!(folders().filter(is_remembered).count(), 4);
    write(project.path(), "a/new");
    let changed = folders().filter(|folder| !is_remembered(folder));
    assert_eq!(changed.map(|folder| folder.below.clone()).collect::<Vec<_>>(), [Path::new("a")]);
}

#[test]
fn a_later_call_compares_the_folders_with_notices_and_takes_no_other_snapshot_without_any() {
    let project = project(&["a/x", "b/y", "package.json"]);
    let root = project.path();
    let (first, second) = (watched(root, WIDE), watched(root, WIDE));
    assert!(Arc::ptr_eq(&first.listing, &second.listing));
    fs::write(root.join("b/y"), "other").unwrap();
    let notices = second.notices.as_ref().unwrap();
    notices.watch.read();
    let touched = notices.watch.touched_after(notices.reading);
    let found: Vec<(&Path, Touch)> = second
        .listing
        .folders
        .iter()
        .map(|folder| (folder.below.as_path(), touched.of(folder.watch)))
        .filter(|(_, touch)| *touch != Touch::Nothing)
        .collect();
    assert_eq!(found, [(Path::new("b"), Touch::Files)]);
    // Both calls were running when it was written.
    for snapshot in [first, second] {
        assert_eq!(kinds(&snapshot.compare()), [("b/y", ChangeKind::Modified)]);
    }
    tick();
    let third = watched(root, WIDE);
    assert_eq!(third.compare(), Changes::default());
}

#[test]
fn lost_notices_hide_nothing() {
    let project = project(&["a/x", "b/y", "c/z"]);
    let most: usize = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events")
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let noisy = |root: &Path| {
        // The kernel merges a notice only with the one right before it.
        for _ in 0..=most.div_ceil(2) {
            for file in ["a/x", "b/y"] {
                fs::set_permissions(root.join(file), PermissionsExt::from_mode(0o644)).unwrap();
            }
        }
        fs::write(root.join("c/z"), "y").unwrap();
    };
    let changes = told(&project, WIDE, noisy);
    assert!(kinds(&changes).contains(&("c/z", ChangeKind::Modified)), "{changes:?}");
    tick();
    let after = told(&project, WIDE, |root| fs::write(root.join("c/z"), "z").unwrap());
    assert_eq!(kinds(&after), [("c/z", ChangeKind::Modified)]);
}
