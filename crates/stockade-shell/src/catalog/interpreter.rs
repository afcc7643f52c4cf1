//! Code given to an interpreter, in its arguments or on standard input.

use std::sync::Arc;

use super::analysis::{Code, Hazard, HazardKind, Runner};
use super::call::{Call, Part};
use super::glob;
use super::grammar::Name;
use super::program::Shape;
use super::scan::Flag;
use super::schema::{self, Language};
use super::{awk, sed};
use crate::pattern::Pattern;

/// How a program takes code, compiled.
#[derive(Debug)]
pub(super) struct Interpreter {
    code: Vec<Name>,
    stdin: Vec<Name>,
    script: Vec<Name>,
    module: Vec<Name>,
    modules: Vec<Pattern>,
    runners: Vec<Pattern>,
    language: Option<Language>,
    runner: Runner,
    instead: Arc<str>,
}

impl Interpreter {
    pub(super) fn new(data: &schema::Interpreter, shape: &Shape) -> Result<Self, String> {
        let names = |flags: &[String]| shape.names(flags, &[]);
        let instead = data.instead.as_deref();
        Ok(Self {
            code: names(&data.code)?,
            stdin: names(&data.stdin)?,
            script: names(&data.script)?,
            module: names(&data.module)?,
            modules: glob::all(&data.modules),
            runners: glob::all(&data.runners),
            language: data.language,
            runner: if data.shell { Runner::Shell } else { Runner::Other },
            instead: instead.unwrap_or("write the code to a file and run that, or use Code").into(),
        })
    }

