//! `settings.json`: found, named, with all that is ours in it, and broken in every way.

use stockade::policy::rules::{Facts, HostFacts, PathFacts};
use stockade::policy::{Decision, Mode, Policy, Variable};

use super::place::{Place, complains, decided};

const REAL: &str = r#"{
  "$schema": "https://json.schemastore.org/claude-code-settings.json",
  "model": "opus",
  "permissions": {
    "allow": ["Bash(npm run lint)", "Bash(npm run test:*)", "Read(~/.zshrc)"],
    "ask": ["Bash(git push:*)"],
    "deny": [
      "Bash(curl:*)",
      "Read(./.env)",
      "Edit(/generated/**)"
    ],
    "additionalDirectories": ["../docs/"],
    "defaultMode": "acceptEdits"
  },
  "env": {"NODE_ENV": "test", "ANTHROPIC_API_KEY": "secret"},
  "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "x"}]}]},
  "sandbox": {
    "enabled": true,
    "excludedCommands": ["docker *"],
    "filesystem": {
      "allowWrite": ["/tmp/build", "out/"],
      "denyWrite": ["~/notes/**"],
      "denyRead": ["//opt/secrets", "keys/*.pem"],
      "allowRead": ["~/data"]
    },
    "network": {"deniedDomains": ["*.evil.example"], "allowedDomains": ["x.example"]},
    "credentials": {"files": [{"path": "~/.aws/credentials", "mode": "mask"}]}
  },
  "futureKey": 1
}
"#;

#[test]
fn a_real_file_loads_as_it_is() {
    let place = Place::new();
    let policy = place.named(REAL).unwrap();
    for (line, expected) in [
        ("npm run lint", Some(Decision::Allow)),
        ("npm run test x", Some(Decision::Allow)),
        ("git push origin", Some(Decision::Ask)),
        ("curl x", Some(Decision::Deny)),
        ("ls", None),
    ] {
        assert_eq!(decided(&policy, line), expected, "{line}");
    }
    let curl = policy.rules.all().iter().find(|rule| rule.text() == "Bash(curl:*)").unwrap();
    let written = curl.source().unwrap();
    assert_eq!((written.line, written.file.ends_with("named/settings.json")), (8, true));
    assert_eq!(policy.mode, Mode::AcceptEdits);
    assert_eq!(policy.agent.mode.as_ref().unwrap().line, 13);
    let [hooks] = policy.agent.hooks.as_slice() else { panic!("{:?}", policy.agent) };
    assert_eq!(hooks.json["PreToolUse"][0]["matcher"], "Bash");
    assert!(policy.environment.contains(&Variable::Set("NODE_ENV".into(), "test".into())));
    let secret = |variable: &Variable| variable.name().starts_with("ANTHROPIC");
    assert!(!policy.environment.iter().any(secret), "the agent's own key stays with the agent");
}

#[test]
fn the_sandbox_becomes_the_box() {
    let place = Place::new();
    let policy = place.named(REAL).unwrap();
    let files = &policy.files;
    let (named, home) = (place.path("named"), place.path("home"));
    let docs = place.path("docs");
    for folder in [&docs, &"/tmp/build".into(), &named.join("out")] {
        assert!(files.write.contains(folder), "{folder:?} in {:?}", files.write);
    }
    assert!(policy.settings.outside.contains(&docs));
    assert!(files.read.contains(&home.join("data")));
    assert!(files.hide.contains(&"/opt/secrets".into()), "{:?}", files.hide);
    assert!(files.hide.contains(&home.join(".aws/credentials")));
    assert!(files.protect.contains(&home.join("notes")));
    let mut facts = Facts::new("Read", "/elsewhere");
    facts.reads.push(PathFacts::new(named.join("keys/a.pem")));
    assert_eq!(policy.rules.decide(&facts).unwrap().decision, Decision::Deny, "by a rule");
    let mut facts = Facts::new("WebFetch", "/elsewhere");
    facts.hosts.push(HostFacts::new("a.evil.example"));
    assert_eq!(policy.rules.decide(&facts).unwrap().decision, Decision::Deny);
}

#[test]
fn what_is_not_used_is_said_once() {
    let place = Place::new();
    let notes = place.named(REAL).unwrap().notes();
    let said = |words: &str| notes.iter().filter(|note| note.contains(words)).count();
    assert_eq!(said(message!("claude.not-known-not-used", "futureKey")), 1, "{notes:?}");
    assert_eq!(said("excludedCommands"), 1);
    assert_eq!(said("allowedDomains"), 1);
    assert_eq!(said("wildcards"), 1);
    assert_eq!(said("model"), 0);
    assert_eq!(notes.len(), 4, "{notes:?}");
    let two = r#"{"a": 1, "permissions": {"b": 2}, "sandbox": {"c": 3}}"#;
    let notes = place.named(two).unwrap().notes();
    assert_eq!(notes.len(), 1);
    assert!(
        notes[0].contains(message!("claude.not-known-not-used", "a, permissions.b, sandbox.c")),
        "{notes:?}"
    );
}

