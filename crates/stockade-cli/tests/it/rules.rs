//! `stockade rules`, `check --explain`, settings and rules of coding agents on the command line.

use crate::support::Project;

fn text(project: &Project) -> String {
    std::fs::read_to_string(project.path("stockade.toml")).unwrap()
}

#[test]
fn a_rule_is_added_and_removed_and_the_rest_of_the_file_stays() {
    let project = Project::new();
    let before =
        "# ours\n[rules]\ndeny = [\n  \"Read(.env)\", # secrets\n]\n\n[limits]\nwall = \"9s\"\n";
    project.write("stockade.toml", before);
    let add = [
        "rules",
        "add",
        "--deny",
        "Bash(git push *)",
        "--reason",
        "we push",
        "--instead",
        "ask us",
        "--match",
        "git push origin",
        "--not-match",
        "git pull",
    ];
    let told = project.stockade(&add);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(text(&project).contains("\"Read(.env)\", # secrets\n  { rule = \"Bash(git push *)\""));
    let told = project.stockade(&["check", "shell", "git push"]);
    assert_eq!(told.code, 126);
    for words in ["Bash(git push *)", "stockade.toml:5", "we push", "ask us"] {
        assert!(told.stdout.contains(words), "{words} in {told:?}");
    }
    assert_eq!(project.stockade(&add).code, 125, "it is there");
    let told = project.stockade(&["rules", "remove", "Bash(git push *)"]);
    assert_eq!((told.code, text(&project).as_str()), (0, before), "{told:?}");
    let told = project.stockade(&["rules", "remove", "Bash(git push *)"]);
    assert_eq!(told.code, 1, "{told:?}");
}

#[test]
fn what_would_not_load_is_not_written() {
    let project = Project::new();
    let cases: [(&[&str], &str); 5] = [
        (&["--deny", "Bash("], "not closed"),
        (&["--deny", "Bash(ls)", "--match", "rm"], message!("example.does-not-match")),
        (&["--deny", "Bash(a && b)"], message!("text.rule-held-against-one")),
        (&["Bash(ls)"], "--deny, --ask or --allow"),
        (&["--deny", "--ask", "Bash(ls)"], "cannot be used with"),
    ];
    for (args, says) in cases {
        let told = project.stockade(&[&["rules", "add"], args].concat());
        assert_eq!((told.code, told.stderr.contains(says)), (125, true), "{args:?}: {told:?}");
        assert!(!project.path("stockade.toml").exists(), "{args:?}");
    }
    std::os::unix::fs::symlink("/nowhere.toml", project.path("stockade.toml")).unwrap();
    let told = project.stockade(&["rules", "add", "--deny", "Bash(ls)"]);
    assert_eq!(
        (told.code, told.stderr.contains(message!("policy-file.link"))),
        (125, true),
        "{told:?}"
    );
}

#[test]
fn a_rule_of_ones_own_holds_in_all_projects_and_a_link_is_kept() {
    let project = Project::new();
    let told = project.stockade(&["rules", "add", "--user", "--ask", "Bash(make *)"]);
    assert_eq!(told.code, 0, "{told:?}");
    let own = project.beside("config/stockade/stockade.toml");
    assert_eq!(project.stockade(&["check", "shell", "make all"]).code, 3);
    let kept = project.beside("dotfiles.toml");
    std::fs::rename(&own, &kept).unwrap();
    std::os::unix::fs::symlink(&kept, &own).unwrap();
    assert_eq!(project.stockade(&["rules", "add", "--user", "--deny", "Bash(x)"]).code, 0);
    assert!(own.symlink_metadata().unwrap().is_symlink());
    assert!(std::fs::read_to_string(&kept).unwrap().contains("Bash(x)"));
}

