//! What holds for any rules and any call: a deny never allows, the order within a list does not
//! matter, and no text makes the reader panic.

use proptest::prelude::*;
use stockade::policy::Decision;
use stockade::policy::rules::{Facts, HostFacts, Rule, Rules};

use super::call::{command, path};

const TOOLS: [&str; 8] =
    ["Bash", "Exec", "Read", "Edit", "Write", "WebFetch", "mcp__a__b", "Agent"];

fn rule_text() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "git", "push", "rm", "-rf", "*", "ls", "FOO=1", "timeout", "'a b'", "x*", "find", "-delete",
    ]);
    let line = prop::collection::vec(word, 1..4).prop_map(|words| words.join(" "));
    let part = prop::sample::select(vec!["a", "b", "*", "**", ".env", "x*", "..", "", "[ab]"]);
    let anchor = prop::sample::select(vec!["", "/", "//", "~/", "./", "../"]);
    let path = (anchor, prop::collection::vec(part, 1..4))
        .prop_map(|(anchor, parts)| format!("{anchor}{}", parts.join("/")));
    let host = prop::sample::select(vec!["a.b", "*.b", "*", "x*.b"]);
    prop_oneof![
        prop::sample::select(TOOLS.to_vec()).prop_map(str::to_owned),
        prop::sample::select(vec!["*", "mcp__*", "mcp__a", "mcp__a__*", "W*"])
            .prop_map(str::to_owned),
        line.prop_map(|line| format!("Bash({line})")),
        path.clone().prop_map(|path| format!("Read({path})")),
        path.prop_map(|path| format!("Edit({path})")),
        host.prop_map(|host| format!("WebFetch(domain:{host})")),
        Just("Agent(model:x)".to_owned()),
    ]
}

fn list() -> impl Strategy<Value = Decision> {
    prop::sample::select(vec![Decision::Deny, Decision::Ask, Decision::Allow])
}

fn rules() -> impl Strategy<Value = Vec<Rule>> {
    prop::collection::vec((rule_text(), list()), 0..8).prop_map(|rules| {
        rules.iter().filter_map(|(text, list)| Rule::parse(text, *list).ok()).collect()
    })
}

fn facts() -> impl Strategy<Value = Facts> {
    let lines = vec![
        "git push",
        "git $x",
        "rm -rf x",
        "ls",
        "FOO=1 git push",
        "LD_PRELOAD=x ls",
        "timeout 5 ls",
        "0 timeout> ls",
        "read-only: ls",
        "dynamic: x",
        "find -delete",
        "$x",
        "rm 'a b'",
    ];
    let paths = vec![
        "a",
        "b",
        "a/b",
        ".env",
        "a/.env",
        "~/a",
        "/etc",
        "/",
        "a -> b",
        "unknown: a",
        "tree: a",
        "tree: /",
        "free: a",
        "0: a",
        "lost: a",
        "a/../b",
    ];
    let hosts = vec!["a.b", "b", "x.y.b", "a\0.b"];
    let commands = prop::collection::vec(prop::sample::select(lines), 0..4);
    let files = prop::collection::vec(prop::sample::select(paths), 0..3);
    let hosts = prop::collection::vec(prop::sample::select(hosts), 0..2);
    let tool = prop::sample::select(TOOLS.to_vec());
    (tool, commands, files.clone(), files, hosts, any::<bool>()).prop_map(
        |(tool, commands, reads, writes, hosts, model)| {
            let mut facts = Facts::new(tool, "/home/me/project");
            facts.commands = commands.into_iter().map(command).collect();
            facts.reads = reads.into_iter().map(path).collect();
            facts.writes = writes.into_iter().map(path).collect();
            facts.hosts = hosts.into_iter().map(HostFacts::new).collect();
            if model {
                facts.parameters.insert("model".to_owned(), "x".to_owned());
            }
            facts
        },
    )
}

/// How strict a decision is; what no rule decides lies between a question and a permission,
/// because a mode may still allow it and may still ask.
fn strictness(rules: Vec<Rule>, facts: &Facts) -> u8 {
    match Rules::compile(rules).decide(facts).map(|found| found.decision) {
        Some(Decision::Deny) => 3,
        Some(Decision::Ask) => 2,
        None => 1,
        Some(Decision::Allow) => 0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_rule_that_refuses_never_makes_anything_more_allowed(
        rules in rules(), text in rule_text(), facts in facts(), ask in any::<bool>(),
    ) {
        let list = if ask { Decision::Ask } else { Decision::Deny };
        let Ok(more) = Rule::parse(&text, list) else { return Ok(()) };
        let before = strictness(rules.clone(), &facts);
        let after = strictness(rules.into_iter().chain([more]).collect(), &facts);
        prop_assert!(after >= before, "{text}: {before} became {after}");
    }

    #[test]
    fn a_rule_that_allows_never_lifts_a_refusal(
        rules in rules(), text in rule_text(), facts in facts(),
    ) {
        let Ok(more) = Rule::parse(&text, Decision::Allow) else { return Ok(()) };
        let before = strictness(rules.clone(), &facts);
        let after = strictness(rules.into_iter().chain([more]).collect(), &facts);
        prop_assert!(after == before || (before == 1 && after == 0), "{text}: {before}, {after}");
    }

    #[test]
    fn the_order_of_rules_does_not_matter(rules in rules(), facts in facts()) {
        let turned: Vec<Rule> = rules.iter().rev().cloned().collect();
        prop_assert_eq!(strictness(rules, &facts), strictness(turned, &facts));
    }

    #[test]
    fn what_all_rules_find_together_each_finds_alone(rules in rules(), facts in facts()) {
        for decision in [Decision::Deny, Decision::Ask] {
            let of: Vec<Rule> = rules.iter().filter(|r| r.list() == decision).cloned().collect();
            let alone = of.iter().any(|rule| strictness(vec![rule.clone()], &facts) >= 2);
            prop_assert_eq!(alone, strictness(of, &facts) >= 2);
        }
    }

    #[test]
    fn one_more_part_never_makes_a_call_more_allowed(
        rules in rules(), facts in facts(), more in facts(),
    ) {
        prop_assume!(!facts.commands.is_empty());
        let before = strictness(rules.clone(), &facts);
        let mut longer = facts.clone();
        longer.writes.extend(more.writes);
        longer.hosts.extend(more.hosts);
        longer.commands.extend(more.commands.into_iter().filter(|c| c.wrapper.is_none()));
        let after = strictness(rules, &longer);
        // A call that no rule was needed for becomes the rules' to allow with a part that needs one.
        prop_assert!(after >= before || before == 1, "{before} became {after}");
    }

    #[test]
    fn any_text_is_a_rule_or_an_error_within_it(text in ".*", list in list()) {
        if let Err(error) = Rule::parse(&text, list) {
            prop_assert!(error.offset <= text.len());
        }
        let inside = format!("Bash({text})");
        if let Err(error) = Rule::parse(&inside, list) {
            prop_assert!(error.offset <= inside.len());
        }
        let inside = format!("Read({text})");
        if let Err(error) = Rule::parse(&inside, list) {
            prop_assert!(error.offset <= inside.len());
        }
    }
}
