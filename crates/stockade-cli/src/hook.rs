//! `stockade hook`: answers a coding agent. Whatever happens, the exit status is 0 with an answer, or
//! 2 with a refusal: with any other the agent would go on as if nobody had looked.

mod answer;
mod boxed;
mod event;
mod guard;
mod judge;
mod own_session;
mod patch_line;
mod person;
mod project;

use std::io::Read as _;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use answer::{Answer, DecidedAnswer};
use clap::error::ErrorKind;
use event::{Event, Kind};
pub(crate) use guard::guard;
pub(crate) use judge::program;
use stockade::policy::Decision;

use crate::args::{Agent, Hook, HookOptions, When};
use crate::exit_code::Status;
use crate::print;

/// Agents wait this long for a hook, or longer, and go on without it afterwards.
const DEADLINE: Duration = Duration::from_secs(20);
/// The most bytes of an event before a tool runs. A tool can write a file in one call.
const EVENT_BYTES_MAX: u64 = 16 << 20;
/// The most bytes of an event after it, which holds the tool's output and decides nothing.
const LATE_EVENT_BYTES_MAX: u64 = 64 << 20;
/// What a thread needs that waits and refuses.
const WATCH_BYTES: usize = 256 << 10;

/// Whether a hook was meant by what was typed, right or wrong.
pub(crate) fn is_meant() -> bool {
    std::env::args_os().nth(1).is_some_and(|word| word == "hook")
}

/// From here on a panic is an answer, too, also in a build that aborts after it.
pub(crate) fn prepare() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|at| format!(" at {}:{}", at.file(), at.line()));
        let why = format!("stockade has a fault{}", place.unwrap_or_default());
        refuse(&why);
        leave();
    }));
}

#[expect(clippy::exit, reason = "after a panic nothing else may run and change the status")]
fn leave() -> ! {
    std::process::exit(2)
}

/// What was typed is no hook that there is.
pub(crate) fn misused(error: &clap::Error) -> ExitCode {
    // The agent waits until it is read, and the answer has to fit the event. One that is never
    // read to its end has an end here: a hook that is not waited for does not refuse.
    if let Err(error) = watch() {
        return refuse(&format!("could not start a thread: {error}"));
    }
    let event = read(Phase::Before).unwrap_or_default();
    KIND.get_or_init(|| Event::kind_in(&event).unwrap_or(Kind::PreToolUse));
    let said = error.render().to_string();
    let is_bare = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    let first = said.lines().next().unwrap_or_default().trim_start_matches("error: ");
    let said = if is_bare { "pre or post is missing" } else { first };
    if ANSWERS.fetch_add(1, Ordering::SeqCst) > 0 {
        return Status::Blocked.into();
    }
    refuse(&format!("the hook is not set up right: {said}"))
}

/// Something went wrong before an event could be looked at.
pub(crate) fn failed(why: &str) -> ExitCode {
    refuse(why)
}

/// Answers one event.
pub(crate) fn hook(hook: &Hook) -> ExitCode {
    let (options, phase) = match &hook.when {
        When::Pre(options) => (options.clone(), Phase::Before),
        When::Post(options) => (options.clone(), Phase::After),
    };
    // The work stays in this thread: to hand it over costs more than most decisions.
    if let Err(error) = watch() {
        return refuse(&format!("could not start a thread: {error}"));
    }
    let answered = answered(&options, phase);
    if ANSWERS.fetch_add(1, Ordering::SeqCst) > 0 {
        // The deadline has answered, and ends the process.
        return Status::Blocked.into();
    }
    match answered {
        Ok(answer) => say(answer, options.format),
        Err(why) => refuse(&why),
    }
}

/// How many answers there are; the first one counts.
static ANSWERS: AtomicU32 = AtomicU32::new(0);

fn watch() -> std::io::Result<()> {
    let thread = std::thread::Builder::new().name("deadline".to_owned()).stack_size(WATCH_BYTES);
    thread.spawn(end_in_time).map(drop)
}

fn end_in_time() {
    std::thread::sleep(DEADLINE);
    if ANSWERS.fetch_add(1, Ordering::SeqCst) == 0 {
        refuse(&format!("no decision within {} seconds", DEADLINE.as_secs()));
    }
    // Also an answer that nobody takes has an end, and no other is put behind it.
    guard::tell_answered();
    leave();
}

/// Which hook was called.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Before,
    After,
}

/// What kind of answer is waited for, as soon as that is known.
static KIND: OnceLock<Kind> = OnceLock::new();

