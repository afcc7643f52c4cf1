//! `.rules` files: alternatives, examples, decisions, and mistakes with their place.

use stockade::policy::rules::Rule;
use stockade::policy::{Decision, LoadError};

use super::place::{Place, complains, decided};

const RULES: &str = r#"# Prefix rules.
prefix_rule(
    pattern = ["git", ["push", "fetch"]],
    decision = "prompt",
    justification = "goes to the network",  # shown
    match = [["git", "push", "origin"], "git fetch"],
    not_match = ["git status"],
)
prefix_rule(pattern=['rm'], decision='forbidden')
prefix_rule(pattern=["ls"])
prefix_rule(pattern=["echo", "a b", "*"])
"#;

#[test]
fn every_alternative_is_a_rule() {
    let place = Place::new();
    let policy = place.prefix_rules(RULES).unwrap();
    for (line, expected) in [
        ("git push origin", Some(Decision::Ask)),
        ("git fetch", Some(Decision::Ask)),
        ("git status", None),
        ("rm -rf x", Some(Decision::Deny)),
        ("rmdir x", None),
        ("ls -la", Some(Decision::Allow)),
        ("lsof", None),
        ("echo a b c", None),
    ] {
        assert_eq!(decided(&policy, line), expected, "{line}");
    }
    let own: Vec<&Rule> = policy.rules.all().iter().filter(|rule| rule.name().is_none()).collect();
    let texts: Vec<&str> = own.iter().map(|rule| rule.text()).collect();
    let expected = [
        "Bash(git push *)",
        "Bash(git fetch *)",
        "Bash(rm *)",
        "Bash(ls *)",
        r"Bash(echo a\ b \* *)",
    ];
    assert_eq!(texts, expected);
    let first = own[0];
    assert_eq!((first.source().unwrap().line, first.reason()), (2, Some("goes to the network")));
    assert_eq!(first.examples().matching, ["git push origin"]);
}

#[test]
fn words_are_meant_as_they_are() {
    use stockade::policy::rules::{CommandFacts, Facts};
    let place = Place::new();
    let policy = place.prefix_rules(RULES).unwrap();
    let allowed = |words: &[&str]| {
        let mut facts = Facts::new("Bash", "/project");
        facts.commands.push(CommandFacts::new(words.iter().copied()));
        policy.rules.decide(&facts).map(|found| found.decision)
    };
    assert_eq!(allowed(&["echo", "a b", "*", "x"]), Some(Decision::Allow));
    assert_eq!(allowed(&["echo", "a b", "c"]), None, "a star is no wildcard");
    assert_eq!(allowed(&["echo", "a", "b", "*"]), None);
}

#[test]
fn mistakes_have_a_place() {
    let place = Place::new();
    for (text, at, says) in [
        ("x = 1\n", (1, 1), message!("reader.not-followed-parenthesis-only")),
        ("\n  host_executable(name = \"git\")", (2, 3), "only prefix_rule is"),
        ("prefix_rule()", (1, 1), message!("codex.prefix-rule-needs-pattern")),
        ("prefix_rule([\"ls\"])", (1, 13), message!("reader.arguments-names-write-pattern")),
        ("prefix_rule(pattern = \"ls\")", (1, 23), message!("codex.write-list-as", "\"ls\"")),
        ("prefix_rule(pattern = [])", (1, 23), message!("codex.pattern-least-one-word")),
        ("prefix_rule(pattern = [[]])", (1, 24), "no alternative"),
        ("prefix_rule(pattern = [1])", (1, 24), message!("reader.only-texts-quotes-lists")),
        ("prefix_rule(pattern = [\"A=1\", \"x\"])", (1, 24), "no program"),
        ("prefix_rule(pattern = [\"ls\"], decision = \"deny\")", (1, 42), "forbidden"),
        ("prefix_rule(pattern = [\"ls\"], why = \"x\")", (1, 37), "has no `why`"),
        ("prefix_rule(pattern = [\"ls\"], pattern = [\"x\"])", (1, 31), "twice"),
        ("prefix_rule(pattern = [\"ls\"", (1, 23), "not closed"),
        ("prefix_rule(pattern = [\"ls)\n", (1, 24), message!("reader.quote-not-closed-line")),
        (
            "prefix_rule(pattern = [\"ls\"], match = [\"rm\"])",
            (1, 40),
            message!("example.does-not-match"),
        ),
        (
            "prefix_rule(pattern = [\"ls\"],\n not_match = [\"ls x\"])",
            (2, 15),
            message!("example.matches-should-not"),
        ),
        ("prefix_rule(pattern = [\"ls\"] decision = \"allow\")", (1, 30), "comma"),
        ("prefix_rule(pattern = [\"\\q\"])", (1, 25), "escape"),
    ] {
        complains(place.prefix_rules(text), at, says);
    }
    let many = format!("prefix_rule(pattern = [{}])", "[\"a\",\"b\",\"c\",\"d\"],".repeat(5));
    complains(place.prefix_rules(&many), (1, 23), "too many");
    let deep = format!("prefix_rule(pattern = {}\"a\"{})", "[".repeat(99), "]".repeat(99));
    assert!(matches!(place.prefix_rules(&deep), Err(LoadError::Place { .. })));
}

#[test]
fn long_texts_and_empty_ones_are_read() {
    let place = Place::new();
    let text = "prefix_rule(pattern = [\"\"\"ls\"\"\"], justification = '''two\nlines''')";
    let policy = place.prefix_rules(text).unwrap();
    assert_eq!(policy.rules.all()[0].reason(), Some("two\nlines"));
    complains(
        place.prefix_rules("prefix_rule(pattern = [\"\"])"),
        (1, 24),
        message!("codex.cannot-word-pattern-here"),
    );
}

#[test]
fn files_are_found_and_the_projects_allow_nothing() {
    let place = Place::new();
    place.write("home/.codex/rules/default.rules", "prefix_rule(pattern=[\"a\"])");
    let project =
        "prefix_rule(pattern=[\"b\"])\nprefix_rule(pattern=[\"c\"], decision=\"forbidden\")";
    place.write("work/.codex/rules/x.rules", project);
    let policy = place.load();
    assert_eq!(decided(&policy, "a"), Some(Decision::Allow));
    assert_eq!(decided(&policy, "b"), None);
    assert_eq!(decided(&policy, "c"), Some(Decision::Deny));
    place.trust("work/.codex/rules/x.rules");
    assert_eq!(decided(&place.load(), "b"), Some(Decision::Allow));
}
