//! Golden files of what is decided and planned: one line for each case of the corpora, and the plan
//! of every tier. No prose and nothing of this machine is in them.
//!
//! The cases are examined by a child with a home folder and a temporary folder of its own.

#[path = "../shared/golden.rs"]
pub(crate) mod file;
mod plans;
pub(crate) mod shown;
#[path = "../shared/skip.rs"]
mod skip;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use stockade::gate::{Examination, Examiner};
use stockade::inspect::{Root, Settings};
use stockade::policy::{Policy, Profile};

use crate::shell_judge::examine;
use crate::shell_parse::records::{self, Record};
use crate::{cases, modes, rules, shell_corpus, shell_quiet};
use shown::{Names, programs, quoted};

/// The folder for temporary files, padded: places in lines that name the project are the same for all.
const FOLDER_LENGTH: usize = 64;
/// Between the name of a case and its answer.
const SIGN: &str = " ⇒ ";
const OUT: &str = "STOCKADE_GOLDEN_OUT";
const TABLE: &str = "STOCKADE_GOLDEN_TABLE";

/// One case and the programs that it names.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Line {
    text: String,
    programs: BTreeSet<String>,
}

impl Line {
    fn new(called: &str, root: &Path, all: &[(&str, &Examination)]) -> Self {
        let names = Names::of(root);
        let programs = all.iter().flat_map(|(_, one)| programs(one)).collect();
        Self { text: format!("{called}{SIGN}{}", names.answer(all)), programs }
    }

    fn plain(text: String) -> Self {
        Self { text, programs: BTreeSet::new() }
    }
}

fn lines_of(table: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    match table {
        "shell" => shell_corpus::examined(|called, root, [contained, strict]| {
            let both = [("", &contained), ("strict ", &strict)];
            lines.push(Line::new(called, root, &both));
        }),
        "quiet" => lines.extend(in_both_profiles(shell_quiet::lines())),
        "forms" => lines.extend(in_both_profiles(forms())),
        "cases" => cases::examined(|called, root, examination| {
            lines.push(Line::new(called, root, &[("", &examination)]));
        }),
        "modes" => modes::examined(|called, root, examinations| {
            let all: Vec<_> =
                examinations.iter().map(|(label, one)| (label.as_str(), one)).collect();
            lines.push(Line::new(called, root, &all));
        }),
        "rules" => lines.extend(rules::table::decisions().into_iter().map(Line::plain)),
        "plans" => lines.extend(plans::all().lines().map(|line| Line::plain(line.to_owned()))),
        other => panic!("there is no table {other}"),
    }
    lines
}

/// Lines in a small project, as the shipped policy judges them.
fn in_both_profiles(lines: Vec<(String, String)>) -> Vec<Line> {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir(root.join("src")).unwrap();
    fs::write(root.join("README.md"), "# A project\n").unwrap();
    let examiners = [Profile::Contained, Profile::Strict].map(|profile| {
        let policy = Policy { profile, shell_profile: profile, ..Policy::shipped() };
        Examiner::new(Root::open(root).unwrap(), policy)
    });
    let line = |(name, line): (String, String)| {
        let [contained, strict] = examiners.each_ref().map(|one| examine(one, None, &line));
        let both = [("", &contained), ("strict ", &strict)];
        Line::new(&format!("{name} {}", quoted(&line)), root, &both)
    };
    lines.into_iter().map(line).collect()
}

/// The forms and words of the parser's tests.
fn forms() -> Vec<(String, String)> {
    let words = include_str!("../data/shell/words.txt").split("\n%%\n");
    let words = words.map(|word| ("word".to_owned(), format!("echo {word}")));
    let forms = records::all().into_iter().map(|Record { name, line, .. }| (name, line));
    forms.chain(words).collect()
}

/// A test that does nothing, unless it is asked to write the lines of a table.
#[test]
fn writes_the_lines_of_a_table_when_asked() {
    let (Ok(table), Ok(out)) = (std::env::var(TABLE), std::env::var(OUT)) else { return };
    fs::write(out, serde_json::to_string(&lines_of(&table)).unwrap()).unwrap();
}

