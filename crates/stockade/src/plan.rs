//! A spent permit, a tier and its ordered steps, as data: printable, and tested without privileges.

use std::fmt;
use std::time::{Duration, Instant};

use crate::confine::Confinement;
use crate::gate::{FileWork, InlineWork, Permit, Prepared, Work};
use crate::guarantee::{Enforced, Guarantee, Kept};
use crate::outcome::Failure;
use crate::tier::{Description, Machine, Tier, inline, jail};

/// What will be done, before anything is done. Only a permit makes one, and it is used up:
///
/// ```
/// use stockade::{gate::Permit, outcome::Failure, plan::Plan, tier::Machine};
/// fn once(permit: Permit, machine: Machine) -> Result<Plan, Failure> {
///     let plan = Plan::new(permit, machine)?;
///     Ok(plan)
/// }
/// ```
///
/// ```compile_fail,E0382
/// use stockade::{gate::Permit, outcome::Failure, plan::Plan, tier::Machine};
/// fn twice(permit: Permit, machine: Machine) -> Result<Plan, Failure> {
///     let plan = Plan::new(permit, machine)?;
///     Plan::new(permit, machine)
/// }
/// ```
///
/// and a call is no permit:
///
/// ```compile_fail,E0308
/// use stockade::{call::ToolCall, outcome::Failure, plan::Plan, tier::Machine};
/// fn ungated(permit: ToolCall, machine: Machine) -> Result<Plan, Failure> {
///     let plan = Plan::new(permit, machine)?;
///     Ok(plan)
/// }
/// ```
#[derive(Debug)]
#[must_use = "a plan that is not started runs nothing"]
pub struct Plan(Kind);

/// What a plan is for.
#[derive(Debug)]
pub(crate) enum Kind {
    /// A program runs.
    Program(Box<ProgramPlan>),
    /// Files are read or written without any.
    Files(Box<FilesPlan>),
    /// A closure of the host runs.
    Inline(Box<InlinePlan>),
}

/// A plan to run a closure.
#[derive(Debug)]
pub(crate) struct InlinePlan {
    prepared: Prepared<InlineWork>,
    description: Description,
}

impl InlinePlan {
    pub(crate) fn into_parts(self) -> (Prepared<InlineWork>, Description) {
        (self.prepared, self.description)
    }
}

/// A plan to run a program.
#[derive(Debug)]
pub(crate) struct ProgramPlan {
    prepared: Prepared,
    description: Description,
    otherwise: Option<Otherwise>,
    /// When the call's time is up.
    until: Instant,
}

/// A plan to read or write files without any program.
#[derive(Debug)]
pub(crate) struct FilesPlan {
    prepared: Prepared<FileWork>,
    description: Description,
}

/// What a tier does on a machine that refuses user namespaces: the same policy by other means, or
/// nothing, because these would not keep what is required.
pub type Otherwise = Result<Description, Failure>;

impl Plan {
    /// Plans the run that a permit allows, or says which promise cannot be kept here.
    pub fn new(permit: Permit, machine: Machine) -> Result<Self, Failure> {
        let Prepared { cleared, confinement, tier, entry, ruling, spent } = permit.spend();
        Ok(Self(match cleared {
            Work::Program(cleared) => {
                let description = describe(tier, &confinement, machine)?;
                let otherwise = otherwise(tier, &confinement, machine);
                let until = until(confinement.limits.wall.saturating_sub(spent));
                let cleared = *cleared;
                let prepared = Prepared { cleared, confinement, tier, entry, ruling, spent };
                Kind::Program(Box::new(ProgramPlan { prepared, description, otherwise, until }))
            }
            Work::Inline(cleared) => {
                let description = describe_closure(&confinement)?;
                let cleared = *cleared;
                let prepared = Prepared { cleared, confinement, tier, entry, ruling, spent };
                Kind::Inline(Box::new(InlinePlan { prepared, description }))
            }
            Work::Files(cleared) => {
                let description = describe_files(&confinement)?;
                let cleared = *cleared;
                let prepared = Prepared { cleared, confinement, tier, entry, ruling, spent };
                Kind::Files(Box::new(FilesPlan { prepared, description }))
            }
        }))
    }

    /// The tier in which it will run.
    pub fn tier(&self) -> Tier {
        match &self.0 {
            Kind::Program(plan) => plan.tier(),
            Kind::Files(plan) => plan.prepared.tier,
            Kind::Inline(plan) => plan.prepared.tier,
        }
    }

    /// What it is a plan for.
    pub(crate) fn kind(self) -> Kind {
        self.0
    }
}

impl ProgramPlan {
    pub(crate) fn tier(&self) -> Tier {
        self.prepared.tier
    }

