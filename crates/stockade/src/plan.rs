//! A spent permit, a tier and the operations of its launch, as data: printable, and tested without
//! privileges.

pub mod describe;
pub mod ops;

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

pub use self::describe::Description;
use self::ops::{Op, Survey, Watch};
use crate::confine::Confinement;
use crate::gate::{FileWork, InlineWork, Permit, PermitContents, ProgramWork, Work};
use crate::guarantee::{Enforced, Guarantee, Kept};
use crate::outcome::{Failure, FailureKind};
use crate::tier::{Machine, Tier};

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
    work: InlineWork,
    description: Description,
}

impl InlinePlan {
    pub(crate) fn into_parts(self) -> (InlineWork, Description) {
        (self.work, self.description)
    }
}

/// A plan to run a program. What is allowed is in its operations, and nowhere else.
#[derive(Debug)]
pub(crate) struct ProgramPlan {
    cleared: ProgramWork,
    tier: Tier,
    description: Description,
    otherwise: Option<Otherwise>,
    terms: Terms,
    /// How much of the call's time inspection has used up.
    spent: Duration,
    /// When the call's time is up.
    until: Instant,
}

/// How well each guarantee has to be kept for anything to run.
pub(crate) type Requirements = BTreeMap<Guarantee, Kept>;

/// What a launch is held to, and what is said about it. It changes nothing of the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Terms {
    /// The guarantees without which nothing runs.
    pub(crate) require: Requirements,
    /// How well the network has to be kept in a session where another call has opened ports.
    pub(crate) shared_network: Option<Kept>,
    /// What the report says if the program fails.
    pub(crate) hints: Vec<String>,
}

/// What a plan for a program is spent on.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) cleared: ProgramWork,
    pub(crate) description: Description,
    pub(crate) otherwise: Option<Otherwise>,
    pub(crate) terms: Terms,
    pub(crate) until: Instant,
}

/// A plan to read or write files without any program.
#[derive(Debug)]
pub(crate) struct FilesPlan {
    work: FileWork,
    description: Description,
    spent: Duration,
}

/// What a tier does on a machine that refuses user namespaces: the same policy by other means, or
/// nothing, because these would not keep what is required.
pub type Otherwise = Result<Description, Failure>;

impl Plan {
    /// Plans the run that a permit allows, or says which promise cannot be kept here.
    pub fn new(permit: Permit, machine: Machine) -> Result<Self, Failure> {
        let PermitContents { cleared, confinement, tier, spent, .. } = permit.spend();
        Ok(Self(match cleared {
            Work::Program(cleared) => {
                let description = describe(tier, &confinement, machine)?;
                let otherwise = otherwise(tier, &confinement, machine);
                let until = until(confinement.limits.wall.saturating_sub(spent));
                let Confinement { require, shared_network, hints, .. } = confinement;
                let terms = Terms { require, shared_network, hints };
                let cleared = *cleared;
                let plan =
                    ProgramPlan { cleared, tier, description, otherwise, terms, spent, until };
                Kind::Program(Box::new(plan))
            }
            Work::Inline(work) => {
                let description = describe_closure(&confinement)?;
                Kind::Inline(Box::new(InlinePlan { work: *work, description }))
            }
            Work::Files(work) => {
                let description = describe_files(&confinement)?;
                Kind::Files(Box::new(FilesPlan { work: *work, description, spent }))
            }
        }))
    }

    /// The tier in which it will run.
    pub fn tier(&self) -> Tier {
        match &self.0 {
            Kind::Program(plan) => plan.tier(),
            Kind::Files(_) | Kind::Inline(_) => Tier::Inline,
        }
    }

    /// What it is a plan for.
    pub(crate) fn kind(self) -> Kind {
        self.0
    }
}

impl ProgramPlan {
    pub(crate) fn tier(&self) -> Tier {
        self.tier
    }

    /// What would run.
    pub(crate) fn cleared(&self) -> &ProgramWork {
        &self.cleared
    }

    /// How it would be done.
    pub(crate) fn description(&self) -> &Description {
        &self.description
    }

    /// What the launch is held to.
    pub(crate) fn terms(&self) -> &Terms {
        &self.terms
    }

    /// How much of the call's time inspection has used up.
    pub(crate) fn spent(&self) -> Duration {
        self.spent
    }

    /// When the call's time is up. What is looked at before the program starts takes of it too.
    pub(crate) fn until(&self) -> Instant {
        self.until
    }

