//! One call of the battery, run under a supervisor of its own that may die of it.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use stockade::guarantee::Guarantee;
use stockade::json;
use stockade::tier::Tier;

use super::case::{Case, Meanwhile, SECRET};
use super::fixture::Fixture;
use super::{Battery, Place};

/// How long a supervisor may take for one call.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long an attack is let run that nothing ends.
const BARE_PATIENCE: Duration = Duration::from_secs(6);
/// A program that has not counted on for so long has ended.
const SILENCE: Duration = Duration::from_secs(1);
/// Within which what a dead supervisor leaves has to end.
const GRACE: Duration = Duration::from_secs(5);
const GLANCE: Duration = Duration::from_millis(20);

/// What a call has done outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Effect {
    /// Something of it still runs.
    GoesOn,
    WroteOutside,
    Connected,
    KilledItsSupervisor,
}

/// What was seen of a call, from outside.
#[derive(Debug, Default)]
pub(super) struct CaseResult {
    pub(super) stdout: String,
    effects: BTreeSet<Effect>,
    /// Why it was not run.
    pub(super) failure: Option<String>,
    report: Value,
}

impl CaseResult {
    pub(super) fn shows(&self, effect: Effect) -> bool {
        self.effects.contains(&effect)
    }

    /// How well the report says that a guarantee was kept.
    pub(super) fn promise(&self, guarantee: Guarantee) -> Option<String> {
        let lines = self.report.get("enforcement")?.as_array()?;
        let line = lines.iter().find(|line| line["guarantee"] == guarantee.name())?;
        line.get("kept")?.as_str().map(str::to_owned)
    }
}

/// Runs one call, and ends all that is left of it.
pub(super) fn run(
    place: Place,
    case: &Case,
    fixture: &Fixture,
    battery: &Battery,
) -> std::io::Result<CaseResult> {
    fixture.lay_out(case)?;
    let mut supervisor = Supervisor::start(place, case, fixture, battery)?;
    let stands_for_it = supervisor.meet(place, case, fixture)?;
    let patience = if place == Place::Bare { BARE_PATIENCE } else { PATIENCE };
    let is_over = eventually(patience, || supervisor.has_ended());
    let goes_on = goes_on(fixture);
    let never_ran = case.script.contains("> beat") && fixture.beat().is_none();
    let (status, stdout) = supervisor.finish()?;
    let was_killed = match stands_for_it {
        Some(other) => ended(other)?,
        None => is_over && status.signal() == Some(Signal::KILL.as_raw()),
    };
    let mut seen = CaseResult::default();
    let dies = was_killed && case.meanwhile != Meanwhile::Nothing;
    if place == Place::Bare {
        seen.stdout = stdout;
    } else if !is_over {
        seen.failure = Some(format!("its supervisor did not end in {PATIENCE:?}"));
    } else if !dies {
        seen.take_report(&stdout);
    }
    if never_ran && seen.failure.is_none() {
        seen.failure = Some("it was never seen to run".to_owned());
    }
    let effects = [
        (goes_on, Effect::GoesOn),
        (fixture.was_written(), Effect::WroteOutside),
        (fixture.was_reached(), Effect::Connected),
        (was_killed, Effect::KilledItsSupervisor),
    ];
    seen.effects = effects.into_iter().filter(|(is_so, _)| *is_so).map(|(_, what)| what).collect();
    Ok(seen)
}

/// Whether a process has ended; it has after this.
fn ended(mut process: Child) -> std::io::Result<bool> {
    let had_ended = process.try_wait()?.is_some();
    process.kill()?;
    process.wait()?;
    Ok(had_ended)
}

impl CaseResult {
    /// The limit that the report names.
    pub(super) fn limit(&self) -> Option<String> {
        self.report.get("limit")?.as_str().map(str::to_owned)
    }

