//! The shipped profiles, what a profile may say, and what is put back of a copy.

use serde_json::{Value, json};

use super::*;

fn claude() -> AgentProfile {
    AgentProfile::named("claude").unwrap().unwrap()
}

#[test]
fn the_shipped_profiles_are_read_and_found_by_the_names_of_their_programs() {
    for name in AgentProfile::names() {
        let profile = AgentProfile::named(name).unwrap().unwrap();
        for program in &profile.programs {
            for word in [program.clone(), format!("/opt/bin/{program}")] {
                let found = AgentProfile::of_program(OsStr::new(&word)).unwrap();
                assert_eq!(found.as_ref(), Some(&profile), "{word}");
            }
        }
    }
    assert_eq!(AgentProfile::of_program(OsStr::new("bash")).unwrap(), None);
    assert_eq!(AgentProfile::of_program(OsStr::new("claude.sh")).unwrap(), None);
    assert_eq!(AgentProfile::named("none").unwrap(), None);
}

#[test]
fn no_shipped_profile_writes_what_an_agent_runs_later() {
    let runs = [
        "settings.json",
        "settings.local.json",
        "hooks",
        "plugins",
        "agents",
        "commands",
        "skills",
        "CLAUDE.md",
        "AGENTS.md",
        "GEMINI.md",
        "config.toml",
        "hooks.json",
        "rules",
        "prompts",
        "extensions",
        "shell-snapshots",
        "shell_snapshots",
        "session-env",
        "bin",
        "local",
        "ide",
        ".env",
    ];
    // Gemini CLI keeps a program there that it runs.
    let of_gemini = ["tmp", "settings.json", "trustedFolders.json", "policies"];
    for name in AgentProfile::names() {
        let AgentProfile { write, write_files, copied, .. } =
            AgentProfile::named(name).unwrap().unwrap();
        let written: Vec<&String> = write.iter().chain(&write_files).collect();
        assert!(!written.iter().any(|one| runs.contains(&one.as_str())), "{name}: {written:?}");
        let is_gemini = |one: &&&String| of_gemini.contains(&one.as_str());
        assert!(name != "gemini" || written.iter().find(is_gemini).is_none(), "{written:?}");
        let keys = format!("{:?}", copied.iter().flat_map(|one| &one.keep).collect::<Vec<_>>());
        for word in
            ["mcp", "hook", "allow", "trust", "permission", "env", "approv", "helper", "oauth"]
        {
            assert!(!keys.to_lowercase().contains(word), "{name}: {word} in {keys}");
        }
    }
}

#[test]
fn a_profile_with_an_unknown_key_a_path_or_two_meanings_is_an_error() {
    let said = |text: &str| AgentProfile::parse("x", text).unwrap_err().to_string();
    let with = |rest: &str| said(&format!("programs = [\"x\"]\nfolder = \".x\"\n{rest}"));
    assert!(AgentProfile::parse("x", "programs = [\"x\"]\nfolder = \".x\"").is_ok());
    assert!(said("programs = []\nfolder = \".x\"").contains("`programs` is empty"));
    for (text, why) in [
        ("writes = [\"a\"]", "unknown field `writes`"),
        ("write = [\"a/b\"]", "\"a/b\" is not the name of one file"),
        ("write = [\"..\"]", "is not the name of one file"),
        ("write_files = [\"\"]", "is not the name of one file"),
        ("write = [\"a*\"]", "is a pattern"),
        ("write = [\"a\"]\nprotect = [\"a\"]", "\"a\" is in two lists"),
        ("write = [\"a.lock\"]\nprivate = [\"*.lock\"]", "\"a.lock\" is in two lists"),
        ("variable = \"A=b\"", "no name of a variable"),
        ("environment = [\"\"]", "is no variable"),
        ("[[copied]]\npath = \"a\"\nkeeps = []", "unknown field `keeps`"),
        ("[[copied]]\npath = \"../a\"", "is not the name of one file"),
        ("[[copied]]\npath = \"a\"\nkeep = [\"a..b\"]", "has an empty part"),
        ("[[copied]]\npath = \"a\"\nkeep = [\"{home}\"]", "no name of a key"),
    ] {
        assert!(with(text).contains(why), "{text}: {}", with(text));
    }
    for folder in ["a/b", "/", "..", ""] {
        let text = format!("programs = [\"x\"]\nfolder = {folder:?}");
        assert!(said(&text).contains("is not the name of one file"), "{folder}");
    }
}

#[test]
fn what_is_private_is_known_by_patterns() {
    let codex = AgentProfile::named("codex").unwrap().unwrap();
    for name in ["state_5.sqlite", "state_5.sqlite-wal", "shell_snapshots", "a.lock"] {
        assert!(codex.is_private(OsStr::new(name)), "{name}");
    }
    for name in ["config.toml", "sessions", "notes.sqlite.txt"] {
        assert!(!codex.is_private(OsStr::new(name)), "{name}");
    }
}

/// What `.claude.json` becomes, and what is dropped.
fn merged(base: &Value, copy: &Value, now: &Value) -> (Option<Value>, Vec<String>) {
    let profile = claude();
    let copied = profile.copied.first().unwrap();
    let text = copied.merged(base, copy, &now.to_string(), "/p");
    let merged = text.map(|text| serde_json::from_str(&text).unwrap());
    (merged, copied.dropped(base, copy, "/p"))
}

