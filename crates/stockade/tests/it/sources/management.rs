//! Rules seen as a whole: which never decide, which are about a tool, and what a box makes of them.

use std::path::{Path, PathBuf};

use stockade::Policy;
use stockade::confine::{Origin, PathPattern};
use stockade::policy::Decision;
use stockade::policy::rules::{CommandFacts, Facts, Fit, Rule, Rules, Unkept};

fn rules(deny: &[&str], ask: &[&str], allow: &[&str]) -> Rules {
    let lists = [(deny, Decision::Deny), (ask, Decision::Ask), (allow, Decision::Allow)];
    let parse = |(texts, list): (&[&str], Decision)| -> Vec<Rule> {
        texts.iter().map(|text| Rule::parse(text, list).unwrap()).collect()
    };
    Rules::compile(lists.into_iter().flat_map(parse).collect())
}

#[test]
fn a_rule_that_never_decides_is_found() {
    for (strict, rule, expected) in [
        ("Bash", "Bash(ls)", true),
        ("bash", "Exec(ls *)", true),
        ("Bash(git *)", "Bash(git push)", true),
        ("Bash(git *)", "Bash(git push *)", true),
        ("Bash(git push *)", "Bash(git *)", false),
        ("Bash(git:*)", "Bash(git:*)", true),
        ("Bash(git *)", "Bash(git*)", false),
        ("Bash(git*)", "Bash(git *)", true),
        ("Bash(* --force)", "Bash(git push --force)", true),
        ("Bash(git push)", "Bash(git push *)", false),
        ("Bash(FOO=1 make)", "Bash(make)", false),
        ("Bash(make *)", "Bash(FOO=1 make all)", true),
        ("Exec(ls)", "Bash(ls)", false),
        ("*", "mcp__a__b", true),
        ("mcp__*", "mcp__a__b", true),
        ("mcp__a", "mcp__a__b", true),
        ("mcp__a", "mcp__ab__c", false),
        ("Read", "Read(x/**)", true),
        ("Read(.env)", "Read(.env)", true),
        ("Read(.env)", "Read(a/.env)", true),
        ("Read(src/**)", "Read(src/a.rs)", true),
        ("Read(src/a.rs)", "Read(src/**)", false),
        ("Read(//etc/**)", "Edit(//etc/hosts)", true),
        ("Edit(//etc/**)", "Read(//etc/hosts)", false),
        ("Read(~/x)", "Read(//x)", false),
        ("Edit(/a/*)", "Edit(/a/b)", true),
        ("WebFetch(domain:*.a.b)", "WebFetch(domain:x.a.b)", true),
        ("WebFetch(domain:*.a.b)", "WebFetch(domain:a.b)", false),
        ("WebFetch", "WebFetch(domain:a.b)", true),
        ("Agent(model:*)", "Agent(x)", false),
    ] {
        let both = rules(&[strict], &[], &[rule]);
        let shadows = both.shadows();
        assert_eq!(!shadows.is_empty(), expected, "{strict} over {rule}");
        assert_eq!(rules(&[], &[strict], &[rule]).shadows().is_empty(), {
            // What is asked about when it is read may still be written.
            let writes = strict.starts_with("Read") && rule.starts_with("Edit");
            !expected || writes
        });
        let lesser =
            rules(&[rule], &[], &[]).and(vec![Rule::parse("Bash(zzz)", Decision::Allow).unwrap()]);
        assert!(!lesser.shadows().iter().any(|shadow| shadow.rule.list() == Decision::Deny));
    }
}

#[test]
fn the_rules_about_a_tool_are_those_that_it_can_meet() {
    let all = rules(
        &["Bash(rm *)", "Read(.env)", "WebFetch(domain:x.y)", "mcp__*"],
        &["Edit", "Exec(ls)"],
        &["Read", "Bash(git *)", "Agent(x)"],
    );
    let about = |tool: &str| -> Vec<&str> {
        all.all().iter().filter(|rule| rule.judges(tool)).map(Rule::text).collect()
    };
    let lines = ["Bash(rm *)", "Read(.env)", "WebFetch(domain:x.y)", "Edit", "Read", "Bash(git *)"];
    assert_eq!(about("bash"), lines);
    assert!(about("Exec").contains(&"Exec(ls)") && about("Exec").contains(&"Bash(rm *)"));
    assert_eq!(about("read_file"), ["Read(.env)", "Read"]);
    assert_eq!(about("Write"), ["Read(.env)"], "what must not be read must not be written");
    assert_eq!(about("WebFetch"), ["WebFetch(domain:x.y)"]);
    assert_eq!(about("mcp__a__b"), ["mcp__*"]);
    assert_eq!(about("Task"), ["Agent(x)"]);
}

