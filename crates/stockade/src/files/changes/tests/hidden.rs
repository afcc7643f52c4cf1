//! What a program might do to change a file from which code runs without being told of.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::super::bounds::{Bounds, Scope};
use super::super::compare::FOUND_BYTES_MAX;
use super::super::report::{LISTED_BYTES_MAX, LISTED_MAX};
use super::super::{ChangeKind, Snapshot};
use super::{WIDE, kinds, project, tick, told, write};

#[test]
fn a_folder_in_the_place_of_another_is_looked_at_all_the_way_down() {
    let project = project(&[
        ".github/workflows/ci.yml",
        "docs2/workflows/ci.yml",
        "docs2/workflows/new.yml",
        "a/x/main.py",
        "b/x/main.py",
        "b/x/setup.py",
    ]);
    let changes = told(&project, WIDE, |root| {
        let rename = |from: &str, to: &str| fs::rename(root.join(from), root.join(to)).unwrap();
        rename(".github", "old");
        rename("docs2", ".github");
        fs::remove_dir_all(root.join("old")).unwrap();
        rename("a", "t");
        rename("b", "a");
        rename("t", "b");
    });
    let expected = [
        (".github/workflows/ci.yml", ChangeKind::Modified),
        (".github/workflows/new.yml", ChangeKind::Created),
        ("a/x/main.py", ChangeKind::Modified),
        ("a/x/setup.py", ChangeKind::Created),
        ("b/x/main.py", ChangeKind::Modified),
        ("b/x/setup.py", ChangeKind::Deleted),
        ("docs2/workflows/ci.yml", ChangeKind::Deleted),
        ("docs2/workflows/new.yml", ChangeKind::Deleted),
    ];
    assert_eq!(kinds(&changes), expected);
    let runs =
        |path: &str| changes.files.iter().any(|one| one.path == path && one.runs_code.is_some());
    assert!(runs(".github/workflows/ci.yml") && runs(".github/workflows/new.yml"));
}

#[test]
fn links_in_gits_own_folder_are_told() {
    let project = project(&["sub/.git/HEAD", "sub/.git/hooks/x", "sub/tools/pre-commit"]);
    let changes = told(&project, WIDE, |root| {
        let git = root.join("sub/.git");
        fs::remove_dir_all(git.join("hooks")).unwrap();
        symlink("../tools", git.join("hooks")).unwrap();
        fs::create_dir_all(git.join("modules/x")).unwrap();
        symlink("../../../tools", git.join("modules/x/hooks")).unwrap();
        symlink("../tools", git.join("info")).unwrap();
    });
    for path in ["sub/.git/hooks", "sub/.git/modules/x/hooks", "sub/.git/info"] {
        let change = changes.files.iter().find(|change| change.path == path);
        assert!(change.is_some_and(|change| change.runs_code.is_some()), "{path}: {changes:?}");
    }
    tick();
    let quiet = told(&project, WIDE, |root| write(root, "sub/.git/COMMIT_EDITMSG"));
    assert_eq!(kinds(&quiet), []);
}

#[test]
fn what_git_runs_is_told_at_any_depth_and_under_any_name() {
    let project = project(&[
        "sub/.git/HEAD",
        "sub/.git/modules/HEAD",
        "sub/.git/modules/logs/config",
        "sub/.git/objects/aa/object",
    ]);
    let planted = [
        ".git/rebase-merge/git-rebase-todo",
        "sub/.git/modules/a/modules/b/hooks/pre-commit",
        "sub/.git/modules/logs/hooks/pre-commit",
        "sub/.git/modules/t/u/v/hooks/pre-commit",
        "sub/.git/modules/x/info/attributes",
        "sub/.git/objects/hooks/pre-commit",
    ];
    let changes = told(&project, WIDE, |root| {
        for path in planted {
            write(root, path);
        }
        write(root, "sub/.git/objects/bb/object");
    });
    let paths: Vec<&str> = changes.files.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(paths, planted);
    assert!(changes.files.iter().all(|change| change.runs_code.is_some()), "{changes:?}");
}

#[test]
fn decoys_push_out_none_of_another_kind() {
    let project = project(&["x"]);
    let bounds = Bounds { new_names: 5000, ..WIDE };
    let changes = told(&project, bounds, |root| {
        (0..1200).for_each(|number| write(root, &format!("!{number:05}.mk")));
        write(root, "package.json");
        write(root, "sub/.git/hooks/pre-commit");
    });
    assert_eq!(changes.files.len(), LISTED_MAX);
    for path in ["package.json", "sub/.git/hooks/pre-commit"] {
        assert!(changes.files.iter().any(|change| change.path == path), "{path}");
    }
    let line = message!(
        "report.files-changed-listed",
        "1202",
        "1000",
        "; of those left out, code runs from 202"
    );
    assert_eq!(changes.unseen, [line]);
}

#[test]
fn new_folders_from_which_code_runs_are_looked_into_beyond_the_bound() {
    let project = project(&["x"]);
    let bounds = Bounds { new_names: 20, ..WIDE };
    let changes = told(&project, bounds, |root| {
        (0..60).for_each(|number| write(root, &format!("!{number:03}")));
        write(root, ".github/workflows/e.yml");
        write(root, ".husky/pre-commit");
    });
    for path in [".github/workflows/e.yml", ".husky/pre-commit"] {
        assert!(changes.files.iter().any(|change| change.path == path), "{path}: {changes:?}");
    }
}