fn answered(options: &HookOptions, phase: Phase) -> Result<Answer, String> {
    let event = read(phase)?;
    let parsed = Event::parse(&event);
    let kind = match &parsed {
        Ok(Event::Tool(event)) => Some(event.kind),
        Ok(Event::Harmless) => None,
        Err(_) => Event::kind_in(&event),
    };
    if let Some(kind) = kind {
        KIND.get_or_init(|| kind);
        guard::tell_kind(kind);
    }
    drop(event);
    fail_on_purpose();
    match (parsed, phase) {
        (Ok(Event::Harmless), _) => Ok(Answer::Silent),
        (Ok(Event::Tool(_)), Phase::After) => {
            Err("this event is decided by `stockade hook pre`, and `post` was called".to_owned())
        }
        (Ok(Event::Tool(event)), Phase::Before) => {
            judge::judge(event, options).map_err(|error| print::chain(&error))
        }
        (Err(error), _) => Err(error.to_string()),
    }
}

fn read(phase: Phase) -> Result<Vec<u8>, String> {
    let most = match phase {
        Phase::Before => EVENT_BYTES_MAX,
        Phase::After => LATE_EVENT_BYTES_MAX,
    };
    // Reserved as a whole: a vector that grows is copied, and a long event would be in memory twice.
    let mut bytes = Vec::with_capacity(usize::try_from(most).unwrap_or(0).saturating_add(1));
    let mut limited = std::io::stdin().lock().take(most.saturating_add(1));
    limited
        .read_to_end(&mut bytes)
        .map_err(|error| format!("could not read standard input: {error}"))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > most) {
        return Err(format!("the event is larger than {} MiB", most >> 20));
    }
    Ok(bytes)
}

fn say(answer: Answer, agent: Agent) -> ExitCode {
    let kind = KIND.get().copied().unwrap_or(Kind::PreToolUse);
    // Without it the agent would do more than was decided: run what is refused, not ask, or run a
    // line in no box.
    let restriction = match &answer {
        Answer::Decided(DecidedAnswer { decision: Decision::Allow, input: None, .. })
        | Answer::Silent => None,
        Answer::Decided(decided) => Some(decided.reason.clone()),
    };
    let Some(wire) = answer.wire(kind, agent) else { return Status::Ok.into() };
    let printed = print::json(&wire);
    let status = said(printed, restriction);
    guard::tell_answered();
    status
}

/// The status of an answer that was printed, or could not be; `restriction` is its reason if the agent must not go
/// on without it.
fn said(printed: Result<(), print::StdoutError>, restriction: Option<String>) -> ExitCode {
    match (printed, restriction) {
        (Ok(()), None) => Status::Ok.into(),
        (Ok(()), Some(_)) if print::has_reader() => Status::Ok.into(),
        // Where nobody hears the answer, the status has to give it.
        (Ok(()), Some(reason)) => {
            print::error_lines(&reason);
            Status::Blocked.into()
        }
        (Err(error), _) => {
            print::error(&print::chain(&error));
            Status::Blocked.into()
        }
    }
}

/// Refuses what could not be judged, in both ways that agents know: words on standard error with
/// status 2, and the object on standard output, which one kind of event needs.
fn refuse(why: &str) -> ExitCode {
    let kind = KIND.get().copied().unwrap_or(Kind::PreToolUse);
    let reason = format!(
        "refused: {}\nrule: hook/failed\ninstead: tell the person, who can find out more with `stockade check`",
        print::escape(why).replace('\n', " ")
    );
    print::error_lines(&reason);
    let answer = Answer::Decided(DecidedAnswer::deny(reason));
    if let Some(wire) = answer.wire(kind, Agent::Claude) {
        // If nobody takes it, the status still refuses.
        let _unheard = print::json(&wire).is_err();
    }
    guard::tell_answered();
    Status::Blocked.into()
}

/// Tests ask for faults that nothing else brings about.
#[cfg(debug_assertions)]
#[expect(clippy::panic, reason = "this is what is tested")]
fn fail_on_purpose() {
    match std::env::var("STOCKADE_HOOK_FAULT").as_deref() {
        Ok("panic") => panic!("a fault on purpose"),
        Ok("hang") => std::thread::sleep(DEADLINE.saturating_mul(2)),
        Ok(_) | Err(_) => {}
    }
}

#[cfg(not(debug_assertions))]
fn fail_on_purpose() {}
