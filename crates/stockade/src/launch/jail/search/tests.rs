//! Searches in folders that change, with and without what was kept of earlier ones.

use std::fs;
use std::time::{Duration, Instant};

use super::*;
use crate::pattern::{PathGlob, PathPart};

fn patterns(folder: &Path, names: &[(&str, Origin)]) -> Vec<PathPattern> {
    let pattern = |(text, origin): &(&str, Origin)| {
        let glob = PathGlob::new(text.split('/').map(PathPart::new).collect());
        let one = PathPattern::new(Keep::Hidden, folder.to_owned(), glob, (*text).to_owned());
        one.unwrap().with_origin(*origin)
    };
    names.iter().map(pattern).collect()
}

fn starts(folder: &Path, sought: &[PathPattern]) -> BTreeMap<PathBuf, Vec<(usize, MatchState)>> {
    let stands = sought.iter().enumerate().map(|(at, one)| (at, one.glob().start())).collect();
    BTreeMap::from([(folder.to_owned(), stands)])
}

fn search(folder: &Path, names: &[&str], kept_in: Option<&Path>) -> Vec<String> {
    let names: Vec<_> = names.iter().map(|name| (*name, Origin::Trusted)).collect();
    let sought = patterns(folder, &names);
    let search = PatternSearch::new(&sought, SearchResult::default(), None);
    let searched = search.run(starts(folder, &sought), kept_in.map(Path::to_owned));
    assert!(searched.incomplete.is_empty() && searched.gap.is_none(), "{searched:?}");
    let below = |path: &PathBuf| path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
    searched.found.keys().map(below).collect()
}

/// Longer than the clock for files may stand still.
fn settle() {
    std::thread::sleep(Duration::from_millis(60));
}

fn put(folder: &Path, name: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "").unwrap();
}

#[test]
fn what_appears_moves_and_goes_is_seen_in_the_next_search() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let find = || search(root, &["**/.env", "conf/*.key", "**/*.pem"], None);
    for number in 0..40 {
        put(root, &format!("d{number}/e/file"));
    }
    put(root, "conf/a.key");
    put(root, "d3/e/.env");
    settle();
    for _ in 0..3 {
        assert_eq!(find(), ["conf/a.key", "d3/e/.env"]);
    }
    put(root, "d4/e/.ENV");
    put(root, "d5/x.pem");
    assert_eq!(find(), ["conf/a.key", "d3/e/.env", "d4/e/.ENV", "d5/x.pem"]);
    settle();
    assert_eq!(find().len(), 4);
    fs::rename(root.join("d4"), root.join("moved")).unwrap();
    fs::remove_file(root.join("d3/e/.env")).unwrap();
    assert_eq!(find(), ["conf/a.key", "d5/x.pem", "moved/e/.ENV"]);
    settle();
    // The same name, and another folder.
    fs::rename(root.join("conf"), root.join("d9/conf")).unwrap();
    fs::rename(root.join("moved"), root.join("conf")).unwrap();
    put(root, "conf/b.key");
    assert_eq!(find(), ["conf/b.key", "conf/e/.ENV", "d5/x.pem"]);
    // A name that comes in the moment in which a folder was read.
    for number in 0..50 {
        put(root, &format!("quick/{number}.pem"));
        assert_eq!(find().len(), 4 + number);
    }
}

#[test]
fn a_later_process_uses_what_was_kept_unless_it_is_not_as_it_was_written() {
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let root = folder.path();
    for number in 0..40 {
        put(root, &format!("d{number}/file"));
    }
    put(root, "d7/.env");
    settle();
    let sought = patterns(root, &[("**/.env", Origin::Shipped)]);
    let key = key(&sought, &starts(root, &sought));
    let file = state.path().join(HEXLOWER.encode(&key));
    let run = || {
        let search = PatternSearch::new(&sought, SearchResult::default(), None);
        search.run(starts(root, &sought), Some(state.path().to_owned())).found.len()
    };
    assert_eq!(run(), 1);
    let kept = crate::launch::jail::cache::read_file(&file, &key).unwrap();
    assert_eq!(kept.len(), 41);
    assert_eq!(kept, KnownFolders::of(&key, None).folders, "what is read is what was written");
    assert!(crate::launch::jail::cache::read_file(&file, &[0; 32]).is_none(), "of another search");
    let text = fs::read(&file).unwrap();
    for broken in [&text[..text.len() - 1], &text[..10], &[text.as_slice(), b"x"].concat(), b""] {
        fs::write(&file, broken).unwrap();
        assert!(crate::launch::jail::cache::read_file(&file, &key).is_none());
    }
}

