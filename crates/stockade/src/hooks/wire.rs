//! Parses the output and the exit code of a command hook.
//!
//! The parser is stricter than that of coding agents: they ignore a crash, an unknown word or
//! broken JSON, and here each of these denies the call.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::reply::{Replacement, Reply, capped};
use super::{CommandExit, CommandOutput, HookFault};
use crate::json;
use crate::policy::Decision;
use crate::policy::hooks::Event;

/// The exit code that blocks.
const BLOCK: i32 = 2;
/// The most texts that one hook may redact.
const REDACT_MAX: usize = 1000;

/// The reply of a command.
pub fn read(event: Event, ran: &CommandOutput) -> Result<Reply, HookFault> {
    let code = match ran.ended {
        CommandExit::Code(code) => code,
        CommandExit::TimedOut(after) => return Err(HookFault::TimedOut(after)),
        CommandExit::Signal(signal) => return Err(HookFault::Signal(signal)),
        CommandExit::Limit(limit) => return Err(HookFault::Limit(limit)),
        CommandExit::Lost => return Err(HookFault::Lost),
    };
    if ran.is_cut {
        return Err(HookFault::TooMuch);
    }
    let said = parse(event, &ran.stdout);
    let stderr = || capped(String::from_utf8_lossy(&ran.stderr).trim().to_owned());
    match (code, event) {
        (0, _) => said,
        // Its JSON may block with a reason of its own, but cannot undo the block.
        (BLOCK, Event::Pre) => {
            let said = said.ok().filter(|said| said.decision == Some(Decision::Deny));
            Ok(said.unwrap_or_else(|| Reply::deny(stderr())))
        }
        (BLOCK, Event::Post) => {
            let said = said?;
            let told = [said.context.clone(), Some(stderr())].into_iter().flatten();
            let told: Vec<String> = told.filter(|text| !text.is_empty()).collect();
            Ok(Reply { context: (!told.is_empty()).then(|| told.join("\n")), ..said })
        }
        (code, Event::Pre) => match said {
            Ok(said) if said.decision == Some(Decision::Deny) => Ok(said),
            Ok(_) | Err(_) => Err(HookFault::Code { code, stderr: stderr() }),
        },
        (code, Event::Post) => Err(HookFault::Code { code, stderr: stderr() }),
    }
}

fn parse(event: Event, stdout: &[u8]) -> Result<Reply, HookFault> {
    let text = stdout.trim_ascii_start();
    if text.first() != Some(&b'{') {
        return Ok(Reply::silent());
    }
    let wire: Wire =
        json::from_slice(text).map_err(|error| HookFault::NotAReply(error.to_string()))?;
    let reply = match event {
        Event::Pre => pre(wire),
        Event::Post => post(wire),
    };
    reply.map(Reply::capped).map_err(HookFault::NotAReply)
}

/// All documented fields, in camel case as they are sent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Wire {
    #[serde(rename = "continue")]
    goes_on: Option<bool>,
    stop_reason: Option<String>,
    #[serde(rename = "suppressOutput")]
    _suppress_output: Option<bool>,
    system_message: Option<String>,
    #[serde(rename = "terminalSequence")]
    _terminal_sequence: Option<String>,
    decision: Option<String>,
    reason: Option<String>,
    hook_specific_output: Option<Specific>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Specific {
    hook_event_name: Option<String>,
    permission_decision: Option<String>,
    permission_decision_reason: Option<String>,
    updated_input: Option<Map<String, Value>>,
    additional_context: Option<String>,
    updated_tool_output: Option<Value>,
    #[serde(rename = "updatedMCPToolOutput")]
    updated_mcp_tool_output: Option<Value>,
    #[serde(rename = "classifierContext")]
    _classifier_context: Option<Value>,
    /// Our own field: text that the caller must not get.
    redact: Option<Vec<String>>,
}

