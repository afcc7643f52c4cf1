//! Which tiers this machine has, which of them to take, and what more could be had.

use serde::Serialize;
use stockade::confine::{EngineName, Oci};
use stockade::launch::{Checkup, Form, Gvisor, engines, gvisor};
use stockade::tier::Tier;

use crate::print::{self, BAD, GOOD, escape};

/// The tiers, and a recommendation.
#[derive(Debug, Serialize)]
pub(super) struct Ladder {
    tiers: Vec<Rung>,
    recommended: Recommendation,
}

/// One tier on this machine.
#[derive(Debug, Serialize)]
struct Rung {
    tier: &'static str,
    works: bool,
    found: String,
    /// What it takes to have it, and what that would be good for.
    gain: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct Recommendation {
    tier: &'static str,
    why: String,
    /// What to take for calls that are more dangerous.
    climb: Option<&'static str>,
}

impl Ladder {
    /// Tries each tier: podman and runsc start something, docker is asked.
    pub(super) fn of(checkup: &Checkup, oci: &Oci) -> Self {
        let (engines, gvisor) = (engines(oci), gvisor());
        let rungs = vec![process(), jail(checkup), container(&engines), kernel(&gvisor)];
        let recommended = recommended(checkup, &rungs);
        Self { tiers: rungs, recommended }
    }

    pub(super) fn print(&self) -> Result<(), print::StdoutError> {
        print::line("")?;
        for rung in &self.tiers {
            let (style, mark) = if rung.works { (GOOD, "yes") } else { (BAD, "no ") };
            let found = escape(&rung.found);
            print::line(&format!("{style}{mark}{style:#} tier {:<13} {found}", rung.tier))?;
            if let Some(gain) = rung.gain {
                print::line(&format!("    to gain: {gain}"))?;
            }
        }
        let Recommendation { tier, why, climb } = &self.recommended;
        print::line(&format!("\nrecommended here: {GOOD}{tier}{GOOD:#}: {why}"))?;
        match climb {
            Some(climb) => print::line(&format!("  to climb: {climb}")),
            None => Ok(()),
        }
    }
}

fn process() -> Rung {
    let found = "a child with limits: keeps neither files nor the network".to_owned();
    Rung { tier: Tier::Process.name(), works: true, found, gain: None }
}

fn jail(checkup: &Checkup) -> Rung {
    let (works, found) = match checkup.form {
        Some(Form::Namespaces) => (true, "a box of namespaces"),
        Some(Form::Locks) => (true, "locks without namespaces, which keep less"),
        None => (false, "not possible"),
    };
    let full = "the remedies above: the jail that the shipped policy requires";
    let gain = (!checkup.ok).then_some(full);
    Rung { tier: Tier::Jail.name(), works, found: found.to_owned(), gain }
}

fn container(engines: &[(EngineName, Result<String, String>)]) -> Rung {
    let told = |(name, answer): &(EngineName, Result<String, String>)| match answer {
        Ok(version) => format!("{} {version}", name.name()),
        Err(why) => format!("{}: {why}", name.name()),
    };
    let works = engines.iter().any(|(_, answer)| answer.is_ok());
    let answers: Vec<String> = engines.iter().map(told).collect();
    let none = "no engine is there".to_owned();
    let found = if answers.is_empty() { none } else { answers.join("; ") };
    let podman = "apt-get install podman: programs of an image, and not of this machine";
    Rung { tier: Tier::Container.name(), works, found, gain: (!works).then_some(podman) }
}

fn kernel(gvisor: &Gvisor) -> Rung {
    let (works, found) = match gvisor {
        Gvisor::Works { platform, version } => (true, format!("runsc by {platform}: {version}")),
        Gvisor::Missing => (false, "there is no runsc".to_owned()),
        Gvisor::Failing(why) => (false, format!("runsc starts nothing: {why}")),
    };
    let gain = match gvisor {
        Gvisor::Works { .. } => None,
        Gvisor::Missing => Some("apt-get install runsc: a kernel of its own for untrusted code"),
        Gvisor::Failing(_) => {
            Some("a runsc that works here: a kernel of its own for untrusted code")
        }
    };
    Rung { tier: Tier::Gvisor.name(), works, found, gain }
}

/// The cheapest tier that keeps what the shipped policy requires; else the strongest there is.
fn recommended(checkup: &Checkup, rungs: &[Rung]) -> Recommendation {
    let works = |tier: Tier| rungs.iter().any(|rung| rung.tier == tier.name() && rung.works);
    let (tier, why) = if checkup.ok {
        (Tier::Jail, "it keeps all that the shipped policy requires, at the least cost")
    } else if works(Tier::Gvisor) {
        (Tier::Gvisor, "the jail cannot keep the shipped policy here, and this can")
    } else if works(Tier::Container) {
        (Tier::Container, "the jail cannot keep the shipped policy here, and this can")
    } else if works(Tier::Jail) {
        let why =
            "with policies/no-namespaces.toml; it keeps less than the shipped policy requires";
        (Tier::Jail, why)
    } else {
        (Tier::Process, "nothing else works here; it keeps neither files nor the network")
    };
    let climb = match (tier, works(Tier::Gvisor)) {
        (Tier::Gvisor, _) => None,
        (_, true) => Some("--tier gvisor for code that nobody has read: a kernel of its own"),
        (_, false) => Some("runsc for code that nobody has read: the kernel is shared until then"),
    };
    Recommendation { tier: tier.name(), why: why.to_owned(), climb }
}