    pub(crate) fn into_parts(self) -> Parts {
        let Self { cleared, description, otherwise, terms, until, .. } = self;
        Parts { cleared, description, otherwise, terms, until }
    }
}

impl Description {
    /// The directories whose changes are reported.
    pub(crate) fn survey(&self) -> Option<&Survey> {
        self.ops.iter().find_map(|op| if let Op::Survey(survey) = op { Some(survey) } else { None })
    }

    /// Whether ports lead into the sandbox or out of it.
    pub(crate) fn opens_ports(&self) -> bool {
        self.ops.iter().any(|op| matches!(op, Op::Publish(_) | Op::HostPort(_)))
    }

    /// How long the program may take.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        let wall = |op: &Op| if let Op::Watch(Watch::Deadline(t)) = op { Some(*t) } else { None };
        self.ops.iter().find_map(wall)
    }
}

/// The end of a time that begins now; a long one has no end that matters.
pub(crate) fn until(rest: Duration) -> Instant {
    const LONG: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    let now = Instant::now();
    now.checked_add(rest.min(LONG)).unwrap_or(now)
}

impl FilesPlan {
    pub(crate) fn into_parts(self) -> (FileWork, Description, Duration) {
        (self.work, self.description, self.spent)
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
                writeln!(f, "where user namespaces are refused nothing runs: {}", failure.message())
            }
        }
    }
}

/// What a tier would do under this confinement, if it keeps all that is required.
pub fn describe(
    tier: Tier,
    confinement: &Confinement,
    machine: Machine,
) -> Result<Description, Failure> {
    if tier != Tier::Jail && confinement.ports.open_in(confinement.network) {
        return Err(no_ports(&format!("the tier {tier} cannot open ports")));
    }
    let described = describe::of_tier(tier, confinement, machine);
    let description = described.ok_or_else(|| not_in_this_version(tier))?;
    keeping(tier, description, confinement, "")
}

/// What Stockade itself would do with files under this confinement, if that keeps all that is
/// required.
pub fn describe_files(confinement: &Confinement) -> Result<Description, Failure> {
    keeping(Tier::Inline, describe::files(confinement), confinement, "")
}

/// What is done about a closure of the host.
pub fn describe_closure(confinement: &Confinement) -> Result<Description, Failure> {
    keeping(Tier::Inline, describe::closure(confinement), confinement, "")
}

/// What a tier would do where user namespaces are refused, if it has a form for that.
pub fn otherwise(tier: Tier, confinement: &Confinement, machine: Machine) -> Option<Otherwise> {
    if tier != Tier::Jail {
        return None;
    }
    if confinement.ports.open_in(confinement.network) {
        return Some(Err(no_ports("a sandbox has no loopback whose ports could be opened")));
    }
    let without = " without user namespaces";
    Some(match describe::without_namespaces(tier, confinement, machine) {
        Some(description) => keeping(tier, description, confinement, without),
        None => {
            let message = "this kernel has no Landlock, which would keep files without them";
            Err(Failure::new(FailureKind::Plan, message)
                .with_remedy(
                    "a kernel with CONFIG_SECURITY_LANDLOCK, and landlock in its lsm= list",
                )
                .with_guarantee(Guarantee::Writes))
        }
    })
}

/// The failure of a tier that opens no ports, where some are asked for.
fn no_ports(why: &str) -> Failure {
    Failure::new(FailureKind::OpenPorts, format!("{why}, as box.publish or box.host_ports ask for"))
        .with_remedy("use the tier jail, or remove the ports from the policy and the command line")
        .with_guarantee(Guarantee::Network)
}

/// The description, if it keeps all that is required.
fn keeping(
    tier: Tier,
    description: Description,
    confinement: &Confinement,
    circumstance: &str,
) -> Result<Description, Failure> {
    let falls_short = |one: &&Enforced| {
        if tier >= Tier::Jail && one.guarantee == describe::SETTLED_AT_LAUNCH {
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
            Err(Failure::new(FailureKind::Plan, message)
                .with_remedy("choose a tier that keeps it, or lower it in the policy: box.require")
                .with_guarantee(one.guarantee))
        }
    }
}

/// The failure of a tier that nobody has built yet: never a step down to a weaker one.
pub(crate) fn not_in_this_version(tier: Tier) -> Failure {
    Failure::new(FailureKind::Plan, format!("the tier {tier} is not in this version of Stockade"))
        .with_remedy(
            "use the tier jail, or process, and read in its enforcement what that does not keep",
        )
}