    /// What the run may touch.
    pub(crate) fn confinement(&self) -> &Confinement {
        &self.prepared.confinement
    }

    /// When the call's time is up. What is looked at before the program starts takes of it too.
    pub(crate) fn until(&self) -> Instant {
        self.until
    }

    /// What would run.
    pub(crate) fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    /// How it would be done.
    pub(crate) fn description(&self) -> &Description {
        &self.description
    }

    pub(crate) fn into_parts(self) -> (Prepared, Description, Option<Otherwise>) {
        (self.prepared, self.description, self.otherwise)
    }
}

/// The end of a time that begins now; a long one has no end that matters.
fn until(rest: Duration) -> Instant {
    const LONG: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    let now = Instant::now();
    now.checked_add(rest.min(LONG)).unwrap_or(now)
}

impl FilesPlan {
    pub(crate) fn into_parts(self) -> (Prepared<FileWork>, Description) {
        (self.prepared, self.description)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "tier {}", self.tier())?;
        let (description, otherwise) = match &self.0 {
            Kind::Program(plan) => (&plan.description, &plan.otherwise),
            Kind::Files(plan) => (&plan.description, &None),
            Kind::Inline(plan) => (&plan.description, &None),
        };
        description.fmt(f)?;
        match otherwise {
            None => Ok(()),
            Some(Ok(description)) => {
                writeln!(f, "where user namespaces are refused")?;
                description.fmt(f)
            }
            Some(Err(failure)) => {
                writeln!(f, "where user namespaces are refused nothing runs: {}", failure.message)
            }
        }
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, step) in self.steps.iter().enumerate() {
            writeln!(f, "  {:>2}. {step}", number.saturating_add(1))?;
        }
        Ok(())
    }
}

/// What a tier would do under this confinement, if it keeps all that is required.
pub fn describe(
    tier: Tier,
    confinement: &Confinement,
    machine: Machine,
) -> Result<Description, Failure> {
    let described = tier.describe(confinement, machine);
    let description = described.ok_or_else(|| not_in_this_version(tier))?;
    keeping(tier, description, confinement, "")
}

/// What Stockade itself would do with files under this confinement, if that keeps all that is
/// required.
pub fn describe_files(confinement: &Confinement) -> Result<Description, Failure> {
    keeping(Tier::Inline, inline::describe(confinement), confinement, "")
}

/// What is done about a closure of the host.
pub fn describe_closure(confinement: &Confinement) -> Result<Description, Failure> {
    keeping(Tier::Inline, inline::describe_closure(confinement), confinement, "")
}

/// What a tier would do where user namespaces are refused, if it has a form for that.
pub fn otherwise(tier: Tier, confinement: &Confinement, machine: Machine) -> Option<Otherwise> {
    if tier != Tier::Jail {
        return None;
    }
    let without = " without user namespaces";
    Some(match tier.describe_locks(confinement, machine) {
        Some(description) => keeping(tier, description, confinement, without),
        None => {
            let message = "this kernel has no Landlock, which would keep files without them";
            let mut failure = Failure::new("plan", message)
                .remedy("a kernel with CONFIG_SECURITY_LANDLOCK, and landlock in its lsm= list");
            failure.guarantee = Some(Guarantee::Writes.to_string());
            Err(failure)
        }
    })
}

/// The description, if it keeps all that is required.
fn keeping(
    tier: Tier,
    description: Description,
    confinement: &Confinement,
    circumstance: &str,
) -> Result<Description, Failure> {
    let falls_short = |one: &&Enforced| {
        if tier >= Tier::Jail && one.guarantee == jail::SETTLED_AT_LAUNCH {
            return false;
        }
        confinement.require.get(&one.guarantee).is_some_and(|required| one.kept < *required)
    };
    let broken = description.enforcement.iter().find(falls_short);
    match broken {
        None => Ok(description),
        Some(one) => {
            let why = one.note.as_deref().unwrap_or("nothing keeps it here");
            let kept =
                if one.kept == Kept::None { "does not keep it" } else { "keeps it only in part" };
            let message = format!(
                "{} is required, and the tier {tier} {kept}{circumstance}: {why}",
                one.guarantee
            );
            let mut failure = Failure::new("plan", message)
                .remedy("choose a tier that keeps it, or lower it in the policy: box.require");
            failure.guarantee = Some(one.guarantee.to_string());
            Err(failure)
        }
    }
}

/// The failure of a tier that nobody has built yet: never a step down to a weaker one.
pub(crate) fn not_in_this_version(tier: Tier) -> Failure {
    Failure::new("plan", format!("the tier {tier} is not in this version of Stockade")).remedy(
        "use the tier jail, or process, and read in its enforcement what that does not keep",
    )
}
