//! Golden file of the report: every field of one report of each kind, without prose, times and
//! anything else that is this machine's.

#[path = "../shared/golden.rs"]
mod file;
#[path = "../shared/golden_sections.rs"]
mod sections;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};
use stockade::call::{ExternalCall, Language, Tool};
use stockade::gate::{Approver, ApproverAnswer, Prompt};
use stockade::guarantee::{Guarantee, Kept};
use stockade::hooks::Reply;
use stockade::limits::ByteCount;
use stockade::policy::rules::Rule;
use stockade::policy::{Decision, Mode};
use stockade::registry::ToolBuilder;
use stockade::{Builder, Policy, ToolCall};

use crate::support::{Project, exec, json as report_of, policy, unboxed, within};
use crate::{files, jail};

const REPORTS_MAX: usize = 50;
/// Fields that hold prose.
const PROSE: [&str; 7] = ["reason", "instead", "message", "remedy", "note", "notes", "unseen"];
/// Fields that another run has other values for.
const VARIES: [&str; 6] =
    ["call", "duration_ms", "wall_ms", "cpu_ms", "peak_memory_bytes", "processes"];

/// The fields of a report, a line for each.
fn shown(project: &Project, report: &Value) -> String {
    let mut lines = String::new();
    for (field, value) in report.as_object().unwrap() {
        let guarantees = value.as_array().filter(|_| field == "enforcement");
        let value = match guarantees {
            Some(all) => all.iter().map(|one| enforced(report, one)).collect(),
            None => normal(project, field, value),
        };
        writeln!(lines, "{field}: {value}").unwrap();
    }
    lines
}

/// A guarantee by its name. How programs are held depends on the machine and is in the golden files of
/// the command line; Stockade's own work is held alike everywhere.
fn enforced(report: &Value, one: &Value) -> Value {
    if report["tier"] != "inline" {
        return one["guarantee"].clone();
    }
    let mut one = one.clone();
    if let Some(note) = one.get_mut("note") {
        *note = "<prose>".into();
    }
    one
}

