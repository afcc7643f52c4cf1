//! Programs that run another command: where it begins in their words.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::Arc;

use super::analysis::{Analysis, Code, HazardKind, Inner, Runner, Word};
use super::call::{Call, Part};
use super::environment::Variables;
use super::grammar::Name;
use super::program::Shape;
use super::scan::{Flag, Value};
use super::schema::{self, Bare, Command};
use super::split;

/// How a program finds the command that it runs, compiled.
#[derive(Debug)]
pub(super) struct Wrapper {
    data: FixedPart,
    with: Vec<Name>,
    environment: Vec<Name>,
    code: Vec<Name>,
    split: Vec<Name>,
    actions: Vec<Name>,
    direct: Vec<Name>,
    idle: Vec<Name>,
    why: Arc<str>,
    instead: Arc<str>,
}

/// What is taken from the data as it is.
#[derive(Debug)]
struct FixedPart {
    subcommands: Vec<String>,
    skip: usize,
    numbers: bool,
    assignments: bool,
    command: Command,
    bare: Bare,
    runner: Runner,
    open: bool,
}

/// Whether a wrapper's words are as they stand.
#[derive(Debug)]
pub(super) enum WrapperWords<'a> {
    /// Everything is in the reading.
    Done,
    /// An option held words; the command is these.
    Split(Vec<Word<'a>>),
}

impl Wrapper {
    pub(super) fn new(data: &schema::Wrapper, shape: &Shape) -> Result<Self, String> {
        let names = |flags: &[String]| shape.names(flags, &data.subcommands);
        let why = data.why.as_deref().unwrap_or("this gives a line of code to a shell");
        let instead = data.instead.as_deref().unwrap_or("run the command itself");
        Ok(Self {
            data: FixedPart {
                subcommands: data.subcommands.clone(),
                skip: data.skip,
                numbers: data.numbers,
                assignments: data.assignments,
                command: data.command,
                bare: data.bare,
                runner: data.runner.into(),
                open: data.open,
            },
            with: names(&data.with)?,
            environment: names(&data.environment)?,
            code: names(&data.code)?,
            split: names(&data.split)?,
            actions: names(&data.actions)?,
            direct: names(&data.direct)?,
            idle: names(&data.idle)?,
            why: why.into(),
            instead: instead.into(),
        })
    }

    pub(super) fn is_for(&self, part: &Part<'_>) -> bool {
        part.is_under(&self.data.subcommands) && (self.with.is_empty() || part.seen.has(&self.with))
    }