#[test]
fn rules_are_listed_with_what_keeps_them_from_deciding() {
    let project = Project::new();
    project.write(
        "own.toml",
        "[rules]\nask = ['Bash']\nallow = [{ rule = 'Bash(ls)', reason = 'x' }]\n",
    );
    let told = project.stockade(&["rules", "list", "--policy", "own.toml", "--json"]);
    let listing = told.json();
    let rules = listing["rules"].as_array().unwrap();
    let own: Vec<_> = rules.iter().filter(|rule| rule.get("name").is_none()).collect();
    assert_eq!(own[0]["rule"], "Bash");
    let ls = own[1];
    assert_eq!((&ls["list"], &ls["source"]), (&"allow".into(), &"own.toml:3".into()));
    assert_eq!((&ls["shadowed_by"]["rule"], &ls["reason"]), (&"Bash".into(), &"x".into()));
    let told = project.stockade(&["rules", "list", "--policy", "own.toml"]);
    assert!(told.stdout.contains("never decides: ask Bash (own.toml:2)"), "{told:?}");
    let told = project.stockade(&["rules", "list"]);
    for words in [
        "deny\n",
        "  sudo ",
        message!("rules.shipped-policy-rule", "sudo"),
        "rules: Bash(sudo *) Bash(su *)",
    ] {
        assert!(told.stdout.contains(words), "{words:?} in {told:?}");
    }
    let shipped = project.stockade(&["rules", "list", "--json"]).json();
    let shipped = shipped["rules"].as_array().unwrap();
    let is_whole = |rule: &&serde_json::Value| {
        ["name", "reason", "instead", "source"].iter().all(|key| rule[key].is_string())
            && rule["examples"].as_u64() > Some(0)
    };
    assert!(shipped.iter().all(|rule| is_whole(&rule)), "{shipped:?}");
    project.write("own.toml", "rules.drop = ['sudo']");
    let told = project.stockade(&["rules", "list", "--policy", "own.toml"]);
    assert!(!told.stdout.contains("Bash(sudo *)"), "{told:?}");
    project.write("own.toml", "rules.drop = ['sudoo']");
    let told = project.stockade(&["rules", "list", "--policy", "own.toml"]);
    assert_eq!(told.code, 125, "{told:?}");
    assert!(
        told.stderr.contains("line 1")
            && told.stderr.contains(message!("text.did-you-mean", "\"sudo\""))
    );
    project.write("stockade.toml", "\nrules.drop = ['sudo']");
    let told = project.stockade(&["rules", "list"]);
    assert!(told.code == 125 && told.stderr.contains("line 2"), "{told:?}");
    assert_eq!(project.stockade(&["trust", "--yes"]).code, 0);
    assert!(!project.stockade(&["rules", "list"]).stdout.contains("Bash(sudo *)"));
}

/// The lines that named rules carry go through the whole gate.
#[test]
fn lines_of_named_rules_are_tested_by_the_gate() {
    let project = Project::new();
    let named = "[[rules.named]]\nname = 'own'\ndecision = 'ask'\nrules = ['Read(*.key)']\n";
    let text = format!("{named}match = ['cat a.key']\nnot_match = ['ls a.key']\n");
    project.write("own.toml", &text);
    let told = project.stockade(&["rules", "test", "--policy", "own.toml"]);
    assert_eq!((told.code, told.stdout.as_str()), (0, "2 examples of 1 rules hold\n"));
    project.write("own.toml", &format!("{named}match = ['ls a.key']\nnot_match = ['cat a.key']\n"));
    let told = project.stockade(&["rules", "test", "--policy", "own.toml"]);
    assert_eq!(told.code, 1, "{told:?}");
    for words in [
        message!("\"ls a.key\" {}" => "example.does-not-match"),
        message!("\"cat a.key\" {}" => "example.matches-should-not"),
    ] {
        assert!(told.stdout.contains(words), "{words} in {told:?}");
    }
}

#[test]
fn every_example_that_fails_is_told_with_its_place() {
    let project = Project::new();
    let good = "[rules]\ndeny = [{ rule = 'Bash(ls)', match = ['ls'], not_match = ['lsof'] }]\n";
    project.write("own.toml", good);
    let told = project.stockade(&["rules", "test", "--policy", "own.toml"]);
    assert_eq!((told.code, told.stdout.as_str()), (0, "2 examples of 1 rules hold\n"));
    let bad = "[rules]\ndeny = [\n{ rule = 'Bash(ls)', match = ['ls x'] },\n\
               { rule = 'Bash(rm *)', not_match = ['rm x'] }]\n";
    project.write("own.toml", bad);
    let told = project.stockade(&["rules", "test", "--policy", "own.toml"]);
    assert_eq!(told.code, 1, "{told:?}");
    for words in [
        "own.toml:3:",
        message!("\"ls x\" {}" => "example.does-not-match"),
        "own.toml:4:",
        message!("rules.examples-do-not-hold", "2"),
    ] {
        assert!(told.stdout.contains(words), "{words} in {told:?}");
    }
    let told = project.stockade(&["rules", "test", "--policy", "own.toml", "--json"]);
    assert_eq!(told.json()["failed"][1]["source"], "own.toml:4");
    let told = project.stockade(&["run", "--policy", "own.toml", "--", "true"]);
    assert_eq!(told.code, 125, "and nothing runs by such a file");
}

