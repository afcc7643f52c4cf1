//! `stockade check`: decides and explains, and runs nothing.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Serialize;
use stockade::ToolCall;
use stockade::call::Tool;
use stockade::catalog::EffectKind;
use stockade::gate::{Examination, Examiner};
use stockade::inspect::{CommandSummary, PathResolver, ProgramInput};
use stockade::launch::probe;
use stockade::outcome::Failure;
use stockade::plan::{
    Description, Otherwise, describe, describe_closure, describe_files, otherwise,
};
use stockade::policy::{By, Decision};
use stockade::tier::Tier;

use crate::args::{Check, Common, What};
use crate::call::LINE_BYTES_MAX;
use crate::exit_code::Status;
use crate::explain::RulesExplanation;
use crate::print::{BAD, FAINT, GOOD, escape};
use crate::{Answer, code, explain, print, setup, wire};

/// Decides about one call.
pub(crate) fn check(check: &Check) -> Answer {
    match &check.what {
        What::Run(run) => {
            show(ToolCall::exec(run.argv.clone()), &run.common, &[], Depth::of(run.explain))
        }
        What::Shell(shell) => {
            let call = ToolCall::line(shell.line.clone());
            show(call, &shell.common, &shell.only, Depth::of(shell.explain))
        }
        What::Code(code) => {
            let call = code::call(&code.source)?;
            show(call, &code.common, &[], Depth::of(code.explain))
        }
        What::Call(call) => show(read(&call.file)?, &call.common, &[], Depth::of(call.explain)),
    }
}

/// How much is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Decision,
    Plan,
}

impl Depth {
    fn of(explain: bool) -> Self {
        if explain { Self::Plan } else { Self::Decision }
    }
}

fn read(file: &Path) -> Result<ToolCall, Box<dyn std::error::Error>> {
    let mut text = String::new();
    let most = LINE_BYTES_MAX.saturating_add(1);
    let read = if file == Path::new("-") {
        std::io::stdin().lock().take(most).read_to_string(&mut text)
    } else {
        std::fs::File::open(file).and_then(|file| file.take(most).read_to_string(&mut text))
    };
    let bytes = read.map_err(|error| format!("read {}: {error}", file.display()))?;
    if u64::try_from(bytes).is_ok_and(|bytes| bytes > LINE_BYTES_MAX) {
        return Err(format!("read {}: a call has at most 16 MiB", file.display()).into());
    }
    Ok(wire::parse(&text).map_err(|error| format!("read the call: {error}"))?.call)
}

fn show(call: ToolCall, common: &Common, only: &[String], depth: Depth) -> Answer {
    let examiner = setup::examiner(common, only)?;
    let call = if call.cwd.is_none() { setup::placed(call, common) } else { call };
    let examination = examiner.examine(&call);
    // Nothing of ours runs a tool that is not ours, so there is nothing to plan.
    let is_ours = !matches!(call.tool, Tool::Unknown(_)) || examiner.registered(&call).is_some();
    let plan = (depth == Depth::Plan && is_ours).then(|| plan_for(&call, &examiner, &examination));
    let rules =
        (depth == Depth::Plan).then(|| RulesExplanation::new(&examiner, &call, &examination));
    let hooks = examiner.hooks_for(&call);
    if common.json {
        let wire = CheckOutput::new(&examination, plan.as_ref());
        let notes = examiner.policy().notes();
        print::json(&CheckOutput { notes, rules: rules.as_ref(), hooks, ..wire })?;
    } else if !common.quiet {
        examiner.policy().notes().iter().for_each(|note| print::note(note));
        match line_of(&call, &examiner) {
            Some(line) => {
                let folder = folder_of(&call, &examiner);
                let told = explain::explanation(line, &folder, &examination);
                print::line(&explain::render(&told))?;
            }
            None => print(&examination)?,
        }
        if examination.ruling.decision < Decision::Deny && !hooks.is_empty() {
            let names = escape(&hooks.join(", "));
            print::line(&format!("  {FAINT}hooks would be asked:{FAINT:#} {names}"))?;
        }
        if let Some(rules) = &rules {
            rules.print()?;
        }
        if let Some(plan) = &plan {
            print_planned(plan)?;
        }
    }
    Ok(match examination.ruling.decision {
        Decision::Allow => Status::Ok,
        Decision::Ask => Status::Ask,
        Decision::Deny => Status::Refused,
    })
}

