//! `stockade demo`: a throw-away project, legal and adversarial calls, and how each came out.

mod battery;
pub(crate) mod project;

use serde::Serialize;
use stockade::guarantee::{Enforced, Kept};
use stockade::outcome::{Failure, Outcome};
use stockade::report::Body;
use stockade::{Report, Stockade, ToolCall};

use crate::args::Demo;
use crate::exit_code::Status;
use crate::print::{BAD, FAINT, GOOD, escape};
use crate::{Answer, print};
use battery::{Case, Expectation};
use project::Project;

/// Runs the battery; the status says whether every call came out as expected.
pub(crate) fn demo(demo: &Demo) -> Answer {
    let project = Project::make().map_err(|error| format!("make the demo project: {error}"))?;
    let mut policy = battery::policy();
    policy.tier = demo.tier.unwrap_or(policy.tier);
    let stockade = Stockade::open(&project.root(), policy, &project.journal())?;
    // What the box keeps here is seen in a first run; without a box there is nothing to show.
    let first = stockade.run(ToolCall::exec(["true"]));
    let outcome = match &first.body {
        Body::Ran(outcome) => outcome,
        Body::Failed(failure) => return Ok(unboxed(failure, demo)),
        Body::Refused(refusal) => return Err(refusal.reason.clone().into()),
    };
    let mut results = Vec::new();
    if !demo.json {
        print::line(&format!("project {}", stockade.root().display()))?;
        print::line(&format!("{}\n", kept(outcome)))?;
    }
    for case in battery::cases(&project) {
        let result = CaseRun::new(case, &stockade);
        if !demo.json {
            print(&result)?;
        }
        results.push(result);
    }
    let failed = results.iter().filter(|result| !result.as_expected).count();
    if demo.json {
        print::json(&DemoOutput {
            project: stockade.root().display().to_string(),
            tier: outcome.tier.name(),
            enforcement: &outcome.enforcement,
            ok: failed == 0,
            calls: &results,
        })?;
    } else {
        let all = results.len();
        let style = if failed == 0 { GOOD } else { BAD };
        print::line(&format!(
            "\n{style}{} of {all} calls came out as expected{style:#}",
            all.saturating_sub(failed)
        ))?;
    }
    Ok(if failed == 0 { Status::Ok } else { Status::Unexpected })
}

/// The tier, and how well it keeps what.
fn kept(outcome: &Outcome) -> String {
    let levels = [Kept::Full, Kept::Partial, Kept::Detected, Kept::Lost, Kept::None];
    let names = |level: Kept| {
        let lines = outcome.enforcement.iter().filter(|one| one.kept == level);
        let names: Vec<&str> = lines.map(|one| one.guarantee.name()).collect();
        (!names.is_empty()).then(|| format!("\n  kept {:<9}{}", level.name(), names.join(" ")))
    };
    format!("tier    {}{}", outcome.tier, levels.into_iter().filter_map(names).collect::<String>())
}

/// There is no such box here: says why, and what can be shown without one.
fn unboxed(failure: &Failure, demo: &Demo) -> Status {
    print::failed(failure);
    if demo.tier.is_none() {
        print::error("stockade demo --tier process shows the gate without a box");
    }
    Status::Failed
}

/// One call of the battery with its report.
#[derive(Serialize)]
struct CaseRun {
    label: &'static str,
    expected: String,
    as_expected: bool,
    report: Report,
}

impl CaseRun {
    fn new(case: Case, stockade: &Stockade) -> Self {
        let Case { label, call, expected, prints } = case;
        let report = stockade.run(call);
        let printed =
            report.outcome().map(|outcome| String::from_utf8_lossy(&outcome.stdout.bytes));
        let prints_as_expected =
            prints.is_none_or(|prints| printed.is_some_and(|printed| prints(&printed)));
        Self {
            label,
            expected: expected.to_string(),
            as_expected: expected.is_met_by(&report) && prints_as_expected,
            report,
        }
    }
}

#[derive(Serialize)]
struct DemoOutput<'a> {
    project: String,
    tier: &'static str,
    enforcement: &'a [Enforced],
    ok: bool,
    calls: &'a [CaseRun],
}

fn print(result: &CaseRun) -> Result<(), print::StdoutError> {
    let (style, mark) = if result.as_expected { (GOOD, "ok  ") } else { (BAD, "FAIL") };
    let came = Expectation::of(&result.report);
    print::line(&format!("{style}{mark}{style:#} {:<50} {came}", result.label))?;
    if !result.as_expected {
        print::line(&format!("       expected {}", result.expected))?;
    }
    match result.report.reason() {
        Some(reason) => print::line(&format!("       {FAINT}{}{FAINT:#}", escape(&reason))),
        None => Ok(()),
    }
}