#[test]
fn long_paths_are_listed_within_a_bound_of_bytes() {
    let project = project(&["x"]);
    let deep = vec!["\u{1}".repeat(250); 12].join("/");
    let changes = told(&project, WIDE, |root| {
        (0..600).for_each(|number| write(root, &format!("{deep}/{number}")));
        write(root, "package.json");
    });
    let bytes: usize = changes.files.iter().map(|change| change.path.len()).sum();
    assert!(bytes <= LISTED_BYTES_MAX && changes.files.len() > 100, "{bytes}");
    assert!(changes.files.iter().any(|change| change.path == "package.json"));
    assert_eq!(changes.unseen.len(), 1, "{:?}", changes.unseen);
    let listed = changes.files.len();
    assert_eq!(changes.unseen, [message!("report.files-changed-listed", 601, listed, "")]);
}

#[test]
fn longer_paths_than_are_kept_are_told_by_their_folder_and_leave_room_for_what_runs() {
    let project = project(&["x"]);
    let deep = vec!["d".repeat(250); 12].join("/");
    let files = FOUND_BYTES_MAX / 2 / deep.len() + 10;
    let bounds = Bounds { new_names: 2 * files, ..WIDE };
    let changes = told(&project, bounds, |root| {
        (0..files).for_each(|number| write(root, &format!("{deep}/{number:04}")));
        write(root, &format!("{deep}/last/package.json"));
    });
    let runs = format!("{deep}/last/package.json");
    assert!(changes.files.iter().any(|change| change.path == runs), "{:?}", changes.unseen);
    let reason = "not told, the paths are too long together, in: ddd";
    let told = changes.unseen.iter().filter(|line| line.starts_with(reason));
    assert_eq!((told.count(), changes.unseen.len()), (1, 2), "{:?}", changes.unseen);
}

#[test]
fn a_folder_cannot_write_lines_of_its_own_into_what_is_told() {
    let project = project(&["x"]);
    let bounds = Bounds { new_names: 5, ..WIDE };
    let changes = told(&project, bounds, |root| {
        let folder = "new\n\u{1b}[2Kall was looked at, and 0 more";
        (0..20).for_each(|number| write(root, &format!("{folder}/{number}")));
    });
    let name = r"'new\u{a}\u{1b}[2Kall was looked at, and 0 more'";
    assert_eq!(
        changes.unseen,
        [format!("{}: {name}", message!("unseen.not-looked-beyond-new", 5))]
    );
}

#[test]
fn a_file_from_which_code_runs_is_compared_without_a_notice() {
    let files = ["a/package.json", "a/x", ".git/HEAD", ".git/objects/aa/object"];
    let project = project(&files);
    let by_another_name = |root: &Path, file: &str| {
        // No folder with the other name is watched.
        let twin = root.join(".git/objects/twin");
        fs::hard_link(root.join(file), &twin).unwrap();
        fs::write(&twin, "other").unwrap();
        fs::remove_file(&twin).unwrap();
    };
    let changes = told(&project, WIDE, |root| by_another_name(root, "a/package.json"));
    assert_eq!(kinds(&changes), [("a/package.json", ChangeKind::Modified)]);
    tick();
    let each = Bounds { scope: Scope::Each, ..WIDE };
    let before = Snapshot::within(project.path(), &[project.path().to_owned()], each);
    by_another_name(project.path(), "a/x");
    assert_eq!(kinds(&before.compare()), [("a/x", ChangeKind::Modified)]);
}

#[test]
fn both_names_of_a_file_are_reported_when_it_is_written() {
    let project = project(&["a/x", "b/y"]);
    fs::hard_link(project.path().join("a/x"), project.path().join("b/twin")).unwrap();
    tick();
    let changes = told(&project, WIDE, |root| fs::write(root.join("b/twin"), "other").unwrap());
    let expected = [("a/x", ChangeKind::Modified), ("b/twin", ChangeKind::Modified)];
    assert_eq!(kinds(&changes), expected);
}

#[test]
fn at_the_top_files_from_which_code_runs_are_found_among_any_number() {
    let project = project(&["package.json", "sub/package.json", ".husky/old"]);
    let root = project.path();
    (0..300).for_each(|number| write(root, &format!("!{number:03}")));
    let risky = Bounds { scope: Scope::Risky, names: 100, new_names: 100, ..WIDE };
    let take = |bounds| Snapshot::within(root, &[root.to_owned()], bounds);
    let before = take(risky);
    fs::remove_file(root.join("package.json")).unwrap();
    fs::write(root.join("sub/package.json"), "x").unwrap();
    (0..300).for_each(|number| write(root, &format!("?{number:03}")));
    write(root, ".devcontainer/1/2/3/4/x");
    let changes = before.compare();
    let expected =
        [(".devcontainer/1/2/3/4/x", ChangeKind::Created), ("package.json", ChangeKind::Deleted)];
    assert_eq!((kinds(&changes), changes.unseen.len()), (expected.to_vec(), 0), "{changes:?}");
    let before = take(Bounds { scope: Scope::Each, ..risky });
    fs::remove_file(root.join(".husky/old")).unwrap();
    write(root, "Makefile");
    let changes = before.compare();
    for expected in [(".husky/old", ChangeKind::Deleted), ("Makefile", ChangeKind::Created)] {
        assert!(kinds(&changes).contains(&expected), "{changes:?}");
    }
    let before = take(risky);
    (0..1200).for_each(|number| write(root, &format!(".kiro/{number}")));
    let unseen = before.compare().unseen;
    assert!(
        unseen.contains(&message!("{}: .kiro" => "unseen.not-looked-beyond-new", "100").to_owned()),
        "{unseen:?}"
    );
}
