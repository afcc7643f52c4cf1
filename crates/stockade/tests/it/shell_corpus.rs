//! Runs the tables in `shell/`: lines that hide a command, by trick, and what must be found in them.
//!
//! What the keys mean is at the top of `shell/project.toml`.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use stockade::gate::{Examination, Examiner};
use stockade::inspect::Root;
use stockade::policy::{Decision, Policy, Profile};

use crate::golden::shown::quoted;
use crate::shell_judge::{Judged, Seen, examine, judge};

/// How many lines there have to be.
const CASES_MIN: usize = 450;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    case: Vec<Case>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    class: String,
    line: String,
    repeat: Option<Repeat>,
    #[serde(default)]
    commands: Vec<Vec<String>>,
    #[serde(default)]
    programs: Vec<String>,
    dynamic: Option<bool>,
    reads: Option<Vec<String>>,
    writes: Option<Vec<String>>,
    deletes: Option<Vec<String>>,
    hosts: Option<Vec<String>>,
    read_only: Option<bool>,
    contained: Option<Expected>,
    strict: Option<Expected>,
    mode: Option<String>,
    #[serde(default)]
    rules: Rules,
    cwd: Option<String>,
    finding: Option<String>,
    absent: Option<String>,
    /// For the reader.
    #[serde(rename = "why")]
    _why: Option<String>,
}

impl Case {
    /// Whether the shipped policy applies to it.
    fn is_plain(&self) -> bool {
        let Rules { deny, ask, allow } = &self.rules;
        self.mode.is_none() && [deny, ask, allow].iter().all(|list| list.is_empty())
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Repeat {
    before: String,
    count: usize,
    after: String,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Expected {
    Allow,
    Ask,
    Deny,
    /// A question or a refusal.
    Stopped,
}

impl Expected {
    /// A program that is not on this machine has passed the axes all the same.
    fn is_met(self, judged: &Judged) -> bool {
        let missing = judged.rule.as_deref() == Some("name/missing");
        match self {
            Self::Allow => judged.decision == Decision::Allow || missing,
            Self::Ask => judged.decision == Decision::Ask,
            Self::Deny => judged.decision == Decision::Deny && !missing,
            Self::Stopped => judged.decision != Decision::Allow && !missing,
        }
    }
}

/// Lists of rules, as a policy file has them.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    #[serde(default)]
    deny: Vec<String>,
    #[serde(default)]
    ask: Vec<String>,
    #[serde(default)]
    allow: Vec<String>,
}

/// `shell/project.toml`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    files: BTreeMap<String, String>,
    programs: BTreeMap<String, String>,
    links: BTreeMap<String, String>,
    copies: BTreeMap<String, String>,
    hard_links: BTreeMap<String, String>,
}

/// The project of `shell/project.toml` on the disk.
struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let contents: Contents = toml::from_str(include_str!("shell/project.toml")).unwrap();
        let project = Self { folder: tempfile::tempdir().unwrap() };
        for (path, text) in contents.files.iter().chain(&contents.programs) {
            fs::write(project.place(path), text).unwrap();
        }
        for path in contents.programs.keys() {
            fs::set_permissions(project.place(path), fs::Permissions::from_mode(0o755)).unwrap();
        }
        for (path, target) in &contents.links {
            symlink(target, project.place(path)).unwrap();
        }
        for (path, from) in &contents.copies {
            fs::copy(from, project.place(path)).unwrap();
        }
        for (path, from) in &contents.hard_links {
            let place = project.place(path);
            // Not across file systems, nor where the kernel protects other people's files.
            if fs::hard_link(from, &place).is_err() {
                fs::copy(from, &place).unwrap();
            }
        }
        project
    }

    /// A path beside the root, in a folder that is there.
    fn place(&self, path: &str) -> PathBuf {
        let place = self.folder.path().join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        place
    }

    fn examiner(&self, policy: Policy) -> Examiner {
        Examiner::new(Root::open(&self.root()).unwrap(), policy)
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn filled(&self, text: &str) -> String {
        let beside = self.folder.path().to_str().unwrap();
        text.replace("@ROOT@", &format!("{beside}/work")).replace("@BESIDE@", beside)
    }

    /// The path without `.` and `..`, from the folder of the call if it is not absolute.
    fn absolute(&self, from: &Path, path: &str) -> PathBuf {
        let mut plain = PathBuf::new();
        for part in from.join(self.filled(path)).components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => {
                    plain.pop();
                }
                Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                    plain.push(part);
                }
            }
        }
        plain
    }
}