    pub(super) fn unwrap<'a>(
        &self,
        variables: &Variables,
        call: &Call<'_, 'a>,
        part: &Part<'_>,
        reading: &mut Analysis<'a>,
    ) -> WrapperWords<'a> {
        for flag in &part.seen.flags {
            let is = |names: &[Name]| names.iter().any(|name| flag.may_be(name, part.grammar));
            if is(&self.split)
                && let Some(value) = flag.value
            {
                return self.split(call, value, reading);
            }
            if is(&self.environment)
                && let Some(value) = flag.value
            {
                note_assignment(variables, call, value.word, value.bytes, reading);
            }
            if is(&self.code) {
                let code = flag.value.map(|value| (vec![value.word], value.offset));
                self.note_code(call, flag.word, code, reading);
            }
            if is(&self.actions) {
                self.note_action(call, flag, reading);
            }
        }
        if !part.seen.has(&self.idle) && self.data.command != Command::None {
            self.note_command(variables, call, part, reading);
        } else if self.data.command == Command::None && self.data.assignments {
            for (&word, bytes) in part.operands(call) {
                note_assignment(variables, call, word, bytes, reading);
            }
        }
        WrapperWords::Done
    }

    /// The words that an option holds, in its place.
    fn split<'a>(
        &self,
        call: &Call<'_, 'a>,
        value: Value<'_>,
        reading: &mut Analysis<'a>,
    ) -> WrapperWords<'a> {
        let argument = call.words.get(value.word).map_or(0, |word| word.argument);
        let Some(parts) = split::words(value.bytes) else {
            let why = "the words in this string cannot be told apart with certainty".into();
            let instead = Some(&self.instead);
            reading.hazards.push(call.hazard(HazardKind::Unreadable, value.word, &why, instead));
            return WrapperWords::Done;
        };
        let first = call.words.first().cloned();
        let parts = parts.into_iter().map(|part| Word::part(OsStringExt::from_vec(part), argument));
        let after = call.words.iter().skip(value.word.saturating_add(1)).cloned();
        WrapperWords::Split(first.into_iter().chain(parts).chain(after).collect())
    }

    /// Notes code, the words that hold it, and where it begins in the first of them.
    fn note_code(
        &self,
        call: &Call<'_, '_>,
        word: usize,
        code: Option<(Vec<usize>, usize)>,
        reading: &mut Analysis<'_>,
    ) {
        let instead = Some(&self.instead);
        reading.hazards.push(call.hazard(HazardKind::InlineCode, word, &self.why, instead));
        let (runner, open) = (self.data.runner, self.data.open);
        reading.code.extend(code.map(|(words, offset)| Code { words, offset, runner, open }));
    }

    /// The command after `-exec`.
    fn note_action<'a>(&self, call: &Call<'_, 'a>, flag: &Flag<'_>, reading: &mut Analysis<'a>) {
        let Some((start, end)) = flag.command else { return };
        let glued = flag.value.and_then(|value| {
            let argument = call.words.get(value.word)?.argument;
            Some(Word::part(OsStr::from_bytes(value.bytes).to_owned(), argument))
        });
        let words = call.words.get(start..end).unwrap_or_default().iter().cloned();
        let words: Vec<_> = glued.into_iter().chain(words).collect();
        if !words.is_empty() {
            let via = call.words.get(flag.word).map(|word| word.text.to_string_lossy());
            let via = via.unwrap_or_default().chars().take(40).collect();
            reading.inner.push(Inner { words, via, open: self.data.open });
        }
    }

    /// The command after the wrapper's own words.
    fn note_command<'a>(
        &self,
        variables: &Variables,
        call: &Call<'_, 'a>,
        part: &Part<'_>,
        reading: &mut Analysis<'a>,
    ) {
        let operands = part.seen.operands.as_slice();
        let (skipped, mut rest) =
            operands.split_at_checked(self.data.skip).unwrap_or((operands, &[]));
        let bytes =
            |word: &usize| call.words.get(*word).map_or(b"".as_slice(), |word| word.bytes());
        let number = |word: &usize| bytes(word).first().is_some_and(u8::is_ascii_digit);
        if let Some(&word) = skipped.iter().find(|word| self.data.numbers && !number(word)) {
            let why =
                "a number is expected here, so where the command begins is not certain".into();
            reading.hazards.push(call.hazard(HazardKind::Unreadable, word, &why, None));
        }
        // `env -` is `env -i`.
        if let Some((word, after)) = rest.split_first().filter(|_| self.data.assignments)
            && bytes(word) == b"-"
        {
            rest = after;
        }
        while let Some((word, after)) = rest.split_first().filter(|_| self.data.assignments) {
            if !note_assignment(variables, call, *word, bytes(word), reading) {
                break;
            }
            rest = after;
        }
        let Some(&first) = rest.first() else {
            if self.data.bare == Bare::Shell && !part.seen.has(&self.code) && !call.is_harmless() {
                let why = "without a command this starts a shell".into();
                let instead = Some(&self.instead);
                reading.hazards.push(call.hazard(HazardKind::StdinCode, 0, &why, instead));
            }
            return;
        };
        // `flock FILE -c CODE`: the option that carries code stands after the operands too.
        let name = bytes(&first);
        let is_code = self.code.iter().any(|code| match code {
            Name::Short(letter) => name.starts_with(&[b'-', *letter]),
            Name::Long(long) => name
                .strip_prefix(b"--")
                .is_some_and(|name| !name.is_empty() && long.as_bytes().starts_with(name)),
            Name::Single(_) | Name::Plus => false,
        });
        let shell = self.data.command == Command::Shell && !part.seen.has(&self.direct);
        if is_code || shell {
            let words = if is_code { rest.get(1..2) } else { Some(rest) };
            let code = words.filter(|words| !words.is_empty()).map(|words| (words.to_vec(), 0));
            self.note_code(call, first, code, reading);
            return;
        }
        if name.is_empty() || name.starts_with(b"-") {
            let why = "the name of a program is expected here".into();
            reading.hazards.push(call.hazard(HazardKind::Unreadable, first, &why, None));
        }
        let words = rest.iter().filter_map(|word| call.words.get(*word).cloned()).collect();
        let via = call.program.name.clone();
        reading.inner.push(Inner { words, via, open: self.data.open });
    }
}

/// Notes a dangerous variable; false if the word is no assignment.
fn note_assignment(
    variables: &Variables,
    call: &Call<'_, '_>,
    word: usize,
    bytes: &[u8],
    reading: &mut Analysis<'_>,
) -> bool {
    // A variable without a name is one too: `env =x ls` runs ls.
    let Some(at) = bytes.iter().position(|&byte| byte == b'=') else { return false };
    let name = bytes.get(..at).unwrap_or_default();
    match variables.find(name) {
        Ok(None) => {}
        Ok(Some(variable)) => {
            let instead = variable.instead.as_ref();
            let mut hazard = call.hazard(HazardKind::Environment, word, &variable.why, instead);
            hazard.flag = String::from_utf8_lossy(name).chars().take(80).collect();
            reading.hazards.push(hazard);
        }
        Err(broken) => {
            let why = broken.to_string().into();
            reading.hazards.push(call.hazard(HazardKind::Unreadable, word, &why, None));
        }
    }
    true
}
