//! Asks the person at the terminal: a preview with nothing hidden, and keys for the answers.
//!
//! On `/dev/tty` alone: standard input and output belong to the call and to whoever reads the report.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anstream::AutoStream;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{QueueSelector, tcflush, tcgetpgrp};
use stockade::gate::{Approver, ApproverAnswer, Offer, Prompt};
use stockade::shell::invisible::shown;

use crate::print::{BAD, FAINT, escape};
use crate::{explain, policy_file};

/// Lines of a file that a person is shown of each side of a change.
const LINES_SHOWN_MAX: usize = 60;

/// Characters of one of these lines.
const CHARS_SHOWN_MAX: usize = 4000;

/// The terminal of this process.
#[derive(Debug)]
pub(crate) struct Terminal {
    /// The person's own policy file, to which a lasting yes is added.
    policy: Option<PathBuf>,
    /// That of another process, where this one works for it and has none.
    lent: Option<Mutex<Option<File>>>,
}

impl Terminal {
    /// The terminal, if there is one.
    pub(crate) fn find(policy: Option<PathBuf>) -> Option<Self> {
        open().map(|_there| Self { policy, lent: None })
    }

    /// The terminals that other processes will lend.
    pub(crate) fn of_others(policy: Option<PathBuf>) -> Self {
        Self { policy, lent: Some(Mutex::default()) }
    }

    /// Takes the terminal of another process, or takes leave of it.
    pub(crate) fn borrow(&self, terminal: Option<File>) {
        if let Some(lent) = &self.lent {
            *lent.lock().unwrap_or_else(PoisonError::into_inner) = terminal;
        }
    }

    fn open(&self) -> Option<File> {
        match &self.lent {
            None => open(),
            Some(lent) => {
                let lent = lent.lock().unwrap_or_else(PoisonError::into_inner);
                lent.as_ref().and_then(|terminal| terminal.try_clone().ok())
            }
        }
    }
}

impl Approver for Terminal {
    fn name(&self) -> &'static str {
        "terminal"
    }

    fn answer(&self, prompt: &Prompt, patience: Duration) -> ApproverAnswer {
        let Some(terminal) = self.open() else { return ApproverAnswer::Nobody };
        let until = Instant::now().checked_add(patience);
        let mut asked = TimedTerminal { terminal: &terminal, until };
        match self.put(prompt, patience, &mut asked) {
            Ok(answer) => answer,
            Err(NoAnswer::Late) => {
                asked.tell("\nnobody answered in time: no\n");
                ApproverAnswer::Silence
            }
            Err(NoAnswer::Lost) => ApproverAnswer::Nobody,
        }
    }
}

/// The terminal, where this process may read from it: one in the background would be stopped.
pub(crate) fn open() -> Option<File> {
    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
    let foreground = tcgetpgrp(&terminal).ok()?;
    (foreground == rustix::process::getpgrp()).then_some(terminal)
}

/// Why there is no answer.
enum NoAnswer {
    /// Its time is over.
    Late,
    /// The terminal went away.
    Lost,
}

impl Terminal {
    fn put(
        &self,
        prompt: &Prompt,
        patience: Duration,
        asked: &mut TimedTerminal<'_>,
    ) -> Result<ApproverAnswer, NoAnswer> {
        let policy = self.policy.as_ref().map(|path| path.display().to_string());
        asked.tell(&preview(prompt, policy.as_deref()));
        let offer = AnswerChoice::of(&prompt.offer, self.policy.is_some());
        let keys = offer.keys();
        let seconds = patience.as_secs();
        // What was typed before the question was seen is no answer to it.
        let flushed = tcflush(asked.terminal, QueueSelector::IFlush);
        flushed.map_err(|_gone| NoAnswer::Lost)?;
        loop {
            asked.tell(&format!("run it? [{keys}] {FAINT}(no in {seconds} s){FAINT:#} "));
            match (asked.line()?.trim(), offer) {
                ("y" | "yes", _) => return Ok(ApproverAnswer::Once),
                ("s", AnswerChoice::Session | AnswerChoice::Always) => {
                    return Ok(ApproverAnswer::Session);
                }
                ("a", AnswerChoice::Always) => return Ok(self.keep(&prompt.offer, asked)),
                ("n" | "no", _) => return Ok(ApproverAnswer::No),
                ("r", _) => {
                    asked.tell("why not? ");
                    return Ok(ApproverAnswer::NoBecause(asked.line()?.trim().to_owned()));
                }
                _ => asked.tell("type one of the letters, then Enter\n"),
            }
        }
    }

    /// Writes the offered rules down. Where that fails, the yes holds for the session.
    fn keep(&self, offer: &Offer, asked: &mut TimedTerminal<'_>) -> ApproverAnswer {
        let (Offer::Always(rules), Some(path)) = (offer, &self.policy) else {
            return ApproverAnswer::Session;
        };
        match policy_file::allow(path, rules) {
            Ok(()) => ApproverAnswer::Always,
            Err(error) => {
                let why = escape(&crate::print::chain(&*error));
                asked.tell(&format!("{BAD}{why}{BAD:#}; it holds for this session\n"));
                ApproverAnswer::Session
            }
        }
    }
}

/// Which answers there are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AnswerChoice {
    Once,
    Session,
    Always,
}

impl AnswerChoice {
    fn of(offer: &Offer, has_file: bool) -> Self {
        match offer {
            Offer::Once => Self::Once,
            Offer::Always(_) if has_file => Self::Always,
            Offer::Session(_) | Offer::Always(_) => Self::Session,
        }
    }

    fn keys(self) -> &'static str {
        match self {
            Self::Once => "y/n/r",
            Self::Session => "y/s/n/r",
            Self::Always => "y/s/a/n/r",
        }
    }
}