#[test]
fn mistakes_have_a_place_and_a_suggestion() {
    let place = Place::new();
    for (text, at, says) in [
        ("", (1, 1), "write {}"),
        ("{\n  \"env\": {},\n}", (3, 1), message!("jsonc.leave-out-comma-before")),
        ("{\n  /* mine\n}", (2, 3), message!("jsonc.comment-ends")),
        ("{\"a\" 1}", (1, 6), "invalid JSON"),
        ("[]", (1, 1), "write an object"),
        ("{\n \"permissions\": []}", (2, 17), message!("claude.list-here-write-object")),
        (
            "{\"permissions\": {\"deny\": \"Bash\"}}",
            (1, 26),
            message!("claude.text-here-write-list"),
        ),
        ("{\"permissions\": {\n\"ask\": [\"Bash\", 1]}}", (2, 17), "is a number here"),
        ("{\"env\": {\"A\": 1}}", (1, 15), "`env.A` is a number here; write text"),
        ("{\"env\": {\"A=B\": \"\"}}", (1, 17), "no variable"),
        ("{\"disableAllHooks\": \"yes\"}", (1, 21), message!("jsonc.true-false")),
        ("{\"hooks\": null}", (1, 11), "is null here"),
        ("{\"env\": {}, \"env\": {}}", (1, 20), "twice"),
        ("{\"permissions\": {\"deny\": [\"Bash(\"]}}", (1, 27), "write Bash()"),
        (
            "{\"permissions\": {\"ask\": [\"Baash(ls)\"]}}",
            (1, 26),
            message!("text.did-you-mean-bash", "ls"),
        ),
        ("{\"sandbox\": {\"filesystem\": {\"denyRead\": [\"\"]}}}", (1, 42), "no path"),
        ("{\"permissions\": {\"defaultMode\": 3}}", (1, 33), "is a number here"),
        (
            "{\"permissions\": {\"defaultMode\": \"yolo\"}}",
            (1, 33),
            "unknown mode \"yolo\"; expected default",
        ),
    ] {
        complains(place.named(text), at, says);
    }
}

#[test]
fn a_rule_that_cannot_be_read_allows_nothing_and_is_named() {
    let place = Place::new();
    let policy = place.named("{\"permissions\": {\"allow\": [\"Bash(\", \"Bash(ls)\"]}}").unwrap();
    assert_eq!(policy.rules.all().len(), Policy::shipped().rules.all().len() + 1);
    let [note] = policy.rules.notes() else { panic!("{:?}", policy.rules.notes()) };
    assert!(note.left_out && note.message.contains("allows nothing"), "{note:?}");
}

#[test]
fn files_are_found_where_the_agent_keeps_them() {
    let place = Place::new();
    let rules = |name: &str| format!("{{\"permissions\": {{\"deny\": [\"Bash({name})\"]}}}}");
    place.write("home/.claude/settings.json", &rules("user"));
    place.write("work/.claude/settings.json", &rules("project"));
    place.write("work/.claude/settings.local.json", &rules("local"));
    let policy = place.load();
    for name in ["user", "project", "local"] {
        assert_eq!(decided(&policy, name), Some(Decision::Deny), "{name}");
    }
    let mut quiet = place.sources();
    quiet.dialects.clear();
    assert_eq!(decided(&quiet.load().unwrap(), "user"), None, "only where it is asked for");
}

#[test]
fn a_slash_in_front_is_what_the_file_speaks_of() {
    let place = Place::new();
    let text = r#"{"permissions": {"deny": ["Read(/x)"]}}"#;
    place.write("home/.claude/settings.json", text);
    place.write("work/.claude/settings.json", text);
    let policy = place.load();
    let denied = |path: &str| {
        let mut facts = Facts::new("Read", "/elsewhere");
        facts.reads.push(PathFacts::new(place.path(path)));
        policy.rules.decide(&facts).is_some()
    };
    assert!(denied("home/.claude/x") && denied("work/x"));
    assert!(!denied("home/x") && !denied("work/.claude/x"));
}

#[test]
fn a_scalar_is_of_the_most_trusted_file() {
    let place = Place::new();
    let mode = |name: &str| format!("{{\"permissions\": {{\"defaultMode\": \"{name}\"}}}}");
    place.write("home/.claude/settings.json", &mode("plan"));
    place.write("work/.claude/settings.json", &mode("bypassPermissions"));
    let chosen = |sources: &stockade::policy::Sources| sources.load().unwrap().mode;
    assert_eq!(chosen(&place.sources()), Mode::Plan, "the project's is not trusted");
    place.trust("work/.claude/settings.json");
    assert_eq!(chosen(&place.sources()), Mode::Bypass);
    let mut sources = place.sources();
    sources.settings = vec![place.write("cli.json", &mode("default"))];
    assert_eq!(chosen(&sources), Mode::Default);
    sources.settings = vec![
        place.write("cli.json", r#"{"permissions": {"disableBypassPermissionsMode": "disable"}}"#),
    ];
    assert_eq!(chosen(&sources), Mode::Default, "what is forbidden is not chosen");
    place.write("managed.toml", "mode = \"plan\"\n");
    assert_eq!(chosen(&place.sources()), Mode::Plan, "the machine is above settings");
}