fn normal(project: &Project, field: &str, value: &Value) -> Value {
    match value {
        _ if VARIES.contains(&field) => "<varies>".into(),
        Value::String(_) if PROSE.contains(&field) => "<prose>".into(),
        Value::Array(all) if PROSE.contains(&field) => all.iter().map(|_| "<prose>").collect(),
        Value::String(text) => {
            text.replace(project.beside("").to_str().unwrap(), "@BESIDE@/").into()
        }
        Value::Array(all) => all.iter().map(|one| normal(project, field, one)).collect(),
        Value::Object(all) => {
            all.iter().map(|(name, one)| (name.clone(), normal(project, name, one))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Somebody who says yes.
#[derive(Debug)]
struct Yes;

impl Approver for Yes {
    fn name(&self) -> &'static str {
        "friend"
    }

    fn answer(&self, _prompt: &Prompt, _patience: Duration) -> ApproverAnswer {
        ApproverAnswer::Once
    }
}

/// Reports by their names, and projects for more.
struct Reports {
    found: BTreeMap<String, String>,
    projects: Vec<Project>,
}

impl Reports {
    fn new() -> Self {
        let projects = std::iter::repeat_with(project).take(REPORTS_MAX).collect();
        // A file that was written just now may be told as a change: its clock is coarse.
        std::thread::sleep(Duration::from_millis(50));
        Self { found: BTreeMap::new(), projects }
    }

    /// Makes one call in a project of its own.
    fn add(&mut self, name: &str, policy: Policy, call: ToolCall) {
        self.add_with(name, policy, call, |builder| builder);
    }

    fn add_with(
        &mut self,
        name: &str,
        policy: Policy,
        call: ToolCall,
        change: impl FnOnce(Builder) -> Builder,
    ) {
        let project = self.projects.pop().unwrap();
        let report = report_of(&change(project.builder(policy)).open().unwrap().run(call));
        self.found.insert(name.to_owned(), shown(&project, &report));
    }
}

fn project() -> Project {
    let project = Project::new();
    for folder in ["src", ".git"] {
        fs::create_dir(project.path(folder)).unwrap();
    }
    fs::write(project.path(".git/config"), "kept\n").unwrap();
    fs::write(project.path("f.txt"), "one\ntwo\nthree\n").unwrap();
    fs::write(project.path("src/g.txt"), "two\n").unwrap();
    // A search lists the last changed first, and a clock may not tell two writes apart.
    let long_ago = SystemTime::now() - Duration::from_secs(60);
    File::options()
        .write(true)
        .open(project.path("f.txt"))
        .unwrap()
        .set_modified(long_ago)
        .unwrap();
    fs::write(project.path("bytes"), b"\xff\xfe\n").unwrap();
    project.script("fail.sh", "echo out; echo err >&2; exit 7\n");
    project.script("die.sh", "kill -9 $$\n");
    project.script("make.sh", "echo new > new.txt; echo more >> f.txt; rm src/g.txt\n");
    project
}

fn with_rule(list: Decision, rule: &str) -> Policy {
    policy(|policy| {
        policy.rules = policy.rules.and(vec![Rule::parse(rule, list).unwrap()]);
    })
}

fn unknown(name: &str, input: &Value) -> ToolCall {
    let input = input.as_object().unwrap().clone();
    ToolCall::of(Tool::Unknown(ExternalCall { name: name.to_owned(), input }))
}

fn of_programs(reports: &mut Reports) {
    reports.add("exec: ok", unboxed(), exec(&["echo", "hello"]));
    reports.add("exec: non-zero", unboxed(), exec(&["sh", "fail.sh"]));
    reports.add("exec: signal", unboxed(), exec(&["sh", "die.sh"]));
    reports.add("exec: timeout", within(Duration::from_millis(200)), exec(&["sleep", "600"]));
    reports.add("exec: bytes", unboxed(), exec(&["cat", "bytes"]));
    let short = policy(|policy| policy.limits.output = ByteCount::bytes(8));
    reports.add("exec: truncated", short, exec(&["cat", "f.txt"]));
    reports.add("exec: missing", unboxed(), exec(&["no-such-program-anywhere"]));
    let required = policy(|policy| {
        policy.require.insert(Guarantee::Kernel, Kept::Full);
    });
    reports.add("exec: failed", required, exec(&["true"]));
    reports.add("exec: refused by an axis", unboxed(), exec(&["rm", "-rf", "/etc"]));
    let denied = with_rule(Decision::Deny, "Exec(echo *)");
    reports.add("exec: refused by a rule", denied, exec(&["echo", "hello"]));
    let allowed = with_rule(Decision::Allow, "Exec(echo *)");
    reports.add("exec: allowed by a rule", allowed, exec(&["echo", "hello"]));
    reports.add("exec: malformed", unboxed(), exec(&["echo", "a\0b"]));
    reports.add("line: ok", unboxed(), ToolCall::line("cat f.txt | head -n 1"));
    reports.add("line: refused", unboxed(), ToolCall::line("echo hi; rm -rf src"));
}

fn of_questions(reports: &mut Reports) {
    let asking = || policy(|policy| policy.mode = Mode::Default);
    let touch = || exec(&["touch", "made"]);
    reports.add("question: nobody to ask", asking(), touch());
    let yes = |builder: Builder| builder.approver(Arc::new(Yes));
    reports.add_with("question: answered", asking(), touch(), yes);
    let hook = |builder: Builder| builder.pre_hook("yes", |_| Reply::allow());
    reports.add_with("question: answered by a hook", asking(), touch(), hook);
}

fn of_hooks(reports: &mut Reports) {
    let echo = || exec(&["echo", "hello"]);
    let refuse = |builder: Builder| builder.pre_hook("guard", |_| Reply::deny("no"));
    reports.add_with("hook: refused", unboxed(), echo(), refuse);
    let rewrite = |builder: Builder| {
        builder.pre_hook("wrap", |event| {
            let argv = json!({"argv": ["echo", "changed"]}).as_object().unwrap().clone();
            let is_first = event.tool_input["argv"][1] == "hello";
            let reply = if is_first { Reply::silent().with_input(argv) } else { Reply::silent() };
            reply.with_context("a context").with_message("a note")
        })
    };
    reports.add_with("hook: rewritten", unboxed(), echo(), rewrite);
    let redact =
        |builder: Builder| builder.post_hook("redact", |_| Reply::silent().redacting("ell"));
    reports.add_with("hook: redacted", unboxed(), echo(), redact);
}

fn of_tools(reports: &mut Reports) {
    for (name, tool, input) in [
        ("read", "Read", json!({"file_path": "f.txt"})),
        ("read missing", "Read", json!({"file_path": "none.txt"})),
        ("read outside", "Read", json!({"file_path": "/etc/passwd"})),
        ("write", "Write", json!({"file_path": "new.txt", "content": "new\n"})),
        ("write protected", "Write", json!({"file_path": ".git/config", "content": "x"})),
        ("edit", "Edit", json!({"file_path": "f.txt", "old_string": "two", "new_string": "2"})),
        ("glob", "Glob", json!({"pattern": "**/*.txt"})),
        ("grep", "Grep", json!({"pattern": "two", "path": "src"})),
    ] {
        reports.add(&format!("file: {name}"), unboxed(), files::call(tool, &input));
    }
    reports.add("tool: unknown", unboxed(), unknown("WebFetch", &json!({"url": "http://x.test"})));
    let with_tool = |builder: Builder| {
        let add = |input: Map<String, Value>| match input.get("n").and_then(Value::as_i64) {
            Some(number) => Ok(json!({ "next": number + 1 })),
            None => Err("no number"),
        };
        builder.tool(ToolBuilder::new("next").unwrap().inline(add).unwrap())
    };
    for (name, input) in [("answer", json!({"n": 1})), ("error", json!({}))] {
        let call = unknown("next", &input);
        reports.add_with(&format!("tool: {name}"), unboxed(), call, with_tool);
    }
}

fn of_the_jail(reports: &mut Reports) {
    let shipped = Policy::shipped;
    reports.add("jail: ok", shipped(), exec(&["echo", "hello"]));
    reports.add("jail: changes", shipped(), exec(&["sh", "make.sh"]));
    reports.add("jail: signal", shipped(), exec(&["sh", "die.sh"]));
    let line = ToolCall::line("(echo x > .git/config) 2> /dev/null || cat .git/config");
    reports.add("jail: line on a protected path", shipped(), line);
    let source = "echo said; exit 3";
    reports.add("jail: code", shipped(), ToolCall::code(Language::Sh, source));
    reports.add("jail: code refused", unboxed(), ToolCall::code(Language::Sh, "rm -rf /"));
}

#[test]
fn reports_have_the_fields_they_had_before() {
    let mut reports = Reports::new();
    of_programs(&mut reports);
    of_questions(&mut reports);
    of_hooks(&mut reports);
    of_tools(&mut reports);
    let can_box = jail::project().is_some();
    if can_box {
        of_the_jail(&mut reports);
    }
    sections::hold("reports.txt", reports.found, |heading| {
        !can_box && heading.starts_with("jail: ")
    });
}
