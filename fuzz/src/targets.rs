//! What the fuzz targets check. The tests of `stockade-policy` run the same functions.

use std::path::Path;

use serde_json::{Map, Value};
use stockade_policy::hooks::from_settings;
use stockade_policy::rules::{CommandFacts, Facts, PathFacts, Rule, Rules};
use stockade_policy::{Decision, Policy, json};
use stockade_shell::{ShellInput, parse as parse_line, shell_folder};

/// A shell line: all that is said about it is about its text.
pub(crate) fn parse(line: &str) {
    let parsed = parse_line(line);
    for fault in &parsed.faults {
        assert!(line.get(fault.span.start..fault.span.end).is_some(), "{fault:?}");
    }
    for statement in &parsed.script.statements {
        assert!(line.get(statement.span.start..statement.span.end).is_some(), "{statement:?}");
    }
}

/// The text of a rule: an error points into the text, and a rule decides without a panic.
pub(crate) fn rule(text: &str) {
    let mut rules = Vec::new();
    for list in [Decision::Deny, Decision::Ask, Decision::Allow] {
        match Rule::parse(text, list) {
            Ok(rule) => {
                assert_eq!(rule.text(), text.trim());
                assert!(Rule::parse(rule.text(), list).as_ref() == Ok(&rule));
                rules.push(rule);
            }
            Err(error) => assert!(error.offset <= text.len() && !error.message.is_empty()),
        }
    }
    let rules = Rules::compile(rules);
    assert!(rules.consider(&Facts::new("Bash", "/")).len() <= rules.all().len());
    for tool in ["Bash", "Read", "Edit", "WebFetch", "mcp__a__b"] {
        let mut facts = Facts::new(tool, "/home/me/project");
        facts.commands.push(CommandFacts::new(["git", "push", text]));
        facts.reads.push(PathFacts::new(Path::new("/home/me/project").join(text)));
        let decided = rules.decide(&facts);
        assert!(decided.is_none_or(|found| found.rule == text.trim()));
    }
}

/// The text of a policy file: an error names the file, and the same text is the same policy.
pub(crate) fn policy(text: &str) {
    let file = Path::new("/etc/stockade/fuzzed.toml");
    match (Policy::from_text(file, text), Policy::from_text(file, text)) {
        (Ok(policy), Ok(again)) => assert_eq!(policy.fingerprint(), again.fingerprint()),
        (Err(error), Err(_)) => assert!(error.to_string().contains("fuzzed.toml"), "{error}"),
        (one, other) => panic!("{one:?} {other:?}"),
    }
}

/// An event of an agent, or settings with hooks: a command line that is found can be replaced.
pub(crate) fn hook(bytes: &[u8]) {
    let Ok(event) = json::from_slice::<Map<String, Value>>(bytes) else { return };
    let input = event.get("tool_input").and_then(Value::as_object).cloned().unwrap_or_default();
    shell_folder(&input);
    let mut facts = Facts::new("Bash", "/");
    facts.set_parameters(&input);
    assert!(facts.parameters.len() <= input.len());
    if let Ok(place) = ShellInput::find_text(&input) {
        let mut changed = input.clone();
        place.replace(&mut changed, "true".to_owned());
        assert_eq!(place.line(&changed), "true");
        let mut taken = input.clone();
        assert_eq!(place.take(&mut taken), place.line(&input));
    }
    if let Some(hooks) = event.get("hooks") {
        let path = Path::new("/p/.claude/settings.json");
        if let Ok(settings) = from_settings(hooks, path, Path::new("/p")) {
            for hook in settings.hooks {
                assert!(!hook.command.words().is_empty());
            }
        }
    }
}