#[test]
fn every_rule_is_considered_in_the_order_of_the_lists() {
    let all = rules(&["Bash(rm *)"], &["Bash(git push *)"], &["Bash(git *)", "Bash(ls)"]);
    let fits = |lines: &[&str]| -> Vec<String> {
        let mut facts = Facts::new("Bash", "/project");
        facts.commands = lines.iter().map(|line| CommandFacts::new(line.split(' '))).collect();
        let fit = |fit: &Fit| format!("{fit:?}").split('(').next().unwrap().to_owned();
        all.consider(&facts).iter().map(|one| fit(&one.fit)).collect()
    };
    assert_eq!(fits(&["rm x"]), ["Decides", "NotReached", "NotReached", "NotReached"]);
    assert_eq!(fits(&["git push"]), ["No", "Decides", "NotReached", "NotReached"]);
    assert_eq!(fits(&["git log", "ls"]), ["No", "No", "Decides", "Partly"]);
    assert_eq!(fits(&["git log", "make"]), ["No", "No", "Partly", "No"]);
    assert_eq!(fits(&["make"]), ["No", "No", "No", "No"]);
}

#[test]
fn denied_paths_reach_the_box_where_they_are_named() {
    let root = Path::new("/home/me/project");
    let denied = |text: &str| {
        let rule = Rule::parse_in(text, Decision::Deny, Path::new("/base")).unwrap();
        rule.denied_path(root, Some(Path::new("/home/me")))
    };
    for (text, path, is_sought) in [
        ("Read(.env)", Some("/home/me/project/.env"), true),
        ("Read(./.env)", Some("/home/me/project/.env"), true),
        ("Read(conf/Secret.txt)", Some("/home/me/project/conf/Secret.txt"), false),
        ("Read(conf/x/../Secret.txt)", Some("/home/me/project/conf/Secret.txt"), false),
        ("Read(../other/key)", Some("/home/me/other/key"), false),
        ("Read(a/b/**)", Some("/home/me/project/a/b"), false),
        ("Edit(~/.ssh/**)", Some("/home/me/.ssh"), false),
        ("Read(//etc/shadow)", Some("/etc/shadow"), false),
        ("Edit(/x/)", Some("/base/x"), false),
        ("Edit(~)", Some("/home/me"), false),
        ("Edit(./)", Some("/home/me/project"), false),
        ("Edit(//home/*/project/**)", Some("/home/me/project"), false),
        ("Read(*.pem)", None, true),
        ("Read(a/**/b)", None, true),
        ("Read(a\\[b)", None, true),
        ("Read(~/.aws/*.json)", None, true),
    ] {
        let denied = denied(text).unwrap_or_else(|| panic!("{text}"));
        let found = (denied.path.as_deref(), denied.sought.is_some(), denied.unkept);
        assert_eq!(found, (path.map(Path::new), is_sought, None), "{text}");
    }
    for (text, why) in [
        ("Read", Unkept::EveryPath),
        ("Read(//home/**)", Unkept::Project),
        ("Read(//**)", Unkept::Project),
        ("Read(~)", Unkept::Project),
        ("Read(//home/*/pro*)", Unkept::Project),
    ] {
        let denied = denied(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!((denied.path, denied.unkept), (None, Some(why)), "{text}");
    }
    for text in ["Bash(rm *)", "WebFetch(domain:x.y)", "mcp__a"] {
        assert_eq!(denied(text), None, "{text}");
    }
    let ask = Rule::parse("Read(.env)", Decision::Ask).unwrap();
    assert_eq!(ask.denied_path(root, None), None, "what is asked about may be allowed");
    let homeless = Rule::parse("Read(~/x)", Decision::Deny).unwrap().denied_path(root, None);
    assert_eq!(homeless.unwrap().unkept, Some(Unkept::NoHome));
}

#[test]
fn a_policy_hides_and_protects_what_its_rules_deny() {
    let root = Path::new("/project");
    let text =
        "[rules]\ndeny = ['Read(.env)', 'Edit(stockade.toml)', 'Edit(gen/out/**)', 'Read(*.key)']";
    let policy = Policy::from_text(Path::new("/project/x.toml"), text).unwrap();
    let shipped = Policy::shipped().files;
    let boxed = policy.with_rules_in_box(root).files;
    assert_eq!(boxed.hide, [PathBuf::from("/project/.env")]);
    let more = boxed.protect.strip_prefix(shipped.protect.as_slice()).unwrap();
    assert_eq!(more, [PathBuf::from("/project/gen/out")], "what is protected is not named twice");
    let own = boxed.sought.iter().filter(|one| one.origin() != Origin::Shipped);
    let sought: Vec<&str> = own.map(PathPattern::rule).collect();
    assert_eq!(sought, ["Read(.env)", "Edit(stockade.toml)", "Read(*.key)"]);
}

#[test]
fn a_rule_that_denies_every_write_in_the_project_leaves_nothing_to_be_written() {
    let root = Path::new("/project");
    let text = "box.write = ['.', 'sub', '/elsewhere']\nrules.deny = ['Edit(./**)', 'Read(./**)']";
    let policy = Policy::from_text(Path::new("/project/x.toml"), text).unwrap();
    let boxed = policy.with_rules_in_box(root).files;
    assert_eq!(boxed.write, [PathBuf::from("/elsewhere")]);
    let said: Vec<&str> = boxed.unkept.iter().map(|(.., said)| said.as_str()).collect();
    assert_eq!(said, [message!("the rule Read(./**): {}" => "literal.means-project-whole")]);
}
