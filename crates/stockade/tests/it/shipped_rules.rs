//! The shipped rules: each holds what its examples say, by the whole gate, and can be dropped by name.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use stockade::call::ToolCall;
use stockade::gate::Examiner;
use stockade::inspect::Root;
use stockade::policy::rules::{Example, Examples, Fit};
use stockade::policy::{Decision, Mode, Policy};

/// A project in which the files are that examples delete and move.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in [".git/objects", ".git/refs", "src", "build", "node_modules"] {
        fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    for name in [".git/HEAD", "README.md", "Makefile", "src/a.c", "a", "x"] {
        fs::write(folder.path().join(name), "").unwrap();
    }
    folder
}

fn examiner(root: &Path, policy: Policy) -> Examiner {
    Examiner::new(Root::open(root).unwrap(), policy)
}

/// The examples of each name, with its decision.
fn named() -> BTreeMap<String, (Decision, Examples)> {
    let policy = Policy::shipped();
    let rules = policy.rules.all().iter();
    rules
        .map(|rule| {
            assert!(rule.reason().is_some() && rule.alternative().is_some(), "{}", rule.text());
            (rule.name().unwrap().to_owned(), (rule.list(), rule.lines().clone()))
        })
        .collect()
}

#[test]
fn every_shipped_rule_holds_its_examples_in_every_mode() {
    let folder = project();
    let mut wrong = Vec::new();
    for mode in [Mode::Auto, Mode::Bypass, Mode::Default] {
        let examiner = examiner(folder.path(), Policy { mode, ..Policy::shipped() });
        for (name, (decision, examples)) in named() {
            assert!(!examples.not_matching.is_empty(), "{name}");
            for example in examples.all() {
                let (line, expected) = match example {
                    Example::Match(line) => (line, true),
                    Example::NotMatch(line) => (line, false),
                };
                let call = ToolCall::line(line);
                let examination = examiner.examine(&call);
                let considered = examiner.consider(&call, &examination);
                let of_name = considered.iter().filter(|one| one.rule.name() == Some(&name));
                let is_met = of_name.clone().any(|one| match one.fit {
                    Fit::Decides(_) | Fit::Matches(_) => true,
                    // A rule that denies has decided before one that asks.
                    Fit::NotReached => expected && decision == Decision::Ask,
                    Fit::Partly(_) | Fit::No => false,
                });
                let ruled = &examination.ruling;
                if is_met != expected || (expected && ruled.decision < decision) {
                    let (decision, by) = (ruled.decision, &ruled.source);
                    wrong.push(format!("{mode} {name}: {line}: {is_met}, {decision:?} by {by:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn decided(examiner: &Examiner, call: &ToolCall) -> Decision {
    examiner.examine(call).ruling.decision
}

/// Lines that destroy the project or its history, in spellings besides those of the examples.
const DESTROYING: [&str; 46] = [
    "rm -rf ./",
    "rm -rf -- ./*",
    "rm -rf .[!.]* *",
    "rm -rf [a-zA-Z]*",
    "rm -rf ?*",
    "rm -rf */",
    "rm -rf {*,.*}",
    "rm -rf \"$PWD\"/*",
    "rm -rf src/..",
    "cd src && rm -rf ../*",
    "rm -rf Makefile README.md a build node_modules src x",
    "rm -r src build node_modules; rm Makefile README.md a x",
    "rm -rf `ls -A`",
    "rm -rf $(find . -mindepth 1)",
    "rm -rf $(ls | sort)",
    "ls | xargs rm -rf",
    "ls -A1 | tr '\\n' '\\0' | xargs -0 rm -rf --",
    "ls | grep -v keep | xargs rm -rf",
    "ls | xargs -n1 rm -rf",
    "ls | xargs -I% rm -rf ./%",
    "ls | xargs sh -c 'rm -rf \"$@\"' _",
    "echo * | xargs rm -rf",
    "printf '%s\\n' * | xargs rm -rf",
    "git ls-files -z | xargs -0 rm",
    "find . | xargs rm -rf",
    "find -delete",
    "find . -type f -delete",
    "find . -size +0 -delete",
    "find . -mtime -100 -delete",
    "find . -name '*' -delete",
    "find . ! -name keep -delete",
    "find . -mindepth 1 -maxdepth 1 -not -name .git -exec rm -rf {} +",
    "find . -type f -exec rm {} \\;",
    "find . -execdir rm -rf {} +",
    "find . -depth -ok rm {} ';'",
    "find . -type f -exec sh -c 'rm -f \"$1\"' _ {} \\;",
    "find . -type f -print0 | xargs -0 shred -u",
    "find . -type f | xargs truncate -s 0",
    "for f in *; do rm -rf ./\"$f\"; done",
    "for f in * .*; do rm -rf $f; done",
    "for f in $(ls -A); do rm -rf \"${f}\"; done",
    "for f in `ls`; do truncate -s 0 $f; done",
    "find . -type f | while IFS= read -r f; do rm \"$f\"; done",
    "while read -r f; do rm -rf \"$f\"; done < <(ls -A)",
    "mapfile -t all < <(ls); rm -rf \"${all[@]}\"",
    "bash -c 'ls | xargs rm -rf'",
];

/// The history alone, by its own name and by git.
const FORGETTING: [&str; 14] = [
    "rm -r .git",
    "rm -rf .gi?",
    "rm -rf .g*",
    "rm -rf \"$PWD/.git\"",
    "cd .git && rm -rf *",
    "rm -rf .git/refs .git/HEAD",
    "rm -rf .git/refs/heads/main",
    "find .git/objects -type f -delete",
    "ls .git | xargs -I{} rm -rf {}",
    "git gc --prune=all",
    "git prune --expire=now",
    "git reflog delete HEAD@{1}",
    "git update-ref -d refs/heads/main",
    "git -C . filter-branch -f --all",
];

/// What a day's work deletes and moves.
const EVERYDAY: [&str; 31] = [
    "rm -rf build",
    "rm -rf ./build/*",
    "rm -rf node_modules target dist",
    "rm -f *.o *~ *.pyc",
    "rm -rf build/ && mkdir build",
    "rm -f .git/index.lock .git/refs/heads/main.lock",
    "rm -rf vendor/x/.git",
    "rm -rf /tmp/x",
    "rm -rf src/*.bak",
    "find . -name '*.pyc' -delete",
    "find . -type d -name __pycache__ -prune -exec rm -rf {} +",
    "find . -name '*.orig' -print0 | xargs -0 rm -f",
    "find . -empty -type d -delete",
    "find build -delete",
    "find . -type f | xargs wc -l",
    "find . -type f -exec grep -l x {} +",
    "ls | wc -l",
    "ls *.log | xargs rm -f",
    "ls -t build | tail -n +6 | xargs -I{} rm build/{}",
    "ls | grep '\\.tmp$' | xargs rm -f",
    "for f in *.tmp; do rm \"$f\"; done",
    "for f in *; do echo \"$f\"; done",
    "for d in build dist; do rm -rf \"$d\"; done",
    "git clean -n",
    "git clean -fdx build",
    "git reset --hard",
    "git branch -D x",
    "git gc",
    "mv a b",
    "mv src lib",
    "cp -r src /tmp/x",
];

#[test]
fn destroying_the_project_asks_and_is_refused_where_nobody_is_asked() {
    let folder = project();
    let of = |mode| examiner(folder.path(), Policy { mode, ..Policy::shipped() });
    let modes = [(Mode::Auto, Decision::Ask), (Mode::Bypass, Decision::Ask)];
    let mut wrong = Vec::new();
    for (mode, expected) in modes.into_iter().chain([(Mode::DontAsk, Decision::Deny)]) {
        let examiner = of(mode);
        for line in DESTROYING.into_iter().chain(FORGETTING) {
            let found = decided(&examiner, &ToolCall::line(line));
            if found != expected {
                wrong.push(format!("{mode}: {line}: {found:?}"));
            }
        }
    }
    let auto = of(Mode::Auto);
    for line in EVERYDAY {
        let ruling = auto.examine(&ToolCall::line(line)).ruling;
        if ruling.decision != Decision::Allow {
            wrong.push(format!("{line}: {:?} {:?}", ruling.decision, ruling.reason));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// The lines of a list, one in each line of the file.
fn listed(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with("# "))
}

#[test]
fn names_and_code_that_stand_elsewhere_in_the_line_are_found() {
    let folder = project();
    let of = |mode| examiner(folder.path(), Policy { mode, ..Policy::shipped() });
    let (auto, bypass, dont_ask) = (of(Mode::Auto), of(Mode::Bypass), of(Mode::DontAsk));
    let mut wrong = Vec::new();
    for line in listed(include_str!("lines/asked.txt")) {
        let call = ToolCall::line(line);
        let decisions = [&auto, &bypass, &dont_ask].map(|examiner| decided(examiner, &call));
        if decisions != [Decision::Ask, Decision::Ask, Decision::Deny] {
            wrong.push(format!("{line}: {decisions:?}"));
        }
    }
    for line in listed(include_str!("lines/refused.txt")) {
        let call = ToolCall::line(line);
        let decisions = [&auto, &bypass, &dont_ask].map(|examiner| decided(examiner, &call));
        if decisions != [Decision::Deny; 3] {
            wrong.push(format!("{line}: {decisions:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_day_of_work_asks_nothing() {
    let folder = project();
    let auto = examiner(folder.path(), Policy { mode: Mode::Auto, ..Policy::shipped() });
    let document = "cat > src/new.c <<'X'\nint main;\nX";
    let mut wrong = Vec::new();
    for line in listed(include_str!("lines/everyday.txt")).chain([document]) {
        let ruling = auto.examine(&ToolCall::line(line)).ruling;
        if ruling.decision != Decision::Allow {
            wrong.push(format!("{line}: {:?} {:?}", ruling.decision, ruling.reason));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_move_into_a_folder_of_the_sandbox_is_asked_about_only_where_there_is_one() {
    let folder = project();
    let vanishes = |policy: Policy| {
        let examination = examiner(folder.path(), policy).examine(&ToolCall::line("mv src /tmp/x"));
        examination.findings.iter().any(|finding| finding.rule == "vanish")
    };
    assert!(vanishes(Policy::shipped()));
    let tier = stockade::tier::Tier::Process;
    assert!(!vanishes(Policy { tier, ..Policy::shipped() }));
    let mut policy = Policy::shipped();
    policy.files.write.push("/tmp".into());
    assert!(!vanishes(policy));
}

#[test]
fn secrets_are_refused_to_every_tool() {
    let folder = project();
    for name in [".env", ".env.local", ".env.example"] {
        fs::write(folder.path().join(name), "A=b\n").unwrap();
    }
    let policy = Policy { mode: Mode::Bypass, ..Policy::shipped() };
    let gate = examiner(folder.path(), policy);
    for call in [
        ToolCall::read(".env"),
        ToolCall::read("sub/../.env.local"),
        ToolCall::edit(".env", "A", "B"),
        ToolCall::exec(["cat", ".env"]),
        ToolCall::exec(["nice", "head", ".env.local"]),
        ToolCall::line("python3 x.py < .env"),
    ] {
        let ruling = gate.examine(&call).ruling;
        assert_eq!(ruling.decision, Decision::Deny, "{call:?}");
        assert!(ruling.instead.is_some() && ruling.reason.is_some(), "{ruling:?}");
    }
    for call in [
        ToolCall::read(".env.example"),
        ToolCall::exec(["cat", ".env.example"]),
        // To replace it as a whole shows nothing of it.
        ToolCall::write(".env", "A=c"),
        ToolCall::line("rm .env"),
        ToolCall::line("echo A=c > .env.local"),
    ] {
        assert_eq!(decided(&gate, &call), Decision::Allow, "{call:?}");
    }
    // What a program opens by itself is hidden by the sandbox.
    let files = gate.examine(&ToolCall::line("true")).confinement.files;
    let sought: Vec<&str> = files.sought.iter().map(stockade::confine::PathPattern::rule).collect();
    assert!(sought.contains(&"Read(//**/.env)"), "{sought:?}");
    assert!(files.sought.iter().all(|one| one.folder() == gate.root().path()), "{sought:?}");
}

fn of_text(text: &str) -> Result<Policy, stockade::policy::LoadError> {
    Policy::from_text(Path::new("own.toml"), text)
}

#[test]
fn a_trusted_file_drops_a_rule_by_its_name() {
    let folder = project();
    let line = ToolCall::line("sudo ls");
    let kept = of_text("rules.allow = ['Bash(sudo *)']").unwrap();
    assert_eq!(decided(&examiner(folder.path(), kept), &line), Decision::Deny);
    let dropped = of_text("rules.drop = ['sudo', 'destroy-project']").unwrap();
    assert!(dropped.rules.all().iter().all(|rule| rule.name() != Some("sudo")));
    let gate = examiner(folder.path(), dropped);
    assert_eq!(decided(&gate, &line), Decision::Allow);
    assert_eq!(decided(&gate, &ToolCall::line("rm -rf .")), Decision::Allow);
    assert_eq!(decided(&gate, &ToolCall::line("reboot")), Decision::Deny);
    let unknown = of_text("\nrules.drop = ['sudoo']").unwrap_err().to_string();
    assert!(
        unknown.contains("line 2") && unknown.contains(message!("text.did-you-mean-2", "\"sudo\"")),
        "{unknown}"
    );
    let unknown = of_text("rules.drop = ['nothing-like-it']").unwrap_err().to_string();
    assert!(
        unknown.contains(message!("named.expected-one", "delete-root, sudo, shutdown")),
        "{unknown}"
    );
}

#[test]
fn a_trusted_file_gives_a_name_another_meaning() {
    let folder = project();
    let text = "[[rules.named]]\nname = 'sudo'\ndecision = 'ask'\nrules = ['Bash(sudo *)']\n";
    let gate = examiner(folder.path(), of_text(text).unwrap());
    assert_eq!(decided(&gate, &ToolCall::line("sudo ls")), Decision::Ask);
    assert_eq!(decided(&gate, &ToolCall::line("doas ls")), Decision::Allow);
    for (wrong, says) in [
        (text.replace("'ask'", "'maybe'"), "unknown decision"),
        (text.replace("'sudo'", "'su do'"), "letters, digits"),
        (format!("{text}{text}"), message!("named.two-rules-name")),
        (text.replace("Bash(sudo *)", "Finding(x)"), "unknown finding"),
        (text.replace("Bash(sudo *)", "Finding(vanis)"), message!("text.did-you-mean", "vanish")),
        (text.replace("Bash(sudo *)", "Finding"), "names one"),
    ] {
        let message = of_text(&wrong).unwrap_err().to_string();
        assert!(message.contains(says), "{message}");
    }
}

#[test]
fn an_untrusted_project_drops_no_rule_and_takes_no_name() {
    let folder = tempfile::tempdir().unwrap();
    let load = |text: &str| {
        let path = folder.path().join("stockade.toml");
        fs::write(&path, text).unwrap();
        stockade::policy::PolicyFiles { project: Some(path), ..Default::default() }.load()
    };
    let dropped = load("\n[rules]\ndrop = ['sudo']").unwrap_err().to_string();
    assert!(dropped.contains("line 3") && dropped.contains("`rules.drop`"), "{dropped}");
    let named = "[[rules.named]]\nname = 'NAME'\ndecision = 'LIST'\nrules = ['Bash(ls *)']\n";
    let taken = load(&named.replace("NAME", "sudo").replace("LIST", "deny")).unwrap_err();
    assert!(taken.to_string().contains(message!("named.already-rule", "\"sudo\"")), "{taken}");
    let own = load(&named.replace("NAME", "own").replace("LIST", "deny")).unwrap();
    assert!(own.rules.all().iter().any(|rule| rule.name() == Some("own")));
    let allows = load(&named.replace("NAME", "own").replace("LIST", "allow")).unwrap();
    assert!(allows.rules.all().iter().all(|rule| rule.name() != Some("own")));
    assert_eq!(allows.rules.notes().len(), 1, "{:?}", allows.rules.notes());
}
