//! `stockade rules`: the rules with their sources, and edits of the files that they are in.

mod lines;
mod listed;

use std::path::{Path, PathBuf};

use serde::Serialize;
use stockade::confine::Origin;
use stockade::policy::rules::Rule;
use stockade::policy::{Decision, LoadError};

use crate::args::{Rules, RulesAdd, RulesRemove, RulesTest, RulesWhat, Target};
use crate::edit::{self, Entry};
use crate::exit_code::Status;
use crate::policy_file::{PolicyFile, Whose};
use crate::print::{BAD, GOOD, escape};
use crate::{Answer, print, setup};

/// Shows, adds, removes or tests rules.
pub(crate) fn rules(rules: &Rules) -> Answer {
    match &rules.what {
        RulesWhat::List(list) => listed::list(list),
        RulesWhat::Add(add) => self::add(add),
        RulesWhat::Remove(remove) => self::remove(remove),
        RulesWhat::Test(test) => self::test(test),
    }
}

const LISTS: [Decision; 3] = [Decision::Deny, Decision::Ask, Decision::Allow];

fn add(add: &RulesAdd) -> Answer {
    let list = add.list.decision().ok_or("add a rule: say --deny, --ask or --allow")?;
    let file = PolicyFile::read(&one_file(&add.target)?, Whose::of(&add.target))?;
    let entry = Entry {
        rule: add.rule.clone(),
        reason: add.reason.clone(),
        instead: add.instead.clone(),
        matching: add.matching.clone(),
        not_matching: add.not_matching.clone(),
    };
    let text = edit::with_rule(&file.path, &file.text, list, &entry)?;
    let (policy, is_trusted) = file.write(&text)?;
    let path = file.path.display().to_string();
    print::line(&format!("{} {} in {}", list.name(), escape(add.rule.trim()), escape(&path)))?;
    let of_rule = |note: &&stockade::policy::rules::Note| note.rule == add.rule.trim();
    for note in policy.rules.notes().iter().filter(of_rule) {
        print::note(&note.message);
    }
    if list == Decision::Allow && file.whose == Whose::Project && !is_trusted {
        print::note("the project's file allows nothing until it is trusted: stockade trust");
    }
    Ok(Status::Ok)
}

fn remove(remove: &RulesRemove) -> Answer {
    let lists = remove.list.decision().map_or(LISTS.to_vec(), |list| vec![list]);
    let mut found = Vec::new();
    for (path, whose) in files(&remove.target)? {
        let file = PolicyFile::read(&path, whose)?;
        let (text, lists) = edit::without_rule(&file.path, &file.text, &lists, &remove.rule)?;
        if !lists.is_empty() {
            found.push((file, text, lists));
        }
    }
    let rule = escape(remove.rule.trim());
    let (file, text, lists) = match <[_; 1]>::try_from(found) {
        Ok([one]) => one,
        Err(found) if found.is_empty() => {
            print::error(&format!("{rule} is in no policy file that could be edited"));
            return Ok(Status::Unexpected);
        }
        Err(_) => {
            return Err("remove the rule: it is in two files; say --user or --project".into());
        }
    };
    if lists.len() > 1 {
        return Err("remove the rule: it is in two lists; say --deny, --ask or --allow".into());
    }
    file.write(&text)?;
    let list = lists.first().map_or("", |list| list.name());
    let path = file.path.display().to_string();
    print::line(&format!("removed {list} {rule} from {}", escape(&path)))?;
    Ok(Status::Ok)
}

/// The file that a rule goes into: the project's unless another is named.
fn one_file(target: &Target) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let found = setup::found(&target.root);
    let path = match Whose::of(target) {
        Whose::Named => target.policy.clone(),
        Whose::User => found.user,
        Whose::Project => found.project,
    };
    Ok(path.ok_or("find your policy file: there is no home folder")?)
}

/// The files that a rule may be in.
fn files(target: &Target) -> Result<Vec<(PathBuf, Whose)>, Box<dyn std::error::Error>> {
    let found = setup::found(&target.root);
    if target.policy.is_some() || target.user || target.project {
        return Ok(vec![(one_file(target)?, Whose::of(target))]);
    }
    let project = found.project.map(|path| (path, Whose::Project));
    Ok(project.into_iter().chain(found.user.map(|path| (path, Whose::User))).collect())
}

#[derive(Serialize)]
struct TestSummary {
    rules: usize,
    examples: usize,
    failed: Vec<TestFailure>,
}

#[derive(Serialize)]
struct TestFailure {
    source: Option<String>,
    message: String,
}

impl TestFailure {
    fn new(path: &Path, (line, message): (usize, String)) -> Self {
        Self { source: Some(format!("{}:{line}", path.display())), message }
    }
}

/// Runs the examples of all rules. A file whose examples do not hold does not load: those are all
/// that is told then.
fn test(test: &RulesTest) -> Answer {
    let mut tested = TestSummary { rules: 0, examples: 0, failed: Vec::new() };
    let policy = match setup::sources(&test.sources).load() {
        Ok(policy) => policy,
        Err(LoadError::Examples { path, failed }) => {
            tested.failed = failed.into_iter().map(|one| TestFailure::new(&path, one)).collect();
            return told(&tested, test);
        }
        Err(error) => return Err(error.into()),
    };
    let is_own = |rule: &&Rule| rule.origin() != Origin::Shipped;
    tested.rules = policy.rules.all().iter().filter(is_own).count();
    for rule in policy.rules.all() {
        for example in rule.examples().all() {
            tested.examples = tested.examples.saturating_add(1);
            if let Err(error) = rule.check(example) {
                let source = rule.place();
                let message = format!("the rule {:?}: {}", rule.text(), error.message);
                tested.failed.push(TestFailure { source, message });
            }
        }
    }
    for one in lines::tried(&test.sources.root, &policy)? {
        tested.examples = tested.examples.saturating_add(1);
        let failed = one.wrong.map(|message| TestFailure { source: one.place, message });
        tested.failed.extend(failed);
    }
    told(&tested, test)
}

fn told(tested: &TestSummary, test: &RulesTest) -> Answer {
    if test.json {
        print::json(tested)?;
    } else {
        for one in &tested.failed {
            let place = one.source.as_deref().unwrap_or("-");
            let line = format!("{place}: {}", one.message);
            print::line(&format!("{BAD}failed{BAD:#} {}", escape(&line)))?;
        }
        let TestSummary { rules, examples, failed } = tested;
        let style = if failed.is_empty() { GOOD } else { BAD };
        let summary = match failed.len() {
            0 => format!("{examples} examples of {rules} rules hold"),
            some => format!("{some} examples do not hold"),
        };
        print::line(&format!("{style}{summary}{style:#}"))?;
    }
    Ok(if tested.failed.is_empty() { Status::Ok } else { Status::Unexpected })
}
