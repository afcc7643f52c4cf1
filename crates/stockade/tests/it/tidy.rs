//! The house rules that no lint holds: headers, the order of modules, where unsafe code lives.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use stockade::knowledge::Knowledge;

use crate::project::workspace;

/// A file over this many lines is two things.
const LINES_MAX: usize = 450;

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

/// JSON from outside is read within bounds (`json.rs`). Only these read it otherwise: the reader itself,
/// what is compiled into the program, parts of a text that was counted as a whole, and one name of an event
/// that is broken otherwise.
#[test]
fn json_has_one_reader() {
    let exempt = [
        "crates/stockade/src/json.rs",
        "crates/stockade/src/knowledge/index.rs",
        "crates/stockade/src/registry/typed.rs",
        "crates/stockade/src/policy/json.rs",
        "crates/stockade-cli/src/hook/event.rs",
    ];
    let mut found = Vec::new();
    for Source { path, text } in sources() {
        let is_test = !path.contains("/src/") || path.contains("tests");
        if is_test || exempt.contains(&path.as_str()) {
            continue;
        }
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let readers = ["serde_json::from_s", "serde_json::from_reader", "serde_json::Deserializer"];
        let lines = code.lines().filter(|line| readers.iter().any(|reader| line.contains(reader)));
        found.extend(lines.map(|line| format!("{path}: {}", line.trim())));
    }
    assert!(found.is_empty(), "use crate::json:\n{}", found.join("\n"));
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

/// Ways to open, read and list files that wait, follow links and know no bound.
const UNBOUNDED: [&str; 11] = [
    "fs::read(",
    "fs::read_to_string(",
    "io::read_to_string(",
    "fs::read_dir(",
    "fs::copy(",
    "File::open(",
    "File::options(",
    "OpenOptions",
    ".read_to_end(",
    ".read_to_string(",
    "OFlags::RDONLY",
];

/// Where they may be, and why no call can have made what is opened there, or why it is bounded.
const TRUSTED: [(&str, &str); 30] = [
    ("stockade/src/bounded.rs", "the one way"),
    ("stockade/src/files/digest.rs", "hashes of what bounded.rs has opened"),
    ("stockade/src/files/grep/bounded.rs", "bounds what bounded.rs has opened"),
    ("stockade/src/files/leftover.rs", "notes in our own folder, by handle, bounded"),
    ("stockade/src/files/survey/listing.rs", "folders, by handle"),
    ("stockade/src/journal/audit.rs", "the journal, which no call can write"),
    ("stockade/src/policy/replace.rs", "a folder, to bring it to the disk"),
    ("stockade/src/launch/jail/cache/file.rs", "our own state, owner checked, bounded"),
    ("stockade/src/launch/container/eye.rs", "/proc, /sys and the engine's files in our folder"),
    ("stockade/src/launch/container/reap.rs", "/proc and /etc"),
    ("stockade/src/launch/disk/unlinked.rs", "/proc"),
    ("stockade/src/launch/disk/volume.rs", "/proc"),
    ("stockade/src/launch/gvisor/platform.rs", "/proc"),
    ("stockade/src/launch/image.rs", "an image that a person imports, as a whole"),
    ("stockade/src/launch/remedy.rs", "/proc"),
    ("stockade/src/launch/shown.rs", "folders that are shown"),
    ("stockade-cli/src/ask.rs", "the terminal"),
    ("stockade-cli/src/call.rs", "a stream of calls that the caller names, which may be a pipe"),
    ("stockade-cli/src/check.rs", "a call that the caller names, which may be a pipe"),
    ("stockade-cli/src/code.rs", "a source that the caller names, which may be a pipe; bounded"),
    ("stockade-cli/src/hook.rs", "standard input, bounded"),
    ("stockade-cli/src/matrix/ground.rs", "the ground of our own trials"),
    ("stockade-cli/src/matrix/trial.rs", "the pipe of a trial"),
    ("stockade-cli/src/run.rs", "standard input, bounded"),
    ("stockade-cli/src/session.rs", "the socket of a session"),
    ("stockade-cli/src/session/host.rs", "/dev/null"),
    ("stockade-cli/src/session/letter.rs", "memory files of the client"),
    ("stockade-cli/src/init.rs", "makes its own file"),
    ("stockade-cli/src/demo/project.rs", "the demonstration's own project"),
    ("stockade-cli/src/session/place.rs", "the lock in our own folder"),
];

/// A pipe, a device, a link or a file without end in the place of a file of the project must not make
/// the host wait or use up its memory.
#[test]
fn files_of_the_project_are_read_in_one_way_only() {
    let is_trusted = |path: &str| {
        let of_workspace = |known: &str| path.strip_prefix("crates/") == Some(known);
        TRUSTED.iter().any(|(known, _)| of_workspace(known))
    };
    let mut found = Vec::new();
    for Source { path, text } in sources() {
        let is_host = ["crates/stockade/src/", "crates/stockade-cli/src/"]
            .iter()
            .any(|folder| path.starts_with(folder));
        if !is_host || path.ends_with("/tests.rs") || path.contains("/tests/") || is_trusted(&path)
        {
            continue;
        }
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate() {
            let is_comment = line.trim_start().starts_with("//");
            // A folder is opened without waiting, and is listed within bounds where it is read.
            let is_folder = line.contains("OFlags::DIRECTORY");
            if !is_comment && !is_folder && UNBOUNDED.iter().any(|way| line.contains(way)) {
                found.push(format!("{path}:{}: {line}", number + 1));
            }
        }
    }
    assert!(found.is_empty(), "use stockade::bounded:\n{}", found.join("\n"));
}
