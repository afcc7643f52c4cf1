//! What a person sees. Nothing else in the project prints.

use std::io::{BufWriter, Write};

use anstyle::{AnsiColor, Style};
use stockade::gate::Refusal;
use stockade::limits::LimitHit;
use stockade::outcome::Failure;
use stockade::report::Body;
use stockade::shell::invisible::shown;
use stockade::{OutputEvent, Report};

use crate::streams;

pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const FAINT: Style = Style::new().dimmed();

/// An ordinary object is written at once.
const JSON_BUFFER_BYTES: usize = 64 << 10;

/// Prints a line to standard output. A reader that went away is no reason to panic.
pub(crate) fn line(line: &str) -> Result<(), StdoutError> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(StdoutError)
}

/// What was to be said and could not be.
#[derive(Debug, thiserror::Error)]
#[error("write to standard output")]
pub(crate) struct StdoutError(#[source] std::io::Error);

impl StdoutError {
    /// The reader has seen enough and went away.
    pub(crate) fn is_unwanted(&self) -> bool {
        self.0.kind() == std::io::ErrorKind::BrokenPipe
    }
}

/// Prints bytes as they are.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), StdoutError> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(StdoutError)
}

/// Prints one object.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<(), StdoutError> {
    // A report may repeat a call of megabytes, so that no text is made of it as a whole.
    let mut out = BufWriter::with_capacity(JSON_BUFFER_BYTES, std::io::stdout().lock());
    serde_json::to_writer(&mut out, value).map_err(|error| StdoutError(error.into()))?;
    out.write_all(b"\n").and_then(|()| out.flush()).map_err(StdoutError)
}

/// Prints a complaint of our own to standard error.
pub(crate) fn error(text: &str) {
    to_stderr(&format!("{BAD}stockade:{BAD:#} {}", escape(text)));
}

/// Prints lines of our own to standard error, which are inert already.
pub(crate) fn error_lines(lines: &str) {
    to_stderr(lines);
}

/// Whether standard output leads anywhere. One that was closed leads to `/dev/null`, where the
/// runtime has put it.
pub(crate) fn has_reader() -> bool {
    rustix::fs::fstat(std::io::stdout()).is_ok_and(|stat| !streams::is_null(&stat))
}

/// Prints what a person should know to standard error.
pub(crate) fn note(text: &str) {
    to_stderr(&format!("{FAINT}stockade: note:{FAINT:#} {}", escape(text)));
}

/// Prints a line to standard error. If that is closed or full there is nobody to tell.
fn to_stderr(line: &str) {
    let _unwritten = writeln!(anstream::stderr(), "{line}").is_err();
}

/// Prints a piece of a program's output where it belongs.
pub(crate) fn event(event: &OutputEvent) -> Result<(), StdoutError> {
    if let OutputEvent::Stderr(piece) = event {
        return std::io::stderr().lock().write_all(piece).map_err(StdoutError);
    }
    bytes(event.bytes())
}

/// Prints what a report keeps of the output of a program.
pub(crate) fn output(report: &Report) -> Result<(), StdoutError> {
    if let Some(outcome) = report.outcome() {
        bytes(&outcome.stdout.bytes)?;
        let _unwritten = std::io::stderr().lock().write_all(&outcome.stderr.bytes).is_err();
    }
    Ok(())
}

/// Prints what is ours to say about a run that is over, for a person.
pub(crate) fn ending(report: &Report, quiet: bool) {
    if quiet {
        return;
    }
    match &report.body {
        Body::Refused(refusal) => refused(refusal),
        Body::Failed(failure) => failed(failure),
        Body::Ran(outcome) => {
            let hint =
                |limit| format!("{}; {}", report.reason().unwrap_or_default(), remedy(limit));
            for line in outcome.limit.map(hint).iter().chain(&outcome.notes) {
                error(line);
            }
        }
    }
    said_by_hooks(report);
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
        LimitHit::Cancelled => "make the call again to run it to its end",
    }
}

/// What hooks said and did about a call.
fn said_by_hooks(report: &Report) {
    let said = &report.said;
    if let Some(rewritten) = &said.rewritten {
        error(&format!("the hook {:?} rewrote this call", rewritten.by.name));
    }
    if !report.redacted_by.is_empty() {
        error(&format!("the output was changed by {}", report.redacted_by.join(", ")));
    }
    let stops = said.stop.iter().map(|stop| ("stop", stop));
    let messages = said.messages.iter().map(|message| ("says", message));
    let context = said.context.iter().map(|context| ("adds", context));
    for (verb, spoken) in stops.chain(messages).chain(context) {
        let (hook, text) = (escape(&spoken.hook), escape(&spoken.text));
        to_stderr(&format!("  {FAINT}{hook} {verb}:{FAINT:#} {text}"));
    }
}

fn refused(refusal: &Refusal) {
    error(&format!("refused: {}", refusal.reason));
    let source = refusal.source.as_ref().map(|source| format!(" ({source})")).unwrap_or_default();
    to_stderr(&format!("  {FAINT}rule:{FAINT:#}    {}{}", escape(&refusal.rule), escape(&source)));
    if let Some(instead) = &refusal.instead {
        to_stderr(&format!("  {FAINT}instead:{FAINT:#} {}", escape(instead)));
    }
}

/// Prints why a call could not be run.
pub(crate) fn failed(failure: &Failure) {
    error(&format!("could not run it: {}", failure.message()));
    to_stderr(&format!("  {FAINT}step:{FAINT:#}    {}", failure.step()));
    if let Some(remedy) = failure.remedy() {
        to_stderr(&format!("  {FAINT}remedy:{FAINT:#}  {}", escape(remedy)));
    }
}

/// A text that cannot drive the terminal and hides nothing; a tab is an escape too, since columns
/// are ours.
pub(crate) fn escape(text: &str) -> String {
    shown(text).replace('\t', "\\u{9}")
}

/// The same in one line, for a list: what begins a line there is ours.
pub(crate) fn escape_line(text: &str) -> String {
    escape(text).replace('\n', "\\u{a}")
}

/// An error and its causes, as a complaint.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    format!("could not {}", stockade::outcome::chain(error))
}