/// The shipped policy with the rules and the mode of a case.
fn policy(case: &Case, profile: Profile) -> Policy {
    let mut policy = if case.is_plain() {
        Policy::shipped()
    } else {
        // A JSON list of strings is a TOML list of strings.
        let list = |rules: &Vec<String>| serde_json::to_string(rules).unwrap();
        let mode = case.mode.as_deref().unwrap_or("auto");
        let text = format!(
            "mode = {mode:?}\n[rules]\ndeny = {}\nask = {}\nallow = {}\n",
            list(&case.rules.deny),
            list(&case.rules.ask),
            list(&case.rules.allow)
        );
        Policy::from_text(Path::new("case.toml"), &text).unwrap()
    };
    policy.profile = profile;
    policy.shell_profile = profile;
    policy
}

/// What is wrong with the answer to one case.
fn wrong(project: &Project, case: &Case) -> Vec<String> {
    let line = project.filled(&whole(case));
    let cwd = case.cwd.as_ref().map(|cwd| project.root().join(cwd));
    let said = |profile| judge(&project.root(), policy(case, profile), cwd.as_deref(), &line);
    let (contained, strict) = (said(Profile::Contained), said(Profile::Strict));
    let mut wrong = missed(project, case, &contained);
    for (profile, expected, judged) in
        [("contained", case.contained, &contained), ("strict", case.strict, &strict)]
    {
        if let Some(expected) = expected.filter(|expected| !expected.is_met(judged)) {
            let found = (judged.decision, &judged.rule, &judged.reason);
            wrong.push(format!("{profile} should be {expected:?}: {found:?}"));
        }
    }
    wrong
}

fn whole(case: &Case) -> String {
    let Some(Repeat { before, count, after }) = &case.repeat else { return case.line.clone() };
    format!("{}{}{}", before.repeat(*count), case.line, after.repeat(*count))
}

/// What should have been found and was not.
fn missed(project: &Project, case: &Case, judged: &Judged) -> Vec<String> {
    let mut wrong = Vec::new();
    let seen = &judged.commands;
    for argv in &case.commands {
        let argv: Vec<String> = argv.iter().map(|word| project.filled(word)).collect();
        if !seen.iter().any(|one| one.argv.as_ref() == Some(&argv)) {
            wrong.push(format!("{argv:?} is not among the commands"));
        }
    }
    for program in &case.programs {
        if !seen.iter().any(|one| one.program.as_ref() == Some(program)) {
            wrong.push(format!("no command of {program}"));
        }
    }
    let is_marked = judged.findings.iter().any(|finding| finding == "shell/dynamic");
    let is_dynamic = is_marked || seen.iter().any(|one| one.dynamic);
    if case.dynamic.is_some_and(|dynamic| dynamic != is_dynamic) {
        wrong.push(format!("dynamic should be {:?}", case.dynamic));
    }
    if case.read_only.is_some() && case.read_only != judged.read_only {
        wrong.push(format!("read-only should be {:?}: {:?}", case.read_only, judged.read_only));
    }
    if let Some(finding) = case.finding.as_ref().filter(|one| !judged.findings.contains(one)) {
        wrong.push(format!("no finding {finding}: {:?}", judged.findings));
    }
    if let Some(finding) = case.absent.as_ref().filter(|one| judged.findings.contains(one)) {
        wrong.push(format!("there is a finding {finding}"));
    }
    wrong.extend(effects(project, case, seen));
    wrong
}

fn effects(project: &Project, case: &Case, seen: &[Seen]) -> Vec<String> {
    let here = case.cwd.as_ref().map_or(project.root(), |cwd| project.root().join(cwd));
    let paths = |of: fn(&Seen) -> &Vec<String>| -> Vec<PathBuf> {
        seen.iter().flat_map(of).map(|path| project.absolute(&here, path)).collect()
    };
    let mut wrong = Vec::new();
    for (kind, wanted, found) in [
        ("read", &case.reads, paths(|one| &one.reads)),
        ("written", &case.writes, paths(|one| &one.writes)),
        ("deleted", &case.deletes, paths(|one| &one.deletes)),
    ] {
        let Some(wanted) = wanted else { continue };
        if wanted.is_empty() && !found.is_empty() {
            wrong.push(format!("nothing should be {kind}: {found:?}"));
        }
        for path in wanted {
            if !found.contains(&project.absolute(&project.root(), path)) {
                wrong.push(format!("{path} should be {kind}: {found:?}"));
            }
        }
    }
    let hosts: Vec<&String> = seen.iter().flat_map(|one| &one.hosts).collect();
    if let Some(wanted) = &case.hosts {
        if wanted.is_empty() && !hosts.is_empty() {
            wrong.push(format!("no host should be there: {hosts:?}"));
        }
        for host in wanted.iter().filter(|host| !hosts.contains(host)) {
            wrong.push(format!("{host} should be a host: {hosts:?}"));
        }
    }
    wrong
}

