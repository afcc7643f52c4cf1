//! The map in `ARCHITECTURE.md`: it names every module, and nothing that is not there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::project::workspace;

/// Readers do not get further than this.
const LINES_MAX: usize = 200;

fn text() -> String {
    fs::read_to_string(workspace().join("ARCHITECTURE.md")).unwrap()
}

/// The paths that the map names, from the workspace. A line of the map has paths, two spaces or more,
/// and what they are for; a line that begins with `crates/` opens the map of a crate's `src`.
fn mapped() -> Vec<String> {
    let text = text();
    let map = text.split("## Map").nth(1).unwrap().split("```").nth(1).unwrap().to_owned();
    let mut folder = String::new();
    let mut paths = Vec::new();
    for line in map.lines().filter(|line| !line.is_empty()) {
        let (names, about) = line.trim_start().split_once("  ").unwrap_or((line.trim(), ""));
        assert!(!about.trim().is_empty(), "it does not say what it is for: {line}");
        if names.starts_with("crates/") {
            names.trim_end_matches('/').clone_into(&mut folder);
            paths.push(folder.clone());
            continue;
        }
        let is_of_crate = line.starts_with("  ");
        let full = |name: &str| {
            if is_of_crate { format!("{folder}/src/{name}") } else { name.to_owned() }
        };
        paths.extend(names.split_whitespace().map(|name| full(name.trim_end_matches('/'))));
    }
    paths
}

#[test]
fn the_map_names_nothing_that_is_gone() {
    let gone: Vec<String> =
        mapped().into_iter().filter(|path| !workspace().join(path).exists()).collect();
    assert_eq!(gone, Vec::<String>::new());
}

#[test]
fn the_map_names_every_module_of_every_crate() {
    let mapped: BTreeSet<String> = mapped().into_iter().collect();
    let mut missing = Vec::new();
    for name in fs::read_dir(workspace().join("crates")).unwrap().flatten() {
        let folder = format!("crates/{}/src", name.file_name().to_str().unwrap());
        for entry in fs::read_dir(workspace().join(&folder)).unwrap().flatten() {
            let file = entry.file_name().into_string().unwrap();
            let is_rust = Path::new(&file).extension().is_some_and(|extension| extension == "rs");
            let is_module = is_rust && file != "lib.rs" && file != "main.rs";
            if is_module && !mapped.contains(&format!("{folder}/{file}")) {
                missing.push(format!("{folder}/{file}"));
            }
        }
    }
    missing.sort();
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn a_change_is_found_from_the_page_alone() {
    let text = text();
    let table = text.split("## Where to make a change").nth(1).unwrap();
    let table = table.split("\n## ").next().unwrap();
    let mut paths = 0;
    for quoted in table.split('`').skip(1).step_by(2) {
        let is_path = quoted.contains('/') && !quoted.contains('*');
        if !is_path {
            continue;
        }
        paths += 1;
        let places = [workspace().join(quoted), workspace().join("crates").join(quoted)];
        assert!(places.iter().any(|path| path.exists()), "{quoted}");
    }
    assert!(paths >= 10, "{paths}");
}

#[test]
fn the_page_is_short() {
    assert!(text().lines().count() <= LINES_MAX);
}
