//! The plan as it is printed, and what it keeps, for every tier under a few policies.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Map;
use stockade::call::{ExternalCall, FileCall, Tool, ToolCall};
use stockade::confine::Network;
use stockade::gate::{Gate, Verdict};
use stockade::guarantee::{Enforced, Guarantee};
use stockade::journal::{Durability, Journal};
use stockade::outcome::Failure;
use stockade::plan::{Description, Plan, describe, describe_closure, describe_files, otherwise};
use stockade::policy::Policy;
use stockade::registry::ToolBuilder;
use stockade::tier::{Machine, Tier};

use super::shown::Names;
use crate::project::{Project, workspace};

const USER: Machine = Machine {
    landlock_abi: Some(7),
    signal_scope: true,
    is_root: false,
    supervisor_hidden: false,
    bounds_address_space: true,
    refuses_names: true,
};
const MACHINES: [(&str, Machine); 4] = [
    ("user", USER),
    ("root", Machine { is_root: true, ..USER }),
    ("landlock 3", Machine { landlock_abi: Some(3), signal_scope: false, ..USER }),
    (
        "no landlock",
        Machine { landlock_abi: None, signal_scope: false, refuses_names: false, ..USER },
    ),
];
const TIERS: [Tier; 4] = [Tier::Process, Tier::Jail, Tier::Container, Tier::Gvisor];

fn policies() -> [(&'static str, Policy); 4] {
    let shipped = Policy { environment: Vec::new(), ..Policy::shipped() };
    let read = |name: &str| {
        let path = workspace().join("policies").join(name);
        let text = std::fs::read_to_string(path).unwrap();
        let policy = Policy::from_text(Path::new(name), &text).unwrap();
        Policy { environment: Vec::new(), ..policy }
    };
    [
        ("shipped", shipped.clone()),
        ("strict", read("strict.toml")),
        ("no-namespaces", read("no-namespaces.toml")),
        ("host network", Policy { network: Network::Host, ..shipped }),
    ]
}

/// The plans of all tiers under all policies. One that was printed before is named only.
pub(super) fn all() -> String {
    let project = Project::new();
    let mut text = String::new();
    let mut printed: Vec<(String, String)> = Vec::new();
    for (named, policy) in policies() {
        for (machine, facts) in MACHINES {
            for tier in TIERS {
                let mut policy = Policy { tier, ..policy.clone() };
                policy.oci.image = Some("localhost/tools".parse().unwrap());
                let plan = planned(&project, policy, &ToolCall::exec(["ls", "."]), facts);
                tell(&mut text, &mut printed, &format!("{named}, {tier}, {machine}"), plan);
            }
        }
        for (form, call) in [("inline files", read_call()), ("inline closure", closure_call())] {
            let plan = planned(&project, policy.clone(), &call, USER);
            tell(&mut text, &mut printed, &format!("{named}, {form}, user"), plan);
        }
    }
    text
}

fn tell(text: &mut String, printed: &mut Vec<(String, String)>, heading: &str, plan: String) {
    writeln!(text, "== {heading}").unwrap();
    match printed.iter().find(|(_, known)| *known == plan) {
        Some((known, _)) => writeln!(text, "as {known}").unwrap(),
        None => {
            text.push_str(&plan);
            printed.push((heading.to_owned(), plan));
        }
    }
}

fn read_call() -> ToolCall {
    let input = serde_json::json!({"file_path": "f.txt"});
    let file = FileCall::parse("Read", input.as_object().unwrap()).unwrap().unwrap();
    ToolCall::of(Tool::File(file))
}

fn closure_call() -> ToolCall {
    ToolCall::of(Tool::Unknown(ExternalCall { name: "nothing".to_owned(), input: Map::new() }))
}

fn planned(project: &Project, policy: Policy, call: &ToolCall, machine: Machine) -> String {
    let nothing = |_: Map<String, serde_json::Value>| Ok::<_, String>(0);
    let tool = ToolBuilder::new("nothing").unwrap().inline(nothing).unwrap();
    let (tier, name) = (policy.tier, Names::of(&project.root()));
    let journal = Journal::open(&project.journal(), Durability::default()).unwrap();
    let gate = Gate::new(project.examiner(policy), journal).with_tool(tool).unwrap();
    let confinement = gate.examiner().examine(call).confinement;
    let mut text = match gate.judge(call) {
        Verdict::Allowed(permit) => match Plan::new(*permit, machine) {
            Ok(plan) => name.put(&plan.to_string()),
            Err(failure) => failed(&failure),
        },
        Verdict::Ask(_) => "asks\n".to_owned(),
        Verdict::Refused(refusal) => format!("refused by {}\n", refusal.rule),
        Verdict::Impossible(failure) => failed(&failure),
    };
    // The rest of the line is prose.
    if let Some(at) = text.find("nothing runs: ") {
        text.truncate(at);
        text.push_str("nothing runs\n");
    }
    let (first, second) = match &call.tool {
        Tool::File(_) => (describe_files(&confinement), None),
        Tool::Unknown(_) => (describe_closure(&confinement), None),
        Tool::Exec(_) | Tool::Line(_) | Tool::Code(_) | Tool::Malformed(_) => {
            (describe(tier, &confinement, machine), otherwise(tier, &confinement, machine))
        }
    };
    kept(&mut text, "keeps", &first);
    if let Some(second) = second {
        kept(&mut text, "keeps without user namespaces", &second);
    }
    text
}

fn failed(failure: &Failure) -> String {
    format!("fails for {}\n", failure.guarantee().map_or("no guarantee", Guarantee::name))
}

fn kept(text: &mut String, heading: &str, description: &Result<Description, Failure>) {
    match description {
        Ok(description) => {
            let line = |one: &Enforced| {
                let note = if one.note.is_some() { " +note" } else { "" };
                format!("{} {} [{}]{note}", one.guarantee, one.kept.name(), one.by.join(" "))
            };
            let lines: Vec<String> = description.enforcement.iter().map(line).collect();
            writeln!(text, "{heading}\n  {}", lines.join("\n  ")).unwrap();
        }
        Err(failure) => write!(text, "{heading}: {}", failed(failure)).unwrap(),
    }
}
