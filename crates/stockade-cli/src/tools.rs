//! `stockade tools`: what can be called, for people and in the shape of MCP.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use stockade::Policy;
use stockade::call::nearest;
use stockade::policy::tools::{Declaration, Risk};
use stockade::registry::{BuiltinTool, Registry, builtin_tools};

use crate::args::{Tools, ToolsWhat};
use crate::exit_code::Status;
use crate::print::{FAINT, escape};
use crate::{Answer, print, setup};

/// Lists tools, or describes one.
pub(crate) fn tools(tools: &Tools) -> Answer {
    match &tools.what {
        ToolsWhat::List(list) => {
            let all = all(&setup::sources(&list.sources).load()?);
            if list.json {
                let tools: Vec<McpTool<'_>> = all.iter().map(McpTool::of).collect();
                print::json(&ToolList { tools })?;
            } else {
                all.iter().try_for_each(print_line)?;
            }
        }
        ToolsWhat::Describe(one) => {
            let all = all(&setup::sources(&one.sources).load()?);
            let tool = all.iter().find(|tool| tool.name == one.name);
            let tool = tool.ok_or_else(|| missing(&one.name, &all))?;
            if one.json {
                print::json(&McpTool::of(tool))?;
            } else {
                print_whole(tool)?;
            }
        }
    }
    Ok(Status::Ok)
}

/// A tool as it is shown.
struct ToolView {
    name: String,
    description: String,
    input: Value,
    risks: Vec<String>,
    /// Where it runs; ours run where the policy says.
    tier: String,
    idempotent: bool,
    limits: Option<String>,
    source: String,
}

fn all(policy: &Policy) -> Vec<ToolView> {
    let ours = builtin_tools().into_iter().map(|tool| of_ours(tool, policy));
    let registry = Registry::of(&policy.tools, Path::new("."));
    let registered = registry.all().into_iter().map(|tool| of_registry(&tool.declaration));
    ours.chain(registered.collect::<Vec<_>>()).collect()
}

fn of_ours(tool: BuiltinTool, policy: &Policy) -> ToolView {
    let BuiltinTool { name, description, input, risk } = tool;
    let runs = risk.iter().any(|risk| risk == Risk::Executes.name());
    let tier = if runs { policy.tier.to_string() } else { "inline".to_owned() };
    let idempotent = risk.iter().all(|risk| risk == Risk::Reads.name());
    let source = "shipped".to_owned();
    ToolView { name, description, input, risks: risk, tier, idempotent, limits: None, source }
}

fn of_registry(tool: &Declaration) -> ToolView {
    let limits = &tool.limits;
    let memory = limits.memory.map(|most| format!(", {most}"));
    let limits = format!("{:?}{}", limits.wall, memory.unwrap_or_default());
    ToolView {
        name: tool.name.to_string(),
        description: tool.description.clone(),
        input: tool.input.written().clone(),
        risks: tool.risks.iter().map(|risk| risk.name().to_owned()).collect(),
        tier: tool.tier.to_string(),
        idempotent: tool.attempts.is_idempotent(),
        limits: Some(limits),
        source: tool.source.clone().unwrap_or_else(|| "shipped".to_owned()),
    }
}

fn missing(name: &str, all: &[ToolView]) -> String {
    let names: Vec<&str> = all.iter().map(|tool| tool.name.as_str()).collect();
    match nearest(name, names.iter().copied()) {
        Some(meant) => format!("find the tool {name:?}: did you mean {meant:?}?"),
        None => format!("find the tool {name:?}: there are {}", names.join(", ")),
    }
}

fn print_line(tool: &ToolView) -> Result<(), print::StdoutError> {
    let first = tool.description.split(". ").next().unwrap_or_default().trim_end_matches('.');
    let (name, first) = (escape(&tool.name), escape(first));
    print::line(&format!("{name:<20} {FAINT}{:<10}{FAINT:#} {first}", tool.tier))
}

fn print_whole(tool: &ToolView) -> Result<(), Box<dyn std::error::Error>> {
    let risks = if tool.risks.is_empty() { "none".to_owned() } else { tool.risks.join(", ") };
    print::line(&escape(&tool.name))?;
    for line in tool.description.lines() {
        print::line(&format!("  {}", escape(line)))?;
    }
    print::line(&format!("  {FAINT}tier:{FAINT:#}       {}", tool.tier))?;
    print::line(&format!("  {FAINT}risk:{FAINT:#}       {risks}"))?;
    if let Some(limits) = &tool.limits {
        print::line(&format!("  {FAINT}limits:{FAINT:#}     {limits}"))?;
    }
    let again = if tool.idempotent { "yes" } else { "no" };
    print::line(&format!("  {FAINT}idempotent:{FAINT:#} {again}"))?;
    print::line(&format!("  {FAINT}from:{FAINT:#}       {}", escape(&tool.source)))?;
    print::line(&format!("  {FAINT}input:{FAINT:#}"))?;
    for line in serde_json::to_string_pretty(&tool.input)?.lines() {
        print::line(&format!("    {}", escape(line)))?;
    }
    Ok(())
}

/// The answer to `tools/list`.
#[derive(Serialize)]
struct ToolList<'a> {
    tools: Vec<McpTool<'a>>,
}

/// A tool of MCP.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct McpTool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
    annotations: Annotations,
    #[serde(rename = "_meta")]
    meta: Meta<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "these are the hints that MCP has")]
struct Annotations {
    read_only_hint: bool,
    destructive_hint: bool,
    idempotent_hint: bool,
    open_world_hint: bool,
}

/// What MCP has no place for.
#[derive(Serialize)]
struct Meta<'a> {
    #[serde(rename = "stockade/tier")]
    tier: &'a str,
    #[serde(rename = "stockade/risk")]
    risk: &'a [String],
    #[serde(rename = "stockade/source")]
    source: &'a str,
}

impl<'a> McpTool<'a> {
    fn of(tool: &'a ToolView) -> Self {
        let has = |risk: Risk| tool.risks.iter().any(|one| one == risk.name());
        let changes = has(Risk::Writes) || has(Risk::Executes);
        Self {
            name: &tool.name,
            description: &tool.description,
            input_schema: &tool.input,
            annotations: Annotations {
                read_only_hint: !changes && !has(Risk::Network),
                destructive_hint: changes,
                idempotent_hint: tool.idempotent,
                open_world_hint: has(Risk::Network),
            },
            meta: Meta { tier: &tool.tier, risk: &tool.risks, source: &tool.source },
        }
    }
}
