//! Builtins that set, name or remove variables, by the table in [`crate::shell::operands`], and
//! `declare` and `test`, which have a syntax of their own.

use super::Walker;
use super::arithmetic::{AssignedValue, NAMED, set_to};
use crate::shell::ast::Span;
use crate::shell::evaluated::{bits_text, field_text, is_plain_reference};
use crate::shell::expand::{Bit, Field};
use crate::shell::operands::{Builtin, Operand, Role};
use crate::shell::quoted;
use crate::shell::state::{Attribute, Lookup, State};

/// Marks unknown parts in the text of a declaration.
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

    /// The name of a variable, and what happens to it.
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
            self.lose_path(name, span, state);
            return;
        }
        if role == Role::Filled || role == Role::FilledArray {
            self.given(name, AssignedValue::Text(None), span, state);
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

    /// Notes that a variable is given a value by which other programs may run than before.
    pub(super) fn alter_if_hazard(&mut self, name: &str, span: Span, state: &mut State) {
        if self.is_hazard(name) {
            self.note_variable(name, span);
            state.alter(name);
        }
    }

    /// Without `PATH`, bash looks for programs in the folder that it is in.
    fn lose_path(&mut self, name: &str, span: Span, state: &mut State) {
        if name == "PATH" {
            self.alter_if_hazard(name, span, state);
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

    /// `test` and `[`: a word after `-v` or `-R` is the name of a variable, and an unknown word may
    /// be either option.
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
            // It prints something, or sets an attribute of functions.
            return;
        }
        let mut attributes: Vec<Attribute> = own.to_vec();
        attributes.extend(options.chars().filter_map(attribute));
        for argument in arguments {
            self.declared(argument, &attributes, span, state);
        }
        if attributes.contains(&Attribute::Reference) {
            // Later assignments may not mean what they seem to.
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
        // Bash sets `_` to the last word of every command.
        let is_evaluated =
            |one: &Attribute| matches!(one, Attribute::Integer | Attribute::Reference);
        if name == "_" && attributes.iter().any(is_evaluated) {
            self.evaluates(span, NAMED);
        }
        if let Some(value) = value {
            self.alter_if_hazard(name, argument.span, state);
            Self::note_entries(name, target, value, argument.compound, state);
        }
        let is_new = state.lookup(name) == Lookup::Unassigned;
        for one in attributes {
            // Another array with this name keeps its subscripts.
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
            self.note_variable_words(name, std::slice::from_ref(argument), None, state);
        }
        if !argument.compound && state.is(name, Attribute::Array) {
            self.elements(known, span);
        }
        let given = if is_more { AssignedValue::More(known) } else { AssignedValue::Text(known) };
        self.given(name, given, argument.span, state);
        let is_whole = !is_more && !target.contains('[');
        set_to(name, known.filter(|_| is_whole).map(str::to_owned), state);
    }

    /// `local a`: a variable of a function begins without a value.
    pub(super) fn begin_anew(&mut self, words: &[Field], span: Span, state: &mut State) {
        if self.calling.is_empty() {
            return;
        }
        for name in words.iter().filter_map(Field::known).filter(|name| is_variable(name)) {
            if !name.contains('=') {
                state.set(base_name(&name), None);
                self.lose_path(&name, span, state);
            }
        }
    }

    /// Text that is assigned to an array: in parentheses it is read as its elements.
    fn elements(&mut self, text: Option<&str>, span: Span) {
        let is_plain = |text: &str| !text.starts_with('(') || !text.contains(['$', '`', '[', '<']);
        if !text.is_some_and(is_plain) {
            self.evaluates(span, "what is in the parentheses is expanded once more");
        }
    }
}

/// The tables of bash that say what a name runs: the paths of programs, and aliases.
const TABLES: [&str; 2] = ["BASH_CMDS", "BASH_ALIASES"];

/// Whether a variable is such a table.
pub(super) fn is_table(name: &str) -> bool {
    TABLES.contains(&name)
}

impl Walker<'_> {
    /// What names run after an entry of a table is set: `BASH_CMDS[ls]=/bin/rm` works as an alias does.
    pub(super) fn note_entries(
        name: &str,
        target: &str,
        value: &str,
        is_compound: bool,
        state: &mut State,
    ) {
        if !is_table(name) {
            return;
        }
        let mut entry = |key: &str, value: &str| {
            let is_known = !key.contains(HOLE) && !value.contains(HOLE);
            let code = if name == "BASH_CMDS" { quoted(value) } else { value.to_owned() };
            state.set_alias(key, Some(code).filter(|_| is_known));
        };
        let elements = is_compound.then(|| value.trim_matches(['(', ')']).split_whitespace());
        for element in elements.into_iter().flatten() {
            if let Some((key, value)) =
                element.strip_prefix('[').and_then(|one| one.split_once("]="))
            {
                entry(key.trim_matches(['"', '\'']), value.trim_matches(['"', '\'']));
            }
        }
        if let Some((_, key)) = target.split_once('[') {
            entry(key.trim_end_matches(']').trim_matches(['"', '\'']), value);
        }
    }
}

/// Whether any of it is known in the run alone, and may be more than a number.
fn holds_unknown(field: &Field) -> bool {
    field.assumed || field.bits.iter().any(|bit| matches!(bit, Bit::Glob(_) | Bit::Unknown))
}

/// Whether a pattern may match several files, with any names.
fn may_be_all(field: &Field) -> bool {
    let is_path = |bit: &Bit| matches!(bit, Bit::Text(text) if text.contains(['.', '/']));
    matches!(field.bits.first(), Some(Bit::Glob(_))) && !field.bits.iter().any(is_path)
}

/// The text of a declaration, with marks for numbers and unknown parts.
fn declared_text(field: &Field) -> String {
    let text = |bit: &Bit| bits_text(std::slice::from_ref(bit));
    field.bits.iter().map(|bit| text(bit).unwrap_or_else(|| HOLE.to_string())).collect()
}

/// The variable in `a[b]`.
pub(super) fn base_name(text: &str) -> &str {
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