#[test]
fn counters_are_put_back_and_what_runs_a_program_is_dropped_and_named() {
    let base = json!({"numStartups": 1, "mcpServers": {}, "tipsHistory": {"a": 1}, "userID": "u",
        "projects": {"/p": {"allowedTools": []}, "/q": {"history": []}}});
    let mut copy = base.clone();
    copy["numStartups"] = json!(2);
    copy["theme"] = json!("dark");
    copy["tipsHistory"] =
        json!({"a": 2, "b-c": 1, "__proto__": 1, "evil": {"x": 1}, "t": "two words"});
    copy["mcpServers"] = json!({"evil": {"command": "sh"}});
    copy["hooks"] = json!({"x": 1});
    copy["apiKeyHelper"] = json!("word");
    copy["projects"] = json!({
        "/p": {"allowedTools": ["Bash"], "hasTrustDialogAccepted": true,
            "hasCompletedProjectOnboarding": true, "mcpServers": {"evil": {"command": "sh"}}},
        "/q": {"history": [], "hasCompletedProjectOnboarding": true},
    });
    let (merged, dropped) = merged(&base, &copy, &base);
    let mut expected = base.clone();
    expected["numStartups"] = json!(2);
    expected["theme"] = json!("dark");
    expected["tipsHistory"] = json!({"a": 2, "b-c": 1});
    expected["projects"]["/p"]["hasCompletedProjectOnboarding"] = json!(true);
    assert_eq!(merged, Some(expected));
    let all = [
        "apiKeyHelper",
        "hooks",
        "mcpServers",
        "projects./p.allowedTools",
        "projects./p.hasTrustDialogAccepted",
        "projects./p.mcpServers",
        "projects./q",
        "tipsHistory.__proto__",
        "tipsHistory.evil",
        "tipsHistory.t",
    ];
    assert_eq!(dropped, all);
}

#[test]
fn a_key_that_has_changed_on_the_machine_meanwhile_keeps_that_value() {
    let base = json!({"numStartups": 1, "theme": "light"});
    let copy = json!({"numStartups": 2, "theme": "dark"});
    let now = json!({"numStartups": 7, "theme": "light", "mcpServers": {"mine": {}}});
    let (merged, dropped) = merged(&base, &copy, &now);
    let expected = json!({"numStartups": 7, "theme": "dark", "mcpServers": {"mine": {}}});
    assert_eq!((merged, dropped), (Some(expected), Vec::new()));
}

#[test]
fn as_many_values_as_an_agent_changes_are_put_back_and_no_more() {
    let base = json!({"tipsHistory": {}});
    let tips = |count: usize| {
        let all = (0..count).map(|number| (format!("tip{number}"), json!(1)));
        json!({"tipsHistory": all.collect::<serde_json::Map<_, _>>()})
    };
    assert_eq!(merged(&base, &tips(200), &base).0, Some(tips(200)));
    let much = merged(&base, &tips(5_000), &base).0.unwrap();
    assert_eq!(much["tipsHistory"].as_object().unwrap().len(), 256);
    for name in ["toString", "valueOf", "toJSON", "hasOwnProperty"] {
        assert_eq!(merged(&base, &json!({"tipsHistory": {name: 1}}), &base).0, None, "{name}");
    }
}

#[test]
fn nothing_is_put_back_where_nothing_fits() {
    let base = json!({"numStartups": 1});
    for copy in [json!({"numStartups": 1}), json!({}), json!([]), json!("x"), Value::Null] {
        assert_eq!(merged(&base, &copy, &base).0, None, "{copy}");
    }
    for value in
        [json!({"a": 1}), json!([1]), json!(null), json!("two words"), json!("a".repeat(65))]
    {
        let copy = json!({ "numStartups": value });
        assert_eq!(merged(&base, &copy, &base), (None, vec!["numStartups".to_owned()]), "{copy}");
    }
    // The file is another one now, in which there is no place for it.
    let copy = json!({"numStartups": 1, "tipsHistory": {"a": 1}});
    assert_eq!(merged(&base, &copy, &json!({"tipsHistory": 3})).0, None);
}

#[test]
fn all_else_in_the_file_stays_as_it_is_written() {
    let profile = claude();
    let copied = profile.copied.first().unwrap();
    let now = "{\n  \"z\": 0.10000000000000000001,\n  \"numStartups\": 1,\n  \"a\": [1,\n 2],\n  \
               \"projects\": {\n    \"/p\": {\n      \"x\": {}\n    }\n  }\n}\n";
    let base = json!({"numStartups": 1, "projects": {"/p": {"x": {}}}});
    let mut copy = base.clone();
    copy["numStartups"] = json!(2);
    copy["projects"]["/p"]["projectOnboardingSeenCount"] = json!(1);
    let expected = now
        .replace(": 1,", ": 2,")
        .replace("\"x\": {}\n", "\"x\": {},\n      \"projectOnboardingSeenCount\": 1\n");
    assert_eq!(copied.merged(&base, &copy, now, "/p").as_deref(), Some(expected.as_str()));
    for text in ["", "[]", "3", "{", "{\"a\": 1, \"a\": 2}"] {
        assert_eq!(copied.merged(&base, &copy, text, "/p"), None, "{text}");
    }
}
