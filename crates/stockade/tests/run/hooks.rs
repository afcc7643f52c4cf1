//! Hooks as real commands and closures, through the whole pipeline.

mod answer;
mod asked;
mod file;
mod post;
mod process;
mod refusal;
mod rewrite;

use std::fs;
use std::path::Path;

use serde_json::Value;
use stockade::policy::Decision;
use stockade::policy::rules::Rule;
use stockade::{Policy, ToolCall};

use crate::support::{Project, exec, unboxed};

/// The hooks of this file, in the process tier. The file lies beside the project.
fn hooked(project: &Project, hooks: &str) -> Policy {
    let declared = Policy::from_text(&project.beside("own.toml"), hooks).unwrap().hooks;
    Policy { hooks: declared, ..unboxed() }
}

/// One hook before calls: a shell line.
fn pre(project: &Project, line: &str) -> Policy {
    hooked(project, &format!("[[hook]]\nname = 'guard'\nevent = 'pre'\nshell = '''{line}'''\n"))
}

fn with_rule(mut policy: Policy, text: &str, list: Decision) -> Policy {
    policy.rules = policy.rules.and(vec![Rule::parse(text, list).unwrap()]);
    policy
}

fn echo() -> ToolCall {
    exec(&["echo", "hello"])
}

fn journal(project: &Project) -> Vec<Value> {
    let text = fs::read_to_string(project.journal()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Where a folder really is.
fn real(path: &Path) -> String {
    let folder = stockade::inspect::Root::open(path).unwrap();
    folder.path().to_str().unwrap().to_owned()
}

/// Says `what` in the protocol.
fn saying(what: &Value) -> String {
    format!("cat >/dev/null; printf %s \"{}\"", what.to_string().replace('"', "\\\""))
}
