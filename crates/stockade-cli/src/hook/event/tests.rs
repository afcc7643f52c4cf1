//! Every event and every field, there, missing, and of the wrong kind.

use serde_json::{Value, json};
use stockade::policy::Mode;

use super::{AgentMode, Event, EventError, HARMLESS, Kind, ToolEvent};

fn parse(value: &Value) -> Result<Event, EventError> {
    Event::parse(value.to_string().as_bytes())
}

fn whole() -> Value {
    json!({
        "session_id": "s", "prompt_id": "p", "transcript_path": "/t", "cwd": "/work",
        "permission_mode": "plan", "effort": {"level": "high"}, "hook_event_name": "PreToolUse",
        "agent_id": "a", "agent_type": "t", "model": "m", "turn_id": "u",
        "tool_name": "Bash", "tool_input": {"command": "ls", "timeout": 5}, "tool_use_id": "toolu_1",
    })
}

#[test]
fn all_fields_of_both_agents_are_taken() {
    let expected = ToolEvent {
        kind: Kind::PreToolUse,
        tool: "Bash".to_owned(),
        input: json!({"command": "ls", "timeout": 5}).as_object().unwrap().clone(),
        id: Some("toolu_1".to_owned()),
        cwd: Some("/work".into()),
        mode: Some(AgentMode::Known(Mode::Plan)),
        session: Some("s".parse().unwrap()),
    };
    assert_eq!(parse(&whole()).unwrap(), Event::Tool(expected));
}

#[test]
fn only_what_a_decision_needs_has_to_be_there() {
    for (field, needed) in [
        ("hook_event_name", true),
        ("tool_name", true),
        ("tool_input", true),
        ("session_id", false),
        ("transcript_path", false),
        ("cwd", false),
        ("permission_mode", false),
        ("effort", false),
        ("tool_use_id", false),
        ("model", false),
    ] {
        let mut event = whole();
        event.as_object_mut().unwrap().remove(field);
        assert_eq!(parse(&event).is_err(), needed, "{field}");
        let mut event = whole();
        event[field] = json!([[1]]);
        let is_ours = needed || ["cwd", "permission_mode", "tool_use_id"].contains(&field);
        assert_eq!(parse(&event).is_err(), is_ours, "{field} of another kind");
    }
}

#[test]
fn modes_are_known_by_the_names_of_the_agents_and_others_are_not_guessed() {
    for (name, mode) in [
        ("default", AgentMode::Known(Mode::Default)),
        ("acceptEdits", AgentMode::Known(Mode::AcceptEdits)),
        ("plan", AgentMode::Known(Mode::Plan)),
        ("auto", AgentMode::Known(Mode::Auto)),
        ("dontAsk", AgentMode::Known(Mode::DontAsk)),
        ("bypassPermissions", AgentMode::Known(Mode::Bypass)),
        ("somethingNew", AgentMode::Unknown),
    ] {
        let mut event = whole();
        event["permission_mode"] = json!(name);
        let Event::Tool(event) = parse(&event).unwrap() else { panic!("no tool") };
        assert_eq!(event.mode, Some(mode), "{name}");
    }
}

#[test]
fn events_that_permit_nothing_pass_and_unknown_ones_only_without_a_tool() {
    for name in HARMLESS {
        let event = json!({"hook_event_name": name, "tool_name": "Bash", "tool_response": {}});
        assert_eq!(parse(&event).unwrap(), Event::Harmless, "{name}");
    }
    assert_eq!(parse(&json!({"hook_event_name": "Tomorrow"})).unwrap(), Event::Harmless);
    for tool in [json!({"tool_name": "Bash"}), json!({"tool_input": {}})] {
        let mut event = tool;
        event["hook_event_name"] = json!("Tomorrow");
        assert!(matches!(parse(&event), Err(EventError::UnknownToolEvent(_))));
    }
    let mut request = whole();
    request["hook_event_name"] = json!("PermissionRequest");
    let Event::Tool(request) = parse(&request).unwrap() else { panic!("no tool") };
    assert_eq!(request.kind, Kind::PermissionRequest);
}

#[test]
fn what_is_no_event_is_an_error() {
    let deep = format!("{{\"tool_input\":{}1{}}}", "[".repeat(5000), "]".repeat(5000));
    let twice = r#"{"hook_event_name":"Stop","hook_event_name":"PreToolUse"}"#;
    let list = r#"["PreToolUse","Bash",{"command":"ls"},null,null,null]"#;
    let surrogate =
        r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"\ud800"}}"#;
    for text in ["", " \n", "{", "[]", "null", "1", "\"x\"", "{} {}", &deep, twice, list, surrogate]
    {
        let short: String = text.chars().take(60).collect();
        assert!(Event::parse(text.as_bytes()).is_err(), "{short}");
    }
    assert!(Event::parse(b"{\"hook_event_name\":\"Stop\xff\"}").is_err());
}
