//! Looks before and after, with bounds that are small enough to be met.

mod hidden;

use std::ffi::OsStr;
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use tempfile::TempDir;

use super::candidate::LISTED_MAX;
use super::hashing::HASHED_BYTES_MAX;
use super::past::Past;
use super::*;
use crate::files::Kind;
use crate::files::digest::{Moment, of_bytes};
use crate::inspect::stat_of;

const WIDE: Bounds =
    Bounds { names: 1000, bulk_names: 1000, new_names: 1000, time: Duration::from_secs(10) };

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

/// What is told of something that is done to a project.
fn told(project: &TempDir, bounds: Bounds, act: impl FnOnce(&Path)) -> Changes {
    let root = project.path();
    let before = Before::within(root, &[root.to_owned()], Some(bounds));
    act(root);
    before.compare()
}

fn kinds(changes: &Changes) -> Vec<(&str, Kind)> {
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
        ("gone", Kind::Deleted),
        ("link", Kind::Created),
        ("moved", Kind::Deleted),
        ("new/deep/file", Kind::Created),
        ("old", Kind::Modified),
        ("over", Kind::Deleted),
        ("sub/gone", Kind::Deleted),
        ("there", Kind::Created),
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
        ("a/b/two", Kind::Deleted),
        ("a/one", Kind::Deleted),
        ("c", Kind::Created),
        ("c/three", Kind::Deleted),
        ("z/b/two", Kind::Created),
        ("z/one", Kind::Created),
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
    assert_eq!(kinds(&changes), [("a", Kind::Created), ("a/one", Kind::Deleted)]);
}

#[test]
fn another_name_of_a_file_is_told_with_the_file() {
    let project = project(&["a", "b"]);
    let changes = told(&project, WIDE, |root| {
        fs::hard_link(root.join("a"), root.join("c")).unwrap();
    });
    assert_eq!(kinds(&changes), [("a", Kind::Modified), ("c", Kind::Created)]);
}

#[test]
fn names_that_are_no_text_are_told_as_far_as_they_are() {
    let project = project(&["a"]);
    let name = OsStr::from_bytes(b"n\xffm");
    fs::write(project.path().join(name), "x").unwrap();
    tick();
    let changes = told(&project, WIDE, |root| fs::write(root.join(name), "y").unwrap());
    assert_eq!(kinds(&changes), [("n\u{fffd}m", Kind::Modified)]);
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
        ("a/b/package.json", Kind::Modified),
        ("m/.git/hooks/pre-commit", Kind::Created),
        ("m/.github/workflows/ci.yml", Kind::Deleted),
    ];
    assert_eq!(kinds(&changes), expected);
    assert!(changes.files.iter().all(|change| change.runs_code.is_some()), "{changes:?}");
    assert!(changes.files[0].before.is_some() && changes.files[2].before.is_some());
    tick();
    let mode = told(&project, WIDE, |root| {
        fs::set_permissions(root.join("a/b/Makefile"), PermissionsExt::from_mode(0o755)).unwrap();
    });
    assert_eq!(kinds(&mode), [("a/b/Makefile", Kind::Modified)]);
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
    assert!(kinds(&changes).contains(&("src/deep/er/file", Kind::Modified)), "{changes:?}");
    assert!(!kinds(&changes).contains(&("node_modules/p7/x", Kind::Modified)), "{changes:?}");
    let [line] = changes.unseen.as_slice() else { panic!("{changes:?}") };
    assert!(
        line.starts_with("not looked into, beyond 20 names of what tools fill: node_modules"),
        "{line}"
    );
    tick();
    let whole = told(&project, WIDE, |root| fs::write(root.join("src/one"), "y").unwrap());
    assert_eq!((kinds(&whole), &whole.unseen), (vec![("src/one", Kind::Modified)], &Vec::new()));
}

