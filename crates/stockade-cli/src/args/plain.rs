//! The command lines that agents type for every call, read by themselves: to set up what reads all that
//! can be typed takes longer than anything else between the start of a command and its call.
//!
//! What is not understood here is not wrong: it is read by the other, and so is every error told by it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;
use stockade::limits::parse_duration;
use stockade::policy::Variable;

use super::{Answered, Common, Run, Shell};

/// The words behind `run`: options, `--`, and a program with its arguments.
pub(super) fn run(words: &[OsString]) -> Option<Run> {
    let mut reader = Reader::of(words);
    reader.options(Of::Run)?;
    let (first, argv) = reader.left.split_first()?;
    let is_whole = first == "--" && !argv.is_empty();
    let stdin = reader.stdin;
    is_whole.then(|| Run { common: reader.finish(), stdin, argv: argv.to_vec() })
}

/// The words behind `shell`: options, `--` if it is there, and one line.
pub(super) fn shell(words: &[OsString]) -> Option<Shell> {
    let mut reader = Reader::of(words);
    reader.options(Of::Shell)?;
    let line = match reader.left {
        [dashes, line] if dashes == "--" => line.clone(),
        [line] if line != "--" => line.clone(),
        _ => return None,
    };
    let answered = reader.answered;
    Some(Shell { common: reader.finish(), only: Vec::new(), answered, line })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Run,
    Shell,
}

struct Reader<'w> {
    left: &'w [OsString],
    common: Common,
    root: Option<PathBuf>,
    answered: Option<Answered>,
    stdin: bool,
}

impl<'w> Reader<'w> {
    fn of(words: &'w [OsString]) -> Self {
        let common = Common::default();
        Self { left: words, common, root: None, answered: None, stdin: false }
    }

    fn finish(mut self) -> Common {
        self.common.sources.root = self.root.unwrap_or_else(|| PathBuf::from("."));
        self.common
    }

    /// Reads options until something else comes; none if one of them is not known here.
    fn options(&mut self, of: Of) -> Option<()> {
        while let Some((word, left)) = self.left.split_first()
            && word != "--"
            && word.as_bytes().starts_with(b"-")
        {
            self.left = left;
            let (name, value) = parted(word);
            match (name, value, of) {
                (b"--json", None, _) => raise(&mut self.common.json)?,
                (b"--quiet" | b"-q", None, _) => raise(&mut self.common.quiet)?,
                (b"--no-ask", None, _) => raise(&mut self.common.no_ask)?,
                (b"--stdin", None, Of::Run) => raise(&mut self.stdin)?,
                (name, value, of) => {
                    let value = value.or_else(|| self.next())?;
                    self.option(name, value, of)?;
                }
            }
        }
        Some(())
    }

    /// The next word, as the value of an option.
    fn next(&mut self) -> Option<&'w OsStr> {
        let (value, left) = self.left.split_first()?;
        self.left = left;
        (!value.as_bytes().starts_with(b"-")).then_some(value)
    }

    fn option(&mut self, name: &[u8], value: &OsStr, of: Of) -> Option<()> {
        let all = &mut self.common;
        let sources = &mut all.sources;
        if value.is_empty() {
            return None;
        }
        match (name, of) {
            (b"--root", _) => set(&mut self.root, Some(value.into())),
            (b"--policy", _) => set(&mut sources.policy, Some(value.into())),
            (b"--settings", _) => add(&mut sources.settings, Some(value.into())),
            (b"--rules", _) => add(&mut sources.rules, Some(value.into())),
            (b"--dialect", _) => add(&mut sources.dialect, chosen(value)),
            (b"--answered", Of::Shell) => set(&mut self.answered, chosen(value)),
            (b"--cwd", _) => set(&mut all.cwd, Some(value.into())),
            (b"--journal", _) => set(&mut all.journal, Some(value.into())),
            (b"--tier", _) => set(&mut all.tier, parsed(value)),
            (b"--image", _) => set(&mut all.image, parsed(value)),
            (b"--mode", _) => set(&mut all.mode, parsed(value)),
            (b"--profile", _) => set(&mut all.profile, parsed(value)),
            (b"--net", _) => set(&mut all.net, chosen(value)),
            (b"--timeout", _) => set(&mut all.timeout, duration(value)),
            (b"--cpu", _) => set(&mut all.cpu, duration(value)),
            (b"--cpus", _) => set(&mut all.cpus, parsed(value)),
            (b"--memory", _) => set(&mut all.memory, parsed(value)),
            (b"--processes", _) => set(&mut all.processes, parsed(value).filter(|most| *most > 0)),
            (b"--file-size", _) => set(&mut all.file_size, parsed(value)),
            (b"--disk", _) => set(&mut all.disk, parsed(value)),
            (b"--files", _) => set(&mut all.files, parsed(value)),
            (b"--max-output", _) => set(&mut all.max_output, parsed(value)),
            (b"--write", _) => add(&mut all.write, Some(value.into())),
            (b"--read", _) => add(&mut all.read, Some(value.into())),
            (b"--toolchain", _) => add(&mut all.toolchain, parsed(value)),
            (b"--env", _) => add(&mut all.env, value.to_str().and_then(Variable::parse)),
            _ => None,
        }
    }
}

/// An option and the value that it has in the same word.
fn parted(word: &OsStr) -> (&[u8], Option<&OsStr>) {
    let bytes = word.as_bytes();
    match bytes.iter().position(|byte| *byte == b'=').and_then(|at| bytes.split_at_checked(at)) {
        Some((name, value)) => (name, value.get(1..).map(OsStr::from_bytes)),
        None => (bytes, None),
    }
}

/// Raises a flag, which can be done once.
fn raise(flag: &mut bool) -> Option<()> {
    (!std::mem::replace(flag, true)).then_some(())
}

/// Sets an option, which can be done once.
fn set<T>(place: &mut Option<T>, value: Option<T>) -> Option<()> {
    place.replace(value?).is_none().then_some(())
}

/// Adds to an option that can be given more than once.
fn add<T>(list: &mut Vec<T>, value: Option<T>) -> Option<()> {
    list.push(value?);
    Some(())
}

fn duration(value: &OsStr) -> Option<Duration> {
    parse_duration(value.to_str()?).ok()
}

fn parsed<T: FromStr>(value: &OsStr) -> Option<T> {
    value.to_str()?.parse().ok()
}

fn chosen<T: ValueEnum>(value: &OsStr) -> Option<T> {
    T::from_str(value.to_str()?, false).ok()
}

#[cfg(test)]
mod tests;
