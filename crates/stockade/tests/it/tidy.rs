//! The house rules that no lint holds: headers, the order of modules, where unsafe code lives.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use stockade::catalog::Catalog;

use crate::project::workspace;

/// A file over this many lines is two things, unless it is a table.
const LINES_MAX: usize = 800;

/// A source file: its path from the workspace, and its text.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Every Rust file of the workspace.
pub(crate) fn sources() -> Vec<Source> {
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

/// The milliseconds after which a line of a test gives up on something that should have come.
fn upper_bound(line: &str) -> Option<u64> {
    let waits =
        ["within(Duration::from_", "elapsed() < Duration::from_", "eventually(Duration::from_"];
    let line = line.replace("std::time::", "");
    let rest = waits.iter().find_map(|wait| line.split_once(wait)).map(|(_, rest)| rest)?;
    let (unit, rest) = rest.split_once('(')?;
    let number: u64 = rest.split_once(')')?.0.replace('_', "").parse().ok()?;
    Some(if unit == "millis" { number } else { number * 1000 })
}

/// A machine that others use makes a process wait for seconds. What must come has half a minute or more,
/// and what must not come has no upper bound.
#[test]
fn tests_give_what_has_to_come_half_a_minute() {
    assert_eq!(upper_bound("assert!(begun.elapsed() < Duration::from_millis(1_500));"), Some(1500));
    assert_eq!(upper_bound("within(std::time::Duration::from_secs(30), is_so)"), Some(30_000));
    // The deadline of a call, loops that end when their time is up, and an attack that must not succeed.
    let others = ["tests/run/", "escape/support/", "shell_parse/mutations.rs"];
    no_line("give it half a minute", |source, line| {
        let is_deadline = line.contains("within(") && source.path.contains(others[0]);
        let is_other = others[1..].iter().any(|other| source.path.contains(other));
        !is_deadline && !is_other && upper_bound(line).is_some_and(|bound| bound < 30_000)
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

/// The name of the type that a line declares.
fn declared_type(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
    // `pub(in path)` is two words.
    let keyword = words.find(|word| !word.ends_with(')'))?;
    let name = words.next().filter(|_| ["struct", "enum", "union", "trait"].contains(&keyword))?;
    name.split(|letter: char| !letter.is_alphanumeric()).next().filter(|name| !name.is_empty())
}

#[test]
fn a_declared_type_is_recognised() {
    assert_eq!(declared_type("pub(crate) struct Held<'a> {"), Some("Held"));
    assert_eq!(declared_type("    pub(in crate::gate) enum Form {"), Some("Form"));
    assert_eq!(declared_type("trait Tree: Sized {"), Some("Tree"));
    assert_eq!(declared_type("    type Err = BadValue;"), None);
    assert_eq!(declared_type("//! struct of a kernel"), None);
}

/// A name that stands for three things can neither be searched for nor guessed.
#[test]
fn no_crate_has_a_third_type_of_one_name() {
    let mut places: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for Source { path, text } in sources() {
        let Some((package, _)) = path.split_once("/src/") else { continue };
        for name in text.lines().filter_map(declared_type) {
            let of_name = places.entry((package.to_owned(), name.to_owned())).or_default();
            of_name.push(path.clone());
        }
    }
    let known = ("crates/stockade".to_owned(), "Stockade".to_owned());
    assert!(places.contains_key(&known), "the test finds types");
    let crowded: Vec<_> = places.into_iter().filter(|(_, of_name)| of_name.len() > 2).collect();
    assert!(crowded.is_empty(), "say what each is of: {crowded:#?}");
}

/// Participles that do not end as others do, as far as somebody was tempted.
const IRREGULAR: [&str; 38] = [
    "Begun",
    "Bound",
    "Broken",
    "Built",
    "Caught",
    "Chosen",
    "Cut",
    "Done",
    "Drawn",
    "Forbidden",
    "Found",
    "Given",
    "Gone",
    "Heard",
    "Held",
    "Hidden",
    "Kept",
    "Known",
    "Laid",
    "Left",
    "Lent",
    "Lost",
    "Made",
    "Met",
    "Put",
    "Ran",
    "Read",
    "Rewritten",
    "Said",
    "Seen",
    "Sent",
    "Shown",
    "Sought",
    "Spent",
    "Taken",
    "Told",
    "Unseen",
    "Written",
];

/// Types that have such a name, and why.
const NAMED_BY_PARTICIPLE: [(&str, &str); 6] = [
    ("stockade-policy/src/model/guarantee.rs Kept", "the report's word for a guarantee"),
    ("stockade-policy/src/model/guarantee.rs Enforced", "a line of the report's `enforcement`"),
    (
        "stockade-sandbox/src/running.rs Ended",
        "what `wait` of a run gives; half of the crate names it",
    ),
    ("stockade/src/call/file.rs Read", "the tool of that name"),
    ("stockade/src/call/file/wire.rs WireRead", "the tool of that name"),
    ("stockade-cli/src/session/message.rs Joined", "renamed with the messages of sessions"),
];

/// Whether the last word of a type's name is a participle, as in `Held` and `ShimLost`, and not in
/// `HiddenText`.
fn is_participle(name: &str) -> bool {
    let word =
        name.rfind(|letter: char| letter.is_ascii_uppercase()).map_or(name, |at| &name[at..]);
    let is_regular = word.ends_with("ed") && !["Feed", "Need", "Seed", "Speed"].contains(&word);
    is_regular || IRREGULAR.contains(&word)
}

/// A type is a thing. What was done to it tells nobody what it is.
#[test]
fn no_type_is_named_by_a_participle() {
    assert!(is_participle("Held") && is_participle("LinksFound") && is_participle("Shared"));
    assert!(!is_participle("HiddenText") && !is_participle("Seed") && !is_participle("PatternSet"));
    let mut found = BTreeSet::new();
    for Source { path, text } in sources() {
        let Some(path) = path.strip_prefix("crates/").filter(|path| path.contains("/src/")) else {
            continue;
        };
        let is_test = path.ends_with("/tests.rs") || path.contains("/tests/");
        let names = text.lines().filter_map(declared_type).filter(|name| is_participle(name));
        found.extend(names.filter(|_| !is_test).map(|name| format!("{path} {name}")));
    }
    let known: BTreeSet<String> =
        NAMED_BY_PARTICIPLE.iter().map(|(known, _)| (*known).to_owned()).collect();
    let new: Vec<_> = found.difference(&known).collect();
    assert!(new.is_empty(), "name the thing, as in `HiddenText`: {new:#?}");
    let gone: Vec<_> = known.difference(&found).collect();
    assert!(gone.is_empty(), "take it from the list: {gone:#?}");
}

#[test]
fn unsafe_code_is_in_one_crate() {
    for library in [
        "crates/stockade/src/lib.rs",
        "crates/stockade-shell/src/lib.rs",
        "crates/stockade-policy/src/lib.rs",
        "crates/stockade-cli/src/main.rs",
    ] {
        let text = fs::read_to_string(workspace().join(library)).unwrap();
        assert!(text.contains("#![forbid(unsafe_code)]"), "{library}");
    }
    no_line("unsafe code belongs to stockade-sandbox", |source, line| {
        let word = |mark: &str| line.contains(mark) && !line.trim_start().starts_with("//");
        !source.path.starts_with("crates/stockade-sandbox/")
            && ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"].iter().any(|m| word(m))
    });
}

/// JSON from outside is read within bounds (`json.rs`). Only these read it otherwise: the reader itself,
/// what is compiled into the program, parts of a text that was counted as a whole, and one name of an event
/// that is broken otherwise.
#[test]
fn json_has_one_reader() {
    let exempt = [
        "crates/stockade-policy/src/config/json.rs",
        // Data that is built in.
        "crates/stockade-shell/src/catalog.rs",
        "crates/stockade-shell/src/catalog/index.rs",
        "crates/stockade-shell/src/catalog/environment.rs",
        "crates/stockade/src/registry/builtin.rs",
        "crates/stockade-policy/src/config/jsonc.rs",
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

/// The modules of the library in the order in which `lib.rs` names them.
fn modules() -> Vec<String> {
    let text = fs::read_to_string(workspace().join("crates/stockade/src/lib.rs")).unwrap();
    let name = |line: &str| {
        let line = line.strip_prefix("pub ").unwrap_or(line);
        Some(line.strip_prefix("mod ")?.strip_suffix(';')?.to_owned())
    };
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
                let is_crate = [
                    "shell",
                    "catalog",
                    "pattern",
                    "policy",
                    "bounded",
                    "confine",
                    "guarantee",
                    "json",
                    "limits",
                ]
                .contains(&name.as_str());
                if !is_crate && place(&name).is_none_or(|used| used > at) {
                    wrong.insert(format!("{own} uses {name:?} ({path})"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{modules:?}\n{wrong:#?}");
}

#[test]
fn every_long_flag_says_what_it_does() {
    let is_args = |path: &str| path.starts_with("crates/stockade-cli/src/args");
    let files = sources().into_iter().filter(|source| is_args(&source.path));
    let text = files.map(|source| source.text).collect::<Vec<_>>().join("\n");
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
    assert!(flags > 40, "{flags}");
}

#[test]
fn what_is_known_about_programs_holds_by_its_examples() {
    let summary = Catalog::shipped().check().unwrap();
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
const TRUSTED: [(&str, &str); 28] = [
    ("stockade-policy/src/config/bounded.rs", "the one way"),
    ("stockade/src/files/digest.rs", "hashes of what bounded.rs has opened"),
    ("stockade/src/files/grep/bounded.rs", "bounds what bounded.rs has opened"),
    ("stockade/src/files/leftover.rs", "notes in our own folder, by handle, bounded"),
    ("stockade/src/journal/audit.rs", "the journal, which no call can write"),
    ("stockade-policy/src/config/replace.rs", "a folder, to bring it to the disk"),
    ("stockade/src/launch/jail/cache/file.rs", "our own state, owner checked, bounded"),
    (
        "stockade/src/launch/container/monitor.rs",
        "/proc, /sys and the engine's files in our folder",
    ),
    ("stockade/src/launch/container/reap.rs", "/proc and /etc"),
    ("stockade/src/launch/disk/unlinked.rs", "/proc"),
    ("stockade/src/launch/disk/volume.rs", "/proc"),
    ("stockade/src/launch/gvisor/platform.rs", "/proc"),
    ("stockade/src/launch/image.rs", "an image that a person imports, as a whole"),
    ("stockade/src/launch/remedy.rs", "/proc"),
    ("stockade/src/launch/session/processes.rs", "/proc, bounded"),
    ("stockade-cli/src/ask.rs", "the terminal"),
    ("stockade-cli/src/call.rs", "a stream of calls that the caller names, which may be a pipe"),
    ("stockade-cli/src/check.rs", "a call that the caller names, which may be a pipe"),
    ("stockade-cli/src/code.rs", "a source that the caller names, which may be a pipe; bounded"),
    ("stockade-cli/src/hook.rs", "standard input, bounded"),
    ("stockade-cli/src/matrix/fixture.rs", "the fixture of our own battery"),
    ("stockade-cli/src/matrix/run.rs", "the pipe of a case"),
    ("stockade-cli/src/run.rs", "standard input, bounded"),
    ("stockade-cli/src/session/interpreter.rs", "memory files of a command, bounded"),
    ("stockade-cli/src/session/supervisor.rs", "/dev/null"),
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
    let crates = workspace().join("crates");
    let gone: Vec<_> = TRUSTED.iter().filter(|(path, _)| !crates.join(path).exists()).collect();
    assert!(gone.is_empty(), "{gone:?}");
    let mut found = Vec::new();
    for Source { path, text } in sources() {
        let is_host = !path.starts_with("crates/stockade-sandbox/") && path.contains("/src/");
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