/// The lines of a table, by a child with an environment of its own.
#[expect(clippy::disallowed_methods, reason = "the test starts itself")]
fn lines_by_child(table: &str) -> Option<Vec<Line>> {
    let taken = std::env::temp_dir().as_os_str().len() + "/".len() + 6;
    let Some(padding) = FOLDER_LENGTH.checked_sub(taken) else {
        skip::skip("golden", "the name of the folder for temporary files is too long");
        return None;
    };
    let prefix = "-".repeat(padding);
    let folder = tempfile::Builder::new().prefix(&prefix).rand_bytes(6).tempdir().unwrap();
    let (home, out) = (folder.path().join("home"), folder.path().join("out"));
    fs::create_dir(&home).unwrap();
    let role = "golden::writes_the_lines_of_a_table_when_asked";
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", role, "--nocapture"])
        .env_clear()
        .env("HOME", &home)
        .env("PATH", "/usr/bin:/bin")
        .env("TMPDIR", folder.path())
        .env(TABLE, table)
        .env(OUT, &out)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    Some(serde_json::from_str(&fs::read_to_string(out).unwrap()).unwrap())
}

/// The file behind a program's name on this machine: `mawk` for `awk`, `-` where there is none.
#[expect(clippy::disallowed_methods, reason = "the machine is described, nothing is judged")]
fn behind(program: &str) -> String {
    let folders = Settings::default().search_path.into_iter();
    let found = folders.map(|folder| folder.join(program)).find(|path| path.is_file());
    let real = found.and_then(|path| path.canonicalize().ok());
    let name = real.as_deref().and_then(Path::file_name);
    name.map_or("-".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Holds a table to its file. Lines that name a program which differs on the machine that wrote the
/// file may differ too.
#[track_caller]
fn hold(table: &str) {
    let Some(mut lines) = lines_by_child(table) else { return };
    let file = format!("{table}.txt");
    let named: BTreeSet<&String> = lines.iter().flat_map(|line| &line.programs).collect();
    let plain = named.into_iter().filter(|name| name.len() > 1 && quoted(name) == **name);
    let here: BTreeMap<String, String> = plain
        .map(|name| (name.clone(), behind(name)))
        .filter(|(name, real)| name != real)
        .collect();
    let list: Vec<String> = here.iter().map(|(name, real)| format!("{name}={real}")).collect();
    let mut header = format!("# programs {}", list.join(" ")).trim_end().to_owned();
    if !file::is_written() {
        let golden = file::read(&file);
        if let Some(there) = golden.lines().next().filter(|first| **first != header) {
            excuse(&mut lines, &golden, &differing(there, &here));
            there.clone_into(&mut header);
        }
    }
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    file::hold(&file, &format!("{header}\n{}\n", texts.join("\n")));
}

/// The programs that are not the same on this machine as on the one of the header.
fn differing(header: &str, here: &BTreeMap<String, String>) -> BTreeSet<String> {
    let pairs = header.split(' ').filter_map(|pair| pair.split_once('='));
    let own = |(name, real): (&str, &str)| (name.to_owned(), real.to_owned());
    let there: BTreeMap<String, String> = pairs.map(own).collect();
    let names = there.keys().chain(here.keys());
    names.filter(|name| there.get(*name) != here.get(*name)).cloned().collect()
}

/// Takes the golden line for one that differs, where one of the two names such a program: a pattern
/// names another set of programs on each machine.
fn excuse(lines: &mut [Line], golden: &str, differing: &BTreeSet<String>) {
    let case = |line: &str| line.split(SIGN).next().unwrap_or_default().to_owned();
    let expected: BTreeMap<String, &str> = golden.lines().map(|line| (case(line), line)).collect();
    let mut excused = 0;
    for line in lines {
        let golden = expected.get(&case(&line.text)).filter(|golden| **golden != line.text);
        let is_excused = |golden: &str| {
            let mut words = golden.split([' ', '/']);
            !line.programs.is_disjoint(differing) || words.any(|word| differing.contains(word))
        };
        if let Some(golden) = golden.filter(|golden| is_excused(golden)) {
            (*golden).clone_into(&mut line.text);
            excused += 1;
        }
    }
    if excused > 0 {
        let names: Vec<&str> = differing.iter().map(String::as_str).collect();
        let names = names.join(" ");
        skip::skip("golden", &format!("{excused} golden lines name other programs here: {names}"));
    }
}

#[test]
fn argument_vectors_are_judged_as_before() {
    hold("cases");
}

#[test]
fn forms_of_the_shell_are_judged_as_before() {
    hold("forms");
}

#[test]
fn modes_decide_as_before() {
    hold("modes");
}

#[test]
fn plans_are_printed_as_before() {
    hold("plans");
}

#[test]
fn everyday_lines_are_judged_as_before() {
    hold("quiet");
}

#[test]
fn rules_decide_as_before() {
    hold("rules");
}

#[test]
fn shell_lines_are_judged_as_before() {
    hold("shell");
}