/// Judges every line of a table, and names all that came out wrong.
fn check(name: &str) {
    let project = Project::new();
    let mut complaints = Vec::new();
    let table = table(name);
    for case in &table.case {
        for complaint in wrong(&project, case) {
            complaints.push(format!("{}: {:?}: {complaint}", case.class, case.line));
        }
    }
    let (wrong, cases) = (complaints.len(), table.case.len());
    assert!(complaints.is_empty(), "{wrong} wrong in {cases}:\n{}", complaints.join("\n"));
}

/// The contained and the strict profile.
fn examiners(project: &Project, case: &Case) -> [Examiner; 2] {
    [Profile::Contained, Profile::Strict].map(|profile| project.examiner(policy(case, profile)))
}

/// Every line of every table with its name, examined in the contained and in the strict profile.
pub(crate) fn examined(mut each: impl FnMut(&str, &Path, [Examination; 2])) {
    let project = Project::new();
    let plain = OnceCell::new();
    for (name, _) in TABLES {
        for case in &table(name).case {
            let line = project.filled(&whole(case));
            let cwd = case.cwd.as_ref().map(|cwd| project.root().join(cwd));
            let own = (!case.is_plain()).then(|| examiners(&project, case));
            let used =
                own.as_ref().unwrap_or_else(|| plain.get_or_init(|| examiners(&project, case)));
            let examinations = used.each_ref().map(|one| examine(one, cwd.as_deref(), &line));
            let mut called = format!("{name} {}", quoted(&whole(case)));
            let Rules { deny, ask, allow } = &case.rules;
            for (key, rules) in [("deny", deny), ("ask", ask), ("allow", allow)] {
                if !rules.is_empty() {
                    write!(called, " {key}={rules:?}").unwrap();
                }
            }
            for (key, value) in [("mode", &case.mode), ("cwd", &case.cwd)] {
                if let Some(value) = value {
                    write!(called, " {key}={value}").unwrap();
                }
            }
            each(&called, &project.root(), examinations);
        }
    }
}

fn table(name: &str) -> Table {
    let (_, text) = TABLES.into_iter().find(|(known, _)| *known == name).unwrap();
    toml::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

macro_rules! tables {
    ($($name:ident),* $(,)?) => {
        const TABLES: [(&str, &str); [$(stringify!($name)),*].len()] =
            [$((stringify!($name), include_str!(concat!("shell/", stringify!($name), ".toml")))),*];

        $(
            #[test]
            fn $name() {
                check(stringify!($name));
            }
        )*
    };
}

tables! {
    aliases_and_functions, attacked, confusion, critical_deletes, cves_and_bypasses, cwd, effects_reads,
    effects_writes, encodings, environment, evaluated, expansion, flags_that_write, found_by_running,
    grammar, heredocs, hosts, interpreters, nesting, path_hijack, path_rules, quoting, read_only, readers_that_execute,
    redirects, separators, spelling, unicode, wrappers,
}

/// `shell/classes.toml`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Classes {
    list: Vec<List>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    name: String,
    items: Vec<String>,
}

#[test]
fn every_class_is_there_by_name() {
    let cases: Vec<Case> = TABLES.iter().flat_map(|(name, _)| table(name).case).collect();
    assert!(cases.len() >= CASES_MIN, "{}", cases.len());
    let classes: Classes = toml::from_str(include_str!("shell/classes.toml")).unwrap();
    let mut absent = Vec::new();
    for List { name, items } in &classes.list {
        for item in items.iter().map(|item| format!("{name}{item}")) {
            if !cases.iter().any(|case| case.class.starts_with(&item)) {
                absent.push(item);
            }
        }
    }
    assert!(absent.is_empty(), "{absent:#?}");
}

#[test]
fn every_case_expects_something() {
    for case in TABLES.iter().flat_map(|(name, _)| table(name).case) {
        let facts = [&case.reads, &case.writes, &case.deletes, &case.hosts];
        let expects = !case.commands.is_empty()
            || !case.programs.is_empty()
            || facts.iter().any(|one| one.is_some())
            || case.dynamic.or(case.read_only).is_some()
            || case.contained.or(case.strict).is_some()
            || case.finding.or(case.absent).is_some();
        assert!(expects, "{}: {:?}", case.class, case.line);
    }
}

#[test]
fn every_table_in_the_folder_is_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/shell");
    for entry in fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let name = name.strip_suffix(".toml").unwrap();
        let known = TABLES.iter().any(|(known, _)| *known == name);
        assert!(known || ["project", "classes"].contains(&name), "{name}");
    }
}