#[test]
fn shallow_folders_come_first_and_what_is_not_reached_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    put(root, "z/.env");
    let deep: PathBuf = std::iter::repeat_n("a", 60).collect();
    put(root, deep.join(".env").to_str().unwrap());
    let sought = patterns(root, &[("**/.env", Origin::Shipped), ("z/*.key", Origin::Trusted)]);
    let mut search = PatternSearch::new(&sought, SearchResult::default(), None);
    search.bounds = WalkBounds::with_entries_left(20);
    let searched = search.run(starts(root, &sought), None);
    assert_eq!(searched.found.keys().collect::<Vec<_>>(), [&root.join("z/.env")]);
    // All that the second pattern could mean was looked at.
    assert_eq!(searched.incomplete, BTreeSet::from([0]));
    assert!(searched.gap.unwrap().contains("more entries"));
}

#[test]
fn a_search_ends_with_the_time_of_its_call() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    put(root, "z/.env");
    let sought = patterns(root, &[("**/.env", Origin::Shipped)]);
    let search = |until| {
        let search = PatternSearch::new(&sought, SearchResult::default(), until);
        search.run(starts(root, &sought), None)
    };
    let cut = search(Some(Instant::now()));
    assert!(cut.found.is_empty() && cut.incomplete == BTreeSet::from([0]), "{cut:?}");
    assert!(cut.gap.unwrap().contains("longer"));
    let whole = search(Instant::now().checked_add(Duration::from_secs(600)));
    assert!(whole.found.len() == 1 && whole.incomplete.is_empty(), "{whole:?}");
}

/// A bound that no loaded machine breaks: a later search reads no folder that was not touched.
#[test]
fn a_later_search_reads_only_the_folders_that_were_touched() {
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let root = folder.path();
    for number in 0..100 {
        put(root, &format!("d{number}/e/file"));
    }
    settle();
    let sought = patterns(root, &[("**/.env", Origin::Shipped)]);
    let run = || {
        let search = PatternSearch::new(&sought, SearchResult::default(), None);
        let searched = search.run(starts(root, &sought), Some(state.path().to_owned()));
        (searched.read, searched.entries)
    };
    assert_eq!(run(), (201, 300));
    assert_eq!(run(), (0, 300));
    put(root, "d7/e/other");
    assert_eq!(run(), (1, 301));
}

#[test]
fn searches_for_something_else_or_elsewhere_have_other_keys() {
    let key_of = |folder: &str, names: &[(&str, Origin)]| {
        let sought = patterns(Path::new(folder), names);
        key(&sought, &starts(Path::new(folder), &sought))
    };
    let [env, pem] = [("**/.env", Origin::Shipped), ("*.pem", Origin::Shipped)];
    let first = key_of("/p/ab/c", &[env, pem]);
    assert_eq!(first, key_of("/p/ab/c", &[env, pem]));
    let sought = patterns(Path::new("/p/ab/c"), &[env, pem]);
    let packages: Vec<_> = sought.iter().cloned().map(PathPattern::outside_packages).collect();
    let others = [
        key_of("/p/a/bc", &[env, pem]),
        key_of("/p/ab/c", &[pem, env]),
        key_of("/p/ab/c", &[env]),
        key_of("/p/ab/c", &[env, ("*.pen", Origin::Shipped)]),
        key_of("/p/ab/c", &[env, ("*.pem", Origin::Trusted)]),
        key(&sought, &starts(Path::new("/p/ab"), &sought)),
        key(&sought, &BTreeMap::from([("/p/ab/c".into(), vec![(0, sought[0].glob().start())])])),
        key(&packages, &starts(Path::new("/p/ab/c"), &packages)),
    ];
    let all: BTreeSet<_> = others.into_iter().chain([first]).collect();
    assert_eq!(all.len(), 9);
}
