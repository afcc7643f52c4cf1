//! Exactly the documented keys, for each agent, event and decision.

use serde_json::{Value, json};
use stockade::policy::{By, Decision, Ruling};

use super::{Answer, DecidedAnswer, told};
use crate::args::Agent;
use crate::hook::event::Kind;

fn wire(kind: Kind, agent: Agent, decision: Decision, input: Option<Value>) -> Option<Value> {
    let input = input.map(|input| input.as_object().unwrap().clone());
    let decided = DecidedAnswer { decision, reason: "stockade asks: why".to_owned(), input };
    Answer::Decided(decided).wire(kind, agent).map(|wire| serde_json::to_value(wire).unwrap())
}

fn before(decision: &str, reason: &str, input: Option<Value>) -> Value {
    let mut output = json!({
        "hookEventName": "PreToolUse",
        "permissionDecision": decision,
        "permissionDecisionReason": reason,
    });
    if let Some(input) = input {
        output["updatedInput"] = input;
    }
    json!({"hookSpecificOutput": output})
}

#[test]
fn before_a_tool_is_used() {
    use Agent::{Claude, Codex};
    use Decision::{Allow, Ask, Deny};
    let pre = Kind::PreToolUse;
    let input = || Some(json!({"command": "x", "timeout": 1}));
    let why = "stockade asks: why";
    assert_eq!(wire(pre, Claude, Allow, input()), Some(before("allow", why, input())));
    assert_eq!(wire(pre, Claude, Ask, input()), Some(before("ask", why, input())));
    assert_eq!(wire(pre, Claude, Allow, None), Some(before("allow", why, None)));
    assert_eq!(wire(pre, Claude, Deny, None), Some(before("deny", why, None)));
    assert_eq!(wire(pre, Codex, Allow, input()), Some(before("allow", why, input())));
    assert_eq!(wire(pre, Codex, Deny, None), Some(before("deny", why, None)));
    // Codex takes no allow without an input, and no question at all.
    assert_eq!(wire(pre, Codex, Allow, None), None);
    let refused = wire(pre, Codex, Ask, input()).unwrap();
    let output = &refused["hookSpecificOutput"];
    assert_eq!(output["permissionDecision"], "deny");
    assert_eq!(output.get("updatedInput"), None);
    let reason = output["permissionDecisionReason"].as_str().unwrap();
    // The words about who was not asked are in `person`, which settles questions before this.
    assert_eq!(reason, "refused: why");
    assert!(Answer::Silent.wire(pre, Claude).is_none());
}

#[test]
fn when_a_person_is_about_to_be_asked() {
    use Agent::{Claude, Codex};
    use Decision::{Allow, Ask, Deny};
    let request = Kind::PermissionRequest;
    let input = || Some(json!({"command": "x"}));
    let output = |decision: Value| {
        Some(
            json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}),
        )
    };
    let denied = json!({"behavior": "deny", "message": "stockade asks: why"});
    let allowed = json!({"behavior": "allow", "updatedInput": {"command": "x"}});
    for agent in [Claude, Codex] {
        assert_eq!(wire(request, agent, Deny, None), output(denied.clone()));
        assert_eq!(wire(request, agent, Ask, input()), None);
        assert_eq!(wire(request, agent, Allow, None), output(json!({"behavior": "allow"})));
    }
    assert_eq!(wire(request, Claude, Allow, input()), output(allowed));
    // Codex fails closed on an input here, and without it there would be no box.
    assert_eq!(wire(request, Codex, Allow, input()), None);
}

#[test]
fn a_refusal_is_three_lines_whatever_is_in_them() {
    let ruling = Ruling::deny(By::Rule, "Bash(rm *)", "a\nb\u{1b}[2J").instead("c\nd");
    let ruling = Ruling { source: Some("f.toml:3".to_owned()), ..ruling };
    let text = told(&ruling);
    assert_eq!(text.lines().count(), 3, "{text:?}");
    assert!(text.contains("\nrule: Bash(rm *) (f.toml:3)\n"), "{text:?}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn a_long_reason_is_cut_before_the_agent_does_it() {
    let answer = Answer::Decided(DecidedAnswer::deny("é".repeat(20_000)));
    let wire = answer.wire(Kind::PreToolUse, Agent::Claude).map(serde_json::to_value);
    let wire = wire.unwrap().unwrap();
    let reason =
        wire["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap().to_owned();
    assert_eq!(reason.chars().count(), 8_000);
}