/// What would be done, and what instead where user namespaces are refused.
struct PlannedForms {
    first: Result<Description, Failure>,
    otherwise: Option<Otherwise>,
}

fn plan_for(call: &ToolCall, examiner: &Examiner, examination: &Examination) -> PlannedForms {
    if matches!(call.tool, Tool::File(_)) {
        return PlannedForms { first: describe_files(&examination.confinement), otherwise: None };
    }
    let (confinement, machine) = (&examination.confinement, probe());
    let declared = examiner.registered(call).map(|tool| tool.declaration.tier);
    if declared == Some(Tier::Inline) {
        return PlannedForms { first: describe_closure(confinement), otherwise: None };
    }
    let tier = declared.unwrap_or(examiner.policy().tier);
    PlannedForms {
        first: describe(tier, confinement, machine),
        otherwise: otherwise(tier, confinement, machine),
    }
}

/// The text of a call that a shell would run.
fn line_of<'c>(call: &'c ToolCall, examiner: &Examiner) -> Option<&'c str> {
    match &call.tool {
        Tool::Line(line) if examiner.policy().settings.only.is_none() => line.text.to_str(),
        Tool::Code(code) if code.language.is_shell() => std::str::from_utf8(&code.source).ok(),
        Tool::Line(_)
        | Tool::Exec(_)
        | Tool::Code(_)
        | Tool::File(_)
        | Tool::Unknown(_)
        | Tool::Malformed(_) => None,
    }
}

/// Where a call would run, by name.
fn folder_of(call: &ToolCall, examiner: &Examiner) -> PathBuf {
    let root = examiner.root();
    let view = PathResolver::open(root, call.cwd.as_deref());
    view.map_or_else(|_| root.path().to_owned(), |view| view.cwd_path().to_owned())
}

fn print(examination: &Examination) -> Result<(), print::StdoutError> {
    let ruling = &examination.ruling;
    let style = if ruling.decision == Decision::Allow { GOOD } else { BAD };
    let rule = ruling.rule.as_ref().map(|rule| format!(" by {rule}")).unwrap_or_default();
    let source = ruling.source.as_ref().map(|source| format!(" ({source})")).unwrap_or_default();
    print::line(&format!("{style}{}{style:#}{rule}{}", ruling.decision.name(), escape(&source)))?;
    if let Some(reason) = &ruling.reason {
        print::line(&format!("  {}", escape(reason)))?;
    }
    if let Some(instead) = &ruling.instead {
        print::line(&format!("  {FAINT}instead:{FAINT:#} {}", escape(instead)))?;
    }
    for finding in
        examination.findings.iter().filter(|one| Some(&one.text) != ruling.reason.as_ref())
    {
        print::line(&format!(
            "  {FAINT}also {}:{FAINT:#} {}",
            finding.rule_id(),
            escape(&finding.text)
        ))?;
    }
    for command in examination.commands.iter().skip(1) {
        print::line(&format!(
            "  {FAINT}inner command:{FAINT:#} {}",
            escape(&format!("{:?}", command.words))
        ))?;
    }
    Ok(())
}

fn print_planned(plan: &PlannedForms) -> Result<(), print::StdoutError> {
    match &plan.first {
        Ok(description) => print_plan(description, "")?,
        Err(failure) => {
            print::failed(failure);
            return Ok(());
        }
    }
    match &plan.otherwise {
        None => Ok(()),
        Some(Ok(description)) => print_plan(description, " where user namespaces are refused"),
        Some(Err(failure)) => {
            let why = escape(failure.message());
            print::line(&format!("where user namespaces are refused nothing runs: {why}"))
        }
    }
}

fn print_plan(description: &Description, circumstance: &str) -> Result<(), print::StdoutError> {
    print::line(&format!("steps{circumstance}"))?;
    print::line(description.to_string().trim_end())?;
    print::line("guarantees")?;
    for one in &description.enforcement {
        let by = if one.by.is_empty() { "-".to_owned() } else { one.by.join(", ") };
        let kept = format!("{:?}", one.kept).to_lowercase();
        let note = one.note.as_ref().map(|note| format!("; {note}")).unwrap_or_default();
        print::line(&format!("  {:<12} {kept:<8} {by}{note}", one.guarantee.name()))?;
    }
    Ok(())
}

