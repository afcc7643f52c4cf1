//! Builtins that set, name or remove variables, by the table in [`crate::shell::operands`], and
//! `declare` and `test`, which have a syntax of their own.

use super::Walker;
use super::arithmetic::{Given, NAMED, set_to};
use crate::shell::evaluated::{bits_text, field_text, is_plain_reference};
use crate::shell::expand::{Bit, Field};
use crate::shell::operands::{Builtin, Operand, Role};
use crate::shell::state::{Attribute, Lookup, State};
use crate::shell::tree::Span;

/// Stands in the text of a declaration for what is not known.
const HOLE: char = '\0';

impl Walker<'_> {
    /// A builtin of the table with its words.
    pub(super) fn operands(
        &mut self,
        builtin: &Builtin,
        words: &[Field],
        span: Span,
        state: &mut State,
    ) {
        let Some(operands) = builtin.read(words) else {
            self.evaluates(span, NAMED);
            return;
        };
        for Operand { role, field } in &operands {
            let text = field_text(field).filter(|_| field.single);
            match role {
                Role::Data => {}
                Role::Expression => self.expression(text.as_deref(), span, state),
                Role::Filled | Role::FilledArray | Role::Counted | Role::Removed => {
                    self.variable(*role, text.as_deref(), span, state);
                }
            }
        }
    }

    /// The name of a variable with what is done to it.
    pub(super) fn variable(
        &mut self,
        role: Role,
        text: Option<&str>,
        span: Span,
        state: &mut State,
    ) {
        if !text.is_some_and(|text| is_plain_reference(text, state)) {
            self.evaluates(span, NAMED);
        }
        let Some(text) = text else {
            state.forget();
            return;
        };
        let name = base_name(text);
        if role == Role::Removed {
            state.unset(name);
            return;
        }
        if role == Role::Filled || role == Role::FilledArray {
            self.given(name, Given::Text(None), span, state);
        }
        if role == Role::FilledArray || text.contains('[') {
            state.give(name, Attribute::Array);
        }
        if role == Role::Counted && !text.contains('[') {
            state.set_number(name);
        } else {
            state.set(name, None);
        }
        self.alter_if_hazard(name, span, state);
    }

    fn alter_if_hazard(&mut self, name: &str, span: Span, state: &mut State) {
        if self.is_hazard(name) {
            self.note_variable(name, span);
            state.alter(name);
        }
    }

    /// `printf` with `%n` sets the variables that its words name.
    pub(super) fn formatted(&mut self, words: &[Field], span: Span, state: &mut State) {
        let sets = |field: &Field| field.known().is_none_or(|text| text.contains('%'));
        let is_counted = words
            .iter()
            .any(|field| sets(field) && field.known().is_none_or(|text| text.contains('n')));
        for name in words.iter().filter(|_| is_counted).filter_map(Field::known) {
            if is_variable(&name) && !matches!(state.lookup(&name), Lookup::Unassigned) {
                state.set(&name, None);
                self.alter_if_hazard(&name, span, state);
            }
        }
    }

    /// `test` and `[`: a word behind `-v` or `-R` is the name of a variable, and a word that is
    /// known in the run alone may be either of these.
    pub(super) fn tested(&mut self, words: &[Field], span: Span, state: &State) {
        let splits = |field: &Field| !field.single && holds_unknown(field) || may_be_all(field);
        if words.iter().any(splits) {
            self.evaluates(span, NAMED);
            return;
        }
        let mut may_follow = false;
        for field in words {
            let text = field_text(field);
            let is_name = text.as_deref().is_some_and(|text| is_plain_reference(text, state));
            if may_follow && !is_name {
                self.evaluates(span, NAMED);
                return;
            }
            let may_vanish = !field.single;
            may_follow = match text.as_deref() {
                Some(text) => matches!(text, "-v" | "-R") || (may_vanish && may_follow),
                None => true,
            };
        }
    }

    /// `export A=b`
    pub(super) fn declare(
        &mut self,
        words: &[Field],
        own: &[Attribute],
        span: Span,
        state: &mut State,
    ) {
        let is_option = |field: &&Field| {
            let text = field.known();
            text.is_some_and(|text| text.len() > 1 && text.starts_with(['-', '+']))
        };
        let options: String = words.iter().take_while(is_option).filter_map(Field::known).collect();
        let arguments = words.get(words.iter().take_while(is_option).count()..).unwrap_or_default();
        if options.contains(['p', 'f', 'F']) {
            // Something is shown, or functions are given an attribute.
            return;
        }
        let mut attributes: Vec<Attribute> = own.to_vec();
        attributes.extend(options.chars().filter_map(attribute));
        for argument in arguments {
            self.declared(argument, &attributes, span, state);
        }
        if attributes.contains(&Attribute::Reference) {
            // Nothing that is set later is what it seems.
            state.forget();
        }
    }

    fn declared(
        &mut self,
        argument: &Field,
        attributes: &[Attribute],
        span: Span,
        state: &mut State,
    ) {
        let text = declared_text(argument);
        let (target, value) = match text.split_once('=') {
            Some((target, value)) => (target, Some(value)),
            None => (text.as_str(), None),
        };
        let (target, is_more) = match target.strip_suffix('+') {
            Some(target) if value.is_some() => (target, true),
            Some(_) | None => (target, false),
        };
        if target.contains(HOLE) || argument.assumed || !is_plain_reference(target, state) {
            self.evaluates(span, NAMED);
        }
        if target.contains(HOLE) || argument.assumed {
            state.forget();
            return;
        }
        let name = base_name(target);
        // Bash gives `_` the last word of every command.
        let is_evaluated =
            |one: &Attribute| matches!(one, Attribute::Integer | Attribute::Reference);
        if name == "_" && attributes.iter().any(is_evaluated) {
            self.evaluates(span, NAMED);
        }
        if value.is_some() && self.is_hazard(name) {
            self.note_variable(name, argument.span);
            state.alter(name);
        }
        let is_new = state.lookup(name) == Lookup::Unassigned;
        for one in attributes {
            // Another array of this name keeps its subscripts.
            let is_certain = is_new || state.is(name, Attribute::Keyed);
            if *one != Attribute::Keyed || is_certain {
                state.give(name, *one);
            }
        }
        if attributes.contains(&Attribute::Keyed) || argument.compound || target.contains('[') {
            state.give(name, Attribute::Array);
        }
        let Some(value) = value else { return };
        let known = Some(value).filter(|value| !value.contains(HOLE));
        if known.is_none() {
            self.note_drawn(name, std::slice::from_ref(argument), None, state);
        }
        if !argument.compound && state.is(name, Attribute::Array) {
            self.elements(known, span);
        }
        let given = if is_more { Given::More(known) } else { Given::Text(known) };
        self.given(name, given, argument.span, state);
        let is_whole = !is_more && !target.contains('[');
        set_to(name, known.filter(|_| is_whole).map(str::to_owned), state);
    }

    /// `local a`: a variable of a function begins without a value.
    pub(super) fn begin_anew(&self, words: &[Field], state: &mut State) {
        if self.calling.is_empty() {
            return;
        }
        for name in words.iter().filter_map(Field::known).filter(|name| is_variable(name)) {
            if !name.contains('=') {
                state.set(base_name(&name), None);
            }
        }
    }

    /// Text that is given to an array: in parentheses it is read as its elements.
    fn elements(&mut self, text: Option<&str>, span: Span) {
        let is_plain = |text: &str| !text.starts_with('(') || !text.contains(['$', '`', '[', '<']);
        if !text.is_some_and(is_plain) {
            self.evaluates(span, "what is in the parentheses is expanded once more");
        }
    }
}

