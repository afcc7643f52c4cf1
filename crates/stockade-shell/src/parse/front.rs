//! What holds for the whole of a line while it is read: faults, depth, and how much may be done.

use shuck_ast::File;
use shuck_parser::parser::{ParseResult, ParseStatus, Parser};
use shuck_parser::{ShellDialect, ShellProfile};
use std::borrow::Cow;

use super::claims::Claims;
use super::heredocs::HereDocuments;
use super::statements::Converter;
use super::survey::{self, Refusal};
use super::{Fault, FaultKind};
use crate::ast::{Script, Span};

/// How deep commands, words and expansions may be in each other, all counted.
const DEPTH_MAX: usize = 48;
/// The parser's own bound for one text; it is below what fits a small stack.
const PARSER_DEPTH: usize = 48;
/// Steps of the parser that any text may take, however short.
const FUEL_MIN: usize = 20_000;
/// A long text may take one step for so many bytes; ordinary ones take one for eight.
const BYTES_PER_STEP: usize = 4;
/// Texts inside of texts are parsed again, so that nested ones cost more than their bytes.
const WORK_PER_BYTE: usize = 4;
/// What a short line may cost.
const WORK_MIN: usize = 64 * 1024;
/// More faults than that help nobody.
const FAULTS_MAX: usize = 32;

/// Reads one line.
#[derive(Debug)]
pub(super) struct Front {
    faults: Vec<Fault>,
    depth: usize,
    work_left: usize,
}

/// A text to be parsed, and where it stands in the line.
#[derive(Debug, Clone, Copy)]
pub(super) struct SourceText<'t> {
    /// The text.
    pub(super) whole: &'t str,
    /// How places in it become places in the line.
    pub(super) origin: Origin,
    /// How much of it stands in the line; the newline at the end may be ours.
    pub(super) bytes: usize,
}

/// Where a text comes from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Origin {
    /// It stands in the line from this byte on.
    At(usize),
    /// It was made from this part of the line; backslashes were taken out.
    Of(Span),
}

impl SourceText<'_> {
    /// A part of this text as a part of the line.
    pub(super) fn span(&self, start: usize, end: usize) -> Span {
        let end = end.min(self.bytes);
        let start = start.min(end);
        match self.origin {
            Origin::At(base) => {
                Span { start: base.saturating_add(start), end: base.saturating_add(end) }
            }
            Origin::Of(span) => span,
        }
    }
}

/// Why a text is no script.
#[derive(Debug)]
pub(super) enum NotWhole {
    /// It does not end where it should: more text may help.
    Broken(Fault),
    /// More text does not help.
    Refused(Fault),
}

impl Front {
    /// Ready for a line of so many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        let work_left = bytes.saturating_mul(WORK_PER_BYTE).max(WORK_MIN);
        Self { faults: Vec::new(), depth: 0, work_left }
    }

    /// Notes what is not understood.
    pub(super) fn fault(&mut self, span: Span, kind: FaultKind, text: &str) {
        self.add(Fault { span, kind, text: text.to_owned() });
    }

    /// The same, as it was returned.
    pub(super) fn add(&mut self, fault: Fault) {
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(fault);
        }
    }

    /// All that was not understood.
    pub(super) fn into_faults(mut self) -> Vec<Fault> {
        self.faults.sort_by_key(|fault| (fault.span, fault.kind));
        self.faults.dedup();
        self.faults
    }

    /// Reads the line itself.
    pub(super) fn line(&mut self, line: &str) -> Script {
        match self.script(line, Origin::At(0)) {
            Ok(script) => script,
            Err(NotWhole::Broken(fault) | NotWhole::Refused(fault)) => {
                self.add(fault);
                Script::default()
            }
        }
    }

    /// How many faults there are so far.
    pub(super) fn faults(&self) -> usize {
        self.faults.len()
    }

    /// Goes one deeper while something is read; without an answer there was too much already.
    pub(super) fn deeper<T>(&mut self, span: Span, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.depth >= DEPTH_MAX {
            self.add(too_deep(span));
            return None;
        }
        self.depth = self.depth.saturating_add(1);
        let result = read(self);
        self.depth = self.depth.saturating_sub(1);
        Some(result)
    }

    /// Reads a text that is a script.
    pub(super) fn script(&mut self, text: &str, origin: Origin) -> Result<Script, NotWhole> {
        let mut source = String::with_capacity(text.len().saturating_add(1));
        source.push_str(text);
        source.push('\n');
        let place = SourceText { whole: text, origin, bytes: text.len() };
        let span = place.span(0, text.len());
        if self.depth >= DEPTH_MAX {
            return Err(NotWhole::Refused(too_deep(span)));
        }
        let mut asked = survey::masked(&source).map_err(|refusal| match refusal {
            Refusal::TooDeep => NotWhole::Refused(too_deep(span)),
            Refusal::TooLong => NotWhole::Refused(too_long(span)),
        })?;
        let result = loop {
            let Some(left) = self.work_left.checked_sub(source.len()) else {
                return Err(NotWhole::Refused(too_deep(span)));
            };
            self.work_left = left;
            let result = ask(&asked);
            if result.status == ParseStatus::Clean {
                break result;
            }
            match brace_in_word(&asked, &result) {
                Some(at) => asked.replace_range(at..at.saturating_add(1), "_"),
                None => return Err(broken(&place, &result)),
            }
        };
        let read = |front: &mut Self| front.convert(&result.file, &source, place);
        self.deeper(span, read).unwrap_or_else(|| Err(NotWhole::Refused(too_deep(span))))
    }

    /// Takes over what the parser found in a text.
    fn convert<'t>(
        &mut self,
        file: &File,
        source: &'t str,
        place: SourceText<'t>,
    ) -> Result<Script, NotWhole> {
        let text = SourceText { whole: source, ..place };
        let mut converter = Converter {
            front: self,
            text,
            line: place,
            claims: Claims::default(),
            documents: HereDocuments::default(),
        };
        let script = converter.script(&file.body);
        converter.finish()?;
        Ok(script)
    }
}

