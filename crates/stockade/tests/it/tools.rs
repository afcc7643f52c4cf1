//! Tools as a policy declares them: what is taken, and what is refused with its place.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use stockade::call::{Tool, ToolCall};
use stockade::gate::{Gate, Verdict};
use stockade::journal::record::{Decision, Event, Record};
use stockade::journal::{Durability, Journal};
use stockade::policy::tools::{Attempts, Risk, Runs, Schema};
use stockade::policy::{LoadError, Mode, Policy, PolicyFiles};
use stockade::registry::{Registry, ToolBuilder, ToolWork};
use stockade::tier::Tier;

use crate::project::Project;

fn load(text: &str) -> Result<Policy, LoadError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stockade.toml");
    std::fs::write(&file, text).unwrap();
    std::fs::write(folder.path().join("schema.json"), r#"{"type":"object","maxProperties":1}"#)
        .unwrap();
    PolicyFiles { user: Some(file), managed: None, project: None }.load()
}

#[test]
fn a_tool_needs_its_declaration_and_nothing_else() {
    let policy = load(
        "[tool.conjugate]\n\
         description = 'Conjugates a verb.'\n\
         command = ['python3', './tools/conjugate.py']\n\
         tier = 'process'\n\
         timeout = '5s'\n\
         risk = ['reads']\n\
         idempotent = true\n\
         limits.memory = '64MiB'\n\
         [tool.conjugate.input]\n\
         type = 'object'\n\
         required = ['verb']\n\
         properties.verb = { type = 'string', pattern = '^[a-z]+$' }\n\
         additionalProperties = false\n\
         [tool.look]\n\
         python = 'lab.verbs:look'\n\
         input = 'schema.json'\n",
    )
    .unwrap();
    let [conjugate, look] = &policy.tools[..] else { panic!("{:?}", policy.tools) };
    let declared = &conjugate.declaration;
    assert_eq!((declared.tier, declared.limits.wall), (Tier::Process, Duration::from_secs(5)));
    assert_eq!(declared.limits.memory.unwrap().to_string(), "64MiB");
    assert!(declared.risks.contains(&Risk::Reads) && declared.attempts.is_idempotent());
    assert!(declared.source.as_ref().unwrap().ends_with("stockade.toml:1"), "{declared:?}");
    assert_eq!((look.declaration.tier, look.declaration.attempts), (Tier::Jail, Attempts::ONE));
    assert_eq!(
        look.runs,
        Runs::Python { module: "lab.verbs".to_owned(), function: "look".to_owned() }
    );
    let registry = Registry::of(&policy.tools, Path::new("/"));
    assert_eq!(registry.names().collect::<Vec<_>>(), ["Calc", "conjugate", "look"]);
    let ToolWork::Program { words, .. } = &registry.get("conjugate").unwrap().works else {
        panic!()
    };
    assert!(words[1].to_str().unwrap().starts_with(conjugate.folder.to_str().unwrap()));
    let wrong = |input| {
        let found = declared.input.check(&input);
        found.iter().map(|one| one.pointer.clone()).collect::<Vec<_>>()
    };
    assert_eq!(wrong(json!({"verb": "gehen"})), Vec::<String>::new());
    assert_eq!(wrong(json!({"verb": 7})), ["/verb"], "nothing is coerced");
    assert_eq!(wrong(json!({"verb": "A B"})), ["/verb"]);
    assert_eq!(wrong(json!({})), [""]);
    assert_eq!(wrong(json!({"verb": "a", "more": 1})), [""]);
    assert_eq!(wrong(json!([])), [""]);
}

#[test]
fn a_declaration_that_makes_no_sense_is_an_error_with_its_line() {
    for (text, line, part) in [
        ("[tool.x]\n", 1, "needs `command` or `python`"),
        ("[tool.x]\ncommand = ['a']\npython = 'm:f'\n", 3, "not both"),
        ("[tool.x]\ncommand = []\n", 1, "empty"),
        ("[tool.x]\npython = 'm.f'\n", 2, "package.module:function"),
        ("[tool.x]\npython = 'os;import os:f'\n", 2, "package.module:function"),
        (
            "[tool.x]\ncommand = ['a']\ntier = 'inline'\n",
            3,
            message!("table.only-closure-compiled-into"),
        ),
        ("[tool.x]\ncommand = ['a']\ntier = 'moon'\n", 3, "unknown tier"),
        ("[tool.x]\ncommand = ['a']\nrisk = ['fun']\n", 3, "unknown risk"),
        (
            "[tool.x]\ncommand = ['a']\ntier = 'process'\nrisk = ['network']\n",
            1,
            message!("tools.tool-uses-network-runs"),
        ),
        ("[tool.x]\ncommand = ['a']\nattempts = 3\n", 3, "idempotent"),
        ("[tool.x]\ncommand = ['a']\nidempotent = true\nattempts = 99\n", 4, "1 to 10"),
        ("[tool.x]\ncommand = ['a']\ntimeout = 'soon'\n", 3, "invalid duration"),
        (
            "[tool.x]\ncommand = ['a']\ninput = { type = 'thing' }\n",
            3,
            message!("table.schema-input"),
        ),
        ("[tool.x]\ncommand = ['a']\ninput = 5\n", 3, message!("schema.no-object")),
        ("[tool.Bash]\ncommand = ['a']\n", 1, "there already"),
        ("[tool.read_file]\ncommand = ['a']\n", 1, "there already"),
        ("[tool.Calc]\ncommand = ['a']\n", 1, "there already"),
        ("[tool.\"a b\"]\ncommand = ['a']\n", 1, message!("tools.no-name-tool-letters")),
    ] {
        let error = load(text).unwrap_err();
        let LoadError::Value { line: found, message, .. } = &error else { panic!("{error}") };
        assert!(message.contains(part), "{text}: {message}");
        assert_eq!(*found, line, "{text}: {message}");
    }
    let unknown = load("[tool.x]\ncommand = ['a']\nshell = true\n").unwrap_err();
    assert!(matches!(unknown, LoadError::Syntax { .. }), "{unknown}");
    let twice = load("[tool.x]\ncommand = ['a']\n[tool.x]\ncommand = ['b']\n").unwrap_err();
    assert!(matches!(twice, LoadError::Syntax { .. }), "{twice}");
}

