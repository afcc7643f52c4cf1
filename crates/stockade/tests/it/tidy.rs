//! The house rules that no lint holds: headers, the order of modules, where unsafe code lives.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use stockade::knowledge::Knowledge;

use crate::project::workspace;

/// A file over this many lines is two things.
const LINES_MAX: usize = 400;

/// A source file: its path from the workspace, and its text.
struct Source {
    path: String,
    text: String,
}

/// Every Rust file of the workspace.
fn sources() -> Vec<Source> {
    let mut files = Vec::new();
    for entry in fs::read_dir(workspace().join("crates")).unwrap() {
        collect(&entry.unwrap().path(), &mut files);
    }
    let source = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        let path = path.strip_prefix(workspace()).unwrap().to_str().unwrap().to_owned();
        Source { path, text }
    };
    files.into_iter().map(source).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !path.ends_with("target") {
                collect(&path, files);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// Asserts that no line of any file breaks a rule, and names those that do.
fn no_line(rule: &str, breaks: impl Fn(&Source, &str) -> bool) {
    let mut found = Vec::new();
    for source in sources().iter().filter(|source| !source.path.ends_with("it/tidy.rs")) {
        for (number, line) in source.text.lines().enumerate() {
            if breaks(source, line) {
                found.push(format!("{}:{}: {line}", source.path, number + 1));
            }
        }
    }
    assert!(found.is_empty(), "{rule}:\n{}", found.join("\n"));
}

#[test]
fn every_file_opens_with_what_it_is_for() {
    let bare: Vec<String> = sources()
        .into_iter()
        .filter(|source| !source.text.starts_with("//! "))
        .map(|source| source.path)
        .collect();
    assert_eq!(bare, Vec::<String>::new());
}

#[test]
fn nothing_is_left_to_do() {
    let marks = ["FIXME", "XXX", "todo!("];
    no_line("finish it or open an issue", |_, line| marks.iter().any(|mark| line.contains(mark)));
}

#[test]
fn a_lint_is_expected_and_never_allowed() {
    no_line("write #[expect(…, reason = …)]", |_, line| {
        let line = line.trim_start();
        line.starts_with("#[allow(") || line.starts_with("#![allow(")
    });
}

#[test]
fn files_are_short_and_none_is_called_mod() {
    for Source { path, text } in sources() {
        assert!(!path.ends_with("/mod.rs"), "{path}");
        let is_long = path.contains("/src/") && text.lines().count() > LINES_MAX;
        assert!(!is_long, "{path} is too long");
    }
}

#[test]
fn unsafe_code_is_in_one_crate() {
    for library in ["crates/stockade/src/lib.rs", "crates/stockade-cli/src/main.rs"] {
        let text = fs::read_to_string(workspace().join(library)).unwrap();
        assert!(text.contains("#![forbid(unsafe_code)]"), "{library}");
    }
    no_line("unsafe code belongs to stockade-linux", |source, line| {
        let word = |mark: &str| line.contains(mark) && !line.trim_start().starts_with("//");
        !source.path.starts_with("crates/stockade-linux/")
            && ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"].iter().any(|m| word(m))
    });
}

/// The public modules of the library in the order in which `lib.rs` names them.
fn modules() -> Vec<String> {
    let text = fs::read_to_string(workspace().join("crates/stockade/src/lib.rs")).unwrap();
    let name = |line: &str| Some(line.strip_prefix("pub mod ")?.strip_suffix(';')?.to_owned());
    text.lines().filter_map(name).collect()
}

#[test]
fn a_module_uses_only_those_before_it() {
    let modules = modules();
    let place = |name: &str| modules.iter().position(|module| module == name);
    assert!(modules.len() > 10, "{modules:?}");
    let mut wrong = BTreeSet::new();
    for Source { path, text } in sources() {
        let Some(path) = path.strip_prefix("crates/stockade/src/") else { continue };
        let own = path.split(['/', '.']).next().unwrap_or_default();
        if own == "lib" {
            continue;
        }
        let at = place(own).unwrap_or_else(|| panic!("{path} is in no public module"));
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in code {
            for used in line.split("crate::").skip(1) {
                let name: String =
                    used.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if place(&name).is_none_or(|used| used > at) {
                    wrong.insert(format!("{own} uses {name:?} ({path})"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{modules:?}\n{wrong:#?}");
}

#[test]
fn every_long_flag_says_what_it_does() {
    let files = ["args.rs", "args/manual.rs", "args/policy.rs"];
    let folder = workspace().join("crates/stockade-cli/src");
    let text = files.map(|file| fs::read_to_string(folder.join(file)).unwrap()).join("\n");
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut flags = 0;
    for (number, line) in lines.iter().enumerate() {
        if !line.starts_with("#[arg(") || !line.contains("long") {
            continue;
        }
        flags += 1;
        let above = lines.get(..number).unwrap_or_default();
        let doc = above.iter().rev().find(|line| !line.starts_with("#["));
        assert!(doc.is_some_and(|line| line.starts_with("/// ")), "line {}: {line}", number + 1);
    }
    assert!(flags > 15, "{flags}");
}

#[test]
fn what_is_known_about_programs_holds_by_its_examples() {
    let summary = Knowledge::shipped().check().unwrap();
    assert!(summary.examples > summary.names, "{summary:?}");
    for class in summary.classes.values() {
        assert!(*class >= 3, "{summary:?}");
    }
}
