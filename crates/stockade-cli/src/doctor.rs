//! `stockade doctor`: what this machine can keep, what it cannot, and how to fix it.

use stockade::launch::{Diagnosis, diagnose};

use crate::args::Doctor;
use crate::exit_code::Status;
use crate::render::{BAD, FAINT, GOOD, inert};
use crate::{Answer, render};

/// Tries every mechanism; the status says whether all of them work.
pub(crate) fn doctor(doctor: &Doctor) -> Answer {
    let found = diagnose();
    let all_work = found.iter().all(|one| one.works);
    if doctor.json {
        render::say_json(&serde_json::json!({ "ok": all_work, "mechanisms": found }))?;
    } else {
        found.iter().try_for_each(print)?;
    }
    Ok(if all_work { Status::Ok } else { Status::Unexpected })
}

fn print(one: &Diagnosis) -> Result<(), render::Unsaid> {
    let (style, mark) = if one.works { (GOOD, "yes") } else { (BAD, "no ") };
    let keeps: Vec<&str> = one.keeps.iter().map(|guarantee| guarantee.name()).collect();
    let (mechanism, keeps, found) = (one.mechanism, keeps.join(" "), inert(&one.found));
    render::say(&format!(
        "{style}{mark}{style:#} {mechanism:<18} {found:<28} {FAINT}{keeps}{FAINT:#}"
    ))?;
    match &one.remedy {
        Some(remedy) => render::say(&format!("    remedy: {}", inert(remedy))),
        None => Ok(()),
    }
}