#[test]
fn settings_and_prefix_rules_are_named_or_found() {
    let project = Project::new();
    project.write("s.json", "{\"permissions\": {\n\"deny\": [\"Bash(make *)\"]}}");
    project.write("c.rules", "prefix_rule(pattern=[\"make\"], decision=\"prompt\")\n");
    let told = project.stockade(&["check", "shell", "--settings", "s.json", "make"]);
    assert_eq!((told.code, told.stdout.contains("s.json:2")), (126, true), "{told:?}");
    let told = project.stockade(&["check", "shell", "--rules", "c.rules", "make"]);
    assert_eq!((told.code, told.stdout.contains("c.rules:1")), (3, true), "{told:?}");
    let told = project.stockade(&["check", "shell", "--settings", "none.json", "make"]);
    assert_eq!((told.code, told.stderr.contains("none.json")), (125, true), "{told:?}");
    std::fs::create_dir(project.beside("home/.claude")).unwrap();
    let found = project.beside("home/.claude/settings.json");
    std::fs::write(&found, "{\"permissions\": {\"ask\": [\"Bash(make)\"]}}").unwrap();
    assert_eq!(project.stockade(&["check", "shell", "--dialect", "claude", "make"]).code, 3);
    std::fs::write(&found, "{\"permissions\": {\"ask\": \"Bash\"}}").unwrap();
    let told = project.stockade(&["run", "--dialect", "claude", "--", "true"]);
    assert_eq!(told.code, 125);
    assert!(
        told.stderr.contains("line 1, column 25")
            && told.stderr.contains(message!("codex.write-list"))
    );
}

#[test]
fn notes_are_told_once_and_not_to_those_who_want_quiet() {
    let project = Project::new();
    project.write("stockade.toml", "rules.allow = ['Bash(ls)']\n");
    let notes = |args: &[&str]| project.stockade(args).stderr.matches("note:").count();
    assert_eq!(notes(&["run", "--", "true"]), 1);
    assert_eq!(notes(&["check", "run", "--", "true"]), 1);
    assert_eq!(notes(&["run", "--quiet", "--", "true"]), 0);
    let told = project.stockade(&["check", "run", "--json", "--", "true"]);
    assert_eq!((told.json()["notes"].as_array().unwrap().len(), told.stderr.as_str()), (1, ""));
}

#[test]
fn an_explanation_names_the_rules_in_order_and_why_one_won() {
    let project = Project::new();
    project.write(
        "own.toml",
        "[rules]\ndeny = ['Bash(rm *)', 'Read(*.key)', 'Read(.env)', 'Read']\nallow = ['Bash(make *)']\n",
    );
    std::fs::create_dir(project.path("sub")).unwrap();
    for name in ["1.key", "2.key", "3.key", "4.key", "sub/a.key", "sub/b.key"] {
        project.write(name, "");
    }
    let check = |more: &[&str], line: &str| {
        let args = [&["check", "shell", "--policy", "own.toml", "--explain"], more, &[line]];
        project.stockade(&args.concat())
    };
    let told = check(&[], "make x && rm y");
    let place = |words: &str| {
        told.stdout.find(words).unwrap_or_else(|| panic!("{words} in {}", told.stdout))
    };
    let decides = place("deny   Bash(rm *) (own.toml:2) decides: `rm y`");
    let not_asked = place("allow  Bash(make *) (own.toml:3) not asked");
    assert!(decides < not_asked && not_asked < place(message!("because {}" => "rules.deny-first")));
    place("sub/a.key and 1 more (");
    place("Read(.env): hidden ");
    place(message!("Read: not kept there - ({})" => "literal.means-every-path"));
    place(message!("rules.one-made-during-run"));
    let told = check(&["--json"], "make x; touch y").json();
    let fit = |at: usize| told["rules"]["considered"][at]["fit"].clone();
    assert_eq!((fit(0), fit(4)), ("no".into(), "partly".into()), "{told}");
    let boxed = &told["rules"]["boxed"];
    assert_eq!((&boxed[1]["kept"], &boxed[2]["kept"]), (&"hidden".into(), &"gate".into()));
    assert_eq!(boxed[0]["paths"].as_array().unwrap().len(), 6, "{told}");
}
