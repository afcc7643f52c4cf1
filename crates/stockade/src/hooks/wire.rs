//! From what a command hook printed, and how it ended, to its reply.
//!
//! It is read more strictly than coding agents read it: what they pass over (a crash, an unknown
//! word, JSON that is none) is a fault here, and a fault refuses.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::reply::{Replacement, Reply, capped};
use super::{Ended, Fault, Ran};
use crate::json;
use crate::policy::Decision;
use crate::policy::hook::Event;

/// The exit status that blocks.
const BLOCK: i32 = 2;
/// How many texts one hook may have redacted.
const REDACT_MAX: usize = 1000;

/// What a command said that ran for this event.
pub fn read(event: Event, ran: &Ran) -> Result<Reply, Fault> {
    let code = match ran.ended {
        Ended::Code(code) => code,
        Ended::TimedOut(after) => return Err(Fault::TimedOut(after)),
        Ended::Signal(signal) => return Err(Fault::Signal(signal)),
        Ended::Limit(limit) => return Err(Fault::Limit(limit)),
        Ended::Lost => return Err(Fault::Lost),
    };
    if ran.is_cut {
        return Err(Fault::TooMuch);
    }
    let said = parse(event, &ran.stdout);
    let stderr = || capped(String::from_utf8_lossy(&ran.stderr).trim().to_owned());
    match (code, event) {
        (0, _) => said,
        // Its JSON may block with a reason of its own; nothing in it can take the block back.
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
            Ok(_) | Err(_) => Err(Fault::Code { code, stderr: stderr() }),
        },
        (code, Event::Post) => Err(Fault::Code { code, stderr: stderr() }),
    }
}

fn parse(event: Event, stdout: &[u8]) -> Result<Reply, Fault> {
    let text = stdout.trim_ascii_start();
    if text.first() != Some(&b'{') {
        return Ok(Reply::silent());
    }
    let wire: Wire = json::from_slice(text).map_err(|error| Fault::NotAReply(error.to_string()))?;
    let reply = match event {
        Event::Pre => pre(wire),
        Event::Post => post(wire),
    };
    reply.map(Reply::capped).map_err(Fault::NotAReply)
}

/// All that is documented, in camel case as it is sent.
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
    /// Ours: text that the caller must not get.
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
        Some(other) => return Err(format!("{other:?} is no decision: approve or block")),
    };
    let named = match specific.permission_decision.as_deref() {
        None => None,
        Some("allow") => Some((Decision::Allow, specific.permission_decision_reason)),
        Some("ask") => Some((Decision::Ask, specific.permission_decision_reason)),
        Some("deny") => Some((Decision::Deny, specific.permission_decision_reason)),
        // Nobody here resumes a call later, so that putting it off is no.
        Some("defer") => {
            Some((Decision::Deny, Some(deferred(specific.permission_decision_reason))))
        }
        Some(other) => {
            return Err(format!("{other:?} is no permissionDecision: allow, ask, deny or defer"));
        }
    };
    let stopped = stop.clone().map(|why| (Decision::Deny, Some(why)));
    // The strictest of what it says; of two that are as strict, the newer way to say it.
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
        Some(other) => return Err(format!("{other:?} is no decision: approve or block")),
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
        Some((name, _)) => Err(format!("`{name}` is no answer to {}", event.wire_name())),
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

/// New output: a text for standard output, or an object with one or both streams. Whatever else of
/// the response it repeats is not looked at: how a call ended is not the hook's to say.
fn replacement(value: Value) -> Result<Replacement, String> {
    let text = |value: Option<Value>| match value {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err("`updatedToolOutput` has a stream that is no text".to_owned()),
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