/// Whether any of it is known in the run alone, and may be more than a number.
fn holds_unknown(field: &Field) -> bool {
    field.assumed || field.bits.iter().any(|bit| matches!(bit, Bit::Glob(_) | Bit::Unknown))
}

/// Whether a pattern may stand for files of any name, and for several.
fn may_be_all(field: &Field) -> bool {
    let is_path = |bit: &Bit| matches!(bit, Bit::Text(text) if text.contains(['.', '/']));
    matches!(field.bits.first(), Some(Bit::Glob(_))) && !field.bits.iter().any(is_path)
}

/// The text of a declaration, with marks for numbers and for what is not known.
fn declared_text(field: &Field) -> String {
    let text = |bit: &Bit| bits_text(std::slice::from_ref(bit));
    field.bits.iter().map(|bit| text(bit).unwrap_or_else(|| HOLE.to_string())).collect()
}

/// The variable in `a[b]`.
fn base_name(text: &str) -> &str {
    text.split('[').next().unwrap_or(text)
}

fn attribute(option: char) -> Option<Attribute> {
    match option {
        'r' | 'l' | 'u' | 'c' => Some(Attribute::Unruly),
        'i' => Some(Attribute::Integer),
        'a' => Some(Attribute::Array),
        'A' => Some(Attribute::Keyed),
        'n' => Some(Attribute::Reference),
        _ => None,
    }
}

fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}