/// The object that `check --json` prints; its fields are stable.
#[derive(Serialize)]
struct CheckOutput<'a> {
    decision: Decision,
    by: By,
    rule: Option<&'a str>,
    source: Option<&'a str>,
    reason: Option<&'a str>,
    instead: Option<&'a str>,
    findings: Vec<WireFinding<'a>>,
    commands: Vec<WireCommand>,
    /// What a person should know about the policy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// The rules that were considered, with `--explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    rules: Option<&'a RulesExplanation>,
    /// The hooks that would be asked, which `check` does not do: it runs nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hooks: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<WirePlan<'a>>,
}

#[derive(Serialize)]
struct WireFinding<'a> {
    axis: &'static str,
    rule: String,
    text: &'a str,
    argument: Option<usize>,
    span: Option<[usize; 2]>,
}

#[derive(Serialize)]
struct WireCommand {
    /// None where the words are known in the run alone.
    argv: Option<Vec<String>>,
    /// The words, as they are written where they are not known.
    words: Vec<String>,
    /// What else it goes by: through links, by identity.
    names: Vec<String>,
    dynamic: bool,
    /// Whether the line gives it something on standard input.
    fed: bool,
    span: Option<[usize; 2]>,
    /// What starts it, from the outside in.
    via: Vec<String>,
    /// Where it may run; none where the line leaves that open.
    folders: Vec<String>,
    reads: Vec<String>,
    /// What is written, and what is deleted.
    writes: Vec<String>,
    deletes: Vec<String>,
    executes: Vec<String>,
    hosts: Vec<String>,
}

impl WireCommand {
    fn new(found: &CommandSummary) -> Self {
        let text = |words: &[OsString]| words.iter().map(|w| w.to_string_lossy().into()).collect();
        let of = |kinds: &[EffectKind]| {
            let targets = found.targets.iter().filter(|target| kinds.contains(&target.kind));
            let mut texts: Vec<String> =
                targets.map(|target| target.text.to_string_lossy().into_owned()).collect();
            texts.dedup();
            texts
        };
        Self {
            argv: found.argv().map(text),
            words: text(&found.words),
            names: found.names.clone(),
            dynamic: found.dynamic,
            fed: found.input == ProgramInput::Given,
            span: found.span.map(|span| [span.start, span.end]),
            via: found.via.clone(),
            folders: found.folders.iter().map(|path| path.display().to_string()).collect(),
            reads: of(&[EffectKind::Read]),
            writes: of(&[EffectKind::Write, EffectKind::Delete]),
            deletes: of(&[EffectKind::Delete]),
            executes: of(&[EffectKind::Execute]),
            hosts: of(&[EffectKind::Host]),
        }
    }
}

#[derive(Serialize)]
struct WirePlan<'a> {
    steps: Vec<String>,
    enforcement: &'a [stockade::guarantee::Enforced],
    failure: Option<&'a Failure>,
    /// The same where user namespaces are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    otherwise: Option<Box<Self>>,
}

impl<'a> CheckOutput<'a> {
    fn new(examination: &'a Examination, plan: Option<&'a PlannedForms>) -> Self {
        let ruling = &examination.ruling;
        let finding = |one: &'a stockade::inspect::Finding| WireFinding {
            axis: one.axis.name(),
            rule: one.rule_id(),
            text: &one.text,
            argument: one.argument,
            span: one.span.map(|span| [span.start, span.end]),
        };
        Self {
            decision: ruling.decision,
            by: ruling.by,
            rule: ruling.rule.as_deref(),
            source: ruling.source.as_deref(),
            reason: ruling.reason.as_deref(),
            instead: ruling.instead.as_deref(),
            findings: examination.findings.iter().map(finding).collect(),
            commands: examination.commands.iter().map(WireCommand::new).collect(),
            notes: Vec::new(),
            rules: None,
            hooks: Vec::new(),
            plan: plan.map(|plan| WirePlan {
                otherwise: plan.otherwise.as_ref().map(|form| Box::new(WirePlan::new(form))),
                ..WirePlan::new(&plan.first)
            }),
        }
    }
}

impl<'a> WirePlan<'a> {
    fn new(plan: &'a Result<Description, Failure>) -> Self {
        match plan {
            Ok(description) => Self {
                steps: description.ops.iter().map(ToString::to_string).collect(),
                enforcement: &description.enforcement,
                failure: None,
                otherwise: None,
            },
            Err(failure) => Self {
                steps: Vec::new(),
                enforcement: &[],
                failure: Some(failure),
                otherwise: None,
            },
        }
    }
}