#[test]
fn a_folder_that_was_not_looked_into_is_told_as_one_when_it_goes() {
    let project = project(&["node_modules/a/x", "node_modules/b/x", "src/x"]);
    let bounds = Bounds { names: 3, ..WIDE };
    let changes = told(&project, bounds, |root| {
        fs::remove_dir_all(root.join("node_modules")).unwrap();
    });
    assert_eq!(kinds(&changes), [("node_modules", Kind::Deleted)]);
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
    assert!(kinds(&changes).contains(&("package.json", Kind::Created)), "{changes:?}");
    assert_eq!(changes.unseen, ["not looked into, beyond 10 names: ."]);
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
        ("package.json", Kind::Created),
        ("sub/.envrc", Kind::Modified),
        ("sub/known", Kind::Modified),
    ] {
        assert!(told.contains(&expected), "{expected:?} in {told:?}");
    }
    assert!(told.len() <= 54, "{}", told.len());
    assert_eq!(changes.unseen, ["not looked at, beyond 50 new names, in: ."]);
}

#[test]
fn a_look_that_takes_too_long_says_so() {
    let project = project(&["a/b"]);
    let bounds = Bounds { time: Duration::ZERO, ..WIDE };
    let changes = told(&project, bounds, |root| fs::write(root.join("a/b"), "y").unwrap());
    assert_eq!((kinds(&changes), changes.unseen.len()), (Vec::new(), 1));
    assert!(changes.unseen[0].contains("the time was up: ."), "{changes:?}");
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
    assert!(kinds(&changes).contains(&("z/Makefile", Kind::Created)));
    assert_eq!(changes.unseen, ["1201 files were changed; 1000 are listed"]);
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
    assert_eq!(changes.unseen, ["told without a hash, there is too much in them: two"]);
}

#[test]
fn folders_that_can_be_written_are_looked_at_once_and_by_their_own_paths() {
    let project = project(&["a/.claude/x", "b/x"]);
    let other = tempfile::tempdir().unwrap();
    let root = project.path();
    let inner = [root.join("a/.claude"), root.join("a"), root.join("a"), other.path().to_owned()];
    let before = Before::within(root, &inner, Some(WIDE));
    fs::write(root.join("a/.claude/x"), "y").unwrap();
    fs::write(root.join("b/x"), "y").unwrap();
    fs::write(other.path().join("x"), "y").unwrap();
    let changes = before.compare();
    let there = other.path().join("x");
    let mut expected = [("a/.claude/x", Kind::Modified), (there.to_str().unwrap(), Kind::Created)];
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
    assert_eq!(kinds(&changes), [(hook, Kind::Modified)]);
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
        let deleted = |path: &str| kinds(&changes).contains(&(path, Kind::Deleted));
        assert!(deleted(&name) && deleted("package.json"), "{changes:?}");
        let package = changes.files.iter().find(|change| change.path == "package.json").unwrap();
        let content = of_bytes(name.as_bytes());
        assert_eq!(package.before.as_deref(), Some(content.as_str()));
    }
    tick();
    assert_eq!(told(&project, WIDE, |_| ()), Changes::default());
    let changes = told(&project, WIDE, |root| fs::remove_dir_all(root.join("moved")).unwrap());
    assert_eq!(kinds(&changes), [("moved/c/z", Kind::Deleted), ("moved/y", Kind::Deleted)]);
}

#[test]
fn a_folder_that_was_not_touched_is_not_read_again() {
    let project = project(&["a/x", "a/.claude/y", "b/z"]);
    let starts = || starts(project.path(), &[project.path().to_owned()]).0;
    let (first, second) = (look::look(&starts(), WIDE), look::look(&starts(), WIDE));
    let names = |listing: &Listing| -> Vec<Vec<u8>> {
        (0..listing.entries_len()).map(|at| listing.name(at).to_vec()).collect()
    };
    assert_eq!(names(&first), names(&second));
    assert!(first.folders.iter().all(|folder| folder.moment.is_some()), "{first:?}");
    let past = Past::of(&starts(), &first);
    for folder in &second.folders {
        assert!(past.same(folder, &starts(), folder.moment.unwrap()).is_some(), "{folder:?}");
    }
    write(project.path(), "a/new");
    let third = look::look(&starts(), WIDE);
    let changed = third.folders.iter().filter(|folder| {
        let now = stat_of(folder.handle(&starts()).unwrap().as_fd()).unwrap();
        past.same(folder, &starts(), Moment::of(&now)).is_none()
    });
    assert_eq!(changed.map(|folder| folder.below.clone()).collect::<Vec<_>>(), [Path::new("a")]);
}