/// What a tool that is no command is called with: the path, what goes and what comes; the source; the
/// whole input.
fn input(prompt: &Prompt) -> Option<Vec<String>> {
    let mut words = prompt.words.iter().map(|word| word.to_string_lossy());
    let tool = words.next()?;
    let marks: &[&str] = match tool.as_ref() {
        "Write" => &["", "+ "],
        "Edit" => &["", "- ", "+ "],
        "Read" | "Glob" | "Grep" | "Code" => &["", ""],
        _ if ["Bash", "Exec"].contains(&prompt.tool.as_str()) => return None,
        _ => &[""],
    };
    let mut out = Vec::new();
    for (mark, word) in marks.iter().zip(words) {
        let lines = word.lines().take(LINES_SHOWN_MAX);
        out.extend(lines.map(|line| format!("{mark}{}", cut(&escape(line)))));
        let left = word.lines().count().saturating_sub(LINES_SHOWN_MAX);
        if left > 0 {
            out.push(format!("{FAINT}{mark}{left} lines more{FAINT:#}"));
        }
    }
    Some(out)
}

/// A line that leaves room for the question beneath it.
fn cut(line: &str) -> String {
    let left = line.chars().count().saturating_sub(CHARS_SHOWN_MAX);
    if left == 0 {
        return line.to_owned();
    }
    let shown: String = line.chars().take(CHARS_SHOWN_MAX).collect();
    format!("{shown} {FAINT}{left} characters more{FAINT:#}")
}

/// All that a person needs to decide by.
fn preview(prompt: &Prompt, policy: Option<&str>) -> String {
    let is_line = prompt.tool == "Bash";
    let line = prompt.words.first().filter(|_| is_line).map(|line| line.to_string_lossy());
    let line = line.unwrap_or_default();
    let explanation = explain::explanation(&line, &prompt.cwd, &prompt.examination);
    let mut out =
        vec![format!("\n{BAD}stockade asks{BAD:#} about a call of {}", escape(&prompt.tool))];
    out.push(format!("{FAINT}in{FAINT:#} {}", escape(&prompt.cwd.display().to_string())));
    if is_line {
        out.extend(shown(&line).replace('\t', "\\u{9}").lines().map(|one| format!("  {one}")));
    }
    let input = input(prompt);
    let is_command = input.is_none();
    out.extend(input.into_iter().flatten().map(|one| format!("  {one}")));
    if is_command {
        out.push(format!("{FAINT}which runs{FAINT:#}"));
        out.extend(explain::render(&explanation).lines().map(|one| format!("  {one}")));
    } else if let Some(reason) = &prompt.examination.ruling.reason {
        out.push(format!("{FAINT}because{FAINT:#} {}", escape(reason)));
    }
    out.push(format!("{FAINT}y{FAINT:#}  yes, this once"));
    let list =
        |rules: &[String]| rules.iter().map(|rule| escape(rule)).collect::<Vec<_>>().join(", ");
    match &prompt.offer {
        Offer::Once => {}
        Offer::Session(rules) if rules.is_empty() => {
            out.push(format!(
                "{FAINT}s{FAINT:#}  yes, this very call, as long as this program runs"
            ));
        }
        Offer::Session(rules) | Offer::Always(rules) => {
            let rules = list(rules);
            out.push(format!("{FAINT}s{FAINT:#}  yes, {rules}, as long as this program runs"));
        }
    }
    if let (Offer::Always(rules), Some(policy)) = (&prompt.offer, policy) {
        let (rules, policy) = (list(rules), escape(policy));
        out.push(format!(
            "{FAINT}a{FAINT:#}  yes, always: adds {rules} to rules.allow in {policy}"
        ));
    }
    out.push(format!("{FAINT}n{FAINT:#}  no"));
    out.push(format!("{FAINT}r{FAINT:#}  no, and tell the agent why"));
    out.push(String::new());
    out.join("\n")
}

/// A terminal that is read until its time is over.
struct TimedTerminal<'t> {
    terminal: &'t File,
    until: Option<Instant>,
}

/// More than this is no answer.
const LINE_BYTES_MAX: usize = 4096;

impl TimedTerminal<'_> {
    /// Colour only where the terminal and the person want it. A terminal that takes nothing gives
    /// nothing either, which the next read shows.
    fn tell(&mut self, text: &str) {
        if let Ok(terminal) = self.terminal.try_clone() {
            let mut out = AutoStream::auto(terminal);
            let _unheard = out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err();
        }
    }

    /// A line that was typed; the end of the input is a no.
    fn line(&mut self) -> Result<String, NoAnswer> {
        let mut typed = Vec::new();
        loop {
            self.wait()?;
            let mut bytes = [0_u8; 256];
            let read = self.terminal.read(&mut bytes).map_err(|_gone| NoAnswer::Lost)?;
            if read == 0 {
                return Ok("n".to_owned());
            }
            typed.extend_from_slice(bytes.get(..read).unwrap_or_default());
            if typed.ends_with(b"\n") || typed.len() > LINE_BYTES_MAX {
                return Ok(String::from_utf8_lossy(&typed).into_owned());
            }
        }
    }

    fn wait(&self) -> Result<(), NoAnswer> {
        loop {
            let left = match self.until {
                None => None,
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Err(NoAnswer::Late);
                    }
                    Some(Timespec::try_from(left).map_err(|_endless| NoAnswer::Late)?)
                }
            };
            let mut watched = [PollFd::new(self.terminal, PollFlags::IN)];
            match poll(&mut watched, left.as_ref()) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(_gone) => return Err(NoAnswer::Lost),
            }
        }
    }
}
