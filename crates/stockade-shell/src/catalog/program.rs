//! One program of the data, compiled, and how a command of it is read.

use std::borrow::Cow;
use std::sync::Arc;

use super::analysis::{Analysis, HazardKind, Word};
use super::call::{Call, Part};
use super::code::CodeRule;
use super::effect::EffectRule;
use super::environment::Variables;
use super::grammar::{Grammar, Name};
use super::interpreter::Interpreter;
use super::purity::{self, ReadsRule};
use super::rule::Rule;
use super::schema::{self, Class, Order, UnknownOption};
use super::text::{Paths, TextRule};
use super::wrapper::{Wrapper, WrapperWords};

/// Splits inside splits (`env -S '-S …'`) deeper than this are not read.
const SPLITS_MAX: usize = 8;

/// A compiled program.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) name: String,
    pub(super) shape: Shape,
    pub(super) classes: Arc<[Class]>,
    pub(super) harmless: Vec<String>,
    pub(super) rules: Vec<Rule>,
    interpreter: Option<Interpreter>,
    wrappers: Vec<Wrapper>,
    texts: Vec<TextRule>,
    paths: Vec<Paths>,
    pub(super) codes: Vec<CodeRule>,
    pub(super) effects: Vec<EffectRule>,
    reads: Vec<ReadsRule>,
    pub(super) data: schema::Program,
}

/// The scopes of a program and their options.
#[derive(Debug)]
pub(super) struct Shape {
    own: Grammar,
    subcommands: bool,
    after: Grammar,
    scopes: Vec<(Vec<String>, bool, Grammar)>,
}

impl Shape {
    fn new(data: &schema::Program) -> Result<Self, String> {
        let mut own = Grammar::new(&data.options, None)?;
        if data.subcommands {
            own.order = Order::BeforeOperands;
        }
        let mut scopes = Vec::with_capacity(data.scope.len());
        for scope in &data.scope {
            let mut grammar = Grammar::new(&scope.options, Some(&data.after))?;
            if scope.nested {
                grammar.order = Order::BeforeOperands;
            }
            scopes.push((scope.names.clone(), scope.nested, grammar));
        }
        let after = Grammar::new(&data.after, None)?;
        Ok(Self { own, subcommands: data.subcommands, after, scopes })
    }

    /// The options of a scope, and whether its first operand names another.
    pub(super) fn scope(&self, path: &str) -> (&Grammar, bool) {
        if path.is_empty() {
            return (&self.own, self.subcommands);
        }
        let found = self.scopes.iter().find(|(names, ..)| names.iter().any(|name| name == path));
        found.map_or((&self.after, false), |(_, nested, grammar)| (grammar, *nested))
    }

    /// The names behind the spellings in a rule for these subcommands.
    pub(super) fn names(
        &self,
        flags: &[String],
        subcommands: &[String],
    ) -> Result<Vec<Name>, String> {
        let mut found = Vec::with_capacity(flags.len());
        for flag in flags {
            let mut names = match subcommands {
                [] => vec![self.own.name(flag)],
                [any] if any == "*" => self.grammars().map(|grammar| grammar.name(flag)).collect(),
                some => some.iter().map(|path| self.scope(path).0.name(flag)).collect(),
            };
            names.sort_by_key(Result::is_err);
            found.extend(names.into_iter().next().transpose()?);
        }
        Ok(found)
    }

    fn grammars(&self) -> impl Iterator<Item = &Grammar> {
        [&self.own, &self.after].into_iter().chain(self.scopes.iter().map(|(.., grammar)| grammar))
    }
}

impl Program {
    pub(super) fn new(data: schema::Program) -> Result<Self, String> {
        let shape = Shape::new(&data)?;
        let name = data.names.first().ok_or("a program has no name")?.clone();
        let interpreter = data.interpreter.as_ref();
        Ok(Self {
            rules: compile(&data.refuse, |rule| Rule::new(rule, &shape))?,
            interpreter: interpreter.map(|data| Interpreter::new(data, &shape)).transpose()?,
            wrappers: compile(&data.wrapper, |wrapper| Wrapper::new(wrapper, &shape))?,
            texts: compile(&data.text, |text| TextRule::new(text, &shape))?,
            paths: compile(&data.paths, |paths| Paths::new(paths, &shape))?,
            codes: compile(&data.code, |code| CodeRule::new(code, &shape))?,
            effects: compile(&data.effect, |effect| EffectRule::new(effect, &shape))?,
            reads: compile(&data.reads, |reads| ReadsRule::new(reads, &shape))?,
            classes: Arc::from(data.classes.as_slice()),
            harmless: data.harmless.clone(),
            name,
            shape,
            data,
        })
    }