#[test]
fn a_name_is_declared_once_in_all_files_and_by_no_untrusted_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, "[tool.x]\ncommand = ['a']\n").unwrap();
        Some(path)
    };
    let files = PolicyFiles { user: file("a.toml"), managed: file("b.toml"), project: None };
    let error = files.load().unwrap_err().to_string();
    assert!(error.contains("b.toml") && error.contains("a.toml:1 already"), "{error}");
    let files = PolicyFiles { user: None, managed: None, project: file("c.toml") };
    let error = files.load().unwrap_err();
    assert!(matches!(error, LoadError::Loosens { key: "tool", line: 1, .. }), "{error}");
}

#[test]
fn tools_of_the_host_have_names_of_their_own() {
    let tool = || {
        let builder = ToolBuilder::new("add").unwrap().risk(Risk::Reads);
        builder.inline(|input: serde_json::Value| Ok::<_, String>(input)).unwrap()
    };
    let registry = Registry::of(&[], Path::new("/")).with(tool()).unwrap();
    let error = registry.with(tool()).unwrap_err().to_string();
    assert!(error.contains("\"add\"") && error.contains("the host"), "{error}");
    let online = ToolBuilder::new("fetch_it").unwrap().risk(Risk::Network);
    let error = online.inline(|input: serde_json::Value| Ok::<_, String>(input)).unwrap_err();
    assert!(error.to_string().contains(message!("tools.tool-uses-network-runs")), "{error}");
}

#[test]
fn pauses_grow_and_are_bounded() {
    let attempts = Attempts::IDEMPOTENT;
    let pauses: Vec<u128> = (1..=8).map(|after| attempts.pause_after(after).as_millis()).collect();
    assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
}

#[test]
fn each_attempt_has_a_permit_and_an_entry_of_its_own() {
    let project = Project::new();
    let policy = Policy { mode: Mode::Bypass, ..Policy::shipped() };
    let journal = Journal::open(&project.journal(), Durability::default()).unwrap();
    let tool = ToolBuilder::new("t").unwrap();
    let tool = tool.idempotent(Attempts { most: 2, pause: Duration::ZERO });
    let tool = tool.program(Tier::Process, ["true"]).unwrap();
    let gate = Gate::new(project.examiner(policy), journal).with_tool(tool).unwrap();
    let call = ToolCall::of(Tool::Unknown("t".into()));
    let Verdict::Allowed(mut first) = gate.judge(&call) else { panic!() };
    let retry = first.take_retry().unwrap();
    assert!(first.take_retry().is_none(), "one request for a permit");
    let Verdict::Allowed(mut second) = gate.retry(retry) else { panic!() };
    assert!(second.take_retry().is_none(), "two attempts are all");
    assert_ne!(first.entry(), second.entry());
    let text = std::fs::read_to_string(project.journal()).unwrap();
    let entries: Vec<Record> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let attempts = entries.iter().map(|entry| {
        let Event::Verdict(verdict) = &entry.event else { panic!("{:?}", entry.event) };
        (verdict.call.as_str(), verdict.decision, verdict.attempt)
    });
    let id = call.id.as_str();
    let expected = [(id, Decision::Allow, None), (id, Decision::Allow, Some(2))];
    assert_eq!(attempts.collect::<Vec<_>>(), expected);
}

#[test]
fn a_call_that_is_refused_by_now_is_not_tried_again() {
    let project = Project::new();
    let script = project.write("tool.sh", "#!/bin/sh\ntrue\n");
    project.make_executable("tool.sh");
    let policy = Policy { mode: Mode::Bypass, ..Policy::shipped() };
    let journal = Journal::open(&project.journal(), Durability::default()).unwrap();
    let tool = ToolBuilder::new("t").unwrap().idempotent(Attempts::IDEMPOTENT);
    let tool = tool.program(Tier::Process, [script.as_os_str()]).unwrap();
    let gate = Gate::new(project.examiner(policy), journal).with_tool(tool).unwrap();
    let call = ToolCall::of(Tool::Unknown("t".into()));
    let Verdict::Allowed(mut first) = gate.judge(&call) else { panic!() };
    std::fs::write(&script, "#!/bin/sh\nfalse\n").unwrap();
    let verdict = gate.retry(first.take_retry().unwrap());
    assert!(matches!(verdict, Verdict::Impossible(_)), "{verdict:?}");
}

#[test]
fn a_pattern_of_a_schema_cannot_be_made_slow() {
    let schema = json!({"properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}});
    let schema = Schema::compile(schema).unwrap();
    let started = std::time::Instant::now();
    assert_eq!(schema.check(&json!({"a": format!("{}!", "a".repeat(20_000))})).len(), 1);
    assert!(started.elapsed() < Duration::from_secs(120));
    // What only a backtracking engine can do is refused when the policy is read.
    let looks_back = json!({"properties": {"a": {"pattern": "(?<!x)y"}}});
    assert!(Schema::compile(looks_back).is_err());
}