/// The option that makes a shell expand aliases.
const ALIASES: &str = "expand_aliases";

/// Asks the parser.
fn ask(source: &str) -> ParseResult {
    let profile = ShellProfile::native(ShellDialect::Bash);
    let fuel = source.len().checked_div(BYTES_PER_STEP).unwrap_or(0).max(FUEL_MIN);
    // The parser would expand aliases itself, and then its places are those of no text.
    let source = if source.contains(ALIASES) {
        Cow::Owned(source.replace(ALIASES, &ALIASES.to_ascii_uppercase()))
    } else {
        Cow::Borrowed(source)
    };
    Parser::with_limits_and_profile(&source, PARSER_DEPTH, fuel, profile).parse()
}

/// The brace that the parser stumbled over although it is part of a word, as in `\{}`. Since only
/// places are asked of the parser, it can be a letter instead.
fn brace_in_word(source: &str, result: &ParseResult) -> Option<usize> {
    let at = result.diagnostics.first()?.span.start.offset();
    let (before, rest) = source.split_at_checked(at)?;
    let is_in_word = before.chars().next_back().is_some_and(|c| !" \t\n;&|()<>".contains(c));
    (is_in_word && rest.starts_with('}')).then_some(at)
}

fn too_long(span: Span) -> Fault {
    Fault { span, kind: FaultKind::TooLong, text: "there is too much in one line".to_owned() }
}

fn too_deep(span: Span) -> Fault {
    Fault { span, kind: FaultKind::TooDeep, text: "it is nested too deeply".to_owned() }
}

/// What the parser says against a text.
fn broken(place: &SourceText, result: &ParseResult) -> NotWhole {
    let said = result.diagnostics.first();
    let message = match (said, &result.terminal_error) {
        (Some(diagnostic), _) => diagnostic.message.clone(),
        (None, Some(error)) => error.to_string(),
        (None, None) => "it is not complete".to_owned(),
    };
    let at = said.map_or(0, |diagnostic| diagnostic.span.start.offset());
    let end = said.map_or(place.whole.len(), |diagnostic| diagnostic.span.end.offset());
    let limits = result.terminal_error.as_ref().map(ToString::to_string).unwrap_or_default();
    let over = |mark: &str| limits.contains(mark) || message.contains(mark);
    let span = place.span(at, end.max(at.saturating_add(1)));
    if over("too deep") {
        NotWhole::Refused(Fault { span, kind: FaultKind::TooDeep, text: message })
    } else if over("fuel") || over("chain") {
        NotWhole::Refused(Fault { span, kind: FaultKind::TooLong, text: message })
    } else {
        NotWhole::Broken(Fault { span, kind: FaultKind::Syntax, text: message })
    }
}