    /// Reads a command of this program; the first word is the program itself.
    pub(super) fn read<'a>(&self, variables: &Variables, given: &[Word<'a>]) -> Analysis<'a> {
        let mut reading = Analysis { judged: self.is_judged(), ..Analysis::default() };
        let mut words = Cow::Borrowed(given);
        for depth in 0..=SPLITS_MAX {
            let call = Call::new(self, &words);
            if depth == SPLITS_MAX {
                let why = "options are split out of options too many times over".into();
                reading.hazards.push(call.hazard(HazardKind::Unreadable, 0, &why, None));
                break;
            }
            let known = (reading.code.len(), reading.effects.len());
            let split = self.read_once(variables, &call, &mut reading);
            if depth > 0 {
                reading.point_at(known, &words, given);
            }
            match split {
                Some(split) => words = Cow::Owned(split),
                None => break,
            }
        }
        reading.text.sort_unstable();
        reading.text.dedup();
        reading
    }

    fn is_judged(&self) -> bool {
        !self.rules.is_empty() || self.interpreter.is_some() || !self.wrappers.is_empty()
    }

    /// Reads the words as they are; returns the words to read instead where an option holds more.
    fn read_once<'a>(
        &self,
        variables: &Variables,
        call: &Call<'_, 'a>,
        reading: &mut Analysis<'a>,
    ) -> Option<Vec<Word<'a>>> {
        for rule in &self.rules {
            rule.judge(call, &mut reading.hazards);
        }
        if let Some(interpreter) = &self.interpreter {
            interpreter.judge(call, &mut reading.hazards);
            interpreter.find_code(call, &mut reading.code);
        }
        for code in &self.codes {
            code.find(call, &mut reading.code);
        }
        self.doubt(call, reading);
        reading.glued.extend(call.glued());
        reading.subcommand =
            call.last().map(|part| part.path.clone()).filter(|path| !path.is_empty());
        for effect in &self.effects {
            effect.find(call, &mut reading.effects);
        }
        for paths in &self.paths {
            paths.mark(call, &mut reading.paths);
        }
        for text in &self.texts {
            text.mark(call, &mut reading.text);
        }
        for wrapper in &self.wrappers {
            let Some(part) = call.parts.iter().find(|part| wrapper.is_for(part)) else { continue };
            if let WrapperWords::Split(words) = wrapper.unwrap(variables, call, part, reading) {
                return Some(words);
            }
        }
        let claimed = self.reads.iter().filter_map(|rule| rule.judge(call)).max();
        reading.nature = purity::shown(claimed, call, reading);
        None
    }

    /// Notes options of unknown shape where the rest of the words depends on them.
    fn doubt(&self, call: &Call<'_, '_>, reading: &mut Analysis<'_>) {
        for part in &call.parts {
            if let Some(word) = part.seen.absurd {
                let why = "a cluster of so many options is not read".into();
                reading.hazards.push(call.hazard(HazardKind::Unreadable, word, &why, None));
            }
            let Some(word) = part.seen.doubt else { continue };
            if self.depends_on_shape(part) && !call.is_harmless() {
                let why = format!(
                    "this option of {} is not known, so the words after it cannot be \
                                   told apart",
                    self.name
                );
                reading.hazards.push(call.hazard(HazardKind::Unreadable, word, &why.into(), None));
            }
        }
    }

    fn depends_on_shape(&self, part: &Part<'_>) -> bool {
        match part.grammar.unknown {
            Some(UnknownOption::Flag) => false,
            Some(UnknownOption::Unreadable) => true,
            None => {
                part.opens()
                    || (self.interpreter.is_some() && part.path.is_empty())
                    || self.wrappers.iter().any(|wrapper| wrapper.is_for(part))
            }
        }
    }
}

fn compile<D, C>(data: &[D], one: impl Fn(&D) -> Result<C, String>) -> Result<Vec<C>, String> {
    data.iter().map(one).collect()
}
