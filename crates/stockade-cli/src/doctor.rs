//! `stockade doctor`: what this machine can keep, what it cannot, and how to fix it.

mod tiers;

use stockade::confine::Oci;
use stockade::guarantee::Guarantee;
use stockade::launch::{Checkup, Diagnosis, Form, Prospect, diagnose};
use stockade::report::Body;
use stockade::{Policy, Report, Stockade, ToolCall};

use crate::args::Doctor;
use crate::demo::project::Project;
use crate::exit_code::Status;
use crate::matrix::{self, Matrix};
use crate::print::{BAD, FAINT, GOOD, escape};
use crate::{Answer, print, setup};
use tiers::Ladder;

/// Tries every mechanism and the shipped policy itself; the status says whether that can be kept,
/// and whether the battery came out as it should.
pub(crate) fn doctor(doctor: &Doctor) -> Answer {
    let checkup = diagnose();
    let tried = try_shipped_policy()?;
    let policy = setup::policy_outside_projects(doctor.policy.as_deref())?;
    let ladder = Ladder::of(&checkup, &policy.oci);
    let battery = doctor.battery.then(|| run_battery(doctor, policy.oci)).transpose()?;
    let ok = checkup.ok && tried.ok() && battery.as_ref().is_none_or(|matrix| matrix.ok);
    if doctor.json {
        print::json(&told(&checkup, ok, &tried, &ladder, battery.as_ref())?)?;
    } else {
        print(&checkup, &tried)?;
        ladder.print()?;
        battery.as_ref().map_or(Ok(()), matrix::print)?;
    }
    Ok(if ok { Status::Ok } else { Status::Unexpected })
}

/// Runs the battery with the policy that the user's calls would have.
fn run_battery(doctor: &Doctor, oci: Oci) -> Result<Matrix, String> {
    let image = doctor.image.clone().or_else(|| oci.image.clone());
    let battery = matrix::Battery { image, policy_file: doctor.policy.clone(), oci };
    battery.run().map_err(|error| format!("run the battery: {error}"))
}

/// All that is found, as one object.
fn told(
    checkup: &Checkup,
    ok: bool,
    tried: &Report,
    ladder: &Ladder,
    battery: Option<&Matrix>,
) -> serde_json::Result<serde_json::Value> {
    let mut told = serde_json::to_value(checkup)?;
    if let (Some(fields), serde_json::Value::Object(ladder)) =
        (told.as_object_mut(), serde_json::to_value(ladder)?)
    {
        fields.insert("ok".to_owned(), ok.into());
        fields.insert("tried".to_owned(), serde_json::to_value(tried)?);
        fields.extend(ladder);
        if let Some(battery) = battery {
            fields.insert("battery".to_owned(), serde_json::to_value(battery)?);
        }
    }
    Ok(told)
}

/// Runs one harmless program as the shipped policy has it, in a project that is thrown away.
fn try_shipped_policy() -> Result<Report, Box<dyn std::error::Error>> {
    let failed = |error| format!("make a project to try: {error}");
    let project = Project::make().map_err(failed)?;
    // As most projects: without a repository `protected` is kept in part.
    std::fs::create_dir(project.root().join(".git")).map_err(failed)?;
    let stockade = Stockade::open(&project.root(), Policy::shipped(), &project.journal())?;
    Ok(stockade.run(ToolCall::exec(["true"])))
}

fn print(checkup: &Checkup, tried: &Report) -> Result<(), print::StdoutError> {
    let form = match checkup.form {
        Some(Form::Namespaces) => "a box of namespaces",
        Some(Form::Locks) => "locks without namespaces",
        None => "not possible",
    };
    print::line(&format!("kernel {}; the jail here: {form}\n", escape(&checkup.kernel)))?;
    table(checkup)?;
    print::line("")?;
    checkup.mechanisms.iter().try_for_each(mechanism)?;
    for fault in &checkup.known_faults {
        let breaks: Vec<&str> = fault.breaks.iter().map(|one| one.name()).collect();
        print::line(&format!(
            "{BAD}known fault{BAD:#} {}: {} ({}); fixed in {}, unless your distribution has repaired \
             it",
            fault.name,
            fault.says,
            breaks.join(" "),
            fault.fixed_in
        ))?;
    }
    for erratum in &checkup.landlock_errata {
        print::line(&format!("landlock {erratum}; a newer kernel has it repaired"))?;
    }
    verdict(checkup, tried)
}

/// Guarantees by mechanisms: what keeps what, and where that is missing.
fn table(checkup: &Checkup) -> Result<(), print::StdoutError> {
    let names: Vec<&str> = checkup.mechanisms.iter().map(|one| one.mechanism).collect();
    print::line(&format!("{FAINT}{:<12} {:<9}  {}{FAINT:#}", "", "kept", names.join("  ")))?;
    for Prospect { enforced, .. } in &checkup.guarantees {
        let (name, kept) = (enforced.guarantee.name(), enforced.kept.name());
        let cell = |one: &Diagnosis| {
            format!("{:<width$}", cell(one, enforced.guarantee), width = one.mechanism.len())
        };
        let cells: Vec<String> = checkup.mechanisms.iter().map(cell).collect();
        let line = format!("{name:<12} {kept:<9}  {}", cells.join("  "));
        print::line(line.trim_end())?;
    }
    Ok(())
}

fn cell(one: &Diagnosis, guarantee: Guarantee) -> &'static str {
    match (one.keeps.contains(&guarantee), one.works) {
        (false, _) => "",
        (true, true) => "yes",
        (true, false) => "MISSING",
    }
}

fn mechanism(one: &Diagnosis) -> Result<(), print::StdoutError> {
    let (style, mark) = if one.works { (GOOD, "yes") } else { (BAD, "no ") };
    let (name, found, since) = (one.mechanism, escape(&one.found), one.since);
    print::line(&format!("{style}{mark}{style:#} {name:<18} {found} {FAINT}({since}){FAINT:#}"))?;
    match &one.remedy {
        Some(remedy) => print::line(&format!("    remedy: {}", escape(remedy))),
        None => Ok(()),
    }
}

fn verdict(checkup: &Checkup, tried: &Report) -> Result<(), print::StdoutError> {
    let short = checkup.guarantees.iter().filter(|one| !one.is_enough());
    let short: Vec<&str> = short.map(|one| one.enforced.guarantee.name()).collect();
    if short.is_empty() && tried.ok() {
        return print::line(&format!("\n{GOOD}the shipped policy can be kept here{GOOD:#}"));
    }
    let why = if short.is_empty() { String::new() } else { format!(": {}", short.join(" ")) };
    print::line(&format!("\n{BAD}the shipped policy cannot be kept here{BAD:#}{why}"))?;
    if let Body::Failed(failure) = &tried.body {
        print::line(&format!("  {}", escape(failure.message())))?;
    }
    Ok(())
}
