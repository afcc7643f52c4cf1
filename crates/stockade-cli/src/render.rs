//! What a person sees. Nothing else in the project prints.

use std::io::{BufWriter, Write};

use anstyle::{AnsiColor, Style};
use stockade::Report;
use stockade::gate::Refusal;
use stockade::limits::LimitHit;
use stockade::outcome::Failure;
use stockade::report::Body;
use stockade::shell::hidden::shown;

pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const FAINT: Style = Style::new().dimmed();

/// An ordinary object is written at once.
const JSON_BUFFER_BYTES: usize = 64 << 10;

/// Prints a line to standard output. A reader that went away is no reason to panic.
pub(crate) fn say(line: &str) -> Result<(), Unsaid> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(Unsaid)
}

/// What was to be said and could not be.
#[derive(Debug, thiserror::Error)]
#[error("write to standard output")]
pub(crate) struct Unsaid(#[source] std::io::Error);

impl Unsaid {
    /// The reader has seen enough and went away.
    pub(crate) fn is_unwanted(&self) -> bool {
        self.0.kind() == std::io::ErrorKind::BrokenPipe
    }
}

/// Prints bytes as they are.
pub(crate) fn say_bytes(bytes: &[u8]) -> Result<(), Unsaid> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(Unsaid)
}

/// Prints one object.
pub(crate) fn say_json(value: &impl serde::Serialize) -> Result<(), Unsaid> {
    // A report may repeat a call of megabytes, so that no text is made of it as a whole.
    let mut out = BufWriter::with_capacity(JSON_BUFFER_BYTES, std::io::stdout().lock());
    serde_json::to_writer(&mut out, value).map_err(|error| Unsaid(error.into()))?;
    out.write_all(b"\n").and_then(|()| out.flush()).map_err(Unsaid)
}

/// Prints a complaint of our own to standard error.
pub(crate) fn complain(text: &str) {
    remark(&format!("{BAD}stockade:{BAD:#} {}", inert(text)));
}

/// Prints lines of our own to standard error, which are inert already.
pub(crate) fn complain_lines(lines: &str) {
    remark(lines);
}

/// Whether standard output leads anywhere. One that was closed leads to `/dev/null`, where the
/// runtime has put it.
pub(crate) fn is_heard() -> bool {
    use rustix::fs::{FileType, fstat, major, minor};
    let Ok(stat) = fstat(std::io::stdout()) else { return false };
    let is_device = FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice;
    !(is_device && (major(stat.st_rdev), minor(stat.st_rdev)) == (1, 3))
}

/// Prints what a person should know to standard error.
pub(crate) fn note(text: &str) {
    remark(&format!("{FAINT}stockade: note:{FAINT:#} {}", inert(text)));
}

/// Prints a line to standard error. If that is closed or full there is nobody to tell.
fn remark(line: &str) {
    let _unheard = writeln!(anstream::stderr(), "{line}").is_err();
}

/// Prints what a run left, for a person: its output where it belongs, then what is ours to say.
pub(crate) fn report(report: &Report, quiet: bool) -> Result<(), Unsaid> {
    if let Some(outcome) = report.outcome() {
        say_bytes(&outcome.stdout.bytes)?;
        let _unheard = std::io::stderr().lock().write_all(&outcome.stderr.bytes).is_err();
    }
    if quiet {
        return Ok(());
    }
    match &report.body {
        Body::Refused(refusal) => refused(refusal),
        Body::Failed(failure) => failed(failure),
        Body::Ran(outcome) => {
            let hint =
                |limit| format!("{}; {}", report.reason().unwrap_or_default(), remedy(limit));
            for line in outcome.limit.map(hint).iter().chain(&outcome.notes) {
                complain(line);
            }
        }
    }
    said_by_hooks(report);
    Ok(())
}

/// How to let a call have more than the limit that ended it.
fn remedy(limit: LimitHit) -> &'static str {
    match limit {
        LimitHit::Wall => "allow more time with --timeout or limits.wall",
        LimitHit::Cpu => "allow more processor time with --cpu or limits.cpu",
        LimitHit::Memory => "allow more memory with --memory or limits.memory",
        LimitHit::Processes => "allow more processes with --processes or limits.processes",
        LimitHit::FileSize => "allow larger files with --file-size or limits.file_size",
        LimitHit::Disk => "allow more room on the disk with --disk or limits.disk",
        LimitHit::Files => "allow more files with --files or limits.files",
        LimitHit::Output => "write less, or to a file, or raise limits.flood",
    }
}

/// What hooks said and did about a call.
fn said_by_hooks(report: &Report) {
    let said = &report.said;
    if let Some(rewritten) = &said.rewritten {
        complain(&format!("the hook {:?} rewrote this call", rewritten.by.name));
    }
    if !report.redacted_by.is_empty() {
        complain(&format!("the output was changed by {}", report.redacted_by.join(", ")));
    }
    let stops = said.stop.iter().map(|stop| ("stop", stop));
    let messages = said.messages.iter().map(|message| ("says", message));
    let context = said.context.iter().map(|context| ("adds", context));
    for (verb, spoken) in stops.chain(messages).chain(context) {
        let (hook, text) = (inert(&spoken.hook), inert(&spoken.text));
        remark(&format!("  {FAINT}{hook} {verb}:{FAINT:#} {text}"));
    }
}

fn refused(refusal: &Refusal) {
    complain(&format!("refused: {}", refusal.reason));
    let source = refusal.source.as_ref().map(|source| format!(" ({source})")).unwrap_or_default();
    remark(&format!("  {FAINT}rule:{FAINT:#}    {}{}", inert(&refusal.rule), inert(&source)));
    if let Some(instead) = &refusal.instead {
        remark(&format!("  {FAINT}instead:{FAINT:#} {}", inert(instead)));
    }
}

/// Prints why a call could not be run.
pub(crate) fn failed(failure: &Failure) {
    complain(&format!("could not run it: {}", failure.message));
    remark(&format!("  {FAINT}step:{FAINT:#}    {}", failure.step));
    if let Some(remedy) = &failure.remedy {
        remark(&format!("  {FAINT}remedy:{FAINT:#}  {}", inert(remedy)));
    }
}

/// A text that cannot drive the terminal and hides nothing; a tab is an escape too, since columns
/// are ours.
pub(crate) fn inert(text: &str) -> String {
    shown(text).replace('\t', "\\u{9}")
}

/// An error and its causes, as a complaint.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    format!("could not {}", stockade::outcome::chain(error))
}
