//! Hooks after a call: told of its report, and heeded in what the caller gets of it. What happened is
//! in the journal by then, and stays.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Stockade;
use crate::call::ToolCall;
use crate::gate::permission_mode;
use crate::hooks::{
    CallResult, HookFault, HookId, HookQuery, HookResult, PostResult, input, post_result,
};
use crate::inspect::PathResolver;
use crate::outcome::{Exit, Outcome};
use crate::policy::hooks::Event;
use crate::report::{Body, Report};

impl Stockade {
    /// The report on a call, after its hooks if it ran.
    pub(super) fn after(&self, call: Option<&ToolCall>, report: Report) -> Report {
        let hooks = self.gate.hooks();
        let (Some(call), Some(outcome)) = (call, report.outcome()) else { return report };
        let heard = match input::forms(call) {
            Err(unseen) => vec![HookResult {
                hook_id: HookId { name: "post".to_owned(), source: None },
                result: Err(HookFault::Unseen(unseen.to_string())),
            }],
            Ok(forms) => {
                let examiner = self.gate.examiner();
                let root = examiner.root();
                let resolver = PathResolver::open(root, call.cwd.as_deref());
                let cwd = resolver
                    .map_or_else(|_| root.path().into(), |resolver| resolver.cwd_path().into());
                let occasion = HookQuery {
                    event: Event::Post,
                    forms: &forms,
                    cwd,
                    permission_mode: permission_mode(examiner.policy().mode),
                    call: &call.id,
                    done: Some(done(&report, outcome)),
                    // What the call showed to rules may be gone; every condition holds.
                    facts: None,
                };
                hooks.ask(&occasion, &BTreeSet::new())
            }
        };
        heeded(report, &post_result(&heard))
    }
}

/// The form that coding agents have for the output of shell commands, and how it ended.
fn done(report: &Report, outcome: &Outcome) -> CallResult {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let response = json!({
        "stdout": text(&outcome.stdout.bytes),
        "stderr": text(&outcome.stderr.bytes),
        "interrupted": outcome.limit.is_some() || matches!(outcome.exit, Exit::Signal(_)),
        "isImage": false,
        "exit_code": report.exit_code(),
        "timed_out": report.timed_out(),
        "truncated": report.truncated(),
    });
    let whole = serde_json::to_value(report).unwrap_or(Value::Null);
    CallResult { response, report: whole, duration: report.duration }
}

fn heeded(mut report: Report, post_result: &PostResult) -> Report {
    if let Body::Ran(outcome) = &mut report.body
        && !post_result.redacted_by.is_empty()
    {
        let (stdout, stderr) = post_result.passed(&outcome.stdout.bytes, &outcome.stderr.bytes);
        let is_changed = stdout != outcome.stdout.bytes || stderr != outcome.stderr.bytes;
        (outcome.stdout.bytes, outcome.stderr.bytes) = (stdout, stderr);
        let names = post_result.redacted_by.iter().filter(|_| is_changed);
        report.redacted_by = names.map(|hook_id| hook_id.name.clone()).collect();
    }
    let said = &mut report.said;
    said.context.extend(post_result.context.iter().cloned());
    said.messages.extend(post_result.messages.iter().cloned());
    said.stop = said.stop.take().or_else(|| post_result.stop.clone());
    report
}
