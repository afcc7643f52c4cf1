//! The file tools through the whole pipeline: what they do, what they refuse, and what nobody can
//! make them do.

mod changes;
mod crash;
mod door;
mod edit;
mod engine;
mod race;
mod read;
mod search;
mod twins;
mod write;

use serde_json::{Value, json};
use stockade::call::{FileCall, Tool};
use stockade::{Policy, ToolCall};

use crate::support::{Project, unboxed};

/// A call of a file tool with this input.
pub(crate) fn call(tool: &str, input: &Value) -> ToolCall {
    let file = FileCall::parse(tool, input.as_object().unwrap()).unwrap().unwrap();
    ToolCall::of(Tool::File(file))
}

/// Carries out one call.
fn run(place: &Project, tool: &str, input: &Value) -> Value {
    run_with(place, unboxed(), tool, input)
}

fn run_with(place: &Project, policy: Policy, tool: &str, input: &Value) -> Value {
    place.run_with(policy, call(tool, input))
}

fn read(place: &Project, path: &str) -> Value {
    run(place, "Read", &json!({"file_path": path}))
}

fn write(place: &Project, path: &str, content: &str) -> Value {
    run(place, "Write", &json!({"file_path": path, "content": content}))
}