fn pre(mut wire: Wire) -> Result<Reply, String> {
    let specific = specific(&mut wire, Event::Pre)?;
    let stop = stop(&wire);
    let later = [
        ("updatedToolOutput", specific.updated_tool_output.is_some()),
        ("updatedMCPToolOutput", specific.updated_mcp_tool_output.is_some()),
        ("redact", specific.redact.is_some()),
    ];
    misplaced(&later, Event::Pre)?;
    let legacy = match wire.decision.as_deref() {
        None => None,
        Some("approve") => Some((Decision::Allow, wire.reason)),
        Some("block") => Some((Decision::Deny, wire.reason)),
        Some(other) => {
            return Err(format!("unknown decision {other:?}; expected approve or block"));
        }
    };
    let named = match specific.permission_decision.as_deref() {
        None => None,
        Some("allow") => Some((Decision::Allow, specific.permission_decision_reason)),
        Some("ask") => Some((Decision::Ask, specific.permission_decision_reason)),
        Some("deny") => Some((Decision::Deny, specific.permission_decision_reason)),
        // Nothing resumes a call later, so deferring it denies it.
        Some("defer") => {
            Some((Decision::Deny, Some(deferred(specific.permission_decision_reason))))
        }
        Some(other) => {
            return Err(format!(
                "unknown permissionDecision {other:?}; expected allow, ask, deny or defer"
            ));
        }
    };
    let stopped = stop.clone().map(|why| (Decision::Deny, Some(why)));
    // The strictest decision; of two equal ones, the newer field.
    let said = [stopped, legacy, named].into_iter().flatten().max_by_key(|(decision, _)| *decision);
    let (decision, reason) = said.unzip();
    Ok(Reply {
        decision,
        reason: reason.flatten(),
        input: specific.updated_input,
        context: specific.additional_context,
        message: wire.system_message,
        stop,
        ..Reply::default()
    })
}

fn post(mut wire: Wire) -> Result<Reply, String> {
    let specific = specific(&mut wire, Event::Post)?;
    let stop = stop(&wire);
    let earlier = [
        ("permissionDecision", specific.permission_decision.is_some()),
        ("permissionDecisionReason", specific.permission_decision_reason.is_some()),
        ("updatedInput", specific.updated_input.is_some()),
        ("updatedMCPToolOutput", specific.updated_mcp_tool_output.is_some()),
    ];
    misplaced(&earlier, Event::Post)?;
    let blocked = match wire.decision.as_deref() {
        None | Some("approve") => None,
        Some("block") => wire.reason,
        Some(other) => {
            return Err(format!("unknown decision {other:?}; expected approve or block"));
        }
    };
    let told: Vec<String> = blocked.into_iter().chain(specific.additional_context).collect();
    let redact = specific.redact.unwrap_or_default();
    if redact.len() > REDACT_MAX || redact.iter().any(String::is_empty) {
        return Err("`redact` holds an empty text, or more than 1000".to_owned());
    }
    Ok(Reply {
        context: (!told.is_empty()).then(|| told.join("\n")),
        message: wire.system_message,
        stop,
        output: specific.updated_tool_output.map(replacement).transpose()?,
        redact,
        ..Reply::default()
    })
}

fn specific(wire: &mut Wire, event: Event) -> Result<Specific, String> {
    let specific = wire.hook_specific_output.take().unwrap_or_default();
    match specific.hook_event_name.as_deref() {
        Some(name) if name != event.wire_name() => {
            Err(format!("it answers {name:?}, and was asked about {}", event.wire_name()))
        }
        Some(_) | None => Ok(specific),
    }
}

fn misplaced(fields: &[(&str, bool)], event: Event) -> Result<(), String> {
    match fields.iter().find(|(_, is_there)| *is_there) {
        Some((name, _)) => Err(format!("`{name}` is not valid for {}", event.wire_name())),
        None => Ok(()),
    }
}

fn stop(wire: &Wire) -> Option<String> {
    let is_over = wire.goes_on == Some(false);
    let why = wire.stop_reason.clone().filter(|why| !why.is_empty());
    is_over.then(|| why.unwrap_or_else(|| "the hook gave no reason".to_owned()))
}

fn deferred(reason: Option<String>) -> String {
    let why = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("put off until later{why}")
}

/// New output: a text for standard output, or an object with one or both streams. Other fields are
/// ignored, because a hook cannot change how a call ended.
fn replacement(value: Value) -> Result<Replacement, String> {
    let text = |value: Option<Value>| match value {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err("`updatedToolOutput` has a stream that is not text".to_owned()),
    };
    match value {
        Value::String(text) => Ok(Replacement { stdout: Some(text), stderr: Some(String::new()) }),
        Value::Object(mut fields) => {
            let stdout = text(fields.remove("stdout"))?;
            let stderr = text(fields.remove("stderr"))?;
            if stdout.is_none() && stderr.is_none() {
                return Err("`updatedToolOutput` has neither stdout nor stderr".to_owned());
            }
            Ok(Replacement { stdout, stderr })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            Err("`updatedToolOutput` is neither text nor an object".to_owned())
        }
    }
}
