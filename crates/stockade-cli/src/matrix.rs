//! The battery of `stockade doctor --battery`: the same calls bare and in every tier that this machine
//! has, and what came of each, seen from outside.

mod case;
mod fixture;
mod table;
mod run;

use std::path::PathBuf;

use serde::Serialize;
use stockade::confine::{EngineName, ImageName, Oci};
use stockade::launch::{self, Gvisor};
use stockade::tier::Tier;

use crate::print;
use case::{CASES, Case};
use fixture::Fixture;
use run::CaseResult;
pub(crate) use table::print;

/// What came of the battery.
#[derive(Debug, Serialize)]
pub(crate) struct Matrix {
    /// Whether every attack works without Stockade, and no tier keeps less than it says.
    pub(crate) ok: bool,
    columns: Vec<Column>,
}

/// One place, with what came of each call there.
#[derive(Debug, Serialize)]
struct Column {
    /// A tier, or `bare`.
    place: &'static str,
    /// Why nothing was run there.
    not_run: Option<String>,
    cells: Vec<Cell>,
}

/// One call in one place.
#[derive(Debug, Serialize)]
struct Cell {
    case: &'static str,
    came: Came,
    /// What was seen of it, if it worked; or why it could not be run.
    seen: Option<String>,
    /// The guarantee that it tries, and how well the place says that it keeps that.
    guarantee: Option<&'static str>,
    promised: Option<String>,
    /// The limit that ended it.
    limit: Option<String>,
    /// Whether that is no less than was promised.
    ok: bool,
}

/// What came of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Came {
    /// The legal call ran.
    Runs,
    /// The attack came to nothing.
    Kept,
    /// The attack worked.
    NotKept,
    /// It could not be run.
    NotRun,
}

impl Came {
    fn name(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Kept => "kept",
            Self::NotKept => "not kept",
            Self::NotRun => "not run",
        }
    }
}

/// Where a call is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// As a child of ours, without Stockade.
    Bare,
    /// Under Stockade.
    Tier(Tier),
}

impl Place {
    const ALL: [Self; 5] = [
        Self::Bare,
        Self::Tier(Tier::Process),
        Self::Tier(Tier::Jail),
        Self::Tier(Tier::Container),
        Self::Tier(Tier::Gvisor),
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Tier(tier) => tier.name(),
        }
    }

    /// Why nothing can be run here.
    fn lacks(self, battery: &Battery) -> Option<String> {
        match self {
            Self::Tier(Tier::Container) => no_engine(&battery.oci).or_else(|| {
                let needed = "it needs an image with bash and coreutils: --image NAME";
                battery.image.is_none().then(|| needed.to_owned())
            }),
            Self::Tier(Tier::Gvisor) => match launch::gvisor() {
                Gvisor::Works { .. } => None,
                Gvisor::Missing => Some("there is no runsc".to_owned()),
                Gvisor::Failing(why) => Some(format!("runsc starts nothing: {why}")),
            },
            Self::Bare | Self::Tier(_) => None,
        }
    }
}

/// Why no engine can be used, in the words of each that is installed.
fn no_engine(oci: &Oci) -> Option<String> {
    let engines = launch::engines(oci);
    if engines.is_empty() {
        return Some("neither podman nor docker is installed".to_owned());
    }
    let complaint = |(name, answer): (EngineName, Result<String, String>)| {
        answer.map_or_else(|why| Err(format!("{}: {why}", name.name())), |_| Ok(()))
    };
    let complaints: Vec<_> = engines.into_iter().map(complaint).collect();
    let is_any = complaints.iter().any(Result::is_ok);
    let whys: Vec<String> = complaints.into_iter().filter_map(Result::err).collect();
    (!is_any).then(|| whys.join("; "))
}

/// The settings of a battery.
#[derive(Debug)]
pub(crate) struct Battery {
    /// The image of the tier container.
    pub(crate) image: Option<ImageName>,
    /// The policy file to try; the user's and the machine's if none is named.
    pub(crate) policy_file: Option<PathBuf>,
    /// The engine and the runtime of that policy, with which leftover containers are removed.
    pub(crate) oci: Oci,
}

impl Battery {
    /// Runs all calls in all tiers, which takes a minute or two.
    pub(crate) fn run(&self) -> std::io::Result<Matrix> {
        let columns: Vec<Column> =
            Place::ALL.into_iter().map(|place| column(place, self)).collect::<Result<_, _>>()?;
        let ok = columns.iter().flat_map(|column| &column.cells).all(|cell| cell.ok);
        Ok(Matrix { ok, columns })
    }
}

fn column(place: Place, battery: &Battery) -> std::io::Result<Column> {
    let mut not_run = place.lacks(battery);
    let mut cells = Vec::new();
    if not_run.is_none() {
        let fixture = Fixture::make()?;
        let mut legal = None;
        for case in CASES {
            print::note(&format!("{}: {}", place.name(), case.name));
            let seen = run::run(place, case, &fixture, battery)?;
            if legal.is_none() && seen.failure.is_some() {
                // Where the legal call cannot be run, this machine does not have the tier.
                not_run = seen.failure;
                break;
            }
            cells.push(cell(place, case, &seen, legal.as_ref()));
            // A supervisor that was killed tells no promises; that of the legal call made the same.
            legal.get_or_insert(seen);
        }
    }
    if place == Place::Tier(Tier::Container) && not_run.is_none() {
        // One of the calls has its supervisor killed, which leaves a container behind.
        launch::reap(&battery.oci).map_err(|failure| std::io::Error::other(failure.message()))?;
    }
    Ok(Column { place: place.name(), not_run, cells })
}

fn cell(place: Place, case: &Case, seen: &CaseResult, legal: Option<&CaseResult>) -> Cell {
    let tellers: Vec<&CaseResult> = [Some(seen), legal].into_iter().flatten().collect();
    let promised =
        case.guarantee.and_then(|kept| tellers.into_iter().find_map(|one| one.promise(kept)));
    let (end, what) = match (&seen.failure, (case.worked)(seen)) {
        (Some(why), _) => (Came::NotRun, Some(why.clone())),
        (None, Some(what)) => (Came::NotKept, Some(what.to_owned())),
        (None, None) if case.guarantee.is_none() => (Came::Runs, None),
        (None, None) => (Came::Kept, None),
    };
    let ok = is_as_promised(place, case, end, promised.as_deref());
    let guarantee = case.guarantee.map(stockade::guarantee::Guarantee::name);
    let limit = seen.limit();
    Cell { case: case.name, came: end, seen: what, guarantee, promised, limit, ok }
}

/// Whether a tier keeps what it says. Bare every attack has to work, and so it has in a tier that
/// keeps nothing of the kind: one that does not is no test of the others.
fn is_as_promised(place: Place, case: &Case, end: Came, promised: Option<&str>) -> bool {
    match (place, end) {
        (_, Came::Runs) => true,
        (_, Came::NotRun) => false,
        (_, Came::NotKept) if case.guarantee.is_none() => false,
        (Place::Bare, end) => end == Came::NotKept,
        (Place::Tier(_), end) => match promised {
            Some("none") => end == Came::NotKept,
            // Each report says what of it is left open.
            Some("partial") => true,
            Some(_) | None => end == Came::Kept,
        },
    }
}