    pub(super) fn judge(&self, call: &Call<'_, '_>, found: &mut Vec<Hazard>) {
        let Some(part) = call.parts.first().filter(|_| !call.is_harmless()) else { return };
        let is = |flag: &Flag<'_>, names: &[Name]| {
            names.iter().any(|name| flag.may_be(name, part.grammar))
        };
        let mut scripted = false;
        for flag in &part.seen.flags {
            if is(flag, &self.stdin) {
                self.report(call, found, HazardKind::StdinCode, flag.word, FROM_STDIN);
            }
            if is(flag, &self.script) {
                scripted = true;
                if flag.value.is_some_and(|value| is_stdin(value.bytes)) {
                    self.report(call, found, HazardKind::StdinCode, flag.word, FROM_STDIN);
                }
            }
            if is(flag, &self.code) {
                scripted = true;
                if self.language.is_none() {
                    self.report(call, found, HazardKind::InlineCode, flag.word, INLINE);
                }
            }
            if is(flag, &self.module) {
                scripted = true;
                let name = flag.value.map_or(b"".as_slice(), |value| value.bytes);
                if glob::cover(&self.modules, name) {
                    let why = "this module runs code that it is given";
                    self.report(call, found, HazardKind::InlineCode, flag.word, why);
                }
                if glob::cover(&self.runners, name) {
                    self.judge_runner(call, part, found);
                }
            }
        }
        match self.language {
            Some(language) => self.judge_text(language, call, part, scripted, found),
            None if !scripted => self.judge_script(call, part, found),
            None => {}
        }
    }

    /// Adds the code in the arguments: the value of an option, else the first operand.
    pub(super) fn find_code(&self, call: &Call<'_, '_>, found: &mut Vec<Code>) {
        let Some(part) = call.parts.first().filter(|_| !call.is_harmless()) else { return };
        let is = |flag: &Flag<'_>, names: &[Name]| {
            names.iter().any(|name| flag.may_be(name, part.grammar))
        };
        let mut first = self.language.is_some();
        for flag in &part.seen.flags {
            first &= !is(flag, &self.script);
            if is(flag, &self.code) {
                first = flag.value.is_none();
                let value = flag.value.map(|value| (value.word, value.offset));
                found.extend(value.map(|(word, offset)| self.code_at(word, offset)));
            }
        }
        let operand = part.seen.operands.first().filter(|_| first);
        found.extend(operand.map(|&word| self.code_at(word, 0)));
    }

    fn code_at(&self, word: usize, offset: usize) -> Code {
        Code { words: vec![word], offset, runner: self.runner, open: false }
    }

    /// A module that runs another (`-m cProfile -m timeit CODE`). Its options are not known, so an
    /// `m` among them and a module that takes code, in any place, have to do.
    fn judge_runner(&self, call: &Call<'_, '_>, part: &Part<'_>, found: &mut Vec<Hazard>) {
        let mut names_module = false;
        for (&word, bytes) in part.operands(call) {
            let name = match bytes {
                [b'-', b'-', long @ ..] => {
                    names_module |= long.starts_with(b"m");
                    long.iter()
                        .position(|byte| *byte == b'=')
                        .and_then(|at| long.get(at..)?.get(1..))
                }
                [b'-', short @ ..] => {
                    let at = short.iter().position(|byte| *byte == b'm');
                    names_module |= at.is_some();
                    at.and_then(|at| short.get(at..)?.get(1..))
                }
                _ => Some(bytes),
            };
            let takes_code = |name| glob::cover(&self.modules, name);
            if names_module && name.is_some_and(takes_code) {
                let why = "a module that is run by this one runs code that it is given";
                self.report(call, found, HazardKind::InlineCode, word, why);
                return;
            }
        }
    }

    /// The first operand is the script; without one the code comes from standard input.
    fn judge_script(&self, call: &Call<'_, '_>, part: &Part<'_>, found: &mut Vec<Hazard>) {
        let script = part.seen.operands.first();
        match script.and_then(|&word| Some((word, call.words.get(word)?.bytes()))) {
            None => {
                let word = part.seen.dash.unwrap_or(0);
                self.report(call, found, HazardKind::StdinCode, word, NO_SCRIPT);
            }
            Some((word, name)) if is_stdin(name) => {
                self.report(call, found, HazardKind::StdinCode, word, FROM_STDIN);
            }
            Some(_) => {}
        }
    }

    /// Judges a program text by its language. Parts given by several options are one text.
    fn judge_text(
        &self,
        language: Language,
        call: &Call<'_, '_>,
        part: &Part<'_>,
        scripted: bool,
        found: &mut Vec<Hazard>,
    ) {
        let mut texts: Vec<(usize, Vec<u8>)> = Vec::new();
        let mut joins = false;
        for flag in &part.seen.flags {
            if self.script.iter().any(|name| flag.may_be(name, part.grammar)) {
                joins = false;
            }
            let Some(value) = flag.value else { continue };
            if !self.code.iter().any(|name| flag.may_be(name, part.grammar)) {
                continue;
            }
            match texts.last_mut().filter(|_| joins) {
                Some((_, text)) => {
                    text.push(b'\n');
                    text.extend_from_slice(value.bytes);
                }
                None => texts.push((value.word, value.bytes.to_vec())),
            }
            joins = true;
        }
        if !scripted && let Some(&word) = part.seen.operands.first() {
            let bytes = call.words.get(word).map_or(b"".as_slice(), |word| word.bytes());
            texts.push((word, bytes.to_vec()));
        }
        for (word, text) in texts {
            let judged = match language {
                Language::Awk => awk::judge(&text),
                Language::Sed => sed::judge(&text),
            };
            if let Err(why) = judged {
                self.report(call, found, HazardKind::InlineCode, word, why);
            }
        }
    }

    fn report(
        &self,
        call: &Call<'_, '_>,
        found: &mut Vec<Hazard>,
        kind: HazardKind,
        word: usize,
        why: &str,
    ) {
        found.push(call.hazard(kind, word, &why.into(), Some(&self.instead)));
    }
}

const INLINE: &str = "this runs code from the arguments";
const FROM_STDIN: &str = "this runs code from standard input";
const NO_SCRIPT: &str = "without a script this runs code from standard input";

/// Whether a script's name is standard input or another open descriptor.
fn is_stdin(name: &[u8]) -> bool {
    const DESCRIPTORS: [&[u8]; 3] = [b"/dev/fd/", b"/dev/stdin", b"/dev/tty"];
    name == b"-"
        || DESCRIPTORS.iter().any(|prefix| name.starts_with(prefix))
        || (name.starts_with(b"/proc/") && name.windows(4).any(|part| part == b"/fd/"))
}