    fn take_report(&mut self, stdout: &str) {
        match json::from_str(stdout) {
            Ok(report) => self.report = report,
            Err(error) => {
                self.failure = Some(format!("its supervisor left no report: {error}"));
                return;
            }
        }
        let text = |pointer: &str| self.report.pointer(pointer).and_then(Value::as_str);
        self.stdout = text("/stdout").unwrap_or_default().to_owned();
        let refused = self.report.get("denied").and_then(Value::as_bool) == Some(true);
        let failure = text("/failure/message").or(text("/reason").filter(|_| refused));
        self.failure = failure.map(str::to_owned);
    }
}

/// A program with what it prints, at the head of a process group of its own.
struct Supervisor {
    child: Child,
    reader: JoinHandle<std::io::Result<Vec<u8>>>,
}

impl Supervisor {
    fn start(
        place: Place,
        case: &Case,
        fixture: &Fixture,
        battery: &Battery,
    ) -> std::io::Result<Self> {
        let mut command = match place {
            Place::Bare => program(case.shell.as_ref()),
            Place::Tier(tier) => {
                let mut command = program("/proc/self/exe".as_ref());
                command.args(["run", "--json", "--no-ask", "--tier", tier.name()]);
                if let Some(file) = &battery.policy_file {
                    command.arg("--policy").arg(file);
                }
                if let Some(image) = battery.image.as_ref().filter(|_| tier == Tier::Container) {
                    command.args(["--image", image.as_str()]);
                }
                command.arg("--journal").arg(fixture.path("journal")).args(case.options);
                command.args(["--", case.shell]);
                command
            }
        };
        command.arg("case.sh").current_dir(fixture.root()).process_group(0);
        command.env("TMPDIR", fixture.path("tmp")).env("BATTERY_SECRET", SECRET);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let stdout = child.stdout.take();
        let reader = spawn(move || {
            let mut bytes = Vec::new();
            stdout.map_or(Ok(0), |mut stdout| stdout.read_to_end(&mut bytes))?;
            Ok(bytes)
        });
        Ok(Self { child, reader })
    }

    /// Does what happens while it runs. Bare there is no supervisor: what stands for it is given.
    fn meet(
        &mut self,
        place: Place,
        case: &Case,
        fixture: &Fixture,
    ) -> std::io::Result<Option<Child>> {
        match case.meanwhile {
            Meanwhile::Nothing => Ok(None),
            Meanwhile::SupervisorIsTold => {
                let other = (place == Place::Bare).then(bystander).transpose()?;
                let pid = other.as_ref().map_or(self.child.id(), Child::id);
                fs::write(fixture.path("work/supervisor"), format!("{pid}\n"))?;
                Ok(other)
            }
            Meanwhile::SupervisorIsKilled => {
                let _ran = eventually(PATIENCE, || fixture.beat().is_some() || self.has_ended());
                self.child.kill()?;
                Ok(None)
            }
        }
    }

    fn has_ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }

    /// Ends it with its group, and gives how it ended and what it printed.
    fn finish(mut self) -> std::io::Result<(ExitStatus, String)> {
        if let Some(group) = Pid::from_raw(self.child.id().cast_signed()) {
            // A group that is empty is gone already.
            let _gone = kill_process_group(group, Signal::KILL).is_err();
        }
        let status = self.child.wait()?;
        let bytes =
            self.reader.join().map_err(|_panic| std::io::Error::other("read its output"))??;
        Ok((status, String::from_utf8_lossy(&bytes).into_owned()))
    }
}

/// A process that nothing but a signal ends soon.
fn bystander() -> std::io::Result<Child> {
    program("sleep".as_ref()).arg("60").stdin(Stdio::null()).stdout(Stdio::null()).spawn()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the battery has to see its supervisors die, and its attacks work without one"
)]
fn program(path: &std::path::Path) -> Command {
    Command::new(path)
}

/// Whether a program that counts still does, after a time of grace.
fn goes_on(fixture: &Fixture) -> bool {
    if fixture.beat().is_none() {
        return false;
    }
    !eventually(GRACE, || {
        let before = fixture.beat();
        sleep(SILENCE);
        fixture.beat() == before
    })
}

fn eventually(patience: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let started = Instant::now();
    loop {
        if is_so() {
            return true;
        }
        if started.elapsed() > patience {
            return false;
        }
        sleep(GLANCE);
    }
}
